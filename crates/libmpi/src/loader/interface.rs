//! Binary interfaces of MPI: the one that a program was compiled against, and the library that has it.
//!
//! This library has the standard's; a front with the same names (`mpich`) has MPICH's. Whichever a program
//! needs is made the one whose names are found first.

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::elf::Refusal;

/// The names of the standard's library, and of MPICH's; a version follows them.
const STANDARD: &[&str] = &["libmpi_abi.so"];
const MPICH: &[&str] = &["libmpi.so.12", "libmpich.so.12", "libmpichcxx.so.12", "libmpicxx.so.12"];
/// Libraries with MPI's functions, but yet another binary interface.
const OTHER: &[&str] = &["libmpi.so", "libmpich.so", "libmpi_", "libmpich", "libmpifort.so", "libopen-"];

/// The file of the front, beside this library.
const FRONT: &str = "libmpi.so.12";

static MPICH_IS_SPOKEN: AtomicBool = AtomicBool::new(false);

/// Marks the program as compiled against MPICH.
#[unsafe(no_mangle)]
pub extern "C" fn hopcast_speak_mpich() {
    MPICH_IS_SPOKEN.store(true, Ordering::Relaxed);
}

/// True if the program was compiled against MPICH.
#[inline]
pub fn mpich_is_spoken() -> bool {
    MPICH_IS_SPOKEN.load(Ordering::Relaxed)
}

/// True if a library that a program needs is this one, under one of its names.
pub fn is_ours(name: &str) -> bool {
    begins_with(name, STANDARD) || begins_with(name, MPICH)
}

fn begins_with(name: &str, list: &[&str]) -> bool {
    list.iter().any(|known| name.starts_with(known))
}

/// Makes the functions of MPI that a program needs the ones that are found: `needed` are its libraries.
pub fn open(needed: &[String]) -> Result<(), Refusal> {
    if let Some(other) = needed.iter().find(|name| !is_ours(name) && begins_with(name, OTHER)) {
        return Err(format!(
            "it was compiled for another MPI library ({other}), whose constants differ from those of the \
             standard ABI and of MPICH: compile it again with 'hopcast cc', cxx or fc"
        ));
    }
    if needed.iter().any(|name| begins_with(name, MPICH)) {
        hopcast_speak_mpich();
        publish(place().with_file_name(FRONT))
    } else {
        publish(place())
    }
}

/// The file of this library.
fn place() -> PathBuf {
    // SAFETY: the structure is filled for an address of this library; the name lives as long as that.
    unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        let known = libc::dladdr(place as *const c_void, &raw mut found);
        assert!(known != 0, "this library is loaded");
        PathBuf::from(CStr::from_ptr(found.dli_fname as *const c_char).to_string_lossy().into_owned())
    }
}

/// The names of a library, then those of the libraries that it needs, are found from now on.
fn publish(path: PathBuf) -> Result<(), Refusal> {
    let name = CString::new(path.to_string_lossy().as_bytes()).expect("no zero in a path");
    // SAFETY: this library, which is loaded, or one that consists of jumps into it.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if handle.is_null() {
        // SAFETY: a text of the C library's.
        let reason = unsafe { CStr::from_ptr(libc::dlerror()).to_string_lossy() };
        return Err(format!("the MPI library for it cannot be loaded: {reason}"));
    }
    Ok(())
}
