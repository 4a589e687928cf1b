//! The links that something moves on: reports over time look at these alone, since most links of a large network are idle.

use crate::topology::LinkId;

/// Links that something has moved on since the last report: a bit for each link of the network.
#[derive(Debug, Clone, Default)]
pub(super) struct MovedLinks {
    words: Vec<u64>,
}

impl MovedLinks {
    /// None yet of a network of `links` links.
    pub fn new(links: usize) -> MovedLinks {
        MovedLinks { words: vec![0; links.div_ceil(64)] }
    }

    /// Something moves on `link`.
    #[inline]
    pub fn note(&mut self, link: LinkId) {
        self.words[link.0 as usize / 64] |= 1 << (link.0 % 64);
    }

    /// All of them, ascending.
    pub fn all(&self) -> impl Iterator<Item = LinkId> + '_ {
        let moved = self.words.iter().enumerate().filter(|(_, word)| **word != 0);
        moved.flat_map(|(at, word)| {
            let first = at as u32 * 64;
            let rest =
                std::iter::successors(Some(*word), |rest| Some(rest & (rest - 1)).filter(|rest| *rest != 0));
            rest.map(move |rest| LinkId(first + rest.trailing_zeros()))
        })
    }

    /// Forgets those on which, as `is_moving` says, nothing moves any more.
    pub fn keep(&mut self, is_moving: impl Fn(LinkId) -> bool) {
        for (at, word) in self.words.iter_mut().enumerate().filter(|(_, word)| **word != 0) {
            let mut rest = *word;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                if !is_moving(LinkId(at as u32 * 64 + bit)) {
                    *word &= !(1 << bit);
                }
                rest &= rest - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each link stands once, until nothing moves on it; then it may be noted again.
    #[test]
    fn a_link_is_listed_once_while_it_moves() {
        let all = |moved: &MovedLinks| moved.all().map(|link| link.0).collect::<Vec<_>>();
        let mut moved = MovedLinks::new(130);
        [129, 3, 129, 64, 0, 63].into_iter().for_each(|link| moved.note(LinkId(link)));
        assert_eq!(all(&moved), [0, 3, 63, 64, 129]);
        moved.keep(|link| link.0 == 64 || link.0 == 3);
        assert_eq!(all(&moved), [3, 64]);
        [64, 2].into_iter().for_each(|link| moved.note(LinkId(link)));
        assert_eq!(all(&moved), [2, 3, 64]);
    }
}
