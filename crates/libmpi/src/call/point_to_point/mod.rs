//! Messages from one rank to another.
//!
//! A send packs its buffer at once, or lends it until it is complete (`data::parcel`); a receive unpacks when
//! it is complete in simulated time. Longer messages than a receive has room for are refused by it when
//! they have come, so that an error handler can let the program go on.

mod buffer;
mod partitioned;
mod probe;
mod receive;
mod send;
mod send_receive;
pub mod via;

pub use buffer::*;
pub use partitioned::*;
pub use probe::*;
pub use receive::*;
pub use send::*;
pub use send_receive::*;

use std::ffi::c_int;

use mpi::operation::{Peer, TagMatch};

use super::communicator::Communicator;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::{ANY_SOURCE, ANY_TAG, PROC_NULL};

/// To whom a message goes.
fn receiver(comm: &Communicator, to: c_int) -> Answer<Peer> {
    match to {
        PROC_NULL => Ok(Peer::Null),
        rank => Ok(Peer::Rank(comm.check_rank(rank, Class::RANK)?)),
    }
}

/// From whom one comes.
fn sender(comm: &Communicator, from: c_int) -> Answer<Peer> {
    match from {
        PROC_NULL => Ok(Peer::Null),
        ANY_SOURCE => Ok(Peer::Any),
        rank => Ok(Peer::Rank(comm.check_rank(rank, Class::RANK)?)),
    }
}

/// The tag of a message.
fn tag_of(tag: c_int) -> Answer<u32> {
    u32::try_from(tag).map_err(|_| Error::new(Class::TAG, format!("a tag of 0 or more, not {tag}")))
}

/// The tags that a receive accepts.
fn tags(tag: c_int) -> Answer<TagMatch> {
    match u32::try_from(tag) {
        Ok(tag) => Ok(TagMatch::Tag(tag)),
        Err(_) if tag == ANY_TAG => Ok(TagMatch::Any),
        Err(_) => Err(Error::new(Class::TAG, format!("a tag of 0 or more, or MPI_ANY_TAG, not {tag}"))),
    }
}
