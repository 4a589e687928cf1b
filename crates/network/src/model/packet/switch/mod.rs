//! Switches: links, the queues of virtual channels at their ends, credits at their starts, and the arbitration of what
//! asks for them. The start of a host's own link is one, too: the host's senders ask for it.
//!
//! A switch never looks into messages, but for their age. It says what is granted, and hears of it what comes over its
//! links.

mod allocation;
mod credits;
mod links;
mod looks;
mod marks;
mod nic_links;
mod output_buffers;
mod passage;
mod requests;
mod state;

use std::ops::Range;

use engine::{Bytes, Lane, Owner, Queue, Time};

use super::index::ChannelIndex;
use super::options::{Arbitration, PacketOptions};
use super::steps::{NOTHING, Step};
use crate::model::moved_links::MovedLinks;
use crate::model::pages::Pages;
use crate::topology::{LinkId, Topology};
use credits::Credits;
use links::{Port, Rate, VirtualChannel};
use looks::Looks;
use marks::Marks;
use nic_links::NicLinks;
use output_buffers::OutputBuffers;
use requests::Listed;

pub(super) use allocation::Allocation;
pub(super) use credits::Credit;
pub(super) use links::LinkKind;
pub(super) use output_buffers::{Departure, Origin};
pub(super) use passage::Passage;
pub(super) use requests::{Request, Source};

/// Number of virtual channels of each link, and their places: each link has a power of two of them, the last of which may be
/// nobody's, so that nothing is divided to find a channel's link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChannelCount {
    count: u32,
    /// Binary logarithm of the number of places of each link.
    shift: u32,
}

impl ChannelCount {
    /// `count` virtual channels for each link, at least one.
    pub fn new(count: u8) -> ChannelCount {
        ChannelCount { count: count.into(), shift: u32::from(count).next_power_of_two().trailing_zeros() }
    }

    /// Number of places for the virtual channels of `links` links.
    pub fn places(self, links: u32) -> usize {
        (links as usize) << self.shift
    }

    /// The link of a virtual channel.
    #[inline]
    pub fn link_of(self, channel: ChannelIndex) -> LinkId {
        LinkId(channel.0 >> self.shift)
    }

    /// Number of a virtual channel among those of its link.
    #[inline]
    pub fn number_of(self, channel: ChannelIndex) -> u8 {
        (channel.0 & ((1 << self.shift) - 1)) as u8
    }

    /// Virtual channel `number` of `link`.
    #[inline]
    pub fn channel(self, link: LinkId, number: u8) -> ChannelIndex {
        ChannelIndex((link.0 << self.shift) + u32::from(number))
    }

    /// The last virtual channel of `link`.
    pub fn last_of(self, link: LinkId) -> ChannelIndex {
        ChannelIndex((link.0 << self.shift) + self.count - 1)
    }

    /// The channel of `link` that has the number of `channel` on its own link.
    pub fn same_on(self, link: LinkId, channel: ChannelIndex) -> ChannelIndex {
        self.channel(link, self.number_of(channel))
    }

    /// The virtual channels of `link`, as indices.
    #[inline]
    pub fn range(self, link: LinkId) -> Range<usize> {
        let first = link.0 << self.shift;
        first as usize..(first + self.count) as usize
    }

    /// The virtual channels of `link`.
    #[inline]
    pub fn channels(self, link: LinkId) -> impl Iterator<Item = ChannelIndex> {
        self.range(link).map(|channel| ChannelIndex(channel as u32))
    }

    /// A bit for a virtual channel among those of its link.
    #[inline]
    fn bit(self, channel: ChannelIndex) -> u32 {
        1 << self.number_of(channel)
    }
}

/// Links, and what waits for them.
#[derive(Debug)]
pub(super) struct Switch {
    channel_count: ChannelCount,
    kinds: Vec<LinkKind>,
    /// Links of NICs, where each NIC has several in a direction.
    nic_links: Option<Box<NicLinks>>,
    ports: Vec<Port>,
    /// Links that send, or have sent since the last report of changes.
    moved: MovedLinks,
    /// Virtual channels, link by link.
    channels: Vec<VirtualChannel>,
    /// Requests of senders.
    requests: Pages<Listed>,
    credits: Credits,
    looks: Looks,
    /// Outputs that have something to decide at the end of this instant.
    marked: Vec<LinkId>,
    /// Congestion marks, where routers mark packets.
    marks: Option<Box<Marks>>,
    /// Output buffers, where routers have some.
    outputs: Option<Box<OutputBuffers>>,
    /// Rate of the crossbars; `None` is that of the faster of the two links.
    crossbar: Option<Rate>,
    arbitration: Arbitration,
    /// Room in the buffer of each channel; `None` is without limit.
    buffer: Option<Bytes>,
    /// True if packets get lost.
    is_lossy: bool,
    /// True if packets line up and ask as soon as they are sent, for when they can go on.
    asks_ahead: bool,
    /// Packets that have been sent.
    packet_hops: u64,
    /// Owner of all events here.
    owner: Owner,
}

