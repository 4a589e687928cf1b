//! Border of a part of the network: packets and credits that go to another part, and come from one.
//!
//! A packet crosses when it is granted a link that ends elsewhere, and has its effect when it is through
//! the pipeline there; a credit crosses when the packet that it is for is granted its next link, and has
//! its effect when its cable has brought it. Both lie at least [`Border::lookahead`] ahead.
//!
//! A packet needs no less than cable and pipeline for that. Credits may be sooner, as the pipeline has no part in theirs, but
//! come only of packets that have crossed before: so the smallest of those that still take room at the border says how far
//! ahead the next effect lies at least ([`Border::current_lookahead`]).

use std::collections::{BTreeMap, BTreeSet};

use engine::hash::Map;
use engine::{Bytes, Duration, Lane, Owner, Queue, Time};

use super::index::{ChannelIndex, MessageNumber, PartIndex};
use super::size::WireSize;
use super::switch::{Credit, Switch};
use super::waits::Resource;
use crate::Part;
use crate::message::{CROSSING_WORDS, Crossing};
use crate::model::in_flight::FREE_AT;
use crate::topology::{HostId, LinkId, Topology};

/// The parts that links lead to and come from, and what is about to leave.
#[derive(Debug)]
pub(super) struct Border {
    /// The part whose border this is.
    me: PartIndex,
    /// Parts of the start and of the end of each link. Empty where nothing is cut.
    parts: Vec<[u16; 2]>,
    crossings: Vec<Crossing>,
    /// Cable and pipeline of the links between parts, each pair once.
    links: Vec<[Duration; 2]>,
    /// Lookahead of the smallest packet that there may be.
    lookahead: Duration,
    /// True if buffers have a limit, so that credits cross.
    has_credits: bool,
    /// Number of the packets that take room at the ends of links from other parts, by their size.
    inside: BTreeMap<WireSize, u64>,
    /// Size of the smallest packet among the crossings that were taken last.
    taken: Option<WireSize>,
    /// Packets that have arrived of messages of several packets, by sender's host and message. Empty where
    /// nothing is cut.
    arrived: Map<(HostId, MessageNumber), u64>,
    /// Owner that stamps the crossings of this part.
    owner: Owner,
}

/// Something that has come from another part.
#[derive(Debug, Clone, Copy)]
pub(super) enum Import<'a> {
    /// Room in the buffer at the end of a channel.
    Credit(ChannelIndex, Credit),
    /// A packet, in words.
    Packet(&'a [u64; CROSSING_WORDS]),
}

const CREDIT: u64 = 2;
/// Word of a packet with its channel and its size.
pub(super) const SIZE: usize = 6;

/// The least time over `links` between parts, each with cable and pipeline, where every packet is on the wire for `transfer` or longer.
fn lookahead(links: &[[Duration; 2]], transfer: Duration) -> Duration {
    let ahead = links.iter().map(|[cable, pipeline]| *cable + (*pipeline).min(transfer));
    ahead.min().unwrap_or(Duration(u64::MAX))
}

/// Size of a packet in words.
pub(super) fn size_of(words: &[u64; CROSSING_WORDS]) -> WireSize {
    WireSize(words[SIZE] as u32)
}

impl Border {
    /// Border of `part` of a network with the links of `switch`, over which no packet goes that is shorter than `least`.
    pub fn new(part: &Part, topology: &dyn Topology, switch: &Switch, least: Bytes) -> Border {
        let cut = &part.cut;
        let count = if part.is_whole() { 0 } else { topology.links() };
        let parts_of = |id: u32| {
            let link = topology.link(LinkId(id));
            [cut.of_node(link.from) as u16, cut.of_node(link.to) as u16]
        };
        let parts: Vec<[u16; 2]> = (0..count).map(parts_of).collect();
        let crossed = (0..).map(LinkId).zip(&parts).filter(|(_, [start, end])| start != end);
        let ends = crossed.map(|(link, _)| [switch.kind(link).cable, switch.kind(link).pipeline]);
        let links: Vec<[Duration; 2]> = ends.collect::<BTreeSet<_>>().into_iter().collect();
        Border {
            me: PartIndex(part.me),
            parts,
            crossings: Vec::new(),
            lookahead: lookahead(&links, switch.least_transfer(WireSize(least.0 as u32))),
            links,
            has_credits: switch.has_credits(),
            inside: BTreeMap::new(),
            taken: None,
            arrived: Map::default(),
            owner: Owner::new(Lane::Network, topology.hosts()),
        }
    }

