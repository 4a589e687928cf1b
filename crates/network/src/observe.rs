//! Records of networks: what happens in them, and what they have done, for observers.
//!
//! Every model reports what it has done when it is asked ([`crate::Network::report`]). Those that move packets tell of each as it
//! goes ([`PacketEvents`]), to the one observer that they are given: without one nothing is recorded.

use std::any::Any;

use engine::{Bytes, Observer, Time};
use serde::{Deserialize, Serialize};

use crate::faults::CutOff;
use crate::ids::LinkId;
use crate::message::{Arrival, Cargo, LinkUse, Losses, Message};

/// Record of a network.
#[derive(Debug, Clone, Copy)]
pub enum NetworkRecord<'a> {
    /// Use of a link since the start, in a report.
    LinkUse(&'a LinkUse),
    /// Counts since the start, in a report.
    Totals(&'a Totals),
    /// Hosts that cannot reach each other, for each message that waits for that, in a report.
    CutOff(&'a CutOff),
    /// A message has been sent, or delivered.
    Arrival(&'a Arrival),
    /// A packet has come to a buffer, and may ask for its next link.
    Buffered {
        /// Channel that it has come by.
        channel: LinkChannel,
        /// Bytes on the wire.
        size: Bytes,
    },
    /// A packet crosses to the output buffer of its next link, where routers have such buffers.
    Crossed {
        /// Channel that it has come by, whose buffer it leaves.
        from: LinkChannel,
        /// Channel that it takes next.
        to: LinkChannel,
        /// Bytes on the wire.
        size: Bytes,
        /// Time at which all of it has crossed.
        until: Time,
    },
    /// A packet has been granted a link.
    Hop(&'a PacketHop<'a>),
    /// A link is idle, has requests and grants none, for lack of credit in this channel: until its next grant, whatever it
    /// finds when it looks in between. It may look more often where the network is cut.
    Stalled(LinkChannel),
    /// A packet is dropped from a buffer.
    Dropped {
        /// Channel of the buffer.
        channel: LinkChannel,
        /// Buffer of that channel.
        buffer: Buffer,
        /// Bytes on the wire.
        size: Bytes,
        /// Time at which its room in the buffer is free.
        until: Time,
    },
}

/// Buffer of a virtual channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// At the end of the link: the router's input.
    Input,
    /// At the start of the link: the router's output.
    Output,
}

/// Virtual channel of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkChannel {
    /// The link.
    pub link: LinkId,
    /// Number of the channel on it.
    pub number: u8,
}

/// Packet that has been granted a link.
#[derive(Debug, Clone, Copy)]
pub struct PacketHop<'a> {
    /// Message of the packet.
    pub message: &'a Message,
    /// Number of the packet within the message.
    pub number: u32,
    /// Bytes on the wire.
    pub size: Bytes,
    /// Payload among them.
    pub payload: Bytes,
    /// Channel that it has come by; none if it leaves its host.
    pub from: Option<LinkChannel>,
    /// Channel that it takes.
    pub to: LinkChannel,
    /// Buffer that it leaves: the input buffer of `from`, or the output buffer of `to`.
    pub leaves: Buffer,
    /// Time at which its head came to the router; at its host, as `ready`.
    pub arrived: Time,
    /// Time since which it could ask for the link.
    pub ready: Time,
    /// Time at which its head begins to leave.
    pub begin: Time,
    /// Time at which its tail has left.
    pub end: Time,
}

/// Counts of a network since the start.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Packets forwarded over links; zero for models without packets.
    pub packet_hops: u64,
    /// Packets that were lost and sent again.
    pub losses: Losses,
}

impl Observer<NetworkRecord<'_>> for Totals {
    fn record(&mut self, _now: Time, record: &NetworkRecord) {
        if let NetworkRecord::Totals(totals) = record {
            *self = **totals;
        }
    }
}

/// Observer of the packets of a network.
pub trait NetworkObserver: for<'a> Observer<NetworkRecord<'a>> + Any + Send {
    /// Asks for the memory that it will need when a packet that comes by channel `from` goes on by `to`.
    fn prefetch(&self, from: LinkChannel, to: LinkChannel) {
        let _ = (from, to);
    }
}

/// Network that tells of each packet.
pub trait PacketEvents {
    /// Tells `observer` of each packet from now on, which is before the first message.
    fn observe(&mut self, observer: Box<dyn NetworkObserver>);

    /// Gives the observer back.
    fn take_observer(&mut self) -> Option<Box<dyn NetworkObserver>>;
}

/// The observer of kind `O` that has observed `network`.
///
/// # Panics
/// If the network was not given one of this kind.
pub fn taken<O: NetworkObserver>(network: &mut dyn PacketEvents) -> Box<O> {
    downcast(network.take_observer().expect("the network was given an observer"))
}

/// `observer`, which is of kind `O`.
///
/// # Panics
/// If it is not.
pub fn downcast<O: NetworkObserver>(observer: Box<dyn NetworkObserver>) -> Box<O> {
    let observer: Box<dyn Any> = observer;
    observer.downcast().expect("the observer is of the kind that was given")
}

/// One packet on one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// Message of the packet.
    pub message: Cargo,
    /// Number of the packet within the message.
    pub number: u32,
    /// The link.
    pub link: LinkId,
    /// The virtual channel.
    pub channel: u8,
    /// Time at which the packet's head began to leave.
    pub begin: Time,
    /// Time at which the packet's tail had left.
    pub end: Time,
}

/// Every hop of every packet, for tests and for looking closely.
#[derive(Debug, Default)]
pub struct Hops(pub Vec<Hop>);

impl Observer<NetworkRecord<'_>> for Hops {
    fn record(&mut self, _now: Time, record: &NetworkRecord) {
        if let NetworkRecord::Hop(hop) = record {
            self.0.push(Hop {
                message: hop.message.cargo,
                number: hop.number,
                link: hop.to.link,
                channel: hop.to.number,
                begin: hop.begin,
                end: hop.end,
            });
        }
    }
}

impl NetworkObserver for Hops {}
