//! Computing of the ranks of a program in simulated time: nothing, as measured, or as a profile says.
//!
//! ```text
//!   MPI call ── stretch ── MPI call     measured [s] ── mpi::compute::stretches ──► t [s]
//!                                       profile: the mean of the stretch's kind ──► t [s], b [bytes]
//!   time = s t                                          as fast as this machine
//!   time = s ((t − b / B) F / F' + b / B')              by rates: F, B this core's peak and memory bandwidth, F', B' the platform's
//! ```
//!
//! s is `--compute-scale`. A stretch is identified by the places in the program of the calls at both ends (by their functions
//! where the program is not compiled) and by the sizes of their messages. Assumption of the rates: the program reaches the
//! same share of the peak there as here.

use std::collections::BTreeMap;

use engine::Duration;
use engine::random::{Shape, Stream, stream};
use mpi::compute::Processor;
use mpi::compute::kernel::draw;
use mpi::compute::stretches::{Key, Open, Sample, Stretches};
use mpi::operation::Work;

use super::neighbours::Neighbours;
use super::process::Process;
use super::profile::{Entry, Machine, Profile};
use super::sites::{Place, Sites};
use crate::loader::callers;
use crate::process_view::computing_clock::{Clock, Measured};

/// Source of the times of stretches.
#[derive(Debug, Clone, PartialEq)]
pub enum How {
    /// No times: computing takes none.
    Free,
    /// From this run.
    Measured,
    /// From an earlier run.
    Profile(Box<Profile>),
}

/// Conversion of times of this machine into times of the platform.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conversion {
    /// Factor on all times.
    pub scale: f64,
    /// Rates of both; none if the platform's cores are taken to be as fast as this one.
    pub rates: Option<Rates>,
}

/// Rates of both machines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Factor on the time of arithmetic.
    pub arithmetic: f64,
    /// Time that a byte takes here \[s\].
    pub here: f64,
    /// Time that it takes there \[s\].
    pub there: f64,
}

impl Rates {
    /// Those of this machine and a platform.
    pub fn of(machine: &Machine, platform: &Processor) -> Rates {
        Rates {
            arithmetic: machine.flop_rate / platform.flop_rate.0 as f64,
            here: 1.0 / machine.memory_bandwidth,
            there: 1.0 / platform.memory_bandwidth.as_f64(),
        }
    }
}

impl Conversion {
    /// The time \[s\] on the platform of a stretch that takes `time` \[s\] here and moves `bytes`.
    fn time(&self, time: f64, bytes: f64) -> f64 {
        let on_target = self.rates.map_or(time, |rates| {
            let memory = (bytes * rates.here).min(time);
            (time - memory) * rates.arithmetic + if memory > 0.0 { bytes * rates.there } else { 0.0 }
        });
        self.scale * on_target
    }
}

/// Computing of a rank since its last operation.
#[derive(Debug, Default, Clone, Copy)]
pub struct Took {
    /// Computing since then, on this machine.
    pub measured: Measured,
    /// Return address of its call; 0 if that is not known.
    pub place: usize,
    /// Time that has passed for it already.
    pub waited: Duration,
    /// Bytes that it moved through memory meanwhile.
    pub moved: u64,
    /// The function of MPI in which it is; empty if it is in none.
    pub function: &'static str,
    /// True if it has looked at the clock.
    pub looked: bool,
}

impl Took {
    /// That of a rank whose clock has stopped at a call of MPI.
    pub fn of(process: &Process, measured: Measured) -> Took {
        let (waited, moved) = process.take_waited();
        let (function, looked) = (process.function.get(), process.looks.replace(0) > 0);
        Took { measured, place: callers::return_address(), waited, moved, function, looked }
    }
}

/// The end of a stretch: an MPI call, or a look at the clock.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// Address in the program to which it returns; 0 if that is not known.
    pub place: Place,
    /// Name of the called function.
    pub function: &'static str,
    /// Bytes that it sends.
    pub bytes: u64,
}

/// Duration of a stretch.
#[derive(Debug, Default, Clone, Copy)]
pub struct Charge {
    /// Simulated time.
    pub time: Duration,
    /// Bytes that it moves through memory.
    pub bytes: u64,
    /// The rest of the stretch, if its length is not settled; not part of `time`.
    pub pending: Option<Pending>,
    /// Computing that passes before it, as a stretch of its own.
    pub before: Option<Work>,
}

