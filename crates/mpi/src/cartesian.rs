//! Cartesian topologies as pure functions: coordinates, ranks, shifts, sub-grids, balanced sizes.
//!
//! Ranks are numbered in row-major order: the last dimension varies fastest.
//! Source: MPI 4.0, section 8.5.

/// A neighbour that is not there (MPI_PROC_NULL), in [`Neighbours`] and shifts.
pub const NOBODY: u32 = u32::MAX;

/// A Cartesian grid.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CartGrid {
    /// Size of each dimension, 1 or more.
    pub sizes: Vec<u32>,
    /// True for each dimension that wraps around.
    pub periodic: Vec<bool>,
}

/// The neighbours of one rank in a graph topology, ranks in the communicator.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Neighbours {
    /// Ranks that send to this one.
    pub sources: Vec<u32>,
    /// To whom this rank sends.
    pub destinations: Vec<u32>,
}

impl CartGrid {
    /// Number of ranks that the grid holds; `None` if that is more than a `u32` counts, or the lists of
    /// sizes and periods differ in length, or a size is 0.
    pub fn size(&self) -> Option<u32> {
        if self.sizes.len() != self.periodic.len() || self.sizes.contains(&0) {
            return None;
        }
        self.sizes.iter().try_fold(1u32, |size, extent| size.checked_mul(*extent))
    }

    /// The coordinates of `rank`, which is below the size (MPI_Cart_coords).
    pub fn coordinates(&self, rank: u32) -> Vec<u32> {
        let mut rest = rank;
        let mut coordinates: Vec<u32> = self
            .sizes
            .iter()
            .rev()
            .map(|extent| {
                let coordinate = rest % extent;
                rest /= extent;
                coordinate
            })
            .collect();
        coordinates.reverse();
        coordinates
    }

    /// The rank at `coordinates`, one per dimension (MPI_Cart_rank). Periodic dimensions wrap; outside
    /// the others there is nobody.
    pub fn rank(&self, coordinates: &[i64]) -> Option<u32> {
        assert_eq!(coordinates.len(), self.sizes.len(), "one coordinate for each dimension");
        let mut rank = 0;
        for ((coordinate, extent), periodic) in coordinates.iter().zip(&self.sizes).zip(&self.periodic) {
            let extent = i64::from(*extent);
            if !periodic && !(0..extent).contains(coordinate) {
                return None;
            }
            rank = rank * extent + coordinate.rem_euclid(extent);
        }
        Some(rank as u32)
    }

    /// From whom `rank` receives and to whom it sends when data moves by `displacement` along
    /// `dimension` (MPI_Cart_shift): `(source, destination)`.
    pub fn shift(&self, rank: u32, dimension: usize, displacement: i64) -> (Option<u32>, Option<u32>) {
        let mut coordinates: Vec<i64> = self.coordinates(rank).into_iter().map(i64::from).collect();
        let here = coordinates[dimension];
        coordinates[dimension] = here - displacement;
        let source = self.rank(&coordinates);
        coordinates[dimension] = here + displacement;
        (source, self.rank(&coordinates))
    }

    /// The neighbours of `rank` in the order of neighbourhood collectives: for each dimension the
    /// lower, then the upper; [`NOBODY`] beyond a border that does not wrap.
    pub fn neighbours(&self, rank: u32) -> Neighbours {
        let around: Vec<u32> = (0..self.sizes.len())
            .flat_map(|dimension| {
                let (lower, upper) = self.shift(rank, dimension, 1);
                [lower.unwrap_or(NOBODY), upper.unwrap_or(NOBODY)]
            })
            .collect();
        Neighbours { sources: around.clone(), destinations: around }
    }

    /// The sub-grid that keeps the dimensions in `remain` (MPI_Cart_sub), and for `rank` the colour
    /// and key of the split that makes it.
    pub fn sub(&self, rank: u32, remain: &[bool]) -> (CartGrid, i64, i64) {
        assert_eq!(remain.len(), self.sizes.len(), "one choice for each dimension");
        let kept = |wanted: bool| remain.iter().enumerate().filter(move |(_, keep)| **keep == wanted);
        let coordinates = self.coordinates(rank);
        let number = |wanted: bool| {
            kept(wanted)
                .fold(0i64, |number, (at, _)| number * i64::from(self.sizes[at]) + i64::from(coordinates[at]))
        };
        let grid = CartGrid {
            sizes: kept(true).map(|(at, _)| self.sizes[at]).collect(),
            periodic: kept(true).map(|(at, _)| self.periodic[at]).collect(),
        };
        (grid, number(false), number(true))
    }
}

