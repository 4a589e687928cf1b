//! One rank as the MPI library sees it: its time, its objects, and the way to the simulator.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::path::PathBuf;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::{AtomicPtr, Ordering};

use corosensei::trap::CoroutineTrapHandler;
use engine::{Duration, Time};
use mpi::file_system::FileSystem;
use mpi::source::{Completion, Status};
use mpi::{FunctionTimes, Op, Protocol, operation};

use super::Fault;
use super::arguments::Arguments;
use super::computing::{Computing, Took};
use super::debugger::Debugged;
use super::deferred_operations::DeferredOperations;
use super::fibers::{Fiber, Hub, Step};
use super::hardware::HardwareResource;
use super::interpreter;
use super::place;
use super::process_isolation::{Inside, Slot};
use super::reports::Reports;
use super::sampling::Sampling;
use super::sites::Copies;
use super::socket_memory::SocketMemory;
use crate::abi::error::Answer;
use crate::abi::handle::{Datatype, Table};
use crate::data::channel::Channels;
use crate::data::datatype::Layout;
use crate::data::meeting::Meetings;
use crate::data::parcel::Parcels;
use crate::data::spread::Spread;
use crate::data::window::Windows;
use crate::fiber::Ended;
use crate::fiber::stacks::{self, Extent};
use crate::kernels::Calls;
use crate::loader::callers;
use crate::loader::{CopyOwner, ProgramCopy};
use crate::objects::Objects;
use crate::objects::communicator::Communicator;
use crate::objects::datatype::Datatypes;
use crate::objects::message::{Buffers, Standing, Taken};
use crate::objects::operation::Operation;
use crate::objects::request::Pending;
use crate::objects::window::Window;
use crate::process_view::View;
use crate::process_view::rank;
use crate::process_view::statics::OwnOptions;

/// State that all ranks of a run share.
pub struct Shared {
    /// Number of them.
    pub ranks: u32,
    /// The command line and environment.
    pub arguments: Arguments,
    /// Address of a program's own copy of `environ`, relative to its base.
    pub own_environ: Option<usize>,
    /// The same of the variables of getopt(3).
    pub own_options: OwnOptions,
    /// True if each rank is a process.
    pub apart: bool,
    /// True if a rank may go on from an operation before it is performed ([`Process::perform_ahead`]).
    pub runs_ahead: bool,
    /// True if nothing but messages ends its loops of polls.
    pub polls_are_endless: bool,
    /// The host of each rank.
    pub host_of_rank: Vec<u32>,
    /// Levels inside hosts, from the outermost inwards.
    pub hardware_levels: Vec<HardwareResource>,
    /// Socket of each rank on its host.
    pub socket_of_rank: Vec<u32>,
    /// Computing of the ranks.
    pub computing: RefCell<Computing>,
    /// Memory that computing shares.
    pub memory: SocketMemory,
    /// Copies of the program for the ranks.
    pub copies: Copies,
    /// Work of the functions of MPI when the simulator reports to a rank.
    pub reports: &'static dyn Reports,
    /// Protocol of messages.
    pub protocol: Protocol,
    /// Times of the functions that the platform names.
    pub functions: FunctionTimes,
    /// Exchange with ranks in other processes, if there are any.
    pub spread: Option<Spread>,
    /// Contents of messages.
    pub parcels: RefCell<Parcels>,
    /// Contents of collectives.
    pub meetings: Meetings,
    /// Channels: partitioned sends and receives that belong together.
    pub channels: RefCell<Channels>,
    /// Windows of one-sided communication.
    pub windows: RefCell<Windows>,
    /// File system.
    pub file_system: FileSystem,
    /// Files that were opened, by path: their numbers.
    pub files: RefCell<BTreeMap<PathBuf, u32>>,
    /// True if a rank has initialised MPI, or a session.
    pub used: Cell<bool>,
    /// The rank in which a debugger stops, if in any.
    pub debugged: Option<Debugged>,
}

/// Phase of a rank between MPI_Init and MPI_Finalize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Before MPI_Init.
    Before,
    /// Between them.
    Initialised,
    /// After MPI_Finalize.
    Finalised,
}

