//! Loops of tests and probes that find nothing: a rank waits in them instead of spinning.
//!
//! From the [`PATIENCE`]th poll in a row on, each waits until a message comes, for the time of n polls at most:
//!
//! ```text
//! n = min(2^k, max(1,024, w / 4)),   k: polls made in the loop beyond PATIENCE
//!                                    w: polls of the longest loop of this rank that has ended with what it asked for
//! ```
//!
//! The wait ends at the first poll at which something has come (`mpi::world`), so that it costs no accuracy where only
//! messages end the loop, however long it is. Where something else does, the number of polls, say, the loop takes longer than it
//! would: so a rank is patient only as far as its loops have been shown to wait for messages.
//!
//! It is no loop if the rank looks at the clock between two polls, or computes for [`WORK`] or longer: it has something
//! else to do, and polls to make progress.
//!
//! Source: the definition of a loop; the doubling bounds the polls of a wait of w by log₂ w.

use engine::Duration;
use mpi::operation::{Op, Work};

/// Polls in a row that are made one by one.
const PATIENCE: u32 = 32;
/// Most polls at a time of a rank whose loops have not been seen to wait for messages.
const AT_FIRST: u64 = 1 << 10;
/// The longest wait, in polls.
const MOST: u64 = 1 << 31;
/// Computing between two polls that is more than that of a loop.
const WORK: Duration = Duration(1_000_000);

/// The loop of polls in which a rank may be.
#[derive(Debug, Default)]
pub struct PollLoop {
    /// Polls in a row that have found nothing.
    fruitless: u32,
    /// Polls that the loop has lasted for, with those that its waits stand for.
    lasted: u64,
    /// That of the longest loop that has ended with what it asked for.
    longest: u64,
    performing: Performing,
}

/// What the rank performs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Performing {
    #[default]
    Other,
    Poll,
    /// A wait for the time of so many polls, before the poll itself.
    Wait(u32),
}

impl PollLoop {
    /// What the rank performed has returned; `found` says whether something was there, or has come.
    #[inline]
    pub fn returned(&mut self, found: bool) {
        match self.performing {
            Performing::Other => {}
            Performing::Poll if found => {
                self.longest = self.longest.max(self.lasted);
                self.leave();
            }
            Performing::Poll => {
                self.fruitless += 1;
                self.lasted += 1;
                self.performing = Performing::Other;
            }
            Performing::Wait(polls) => {
                self.lasted += u64::from(polls);
                self.fruitless = if found { 0 } else { self.fruitless };
            }
        }
    }

    /// The rank has looked at the clock, or computed for that long, since its last operation.
    #[inline]
    pub fn worked(&mut self, looked: bool, time: Duration) {
        if looked || time >= WORK {
            self.leave();
        }
    }

    /// The rank is about to perform `op`: how many polls it is to wait for before that.
    #[inline]
    pub fn wait_before(&mut self, op: &Op) -> Option<u32> {
        if !asks(op) {
            self.go_on_with(op);
            return None;
        }
        let has_waited = matches!(self.performing, Performing::Wait(_));
        let beyond = self.fruitless.checked_sub(PATIENCE).filter(|_| !has_waited);
        let wait = beyond.map(|beyond| {
            let most = AT_FIRST.max(self.longest / 4).min(MOST);
            most.min(1 << beyond.min(32)) as u32
        });
        self.performing = wait.map_or(Performing::Poll, Performing::Wait);
        wait
    }

    /// The rank performs what is no poll.
    fn go_on_with(&mut self, op: &Op) {
        match op {
            Op::Compute(Work::Time(time)) => self.worked(false, *time),
            _ => self.leave(),
        }
    }

    /// The rank is in no loop now.
    fn leave(&mut self) {
        (self.fruitless, self.lasted, self.performing) = (0, 0, Performing::Other);
    }
}

/// Does the operation ask for something without waiting for it?
#[inline]
fn asks(op: &Op) -> bool {
    matches!(op, Op::Test(..) | Op::ProbeNow(_) | Op::ProbeMatched(_, false))
}

#[cfg(test)]
mod tests {
    use engine::Bytes;
    use mpi::operation::{CommId, Peer, Receive, TagMatch};

    use super::*;

    fn probe() -> Op {
        let (from, tag, comm) = (Peer::Any, TagMatch::Any, CommId::WORLD);
        Op::ProbeNow(Receive { from, tag, comm, capacity: Bytes(0) })
    }

    /// Polls until `polls` are over, or for ever; gives the number of polls that were made.
    fn poll_for(state: &mut PollLoop, polls: u64) -> u32 {
        let (mut over, mut made) = (0, 0);
        loop {
            let wait = state.wait_before(&probe());
            if let Some(wait) = wait {
                over += u64::from(wait);
                state.returned(over >= polls);
                assert_eq!(state.wait_before(&probe()), None, "the poll itself comes after its wait");
            }
            made += 1;
            over += 1;
            state.returned(over >= polls);
            if over >= polls {
                return made;
            }
        }
    }

    #[test]
    fn a_rank_becomes_patient_where_messages_end_its_loops() {
        let mut state = PollLoop::default();
        assert_eq!(poll_for(&mut state, 20), 20);
        let million = 1_000_000;
        let first = poll_for(&mut state, million);
        assert!((million / 1024..million / 1024 + 50).contains(&first.into()), "{first}");
        let second = poll_for(&mut state, million);
        assert!((50..60).contains(&second), "{second}");
    }

    #[test]
    fn work_and_looks_at_the_clock_end_a_loop() {
        for (looked, time, waits) in [(true, 0, false), (false, 1_000_000, false), (false, 999_999, true)] {
            let mut state = PollLoop::default();
            poll_for_nothing(&mut state);
            state.worked(looked, Duration(time));
            assert_eq!(state.wait_before(&probe()).is_some(), waits);
        }
    }

    #[test]
    fn operations_end_a_loop_and_short_computing_does_not() {
        for (op, waits) in [(Op::Finish, false), (Op::Compute(Work::Time(Duration(500))), true)] {
            let mut state = PollLoop::default();
            poll_for_nothing(&mut state);
            assert_eq!(state.wait_before(&op), None);
            state.returned(false);
            assert_eq!(state.wait_before(&probe()).is_some(), waits);
        }
    }

    fn poll_for_nothing(state: &mut PollLoop) {
        (0..PATIENCE).for_each(|_| {
            assert_eq!(state.wait_before(&probe()), None);
            state.returned(false);
        });
    }
}
