//! Definitions of one location (`NAME/LOCATION.def`): its own numbers, and the offset of its clock.
//!
//! A clock is compared with that of the first process several times in a run. Its offset is interpolated linearly
//! between two comparisons, and extrapolated before the first and after the last.
//!
//! Source: OTF2 3.2, `OTF2_DefReader_inc.c`, `otf2_archive_location.c`, `OTF2_EvtReader.c`.

use std::collections::BTreeMap;

use super::archive::Anchor;
use super::stream::{Body, Holds, Item, Stream};
use crate::trace::error::TraceError;
use crate::trace::input::TraceFile;

/// Table from the numbers of a location to those of the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Indexed by the location's number.
    Dense(Vec<u64>),
    Sparse(BTreeMap<u64, u64>),
}

impl Numbers {
    /// Number in the archive; the location's own if the table does not list it.
    pub(super) fn of(&self, own: u32) -> u32 {
        let number = match self {
            Numbers::Dense(numbers) => numbers.get(own as usize),
            Numbers::Sparse(numbers) => numbers.get(&own.into()),
        };
        number.map_or(own, |number| u32::try_from(*number).unwrap_or(u32::MAX))
    }

    fn read(body: &mut Body<'_>) -> Result<Numbers, TraceError> {
        let at = body.clone();
        // The count precedes the mode: a sparse table has two numbers for each entry.
        let count = body.u64("the length of a table of numbers")?;
        let dense = body.u8("whether the table is dense")? == 0;
        if !body.holds(count) {
            return Err(at.error(format!("a table of {count} numbers does not fit its record")));
        }
        if dense {
            let numbers = (0..count).map(|_| body.u64("a number")).collect::<Result<_, _>>();
            return numbers.map(Numbers::Dense);
        }
        let pair = |_| Ok((body.u64("a location's number")?, body.u64("an archive's number")?));
        (0..count).map(pair).collect::<Result<_, _>>().map(Numbers::Sparse)
    }
}

/// Interval between two comparisons of the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Interval {
    begin: u64,
    end: u64,
    offset: i64,
    slope: f64,
}

/// The definitions of a location.
#[derive(Debug, Clone)]
pub(super) struct Location {
    pub regions: Numbers,
    pub comms: Numbers,
    clock: Vec<Interval>,
}

impl Location {
    /// Uses the archive's numbers and the common clock.
    pub(super) fn plain() -> Location {
        let none = || Numbers::Dense(Vec::new());
        Location { regions: none(), comms: none(), clock: Vec::new() }
    }

    /// Reads all of `file`.
    pub(super) fn read(file: TraceFile, anchor: &Anchor) -> Result<Location, TraceError> {
        let mut location = Location::plain();
        let mut last: Option<(u64, i64)> = None;
        let mut stream = Stream::new(file, Holds::Definitions, anchor.definition_chunk, 4 << 10)?;
        while let Some(item) = stream.next()? {
            let mut body = stream.body();
            match item {
                Item::Record(5) => match body.u8("what a table of numbers is for")? {
                    3 => location.regions = Numbers::read(&mut body)?,
                    6 => location.comms = Numbers::read(&mut body)?,
                    _ => {}
                },
                Item::Record(6) => {
                    let at = body.clone();
                    let time = body.fixed(8, "the time of a comparison of clocks")?;
                    let offset = body.u64("a clock's offset")? as i64;
                    if let Some((begin, from)) = last {
                        if time <= begin {
                            return Err(at.error(format!("clocks are compared at {time} after {begin}")));
                        }
                        let slope = offset.wrapping_sub(from) as f64 / (time - begin) as f64;
                        location.clock.push(Interval { begin, end: time, offset: from, slope });
                    }
                    last = Some((time, offset));
                }
                _ => {}
            }
        }
        Ok(location)
    }

    /// True if the archive has comparisons of the clock.
    pub(super) fn has_clock(&self) -> bool {
        !self.clock.is_empty()
    }

    /// Time `time` on the common clock; `from` caches the last interval, as times do not decrease.
    pub(super) fn on_common_clock(&self, time: u64, from: &mut usize) -> u64 {
        let Some(last) = self.clock.len().checked_sub(1) else { return time };
        while *from < last && time > self.clock[*from].end {
            *from += 1;
        }
        let interval = &self.clock[*from];
        let since = time.abs_diff(interval.begin) as f64;
        let since = if time >= interval.begin { since } else { -since };
        let offset = interval.offset.saturating_add((interval.slope * since).round_ties_even() as i64);
        time.saturating_add_signed(offset)
    }
}