impl Charge {
    /// Its time, with that of its other parts: of a stretch that is not settled, the first piece has its share of the length.
    pub fn length(&self) -> Duration {
        let before = match self.before {
            Some(Work::Time(time) | Work::Moving { time, .. }) => time,
            _ => Duration::ZERO,
        };
        let rest = self.pending.map_or(Duration::ZERO, |pending| pending.passed.scaled(1.0 / PIECE - 1.0));
        before + self.time + rest
    }
}

/// A stretch of which a part has passed, and whose time is not settled.
#[derive(Debug, Clone, Copy)]
pub struct Pending {
    open: Open,
    passed: Duration,
}

/// Part of its length that a stretch passes at a time while it is not settled.
const PIECE: f64 = 0.25;
/// The shortest such piece.
const SHORTEST: Duration = Duration(50_000);

/// The computing of all ranks.
pub struct Computing {
    how: How,
    conversion: Conversion,
    draws: Option<u64>,
    sites: Sites,
    stretches: Stretches,
    /// By rank; empty if computing takes no time.
    ranks: Vec<RankComputing>,
    neighbours: Option<Neighbours>,
    /// Entries of the profile by key, once asked for.
    entries: BTreeMap<(Key, bool), Option<usize>>,
    missing: Missing,
}

/// State of one rank.
#[derive(Default)]
struct RankComputing {
    /// Site and size class at which its last stretch ended.
    last: (u32, u8),
    /// Kinds of stretches that it has computed, ascending.
    visited: Vec<Key>,
    random: Option<Stream>,
}

/// Stretches that the profile does not know.
#[derive(Debug, Default, Clone)]
struct Missing {
    count: u64,
    first: String,
}

impl Computing {
    /// The computing of `ranks` ranks. `draws`: the seed, if times are drawn from a profile's distributions.
    pub fn new(ranks: u32, how: How, conversion: Conversion, draws: Option<u64>) -> Computing {
        let all = if how == How::Free { 0 } else { ranks as usize };
        Computing {
            how,
            conversion,
            draws,
            sites: Sites::default(),
            stretches: Stretches::new(ranks),
            ranks: (0..all).map(|_| RankComputing::default()).collect(),
            neighbours: None,
            entries: BTreeMap::new(),
            missing: Missing::default(),
        }
    }

    /// The clock that it needs.
    pub fn clock(&self) -> Clock {
        if self.how == How::Measured { Clock::Runs } else { Clock::Stopped }
    }

    /// True if computing takes time.
    pub fn counts(&self) -> bool {
        self.how != How::Free
    }

    /// True if a profile is made or used.
    pub fn has_profile(&self) -> bool {
        matches!(self.how, How::Profile(_)) || self.neighbours.is_some()
    }

    /// Lets `neighbours` keep the other cores busy now and then, which shows how much a stretch depends on memory.
    pub fn disturb(&mut self, neighbours: Neighbours) {
        self.neighbours = Some(neighbours);
    }

    /// Called before a rank computes.
    #[inline]
    pub fn begin(&mut self) {
        if let Some(neighbours) = &mut self.neighbours {
            neighbours.take_turns();
        }
    }

    /// Duration on the platform of this machine's time \[s\].
    pub fn scaled(&self, time: f64) -> Duration {
        Duration::from_seconds(self.conversion.time(time, 0.0))
    }

    /// Charge for the stretch that `rank` ends with `end`.
    pub fn charge(&mut self, rank: u32, end: End, measured: Measured) -> Charge {
        if self.how == How::Free {
            return Charge::default();
        }
        let site = (self.sites.number(end.place, end.function), Key::class(end.bytes));
        let from = std::mem::replace(&mut self.ranks[rank as usize].last, site);
        let key = Key { from, to: site };
        if let How::Profile(_) = self.how {
            return self.profiled(rank, key);
        }
        let busy = self.neighbours.as_ref().is_some_and(Neighbours::are_busy);
        let sample =
            Sample { time: measured.ns as f64 * 1e-9, interrupted: measured.interrupted && !busy, busy };
        let (time, open) = self.stretches.add(key, rank, sample);
        let time = self.scaled(time);
        match open {
            None => Charge { time, ..Charge::default() },
            Some(open) => {
                let mut pending = Pending { open, passed: Duration::ZERO };
                let time = self.piece(&mut pending).unwrap_or_default();
                Charge { time, pending: Some(pending), ..Charge::default() }
            }
        }
    }

    /// The whole time of a charge, as far as it is known now.
    pub fn settle(&self, charge: Charge) -> Duration {
        let left = charge.pending.map(|pending| {
            self.scaled(self.stretches.look_again(&pending.open)).saturating_sub(pending.passed)
        });
        charge.time + left.unwrap_or_default()
    }