    /// The least time between an event here and what it makes happen in another part, whatever packets there are.
    pub fn lookahead(&self) -> Duration {
        self.lookahead
    }

    /// The same for the packets that may give credits back soon, over the links of `switch`: those that have crossed to here,
    /// and those that the crossings take to other parts which were taken last.
    pub fn current_lookahead(&self, switch: &Switch) -> Duration {
        let inside = self.inside.first_key_value().map(|(size, _)| *size);
        let least = inside.into_iter().chain(self.taken).min();
        lookahead(&self.links, least.map_or(Duration(u64::MAX), |least| switch.least_transfer(least)))
    }

    /// A packet of `size` has crossed to here.
    pub fn count_in(&mut self, size: WireSize) {
        if self.has_credits {
            *self.inside.entry(size).or_insert(0) += 1;
        }
    }

    /// A packet of `size` that had crossed to here takes no more room at the border.
    fn count_out(&mut self, size: WireSize) {
        let count = self.inside.get_mut(&size).expect("it has been counted");
        *count -= 1;
        if *count == 0 {
            self.inside.remove(&size);
        }
    }

    /// The part at the end of `link`, if it is another.
    #[inline]
    pub fn end(&self, link: LinkId) -> Option<PartIndex> {
        self.other(link, 1)
    }

    /// The part at the start of `link`, if it is another.
    #[inline]
    pub fn start(&self, link: LinkId) -> Option<PartIndex> {
        self.other(link, 0)
    }

    #[inline]
    fn other(&self, link: LinkId, end: usize) -> Option<PartIndex> {
        let part = PartIndex(self.parts.get(link.at())?[end].into());
        (part != self.me).then_some(part)
    }

    /// Sends a credit for `channel` home, of a packet that leaves the room.
    pub fn send_credit(
        &mut self,
        to: PartIndex,
        at: Time,
        channel: ChannelIndex,
        credit: Credit,
        queue: &mut Queue,
    ) {
        self.count_out(credit.size);
        let mut words = [0; CROSSING_WORDS];
        words[..3].copy_from_slice(&[channel.0.into(), credit.size.wide(), credit.held_by.0.into()]);
        words[FREE_AT] = CREDIT;
        self.send(to, at, words, queue);
    }

    /// Sends a packet, in `words`, to where it has its effect at `at`.
    pub fn send(&mut self, to: PartIndex, at: Time, words: [u64; CROSSING_WORDS], queue: &mut Queue) {
        self.crossings.push(Crossing { to: to.0, at, key: queue.stamp(self.owner), words });
    }

    /// Reads what another border has sent.
    pub fn open(crossing: &Crossing) -> Import<'_> {
        let words = &crossing.words;
        if words[FREE_AT] != CREDIT {
            return Import::Packet(words);
        }
        let credit = Credit { size: WireSize(words[1] as u32), held_by: Resource(words[2] as u16) };
        Import::Credit(ChannelIndex(words[0] as u32), credit)
    }

    /// Moves what has left since the last call to the end of `crossings`.
    pub fn take_crossings(&mut self, crossings: &mut Vec<Crossing>) {
        let sizes = self.crossings.iter().filter_map(|crossing| match Border::open(crossing) {
            Import::Credit(..) => None,
            Import::Packet(words) => Some(size_of(words)),
        });
        self.taken = sizes.min().filter(|_| self.has_credits);
        crossings.append(&mut self.crossings);
    }

    /// True if packets of one message may come from several parts.
    #[inline]
    pub fn is_open(&self) -> bool {
        !self.parts.is_empty()
    }

    /// One of `packets` packets of message `number` of host `from` has arrived: number of those that have not, wherever
    /// they are.
    pub fn count_arrival(&mut self, from: HostId, number: MessageNumber, packets: u64) -> u64 {
        let arrived = self.arrived.entry((from, number)).or_insert(0);
        *arrived += 1;
        let missing = packets - *arrived;
        if missing == 0 {
            self.arrived.remove(&(from, number));
        }
        missing
    }
}
