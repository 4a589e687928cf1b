//! The simulated time of a rank, as its clocks show it.

use engine::{Duration, Time};

use mpi::Op;

use super::computing::{Charge, End};
use super::process::{Phase, Process};
use super::sites::Place;
use super::socket_memory;
use crate::abi::THREAD;
use crate::fiber::stacks;
use crate::process_view::computing_clock::{self as clock, Clock, Measured};

/// Looks at the clock between two operations that take no time.
const FREE_LOOKS: u32 = 1000;
/// Time of each further look: about as long as many in a real program.
const LOOK: Duration = Duration(1_000_000);
/// Index in [`THREAD`] of the first level at which any thread may call MPI.
const SERIALIZED: usize = 2;

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
        let looks = self.looks.get().saturating_add(1);
        self.looks.set(looks);
        if looks > FREE_LOOKS {
            self.waited.set(self.waited.get() + LOOK);
        }
        self.end_stretch();
        self.time()
    }

    /// Its simulated time when its computing up to now has ended: a sleep begins then.
    pub fn end_of_computing(&self) -> Time {
        self.end_stretch();
        self.time()
    }

    /// Ends a stretch of computing at a look at the clock, and lets its time pass: in the simulator where other ranks may
    /// make it longer, else here, which is cheap.
    pub fn end_stretch(&self) {
        let Some(charge) = self.charge_for_look() else { return };
        let memory = &self.shared.memory;
        let time = memory.alone(charge.time, charge.bytes);
        if !memory.slows(self.rank, time, charge.bytes) || !self.can_switch() {
            self.let_pass(time);
            self.moved.set(self.moved.get() + charge.bytes);
            return;
        }
        let looks = self.looks.get();
        let (before, moved) = self.take_waited();
        let stretches = [(before, moved), (time, charge.bytes)];
        for (time, bytes) in stretches.into_iter().filter(|(time, _)| *time > Duration::ZERO) {
            self.perform(Op::Compute(socket_memory::work(time, bytes)), |_| ());
        }
        self.looks.set(looks);
    }

    /// Charge for the stretch that a look at the clock ends; none if computing takes no time.
    fn charge_for_look(&self) -> Option<Charge> {
        let mut computing = self.shared.computing.borrow_mut();
        if !computing.counts() {
            return None;
        }
        let place = Place::of_last_call(&self.shared.copies);
        let measured = if computing.clock() == Clock::Runs { clock::split() } else { Measured::default() };
        let charge = computing.charge(self.rank, End { place, function: "clock", bytes: 0 }, measured);
        Some(Charge { time: computing.settle(charge), ..charge })
    }

    /// True if a look at the clock may let other ranks run: not after MPI_Finalize, when computing does not count, nor on
    /// the stack of another thread or of the simulator, nor inside of an MPI call.
    fn can_switch(&self) -> bool {
        let on_own_stack = || self.stack().holds(stacks::pointer());
        self.phase.get() != Phase::Finalised
            && !self.in_callback.get()
            && self.slot.get().map_or_else(on_own_stack, |_| self.is_only_thread_in_mpi())
    }

    /// True if, in a process of its own, no other thread may call MPI meanwhile.
    fn is_only_thread_in_mpi(&self) -> bool {
        // SAFETY: has no conditions.
        let first_thread = unsafe { libc::gettid() == libc::getpid() };
        first_thread && self.level.get() < THREAD[SERIALIZED]
    }

    /// Runs a function of the program inside of an MPI call in which no other rank may run.
    pub fn call_back<R>(function: impl FnOnce() -> R) -> R {
        let _inside = Process::running().map(|me| Callback { me, outer: me.in_callback.replace(true) });
        function()
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

/// The time while a function of the program runs inside of an MPI call. The function may throw.
struct Callback<'a> {
    me: &'a Process,
    /// True if one runs around it.
    outer: bool,
}

impl Drop for Callback<'_> {
    fn drop(&mut self) {
        self.me.in_callback.set(self.outer);
    }
}
