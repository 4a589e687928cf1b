//! Ranks that are processes: each is forked from the simulator's process when it begins.
//!
//! ```text
//!   simulator                         rank r, its own globals, heap, stacks, threads
//!   ─────────                         ──────────────────────────────────────────────
//!   Live::next(r): Slot::ask ── completion, turn ──► Slot::hand_over returns, main goes on
//!        ▲                                              │ MPI_Recv: Process::perform
//!        └───────────── operation, turn ◄───────────────┘ Slot::hand_over(op)
//! ```
//!
//! All of the library's own objects are in memory that they share (`arena`); whose turn it is, is a word there, on
//! which the others sleep (futex(2)). So the order of everything is that of fibers, and so is the outcome.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mpi::Completion;

use super::computing::Took;
use super::fibers::Step;
use super::{Fault, crash};
use crate::arena;
use crate::fiber::Ended;
use crate::process_view::computing_clock::Clock;

/// Number of the side whose turn it is.
const SIMULATOR: u32 = 0;
const RANK: u32 = 1;
/// Interval between checks that a rank's process still exists \[ms\].
const LOOK_EVERY_MS: i64 = 50;
/// Number of checks after which a process that was told to end is killed.
const PATIENCE: u32 = 40;
/// Time in which a process ends after its last word; it runs handlers of `atexit` and the ends of libraries.
const LONGEST_END: Duration = Duration::from_secs(10);

/// True if the simulator waits for a rank's process, and whether the user does not want to wait any more.
static WAITING: AtomicBool = AtomicBool::new(false);
static HURRY: AtomicBool = AtomicBool::new(false);

/// The user is in a hurry: the rank that the simulator waits for is to end. Whether it waits for one. For signal handlers.
pub fn hurry() -> bool {
    let waits = WAITING.load(Ordering::Relaxed);
    HURRY.fetch_or(waits, Ordering::Relaxed);
    waits
}

/// Meeting point of a rank's process and the simulator's.
pub struct Slot {
    turn: AtomicU32,
    /// The thread that calls MPI; 0: none does.
    inside: AtomicUsize,
    /// True if another has called meanwhile.
    clashed: AtomicBool,
    process: Cell<libc::pid_t>,
    done: RefCell<Option<Completion>>,
    told: RefCell<Option<(Step, Took)>>,
    /// Cause of the rank's end, if it crashed.
    pub fault: RefCell<Option<Fault>>,
    /// By which its computing is measured.
    pub clock: Clock,
}

/// Functions that any thread may call while another is in one (MPI 5.0, chapter 11), or that programs do call so.
const AT_ONCE: [&str; 8] = [
    "MPI_Finalized",
    "MPI_Get_library_version",
    "MPI_Get_version",
    "MPI_Initialized",
    "MPI_Is_thread_main",
    "MPI_Query_thread",
    "MPI_Wtick",
    "MPI_Wtime",
];