    /// The next piece of a stretch whose length is not settled; none if nothing of it is left.
    pub fn piece(&self, pending: &mut Pending) -> Option<Duration> {
        let whole = self.scaled(self.stretches.look_again(&pending.open));
        let left = whole.saturating_sub(pending.passed);
        let piece = whole.scaled(PIECE).max(SHORTEST).min(left);
        pending.passed += piece;
        (piece > Duration::ZERO).then_some(piece)
    }

    /// Computing that the profile gives for a visit.
    fn profiled(&mut self, rank: u32, key: Key) -> Charge {
        let state = &mut self.ranks[rank as usize];
        let first = state.visited.binary_search(&key).map_err(|at| state.visited.insert(at, key)).is_err();
        let How::Profile(profile) = &self.how else { unreachable!("asked of a profile") };
        let sites = &self.sites;
        let found = self.entries.entry((key, first)).or_insert_with(|| {
            let name = |site: (u32, u8)| (sites.name(site.0), site.1);
            profile.find(&name(key.from), &name(key.to), first)
        });
        let Some(entry) = found.map(|at| &profile.stretches[at]) else {
            self.missing.count += 1;
            if self.missing.first.is_empty() {
                self.missing.first = format!("{} to {}", sites.words(key.from.0), sites.words(key.to.0));
            }
            return Charge::default();
        };
        let factor = entry.factor(rank);
        let seconds = match self.draws {
            None => entry.centre_s,
            Some(seed) => {
                let random = state.random.get_or_insert_with(|| stream(seed, "computing", rank.into()));
                draw(entry.centre_s, Some((Shape::Normal, entry.spread_s)), random)
            }
        };
        let bytes = entry.memory_bytes * factor;
        let time = Duration::from_seconds(self.conversion.time(seconds * factor, bytes));
        Charge { time, bytes: bytes as u64, ..Charge::default() }
    }

    /// Measurements, for a profile.
    pub fn entries(&self, machine: &Machine) -> Vec<Entry> {
        let known = self.stretches.known();
        let name = |site: (u32, u8)| (self.sites.name(site.0), self.sites.words(site.0), site.1);
        known
            .iter()
            .map(|known| Entry::of(known, name(known.key.from), name(known.key.to), machine))
            .collect()
    }

    /// Discarded stretches: their number, that of all, and their excess \[s\].
    pub fn discarded(&self) -> (u64, u64, f64) {
        self.stretches.known().iter().fold((0, 0, 0.0), |(discarded, all, time), known| {
            (discarded + known.discarded, all + known.count + known.discarded, time + known.discarded_time)
        })
    }

    /// Warning about stretches that the profile does not know.
    pub fn warning(&self) -> Option<String> {
        (self.missing.count > 0).then(|| {
            format!(
                "computing: the profile does not know {} stretches, which took no time (the first: {}); measure it anew: \
                 remove the file",
                self.missing.count, self.missing.first
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AS_HERE: Conversion = Conversion { scale: 1.0, rates: None };

    /// Charge for a stretch of so many microseconds, the `visit`-th of its kind in a run of one rank.
    fn charge(us: u64, visit: usize) -> Charge {
        let mut computing = Computing::new(1, How::Measured, AS_HERE, None);
        let mut visited = || {
            let end = End { place: Place::Unknown, function: "MPI_Test", bytes: 0 };
            computing.charge(0, end, Measured { ns: us * 1_000, interrupted: false })
        };
        (1..visit).for_each(|_| _ = visited());
        visited()
    }

    /// A stretch that has only begun to pass counts whole, and what passes with its first piece as it is.
    #[test]
    fn the_length_of_a_stretch_is_that_of_all_its_parts() {
        let us = |us: u64| Duration(us * 1_000_000);
        let unsettled = charge(10, 1);
        assert!(unsettled.pending.is_some() && unsettled.time == us(10).scaled(PIECE));
        assert_eq!(unsettled.length(), us(10));
        assert_eq!(Charge { time: unsettled.time + us(3), ..unsettled }.length(), us(13));
        let before = Some(Work::Moving { time: us(3), bytes: engine::Bytes(8) });
        assert_eq!(Charge { before, ..unsettled }.length(), us(13));
        let settled = charge(10, 1_000);
        assert!(settled.pending.is_none());
        assert_eq!((settled.time, settled.length()), (us(10), us(10)));
    }
}
