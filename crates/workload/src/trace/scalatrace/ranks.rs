//! Lists of ranks, folded: `1 -2 0 4 8 2 1` is 0, 1, 8, 9, 16, 17, 24, 25.

/// More ranks than this are a damaged list.
pub const MOST_RANKS: u64 = 1 << 20;
/// A list of more dimensions is damaged.
const MOST_DIMENSIONS: i64 = 16;

/// Ranks of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ranks(Vec<Block>);

/// First rank, and the iterations and stride of each dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block {
    first: i64,
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
                dimensions.push([iterations, stride]);
            }
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

    /// The highest of them.
    pub fn last(&self) -> u32 {
        self.0.iter().map(|block| block.ends()[1]).max().unwrap_or(0) as u32
    }

    /// All of them, in no order that matters.
    pub fn all(&self) -> Vec<u32> {
        (0..=self.last()).filter(|rank| self.contains(*rank)).collect()
    }
}

impl Block {
    /// The lowest and the highest rank.
    fn ends(&self) -> [i64; 2] {
        self.dimensions.iter().fold([self.first; 2], |[low, high], [iterations, stride]| {
            let way = (iterations - 1).max(0).saturating_mul(*stride);
            [low.saturating_add(way.min(0)), high.saturating_add(way.max(0))]
        })
    }
}

/// True if the dimensions lead from 0 to `left`.
fn among(left: i64, dimensions: &[[i64; 2]]) -> bool {
    match dimensions {
        [] => left == 0,
        [[iterations, 0]] => left == 0 && *iterations > 0,
        [[iterations, stride]] => left % stride == 0 && (0..*iterations).contains(&(left / stride)),
        [[iterations, stride], rest @ ..] => (0..*iterations).any(|at| among(left - at * stride, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_ranks_are_those_that_were_folded() {
        assert_eq!(Ranks::read("1 -1 3 1 0").unwrap().all(), [3]);
        assert_eq!(Ranks::read("1 -2 0 4 8 2 1").unwrap().all(), [0, 1, 8, 9, 16, 17, 24, 25]);
        assert_eq!(Ranks::read("2 -1 1 2 2 -1 7 1 0").unwrap().all(), [1, 3, 7]);
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
