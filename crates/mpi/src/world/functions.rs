//! Times of the calls of named functions: see [`crate::function_times`].

use engine::hash::Map;
use engine::random::{SmallStream, small_stream};
use engine::{Duration, Time};

use crate::function_times::FunctionTimes;
use crate::operation::{Op, Rank};
use crate::source::Source;
use crate::world::{World, text};

/// Times of functions, and streams of the ranks that have called one.
pub(super) struct Functions {
    times: FunctionTimes,
    streams: Map<Rank, SmallStream>,
}

impl Functions {
    pub fn new(times: FunctionTimes) -> Functions {
        Functions { times, streams: Map::default() }
    }

    /// Draws the time of a call; `None` if its function is not named.
    fn draw(&mut self, rank: Rank, function: &str) -> Option<Duration> {
        let time = self.times.of(function)?;
        let seed = self.times.seed;
        let new = || small_stream(seed, "calls of functions", rank.0.into());
        Some(time.draw(self.streams.entry(rank).or_insert_with(new)))
    }
}

impl World {
    /// A call begins: what it does comes after its overhead. Computing is no call, and recorded calls say
    /// themselves what they took.
    #[inline]
    pub(super) fn enter(&mut self, rank: Rank, op: &Op, now: Time, source: &dyn Source) -> Time {
        let every = self.setup.protocol.call_overhead;
        if every == Duration::ZERO && self.functions.times.is_empty() {
            return now;
        }
        self.enter_with_cost(rank, op, now, source)
    }

    /// Like [`World::enter`], where calls have times of their own.
    #[inline(never)]
    fn enter_with_cost(&mut self, rank: Rank, op: &Op, now: Time, source: &dyn Source) -> Time {
        let every = self.setup.protocol.call_overhead;
        let is_call = match op {
            Op::Compute(_) | Op::SleepUntil(_) | Op::Linger(..) | Op::Finish => false,
            Op::Call(_, time) => *time == Duration::ZERO,
            _ => true,
        };
        if !is_call {
            return now;
        }
        let own = if self.functions.times.is_empty() {
            None
        } else {
            self.functions.draw(rank, source.calling(rank).unwrap_or_else(|| text::name(op)))
        };
        let every = if matches!(op, Op::Call(..)) { Duration::ZERO } else { every };
        match every + own.unwrap_or(Duration::ZERO) {
            Duration::ZERO => now,
            cost => self.processes[rank].engage(now, cost),
        }
    }

    /// Time that a test or probe of `rank` takes in which it finds nothing, beside what [`Self::enter`] has charged.
    pub(super) fn poll_after(&self, rank: Rank, op: &Op, source: &dyn Source) -> Duration {
        let times = &self.functions.times;
        let named = || times.of(source.calling(rank).unwrap_or_else(|| text::name(op)));
        if !times.is_empty() && named().is_some() { Duration(1) } else { self.setup.protocol.poll }
    }

    /// Time of one of the polls that a lingering rank makes.
    pub(super) fn poll_time(&self, function: &str) -> Duration {
        match self.functions.times.of(function) {
            None => self.setup.protocol.poll,
            Some(time) => self.setup.protocol.call_overhead + time.mean(),
        }
    }
}
