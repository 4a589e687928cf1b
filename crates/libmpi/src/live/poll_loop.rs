//! Loops of tests and probes that find nothing: a rank waits in them instead of spinning.
//!
//! After 32 polls in a row, each waits until something comes, for the time of n polls at most:
//!
//! ```text
//! n = min(2^k, 1,024)         k: polls made in the loop beyond 32
//! n = 2^k, ∞ for k > 31       where the user says that nothing else ends the program's loops
//! ```
//!
//! The wait ends at the first poll at which something has come (`mpi::world`): where that is what ends the loop, the time is
//! that of one poll after the other. Where something else does (the number of polls, a store of another rank), the loop takes
//! longer than it would, by n polls for each that it makes. A wait without end has no event of its own: where no other is left,
//! the run has ended in a deadlock.
//!
//! It is no loop if the rank looks at the clock between two polls, or computes for [`WORK`] or longer: it has something
//! else to do, and polls to make progress.
//!
//! Source: the definition of a loop; the powers bound the polls that are made in a wait of w by log₂ w.

use engine::Duration;
use mpi::operation::{Op, Polls, Work};

/// Polls in a row that are made one by one, and again after each time that something has come.
const PATIENCE: u32 = 32;
/// Most polls that one stands for, as a power of two.
const FEW_LOG2: u32 = 10;
/// The same where nothing but messages ends loops; the next one waits without end.
const MANY_LOG2: u32 = 31;
/// Waits in vain after which a loop is long.
const LONG: u32 = 1 << 16;
/// Computing between two polls that is more than that of a loop.
const WORK: Duration = Duration(1_000_000);

/// The loop of polls in which a rank may be.
#[derive(Debug, Default)]
pub struct PollLoop {
    /// Polls in a row that have found nothing since something came.
    fruitless: u32,
    performing: Performing,
}

/// Latest operation of the rank.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Performing {
    #[default]
    Other,
    Poll,
    /// A wait before the poll itself.
    Wait,
}

impl PollLoop {
    /// Takes the return of what the rank performed; `found` says whether there was something, or has come.
    #[inline]
    pub fn returned(&mut self, found: bool) {
        match self.performing {
            Performing::Other => {}
            Performing::Poll if found => self.leave(),
            Performing::Poll => (self.fruitless, self.performing) = (self.fruitless + 1, Performing::Other),
            // What has come may be another message, or be complete only in a moment.
            Performing::Wait if found => self.fruitless = 0,
            Performing::Wait => {}
        }
    }

    /// The rank has looked at the clock, or computed for that long, since its last operation.
    #[inline]
    pub fn worked(&mut self, looked: bool, time: Duration) {
        if looked || time >= WORK {
            self.leave();
        }
    }

    /// The rank is about to perform `op`: how many polls it is to wait for before that. `endless`: nothing but messages ends
    /// its loops.
    #[inline]
    pub fn wait_before(&mut self, op: &Op, endless: bool) -> Option<Polls> {
        if !asks(op) {
            self.go_on_with(op);
            return None;
        }
        let has_waited = self.performing == Performing::Wait;
        self.performing = Performing::Poll;
        let beyond = self.fruitless.checked_sub(PATIENCE).filter(|_| !has_waited)?;
        self.performing = Performing::Wait;
        match endless {
            true if beyond > MANY_LOG2 => Some(Polls::Endless),
            true => Some(Polls::AtMost(1 << beyond)),
            false => Some(Polls::AtMost(1 << beyond.min(FEW_LOG2))),
        }
    }

    /// True after many waits in vain: it takes an error of the program, or what is no message, for so many.
    pub fn is_long(&self) -> bool {
        self.fruitless >= LONG
    }

    /// True each time that the loop has become longer by so many polls.
    #[inline]
    pub fn is_due_for_a_look(&self) -> bool {
        self.is_long() && self.fruitless % LONG == 0
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
        (self.fruitless, self.performing) = (0, Performing::Other);
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
    fn poll_for(state: &mut PollLoop, polls: u64, endless: bool) -> u64 {
        let (mut over, mut made) = (0, 0);
        while over < polls {
            if let Some(wait) = state.wait_before(&probe(), endless) {
                let Polls::AtMost(wait) = wait else { panic!("a wait without end after {over} polls") };
                over += u64::from(wait);
                state.returned(false);
                assert_eq!(
                    state.wait_before(&probe(), endless),
                    None,
                    "the poll itself comes after its wait"
                );
            }
            over += 1;
            made += 1;
            state.returned(over >= polls);
        }
        made
    }

    /// Polls as often as is done one by one, and finds nothing.
    fn poll_in_vain(state: &mut PollLoop) {
        for _ in 0..PATIENCE {
            assert_eq!(state.wait_before(&probe(), false), None);
            state.returned(false);
        }
    }

    #[test]
    fn one_poll_stands_for_more_and_more() {
        let (mut state, million) = (PollLoop::default(), 1_000_000);
        assert_eq!(poll_for(&mut state, 32, false), 32);
        assert_eq!(poll_for(&mut state, 32 + 1 + 1 + 2 + 1, false), 32 + 2);
        assert!((million / 1024..million / 1024 + 50).contains(&poll_for(&mut state, million, false)));
        assert!(poll_for(&mut state, million, true) < 60);
    }

    #[test]
    fn waits_become_endless_only_where_messages_alone_end_loops() {
        for (endless, longest) in [(true, Polls::Endless), (false, Polls::AtMost(1024))] {
            assert_eq!(poll_for(&mut PollLoop::default(), 1 << 32, endless) < 70, endless);
            let (mut state, mut last) = (PollLoop::default(), None);
            for _ in 0..100 {
                last = state.wait_before(&probe(), endless).or(last);
                state.returned(false);
            }
            assert_eq!(last, Some(longest));
        }
    }

    #[test]
    fn after_something_has_come_polls_are_made_one_by_one() {
        let mut state = PollLoop::default();
        poll_in_vain(&mut state);
        assert_eq!(state.wait_before(&probe(), false), Some(Polls::AtMost(1)));
        state.returned(true);
        poll_in_vain(&mut state);
        assert_eq!(state.wait_before(&probe(), false), Some(Polls::AtMost(1)));
    }

    #[test]
    fn work_and_looks_at_the_clock_end_a_loop() {
        for (looked, time, waits) in [(true, 0, false), (false, 1_000_000, false), (false, 999_999, true)] {
            let mut state = PollLoop::default();
            poll_in_vain(&mut state);
            state.worked(looked, Duration(time));
            assert_eq!(state.wait_before(&probe(), false).is_some(), waits);
        }
    }

    #[test]
    fn operations_end_a_loop_and_short_computing_does_not() {
        for (op, waits) in [(Op::Finish, false), (Op::Compute(Work::Time(Duration(500))), true)] {
            let mut state = PollLoop::default();
            poll_in_vain(&mut state);
            assert_eq!(state.wait_before(&op, false), None);
            state.returned(false);
            assert_eq!(state.wait_before(&probe(), false).is_some(), waits);
        }
    }
}
