//! A running program as a source of operations: asking a rank for its next one resumes its fiber.
//!
//! Nothing of the simulator runs while a rank does, and the other way round: one thread, which changes stacks.

pub mod arguments;
pub mod computing;
mod contents;
pub mod crash;
pub mod debugger;
pub mod deferred_operations;
pub mod fibers;
pub mod guarded_copy;
pub mod hardware;
pub mod interpreter;
pub mod interrupts;
pub mod machine;
pub mod neighbours;
mod operating_system;
pub mod place;
mod poll_loop;
pub mod process;
pub mod process_isolation;
pub mod profile;
pub mod reports;
pub mod sampling;
pub mod simulated_time;
pub mod sites;
pub mod socket_memory;
mod stretch;
mod warnings;

use std::cell::{Ref, RefCell};
use std::ffi::c_int;
use std::rc::Rc;

use engine::{Duration, Time};
use mpi::operation::{Data, Op, Rank, Request, Work};
use mpi::source::{Completion, Source, Status};

use crate::fiber::stacks::Stacks;
use crate::fiber::{Ended, valgrind};
use crate::loader::tls::Place;
use crate::loader::{ProgramCopy, Template, symbols};
use crate::process_view::computing_clock::Clock;
use crate::process_view::floating_point::Control;
use crate::process_view::{exit, folder};
use computing::{Charge, Computing, Pending, Took};
pub use crash::Fault;
use fibers::{Code, Fiber, Step};
use guarded_copy::GuardedCopy;
use interpreter::Interpreter;
use poll_loop::PollLoop;
use process::{Phase, Process, Shared};
use process_isolation::Slot;

/// A rank of the program.
struct Seat {
    /// Before the process, which its code uses: dropped first.
    fiber: RefCell<Fiber>,
    process: Rc<Process>,
    /// Its thread-local variables while it does not run; empty without any.
    block: Box<[u8]>,
    errno: c_int,
    floating_point: Control,
    /// The operation that it asked for, while its computing before that takes its time; or its end, while the operations
    /// that it was ahead of are performed.
    held: Option<Step>,
    /// The last stretch of its computing before `held`, while an earlier one takes its time.
    next: Option<Work>,
    /// The rest of its computing before `held`, if the length is not settled.
    pending: Option<Pending>,
    /// Its crash, while what it was ahead of is performed.
    crashed: Option<Fault>,
    /// The way to its process, if it is one.
    slot: Option<&'static Slot>,
    poll_loop: PollLoop,
}

/// Operation of a rank that was broken off in its computing: it goes on for longer than the run, which stops now.
const FOR_EVER: Op = Op::Compute(Work::Time(Duration(u64::MAX / 4)));

/// Isolation of ranks: parts that they do not share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Their variables.
    Globals,
    /// Anything: each is a process of its own.
    Process,
    /// Nothing but their stacks: for programs that write to no global variable.
    None,
}

/// Program or interpreter that ranks run.
pub enum Runs {
    /// Copies of a compiled program.
    Copies {
        /// The program.
        template: Box<Template>,
        /// Address of its `main`.
        main: usize,
        /// Place of its thread-local variables, if it has any.
        thread_local: Option<Place>,
        /// Isolation of ranks.
        isolation: Isolation,
    },
    /// A Python program.
    Interpreter(&'static dyn Interpreter),
}

impl Runs {
    fn thread_local(&self) -> Option<&Place> {
        if let Runs::Copies { thread_local, .. } = self { thread_local.as_ref() } else { None }
    }

    /// Copy of the program that `rank` has.
    fn copy(&self, rank: u32) -> std::io::Result<ProgramCopy> {
        match self {
            Runs::Copies { template, isolation: Isolation::Globals, .. } => template.copy(rank as usize),
            Runs::Copies { template, isolation: Isolation::Process, .. } => template.copy(0),
            Runs::Copies { template, isolation: Isolation::None, .. } => template.shared_copy(),
            Runs::Interpreter(_) => Ok(ProgramCopy::none()),
        }
    }

