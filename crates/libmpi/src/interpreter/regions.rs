//! Memory of objects that all ranks share, whose content is each rank's own: states of generators of random numbers.
//!
//! As long as no rank has changed a region, a switch costs a comparison. Once one has, the others get contents of
//! their own when they next run, and every switch copies the region.

use std::ptr;

use super::Interpreter;
use super::python::Object;

/// One piece of memory.
pub struct Region {
    address: *mut u8,
    /// As it was when it was named.
    first: Box<[u8]>,
    /// `begin(rank) -> bytes`: the content for a rank that has none, where another has changed the first.
    begin: Object,
    /// By rank; empty as long as none has changed the first.
    own: Vec<Option<Box<[u8]>>>,
}

impl Region {
    /// # Safety
    /// The memory lives as long as the process; `begin` is a function of Python that is never freed.
    pub unsafe fn new(address: *mut u8, length: usize, begin: Object) -> Region {
        // SAFETY: the caller says so.
        let first = unsafe { std::slice::from_raw_parts(address, length) }.into();
        Region { address, first, begin, own: Vec::new() }
    }

    fn content(&self) -> &[u8] {
        // SAFETY: as `new` says; nobody writes to it while this is looked at.
        unsafe { std::slice::from_raw_parts(self.address, self.first.len()) }
    }

    fn keep(&mut self, rank: usize, ranks: usize) {
        if self.own.is_empty() {
            if *self.content() == *self.first {
                return;
            }
            self.own = vec![None; ranks];
        }
        if let Some(own) = &mut self.own[rank] {
            // SAFETY: as `new` says.
            unsafe { ptr::copy_nonoverlapping(self.address, own.as_mut_ptr(), own.len()) };
        } else {
            self.own[rank] = Some(self.content().into());
        }
    }

    fn put(&self, content: &[u8]) {
        assert_eq!(content.len(), self.first.len(), "a rank's content is as long as the first one's");
        // SAFETY: as `new` says.
        unsafe { ptr::copy_nonoverlapping(content.as_ptr(), self.address, content.len()) };
    }
}

impl Interpreter {
    /// Takes what is in the regions as `rank`'s own.
    pub(super) fn keep_regions(&self, rank: u32) {
        let ranks = self.ranks.borrow().len();
        for region in &mut *self.regions.borrow_mut() {
            region.keep(rank as usize, ranks);
        }
    }

    /// Puts `rank`'s own content into the regions.
    ///
    /// # Safety
    /// The interpreter is held.
    pub(super) unsafe fn place_regions(&self, rank: u32) {
        for index in 0..self.regions.borrow().len() {
            let begin = {
                let regions = self.regions.borrow();
                let region = &regions[index];
                match region.own.get(rank as usize) {
                    None => continue,
                    Some(Some(own)) => {
                        region.put(own);
                        continue;
                    }
                    Some(None) => region.begin,
                }
            };
            let python = &self.python;
            // SAFETY: the caller says so; the bytes live until they are let go of.
            unsafe {
                let number = (python.number)(rank.into());
                let bytes = (python.call)(begin, number, ptr::null_mut(), ptr::null_mut());
                assert!(!bytes.is_null(), "the content of a rank's region can be made");
                let content = (python.bytes)(bytes);
                let length = (python.length)(bytes) as usize;
                self.regions.borrow()[index].put(std::slice::from_raw_parts(content.cast(), length));
                (python.decrease)(bytes);
                (python.decrease)(number);
            }
        }
    }

    /// Forgets what a rank has in regions.
    pub(super) fn forget_regions(&self, rank: u32) {
        for region in &mut *self.regions.borrow_mut() {
            if let Some(own) = region.own.get_mut(rank as usize) {
                *own = None;
            }
        }
    }
}
