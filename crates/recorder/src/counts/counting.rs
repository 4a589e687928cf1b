//! Counts of a thread while it is outside of MPI.

use workload::trace::hct::gaps::{Gap, MOST_COUNTS};

use super::Counters;

/// Counts between calls.
pub struct Counting {
    counters: Counters,
    /// Readings of the counters when the program last left MPI.
    since: [u64; MOST_COUNTS],
    sums: Sums,
}

/// Counts and polls since the last recorded call.
#[derive(Default)]
struct Sums {
    /// Counts before the first poll in vain, and between such polls.
    before_polls: Gap,
    among_polls: Gap,
}

impl Counting {
    /// Begins within a call of MPI.
    pub fn new(counters: Counters) -> Counting {
        Counting { counters, since: [0; MOST_COUNTS], sums: Sums::default() }
    }

    /// Pauses counting at a call of MPI; `polling` is true after a call that found nothing. `None` once the counters
    /// are lost.
    pub fn pause(&mut self, polling: bool) -> Option<()> {
        let now = self.counters.read()?;
        let sum = if polling { &mut self.sums.among_polls } else { &mut self.sums.before_polls };
        for (sum, (now, since)) in sum.counts.iter_mut().zip(now.iter().zip(&self.since)) {
            *sum += now.saturating_sub(*since);
        }
        self.since = now;
        Some(())
    }

    /// Resumes counting. `None` once the counters are lost.
    pub fn go_on(&mut self) -> Option<()> {
        self.since = self.counters.read()?;
        Some(())
    }

    /// Stores the counts of the gap before a call, `polled_ns` of which the rank has polled.
    pub fn take(&mut self, between: &mut Gap, polled_ns: u64) {
        self.sums.take(between, polled_ns);
    }
}

impl Sums {
    /// Moves the sums into `between`. Counts between polls are split like the polling time: the share of waiting is
    /// left out.
    fn take(&mut self, between: &mut Gap, polled_ns: u64) {
        let Sums { before_polls, mut among_polls } = std::mem::take(self);
        among_polls.count_part(polled_ns.saturating_sub(between.waited_ns), polled_ns);
        let both = before_polls.counts.iter().zip(among_polls.counts);
        between.counts.iter_mut().zip(both).for_each(|(count, (before, among))| *count = before + among);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Before polling 70, and in 1,000 ns of polling 500, of which 0, 400 or 1,000 ns were waiting.
    #[test]
    fn waiting_counts_nothing() {
        for (waited_ns, counted) in [(0, 70 + 500), (400, 70 + 300), (1000, 70)] {
            let of = |count| Gap { counts: [count; MOST_COUNTS], ..Gap::default() };
            let mut sums = Sums { before_polls: of(70), among_polls: of(500) };
            let mut between = Gap { waited_ns, ..Gap::default() };
            sums.take(&mut between, 1000);
            assert_eq!(between, Gap { waited_ns, ..of(counted) });
            // The sums are empty afterwards.
            sums.take(&mut between, 0);
            assert_eq!(between.counts, [0; MOST_COUNTS]);
        }
    }
}
