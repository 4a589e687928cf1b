//! Thread-local variables of the program and of its libraries, one set for each rank.
//!
//! A position-independent executable finds them at a fixed distance below the thread pointer, where the main
//! program's are. The launcher, which is the main program, keeps nothing there but a pad:
//!
//! ```text
//!     the launcher's pad (the only thread-local variable of the main program)       fs
//!   ├────────────────────────┬── of a library ──┬─ … ─┬── of the program, of one rank ──┤ ◄── thread pointer
//! ```
//!
//! At every switch the block of one rank is copied out and that of the next in; a program without such
//! variables pays nothing. Code that asks `__tls_get_addr` (in position-independent style) gets the same place.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;

use super::elf::{Refusal, Tls};
use super::program_copy::ProgramCopy;
use super::template::Hook;

/// The bytes that the main program keeps below the thread pointer for this.
#[derive(Debug, Clone, Copy)]
pub struct Pad {
    /// Begin.
    pub start: *mut u8,
    /// Length \[bytes\].
    pub bytes: usize,
}

/// Layout of the variables of all parts.
#[derive(Debug, Default)]
pub struct Layout {
    /// Distance of each part's begin below the thread pointer \[bytes\].
    pub below: Vec<Option<usize>>,
    /// All together \[bytes\].
    bytes: usize,
    align: usize,
}

impl Layout {
    /// Layout of these parts, of which the first is the program.
    pub fn new(parts: impl Iterator<Item = Option<Tls>>) -> Layout {
        let mut layout = Layout { align: 1, ..Layout::default() };
        for part in parts {
            layout.below.push(part.map(|tls| {
                layout.bytes = (layout.bytes + tls.bytes).next_multiple_of(tls.align);
                layout.align = layout.align.max(tls.align);
                layout.bytes
            }));
        }
        layout
    }
}

/// Place of the block of the rank that runs.
#[derive(Debug, Clone)]
pub struct Place {
    at: *mut u8,
    bytes: usize,
    /// Variables of each part that has any: their place in the block, and their image.
    parts: Vec<(usize, Tls)>,
}

thread_local! {
    /// Begin of the variables of each part, for code that asks.
    static STARTS: RefCell<Vec<*mut u8>> = const { RefCell::new(Vec::new()) };
}

impl Place {
    /// The end of `pad`; nothing where there are no variables. The images of parts are relative to a copy.
    pub fn new(layout: &Layout, images: &[Option<Tls>], pad: Pad) -> Result<Option<Place>, Refusal> {
        let bytes = layout.bytes;
        if bytes > pad.bytes {
            return Err(format!(
                "its thread-local variables take {bytes} bytes, and there is room for {}",
                pad.bytes
            ));
        }
        let end = pad.start.wrapping_add(pad.bytes);
        if end as usize % layout.align != 0 {
            return Err(format!(
                "its thread-local variables are aligned to {} bytes, the pad is not",
                layout.align
            ));
        }
        let starts = layout.below.iter().map(|below| end.wrapping_sub(below.unwrap_or(0)));
        STARTS.set(starts.collect());
        let parts = layout.below.iter().zip(images);
        let parts: Vec<_> = parts.filter_map(|(below, tls)| Some((bytes - (*below)?, (*tls)?))).collect();
        Ok((bytes > 0).then(|| Place { at: end.wrapping_sub(bytes), bytes, parts }))
    }

    /// The block of a rank that has not begun: the initial images of its copy of the program.
    pub fn fresh(&self, program: &ProgramCopy) -> Box<[u8]> {
        let mut block = vec![0; self.bytes].into_boxed_slice();
        for (at, tls) in &self.parts {
            let image = (program.base() + tls.address) as *const u8;
            let place = &mut block[*at..*at + tls.initialised];
            // SAFETY: the image lies in the copy, which is readable.
            unsafe { ptr::copy_nonoverlapping(image, place.as_mut_ptr(), place.len()) };
        }
        block
    }

    /// Address of the block of the rank that runs.
    pub fn address(&self) -> usize {
        self.at as usize
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

/// Added to the number of a part, it is a module's number that the C library does not give.
pub const MARK: usize = 1 << 32;

/// Argument that the compiler passes: the module's number, and the distance from its block.
#[repr(C)]
struct Index {
    module: usize,
    offset: usize,
}

unsafe extern "C" {
    fn __tls_get_addr(index: *const Index) -> *mut c_void;
}

extern "C" fn get_address(index: *const Index) -> *mut c_void {
    // SAFETY: the compiler passes an index of the program's own.
    let asked = unsafe { &*index };
    match asked.module.checked_sub(MARK) {
        Some(part) => STARTS.with_borrow(|starts| starts[part].wrapping_add(asked.offset).cast()),
        // SAFETY: as above; the module is one of the C library's.
        None => unsafe { __tls_get_addr(index) },
    }
}
