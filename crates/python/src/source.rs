//! Rank programs as a source: each rank is a greenlet, and asking for its next operation switches to it.
//!
//! A suspended greenlet's stack holds Python frames only, because the communicating methods switch from
//! Python; the frames of this file belong to the hub, the greenlet that runs the simulator.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use engine::Time;
use mpi::operation::{Data, Op, Rank};
use mpi::source::{Completion, Source, Status};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

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

/// Bit of the numbers of payloads that came from another process.
const EXPORTED: Data = 1 << 63;

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
    /// Exchange with the ranks of other processes, if there are any: see `hopcast.program.spread`.
    spread: Option<Bound<'py, PyAny>>,
    /// Exception that ended the program, if one did.
    pub error: Option<RankError<'py>>,
}

impl<'py> Greenlets<'py> {
    /// Creates the ranks of `program`: an object with `start(rank) -> greenlet`, `clock`, and `place(greenlet)`. Those for
    /// which `wtime_costs` spend time when they ask for it.
    pub fn new(program: &Bound<'py, PyAny>, ranks: u32, wtime_costs: bool) -> PyResult<Greenlets<'py>> {
        let clock: Bound<'py, Clock> = program.getattr("clock")?.cast_into()?;
        clock.get().wtime_costs.store(wtime_costs, Ordering::Relaxed);
        let spread = program.getattr("spread")?;
        Ok(Greenlets {
            py: program.py(),
            start: program.getattr("start")?,
            place: program.getattr("place")?,
            clock,
            ranks: vec![Waiting::default(); ranks as usize],
            decoder: Decoder::default(),
            spread: (!spread.is_none()).then_some(spread),
            error: None,
        })
    }

    /// Greenlets of ranks that have begun and not finished.
    pub fn unfinished(&self) -> impl Iterator<Item = (Rank, PyResult<Bound<'py, PyAny>>)> {
        let ranks = (0..).map(Rank).zip(&self.ranks);
        ranks.filter_map(|(rank, waiting)| Some((rank, greenlet(waiting.switch.as_ref()?))))
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
            Reply::Payload => self.payload(done.status.data)?,
            Reply::PayloadAndStatus => {
                let payload = self.payload(done.status.data)?;
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

    /// Payload of a message that has been received.
    fn payload(&mut self, data: Data) -> PyResult<Bound<'py, PyAny>> {
        match &self.spread {
            Some(spread) if data & EXPORTED != 0 => spread.call_method1("take_message", (data & !EXPORTED,)),
            _ => Ok(self.decoder.payloads.take(self.py, data)),
        }
    }

    fn exported(&mut self, data: Data, receiver: Rank) -> PyResult<Data> {
        let payload = self.decoder.payloads.take(self.py, data);
        let spread = self.spread.as_ref().expect("a message leaves a process where there are others");
        let number: Data = spread.call_method1("give_message", (receiver.0, payload))?.extract()?;
        Ok(number | EXPORTED)
    }

    fn taken_contents(&self) -> PyResult<Vec<(u32, Vec<u8>)>> {
        let Some(spread) = &self.spread else { return Ok(Vec::new()) };
        let contents: Vec<(u32, Bound<PyBytes>)> = spread.call_method0("take_contents")?.extract()?;
        Ok(contents.into_iter().map(|(process, contents)| (process, contents.as_bytes().to_vec())).collect())
    }

    fn set(&mut self, done: &[(u32, Status)]) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(self.py);
        for (index, status) in done {
            let payload = self.payload(status.data)?;
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

    fn export(&mut self, data: Data, _: Rank, receiver: Rank) -> Data {
        self.exported(data, receiver).unwrap_or_else(|error| panic!("a message cannot be exported: {error}"))
    }

    fn take_contents(&mut self) -> Vec<(u32, Vec<u8>)> {
        self.taken_contents().unwrap_or_else(|error| panic!("contents cannot be exported: {error}"))
    }

    fn receive_contents(&mut self, contents: &[u8]) {
        let Some(spread) = &self.spread else { return };
        let received = spread.call_method1("receive_contents", (PyBytes::new(self.py, contents),));
        received.unwrap_or_else(|error| panic!("contents of another process cannot be read: {error}"));
    }

    fn place(&self, rank: Rank) -> Option<String> {
        let switch = self.ranks[rank.0 as usize].switch.as_ref()?;
        self.place.call1((greenlet(switch).ok()?,)).ok()?.extract().ok()?
    }
}
