//! Tables in pages that are there once somebody on them is used: most hosts of a large platform may have none that sends.

use std::ops::{Index, IndexMut};

/// Table with a record for each number.
#[derive(Debug)]
pub(super) struct Pages<T> {
    pages: Vec<Box<[T]>>,
    /// Record of a number that has not been used.
    unused: T,
}

const PAGE_BITS: u32 = 10;
const PAGE: usize = 1 << PAGE_BITS;

impl<T: Clone> Pages<T> {
    /// With records that are `unused` at first.
    pub const fn new(unused: T) -> Pages<T> {
        Pages { pages: Vec::new(), unused }
    }

    /// The records that have been used before, and some others.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flatten()
    }
}

impl<T, I: Into<u32>> Index<I> for Pages<T> {
    type Output = T;
    #[inline]
    fn index(&self, number: I) -> &T {
        let number: u32 = number.into();
        let page = self.pages.get((number >> PAGE_BITS) as usize);
        page.and_then(|page| page.get(number as usize % PAGE)).unwrap_or(&self.unused)
    }
}

impl<T: Clone, I: Into<u32>> IndexMut<I> for Pages<T> {
    #[inline]
    fn index_mut(&mut self, number: I) -> &mut T {
        let number: u32 = number.into();
        let page = (number >> PAGE_BITS) as usize;
        if self.pages.get(page).is_none_or(|page| page.is_empty()) {
            open(&mut self.pages, page, &self.unused);
        }
        &mut self.pages[page][number as usize % PAGE]
    }
}

/// Somebody on the page is about to be used.
#[cold]
#[inline(never)]
fn open<T: Clone>(pages: &mut Vec<Box<[T]>>, page: usize, unused: &T) {
    if page >= pages.len() {
        pages.resize_with(page + 1, Box::default);
    }
    pages[page] = vec![unused.clone(); PAGE].into();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_that_are_used_take_memory() {
        let mut pages = Pages::new(7);
        pages[8_000_000_u32] += 1;
        pages[5_u32] += 2;
        assert_eq!([pages[8_000_000_u32], pages[8_000_001_u32], pages[5_u32], pages[4_u32]], [8, 7, 9, 7]);
        assert_eq!([pages[4_000_000_u32], pages[u32::MAX]], [7; 2]);
        assert_eq!(pages.iter().count(), 2 * PAGE);
    }
}
