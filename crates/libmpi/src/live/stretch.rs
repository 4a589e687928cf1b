//! Computing of a rank before its next operation, as the simulator performs it: in one or several stretches.

use engine::Duration;
use mpi::Op;
use mpi::operation::Work;

use super::computing::{Charge, End, Took};
use super::fibers::Step;
use super::process::Shared;
use super::sites::Place;
use super::{Live, Seat, socket_memory};

impl Seat {
    /// The next piece of computing before `held`.
    pub(super) fn more(&mut self, shared: &Shared) -> Option<Op> {
        if let Some(work) = self.next.take() {
            return Some(Op::Compute(work));
        }
        let mut pending = self.pending.take()?;
        let time = shared.computing.borrow().piece(&mut pending)?;
        self.pending = Some(pending);
        Some(Op::Compute(Work::Time(time)))
    }
}

impl Live {
    /// Duration on the platform of the computing before a step.
    #[inline]
    pub(super) fn charge(&mut self, rank: u32, step: &Step, took: Took) -> Charge {
        if let Step::Perform(Op::Compute(_)) = step {
            // A look at the clock has ended the stretch.
            return Charge::default();
        }
        let mut computing = self.shared.computing.borrow_mut();
        if !computing.counts() {
            return Charge { time: took.waited, bytes: took.moved, ..Charge::default() };
        }
        let (function, bytes) = match step {
            Step::Perform(op) => (op.function(), op.payload()),
            Step::Ended(_) => ("end", 0),
        };
        let place = Place::of(took.place, &self.shared.copies);
        let charge = computing.charge(rank, End { place, function, bytes }, took.measured);
        let memory = &self.shared.memory;
        let time = memory.alone(charge.time, charge.bytes);
        if took.waited > Duration::ZERO && memory.slows(rank, time, charge.bytes) {
            let before = Some(socket_memory::work(took.waited, took.moved));
            return Charge { time, before, ..charge };
        }
        Charge { time: time + took.waited, bytes: charge.bytes + took.moved, ..charge }
    }
}
