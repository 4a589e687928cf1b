//! Measured computing, stretch by stretch: the time of a stretch, estimated from noisy measurements.
//!
//! ```text
//!   q = m f            expected time: the median m of the last times of its kind, and the factor f of a slow rank
//!   |t − q| ≤ w        noise: it takes q;    w = 3 · 1.4826 · MAD, at least q / 20, at most q / 4 + 1 us
//!   t < q − w          less work: it takes t, since noise never shortens a time
//!   t > q + w          more work, if that is confirmed: it takes t; else an interruption: it takes q
//! ```
//!
//! A kind is a pair of places between which ranks compute, with the size classes of their messages; the first visit of a
//! rank, with its cold caches and untouched pages, is another kind than later ones. More work is confirmed by the times
//! of other ranks (two fifths of the last ones, as many as there are ranks, are as high), or by its size, if nothing else
//! ran meanwhile: 200 us and 1.5 q more, or 1 ms and q / 4. A rank is slow if even the least of five of its times is above
//! noise: its factor is that time over the median. With fewer than 8 ranks, where no rank waits for the worst of many, all
//! times count that were not interrupted.
//!
//! Why: thousands of ranks wait for each other at every collective, so that the largest of thousands of samples counts,
//! and noise that is rare for one process of this machine occurs every time. Assumptions: noise only adds; the same pair
//! of places does the same work, or work that changes for all ranks alike, or in the same proportion on one rank. Validity:
//! times above about 1 us, of which the way out of an MPI call is less than a tenth.
//!
//! Source: median and MAD as robust estimates, Rousseeuw and Croux, "Alternatives to the median absolute deviation" (JASA 88,
//! 1993); noise at scale, Petrini, Kerbyson, Pakin, "The case of the missing supercomputer performance" (SC 2003).

use engine::hash::Map;

use super::times::{MANY, Times};

/// Samples of a kind before its duration is settled.
const ENOUGH: u64 = 9;
/// Visits of a rank whose least time tells whether it is slow.
const BLOCK: u32 = 5;

/// Kinds of stretches with the times of each.
#[derive(Debug)]
pub struct Stretches {
    ranks: u32,
    kinds: Vec<Kind>,
    index: Map<Key, u32>,
}

/// Stretches that are compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Number of the place at which it begins, and the size class of the call there.
    pub from: (u32, u8),
    /// Number of the place at which it ends, and the size class of the call there.
    pub to: (u32, u8),
}

impl Key {
    /// Class of a message size: 0 for no byte, else 1 + ⌊log2⌋.
    pub fn class(bytes: u64) -> u8 {
        (u64::BITS - bytes.leading_zeros()) as u8
    }
}

/// A measured stretch.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Processor time \[s\].
    pub time: f64,
    /// True if something else ran on the processor meanwhile.
    pub interrupted: bool,
    /// True if all other processors were kept busy with their memory.
    pub busy: bool,
}

/// A stretch whose time is not settled: its estimate may change when more ranks have been there.
#[derive(Debug, Clone, Copy)]
pub struct Open {
    kind: u32,
    rank: u32,
    visit: Visit,
    time: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    First,
    Later,
    Busy,
}

#[derive(Debug)]
struct Kind {
    key: Key,
    first: Times,
    later: Times,
    busy: Times,
    ranks: Vec<RankTimes>,
}

/// State of one rank at one kind.
#[derive(Debug, Clone, Copy)]
struct RankTimes {
    visits: u32,
    /// Ratios that were added.
    added: u32,
    /// Least ratio of its times to the median in the current block of visits.
    least: f32,
    /// Least ratio in the block before; 1 in the first.
    factor: f32,
}

impl RankTimes {
    const NONE: RankTimes = RankTimes { visits: 0, added: 0, least: f32::INFINITY, factor: 1.0 };

    /// Adds the ratio of a time to the median.
    fn add(&mut self, ratio: f32) {
        self.least = self.least.min(ratio);
        // First visits are of another kind, and so are those while other cores were busy.
        self.added += 1;
        if self.added % BLOCK == 0 {
            (self.factor, self.least) = (self.least, f32::INFINITY);
        }
    }
}

impl Stretches {
    /// No stretches yet, of a program with `ranks` ranks.
    pub fn new(ranks: u32) -> Stretches {
        Stretches { ranks, kinds: Vec::new(), index: Map::default() }
    }