/// While a thread is in a function of MPI.
pub struct Inside(Option<&'static Slot>);

impl Drop for Inside {
    fn drop(&mut self) {
        if let Some(slot) = self.0 {
            slot.inside.store(0, Ordering::Release);
        }
    }
}

impl Slot {
    /// Makes the slot of a rank that has not begun. It is never given back.
    pub fn new(clock: Clock) -> &'static Slot {
        Box::leak(Box::new(Slot {
            turn: AtomicU32::new(SIMULATOR),
            inside: AtomicUsize::new(0),
            clashed: AtomicBool::new(false),
            process: Cell::new(0),
            done: RefCell::default(),
            told: RefCell::default(),
            fault: RefCell::default(),
            clock,
        }))
    }

    /// Makes the process; true in it.
    pub fn fork(&self) -> std::io::Result<bool> {
        // SAFETY: has no conditions; the simulator has one thread.
        let (simulator, made) = unsafe { (libc::getpid(), libc::fork()) };
        match made {
            -1 => Err(std::io::Error::last_os_error()),
            0 => {
                // SAFETY: this process is not to outlive the simulator's, which may have ended before that was asked for.
                unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    if libc::getppid() != simulator {
                        libc::_exit(1);
                    }
                }
                crash::leave_when_told();
                Ok(true)
            }
            process => {
                self.process.set(process);
                Ok(false)
            }
        }
    }

    fn pass(&self, to: u32) {
        self.turn.store(to, Ordering::Release);
        // SAFETY: wakes who sleeps on the word.
        unsafe { libc::syscall(libc::SYS_futex, self.turn.as_ptr(), libc::FUTEX_WAKE, 1) };
    }

    /// Sleeps for a while, or until the turn is no longer `other`'s; whether it is not.
    fn sleep(&self, other: u32) -> bool {
        if self.turn.load(Ordering::Acquire) != other {
            return true;
        }
        let limit = libc::timespec { tv_sec: 0, tv_nsec: LOOK_EVERY_MS * 1_000_000 };
        let word = self.turn.as_ptr();
        // SAFETY: sleeps if the word still says so.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, other, &raw const limit) };
        self.turn.load(Ordering::Acquire) != other
    }

    /// The simulator: lets the rank go on, until it asks for its next operation. If its process ends by itself: how, as
    /// waitpid(2) says.
    pub fn ask(&self, done: &Completion) -> Result<(Step, Took), c_int> {
        *self.done.borrow_mut() = Some(done.clone());
        self.pass(RANK);
        WAITING.store(true, Ordering::Relaxed);
        let mut looks_left: Option<u32> = None;
        while !self.sleep(RANK) {
            let mut status = 0;
            // SAFETY: asks about a child of this process.
            let ended = unsafe { libc::waitpid(self.process.get(), &raw mut status, libc::WNOHANG) };
            if ended == self.process.get() && self.turn.load(Ordering::Acquire) == RANK {
                self.process.set(0);
                WAITING.store(false, Ordering::Relaxed);
                return Err(status);
            }
            if HURRY.swap(false, Ordering::Relaxed) {
                looks_left = Some(PATIENCE);
            }
            // Again at each look: while another of the same kind is pending, a signal is lost.
            if let Some(left) = &mut looks_left {
                self.signal(if *left > 0 { libc::SIGINT } else { libc::SIGKILL });
                *left = left.saturating_sub(1);
            }
        }
        WAITING.store(false, Ordering::Relaxed);
        Ok(self.told.take().expect("who passes the turn has told why"))
    }

    fn signal(&self, signal: c_int) {
        // SAFETY: to a child of this process, which has not been waited for.
        unsafe { libc::kill(self.process.get(), signal) };
    }

    /// The simulator: waits until the process has ended after its last word; how it has, as waitpid(2) says. `None` if it had
    /// to be killed: it has gone on for [`LONGEST_END`], or the user is in a hurry.
    pub fn join(&self) -> Option<c_int> {
        WAITING.store(true, Ordering::Relaxed);
        let has_ended = self.ends_in_time();
        WAITING.store(false, Ordering::Relaxed);
        if !has_ended {
            self.kill();
            return None;
        }
        Some(self.reap())
    }

    /// The simulator: ends the process by force.
    pub fn kill(&self) {
        if self.process.get() != 0 {
            self.signal(libc::SIGKILL);
            self.reap();
        }
    }

    /// True once the process has ended; false if that takes too long. True at once where the system has no handles of
    /// processes, or there is no process.
    fn ends_in_time(&self) -> bool {
        // SAFETY: asks for a handle of a child of this process, which has not been waited for.
        let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, self.process.get(), 0) } as c_int;
        if handle < 0 {
            return true;
        }
        // SAFETY: a handle that was just made, and is nobody else's.
        let handle = unsafe { OwnedFd::from_raw_fd(handle) };
        #[expect(
            clippy::disallowed_methods,
            reason = "how long a process takes to end is no part of the simulation"
        )]
        let since = Instant::now();
        while since.elapsed() < LONGEST_END && !HURRY.swap(false, Ordering::Relaxed) {
            let mut ends = libc::pollfd { fd: handle.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: waits on one handle, for a moment.
            if unsafe { libc::poll(&raw mut ends, 1, LOOK_EVERY_MS as c_int) } > 0 {
                return true;
            }
        }
        false
    }

    /// The simulator: waits for the process, which is about to end; how it has, as waitpid(2) says.
    fn reap(&self) -> c_int {
        let (process, mut status) = (self.process.replace(0), 0);
        if process != 0 {
            // SAFETY: a child of this process, which has not been waited for.
            unsafe { libc::waitpid(process, &raw mut status, 0) };
        }
        status
    }

    /// The rank: a thread of it calls this function of MPI; `None` if another thread is in one.
    pub fn enter(&'static self, function: &str) -> Option<Inside> {
        // SAFETY: has no conditions.
        let thread = unsafe { libc::pthread_self() } as usize;
        if AT_ONCE.contains(&function) {
            return Some(Inside(None));
        }
        match self.inside.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Some(Inside(Some(self))),
            // In a function of the program that the library calls.
            Err(other) if other == thread => Some(Inside(None)),
            Err(_) => None,
        }
    }

    /// The rank: two of its threads have called MPI at the same time. Its process ends, and says that with its last word.
    pub fn clash(&self, fault: Fault) -> ! {
        if self.clashed.swap(true, Ordering::Relaxed) {
            loop {
                // SAFETY: has no conditions; the process is about to end.
                unsafe { libc::pause() };
            }
        }
        *self.fault.borrow_mut() = Some(fault);
        // SAFETY: ends the process; nothing of it is to run.
        unsafe { libc::_exit(1) }
    }

    /// The rank: waits for its turn; what its last operation has given.
    pub fn wait(&self) -> Completion {
        while !self.sleep(SIMULATOR) {}
        self.done.take().expect("who passes the turn has told what is done")
    }

    /// The rank: asks for an operation, and waits until it is done.
    pub fn hand_over(&self, step: Step, took: Took) -> Completion {
        *self.told.borrow_mut() = Some((step, took));
        self.pass(SIMULATOR);
        self.wait()
    }

    /// The rank: its last word. The ends of libraries come after it.
    pub fn leave(&self, step: Step, took: Took) -> ! {
        let crashed = matches!(step, Step::Ended(Ended::Crash));
        // A signal that comes while others run ends the process alone.
        if self.turn.load(Ordering::Acquire) == RANK {
            *self.told.borrow_mut() = Some((step, took));
            self.pass(SIMULATOR);
        }
        arena::leave();
        crash::end_process();
        // SAFETY: the process ends; after a crash nothing of it is to run.
        unsafe { if crashed { libc::_exit(1) } else { libc::exit(0) } }
    }
}
