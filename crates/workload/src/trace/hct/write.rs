//! Any recorded run as files of this format.

use std::io::{self, Write};

use mpi::operation::CommId;
use mpi::{Op, Rank};

use super::op::{Numbers, shape};
use super::rank::{End, Head, RankWriter};
use super::shape::Did;
use crate::trace::error::TraceError;
use crate::trace::set::{Clocks, TraceSet};

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

impl std::convert::From<TraceError> for ConvertError {
    fn from(error: TraceError) -> ConvertError {
        ConvertError::Trace(error)
    }
}

impl std::convert::From<io::Error> for ConvertError {
    fn from(error: io::Error) -> ConvertError {
        ConvertError::Write(error)
    }
}

/// The name of a rank's file.
pub fn file_name(rank: u32) -> String {
    format!("rank-{rank:06}.hct")
}

/// Writes what was recorded of `rank`; with times tallied by place if `tallied`.
pub fn convert(set: &dyn TraceSet, rank: Rank, host: &str, tallied: bool, to: impl Write) -> Result<End, ConvertError> {
    let head = Head {
        rank: rank.0,
        ranks: set.ranks(),
        host: host.to_string(),
        start_unix_ns: 0,
        program: String::new(),
        library: format!("converted from {}", set.format()),
        tallied,
    };
    let mut writer = RankWriter::new(to, &head, BLOCK_NS)?;
    let mut calls = set.calls(rank, Clocks::Aligned)?;
    let mut numbers = Numbers::default();
    let mut fake = CommId::SELF.0;
    while let Some(step) = calls.next()? {
        let mut shape = shape(step.call.name, &step.op, &numbers);
        if let Did::NewComm(made) = &mut shape.did {
            // Nothing is simulated here, so the numbers of communicators are ours to choose.
            fake += 1;
            made.comm = Some(numbers.make(CommId(fake)));
            calls.made(CommId(fake));
        }
        if let Op::Finish = step.op {
            continue;
        }
        writer.push(&shape, step.call.begin.0 / 1000, step.call.end.0 / 1000)?;
    }
    Ok(writer.finish()?)
}