/// One rank. Borrows of its cells end before [`Process::perform`], during which other ranks run.
pub struct Process {
    /// Its number in the world.
    pub rank: u32,
    /// State shared with other ranks.
    pub shared: Rc<Shared>,
    /// Its copy of the program.
    pub program: ProgramCopy,
    /// The simulated time of its last operation.
    pub now: Cell<Time>,
    /// The latest time that it has been told.
    pub shown: Cell<Time>,
    /// Place of the rank.
    pub phase: Cell<Phase>,
    /// The level of thread support that it has been given.
    pub level: Cell<c_int>,
    /// Code that it passed to `exit`.
    pub exit_code: Cell<i32>,
    /// Its own state in the C library.
    pub view: View,
    /// Its communicators, beside the predefined ones.
    pub communicators: RefCell<Table<Rc<Communicator>>>,
    /// MPI_COMM_WORLD.
    pub world: Rc<Communicator>,
    /// MPI_COMM_SELF.
    pub oneself: Rc<Communicator>,
    /// Its datatypes, beside the predefined ones.
    pub datatypes: Datatypes,
    /// Its operations, beside the predefined ones.
    pub operations: RefCell<Table<Operation>>,
    /// Its groups, infos, error handlers, attribute keys, sessions, and what hangs on any of its objects.
    pub objects: Objects,
    /// Its requests: the simulator knows them by the same numbers.
    pub requests: RefCell<Table<Pending<Process>>>,
    /// Its windows.
    pub windows: RefCell<Table<Rc<Window>>>,
    /// Messages that a matched probe has taken.
    pub messages: RefCell<Table<Taken>>,
    /// The buffers that it has attached for sends in buffered mode.
    pub buffers: RefCell<Buffers>,
    /// The receive in whose call it stands.
    pub receiving: Cell<*const Standing>,
    /// Its calls of kernels.
    pub kernels: Calls,
    /// The marked block that it runs.
    pub sampling: Sampling,
    /// Operations from which it has gone on before they were performed.
    pub(super) ahead: DeferredOperations,
    /// For a signal handler, while it runs.
    pub trap: Cell<Option<CoroutineTrapHandler<Ended>>>,
    /// Its place in the program, once it was asked.
    pub standing: Cell<Option<String>>,
    /// In which function of MPI, then.
    pub calling: Cell<Option<String>>,
    /// Return address of its last call, while another rank runs.
    last_call: Cell<usize>,
    pub(super) looks: Cell<u32>,
    /// The function of MPI in which it is; empty if it is in none.
    pub function: Cell<&'static str>,
    /// The function of MPI that asked for the operation which the simulator performs; empty if none did.
    pub(super) performing: Cell<&'static str>,
    /// Number of operations that it has handed over.
    pub handed_over: Cell<u64>,
    /// True while a function of the program runs inside of an MPI call that cannot be interrupted.
    pub(super) in_callback: Cell<bool>,
    pub(super) waited: Cell<Duration>,
    /// Memory traffic of the computing in `waited` \[bytes\].
    pub(super) moved: Cell<u64>,
    hub: Cell<*const Hub>,
    /// The way to the simulator, in a process of its own.
    pub slot: Cell<Option<&'static Slot>>,
    /// Requests that nobody waits for, which were completed while another process ran.
    pub late: RefCell<Vec<(operation::Request, Status)>>,
    stack: Cell<Extent>,
    /// True if its stack was found too small when it handed over an operation.
    overflowed: Cell<bool>,
}

static CURRENT: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());

