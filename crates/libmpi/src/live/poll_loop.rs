//! Loops of tests and probes that find nothing: a rank waits in them instead of spinning.
//!
//! After `p` polls in a row, each waits until a message comes, for the time of n polls at most:
//!
//! ```text
//! at first           p = 32   n = min(2^k, 1,024)                    k: polls made in the loop beyond p
//! where all waited   p < 32   n = min(4^(k+1), max(1,024, w / 4))    w: polls of the longest loop of the rank
//! ```
//!
//! The wait ends at the first poll at which something has come (`mpi::world`), so that it costs no accuracy where only
//! messages end the loop, however long it is. Where something else does, the number of polls, say, the loop takes longer than it
//! would: so a rank waits so long only if a loop of it that was longer than 32 polls has ended with what it asked for, and none of
//! 16 or more without. Then p is twice the most polls in a row that have ended without, at least 4.
//!
//! It is no loop if the rank looks at the clock between two polls, or computes for [`WORK`] or longer: it has something
//! else to do, and polls to make progress.
//!
//! Source: the definition of a loop; the powers bound the polls that are made in a loop of w by the logarithm of w.

use engine::Duration;
use mpi::operation::{Op, Work};

/// Polls in a row that are made one by one.
const PATIENCE: u32 = 32;
/// The fewest, of a rank whose loops have been seen to wait for messages.
const FEW: u32 = 4;
/// Most polls that one stands for, before longer loops have been seen.
const AT_FIRST: u64 = 1 << 10;
/// The longest wait is that of so many polls, as a power of two.
const MOST_LOG2: u32 = 31;
/// Computing between two polls that is more than that of a loop.
const WORK: Duration = Duration(1_000_000);

/// The loop of polls in which a rank may be.
#[derive(Debug, Default)]
pub struct PollLoop {
    /// Polls in a row that have found nothing.
    fruitless: u32,
    /// Polls that the loop has lasted for, with those that its waits stand for.
    lasted: u64,
    /// That of the longest loop of more than [`PATIENCE`] polls that has ended with what it asked for.
    longest: u64,
    /// Polls of the longest row that has ended without.
    in_vain: u32,
    performing: Performing,
}

/// Latest operation of the rank.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Performing {
    #[default]
    Other,
    Poll,
    /// A wait for the time of so many polls, before the poll itself.
    Wait(u32),
}

impl PollLoop {
    /// Takes the return of what the rank performed; `found` says whether a poll has found something.
    #[inline]
    pub fn returned(&mut self, found: bool) {
        match self.performing {
            Performing::Other => {}
            Performing::Poll if found => {
                if self.lasted > PATIENCE.into() {
                    self.longest = self.longest.max(self.lasted);
                }
                self.end();
            }
            Performing::Poll => {
                self.fruitless += 1;
                self.lasted += 1;
                self.performing = Performing::Other;
            }
            Performing::Wait(polls) => self.lasted += u64::from(polls),
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
        let patience = (2 * self.in_vain).clamp(FEW, PATIENCE);
        let waits = self.longest > 0 && patience < PATIENCE;
        let most = if waits { AT_FIRST.max(self.longest / 4) } else { AT_FIRST };
        let patience = if waits { patience } else { PATIENCE };
        let beyond = self.fruitless.checked_sub(patience).filter(|_| !has_waited);
        let wait = beyond.map(|beyond| {
            let power = if waits { 2 * beyond.min(MOST_LOG2) + 2 } else { beyond };
            most.min(1 << power.min(MOST_LOG2)) as u32
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

    /// The rank does something else: if it was in a loop, that has ended without what it asked for.
    fn leave(&mut self) {
        self.in_vain = self.in_vain.max(self.fruitless.min(PATIENCE));
        self.end();
    }

    /// The rank is in no loop now.
    fn end(&mut self) {
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

    /// Polls until `polls` are over; gives the number of polls that were made.
    fn poll_for(state: &mut PollLoop, polls: u64) -> u32 {
        let (mut over, mut made) = (0, 0);
        while over < polls {
            if let Some(wait) = state.wait_before(&probe()) {
                over += u64::from(wait);
                state.returned(over >= polls);
                assert_eq!(state.wait_before(&probe()), None, "the poll itself comes after its wait");
            }
            made += 1;
            over += 1;
            state.returned(over >= polls);
        }
        made
    }

    /// Polls so many times, one by one, and finds nothing.
    fn poll_in_vain(state: &mut PollLoop, polls: u32) {
        for _ in 0..polls {
            assert_eq!(state.wait_before(&probe()), None);
            state.returned(false);
        }
    }

    #[test]
    fn a_rank_becomes_patient_where_messages_end_its_loops() {
        let (mut state, million) = (PollLoop::default(), 1_000_000);
        assert_eq!(poll_for(&mut state, 20), 20);
        let first = u64::from(poll_for(&mut state, million));
        assert!((million / 1024..million / 1024 + 50).contains(&first), "{first}");
        assert!(poll_for(&mut state, million) < 20);
    }

    #[test]
    fn loops_that_end_without_what_they_asked_for_take_that_patience() {
        for (polls, patience, wait) in [(FEW, 2 * FEW, 4), (PATIENCE / 2, PATIENCE, 1)] {
            let mut state = PollLoop { in_vain: polls / 2, ..PollLoop::default() };
            poll_for(&mut state, 1_000_000);
            poll_in_vain(&mut state, polls);
            assert_eq!(state.wait_before(&Op::Finish), None);
            poll_in_vain(&mut state, patience);
            assert_eq!(state.wait_before(&probe()), Some(wait));
        }
    }

    #[test]
    fn work_and_looks_at_the_clock_end_a_loop() {
        for (looked, time, waits) in [(true, 0, false), (false, 1_000_000, false), (false, 999_999, true)] {
            let mut state = PollLoop::default();
            poll_in_vain(&mut state, PATIENCE);
            state.worked(looked, Duration(time));
            assert_eq!(state.wait_before(&probe()).is_some(), waits);
        }
    }

    #[test]
    fn operations_end_a_loop_and_short_computing_does_not() {
        for (op, waits) in [(Op::Finish, false), (Op::Compute(Work::Time(Duration(500))), true)] {
            let mut state = PollLoop::default();
            poll_in_vain(&mut state, PATIENCE);
            assert_eq!(state.wait_before(&op), None);
            state.returned(false);
            assert_eq!(state.wait_before(&probe()).is_some(), waits);
        }
    }
}
