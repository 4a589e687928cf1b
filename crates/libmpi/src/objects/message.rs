//! Messages between two ranks, as their ends have them: arguments of sends and receives, partitions, buffers.

use std::ffi::{c_int, c_void};

use mpi::operation::{CommId, Peer, Via};

use crate::abi::handle::{Comm, Datatype};
use crate::abi::pointers::Address;
use crate::data::datatype::Layout;
use crate::data::parcel::Place;

/// The arguments of a send, as C has them.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing {
    /// From where.
    pub buffer: Address,
    /// Number of them.
    pub count: i64,
    /// Kind of each.
    pub datatype: Datatype,
    /// To whom.
    pub to: c_int,
    /// With which tag.
    pub tag: c_int,
    /// On which communicator.
    pub comm: Comm,
    /// Its own way between hosts; that of the communicator if it has none.
    pub via: Option<Via>,
}

/// The arguments of a receive, as C has them.
#[derive(Debug, Clone, Copy)]
pub struct Incoming {
    /// Address to write to.
    pub buffer: Address,
    /// Largest number of them.
    pub count: i64,
    /// Kind of each.
    pub datatype: Datatype,
    /// From whom.
    pub from: c_int,
    /// With which tag.
    pub tag: c_int,
    /// On which communicator.
    pub comm: Comm,
}

/// The receive in whose call a rank stands, for messages that land before they have come.
pub type Standing = (Incoming, Layout);

/// A message that a probe has taken: the simulator's number of it.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    pub(crate) number: u64,
    pub(crate) comm: Comm,
}

/// A partitioned message at one of its ends.
#[derive(Debug, Clone)]
pub struct Partitioned {
    pub(crate) side: Side,
    /// The buffer; its count is that of a partition.
    pub(crate) place: Place,
    pub(crate) partitions: usize,
    /// Length of one partition \[bytes\].
    pub(crate) bytes: u64,
    pub(crate) peer: Peer,
    pub(crate) tag: u32,
    pub(crate) comm: CommId,
    pub(crate) via: Via,
    pub(crate) channel: u32,
    /// True for the partitions of this round that are ready at the sender, or have come at the receiver.
    pub(crate) done: Vec<bool>,
    /// Bytes of all partitions of this round, at the receiver.
    pub(crate) staged: Vec<u8>,
    pub(crate) arrived: Vec<bool>,
    pub(crate) posted: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Sends,
    Receives,
}

/// Owner of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Process,
    Comm(usize),
    Session(usize),
}

/// A buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attached {
    pub(crate) owner: Owner,
    pub(crate) at: *mut c_void,
    pub(crate) size: u64,
    pub(crate) used: u64,
}

/// The buffers of a rank.
#[derive(Debug, Default)]
pub struct Buffers(pub(crate) Vec<Attached>);
