//! The anchor of an archive (`NAME.otf2`) and its global definitions (`NAME.def`).
//!
//! Source: OTF2 3.2, `OTF2_AnchorFile.c`, `OTF2_GlobalDefReader_inc.c`, `OTF2_Definitions.h`.

use std::collections::BTreeMap;

use super::stream::{Body, CHUNK_HEAD, Holds, Item, Stream, byte_order};
use crate::trace::error::TraceError;
use crate::trace::input::TraceFile;

/// Magic of an anchor, after the head of a chunk and the byte order.
const MAGIC: &[u8] = b"OTF2\0";
/// Longest anchor \[bytes\].
const LONGEST_ANCHOR: usize = 1 << 20;
const POSIX: u8 = 1;
const UNCOMPRESSED: u8 = 1;
/// Range of sizes of chunks \[bytes\]: the library writes 256 KiB to 16 MiB.
const CHUNKS: std::ops::RangeInclusive<u64> = 64..=1 << 30;
/// Property that is true if every message has both its ends in the archive.
const COMPLETE: &str = "OTF2::MPI_COMMUNICATION_COMPLETE";
/// Number of MPI among the paradigms.
const MPI: u8 = 4;

/// Contents of the anchor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Anchor {
    /// Sizes of the chunks of events and of definitions \[bytes\].
    pub event_chunk: u64,
    pub definition_chunk: u64,
    /// True if the archive says that messages lack one of their ends.
    pub incomplete: bool,
}

impl Anchor {
    /// True if `file` is an anchor.
    pub(super) fn recognise(file: &TraceFile) -> Result<bool, TraceError> {
        let begin = file.peek(0, 2 + MAGIC.len())?;
        Ok(begin.len() == 2 + MAGIC.len()
            && begin[0] == CHUNK_HEAD
            && byte_order(begin[1]).is_some()
            && begin[2..] == *MAGIC)
    }

    /// Reads the anchor, which has been recognised.
    pub(super) fn read(file: &TraceFile) -> Result<Anchor, TraceError> {
        let bytes = file.peek(0, LONGEST_ANCHOR)?;
        let big = byte_order(bytes[1]) == Some(true);
        let from = 2 + MAGIC.len();
        let mut body = Body::new(&bytes[from..], from as u64, big, &file.name);
        let anchor_version = body.u8("the version of the anchor")?;
        for what in ["the version of the trace format", "the major version", "the minor", "the bug fix"] {
            body.u8(what)?;
        }
        let mut chunk = |what| {
            let at = body.clone();
            let bytes = body.fixed(8, what)?;
            let wrong = || at.error(format!("{what} is {bytes} bytes; possible: {CHUNKS:?}"));
            if CHUNKS.contains(&bytes) { Ok(bytes) } else { Err(wrong()) }
        };
        let event_chunk = chunk("a chunk of events")?;
        let definition_chunk = chunk("a chunk of definitions")?;
        let at = body.clone();
        match body.u8("the substrate")? {
            POSIX => {}
            other => {
                let reason = format!(
                    "its parts lie in substrate {other} (2: SIONlib); known: {POSIX}, one file for each \
                     location; otf2-convert of OTF2's tools makes one"
                );
                return Err(at.error(reason));
            }
        }
        let at = body.clone();
        let compression = body.u8("the compression")?;
        if compression != UNCOMPRESSED {
            let reason = format!("compression {compression}; known: {UNCOMPRESSED}, none");
            return Err(at.error(reason));
        }
        body.fixed(8, "the number of locations")?;
        body.fixed(8, "the number of definitions")?;
        for what in ["the machine", "the creator", "the description"] {
            body.text(what)?;
        }
        let mut incomplete = false;
        // Version 1 has no properties.
        let properties = if anchor_version > 1 { body.fixed(4, "the number of properties")? } else { 0 };
        for _ in 0..properties {
            let (name, value) = (body.text("a property")?, body.text("a property's value")?);
            incomplete |= name == COMPLETE && value == "false";
        }
        Ok(Anchor { event_chunk, definition_chunk, incomplete })
    }
}

/// A place where events are recorded: a thread, or a stream of an accelerator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Location {
    /// True for a thread of a processor.
    pub is_thread: bool,
    /// Number of its events.
    pub events: u64,
    /// Process that it belongs to.
    pub process: u32,
}

/// Kind of the members of a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupKind {
    /// Locations, in the order of MPI's ranks.
    Ranks,
    /// Processes, in the order of MPI's ranks.
    RankProcesses,
    /// A subset of the ranks.
    Some,
    /// Each process alone (MPI_COMM_SELF).
    Alone,
}

