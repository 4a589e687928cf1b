//! Thread-local variables of the program, one set for each rank.
//!
//! A position-independent executable finds them at a fixed distance below the thread pointer, where the main
//! program's are. The launcher, which is the main program, keeps nothing there but a pad:
//!
//! ```text
//!     the launcher's pad (the only thread-local variable of the main program)       fs
//!   ├─────────────────────────────────────┬── the program's block, of the rank ──┤ ◄── thread pointer
//! ```
//!
//! At every switch the block of one rank is copied out and that of the next in; a program without such
//! variables pays nothing. Code that asks `__tls_get_addr` (in position-independent style) gets the same place.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use super::clone::Clone;
use super::elf::{Refusal, Tls};
use super::template::Hook;

/// The bytes that the main program keeps below the thread pointer for this.
#[derive(Debug, Clone, Copy)]
pub struct Pad {
    /// Where it begins.
    pub start: *mut u8,
    /// How long it is \[bytes\].
    pub bytes: usize,
}

/// Where the program's block lies.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    at: *mut u8,
    tls: Tls,
}

thread_local! {
    static BLOCK: Cell<*mut u8> = const { Cell::new(ptr::null_mut()) };
}

impl Place {
    /// The place of `tls` at the end of `pad`.
    pub fn new(tls: Tls, pad: Pad) -> Result<Place, Refusal> {
        let bytes = tls.bytes.next_multiple_of(tls.align);
        if bytes > pad.bytes {
            return Err(format!(
                "its thread-local variables take {bytes} bytes, and there is room for {}",
                pad.bytes
            ));
        }
        // SAFETY: within the pad, as checked.
        let at = unsafe { pad.start.add(pad.bytes - bytes) };
        if at as usize % tls.align != 0 {
            return Err(format!(
                "its thread-local variables are aligned to {} bytes, the pad is not",
                tls.align
            ));
        }
        BLOCK.set(at);
        Ok(Place { at, tls })
    }

    /// The block of a rank that has not begun: the initial image of its copy of the program.
    pub fn fresh(&self, program: &Clone) -> Box<[u8]> {
        let mut block = vec![0; self.tls.bytes].into_boxed_slice();
        let image = (program.base() + self.tls.address) as *const u8;
        // SAFETY: the image lies in the copy, which is readable, and is no longer than the block.
        unsafe { ptr::copy_nonoverlapping(image, block.as_mut_ptr(), self.tls.initialised) };
        block
    }

    /// Puts a rank's block where its code looks for it.
    pub fn put(&self, block: &[u8]) {
        // SAFETY: the place is as long as a block, and no code of a rank runs.
        unsafe { ptr::copy_nonoverlapping(block.as_ptr(), self.at, block.len()) };
    }

    /// Takes it back.
    pub fn take(&self, block: &mut [u8]) {
        // SAFETY: as for `put`.
        unsafe { ptr::copy_nonoverlapping(self.at, block.as_mut_ptr(), block.len()) };
    }
}

/// The hook for code that asks where a variable is.
pub fn hook() -> Hook {
    Hook::own("__tls_get_addr", get_address as *const c_void)
}

/// What the compiler passes: the module's number, which is the program's, and the distance from its block.
#[repr(C)]
struct Index {
    module: usize,
    offset: usize,
}

extern "C" fn get_address(index: *const Index) -> *mut c_void {
    // SAFETY: the compiler passes an index of the program's own.
    let offset = unsafe { (*index).offset };
    BLOCK.get().wrapping_add(offset).cast()
}
