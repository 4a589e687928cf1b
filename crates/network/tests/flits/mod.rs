//! A network simulator that moves every flit by itself: the reference for the packet model.
//!
//! It is written to be read, not to be fast: at every instant at which something can happen, every link,
//! buffer and credit is looked at. What a packet does as a whole follows from its flits; nothing here
//! knows when a tail will have left before it has.
//!
//! - A **channel** is a directed link with a virtual channel. It has a buffer where it ends, and credits,
//!   counted in flits, where it starts.
//! - A flit is forwarded as a stream of bytes: its first byte may leave a router one pipeline after it has
//!   come, and its last byte neither before it has been sent at the link's bandwidth, nor sooner than one
//!   pipeline after it has come itself. So a flit from a slow link takes its time on a fast one, too.
//! - The head of a packet asks for its next channel when it has come and passed the pipeline (the tail, if
//!   packets are stored before they are forwarded) and is the first of its buffer.
//! - At the end of an instant each idle output looks, in order of link number, at who asks for it, has an
//!   idle crossbar line (one for each input link), and finds credits for a whole packet. It takes one:
//!   the next in turn, or the oldest. Packets never interleave on a link.
//! - A packet goes over the crossbar, flit by flit, at the rate of the faster of its two links, into the store of its output,
//!   which sends it on: a flit as soon as its first byte is there.
//! - Or the crossbar has a rate of its own. Where outputs have buffers, a packet crosses when both crossbar lines are idle, of
//!   its input and of its output, and the output's buffer of its channel has room for all of it; an idle link then takes the
//!   first packet of one of its channels for which there are credits: the next in turn, or the oldest.
//! - A packet's tail frees line and buffer when it has crossed, and the output when it has left; credits travel back over
//!   the cable.
//! - Processes of a host ask for its up link like inputs without pipeline or line. A host takes in what
//!   comes at once.
//! - Where a host has several links up and down, routes name the first of them, and each packet takes one: the one that it
//!   asks for lets the idle ones choose in turn, each of which grants one packet for which it has room, and begins behind the
//!   one that granted last. The crossbar has an output for each.
//! - The latency of a link to a router is its cable and the pipeline behind it: of a link that is shorter
//!   than the pipeline there is no cable, and the pipeline as long as the link.
//!
//! Source: "Virtual cut-through" as NSIM (section 3.1) describes it by flits; Dally and Towles,
//! "Principles and Practices of Interconnection Networks" (2004), chapters 13, 16 and 19.

pub mod platforms;
mod state;

use std::collections::BTreeMap;

use engine::Time;
use network::model::PacketOptions;
use network::routing::{Trip, Unloaded};
use network::{Endpoint, Fabric, LinkId, Message, Topology};

/// A directed link and a virtual channel on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel {
    pub link: LinkId,
    pub number: u8,
}

/// Place where packets wait: the buffer at the end of a channel, or the memory of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Input {
    Channel(Channel),
    Process(Endpoint),
    /// Rest of a packet that its process has begun to send, by its number among all.
    Leaving(usize),
}

/// A packet to be sent.
#[derive(Debug, Clone)]
pub struct Packet {
    /// The index of its message.
    pub message: usize,
    /// Within its message.
    pub number: u32,
    pub from: Endpoint,
    pub injected: Time,
    /// Number of packets of its message.
    pub packets: u32,
    /// Its length: at least a head.
    pub flits: u64,
    pub route: Vec<Channel>,
}

/// A packet's way over one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// Time at which its head begins to leave.
    pub begin: Time,
    pub channel: Channel,
    pub message: usize,
    /// Number of the packet within the message.
    pub number: u32,
    /// Time at which its tail has left.
    pub end: Time,
}

/// Event.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// By time, then channel.
    pub hops: Vec<Hop>,
    /// Times at which each message was complete at its receiver.
    pub delivered: Vec<Option<Time>>,
    /// Inputs that still wait when nothing can happen any more, and the channel that each waits for.
    pub waiting: BTreeMap<Input, Channel>,
}

impl Outcome {
    /// Channels of which each waits for the next and the last for the first; the lowest comes first.
    pub fn cycle(&self) -> Option<Vec<Channel>> {
        let after = |channel: Channel| self.waiting.get(&Input::Channel(channel)).copied();
        let around = |start: Channel| -> Option<Vec<Channel>> {
            let mut way = vec![start];
            loop {
                let next = after(way[way.len() - 1])?;
                if next == start {
                    return Some(way);
                }
                if way.contains(&next) {
                    return None;
                }
                way.push(next);
            }
        };
        self.waiting.values().filter_map(|channel| around(*channel)).min()
    }
}

/// Links among which a packet that asks for `first` may choose: those of a host, or that one alone.
pub fn beside(topology: &dyn Topology, first: LinkId) -> Vec<LinkId> {
    let link = topology.link(first);
    let count = if link.is_between_routers() { 1 } else { topology.nic_links() };
    (0..count).map(|number| topology.nic_link(first, number)).collect()
}

/// Cuts `messages` into packets, those that are injected first before the others.
pub fn cut(fabric: &Fabric, options: &PacketOptions, messages: &[(Time, Message)]) -> Vec<Packet> {
    let mut order: Vec<usize> = (0..messages.len()).collect();
    order.sort_by_key(|message| messages[*message].0);
    let mut packets = Vec::new();
    for message in order {
        let (injected, Message { from, to, size, .. }) = messages[message];
        let (mut links, mut channels) = (Vec::new(), Vec::new());
        fabric.route(Trip::new(from.host, to.host, 0), &Unloaded, &mut links);
        fabric.routing.channels(&*fabric.topology, &links, &mut channels);
        let route: Vec<Channel> =
            links.into_iter().zip(channels).map(|(link, number)| Channel { link, number }).collect();
        let count = size.0.div_ceil(options.payload.0).max(1);
        for number in 0..count {
            let payload = (size.0 - number * options.payload.0).min(options.payload.0);
            packets.push(Packet {
                message,
                number: number as u32,
                from,
                injected,
                packets: count as u32,
                flits: (payload + options.header.0).div_ceil(options.flit.0).max(1),
                route: route.clone(),
            });
        }
    }
    packets
}

/// Sends `messages` through the network, flit by flit.
pub fn simulate(fabric: &Fabric, options: &PacketOptions, messages: &[(Time, Message)]) -> Outcome {
    send(fabric, options, &cut(fabric, options, messages), messages.len())
}

/// Sends the packets of `messages` messages through the network, flit by flit.
pub fn send(fabric: &Fabric, options: &PacketOptions, packets: &[Packet], messages: usize) -> Outcome {
    state::Network::new(&*fabric.topology, options, packets).run(messages)
}
