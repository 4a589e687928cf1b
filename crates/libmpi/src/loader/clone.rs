//! One rank's copy of the program.

use std::ffi::{c_char, c_int};

use super::elf::Elf;
use super::template::Startup;

/// A copy of the program's image at its own address.
pub struct Clone {
    base: usize,
    span: usize,
    startup: Startup,
}

type Initialise = unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char);
type Finish = unsafe extern "C" fn();
/// `main`.
pub type Main = unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) -> c_int;

impl Clone {
    pub(super) fn new(base: usize, elf: &Elf) -> Clone {
        Clone { base, span: elf.span(), startup: Startup::of(elf) }
    }

    /// Of no program: of a rank that runs something else.
    pub fn none() -> Clone {
        Clone { base: 0, span: 0, startup: Startup::default() }
    }

    /// Where it is.
    pub fn base(&self) -> usize {
        self.base
    }

    /// The pages that this rank writes, of which none is needed any more, become the template's again.
    pub fn forget_pages(&self) {
        // SAFETY: a private mapping of a file, of which no code runs any more.
        unsafe { libc::madvise(self.base as *mut _, self.span, libc::MADV_DONTNEED) };
    }

    /// Runs what stands before `main`, on the rank's fiber.
    ///
    /// # Safety
    /// The caller is the rank whose copy this is, once, before `main`.
    pub unsafe fn initialise(&self, argc: c_int, argv: *const *const c_char, envp: *const *const c_char) {
        let (single, array, count) = self.startup.init;
        // SAFETY: addresses of functions of this copy, as its dynamic section lists them, with the arguments
        // that the generic ABI gives them.
        unsafe {
            if single != 0 {
                std::mem::transmute::<usize, Initialise>(self.base + single)(argc, argv, envp);
            }
            for index in 0..count {
                if let Some(function) = self.entry(array, index) {
                    std::mem::transmute::<usize, Initialise>(function)(argc, argv, envp);
                }
            }
        }
    }

    /// Runs what stands after `main` and `atexit`.
    ///
    /// # Safety
    /// The caller is the rank whose copy this is, once, when it ends.
    pub unsafe fn finish(&self) {
        let (single, array, count) = self.startup.fini;
        // SAFETY: as for `initialise`.
        unsafe {
            for index in (0..count).rev() {
                if let Some(function) = self.entry(array, index) {
                    std::mem::transmute::<usize, Finish>(function)();
                }
            }
            if single != 0 {
                std::mem::transmute::<usize, Finish>(self.base + single)();
            }
        }
    }

    /// `main` of this copy, which is at `offset`.
    pub fn main(&self, offset: usize) -> Main {
        // SAFETY: the address that the program gives to the C library as its `main`.
        unsafe { std::mem::transmute::<usize, Main>(self.base + offset) }
    }

    /// A function of an array; 0 and −1 stand for none.
    ///
    /// # Safety
    /// `array` is an array of this copy with more than `index` entries.
    unsafe fn entry(&self, array: usize, index: usize) -> Option<usize> {
        // SAFETY: the caller says so; the array lies in the copy's mapping.
        let function = unsafe { *((self.base + array) as *const usize).add(index) };
        (function != 0 && function != usize::MAX).then_some(function)
    }
}