    fn template(&self) -> Option<&Template> {
        if let Runs::Copies { template, .. } = self { Some(template) } else { None }
    }
}

/// All ranks of a program.
pub struct Live {
    seats: Vec<Option<Seat>>,
    shared: Rc<Shared>,
    runs: Runs,
    clock: Clock,
    faults: Vec<Fault>,
    /// Stack on which data is copied between ranks; none, once that has failed.
    aside: Option<GuardedCopy>,
    /// Simulated time, when a rank was asked last.
    now: Time,
    /// Warning that all ranks only poll, once it was given.
    vain_polls: Option<String>,
    /// After the seats: their fibers stand on it.
    stacks: Stacks,
    /// True if valgrind watches, so that it is asked what it has found.
    in_valgrind: bool,
    /// Control of the processor while no rank runs.
    floating_point: Control,
    /// The place of this thread's error number.
    errno: *mut c_int,
}

impl Live {
    /// The ranks of a program; `stacks` has one for each.
    pub fn new(runs: Runs, (stacks, aside): (Stacks, GuardedCopy), shared: Rc<Shared>) -> Live {
        crash::watch();
        let clock = shared.computing.borrow().clock();
        let seats = (0..shared.ranks).map(|_| None).collect();
        let (in_valgrind, floating_point) = (valgrind::is_running(), Control::now().without_errors());
        // SAFETY: gives a place that is there as long as the thread.
        let errno = unsafe { libc::__errno_location() };
        let (faults, now, aside, vain_polls) = (Vec::new(), Time::ZERO, Some(aside), None);
        Live {
            seats,
            shared,
            runs,
            clock,
            faults,
            aside,
            now,
            vain_polls,
            stacks,
            in_valgrind,
            floating_point,
            errno,
        }
    }

    /// Causes of the end of ranks that did not end well, in the order of simulated time.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Access to the computing of the ranks.
    pub fn computing(&self) -> Ref<'_, Computing> {
        self.shared.computing.borrow()
    }

    /// A rank that has not begun: its copy of the program, its stack and its process.
    fn seat(&self, rank: u32) -> std::io::Result<Seat> {
        let program = self.runs.copy(rank)?;
        let block = self.runs.thread_local().map_or_else(Box::default, |place| place.fresh(&program));
        let process = Rc::new(Process::new(rank, self.shared.clone(), program));
        process.own_variables(self.runs.template().and_then(|template| template.copy_of("stdin")));
        let body = process.clone();
        let code = match self.runs {
            Runs::Copies { main, .. } => Code::Main(main),
            Runs::Interpreter(interpreter) => Code::Interpreter(interpreter),
        };
        let fiber = Fiber::new(self.stacks.take(rank as usize), move |hub| {
            body.attach(hub);
            let code = code.run(&body);
            exit::run_handlers(&*body, code);
            Ended::Exit(code)
        });
        process.stand_on(&fiber);
        let (fiber, floating_point) = (RefCell::new(fiber), self.floating_point);
        let (held, next, pending, crashed, slot) = (None, None, None, None, None);
        let (errno, poll_loop) = (0, PollLoop::default());
        Ok(Seat {
            fiber,
            process,
            block,
            errno,
            floating_point,
            held,
            next,
            pending,
            crashed,
            slot,
            poll_loop,
        })
    }

    /// Lets a rank run until its next operation; gives it with the computing before it.
    #[inline]
    fn run(&mut self, rank: u32, done: &Completion) -> (Step, Took) {
        let seat = self.seats[rank as usize].as_mut().expect("a rank that has ended is not asked again");
        seat.process.now.set(done.now);
        let thread_local = self.runs.thread_local();
        if let Some(place) = thread_local {
            place.put(&seat.block);
        }
        let fiber = seat.fiber.get_mut();
        seat.process.enter();
        // SAFETY: the one thread's.
        unsafe { *self.errno = seat.errno };
        let ours = self.floating_point;
        if seat.floating_point != Control::now() {
            seat.floating_point.set();
        }
        let before = self.in_valgrind.then(valgrind::errors);
        if self.clock == Clock::Runs {
            self.shared.computing.borrow_mut().begin();
        }
        self.clock.start();
        let step = fiber.resume(done);
        let measured = self.clock.stop();
        if let Some(found) = before.map(|before| valgrind::errors() - before).filter(|found| *found > 0) {
            eprintln!("hopcast: valgrind found {found} in rank {rank}");
        }
        let took = Took::of(&seat.process, measured);
        seat.floating_point = Control::now();
        if !seat.floating_point.computes_as(ours) {
            ours.set();
        }
        // SAFETY: as above.
        seat.errno = unsafe { *self.errno };
        seat.process.leave();
        if let Some(place) = thread_local {
            place.take(&mut seat.block);
        }
        (step, took)
    }