impl Process {
    /// A rank that has not begun.
    pub fn new(rank: u32, shared: Rc<Shared>, program: ProgramCopy) -> Process {
        Process {
            rank,
            view: View::new(rank, shared.arguments.environment()),
            world: Rc::new(Communicator::world(rank, shared.ranks)),
            oneself: Rc::new(Communicator::oneself(rank)),
            shared,
            program,
            now: Cell::new(Time::ZERO),
            shown: Cell::new(Time::ZERO),
            phase: Cell::new(Phase::Before),
            level: Cell::new(0),
            exit_code: Cell::new(0),
            communicators: RefCell::default(),
            datatypes: Datatypes::default(),
            operations: RefCell::default(),
            objects: Objects::new(),
            requests: RefCell::default(),
            windows: RefCell::default(),
            messages: RefCell::default(),
            buffers: RefCell::default(),
            receiving: Cell::new(ptr::null()),
            kernels: Calls::default(),
            sampling: Cell::new(None),
            ahead: DeferredOperations::default(),
            trap: Cell::new(None),
            standing: Cell::new(None),
            calling: Cell::new(None),
            last_call: Cell::new(0),
            looks: Cell::new(0),
            function: Cell::new(""),
            performing: Cell::new(""),
            handed_over: Cell::new(0),
            in_callback: Cell::new(false),
            waited: Cell::new(Duration::ZERO),
            moved: Cell::new(0),
            hub: Cell::new(ptr::null()),
            slot: Cell::new(None),
            late: RefCell::default(),
            stack: Cell::default(),
            overflowed: Cell::new(false),
        }
    }

    /// The rank whose code runs, if any does.
    pub fn running<'a>() -> Option<&'a Process> {
        // SAFETY: set to a process for as long as its fiber runs, which is when its code can ask.
        unsafe { CURRENT.load(Ordering::Relaxed).as_ref() }
    }

    /// True if it has initialised MPI, or has a session, and that is not over.
    #[inline]
    pub fn uses_mpi(&self) -> bool {
        self.phase.get() == Phase::Initialised || self.objects.sessions.borrow().count() > 0
    }

    /// It runs on this fiber.
    pub fn stand_on(&self, fiber: &Fiber) {
        self.stack.set(fiber.stack());
        self.trap.set(Some(fiber.trap()));
    }

    /// Its fiber is about to be resumed.
    #[inline]
    pub fn enter(&self) {
        self.view.enter();
        self.kernels.enter();
        // SAFETY: it is left before it ends.
        unsafe { rank::runs(self) };
        callers::set_return_address(self.last_call.get());
        CURRENT.store(ptr::from_ref(self).cast_mut(), Ordering::Relaxed);
    }

    /// Its fiber has been left.
    #[inline]
    pub fn leave(&self) {
        CURRENT.store(ptr::null_mut(), Ordering::Relaxed);
        rank::none_runs();
        Calls::leave();
        self.last_call.set(callers::return_address());
        self.view.leave();
    }

    /// Place of its stack.
    pub fn stack(&self) -> Extent {
        self.stack.get()
    }

    /// True if it was ended because its stack is too small.
    pub fn has_overflowed(&self) -> bool {
        self.overflowed.get()
    }

    /// Its fiber runs for the first time: the way back.
    pub fn attach(&self, hub: &Hub) {
        self.hub.set(hub);
    }

    /// Performs `op` in simulated time; `read` takes what is wanted of its completion.
    #[inline]
    pub fn perform<R>(&self, op: Op, read: impl FnOnce(&Completion) -> R) -> R {
        self.handed_over.set(self.handed_over.get() + 1);
        if let Some(slot) = self.slot.get() {
            return read(&self.hand_to(slot, op));
        }
        self.performing.set(self.function.get());
        let reply = self.suspend(if self.is_ahead() { self.in_turn(op) } else { op });
        // SAFETY: the simulator keeps it until this rank asks for its next operation.
        read(unsafe { &*reply })
    }

    /// Runs `body`, a call of `function`: one that hands over no operation takes the time that the platform names for it.
    #[inline]
    pub fn call<T>(&self, function: &'static str, body: impl FnOnce() -> T) -> T {
        let outer = self.function.replace(function);
        let before = self.handed_over.get();
        let answer = body();
        if !self.shared.functions.is_empty() && self.handed_over.get() == before {
            self.spend_function(function);
        }
        self.function.set(outer);
        answer
    }

    #[cold]
    fn spend_function(&self, function: &'static str) {
        if self.shared.functions.of(function).is_some() {
            self.perform(Op::Call(function, Duration::ZERO), |_| ());
        }
    }

