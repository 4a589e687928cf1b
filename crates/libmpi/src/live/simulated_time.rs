//! The simulated time of a rank, as its clocks show it.

use engine::{Duration, Time};

use super::clock::{self, Clock, Measured};
use super::computing::End;
use super::process::Process;
use super::sites::Place;

/// Looks at the clock between two operations that take no time.
const FREE_LOOKS: u32 = 1000;
/// Time of each further look: about as long as many in a real program.
const LOOK: Duration = Duration(1_000_000);

impl Process {
    /// Its simulated time now.
    pub fn time(&self) -> Time {
        self.catch_up();
        let time = self.now.get() + self.waited.get();
        self.shown.set(time.max(self.shown.get()));
        self.shown.get()
    }

    /// Its simulated time, which it asks for. A program that asks again and again waits for time to pass, which
    /// it then does.
    pub fn look_at_clock(&self) -> Time {
        self.polls.set(0);
        let looks = self.looks.get().saturating_add(1);
        self.looks.set(looks);
        if looks > FREE_LOOKS {
            self.waited.set(self.waited.get() + LOOK);
        }
        self.end_stretch();
        self.time()
    }

    /// Ends a stretch of computing at a look at the clock, and lets its time pass.
    fn end_stretch(&self) {
        let mut computing = self.shared.computing.borrow_mut();
        if !computing.counts() {
            return;
        }
        let place = Place::of_last_call(&self.shared.copies);
        let measured = if computing.clock() == Clock::Runs { clock::split() } else { Measured::default() };
        let charge = computing.charge(self.rank, End { place, function: "clock", bytes: 0 }, measured);
        self.let_pass(computing.settle(charge));
        self.moved.set(self.moved.get() + charge.bytes);
    }

    /// Takes the time since its last operation, and the bytes that it moved meanwhile.
    pub fn take_waited(&self) -> (Duration, u64) {
        (self.waited.take(), self.moved.take())
    }

    /// Lets time pass for it before its next operation.
    pub fn let_pass(&self, time: Duration) {
        self.waited.set(self.waited.get() + time);
    }
}