/// Sizes whose product is `ranks`, as close to each other as can be and in falling order; those of
/// `fixed` that are not 0 stay (MPI_Dims_create). `None` if the fixed ones do not divide `ranks`.
///
/// As close as can be: the difference between the largest and the smallest is least; of several such, the
/// smallest, then the next larger one, and so on, are as large as can be. Source: MPI 5.0, 8.5.2; Träff and Lübbe,
/// "Specification guideline violations by MPI_Dims_create" (EuroMPI 2015).
pub fn dims_create(ranks: u32, fixed: &[u32]) -> Option<Vec<u32>> {
    let product =
        fixed.iter().filter(|size| **size > 0).try_fold(1u32, |all, size| all.checked_mul(*size))?;
    let free = fixed.iter().filter(|size| **size == 0).count();
    if ranks == 0 || ranks % product != 0 || (free == 0 && ranks != product) {
        return None;
    }
    let mut balanced = balance(ranks / product, free).into_iter();
    Some(
        fixed
            .iter()
            .map(|size| if *size > 0 { *size } else { balanced.next().expect("a free place") })
            .collect(),
    )
}

/// The falling sequence of `parts` factors of `number` that are closest to each other.
fn balance(number: u32, parts: usize) -> Vec<u32> {
    if parts == 0 {
        return Vec::new();
    }
    let divisors = divisors(number);
    let Some(mut best) = low(number, parts, u32::MAX, &divisors) else { return Vec::new() };
    let root = f64::from(number).powf(1.0 / parts as f64);
    for first in divisors.iter().filter(|first| f64::from(**first) >= root - 1e-6) {
        let most = spread(&best);
        // The smallest is not above the root.
        if f64::from(*first) > root + f64::from(most) + 1e-6 {
            break;
        }
        let least = first.saturating_sub(most).max(1);
        improve(number / first, parts - 1, least, &divisors, &mut vec![*first], &mut best);
    }
    best
}

fn spread(sizes: &[u32]) -> u32 {
    sizes.first().zip(sizes.last()).map_or(0, |(first, last)| first - last)
}

/// Puts the best continuation of `sizes` by `parts` factors of `rest`, none below `least`, into `best`, if it is
/// better.
fn improve(rest: u32, parts: usize, least: u32, divisors: &[u32], sizes: &mut Vec<u32>, best: &mut Vec<u32>) {
    if parts == 0 {
        let closer = spread(sizes) < spread(best);
        let fuller = spread(sizes) == spread(best) && sizes.iter().rev().gt(best.iter().rev());
        if rest == 1 && (closer || fuller) {
            best.clone_from(sizes);
        }
        return;
    }
    let limit = *sizes.last().expect("there is a first one");
    let power = |base: u32| u64::from(base).saturating_pow(parts as u32);
    let within = divisors.iter().filter(|next| (least..=limit).contains(*next) && rest % **next == 0);
    for next in within.filter(|next| power(**next) >= u64::from(rest)) {
        sizes.push(*next);
        improve(rest / next, parts - 1, least, divisors, sizes, best);
        sizes.pop();
    }
}

/// The falling sequence of `parts` factors of `number`, none above `limit`, of which the first is as small as can be,
/// then the second, and so on: a good one to begin with.
fn low(number: u32, parts: usize, limit: u32, divisors: &[u32]) -> Option<Vec<u32>> {
    if parts == 0 {
        return (number == 1).then(Vec::new);
    }
    if parts == 1 {
        return (number <= limit).then(|| vec![number]);
    }
    let least = f64::from(number).powf(1.0 / parts as f64) - 1e-6;
    let fitting = divisors.iter().filter(|first| number % **first == 0 && **first <= limit);
    fitting.filter(|first| f64::from(**first) >= least).find_map(|first| {
        let mut sizes = vec![*first];
        sizes.extend(low(number / first, parts - 1, *first, divisors)?);
        Some(sizes)
    })
}