    /// With a stack pointer that is not in its stack, a rank runs on one that the program has made, or on what is not its
    /// own: then it ends instead of what it asks for now. Whether that is what it is just to hand over.
    #[cold]
    #[inline(never)]
    fn ends_now(&self, pointer: usize) -> bool {
        if !self.stack.get().misses(pointer) {
            return false;
        }
        self.overflowed.set(true);
        self.view.killed_by.set(libc::SIGSEGV);
        self.standing.set(place::here());
        !self.end_behind_ahead()
    }

    /// Lets the hub go on with `op`; gives its answer, which is valid until the next time.
    pub(super) fn suspend(&self, mut op: Op) -> *const Completion {
        let pointer = stacks::pointer();
        if !self.stack.get().holds(pointer) && self.ends_now(pointer) {
            op = Op::Finish;
        }
        // SAFETY: the hub lives in the first frame of this fiber.
        let hub = unsafe { &*self.hub.get() };
        let interpreter = interpreter::active();
        loop {
            let held = interpreter.is_some_and(|interpreter| interpreter.leave(self.rank));
            let reply = hub.suspend(op);
            if let Some(interpreter) = interpreter {
                interpreter.enter(self.rank, held);
            }
            if !reply.is_null() {
                return reply;
            }
            self.standing.set(place::here());
            self.calling.set(place::call());
            op = Op::Finish;
        }
    }

    /// A thread calls this; nothing is to be known of that but in a process of its own.
    #[inline]
    pub fn enter_call(&self, function: &str) -> Option<Inside> {
        self.slot.get().map(|slot| slot.enter(function).unwrap_or_else(|| self.clash(slot, function)))
    }

    #[cold]
    fn clash(&self, slot: &Slot, function: &str) -> ! {
        let rank = self.rank;
        let what = "while another of its threads was in a function of MPI: one at a time may be";
        let text = format!("rank {rank} called {function} {what} (MPI_THREAD_SERIALIZED is provided)");
        slot.clash(Fault { kind: "threads", rank, at_s: self.now.get().seconds(), text, place: None })
    }

    /// Hands an operation to the simulator's process.
    fn hand_to(&self, slot: &Slot, op: Op) -> Completion {
        let _inside = self.enter_call("what takes simulated time");
        let took = Took::of(self, slot.clock.stop());
        let done = slot.hand_over(Step::Perform(op), took);
        self.now.set(done.now);
        for (request, status) in self.late.take() {
            self.shared.reports.completed(self, request, &status);
        }
        slot.clock.start();
        done
    }

    /// Ends this rank here, in the middle of whatever it calls.
    pub fn end(&self, last: Op) -> ! {
        if let Some(slot) = self.slot.get() {
            slot.leave(Step::Perform(last), Took::of(self, slot.clock.stop()));
        }
        self.suspend(if self.is_ahead() { self.in_turn(last) } else { last });
        unreachable!("a rank that has ended is not resumed")
    }

    /// Hands on what it has written.
    pub fn flush(&self) {
        if Process::running().is_some() {
            self.catch_up();
        }
        self.view.flush();
    }

    /// Its copy of the program has variables of the C library of its own: `stdin` and `environ`, at these
    /// places.
    pub fn own_variables(&self, input: Option<usize>) {
        if self.program.owner() != CopyOwner::Own {
            return;
        }
        // SAFETY: the program's copies of the variables, in this rank's mapping.
        unsafe {
            if let Some(at) = input {
                *((self.program.base() + at) as *mut *mut libc::FILE) = self.view.input();
            }
            if let Some(at) = self.shared.own_environ {
                *((self.program.base() + at) as *mut *const *const c_char) =
                    self.shared.arguments.environment();
            }
        }
    }

    /// Layout of the values of a datatype that is committed.
    #[inline]
    pub fn layout(&self, datatype: Datatype) -> Answer<Layout> {
        self.datatypes.committed(datatype)
    }

    /// A communicator by its handle.
    pub fn communicator_by_number(&self, number: usize) -> Option<Rc<Communicator>> {
        self.communicators.borrow().get(number).cloned()
    }
}
