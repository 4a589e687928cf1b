//! One rank's copy of the program.

use std::ffi::{c_char, c_int};
use std::rc::Rc;

use object::elf as tags;

use super::elf::Elf;
use super::linking::Part;
use crate::fiber::root::hopcast_call;

/// A copy of the program's image at its own address.
pub struct ProgramCopy {
    base: usize,
    span: usize,
    /// Start-up of the libraries, those first that others need; the program's is the last.
    startup: Rc<[Startup]>,
    owner: CopyOwner,
}

/// Owner of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyOwner {
    /// One rank's own.
    Own,
    /// All ranks'; this one begins it.
    SharedByFirst,
    /// All ranks'.
    Shared,
}

/// The functions that a part runs before `main` and after it, relative to the base of a copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Startup {
    /// One function, and an array of them with its length \[functions\].
    init: (Option<usize>, usize, usize),
    /// The same for the end.
    fini: (Option<usize>, usize, usize),
}

impl Startup {
    /// Those of these parts, in the order in which they begin.
    pub(super) fn of_all(parts: &[Part]) -> Rc<[Startup]> {
        let mut order: Vec<_> = parts.iter().collect();
        order.sort_unstable_by_key(|part| part.begins);
        order.into_iter().map(|part| Startup::of(&part.elf, part.offset)).collect()
    }

    /// As the dynamic section of a part says that is `offset` from the base.
    pub(super) fn of(elf: &Elf, offset: usize) -> Startup {
        let at = |tag| elf.dynamic.get(tag).map(|address| address.wrapping_add(offset));
        let array = |tag, bytes| (at(tag).unwrap_or(0), elf.dynamic.get(bytes).unwrap_or(0) / 8);
        let (init, inits) = array(tags::DT_INIT_ARRAY, tags::DT_INIT_ARRAYSZ);
        let (fini, finis) = array(tags::DT_FINI_ARRAY, tags::DT_FINI_ARRAYSZ);
        Startup { init: (at(tags::DT_INIT), init, inits), fini: (at(tags::DT_FINI), fini, finis) }
    }
}

impl ProgramCopy {
    pub(super) fn new(base: usize, span: usize, startup: Rc<[Startup]>, owner: CopyOwner) -> ProgramCopy {
        ProgramCopy { base, span, startup, owner }
    }

    /// Owner of the copy.
    pub fn owner(&self) -> CopyOwner {
        self.owner
    }

    /// The copy of no program: of a rank that runs something else.
    pub fn none() -> ProgramCopy {
        ProgramCopy { base: 0, span: 0, startup: Rc::new([]), owner: CopyOwner::Shared }
    }

    /// Place of it.
    pub fn base(&self) -> usize {
        self.base
    }

    /// The pages that this rank writes, of which none is needed any more, become the template's again.
    pub fn forget_pages(&self) {
        if self.owner != CopyOwner::Own {
            return;
        }
        // SAFETY: a private mapping of a file, of which no code runs any more.
        unsafe { libc::madvise(self.base as *mut _, self.span, libc::MADV_DONTNEED) };
    }

    /// Runs what stands before `main`, on the rank's fiber.
    ///
    /// # Safety
    /// The caller is the rank whose copy this is, once, before `main`.
    pub unsafe fn initialise(&self, argc: c_int, argv: *const *const c_char, envp: *const *const c_char) {
        if self.owner == CopyOwner::Shared {
            return;
        }
        let call = |function| {
            // SAFETY: the address of a function of this copy, as its dynamic section lists it, with the arguments that
            // the generic ABI gives it.
            unsafe { hopcast_call(function, argc as usize, argv as usize, envp as usize) };
        };
        for startup in self.startup.iter() {
            let (single, array, count) = startup.init;
            single.into_iter().for_each(|single| call(self.base.wrapping_add(single)));
            // SAFETY: one of its arrays.
            (0..count).filter_map(|index| unsafe { self.entry(array, index) }).for_each(call);
        }
    }

    /// Runs what stands after `main` and `atexit`.
    ///
    /// # Safety
    /// The caller is the rank whose copy this is, once, when it ends.
    pub unsafe fn finish(&self) {
        if self.owner != CopyOwner::Own {
            return;
        }
        let call = |function| {
            // SAFETY: as for `initialise`, without arguments.
            unsafe { hopcast_call(function, 0, 0, 0) };
        };
        for startup in self.startup.iter().rev() {
            let (single, array, count) = startup.fini;
            // SAFETY: one of its arrays.
            (0..count).rev().filter_map(|index| unsafe { self.entry(array, index) }).for_each(call);
            single.into_iter().for_each(|single| call(self.base.wrapping_add(single)));
        }
    }

    /// `main` of this copy, which is at `offset`.
    pub fn main(&self, offset: usize) -> usize {
        self.base + offset
    }

    /// A function of an array; 0 and −1 stand for none.
    ///
    /// # Safety
    /// `array` is an array of this copy with more than `index` entries.
    unsafe fn entry(&self, array: usize, index: usize) -> Option<usize> {
        // SAFETY: the caller says so; the array lies in the copy's mapping.
        let function = unsafe { *(self.base.wrapping_add(array) as *const usize).add(index) };
        (function != 0 && function != usize::MAX).then_some(function)
    }
}
