//! Any recorded run as files of this format.

use std::io::{self, Write};
use std::sync::Arc;

use mpi::operation::CommId;
use mpi::{Op, Rank};

use super::op::shape;
use super::rank::{End, Event, Head, RankWriter};
use super::shape::{Did, How};
use crate::trace::error::TraceError;
use crate::trace::set::{Clocks, RankCalls, TraceSet};

/// A block is this long where nothing is lost by waiting \[ns\].
const BLOCK_NS: u64 = 600_000_000_000;

/// What went wrong: on reading, or on writing.
#[derive(Debug)]
pub enum ConvertError {
    /// The recording is damaged.
    Trace(TraceError),
    /// It cannot be written.
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

/// Writes what was recorded of the rank of `head`, with times as `head` says.
pub fn convert(set: &dyn TraceSet, head: &Head, to: impl Write) -> Result<End, ConvertError> {
    let mut writer = RankWriter::new(to, head, BLOCK_NS)?;
    for event in set.events(Rank(head.rank), Clocks::Aligned)? {
        let Event { shape, begin_ns, end_ns } = event?;
        writer.push(&shape, begin_ns, end_ns)?;
    }
    Ok(writer.finish()?)
}

/// The calls of a rank of any format, as this one has them. Ends after an error.
pub struct Translated {
    calls: Box<dyn RankCalls>,
    /// The number of the next communicator that is made.
    comm: u32,
    ended: bool,
}

impl Translated {
    /// Of a rank that is at its first call.
    pub fn new(calls: Box<dyn RankCalls>) -> Translated {
        Translated { calls, comm: 2, ended: false }
    }

    fn read(&mut self) -> Result<Option<Event>, TraceError> {
        let Some(step) = self.calls.next()?.filter(|step| step.op != Op::Finish) else { return Ok(None) };
        let mut shape = shape(step.call.name, &step.op);
        if let Did::NewComm(made) = &mut shape.did {
            // Nothing is simulated here, so the simulation's numbers are ours to choose: those of the file.
            let outside = matches!(made.how, How::Split { colour: None, .. } | How::OutsideGraph);
            made.comm = (!outside).then_some(self.comm);
            self.comm += u32::from(!outside);
            self.calls.made(made.comm.map_or(CommId::NULL, CommId));
        }
        let (begin_ns, end_ns) = (step.call.begin.0 / 1000, step.call.end.0 / 1000);
        Ok(Some(Event { shape: Arc::new(shape), begin_ns, end_ns }))
    }
}

impl Iterator for Translated {
    type Item = Result<Event, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.read().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}
