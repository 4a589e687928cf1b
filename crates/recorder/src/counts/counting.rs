//! Counts of a thread while it is not in MPI.

use workload::trace::hct::gaps::{Gap, MOST_COUNTS};

use super::Counters;

/// Counts between calls.
pub struct Counting {
    counters: Counters,
    /// How much there had been when the program went on.
    since: [u64; MOST_COUNTS],
    sums: Sums,
}

/// Counts and polls since the last call that is recorded.
#[derive(Default)]
struct Sums {
    /// Up to the first poll in vain, and among such polls.
    before_polls: Gap,
    among_polls: Gap,
}

impl Counting {
    /// In a call of MPI, at first.
    pub fn new(counters: Counters) -> Counting {
        Counting { counters, since: [0; MOST_COUNTS], sums: Sums::default() }
    }

    /// The program comes to a call of MPI, if `polling` after one that found nothing. None if nothing counts any more.
    pub fn pause(&mut self, polling: bool) -> Option<()> {
        let now = self.counters.read()?;
        let sum = if polling { &mut self.sums.among_polls } else { &mut self.sums.before_polls };
        for (sum, (now, since)) in sum.counts.iter_mut().zip(now.iter().zip(&self.since)) {
            *sum += now.saturating_sub(*since);
        }
        self.since = now;
        Some(())
    }

    /// The program goes on. None if nothing counts any more.
    pub fn go_on(&mut self) -> Option<()> {
        self.since = self.counters.read()?;
        Some(())
    }

    /// Says of the time before a call, of which the rank has polled for `polled_ns`, what was counted.
    pub fn take(&mut self, between: &mut Gap, polled_ns: u64) {
        self.sums.take(between, polled_ns);
    }
}

impl Sums {
    /// Counts among polls are waiting in the part of it in which the rank waited, as its time is.
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

    /// Before polling 70, in 1,000 ns of polling 500, of which 0, 400 or 1,000 ns were waiting.
    #[test]
    fn waiting_counts_nothing() {
        for (waited_ns, counted) in [(0, 70 + 500), (400, 70 + 300), (1000, 70)] {
            let of = |count| Gap { counts: [count; MOST_COUNTS], ..Gap::default() };
            let mut sums = Sums { before_polls: of(70), among_polls: of(500) };
            let mut between = Gap { waited_ns, ..Gap::default() };
            sums.take(&mut between, 1000);
            assert_eq!(between, Gap { waited_ns, ..of(counted) });
            // What was taken is not there again.
            sums.take(&mut between, 0);
            assert_eq!(between.counts, [0; MOST_COUNTS]);
        }
    }
}
