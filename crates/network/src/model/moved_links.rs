//! The links that something moves on: reports over time look at these alone, since most links of a large network are idle.

use crate::topology::LinkId;

/// Links that something has moved on since the last report, each once.
#[derive(Debug, Clone, Default)]
pub(super) struct MovedLinks {
    links: Vec<LinkId>,
    /// A bit for each link of the network: it is among `links`.
    listed: Vec<u64>,
}

impl MovedLinks {
    /// None yet of a network of `links` links.
    pub fn new(links: usize) -> MovedLinks {
        MovedLinks { links: Vec::new(), listed: vec![0; links.div_ceil(64)] }
    }

    /// Something moves on `link`.
    #[inline]
    pub fn note(&mut self, link: LinkId) {
        let (word, bit) = place(link);
        if self.listed[word] & bit == 0 {
            self.listed[word] |= bit;
            self.links.push(link);
        }
    }

    /// All of them, in no order that matters.
    pub fn all(&self) -> &[LinkId] {
        &self.links
    }

    /// Forgets those on which, as `is_moving` says, nothing moves any more.
    pub fn keep(&mut self, is_moving: impl Fn(LinkId) -> bool) {
        let listed = &mut self.listed;
        self.links.retain(|link| {
            let keeps = is_moving(*link);
            let (word, bit) = place(*link);
            if !keeps {
                listed[word] &= !bit;
            }
            keeps
        });
    }
}

/// Word and bit of a link.
fn place(link: LinkId) -> (usize, u64) {
    (link.0 as usize / 64, 1 << (link.0 % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each link stands once, until nothing moves on it; then it may be noted again.
    #[test]
    fn a_link_is_listed_once_while_it_moves() {
        let mut moved = MovedLinks::new(130);
        [129, 3, 129, 64, 3].into_iter().for_each(|link| moved.note(LinkId(link)));
        assert_eq!(moved.all(), [129, 3, 64].map(LinkId));
        moved.keep(|link| link.0 == 64);
        assert_eq!(moved.all(), [LinkId(64)]);
        [64, 3].into_iter().for_each(|link| moved.note(LinkId(link)));
        assert_eq!(moved.all(), [64, 3].map(LinkId));
    }
}