    /// Adds a measured stretch; gives its duration \[s\], and the stretch if that may still change.
    pub fn add(&mut self, key: Key, rank: u32, sample: Sample) -> (f64, Option<Open>) {
        let kinds = &mut self.kinds;
        let number = *self.index.entry(key).or_insert_with(|| {
            kinds.push(Kind::new(key));
            kinds.len() as u32 - 1
        });
        let kind = &mut kinds[number as usize];
        if kind.ranks.len() <= rank as usize {
            kind.ranks.resize(rank as usize + 1, RankTimes::NONE);
        }
        let visits = &mut kind.ranks[rank as usize].visits;
        let visit = match (sample.busy, *visits) {
            (true, _) => Visit::Busy,
            (false, 0) => Visit::First,
            (false, _) => Visit::Later,
        };
        *visits += 1;
        let open = Open { kind: number, rank, visit, time: sample.time };
        let known = kind.times(visit).count;
        if sample.interrupted && known > 0 {
            let expected = kind.expected(visit, rank);
            let times = kind.times_mut(visit);
            if sample.time > expected + times.noise(expected) {
                times.discarded += 1;
                times.discarded_time += sample.time - expected;
                return (expected, None);
            }
        }
        kind.times_mut(visit).add(sample.time, self.ranks);
        let (time, real) = kind.judge(&open, self.ranks);
        kind.note(&open, time, real);
        (time, (known < ENOUGH).then_some(open))
    }

    /// Duration of an open stretch \[s\], as far as it is known now.
    pub fn look_again(&self, open: &Open) -> f64 {
        self.kinds[open.kind as usize].judge(open, self.ranks).0
    }

    /// All kinds of stretches that were measured, by key.
    pub fn known(&self) -> Vec<Known> {
        let mut all: Vec<_> = self.kinds.iter().flat_map(Kind::known).collect();
        all.sort_by_key(|known| (known.key, known.first));
        all
    }
}

/// Estimates for a kind of stretches.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// The kind.
    pub key: Key,
    /// True for ranks' first visits, false for all later ones.
    pub first: bool,
    /// Samples that count.
    pub count: u64,
    /// Mean of the samples that count \[s\].
    pub centre: f64,
    /// Standard deviation of the samples that count \[s\].
    pub spread: f64,
    /// Mean of the samples that count while the other cores were busy with their memory \[s\], if it was measured.
    pub busy: Option<f64>,
    /// Samples that were taken for interruptions.
    pub discarded: u64,
    /// Excess of the discarded samples over the expected times \[s\].
    pub discarded_time: f64,
    /// Ranks whose time differs, each with the factor on it.
    pub ranks: Vec<(u32, f64)>,
}

impl Kind {
    fn new(key: Key) -> Kind {
        Kind {
            key,
            first: Times::default(),
            later: Times::default(),
            busy: Times::default(),
            ranks: Vec::new(),
        }
    }

    fn times(&self, visit: Visit) -> &Times {
        match visit {
            Visit::First => &self.first,
            Visit::Later => &self.later,
            Visit::Busy => &self.busy,
        }
    }

    fn times_mut(&mut self, visit: Visit) -> &mut Times {
        match visit {
            Visit::First => &mut self.first,
            Visit::Later => &mut self.later,
            Visit::Busy => &mut self.busy,
        }
    }

    /// The time that a rank is expected to take.
    fn expected(&self, visit: Visit, rank: u32) -> f64 {
        let median = self.times(visit).median;
        if visit == Visit::First { median } else { median * self.factor(rank).unwrap_or(1.0) }
    }

    /// The factor of a rank that is slower than others: even the least of several of its times is above noise.
    fn factor(&self, rank: u32) -> Option<f64> {
        let (factor, median) = (f64::from(self.ranks[rank as usize].factor), self.later.median);
        ((factor - 1.0) * median > self.later.noise(median)).then_some(factor)
    }

    /// Duration of the stretch \[s\], and true if its measured time is real.
    fn judge(&self, open: &Open, ranks: u32) -> (f64, bool) {
        let times = self.times(open.visit);
        // The slowdown by busy cores goes into the profile, not into this run.
        let quiet = open.visit == Visit::Busy && self.later.count > 0;
        let expected = self.expected(open.visit, open.rank);
        let noise = times.noise(expected);
        let high = expected + noise;
        let charged = |time: f64| if quiet { self.expected(Visit::Later, open.rank) } else { time };
        if open.time < expected - noise {
            return (charged(open.time), true);
        }
        if open.time <= high {
            return (charged(expected), true);
        }
        let excess = open.time - expected;
        let large = excess > 1.5 * expected && excess > 200e-6 || excess > 0.25 * expected && excess > 1e-3;
        let real = ranks < MANY || large || times.confirms(high, ranks);
        (charged(if real { open.time } else { expected }), real)
    }

