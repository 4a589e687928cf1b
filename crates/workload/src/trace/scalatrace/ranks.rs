//! Lists of ranks, folded: `1 -2 0 4 8 2 1` is 0, 1, 8, 9, 16, 17, 24, 25.

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Largest number of ranks of a list that is not taken for damage.
pub const MOST_RANKS: u64 = 1 << 20;
/// Largest number of dimensions of a list that is not taken for damage.
const MOST_DIMENSIONS: i64 = 16;

/// Ranks of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ranks(Vec<Block>);

/// Ranks with regular distances.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block {
    /// The first rank.
    first: i64,
    /// Iterations and stride of each dimension, the longest stride first; one iteration if the stride is 0.
    dimensions: Vec<[i64; 2]>,
}

impl Ranks {
    /// Reads a list of ranks.
    pub fn read(text: &str) -> Result<Ranks, String> {
        let error = || format!("'{}' is no list of ranks", text.trim());
        let mut numbers = text.split_whitespace().map(|word| word.parse::<i32>().map(i64::from));
        let mut next = || numbers.next().and_then(Result::ok).ok_or_else(error);
        let (count, mut blocks, mut total) = (next()?, Vec::new(), 0_u64);
        for _ in 0..count.max(0) {
            let (depth, first) = (-next()?, next()?);
            if !(1..=MOST_DIMENSIONS).contains(&depth) || first < 0 {
                return Err(error());
            }
            let (mut dimensions, mut ranks) = (Vec::new(), 1_u64);
            for _ in 0..depth {
                let (iterations, stride) = (next()?, next()?);
                ranks = u64::try_from(iterations).map_or(u64::MAX, |times| ranks.saturating_mul(times));
                dimensions.push([if stride == 0 { iterations.min(1) } else { iterations }, stride]);
            }
            dimensions.sort_by_key(|[_, stride]| Reverse(stride.abs()));
            let block = Block { first, dimensions };
            total = total.saturating_add(ranks);
            if total > MOST_RANKS || block.ends().iter().any(|rank| !(0..MOST_RANKS as i64).contains(rank)) {
                return Err(format!(
                    "'{}' has more than {MOST_RANKS} ranks, or such that cannot be",
                    text.trim()
                ));
            }
            blocks.push(block);
        }
        if blocks.is_empty() || numbers.next().is_some() {
            return Err(error());
        }
        Ok(Ranks(blocks))
    }

    /// True if `rank` is among them.
    pub fn contains(&self, rank: u32) -> bool {
        self.0.iter().any(|block| among(i64::from(rank) - block.first, &block.dimensions))
    }

    /// All ranks in ascending order.
    pub fn all(&self) -> BTreeSet<u32> {
        self.0.iter().flat_map(Block::ranks).map(|rank| rank as u32).collect()
    }
}

impl Block {
    /// The lowest and the highest rank.
    fn ends(&self) -> [i64; 2] {
        spans(&self.dimensions).map(|span| self.first.saturating_add(span))
    }

    /// Its ranks; one may occur several times.
    fn ranks(&self) -> Vec<i64> {
        self.dimensions.iter().fold(vec![self.first], |ranks, [iterations, stride]| {
            ranks.iter().flat_map(|rank| (0..*iterations).map(move |at| rank + at * stride)).collect()
        })
    }
}

/// The lowest and the highest distance from the first rank.
fn spans(dimensions: &[[i64; 2]]) -> [i64; 2] {
    dimensions.iter().fold([0; 2], |[low, high]: [i64; 2], [iterations, stride]| {
        let span = (iterations - 1).max(0).saturating_mul(*stride);
        [low.saturating_add(span.min(0)), high.saturating_add(span.max(0))]
    })
}

/// True if a multiple of the dimensions' strides, within their iterations, adds up to `left`.
fn among(left: i64, dimensions: &[[i64; 2]]) -> bool {
    match dimensions {
        [] => left == 0,
        [[iterations, 0]] => left == 0 && *iterations > 0,
        [[iterations, stride]] => left % stride == 0 && (0..*iterations).contains(&(left / stride)),
        [[iterations, stride], rest @ ..] => {
            // The distance that is left for the other dimensions lies within their span.
            let [low, high] = spans(rest);
            let mut lefts = (0..*iterations).map(|at| left - at * stride);
            lefts.any(|left| (low..=high).contains(&left) && among(left, rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_ranks_are_those_that_were_folded() {
        for (text, ranks) in [
            ("1 -1 3 1 0", &[3][..]),
            ("1 -2 0 4 8 2 1", &[0, 1, 8, 9, 16, 17, 24, 25]),
            ("1 -2 0 2 1 4 8", &[0, 1, 8, 9, 16, 17, 24, 25]),
            ("2 -1 1 2 2 -1 7 1 0", &[1, 3, 7]),
            ("1 -2 9 2 -4 3 -1", &[3, 4, 5, 7, 8, 9]),
            ("1 -2 5 0 1 2 1", &[]),
        ] {
            let read = Ranks::read(text).unwrap();
            assert!(read.all().iter().eq(ranks), "{text}: {:?}", read.all());
            let contained: Vec<u32> = (0..40).filter(|rank| read.contains(*rank)).collect();
            assert_eq!(contained, ranks, "{text}");
        }
        for wrong in [
            "",
            "0",
            "1",
            "1 1 0 1 0",
            "1 -1 0 2",
            "1 -1 0 1 0 5",
            "1 -1 0 2000000 1",
            "1 -1 0 3 -1",
            "1 -1 x",
        ] {
            assert!(Ranks::read(wrong).is_err(), "{wrong}");
        }
    }
}