/// A group of MPI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub kind: GroupKind,
    pub members: Vec<u64>,
    /// True if members are locations; false if they are numbers in the group of all ranks.
    pub by_location: bool,
}

/// Definitions that replay needs, unchanged from the archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Definitions {
    /// Ticks of the clock per second; 1 or more.
    pub resolution: u64,
    pub strings: BTreeMap<u32, String>,
    /// Name of each node of the system tree (machines, hosts), by number.
    pub nodes: BTreeMap<u32, u32>,
    /// Node that each process runs on.
    pub processes: BTreeMap<u32, u32>,
    pub locations: BTreeMap<u64, Location>,
    /// Name of each region.
    pub regions: BTreeMap<u32, u32>,
    pub groups: BTreeMap<u32, Group>,
    /// Name and group of each communicator.
    pub comms: BTreeMap<u32, (u32, u32)>,
}

impl Definitions {
    /// Reads all of `file`.
    pub(super) fn read(file: TraceFile, anchor: &Anchor) -> Result<Definitions, TraceError> {
        let mut definitions = Definitions::default();
        let mut stream = Stream::new(file, Holds::Definitions, anchor.definition_chunk, 64 << 10)?;
        while let Some(item) = stream.next()? {
            if let Item::Record(number) = item {
                definitions.take(number, stream.body())?;
            }
        }
        if definitions.resolution == 0 {
            let reason = "no definition of the clock's resolution (record 5)";
            return Err(TraceError::new(&**stream.file_name(), reason));
        }
        Ok(definitions)
    }

    fn take(&mut self, number: u8, mut body: Body<'_>) -> Result<(), TraceError> {
        match number {
            5 => {
                let at = body.clone();
                self.resolution = body.u64("the clock's resolution")?;
                if self.resolution == 0 {
                    return Err(at.error("the clock has 0 ticks in a second"));
                }
            }
            10 => drop(self.strings.insert(body.u32("a string's number")?, body.text("a string")?)),
            12 => drop(self.nodes.insert(body.u32("a node's number")?, body.u32("a node's name")?)),
            13 => {
                let process = body.u32("a process's number")?;
                body.u32("a process's name")?;
                body.u8("a process's type")?;
                self.processes.insert(process, body.u32("a process's node")?);
            }
            14 => {
                let number = body.u64("a location's number")?;
                body.u32("a location's name")?;
                let is_thread = body.u8("a location's type")? == 1;
                let events = body.u64("the number of events")?;
                let process = body.u32("a location's process")?;
                self.locations.insert(number, Location { is_thread, events, process });
            }
            15 => drop(self.regions.insert(body.u32("a region's number")?, body.u32("a region's name")?)),
            18 => self.take_group(body)?,
            22 => {
                let number = body.u32("a communicator's number")?;
                let name = body.u32("a communicator's name")?;
                self.comms.insert(number, (name, body.u32("a communicator's group")?));
            }
            _ => {}
        }
        Ok(())
    }

    fn take_group(&mut self, mut body: Body<'_>) -> Result<(), TraceError> {
        let number = body.u32("a group's number")?;
        body.u32("a group's name")?;
        let old = body.u8("a group's type")?;
        let at = body.clone();
        let count = body.u32("the size of a group")?;
        if !body.holds(count.into()) {
            return Err(at.error(format!("a group of {count} members does not fit its record")));
        }
        let members = (0..count).map(|_| body.u64("a member")).collect::<Result<Vec<_>, _>>()?;
        // Before version 1.2, only MPI had groups, and types had other numbers.
        let (kind, paradigm, flags) = if body.is_empty() {
            (
                if old == 6 {
                    4
                } else if (4..6).contains(&old) {
                    old + 1
                } else {
                    0
                },
                MPI,
                0,
            )
        } else {
            (body.u8("a group's type")?, body.u8("a group's paradigm")?, body.u32("a group's flags")?)
        };
        let kind = match kind {
            4 => GroupKind::Ranks,
            5 => GroupKind::Some,
            6 => GroupKind::Alone,
            7 => GroupKind::RankProcesses,
            _ => return Ok(()),
        };
        if paradigm == MPI {
            self.groups.insert(number, Group { kind, members, by_location: flags & 1 != 0 });
        }
        Ok(())
    }

    /// Text of string `number`; empty if there is none.
    pub(super) fn string(&self, number: u32) -> &str {
        self.strings.get(&number).map_or("", |text| text)
    }
}