    /// Step that the simulator gets from a rank that has ended.
    fn ended(&mut self, rank: u32, ended: Ended, now: Time) -> Op {
        let seat = self.seats[rank as usize].take().expect("it has just run");
        crate::fold::a_rank_ends();
        let status = seat.slot.map_or(Some(0), Slot::join);
        seat.process.flush();
        let killed_by = seat.process.view.killed_by.get();
        let code = match ended {
            Ended::Exit(_) if killed_by != 0 => {
                self.faults.push(crash::killed(&seat.process, now, killed_by));
                return Op::Abort(1);
            }
            Ended::Exit(_) if status != Some(0) => {
                self.faults.push(crash::died_at_its_end(rank, now, status));
                return Op::Abort(1);
            }
            Ended::Exit(code) => code & 0xff,
            Ended::Crash => {
                let told = seat.slot.and_then(|slot| slot.fault.take());
                let early = seat.crashed.map(|fault| Fault { at_s: now.seconds(), ..fault });
                let fault = told.or(early).unwrap_or_else(|| self.crashed(rank));
                let interrupted = fault.kind == crash::INTERRUPT;
                self.faults.push(fault);
                return if interrupted { FOR_EVER } else { Op::Abort(1) };
            }
        };
        let early = seat.process.phase.get() == Phase::Initialised;
        if code != 0 || early {
            self.faults.push(crash::exited(rank, now, code, early));
        }
        if seat.slot.is_none() {
            seat.process.program.forget_pages();
        }
        Op::Finish
    }
}

impl Source for Live {
    fn place(&self, rank: Rank) -> Option<String> {
        // What runs in another process does not run here.
        self.stands(rank)?.place
    }

    fn calling(&self, rank: Rank) -> Option<&'static str> {
        let function = self.seats[rank.0 as usize].as_ref()?.process.performing.get();
        (!function.is_empty()).then_some(function)
    }

    fn matched(&mut self, data: Data, receiver: Rank, request: Option<Request>) {
        // Between processes nothing is lent.
        if self.aside.is_none() || !self.shared.parcels.borrow().is_lent(data) {
            return;
        }
        let Some(process) = self.process(receiver).cloned() else { return };
        self.attempt(receiver.0, || process.shared.reports.matched(&process, data, request));
    }

    fn export(&mut self, data: Data, sender: Rank, receiver: Rank) -> Data {
        let (shared, mut number) = (self.shared.clone(), 0);
        self.attempt(sender.0, || number = shared.export(data, receiver));
        number
    }

    fn take_contents(&mut self) -> Vec<(u32, Vec<u8>)> {
        self.shared.spread.as_ref().map(|spread| spread.take()).unwrap_or_default()
    }

    fn receive_contents(&mut self, contents: &[u8]) {
        self.shared.receive_contents(contents);
    }

    fn access(&mut self, target: Rank, data: Data, answers: &mut Vec<Data>) {
        let shared = self.shared.clone();
        self.attempt(target.0, || shared.windows.borrow_mut().apply(data, target.0, answers));
    }

    fn completed(&mut self, rank: Rank, request: Request, status: &Status) {
        let Some(process) = self.process(rank).cloned() else { return };
        if process.shared.apart {
            process.late.borrow_mut().push((request, *status));
        } else {
            self.attempt(rank.0, || process.shared.reports.completed(&process, request, status));
        }
    }

    fn next(&mut self, rank: Rank, done: &Completion) -> Op {
        let index = rank.0 as usize;
        self.now = done.now;
        if self.aside.is_none() {
            return Op::Abort(1);
        }
        if let Some(seat) = &mut self.seats[index] {
            seat.poll_loop.returned(done.flag);
            if let Some(op) = seat.process.take_ahead() {
                return self.take(rank.0, Step::Perform(op), Charge::default(), done.now);
            }
            if let Some(op) = seat.more(&self.shared) {
                return op;
            }
            if let Some(step) = seat.held.take() {
                return self.take(rank.0, step, Charge::default(), done.now);
            }
        } else if let Err(error) = self.begin(rank.0) {
            return self.no_room(rank.0, &error);
        }
        let slot = self.seats[index].as_ref().and_then(|seat| seat.slot);
        let (step, took) = match slot.map(|slot| slot.ask(done)) {
            None => self.run(rank.0, done),
            Some(Ok((step, took))) => {
                if let Some(process) = self.process(rank) {
                    process.performing.set(took.function);
                }
                (step, took)
            }
            Some(Err(status)) => {
                let told = slot.and_then(|slot| slot.fault.take());
                let fault = told.unwrap_or_else(|| crash::died(rank.0, done.now, status));
                let interrupted = fault.kind == crash::INTERRUPT;
                self.faults.push(fault);
                return if interrupted { FOR_EVER } else { Op::Abort(1) };
            }
        };
        if let Runs::Interpreter(interpreter) = self.runs {
            self.faults.append(&mut interpreter.take_failures());
        }
        if let Step::Ended(ended) = step {
            let ahead = self.process(rank).expect("it has just run").take_ahead();
            if let Some(first) = ahead {
                let crashed = (ended == Ended::Crash).then(|| self.crashed(rank.0));
                let seat = self.seats[index].as_mut().expect("it has just run");
                (seat.crashed, seat.held) = (crashed, Some(step));
                return first;
            }
        }
        let charge = self.charge(rank.0, &step, took);
        if let Some(seat) = &mut self.seats[index] {
            seat.poll_loop.worked(took.looked, charge.length());
        }
        self.take(rank.0, step, charge, done.now)
    }
}