    /// Notes a judged sample.
    fn note(&mut self, open: &Open, charged: f64, real: bool) {
        let times = self.times_mut(open.visit);
        if real {
            times.accepted.add(open.time);
        } else {
            times.discarded += 1;
            times.discarded_time += open.time - charged;
        }
        let median = times.median;
        if open.visit == Visit::Later && median > 0.0 {
            self.ranks[open.rank as usize].add((open.time / median) as f32);
        }
    }

    fn known(&self) -> impl Iterator<Item = Known> {
        let of = |times: &Times, first: bool| Known {
            key: self.key,
            first,
            count: times.accepted.count,
            centre: times.accepted.mean,
            spread: times.accepted.deviation(),
            busy: (!first && self.busy.accepted.count > 0).then_some(self.busy.accepted.mean),
            discarded: times.discarded,
            discarded_time: times.discarded_time,
            ranks: if first { Vec::new() } else { self.different() },
        };
        let mut all = vec![of(&self.first, true), of(&self.later, false)];
        all.retain(|known| known.count > 0);
        if all.is_empty() {
            // Other processors were busy every time.
            all.push(of(&self.busy, false));
        }
        all.into_iter()
    }

    fn different(&self) -> Vec<(u32, f64)> {
        let ranks = 0..self.ranks.len() as u32;
        ranks.filter_map(|rank| Some((rank, self.factor(rank)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use engine::random::stream;

    use super::*;
    use engine::random::uniform;

    const KEY: Key = Key { from: (1, 0), to: (2, 4) };
    const RANKS: u32 = 512;

    fn sample(time: f64) -> Sample {
        Sample { time, interrupted: false, busy: false }
    }

    /// One long visit among many in which other cores are busy makes no slow rank: four more would have to be as long.
    #[test]
    fn a_rank_is_slow_only_if_five_quiet_visits_say_so() {
        let mut stretches = Stretches::new(RANKS);
        for rank in 0..RANKS {
            stretches.add(KEY, rank, sample(1e-6));
            for _ in 0..4 {
                stretches.add(KEY, rank, Sample { busy: true, ..sample(1e-6) });
            }
            for visit in 0..4 {
                let long = rank == 7 && visit == 0;
                stretches.add(KEY, rank, sample(if long { 150e-6 } else { 1e-6 }));
            }
        }
        assert!(stretches.known().iter().all(|known| known.ranks.is_empty()));
    }

    /// The time of steps in which every rank waits for the slowest, of samples `of(step, rank)` \[s\].
    fn steps(ranks: u32, steps: u32, mut of: impl FnMut(u32, u32) -> f64) -> f64 {
        let mut stretches = Stretches::new(ranks);
        let mut total = 0.0;
        for step in 0..steps {
            let step_of = |rank| stretches.add(KEY, rank, sample(of(step, rank)));
            let begun: Vec<_> = (0..ranks).map(step_of).collect();
            // Ranks begin at the same time, so what is open is looked at again when all have.
            let end =
                |(time, open): &(f64, Option<Open>)| open.map_or(*time, |open| stretches.look_again(&open));
            total += begun.iter().map(end).fold(0.0, f64::max);
        }
        total
    }

    #[test]
    fn rare_noise_of_single_samples_does_not_add_up_over_ranks() {
        // Each sample is 10 us, up to 3 % longer, and one in a hundred is interrupted for 5 to 55 us: the largest of 512 is
        // about 55 us longer in every step. The work is 100 steps of 10 us.
        let mut random = stream(1, "noise", 0);
        let mut noisy = || {
            let tick = if uniform(&mut random) < 0.01 { 5e-6 + 50e-6 * uniform(&mut random) } else { 0.0 };
            10e-6 * (1.0 + 0.03 * uniform(&mut random)) + tick
        };
        let mut raw = 0.0;
        for _ in 0..100 {
            raw += (0..RANKS).map(|_| noisy()).fold(0.0, f64::max);
        }
        assert!(raw > 5e-3, "the test is of noise that adds up: {raw}");
        let total = steps(RANKS, 100, |_, _| noisy());
        assert!((1e-3..1.05e-3).contains(&total), "{total}");
    }

    #[test]
    fn three_runs_of_512_ranks_agree_to_two_percent() {
        // The same work under other noise, seed by seed: a tenth of the samples on a core that another program shares, which
        // slows them by up to 60 %, and interruptions of up to 150 us: longer ones show on the wall clock, by which they are
        // left out.
        let run = |seed| {
            let mut random = stream(seed, "noise", 0);
            steps(RANKS, 50, |_, _| {
                let slow = if uniform(&mut random) < 0.1 { 1.0 + 0.6 * uniform(&mut random) } else { 1.0 };
                let tick =
                    if uniform(&mut random) < 1e-3 { 5e-3 * uniform(&mut random).powi(4) } else { 0.0 };
                200e-6 * slow * (1.0 + 0.02 * uniform(&mut random)) + tick.min(150e-6)
            })
        };
        let times = [1, 2, 3].map(run);
        let (least, most) =
            (times.iter().copied().fold(f64::MAX, f64::min), times.iter().copied().fold(0.0, f64::max));
        assert!(most / least < 1.02, "{times:?}");
        assert!((least / 10e-3 - 1.0).abs() < 0.05, "{times:?}");
    }

    #[test]
    fn work_that_changes_for_all_ranks_is_followed() {
        // As in a factorisation: step k of 200 is (1 - k / 200)^2 of 1 ms, a third of 200 ms together.
        let work = |step: u32| 1e-3 * (1.0 - f64::from(step) / 200.0).powi(2);
        let exact: f64 = (0..200).map(work).sum();
        let total = steps(64, 200, |step, _| work(step));
        assert!((total / exact - 1.0).abs() < 0.1, "{total} {exact}");
        // Every tenth step ten times as much: 180 * 10 us + 20 * 100 us.
        let total = steps(64, 200, |step, _| if step % 10 == 9 { 100e-6 } else { 10e-6 });
        assert!((total / 3.8e-3 - 1.0).abs() < 0.1, "{total}");
    }

    #[test]
    fn a_slow_rank_stays_slow() {
        // One of 512 takes 1.5 times as long: all wait for it, but for its first visits.
        let total = steps(RANKS, 100, |_, rank| if rank == 7 { 15e-6 } else { 10e-6 });
        assert!((total / 1.5e-3 - 1.0).abs() < 0.03, "{total}");
    }

    #[test]
    fn one_long_stretch_of_one_rank_counts() {
        // Rank 0 prepares for a second what all get; the others do nothing there.
        let mut stretches = Stretches::new(RANKS);
        let (_, open) = stretches.add(KEY, 0, sample(1.0));
        (1..RANKS).for_each(|rank| _ = stretches.add(KEY, rank, sample(1e-6)));
        assert_eq!(stretches.look_again(&open.unwrap()), 1.0);
    }

    #[test]
    fn a_cold_first_sample_is_no_measure_for_others() {
        let mut stretches = Stretches::new(RANKS);
        let (time, open) = stretches.add(KEY, 0, sample(80e-6));
        assert!((time / 80e-6 - 1.0).abs() < 1e-6);
        (1..9).for_each(|rank| _ = stretches.add(KEY, rank, sample(10e-6)));
        assert!((stretches.look_again(&open.unwrap()) / 10e-6 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn interrupted_samples_are_left_out() {
        let mut stretches = Stretches::new(4);
        for rank in 0..4 {
            stretches.add(KEY, rank, sample(20e-6));
            stretches.add(KEY, rank, sample(10e-6));
        }
        let interrupted = Sample { time: 1.0, interrupted: true, busy: false };
        assert!((stretches.add(KEY, 0, interrupted).0 / 10e-6 - 1.0).abs() < 1e-6);
        let known = stretches.known();
        let counts: Vec<_> = known.iter().map(|known| (known.first, known.count, known.discarded)).collect();
        assert_eq!(counts, [(false, 4, 1), (true, 4, 0)]);
        assert!((known[0].centre / 10e-6 - 1.0).abs() < 1e-9 && (known[1].centre / 20e-6 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn classes_double() {
        assert_eq!([0, 1, 2, 3, 4, 1023, 1024].map(Key::class), [0, 1, 2, 2, 3, 10, 11]);
    }
}
