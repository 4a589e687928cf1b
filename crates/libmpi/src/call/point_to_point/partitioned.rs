//! Partitioned communication: one message whose parts become ready one by one (MPI 5.0, chapter 4).
//!
//! Each partition of the sender is a message of its own in simulated time, sent when it is marked ready, eager or
//! by rendezvous like any other. It says which partition it is; the receiver, whose partitions may be cut
//! otherwise, posts one receive for each, and puts its own partitions into place when all of their bytes are there.

use std::ffi::c_int;
use std::sync::Arc;

use engine::Bytes;
use mpi::operation::{self, Op, Peer, SendMode, Start, TagMatch, Until};
use mpi::source;

use super::{receiver, tag_of};
use crate::abi::arguments::Numbers;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Comm, Datatype, Info, Request};
use crate::abi::pointers::{Address, OutPtr};
use crate::abi::status::Status;
use crate::call::communicator;
use crate::call::datatype::truth;
use crate::call::request::{self, Pending};
use crate::data::channel::{End, Route};
use crate::data::parcel::Place;
use crate::data::spread;
use crate::live::process::Process;
pub use crate::objects::message::Partitioned;
use crate::objects::message::Side;

impl Partitioned {
    /// True if all its partitions have been ready, or have come.
    pub fn is_complete(&self) -> bool {
        self.peer == Peer::Null || self.done.iter().all(|done| *done)
    }

    fn check(&self, partition: i64) -> Answer<usize> {
        match usize::try_from(partition) {
            Ok(partition) if partition < self.partitions => Ok(partition),
            _ => {
                let most = self.partitions - 1;
                Err(Error::new(Class::ARG, format!("a partition from 0 to {most}, not {partition}")))
            }
        }
    }

    /// Place of a partition.
    fn part(&self, partition: usize) -> Place {
        let distance = partition as isize * self.place.count as isize * self.place.layout.extent;
        Place { at: self.place.at.offset(distance), ..self.place.clone() }
    }

    /// A partition of the sender's has come.
    fn arrive(&mut self, contents: &[u8], sends: usize) {
        let (index, bytes) = contents.split_at(8);
        let index = u64::from_le_bytes(index.try_into().expect("eight bytes")) as usize;
        self.arrived.resize(sends, false);
        self.arrived[index] = true;
        let start = (index * bytes.len()).min(self.staged.len());
        let end = (start + bytes.len()).min(self.staged.len());
        self.staged[start..end].copy_from_slice(&bytes[..end - start]);
        let (own, theirs) = (self.staged.len() / self.partitions, bytes.len());
        for partition in 0..self.partitions {
            // There may be room for more than is sent.
            let (from, to) = (partition * own, ((partition + 1) * own).min(sends * theirs));
            let covered = if theirs == 0 || own == 0 {
                self.arrived.iter().all(|arrived| *arrived)
            } else {
                (from / theirs..to.div_ceil(theirs)).all(|index| self.arrived[index])
            };
            if covered && !self.done[partition] {
                self.done[partition] = true;
                let contents = self.staged.get(from..to).unwrap_or_default();
                self.part(partition).put(contents);
            }
        }
    }
}

macro_rules! inits {
    ($($(#[$doc:meta])* $name:ident $pointer:ty, $side:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(
            me: &Process, buffer: $pointer, partitions: c_int, count: i64, datatype: Datatype, peer: c_int,
            tag: c_int, comm: Comm, _info: Info, request: OutPtr<Request>,
        ) -> Answer {
            let place = (buffer, count, datatype);
            let kept = initialise(me, Side::$side, place, partitions, (peer, tag, comm))?;
            request.set(kept);
            Ok(())
        }
    )*};
}

inits! {
    /// MPI_Psend_init
    psend_init Address, Sends;
    /// MPI_Precv_init
    precv_init Address, Receives;
}

fn initialise(
    me: &Process,
    side: Side,
    (at, count, datatype): (Address, i64, Datatype),
    partitions: c_int,
    (peer, tag, comm): (c_int, c_int, Comm),
) -> Answer<Request> {
    let found = communicator::find(me, comm)?;
    let prepare = || -> Answer<Partitioned> {
        spread::refuse(me.shared.spread.as_ref(), "partitioned communication")?;
        let layout = me.layout(datatype)?;
        let bytes = layout.bytes(count)?;
        let (peer, tag) = (receiver(&found, peer)?, tag_of(tag)?);
        let partitions = u32::try_from(partitions)
            .ok()
            .filter(|partitions| *partitions > 0)
            .ok_or_else(|| Error::new(Class::ARG, format!("1 partition or more, not {partitions}")))?;
        let end = match side {
            Side::Sends => End::Sends(partitions, bytes * u64::from(partitions)),
            Side::Receives => End::Receives,
        };
        let channel = match peer {
            Peer::Rank(peer) => {
                let (from, to) = if side == Side::Sends { (found.rank, peer) } else { (peer, found.rank) };
                let route = Route { comm: found.id, first: found.first(), from, to, tag };
                me.shared.channels.borrow_mut().join(route, end)
            }
            _ => 0,
        };
        Ok(Partitioned {
            side,
            place: Place { at, count, layout },
            partitions: partitions as usize,
            bytes,
            peer,
            tag,
            comm: found.id.side(),
            via: found.via.get(),
            channel,
            done: Vec::new(),
            staged: Vec::new(),
            arrived: Vec::new(),
            posted: 0,
        })
    };
    let prepared = prepare().map_err(|error| error.of(comm))?;
    Ok(request::keep(me, Pending::partitioned(prepared)))
}

