//! Links in the order of their turn in progressive filling: a radix heap, for the level never falls.
//!
//! A link's share rises while flows are fixed, so the key that is written down here may be too small;
//! it is looked up again when the link's turn comes near. Buckets as in the engine's queue
//! (Ahuja, Mehlhorn, Orlin, Tarjan, JACM 37(2), 1990).

use crate::model::rate::Rate;

/// Links that may yet hold flows back.
#[derive(Debug)]
pub(super) struct Shares {
    /// The key that was the least last time.
    last: u64,
    /// Bucket `i`: links whose written key differs from `last` first in bit `i`.
    buckets: [Vec<(u64, u32)>; 64],
    /// Which of the buckets hold something.
    filled: u64,
}

impl Default for Shares {
    fn default() -> Shares {
        Shares { last: 0, buckets: std::array::from_fn(|_| Vec::new()), filled: 0 }
    }
}

impl Shares {
    /// Forgets all links.
    pub fn clear(&mut self) {
        while self.filled != 0 {
            self.buckets[self.filled.trailing_zeros() as usize].clear();
            self.filled &= self.filled - 1;
        }
        self.last = 0;
    }

    /// Adds link `at`, whose turn is not before `key`.
    pub fn push(&mut self, key: Rate, at: u32) {
        // What equals the last key may lie in the lowest bucket, too; rounding must not go below it.
        let key = key.0.max(self.last);
        let differing = (key ^ self.last) | 1;
        let bit = 63 - differing.leading_zeros();
        self.filled |= 1 << bit;
        self.buckets[bit as usize].push((key, at));
    }

    /// Moves the links of the least key to `least`, and gives that key. `key` is what it is for a link
    /// now, `None` if its turn never comes.
    pub fn pop_least(
        &mut self,
        least: &mut Vec<u32>,
        mut key: impl FnMut(u32) -> Option<Rate>,
    ) -> Option<Rate> {
        least.clear();
        while self.filled != 0 {
            let lowest = self.filled.trailing_zeros() as usize;
            self.filled &= self.filled - 1;
            let mut bucket = std::mem::take(&mut self.buckets[lowest]);
            let mut first = u64::MAX;
            bucket.retain_mut(|(written, at)| {
                let Some(now) = key(*at) else { return false };
                let now = now.0.max(self.last);
                *written = now;
                let stays = ((now ^ self.last) | 1) >> lowest <= 1;
                if stays {
                    first = first.min(now);
                } else {
                    self.push(Rate(now), *at);
                }
                stays
            });
            if !bucket.is_empty() {
                self.last = first;
            }
            for (key, at) in bucket.drain(..) {
                if key == first { least.push(at) } else { self.push(Rate(key), at) }
            }
            // The emptied vector goes back, unless another took its place.
            if self.buckets[lowest].is_empty() {
                self.buckets[lowest] = bucket;
            }
            if !least.is_empty() {
                return Some(Rate(first));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares that rise while others are taken come in order, equal ones together.
    #[test]
    fn the_least_come_first_and_together() {
        let offers = [9, 3, 3, 70, 1 << 40, 3, 12, 12];
        let mut shares = Shares::default();
        offers.iter().enumerate().for_each(|(at, share)| shares.push(Rate(*share), at as u32));
        let mut least = Vec::new();
        let mut order = Vec::new();
        // Links 0 and 3 have risen to 12 and beyond all others; nobody wants link 6.
        let risen = |at: u32| match at {
            0 => Some(Rate(12)),
            3 => Some(Rate(1 << 41)),
            6 => None,
            _ => Some(Rate(offers[at as usize])),
        };
        while let Some(level) = shares.pop_least(&mut least, risen) {
            least.sort_unstable();
            order.push((level.0, least.clone()));
        }
        assert_eq!(order, [(3, vec![1, 2, 5]), (12, vec![0, 7]), (1 << 40, vec![4]), (1 << 41, vec![3])]);
    }
}
