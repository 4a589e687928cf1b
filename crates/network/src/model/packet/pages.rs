//! Tables in pages that are there once somebody on them is used: most hosts of a large platform may have none that sends.

use std::ops::{Index, IndexMut};

use super::index::SenderIndex;

/// Table with a record for each sender.
#[derive(Debug)]
pub(super) struct Pages<T> {
    pages: Vec<Box<[T]>>,
    count: usize,
    /// Record of a sender that has not been used.
    unused: T,
}

const PAGE_BITS: u32 = 10;
const PAGE: usize = 1 << PAGE_BITS;

impl<T: Copy> Pages<T> {
    /// Places for `count` records, each `unused` at first.
    pub fn new(count: usize, unused: T) -> Pages<T> {
        let mut pages = Vec::new();
        pages.resize_with(count.div_ceil(PAGE), Box::default);
        Pages { pages, count, unused }
    }

    /// Number of places.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The records that have been used before, and some others.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flatten()
    }
}

impl<T> Index<SenderIndex> for Pages<T> {
    type Output = T;
    /// A record that has been used before.
    #[inline]
    fn index(&self, sender: SenderIndex) -> &T {
        &self.pages[(sender.0 >> PAGE_BITS) as usize][sender.at() % PAGE]
    }
}

impl<T: Copy> IndexMut<SenderIndex> for Pages<T> {
    #[inline]
    fn index_mut(&mut self, sender: SenderIndex) -> &mut T {
        let page = &mut self.pages[(sender.0 >> PAGE_BITS) as usize];
        if page.is_empty() {
            open(page, self.unused);
        }
        &mut page[sender.at() % PAGE]
    }
}

/// Somebody on the page is about to be used.
#[cold]
#[inline(never)]
fn open<T: Copy>(page: &mut Box<[T]>, unused: T) {
    *page = vec![unused; PAGE].into();
}