/// Runs `body` on the partitioned message of a request.
fn with<R>(me: &Process, request: Request, body: impl FnOnce(&mut Partitioned) -> Answer<R>) -> Answer<R> {
    match me.requests.borrow_mut().get_mut(request.0).and_then(Pending::as_partitioned) {
        Some(message) => body(message),
        None => Err(Error::new(Class::REQUEST, "not a request of a partitioned message")),
    }
}

/// A partitioned message is started: nothing is ready, or has come.
pub fn start_partitions(me: &Process, request: Request) {
    let receives = with(me, request, |message| {
        message.done = vec![false; message.partitions];
        message.arrived.clear();
        message.posted = 0;
        message.staged = Vec::new();
        if message.side == Side::Receives && message.peer != Peer::Null {
            let all = message.layout_bytes() * message.partitions;
            message.staged = vec![0; all];
            return Ok(true);
        }
        Ok(false)
    });
    if receives == Ok(true) {
        post(me, request);
    }
}

impl Partitioned {
    /// Length of one partition as it travels \[bytes\].
    fn layout_bytes(&self) -> usize {
        self.place.layout.packed() * self.place.count as usize
    }
}

/// Posts a receive for each of the sender's partitions, or one until it is known how many there are.
fn post(me: &Process, request: Request) {
    let more = with(me, request, |message| {
        let sends = me.shared.channels.borrow().partitions(message.channel);
        let all = sends.map_or(1, |(partitions, _)| partitions as usize);
        let more = all - message.posted.min(all);
        message.posted += more;
        let receive = operation::Receive {
            from: message.peer,
            tag: TagMatch::Tag(message.channel),
            comm: message.comm,
            capacity: Bytes(u64::MAX),
        };
        Ok((more, receive))
    });
    let Ok((more, receive)) = more else { return };
    for _ in 0..more {
        let part = Pending::collective(Box::new(|_| Ok(())));
        request::begin_part(me, request, part, |part| Op::Receive(receive, Start::Request(part)));
    }
}

/// A part of a request is complete: of a partitioned receive, a partition has come.
pub fn advance(me: &Process, request: Request, told: &source::Status) {
    let arrived = with(me, request, |message| {
        if message.side == Side::Sends {
            return Ok(None);
        }
        let contents = me.shared.parcels.borrow_mut().open(told.data);
        let sends = me.shared.channels.borrow().partitions(message.channel);
        let (sends, bytes) = sends.expect("the sender is there: its message has come");
        message.arrive(&contents, sends as usize);
        Ok(Some(Status::of(&source::Status { tag: message.tag, bytes, data: 0, ..*told })))
    });
    if let Ok(Some(status)) = arrived {
        request::tell(me, request, status);
        post(me, request);
    }
}

/// MPI_Pready
pub fn pready(me: &Process, partition: c_int, request: Request) -> Answer {
    ready(me, partition.into(), request)
}

/// MPI_Pready_range
pub fn pready_range(me: &Process, low: c_int, high: c_int, request: Request) -> Answer {
    (low..=high).try_for_each(|partition| ready(me, partition.into(), request))
}

/// MPI_Pready_list
pub fn pready_list(me: &Process, length: c_int, list: Numbers, request: Request) -> Answer {
    for index in 0..usize::try_from(length).unwrap_or(0) {
        ready(me, list.get(index), request)?;
    }
    Ok(())
}

fn ready(me: &Process, partition: i64, request: Request) -> Answer {
    let send = with(me, request, |message| {
        let index = message.check(partition)?;
        if message.side == Side::Receives {
            return Err(Error::new(Class::REQUEST, "a partitioned receive has no partition that is ready"));
        }
        if message.done.get(index) != Some(&false) {
            let reason = format!("partition {partition} is ready already, or the request is not started");
            return Err(Error::new(Class::REQUEST, reason));
        }
        message.done[index] = true;
        let place = message.part(index);
        let mut contents = (index as u64).to_le_bytes().to_vec();
        // SAFETY: as the contract of `call` says.
        unsafe { place.layout.append(place.at.pointer(), place.count, &mut contents) };
        let data = match message.peer {
            Peer::Null => 0,
            _ => me.shared.parcels.borrow_mut().keep(contents.into()),
        };
        Ok(operation::Send {
            to: message.peer,
            tag: message.channel,
            comm: message.comm,
            bytes: Bytes(message.bytes),
            mode: SendMode::Standard,
            via: message.via,
            data,
        })
    })?;
    request::begin_part(me, request, Pending::send(0), |part| Op::Send(send, Start::Request(part)));
    Ok(())
}

/// MPI_Parrived
pub fn parrived(me: &Process, request: Request, partition: c_int, flag: OutPtr<c_int>) -> Answer {
    let index = with(me, request, |message| message.check(partition.into()))?;
    let parts: Arc<[operation::Request]> = request::parts(me, request).into();
    if !parts.is_empty() {
        let done = me.perform(Op::Test(parts.clone(), Until::Some), |done| done.done.clone());
        for (place, told) in done {
            request::part_completed(me, request, parts[place as usize], &told);
        }
    }
    let active = me.requests.borrow().get(request.0).is_some_and(Pending::is_active);
    let there = with(me, request, |message| {
        Ok(!active || message.peer == Peer::Null || message.done.get(index) == Some(&true))
    })?;
    flag.set(truth(there));
    Ok(())
}
