//! A map for a rank's few partners and communicators, of which some ranks have many.

use engine::hash::Map;

/// A map from numbers that is a plain list while it is short.
#[derive(Debug)]
pub(crate) struct SmallMap<V> {
    entries: Vec<(u32, V)>,
    index: Option<Box<Map<u32, u32>>>,
}

impl<V> Default for SmallMap<V> {
    fn default() -> SmallMap<V> {
        SmallMap { entries: Vec::new(), index: None }
    }
}

/// Up to here a linear search is the quickest.
const SMALL: usize = 16;

impl<V: Default> SmallMap<V> {
    /// The entry of `number`, made where it is not there.
    #[inline]
    pub fn entry(&mut self, number: u32) -> &mut V {
        let at = match &self.index {
            None => self.entries.iter().position(|(key, _)| *key == number),
            Some(_) => self.look_up(number),
        };
        let at = at.unwrap_or_else(|| self.insert(number));
        &mut self.entries[at].1
    }

    /// The place of `number` in a map that is not short any more.
    #[inline(never)]
    fn look_up(&self, number: u32) -> Option<usize> {
        self.index.as_ref()?.get(&number).map(|at| *at as usize)
    }

    /// The entry of `number`, if it is there.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&V> {
        let at = match &self.index {
            None => self.entries.iter().position(|(key, _)| *key == number)?,
            Some(_) => self.look_up(number)?,
        };
        Some(&self.entries[at].1)
    }

    #[inline(never)]
    fn insert(&mut self, number: u32) -> usize {
        let at = self.entries.len();
        self.entries.push((number, V::default()));
        if let Some(index) = &mut self.index {
            index.insert(number, at as u32);
        } else if self.entries.len() > SMALL {
            let numbers = self.entries.iter().map(|(key, _)| *key);
            self.index = Some(Box::new(numbers.zip(0..).collect()));
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_map_finds_what_was_put_short_and_long() {
        let mut small: SmallMap<u32> = SmallMap::default();
        for number in 0..100 {
            *small.entry(number * 7) = number;
            assert!((0..=number).all(|earlier| small.get(earlier * 7) == Some(&earlier)));
            assert_eq!(small.get(number * 7 + 1), None);
        }
    }
}
