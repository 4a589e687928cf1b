//! Calls from library to library: the words by which the libraries of a program call intercepted functions.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use object::elf;

use super::interception::Interception;
use crate::fiber::stacks::PAGE;

/// Libraries that call none, or whose calls are their own affair.
const LEFT_ALONE: &[&str] = &[
    "linux-vdso",
    "ld-linux",
    "libc.so",
    "libm.so",
    "libdl.so",
    "libpthread.so",
    "libgcc_s.so",
    "libmpi_abi",
];

/// Intercepts calls in all libraries that are loaded.
pub fn intercept(all: &[&'static dyn Interception]) {
    if all.is_empty() {
        return;
    }
    // SAFETY: the function below fits, and gets the list, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), ptr::from_ref(&all).cast_mut().cast()) };
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, all: *mut c_void) -> c_int {
    // SAFETY: what dl_iterate_phdr passes, and what `intercept` gave it.
    unsafe {
        let (info, all) = (&*info, *all.cast::<&[&'static dyn Interception]>());
        let name = CStr::from_ptr(info.dlpi_name).to_string_lossy();
        let file = name.rsplit('/').next().unwrap_or_default();
        let own = file.is_empty() || name.starts_with("/proc/self/fd/");
        if own || LEFT_ALONE.iter().any(|other| file.starts_with(other)) {
            return 0;
        }
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
        if let Some(dynamic) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) {
            let base = info.dlpi_addr as usize;
            Library::new(base, base + dynamic.p_vaddr as usize).intercept(all);
        }
        0
    }
}

/// A library as the C library has loaded it.
struct Library {
    base: usize,
    entries: *const [usize; 2],
}

impl Library {
    fn new(base: usize, dynamic: usize) -> Library {
        Library { base, entries: dynamic as *const [usize; 2] }
    }

    /// An entry of the dynamic section.
    unsafe fn entry(&self, tag: u32) -> Option<usize> {
        let mut at = self.entries;
        // SAFETY: the section ends with an entry of tag 0.
        unsafe {
            while (*at)[0] != 0 {
                if (*at)[0] == tag as usize {
                    return Some((*at)[1]);
                }
                at = at.add(1);
            }
        }
        None
    }

    /// An address in it, which the C library's loader has made absolute, or not.
    unsafe fn address(&self, tag: u32) -> Option<usize> {
        // SAFETY: as for `entry`.
        let value = unsafe { self.entry(tag) }?;
        Some(if value < self.base { value + self.base } else { value })
    }

    unsafe fn intercept(&self, all: &[&'static dyn Interception]) {
        let tables = [(elf::DT_JMPREL, elf::DT_PLTRELSZ), (elf::DT_RELA, elf::DT_RELASZ)];
        // SAFETY: a library that is loaded has these tables where its dynamic section says.
        unsafe {
            let (Some(symbols), Some(names)) = (self.address(elf::DT_SYMTAB), self.address(elf::DT_STRTAB))
            else {
                return;
            };
            for (table, bytes) in tables {
                let (Some(table), Some(bytes)) = (self.address(table), self.entry(bytes)) else { continue };
                for index in 0..bytes / 24 {
                    let relocation = (table + index * 24) as *const [u64; 3];
                    let [at, info, _] = *relocation;
                    if ![elf::R_X86_64_JUMP_SLOT, elf::R_X86_64_GLOB_DAT].contains(&(info as u32)) {
                        continue;
                    }
                    let symbol = (symbols + (info >> 32) as usize * 24) as *const u32;
                    let name = CStr::from_ptr((names + *symbol as usize) as *const _);
                    let found = all.iter().find(|one| one.name().as_bytes() == name.to_bytes());
                    if let Some(one) = found {
                        self.put(at as usize, *one);
                    }
                }
            }
        }
    }

    /// Changes the word at `at`, which may have been made read-only after loading; it stays writable.
    unsafe fn put(&self, at: usize, one: &dyn Interception) {
        let word = (self.base + at) as *mut usize;
        let page = (word as usize) & !(PAGE - 1);
        // SAFETY: the word of a relocation lies in a page of the library's data.
        unsafe {
            let held = *word;
            if held == 0 || libc::mprotect(page as *mut _, PAGE, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                return;
            }
            one.replaces(held);
            *word = one.stub();
        }
    }
}