impl Live {
    /// A rank that has not begun is about to.
    fn begin(&mut self, rank: u32) -> std::io::Result<()> {
        self.seats[rank as usize] = Some(self.seat(rank)?);
        if self.shared.apart { self.part(rank) } else { Ok(()) }
    }

    /// Step that the simulator gets from a rank that ran, with the computing before it.
    #[inline(always)]
    fn take(&mut self, rank: u32, step: Step, charge: Charge, now: Time) -> Op {
        let seat = self.seats[rank as usize].as_mut().expect("it has run");
        match step {
            Step::Perform(Op::Finish) => {
                let code = seat.process.exit_code.get();
                self.ended(rank, Ended::Exit(code), now)
            }
            Step::Perform(op) if charge.time > Duration::ZERO => {
                (seat.held, seat.pending) = (Some(Step::Perform(op)), charge.pending);
                let work = socket_memory::work(charge.time, charge.bytes);
                seat.next = charge.before.map(|_| work);
                Op::Compute(charge.before.unwrap_or(work))
            }
            Step::Perform(op) => match seat.poll_loop.wait_before(&op, self.shared.polls_are_endless) {
                None => op,
                Some(polls) => {
                    seat.held = Some(Step::Perform(op));
                    let linger = Op::Linger(polls, seat.process.performing.get());
                    if seat.poll_loop.is_due_for_a_look() {
                        self.look_for_vain_polls(rank, now);
                    }
                    linger
                }
            },
            Step::Ended(ended) => self.ended(rank, ended, now),
        }
    }

    /// The run is over: what ranks have printed and not ended with a line, and where the process was at first.
    pub fn close(&mut self) {
        for seat in self.seats.iter().flatten() {
            if let Some(slot) = seat.slot {
                slot.kill();
                self.faults.extend(slot.fault.take());
            }
            seat.process.forget_ahead();
            seat.process.flush();
        }
        folder::enter(None);
    }

    /// The process of a rank that has begun and not ended.
    fn process(&self, rank: Rank) -> Option<&Rc<Process>> {
        self.seats[rank.0 as usize].as_ref().map(|seat| &seat.process)
    }

    /// Makes a process of a rank that has not begun.
    fn part(&mut self, rank: u32) -> std::io::Result<()> {
        let slot = Slot::new(self.clock);
        let seat = self.seats[rank as usize].as_mut().expect("its seat was just made");
        seat.slot = Some(slot);
        if !slot.fork()? {
            return Ok(());
        }
        symbols::begin_anew();
        let process = seat.process.clone();
        process.slot.set(Some(slot));
        let (step, took) = self.run(rank, &slot.wait());
        if matches!(step, Step::Ended(Ended::Crash)) {
            *slot.fault.borrow_mut() = Some(crash::fault(rank, process.now.get()));
        }
        slot.leave(step, took)
    }

    fn no_room(&mut self, rank: u32, error: &std::io::Error) -> Op {
        if self.shared.apart {
            let text = format!("there is no room for the process of rank {rank}: {error}");
            self.faults.push(Fault { kind: "memory", rank, at_s: 0.0, text, place: None });
            return Op::Abort(1);
        }
        let text = format!(
            "there is no room for rank {rank}'s copy of the program: {error} (each takes one mapping; \
             'sysctl vm.max_map_count' is how many a process may have)"
        );
        self.faults.push(Fault { kind: "memory", rank, at_s: 0.0, text, place: None });
        Op::Abort(1)
    }
}
