//! Times of calls: exact, or as a histogram for each place of a loop; also the numbers about the gaps before them.
//!
//! A [`Tally`] counts times in bins of a quarter octave, with their sum. Drawing from it gives as many times for each
//! bin as were counted, each the mean of those left in the bin, in random order; their sum is the recorded one to the
//! nanosecond. Valid where the order of a loop's times does not matter: a slow iteration may come back at another
//! round than it was recorded at, and on different ranks at different rounds.

use super::fold::Sum;
use super::gaps::Gap;

/// Gap before a call, and length of the call \[ns\].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Gap since the return of the previous call, without the time waited in polls ([`Gap::waited_ns`]) \[ns\].
    pub gap_ns: u64,
    /// Length of the call \[ns\].
    pub length_ns: u64,
}

/// One bin of a histogram: times of about the same length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bin {
    /// Number of the quarter octave; 0 for 0 ns.
    pub bin: u8,
    /// Number of times.
    pub count: u64,
    /// Sum of the times, in the unit of the tally.
    pub sum: u64,
}

/// Histogram of times.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tally {
    bins: Vec<Bin>,
    /// Number of times in all bins.
    left: u64,
}

/// Quarter of an octave that a time falls into.
fn bin(ns: u64) -> u8 {
    let Some(octave) = ns.checked_ilog2() else { return 0 };
    let quarter = if octave < 2 { ns << (2 - octave) } else { ns >> (octave - 2) } & 3;
    (4 * octave + quarter as u32 + 1).min(255) as u8
}

impl Tally {
    /// Tally of one time.
    pub fn of(ns: u64) -> Tally {
        Tally::of_bins(vec![Bin { bin: bin(ns), count: 1, sum: ns }])
    }

    /// Tally of these bins.
    pub fn of_bins(bins: Vec<Bin>) -> Tally {
        Tally { left: bins.iter().map(|bin| bin.count).sum(), bins }
    }

    /// Bins, ascending.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    fn add(&mut self, later: &Tally) {
        self.left += later.left;
        for one in &later.bins {
            match self.bins.binary_search_by_key(&one.bin, |bin| bin.bin) {
                Ok(at) => {
                    self.bins[at].count += one.count;
                    self.bins[at].sum = self.bins[at].sum.saturating_add(one.sum);
                }
                Err(at) => self.bins.insert(at, *one),
            }
        }
    }

    /// Takes one of the times that are left out of the tally; `number` is random.
    fn draw(&mut self, number: u64) -> u64 {
        self.draw_of(number, self.left)
    }

    /// Takes one of `left` times out of the tally; those that are in no bin are 0.
    fn draw_of(&mut self, number: u64, left: u64) -> u64 {
        if left == 0 {
            return 0;
        }
        // Multiply-shift: about uniform in 0..left.
        let mut at = ((u128::from(number) * u128::from(left)) >> 64) as u64;
        for bin in &mut self.bins {
            if at < bin.count {
                let ns = bin.sum / bin.count;
                bin.count -= 1;
                bin.sum -= ns;
                self.left -= 1;
                return ns;
            }
            at -= bin.count;
        }
        0
    }
}

/// Times at one place of a folded sequence.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Spread {
    /// Gaps before the calls.
    pub gap: Tally,
    /// Lengths of the calls.
    pub length: Tally,
    /// Other numbers about the gaps, by kind; zeros are in no bin, and kinds beyond the end are all 0.
    pub between: Vec<Tally>,
}

impl Spread {
    /// Spread of one call, with `kinds` numbers.
    pub fn of(span: Span, between: &Gap, kinds: usize) -> Spread {
        let number = |kind: usize| between.number(kind);
        let tally = |kind| if number(kind) == 0 { Tally::default() } else { Tally::of(number(kind)) };
        let known = (0..kinds).rev().find(|kind| number(*kind) > 0).map_or(0, |last| last + 1);
        let between = (0..known).map(tally).collect();
        Spread { gap: Tally::of(span.gap_ns), length: Tally::of(span.length_ns), between }
    }

    /// True if a number of this kind is not 0.
    pub fn has(&self, kind: usize) -> bool {
        self.between.get(kind).is_some_and(|tally| !tally.bins.is_empty())
    }

    /// The times of one call, drawn by `number`.
    pub fn draw(&mut self, number: u64) -> Span {
        Span { gap_ns: self.gap.draw(number), length_ns: self.length.draw(number.rotate_left(32)) }
    }

    /// The gap before the call that [`Spread::draw`] draws next, by the same `number`.
    pub fn draw_between(&mut self, number: u64) -> Gap {
        let (left, kinds) = (self.gap.left, &mut self.between);
        Gap::of(kinds.len(), |kind| match kinds.get_mut(kind) {
            Some(tally) if !tally.bins.is_empty() => tally.draw_of(number.rotate_left(16), left),
            _ => 0,
        })
    }
}

impl Sum for Spread {
    fn add(&mut self, later: &Spread) {
        self.gap.add(&later.gap);
        self.length.add(&later.length);
        if self.between.len() < later.between.len() {
            self.between.resize_with(later.between.len(), Tally::default);
        }
        for (tally, later) in self.between.iter_mut().zip(&later.between) {
            tally.add(later);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_is_a_quarter_of_an_octave() {
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7, 8].map(bin), [0, 1, 5, 7, 9, 10, 11, 12, 13]);
        assert_eq!((bin(1000), bin(1023), bin(1024)), (40, 40, 41));
        assert_eq!(bin(u64::MAX), 255);
    }

    #[test]
    fn what_is_drawn_has_the_same_sum_and_the_same_bins() {
        let times: Vec<u64> = (0..1000).map(|n| (n * 7919) % 5000).collect();
        let mut tally = Tally::default();
        times.iter().for_each(|ns| tally.add(&Tally::of(*ns)));
        let whole = tally.clone();
        let mut state = 1_u64;
        let drawn: Vec<u64> = (0..1000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                tally.draw(state)
            })
            .collect();
        assert_eq!(drawn.iter().sum::<u64>(), times.iter().sum::<u64>());
        let mut again = Tally::default();
        drawn.iter().for_each(|ns| again.add(&Tally::of(*ns)));
        assert_eq!(again, whole);
        assert_eq!(tally.draw(5), 0);
    }
}
