//! Times of accesses to files, and collective accesses that ranks do together.
//!
//! The model of the file system is `mpi`'s (`mpi::file_system`); here is what MPI's library asks of it.
//!
//! A collective access takes two phases where the parts of different ranks interleave in the file: the range of the
//! file is cut at stripes into as many equal parts as there are **aggregators**, one rank of each host. Each rank sends
//! an aggregator what is its to write, and that writes all of it in one access; reading goes the other way. Where the
//! ranks' parts come one after the other, each rank has its own access. In the end all wait for each other.
//!
//! Assumptions: one round, whatever the size of the aggregators' buffers; holes are left out, not read and written
//! again. Non-blocking and split collective accesses have no first phase.
//!
//! Source: Thakur, Gropp, Lusk, "Data Sieving and Collective I/O in ROMIO" (Frontiers 1999), section 4, and ROMIO's
//! defaults: collective buffering where accesses interleave, one aggregator for each host.

use std::sync::Arc;

use engine::Bytes;
use mpi::Op;
use mpi::file_system::{Access, Striping, Work};
use mpi::operation::{Peer, Receive, Request, Send, SendMode, Start, TagMatch, Via};

use super::{OpenFile, meet, together};
use crate::abi::error::Answer;
use crate::call::communicator::{self, Communicator};
use crate::call::info::Pairs;
use crate::call::request;
use crate::data::aggregation::{Choice, Part, Plan};
use crate::data::meeting::Open;
use crate::live::process::Process;

/// Direction of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the file.
    Read,
    /// To it.
    Write,
}

/// Waits for the file system.
pub fn wait_for(me: &Process, name: &'static str, work: Work) {
    me.perform(Op::File(Arc::new(Access { name, work }), Start::Blocking), |_| ());
}

/// An operation of the metadata server.
pub fn metadata(me: &Process, name: &'static str) {
    wait_for(me, name, Work::Metadata);
}

/// The hints that say how a file is striped.
pub fn striping(me: &Process, hints: &Pairs) -> Option<Striping> {
    let number = |key: &[u8]| -> Option<u64> {
        let text = std::str::from_utf8(hints.get(key)?).ok()?;
        text.trim().parse().ok().filter(|number| *number > 0)
    };
    let (count, size) = (number(b"striping_factor"), number(b"striping_unit"));
    if count.is_none() && size.is_none() {
        return None;
    }
    let default = me.shared.file_system.striping;
    Some(Striping {
        size: size.map_or(default.size, Bytes),
        count: count.map_or(default.count, |count| u32::try_from(count).unwrap_or(u32::MAX)),
    })
}

/// Choices for collective accesses, by the hints of MPI and of ROMIO.
pub fn choice(hints: &Pairs) -> [Choice; 2] {
    let general = hints.get(b"collective_buffering").and_then(|value| match value {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    });
    let most = hints.get(b"cb_nodes").and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
    [&b"romio_cb_read"[..], &b"romio_cb_write"[..]].map(|key| {
        let together = match hints.get(key) {
            Some(b"enable") => Some(true),
            Some(b"disable") => Some(false),
            Some(_) => None,
            None => general,
        };
        Choice { together, most: most.filter(|most| *most > 0) }
    })
}

/// A collective access to these parts of a file, which ends for all ranks together.
pub fn collective(
    me: &Process,
    file: &OpenFile,
    name: &'static str,
    direction: Direction,
    parts: Arc<[Part]>,
) -> Answer {
    if me.shared.file_system.is_free() {
        wait_for(me, name, Work::Transfer(file.opened.place, parts));
        return together(me, file);
    }
    let comm = communicator::find(me, file.comm)?;
    let given: Vec<u8> =
        parts.iter().flat_map(|(begin, bytes)| [*begin, bytes.0]).flat_map(u64::to_le_bytes).collect();
    let plan = meet(me, &comm, given.into(), |open| plan(me, file, &comm, direction, open))?;
    let own = comm.rank;
    let parts = if plan.is_together() { plan.domain(own) } else { parts };
    let (out, into) = plan.messages(own);
    match direction {
        Direction::Write => {
            exchange(me, &comm, &out, &into);
            wait_for(me, name, Work::Transfer(file.opened.place, parts));
        }
        Direction::Read => {
            wait_for(me, name, Work::Transfer(file.opened.place, parts));
            exchange(me, &comm, &into, &out);
        }
    }
    together(me, file)
}

fn plan(me: &Process, file: &OpenFile, comm: &Communicator, direction: Direction, open: &Open) -> Plan {
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let read = |place: u32| -> Vec<Part> {
        let pairs = open.block(place as usize, 0).chunks_exact(16);
        pairs.map(|pair| (number(&pair[..8]), Bytes(number(&pair[8..])))).collect()
    };
    let members: Vec<Vec<Part>> = (0..comm.size).map(read).collect();
    let hosts = (0..comm.size)
        .map(|rank| me.shared.host_of_rank[comm.peer(me.rank, rank).expect("a member") as usize]);
    let stripe = file.opened.place.striping.unwrap_or(me.shared.file_system.striping).size;
    Plan::new(&members, &hosts.collect::<Vec<_>>(), stripe, file.choice[direction as usize])
}

/// Messages to and from other ranks, with their lengths; the data itself has been moved.
fn exchange(me: &Process, comm: &Communicator, out: &[(u32, Bytes)], into: &[(u32, Bytes)]) {
    let mut requests: Vec<Request> = Vec::with_capacity(out.len() + into.len());
    for (from, bytes) in into {
        let receive =
            Receive { from: Peer::Rank(*from), tag: TagMatch::Tag(0), comm: comm.id, capacity: *bytes };
        requests.push(request::begin_hidden(me, |start| Op::Receive(receive, start)));
    }
    for (to, bytes) in out {
        let (to, comm, mode) = (Peer::Rank(*to), comm.id, SendMode::Standard);
        let send = Send { to, tag: 0, comm, bytes: *bytes, mode, via: Via::PLATFORM, data: 0 };
        requests.push(request::begin_hidden(me, |start| Op::Send(send, start)));
    }
    request::end_hidden(me, requests);
}
