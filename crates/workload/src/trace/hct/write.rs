//! Converts any recorded run to files of this format.

use std::io::{self, Write};
use std::sync::Arc;

use engine::{Duration, Time};
use mpi::operation::{CommId, Work};
use mpi::{Op, Rank};

use super::gaps::Gap;
use super::name::Name;
use super::op::shape;
use super::rank::{End, Event, Head, RankWriter};
use super::shape::{Did, How, Shape};
use crate::trace::error::TraceError;
use crate::trace::set::{EndsEarly, Events, RankCalls, TraceSet};

/// Time span of a block when a conversion loses nothing by waiting \[ns\].
const BLOCK_NS: u64 = 600_000_000_000;

/// Error on reading, or on writing.
#[derive(Debug)]
pub enum ConvertError {
    /// The recording cannot be read.
    Trace(TraceError),
    /// The file cannot be written.
    Write(io::Error),
}

impl From<TraceError> for ConvertError {
    fn from(error: TraceError) -> ConvertError {
        ConvertError::Trace(error)
    }
}

impl From<io::Error> for ConvertError {
    fn from(error: io::Error) -> ConvertError {
        ConvertError::Write(error)
    }
}

/// The name of a rank's file.
pub fn file_name(rank: u32) -> String {
    format!("rank-{rank:06}.hct")
}

/// True if a file's name is one that [`file_name`] gives.
pub fn is_rank_file(path: &str) -> bool {
    let name = path.rsplit('/').next().expect("a text has a last part");
    let number = name.strip_prefix("rank-").and_then(|rest| rest.strip_suffix(".hct"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Writes the recorded calls of the rank of `head`, with times as `head` says.
pub fn convert(set: &dyn TraceSet, head: &Head, to: impl Write) -> Result<End, ConvertError> {
    if !set.ordered() {
        let reason = "its calls have dependencies instead of an order; the format .hct keeps calls in order";
        return Err(TraceError::new(set.format(), reason).into());
    }
    let rank = Rank(head.rank);
    write(set.events_on_own_clock(rank)?, set.ends_early(rank).as_ref(), head, to)
}

/// Writes the calls of the rank of `head`, with times as `head` says. If it `ends_early`, the rank may have made
/// further calls.
pub fn write(
    events: Events,
    ends_early: Option<&EndsEarly>,
    head: &Head,
    to: impl Write,
) -> Result<End, ConvertError> {
    let mut writer = RankWriter::new(to, head, BLOCK_NS)?;
    for event in events {
        let Event { shape, begin_ns, end_ns, between } = event?;
        writer.push_after(&between, &shape, begin_ns, end_ns)?;
    }
    Ok(match ends_early {
        None => writer.finish()?,
        Some(EndsEarly { standing }) => writer.leave(standing.as_ref())?,
    })
}

/// A call, or computing that the trace lists as an action of its own.
#[derive(Debug, Clone)]
pub enum Listed {
    /// A call.
    Call(Event),
    /// Computing: its name and amount.
    Computing(&'static str, Work),
}

/// Yields the calls of a rank of any format as events of this one.
pub struct Translated {
    calls: Box<dyn RankCalls>,
    /// True if the rank has computed since the last call.
    computing: bool,
    /// Total computing of its own actions so far, for traces without recorded times \[ps\].
    computed_ps: u64,
    /// Number of the next new communicator.
    comm: u32,
}

impl Translated {
    /// Begins at the rank's first call.
    pub fn new(calls: Box<dyn RankCalls>) -> Translated {
        Translated { calls, computing: false, computed_ps: 0, comm: 2 }
    }

    /// Next call, with the computing before it in its gap; `None` at the end. Computing after the last call becomes
    /// the gap of a call without effect.
    pub fn read(&mut self) -> Result<Option<Event>, TraceError> {
        loop {
            match self.list()? {
                Some(Listed::Call(event)) => return Ok(Some(event)),
                Some(Listed::Computing(_, Work::Time(_) | Work::Polled(_) | Work::Moving { .. })) => {}
                Some(Listed::Computing(_, Work::Flops { flops, .. } | Work::PolledFlops(flops))) => {
                    return Err(self.calls.error(format!(
                        "computes {flops} operations, and the format .hct has times: --flop-rate \"1 Gflop/s\" would \
                         say how long they take"
                    )));
                }
                None if std::mem::take(&mut self.computing) => {
                    let (shape, ns) =
                        (Shape { call: Name("compute"), did: Did::Overhead }, self.computed_ps / 1000);
                    let (shape, between) = (Arc::new(shape), Gap::default());
                    return Ok(Some(Event { shape, begin_ns: ns, end_ns: ns, between }));
                }
                None => return Ok(None),
            }
        }
    }

    /// Next call or computing; `None` at the end.
    pub fn list(&mut self) -> Result<Option<Listed>, TraceError> {
        let Some(step) = self.calls.next()? else { return Ok(None) };
        match step.op {
            Op::Finish => return Ok(None),
            Op::Compute(work) => {
                if let Work::Time(time) | Work::Polled(time) | Work::Moving { time, .. } = work {
                    self.computed_ps = self.computed_ps.saturating_add(time.0);
                }
                self.computing = true;
                return Ok(Some(Listed::Computing(step.call.name, work)));
            }
            _ => self.computing = false,
        }
        let mut shape = shape(step.call.name, &step.op);
        if matches!(step.op, Op::Call(_, Duration::ZERO)) && step.call.end > step.call.begin {
            // The call only waited for something that a replay does not simulate. It takes no time there, and its
            // recorded length must not be taken for work.
            shape.did = Did::Complete { requests: Vec::new(), matched: Vec::new() };
        }
        if let Did::NewComm(made) = &mut shape.did {
            // Nothing is simulated here, so the file's numbers serve as the simulation's.
            let outside = matches!(made.how, How::Split { colour: None, .. } | How::OutsideGraph);
            made.comm = (!outside).then_some(self.comm);
            self.comm += u32::from(!outside);
            self.calls.made(made.comm.map_or(CommId::NULL, CommId));
        }
        let ns = |time: Time| time.0.saturating_add(self.computed_ps) / 1000;
        let (begin_ns, end_ns) = (ns(step.call.begin), ns(step.call.end));
        let (shape, between) = (Arc::new(shape), Gap::default());
        Ok(Some(Listed::Call(Event { shape, begin_ns, end_ns, between })))
    }
}
