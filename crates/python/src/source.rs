//! Rank programs as a source: each rank is a greenlet, and asking for its next operation switches to it.
//!
//! A suspended greenlet's stack holds Python frames only, because the communicating methods switch from
//! Python; the frames of this file belong to the hub, the greenlet that runs the simulator.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use engine::Time;
use mpi::operation::{Op, Rank};
use mpi::source::{Completion, Source, Status};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::decode::{Decoder, Reply};

/// Current rank, and its simulated time.
#[pyclass(frozen, module = "hopcast._core")]
#[derive(Default)]
pub struct Clock {
    now_ps: AtomicU64,
    rank: AtomicU32,
    wtime_costs: AtomicBool,
}

#[pymethods]
impl Clock {
    #[new]
    fn new() -> Clock {
        Clock::default()
    }
    /// Simulated time of the current rank \[s\].
    #[getter]
    fn now_s(&self) -> f64 {
        Time(self.now_ps.load(Ordering::Relaxed)).seconds()
    }
    /// True if asking for the time takes time.
    #[getter]
    fn wtime_costs(&self) -> bool {
        self.wtime_costs.load(Ordering::Relaxed)
    }
    /// Current rank.
    #[getter]
    fn rank(&self) -> u32 {
        self.rank.load(Ordering::Relaxed)
    }
}

/// A rank between two of its operations.
#[derive(Default, Clone)]
struct Waiting<'py> {
    /// Switches to its greenlet; `None` before it begins and after it has finished.
    switch: Option<Bound<'py, PyAny>>,
    /// Reply to its last operation.
    reply: Reply,
}

/// An exception that left a rank function.
pub struct RankError<'py> {
    /// Rank.
    pub rank: Rank,
    /// Simulated time of the exception.
    pub at: Time,
    /// The exception.
    pub error: Bound<'py, PyAny>,
}

/// The ranks of a Python program.
pub struct Greenlets<'py> {
    py: Python<'py>,
    start: Bound<'py, PyAny>,
    place: Bound<'py, PyAny>,
    clock: Bound<'py, Clock>,
    ranks: Vec<Waiting<'py>>,
    decoder: Decoder<'py>,
    /// Exception that ended the program, if one did.
    pub error: Option<RankError<'py>>,
}

impl<'py> Greenlets<'py> {
    /// Creates the ranks of `program`: an object with `start(rank) -> greenlet`, `clock`, and `place(greenlet)`. Those for
    /// which `wtime_costs` spend time when they ask for it.
    pub fn new(program: &Bound<'py, PyAny>, ranks: u32, wtime_costs: bool) -> PyResult<Greenlets<'py>> {
        let clock: Bound<'py, Clock> = program.getattr("clock")?.cast_into()?;
        clock.get().wtime_costs.store(wtime_costs, Ordering::Relaxed);
        Ok(Greenlets {
            py: program.py(),
            start: program.getattr("start")?,
            place: program.getattr("place")?,
            clock,
            ranks: vec![Waiting::default(); ranks as usize],
            decoder: Decoder::default(),
            error: None,
        })
    }

    /// Greenlets that have begun and not finished.
    pub fn unfinished(&self) -> impl Iterator<Item = PyResult<Bound<'py, PyAny>>> {
        self.ranks.iter().filter_map(|rank| rank.switch.as_ref()).map(greenlet)
    }

    fn step(&mut self, rank: Rank, done: &Completion) -> PyResult<Op> {
        let index = rank.0 as usize;
        let (switch, value) = match &self.ranks[index].switch {
            Some(switch) => (switch.clone(), self.reply(self.ranks[index].reply, done)?),
            None => {
                let switch = self.start.call1((rank.0,))?.getattr("switch")?;
                self.ranks[index].switch = Some(switch.clone());
                (switch, rank.0.into_pyobject(self.py)?.into_any())
            }
        };
        let mut given = switch.call1((value,))?;
        loop {
            if given.is_none() {
                self.ranks[index].switch = None;
                return Ok(Op::Finish);
            }
            match self.decoder.decode(given.cast::<PyTuple>()?) {
                Ok((op, reply)) => {
                    self.ranks[index].reply = reply;
                    return Ok(op);
                }
                // The mistake is the rank's own, so it is raised in the rank, at its call.
                Err(mistake) => {
                    given = greenlet(&switch)?.call_method1("throw", (mistake.into_value(self.py),))?;
                }
            }
        }
    }

    fn reply(&mut self, reply: Reply, done: &Completion) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let none = || py.None().into_bound(py);
        Ok(match reply {
            Reply::Nothing => none(),
            Reply::Payload => self.decoder.payloads.take(py, done.status.data),
            Reply::PayloadAndStatus => {
                let payload = self.decoder.payloads.take(py, done.status.data);
                let Status { source, tag, bytes, cancelled, .. } = done.status;
                (payload, source, tag, bytes, cancelled).into_pyobject(py)?.into_any()
            }
            Reply::StatusIfAny | Reply::MatchedIfAny | Reply::SetIfAny if !done.flag => none(),
            Reply::Status | Reply::StatusIfAny => {
                let Status { source, tag, bytes, .. } = done.status;
                (source, tag, bytes).into_pyobject(py)?.into_any()
            }
            Reply::Matched | Reply::MatchedIfAny => {
                let Status { source, tag, bytes, .. } = done.status;
                (done.matched, source, tag, bytes).into_pyobject(py)?.into_any()
            }
            Reply::Set | Reply::SetIfAny => self.set(&done.done)?.into_any(),
            Reply::Comm => done.comm.0.into_pyobject(py)?.into_any(),
        })
    }

    fn set(&mut self, done: &[(u32, Status)]) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(self.py);
        for (index, status) in done {
            let payload = self.decoder.payloads.take(self.py, status.data);
            list.append((*index, payload, status.source, status.tag, status.bytes, status.cancelled))?;
        }
        Ok(list)
    }
}

/// Greenlet whose `switch` method this is.
fn greenlet<'py>(switch: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    switch.getattr("__self__")
}

impl Source for Greenlets<'_> {
    fn next(&mut self, rank: Rank, done: &Completion) -> Op {
        let clock = self.clock.get();
        clock.now_ps.store(done.now.0, Ordering::Relaxed);
        clock.rank.store(rank.0, Ordering::Relaxed);
        self.step(rank, done).unwrap_or_else(|error| {
            self.ranks[rank.0 as usize].switch = None;
            self.error = Some(RankError {
                rank,
                at: done.now,
                error: error.into_value(self.py).into_bound(self.py).into_any(),
            });
            Op::Abort(1)
        })
    }

    fn place(&self, rank: Rank) -> Option<String> {
        let switch = self.ranks[rank.0 as usize].switch.as_ref()?;
        self.place.call1((greenlet(switch).ok()?,)).ok()?.extract().ok()?
    }
}
