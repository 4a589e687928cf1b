//! The binary form, little-endian:
//!
//! ```text
//! 4223 (8 bytes)   ranks (4), highest processor (1), highest NIC (1)
//! per rank         begin, end (8 each), counted from byte 8
//! at its begin     nodes (4), nodes without dependencies (4), their numbers (4 each)
//!   per node       dependencies (4), kind (1), peer (4), size (8), tag (4), processor (1), NIC (1),
//!                  how many nodes wait for its end (4) and where in the list below (4), and for its begin (4, 4)
//!   then           the list: numbers of nodes (4 each)
//! ```

use super::schedule::{Message, Schedule, Uses};
use crate::trace::error::TraceError;
use crate::trace::graph::{After, Graph};
use crate::trace::input::TraceFile;

/// Magic of a schedule, and of a file that a simulation has already consumed.
pub const MAGIC: u64 = 4223;
pub const USED_UP: u64 = 2342;
/// Sizes of the header before the table of ranks, and of a node \[bytes\].
const HEAD: u64 = 14;
const NODE: usize = 39;

/// A part of the file in memory.
struct Block<'a> {
    file: &'a TraceFile,
    from: u64,
    bytes: Vec<u8>,
}

impl Block<'_> {
    fn read(file: &TraceFile, from: u64, length: u64) -> Result<Block<'_>, TraceError> {
        if from.checked_add(length).is_none_or(|end| end > file.bytes.size()) {
            let reason =
                format!("needs {length} bytes here, but the file has {}: it is cut off", file.bytes.size());
            return Err(TraceError::at(&*file.name, from, reason));
        }
        Ok(Block { file, from, bytes: file.peek(from, length as usize)? })
    }

    fn take<const N: usize>(&self, at: usize) -> Result<[u8; N], TraceError> {
        let bytes = self.bytes.get(at..).and_then(|rest| rest.first_chunk());
        bytes.copied().ok_or_else(|| self.error(at, "the schedule of the rank ends here, within a number"))
    }
    fn u8(&self, at: usize) -> Result<u8, TraceError> {
        Ok(self.take::<1>(at)?[0])
    }
    fn u32(&self, at: usize) -> Result<u32, TraceError> {
        Ok(u32::from_le_bytes(self.take(at)?))
    }
    fn u64(&self, at: usize) -> Result<u64, TraceError> {
        Ok(u64::from_le_bytes(self.take(at)?))
    }
    fn error(&self, at: usize, reason: impl Into<String>) -> TraceError {
        TraceError::at(&*self.file.name, self.from + at as u64, reason)
    }
}

/// Number of ranks of the file, which must be large enough for their table.
pub fn ranks(file: &TraceFile) -> Result<u32, TraceError> {
    let head = Block::read(file, 0, HEAD)?;
    if head.u64(0)? == USED_UP {
        return Err(
            head.error(0, "this schedule was used up by a simulation (LogGOPSim --save-mem); make it anew")
        );
    }
    let ranks = head.u32(8)?;
    if ranks == 0 || u64::from(ranks) * 16 > file.bytes.size() - HEAD {
        return Err(head.error(8, format!("a table of {ranks} ranks does not fit into the file")));
    }
    Ok(ranks)
}

/// Reads the graph of `rank`, one of `ranks`.
pub fn read(file: &TraceFile, rank: u32, ranks: u32) -> Result<(Graph, Uses), TraceError> {
    let entry = Block::read(file, HEAD + 16 * u64::from(rank), 16)?;
    let (from, to) = (entry.u64(0)?, entry.u64(8)?);
    let length = to.checked_sub(from).filter(|_| to <= file.bytes.size());
    let Some(length) = length else {
        return Err(
            entry.error(0, format!("the place of rank {rank}, from {from} to {to}, is not in the file"))
        );
    };
    let block = Block::read(file, from + 8, length)?;
    let (nodes, roots) = (block.u32(0)?, block.u32(4)?);
    let first = 8 + 4 * u64::from(roots);
    let list = first + NODE as u64 * u64::from(nodes);
    if list > length {
        return Err(
            block.error(0, format!("{nodes} nodes do not fit into the {length} bytes of rank {rank}"))
        );
    }
    let mut schedule = Schedule::new(ranks);
    for node in 0..nodes as usize {
        read_node(&block, first as usize + node * NODE, &mut schedule)?;
    }
    for node in 0..nodes {
        let at = first as usize + node as usize * NODE;
        for (count, after) in [(23, After::Finish), (31, After::Start)] {
            let (waiting, begin) = (block.u32(at + count)?, u64::from(block.u32(at + count + 4)?));
            // Each entry takes four bytes of the block, so a damaged count fails at the end of the block.
            for k in 0..u64::from(waiting) {
                let place = (list + 4 * (begin + k)) as usize;
                let later = block.u32(place)?;
                if later >= nodes {
                    return Err(block.error(place, format!("names node {later} of {nodes}")));
                }
                schedule.depend(later, node, after);
            }
        }
    }
    schedule.finish().map_err(|node| {
        let at = first as usize + node as usize * NODE;
        block.error(at, format!("node {node} waits for itself, by way of others"))
    })
}

fn read_node(block: &Block, at: usize, schedule: &mut Schedule) -> Result<(), TraceError> {
    let kind = block.u8(at + 4)?;
    let (peer, bytes, tag) = (block.u32(at + 5)?, block.u64(at + 9)?, block.u32(at + 17)?);
    let (processor, nic) = (block.u8(at + 21)?, block.u8(at + 22)?);
    schedule.uses(processor, nic);
    let message = Message { peer, bytes, tag };
    let added = match kind {
        1 => schedule.send(message),
        2 => schedule.receive(message),
        3 => schedule.compute(bytes, processor),
        _ => Err(format!("unknown kind {kind} of a node; known: 1 (send), 2 (recv), 3 (calc)")),
    };
    added.map_err(|reason| block.error(at, reason))
}
