//! All ranks of a Python program in one interpreter: each fiber has a thread state of its own.
//!
//! ```text
//!   hub                        rank 0                          rank 1
//!   resume ──────────────────► holds the interpreter
//!                              MPI_Recv → perform: lets it go
//!   ◄───────────────────────── suspend
//!   resume ────────────────────────────────────────────────► takes it, puts its own things in place,
//!                                                             lets it go again if mpi4py had, goes on
//! ```
//!
//! What a process has once is exchanged when another rank runs ([`exchange`]): the entries of `sys.modules` that
//! are a rank's own (`__main__`, modules of the program, `mpi4py`), some variables of `sys`, and the words in
//! which mpi4py's extension module keeps its registries, and the [`regions`] of generators of random numbers.
//! Everything else, libraries above all, is shared.
//!
//! Assumptions: one interpreter lock; the interpreter runs on the thread of the simulator. Source of the idea
//! that thread states, not threads, are what Python code needs: the greenlet project.

pub mod entry;
mod exchange;
pub mod python;
mod regions;

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::call::environment;
use crate::live::Fault;
use crate::live::interpreter;
use crate::live::process::{Phase, Process};
use exchange::{Own, Words};
use python::{Object, Python, State};

/// The interpreter, and what each rank has in it.
pub struct Interpreter {
    python: Python,
    group: *mut c_void,
    /// Key by which Python up to 3.11 finds the state of the running thread, if it does.
    key: Option<libc::pthread_key_t>,
    /// `run(rank, modules) -> exit code`, `collect(modules)`, `place() -> text`.
    run: Object,
    collect: Object,
    place: Object,
    system: exchange::System,
    ranks: RefCell<Vec<Own>>,
    words: RefCell<Words>,
    regions: RefCell<Vec<regions::Region>>,
    /// Rank whose objects are in place.
    placed: Cell<Option<u32>>,
    failures: RefCell<Vec<Fault>>,
}

static ACTIVE: AtomicPtr<Interpreter> = AtomicPtr::new(ptr::null_mut());

/// The interpreter, if ranks run in one.
#[inline]
pub fn active<'a>() -> Option<&'a Interpreter> {
    // SAFETY: set once, to a value that is never freed.
    unsafe { ACTIVE.load(Ordering::Relaxed).as_ref() }
}

impl Interpreter {
    /// Starts that of this process, for `ranks` ranks; it is held, and stays so.
    ///
    /// # Safety
    /// `run`, `collect` and `place` are functions of Python that are never freed.
    unsafe fn start(
        ranks: usize,
        run: Object,
        collect: Object,
        place: Object,
    ) -> Result<&'static Interpreter, &'static str> {
        let python = Python::find()?;
        // SAFETY: the interpreter is held.
        let own = unsafe {
            let main = (python.current)();
            Interpreter {
                group: (python.interpreter)(),
                key: key_of(main),
                run,
                collect,
                place,
                system: exchange::System::find(&python),
                ranks: RefCell::new((0..ranks).map(|_| Own::default()).collect()),
                words: RefCell::default(),
                regions: RefCell::default(),
                placed: Cell::new(None),
                failures: RefCell::default(),
                python,
            }
        };
        let shared: &'static Interpreter = Box::leak(Box::new(own));
        ACTIVE.store(ptr::from_ref(shared).cast_mut(), Ordering::Relaxed);
        interpreter::activate(shared);
        Ok(shared)
    }

    fn set_key(&self, state: State) {
        if let Some(key) = self.key {
            // SAFETY: the key is Python's own, and holds states.
            unsafe { libc::pthread_setspecific(key, state) };
        }
    }
}

impl interpreter::Interpreter for Interpreter {
    fn main(&self, me: &Process) -> i32 {
        let python = &self.python;
        // SAFETY: a new thread state, which belongs to this fiber; the functions are Python's.
        unsafe {
            let state = (python.new_state)(self.group);
            self.ranks.borrow_mut()[me.rank as usize].state = state;
            self.set_key(state);
            (python.restore)(state);
            self.place(me.rank);
            let modules = self.ranks.borrow()[me.rank as usize].modules;
            let rank = (python.number)(me.rank.into());
            let answer = (python.call)(self.run, rank, modules, ptr::null_mut());
            (python.decrease)(rank);
            let code = if answer.is_null() {
                (python.print_error)();
                1
            } else {
                let code = (python.value)(answer) as i32;
                (python.decrease)(answer);
                code
            };
            if me.phase.get() == Phase::Initialised {
                // Nobody is left who could hear of an error.
                let _ = environment::finalize(me);
            }
            self.forget(me.rank);
            (python.clear_state)(state);
            (python.delete_current)();
            code
        }
    }

    fn leave(&self, rank: u32) -> bool {
        let state = self.ranks.borrow()[rank as usize].state;
        // SAFETY: the fiber of this rank runs.
        unsafe {
            let holds = !state.is_null() && (self.python.current)() == state;
            if holds {
                (self.python.save)();
            }
            holds
        }
    }

    fn enter(&self, rank: u32, held: bool) {
        let state = self.ranks.borrow()[rank as usize].state;
        if state.is_null() {
            return;
        }
        let others = self.placed.get() != Some(rank);
        // SAFETY: the fiber of this rank runs, whose thread state this is.
        unsafe {
            self.set_key(state);
            if held || others {
                (self.python.restore)(state);
            }
            if others {
                self.place(rank);
            }
            if others && !held {
                (self.python.save)();
            }
        }
    }

    fn standing(&self) -> Option<String> {
        let python = &self.python;
        let me = Process::running()?;
        let state = self.ranks.borrow()[me.rank as usize].state;
        if state.is_null() {
            return None;
        }
        // SAFETY: the fiber of this rank runs, whose thread state this is; it is as before afterwards.
        unsafe {
            let holds = (python.current)() == state;
            if !holds {
                (python.restore)(state);
            }
            let null = ptr::null_mut();
            let answer = (python.call)(self.place, null, null, null);
            let text = if answer.is_null() { null.cast() } else { (python.utf8)(answer, null.cast()) };
            let place = (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned());
            if !answer.is_null() {
                (python.decrease)(answer);
            }
            if place.is_none() {
                (python.print_error)();
            }
            if !holds {
                (python.save)();
            }
            place.filter(|place| !place.is_empty())
        }
    }

    fn take_failures(&self) -> Vec<Fault> {
        self.failures.take()
    }
}

/// The key under which this thread's own `state` is kept: that of Python's PyGILState functions, which later
/// versions set by themselves, to the same.
fn key_of(state: State) -> Option<libc::pthread_key_t> {
    /// PTHREAD_KEYS_MAX
    const KEYS: libc::pthread_key_t = 1024;
    // SAFETY: asking for a key that does not exist gives null.
    (0..KEYS).find(|key| unsafe { libc::pthread_getspecific(*key) } == state)
}
