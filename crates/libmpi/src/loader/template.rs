//! A program loaded once, from which its copies are made.

use std::ffi::{CStr, CString, c_char, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr;

use object::elf as tags;

use super::clone::Clone;
use super::elf::{Elf, Refusal};
use super::image::{Copies, memory_file};
use super::interface;
use super::relocation::{self, Holds};
use super::unwind;
use crate::kernels;
use crate::live::callers;

/// A function that stands for the C library's function of that name in the program.
pub struct Hook {
    /// The name in the program's symbol table.
    pub name: &'static str,
    /// Its address.
    pub function: *const c_void,
    /// Whether libraries that all ranks share call it too.
    pub in_libraries: bool,
}

impl Hook {
    /// For the program and for all libraries.
    pub fn new(name: &'static str, function: *const c_void) -> Hook {
        Hook { name, function, in_libraries: true }
    }

    /// For the program and the libraries that it brings, of which each rank has a copy.
    pub fn own(name: &'static str, function: *const c_void) -> Hook {
        Hook { name, function, in_libraries: false }
    }
}

/// A program that has been loaded.
pub struct Template {
    /// Its file.
    pub path: PathBuf,
    /// What is in it.
    pub elf: Elf,
    /// Its relocated image, and where its copies are.
    copies: Copies,
    /// Where the C library has loaded it.
    base: usize,
    /// Words of the image that hold addresses of the image, relative to its beginning, ascending.
    own: Vec<usize>,
}

impl Template {
    /// Loads the program at `path`, with `hooks` in the place of what they name, for up to `copies` copies.
    pub fn load(path: &Path, hooks: &[Hook], copies: usize) -> Result<Template, Refusal> {
        let elf = Elf::read(path)?;
        interface::open(&elf.dynamic.needed)?;
        let library = memory_file(c"hopcast-program", &elf.as_library(interface::is_ours))
            .map_err(|error| format!("no memory for its copy: {error}"))?;
        open_needed(&elf);
        let base = open_library(&library)?;
        let span = elf.span();
        let mut image = vec![0; span];
        for segment in &elf.segments {
            let bytes = &mut image[segment.address..segment.address + segment.in_memory];
            // SAFETY: the C library has mapped this segment readable at its base; nothing of it runs.
            unsafe {
                ptr::copy_nonoverlapping(
                    (base + segment.address) as *const u8,
                    bytes.as_mut_ptr(),
                    bytes.len(),
                );
            }
        }
        let own = relocate(&elf, &mut image, base, hooks);
        kernels::all().iter().try_for_each(|kernel| kernel.place_in(&elf, &mut image))?;
        kernels::libraries::intercept(kernels::all());
        let copies =
            Copies::new(&image, copies).map_err(|error| format!("no room for {copies} copies: {error}"))?;
        let (start, each, count) = (copies.start, copies.span, copies.count);
        unwind::set(unwind::Copies { start, each, count, table: elf.unwinding });
        Ok(Template { path: path.to_path_buf(), elf, copies, base, own })
    }

    /// Copy `index`; each may be made once.
    pub fn copy(&self, index: usize) -> io::Result<Clone> {
        let base = self.copies.place(index)?;
        for at in &self.own {
            let word = (base + at) as *mut usize;
            // SAFETY: the word lies in the copy, and no code of it has run.
            unsafe { word.write_unaligned(word.read_unaligned().wrapping_add(base.wrapping_sub(self.base))) };
        }
        Ok(Clone::new(base, &self.elf))
    }

    /// The copy that holds `address`, and where in it.
    pub fn find(&self, address: usize) -> Option<(usize, usize)> {
        let offset = address.checked_sub(self.copies.start)?;
        let index = offset / self.copies.span;
        (index < self.copies.count).then(|| (index, offset % self.copies.span))
    }

    /// The addresses of all copies, and how far it is from one to the next \[bytes\].
    pub fn copies(&self) -> (std::ops::Range<usize>, usize) {
        let (start, span) = (self.copies.start, self.copies.span);
        (start..start + span * self.copies.count, span)
    }

    /// Where the program keeps its own copy of a library's variable, relative to the base.
    pub fn copy_of(&self, variable: &str) -> Option<usize> {
        relocation::copy_of(&self.elf, variable)
    }
}

/// Loads the libraries that the program needs before it: what it copies of their variables (of std::cout, for
/// one) is what they have made of them by then. One that is not found here is looked for once more with the
/// program, whose own search path counts then.
fn open_needed(elf: &Elf) {
    for name in elf.dynamic.needed.iter().filter(|name| !interface::is_ours(name)) {
        let Ok(name) = CString::new(name.as_str()) else { continue };
        // SAFETY: libraries run their initialisation, as they would in any process that needs them.
        unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    }
    // The streams of C++ are made by the first file that uses them, which would be the program.
    type Make = unsafe extern "C" fn(*mut c_void);
    // SAFETY: the constructor of std::ios_base::Init, whose object has one byte, which is never read.
    unsafe {
        let make = libc::dlsym(libc::RTLD_DEFAULT, c"_ZNSt8ios_base4InitC1Ev".as_ptr());
        if !make.is_null() {
            std::mem::transmute::<*mut c_void, Make>(make)(
                Box::leak(Box::new(0_u64)) as *mut u64 as *mut c_void
            );
        }
    }
}

/// Lets the C library load it; gives the base address. It stays loaded.
fn open_library(file: &File) -> Result<usize, Refusal> {
    let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).expect("no zero in a number");
    // SAFETY: a file made of a program whose own initialisation is taken out; the libraries that it needs
    // run theirs, as they would in any process.
    unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if handle.is_null() {
            let reason = CStr::from_ptr(libc::dlerror()).to_string_lossy().into_owned();
            return Err(reason.trim_start_matches(&*path.to_string_lossy()).trim_start_matches(": ").into());
        }
        let mut map: *const LinkMap = ptr::null();
        if libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) != 0 {
            return Err("the C library does not say where it was loaded".into());
        }
        Ok((*map).base)
    }
}