/// The divisors of `number`, ascending.
fn divisors(number: u32) -> Vec<u32> {
    let small: Vec<u32> =
        (1u32..).take_while(|d| u64::from(*d).pow(2) <= number.into()).filter(|d| number % d == 0).collect();
    let large = small.iter().rev().map(|d| number / d).filter(|d| u64::from(*d).pow(2) > number.into());
    small.iter().copied().chain(large).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(sizes: &[u32], periodic: &[bool]) -> CartGrid {
        CartGrid { sizes: sizes.to_vec(), periodic: periodic.to_vec() }
    }

    #[test]
    fn ranks_are_row_major() {
        let grid = grid(&[2, 3], &[false, true]);
        assert_eq!(grid.size(), Some(6));
        assert_eq!(grid.coordinates(4), [1, 1]);
        for rank in 0..6 {
            let coordinates: Vec<i64> = grid.coordinates(rank).into_iter().map(i64::from).collect();
            assert_eq!(grid.rank(&coordinates), Some(rank));
        }
        assert_eq!(grid.rank(&[1, -1]), Some(5));
        assert_eq!(grid.rank(&[2, 0]), None);
    }

    #[test]
    fn shifts_wrap_only_where_periodic() {
        let grid = grid(&[2, 3], &[false, true]);
        assert_eq!(grid.shift(0, 0, 1), (None, Some(3)));
        assert_eq!(grid.shift(0, 1, 1), (Some(2), Some(1)));
        assert_eq!(grid.shift(0, 1, 2), (Some(1), Some(2)));
        assert_eq!(grid.neighbours(0).sources, [NOBODY, 3, 2, 1]);
    }

    #[test]
    fn sub_grids_are_rows_and_columns() {
        let grid = grid(&[2, 3], &[false, true]);
        let (row, colour, key) = grid.sub(4, &[false, true]);
        assert_eq!((row.sizes, row.periodic, colour, key), (vec![3], vec![true], 1, 1));
        let (column, colour, key) = grid.sub(4, &[true, false]);
        assert_eq!((column.sizes, colour, key), (vec![2], 1, 1));
        let (all, colour, key) = grid.sub(4, &[true, true]);
        assert_eq!((all, colour, key), (grid.clone(), 0, 4));
    }

    /// The table of MPI 4.0, example 8.1, and balanced three-dimensional grids.
    #[test]
    fn sizes_are_balanced() {
        assert_eq!(dims_create(6, &[0, 0]), Some(vec![3, 2]));
        assert_eq!(dims_create(7, &[0, 0]), Some(vec![7, 1]));
        assert_eq!(dims_create(6, &[0, 3, 0]), Some(vec![2, 3, 1]));
        assert_eq!(dims_create(7, &[0, 3, 0]), None);
        assert_eq!(dims_create(64, &[0, 0, 0]), Some(vec![4, 4, 4]));
        assert_eq!(dims_create(1024, &[0, 0, 0]), Some(vec![16, 8, 8]));
        // Of 20 x 18 x 14 and 21 x 16 x 15 the smallest is larger; 24 x 24 x 13 are further apart than these.
        assert_eq!(dims_create(5040, &[0, 0, 0]), Some(vec![21, 16, 15]));
        assert_eq!(dims_create(7488, &[0, 0, 0]), Some(vec![26, 18, 16]));
        assert_eq!(dims_create(735_134_400, &[0; 17]).map(|sizes| sizes.iter().product()), Some(735_134_400));
        assert_eq!(dims_create(12, &[12]), Some(vec![12]));
        assert_eq!(dims_create(1, &[]), Some(vec![]));
        assert_eq!(dims_create(1_000_000, &[0, 0, 0]), Some(vec![100, 100, 100]));
    }

    #[test]
    fn sizes_too_large_for_a_rank_are_refused() {
        assert_eq!(grid(&[65_536, 65_536], &[false, false]).size(), None);
        assert_eq!(grid(&[2, 0], &[false, false]).size(), None);
        assert_eq!(grid(&[2], &[]).size(), None);
    }
}