impl Switch {
    /// The links of `topology`, each with as many virtual channels.
    pub fn new(topology: &dyn Topology, channels: u8, options: &PacketOptions, is_lossy: bool) -> Switch {
        let channel_count = ChannelCount::new(channels);
        let count = channel_count.places(topology.links());
        assert!(count < NOTHING as usize, "fewer than 2^30 virtual channels");
        assert!(u32::from(channels) <= u32::BITS, "at most 32 virtual channels for each link");
        let (kinds, ports) = links::all(topology, options);
        let outputs =
            options.output_buffer.map(|buffer| Box::new(OutputBuffers::new(ports.len(), count, buffer)));
        Switch {
            channel_count,
            kinds,
            nic_links: NicLinks::new(topology),
            moved: MovedLinks::new(ports.len()),
            ports,
            channels: vec![VirtualChannel::new(options.credit()); count],
            requests: Pages::new(Listed::SILENT),
            credits: Credits::default(),
            looks: Looks::new(),
            marked: Vec::new(),
            marks: None,
            outputs,
            crossbar: options.crossbar.map(Rate::new),
            arbitration: options.arbitration,
            buffer: options.buffer,
            is_lossy,
            asks_ahead: false,
            packet_hops: 0,
            owner: Owner::new(Lane::Network, topology.hosts()),
        }
    }

    /// Number of virtual channels of each link.
    #[inline]
    pub fn channel_count(&self) -> ChannelCount {
        self.channel_count
    }

    /// The link of a virtual channel.
    #[inline]
    pub fn link_of(&self, channel: ChannelIndex) -> LinkId {
        self.channel_count.link_of(channel)
    }

    /// Kind of `link`.
    #[inline]
    pub fn kind(&self, link: LinkId) -> &LinkKind {
        &self.kinds[usize::from(self.ports[link.at()].kind)]
    }

    /// Owner of what happens inside the network: none of that depends on its order within an instant.
    #[inline]
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// Packets line up at the end of a link when it sends them, and ask when they are first: nothing looks at them before
    /// they are ready.
    pub fn begin_asking_ahead(&mut self) {
        self.asks_ahead = true;
    }

    /// True if packets line up and ask as soon as they are sent.
    #[inline]
    pub fn asks_ahead(&self) -> bool {
        self.asks_ahead
    }

    /// True if buffers have a limit.
    #[inline]
    pub fn has_credits(&self) -> bool {
        self.buffer.is_some()
    }

    /// Notes that the output `link` has something to decide at the end of this instant.
    #[inline]
    pub fn mark(&mut self, link: LinkId) {
        let port = &mut self.ports[link.at()];
        if !port.marked {
            port.marked = true;
            self.marked.push(link);
        }
    }

    /// True if outputs have something to decide.
    #[inline]
    pub fn has_decisions(&self) -> bool {
        !self.marked.is_empty()
    }

    /// Takes the outputs that have something to decide, in ascending order; [`Switch::end_decisions`] takes the list back.
    #[inline]
    pub fn begin_decisions(&mut self) -> Vec<LinkId> {
        let mut marked = std::mem::take(&mut self.marked);
        marked.sort_unstable();
        marked
    }

    /// `link` decides now.
    #[inline]
    pub fn begin_decision(&mut self, link: LinkId) {
        self.ports[link.at()].marked = false;
    }

    /// All have decided.
    #[inline]
    pub fn end_decisions(&mut self, mut marked: Vec<LinkId>) {
        marked.clear();
        debug_assert!(self.marked.is_empty(), "a grant enables nothing at its own instant");
        self.marked = marked;
    }

    /// Lets the output `link` look again at `at`, unless it does so earlier.
    #[inline(always)]
    pub fn look_at(&mut self, link: LinkId, at: Time, queue: &mut Queue) {
        let link = self.first_link(link);
        let port = &mut self.ports[link.at()];
        if at < port.looks_at {
            port.looks_at = at;
            if self.looks.add(at, link) {
                queue.push(at, self.owner, Step::Idle { output: Some(link), line: None }.token());
            }
        }
    }
}