/// The public beginning of the C library's `struct link_map` (dlinfo(3)).
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
}

/// Puts the hooks into the image; gives the places of the words that point into it, ascending.
fn relocate(elf: &Elf, image: &mut [u8], base: usize, hooks: &[Hook]) -> Vec<usize> {
    let mut own = Vec::new();
    for word in relocation::words(elf) {
        let Some(bytes) = image.get_mut(word.at..word.at + 8) else { continue };
        let held = usize::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let inside = (base..=base + elf.span()).contains(&held);
        match &word.holds {
            Holds::Own => own.push(word.at),
            Holds::Symbol(name) => match hooks.iter().find(|hook| hook.name == name) {
                Some(hook) => bytes.copy_from_slice(&(hook.function as usize).to_le_bytes()),
                None if inside => own.push(word.at),
                None => {
                    if let Some(stub) = callers::stub(name, held) {
                        bytes.copy_from_slice(&stub.to_le_bytes());
                    } else if let Some(kernel) = kernels::named(name).filter(|_| held != 0) {
                        kernel.replaces(held);
                        bytes.copy_from_slice(&kernel.stub().to_le_bytes());
                    }
                }
            },
            Holds::Chosen if inside => own.push(word.at),
            Holds::Chosen => {}
        }
    }
    own.sort_unstable();
    own.dedup();
    own
}

/// The functions that a program runs before `main` and after it, relative to its base.
#[derive(Debug, Clone, Copy, Default)]
pub struct Startup {
    /// One function, and an array of them with its length \[functions\].
    pub init: (usize, usize, usize),
    /// The same for the end.
    pub fini: (usize, usize, usize),
}

impl Startup {
    /// As its dynamic section says.
    pub fn of(elf: &Elf) -> Startup {
        let get = |tag| elf.dynamic.get(tag).unwrap_or(0);
        Startup {
            init: (get(tags::DT_INIT), get(tags::DT_INIT_ARRAY), get(tags::DT_INIT_ARRAYSZ) / 8),
            fini: (get(tags::DT_FINI), get(tags::DT_FINI_ARRAY), get(tags::DT_FINI_ARRAYSZ) / 8),
        }
    }
}
