//! Links and their virtual channels: what stands at the start of a link, and what at its end.

use engine::{Bandwidth, Bytes, Duration, Time};

use super::index::PacketIndex;
use super::options::PacketOptions;
use super::waits::Resource;
use super::{NONE, Packet};
use crate::topology::{LinkId, Node, Topology};

/// Properties that links of one kind have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    pub bandwidth: Bandwidth,
    /// The cable alone.
    pub cable: Duration,
    /// Pipeline of the router at the end; zero at a host.
    pub pipeline: Duration,
    /// Transfer time of one byte \[ps\], if that is a whole number.
    per_byte: Option<u64>,
    /// True if it leads to a host.
    pub down: bool,
    /// True if it comes from a host.
    pub up: bool,
    /// Resource that it belongs to.
    pub resource: Resource,
}

impl Kind {
    /// Time that a packet of `bytes` is on the wire.
    pub fn transfer(&self, bytes: u32) -> Duration {
        match self.per_byte {
            Some(per_byte) => Duration(per_byte * u64::from(bytes)),
            None => self.bandwidth.transfer(Bytes(u64::from(bytes))),
        }
    }

    /// The bytes that it sends in `time`.
    pub fn sends_in(&self, time: Duration) -> u64 {
        if self.bandwidth == Bandwidth::INFINITE {
            return 0;
        }
        (u128::from(self.bandwidth.0) * u128::from(time.0) / 1_000_000_000_000) as u64
    }
}

/// One directed link: its start (an output) and its end (an input).
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(super) struct Port {
    /// End of the transmission at its start.
    pub idle_at: Time,
    /// Time at which its start will look again; [`Time::NEVER`] if nothing is scheduled.
    pub looks_at: Time,
    /// Time at which the crossbar's line of its end is idle.
    pub line_idle_at: Time,
    /// The first of the requests for it, a list linked through [`Lane::next`].
    pub requests: u32,
    /// Requester that was granted last.
    pub granted: u32,
    pub kind: u16,
    /// True if its start is listed for this instant.
    pub marked: bool,
    /// True if its end will be told when its line is idle.
    pub line_told: bool,
    /// The channels, a bit each, for which a request waits until somebody sends credits.
    pub starving: u32,
    /// Packets that it has carried.
    pub packets: u64,
    /// Bytes that it has carried on the wire.
    pub bytes: u64,
    /// Time that it has been busy.
    pub busy: Duration,
}

/// A virtual channel of a link: credits at its start, a queue at its end.
#[derive(Debug, Clone)]
#[repr(C, align(16))]
pub(super) struct Lane {
    /// First packet at its end.
    pub front: PacketIndex,
    /// Last packet at its end.
    pub back: PacketIndex,
    /// The next request for the link that the first of them asks for; [`SILENT`] while it does not ask.
    pub next: u32,
    /// At its start: the last of the credits that come later than the first, a ring in
    /// [`super::credits::Credits`].
    pub latest: u32,
    /// At its start: bytes that may be sent.
    pub credit: u32,
    /// At its start: bytes of the credit that comes back first, none if zero.
    pub coming: u32,
    /// At its start: time at which that credit comes back.
    pub comes_at: Time,
    /// At its end: end of the transmission of the packet that left last.
    pub left_at: Time,
    /// At its end: resource that packets behind that one wait for, which it waited for, or its next link.
    pub held_by: Resource,
    /// At its start: resource that the packet waited for whose room came back last.
    pub credit_held_by: Resource,
    /// At its start: the same of the room that comes back first.
    pub coming_held_by: Resource,
    /// At its start: true if a packet has asked for the idle link and found no room, since the last that was sent.
    pub lacks: bool,
}

/// In place of the next request: there is none of this channel.
pub(super) const SILENT: u32 = NONE - 1;

impl Lane {
    pub fn new(credit: u32) -> Lane {
        Lane {
            front: PacketIndex::NONE,
            back: PacketIndex::NONE,
            next: SILENT,
            latest: NONE,
            credit,
            coming: 0,
            comes_at: Time::ZERO,
            left_at: Time::ZERO,
            held_by: Resource::NOTHING,
            credit_held_by: Resource::NOTHING,
            coming_held_by: Resource::NOTHING,
            lacks: false,
        }
    }

    /// True if its first packet asks for a channel.
    pub fn asks(&self) -> bool {
        self.next != SILENT
    }
}

/// The ports of all links, and their kinds.
pub(super) fn all(topology: &dyn Topology, options: &PacketOptions) -> (Vec<Kind>, Vec<Port>) {
    let mut kinds: Vec<Kind> = Vec::new();
    let ports = (0..topology.links()).map(|id| {
        let link = topology.link(LinkId(id));
        let down = matches!(link.to, Node::Host(_));
        let pipeline = if down { Duration::ZERO } else { options.pipeline.min(link.latency) };
        let per_byte = (link.bandwidth.0 > 0 && 1_000_000_000_000 % link.bandwidth.0 == 0)
            .then(|| 1_000_000_000_000 / link.bandwidth.0);
        let per_byte = if link.bandwidth == Bandwidth::INFINITE { Some(0) } else { per_byte };
        let cable = link.latency.saturating_sub(pipeline);
        let up = matches!(link.from, Node::Host(_));
        let resource = Resource::of_class(link.class);
        let kind = Kind { bandwidth: link.bandwidth, cable, pipeline, per_byte, down, up, resource };
        // Kinds are few, and neighbours in number are mostly alike.
        let kind = kinds.iter().rposition(|known| *known == kind).unwrap_or_else(|| {
            kinds.push(kind);
            kinds.len() - 1
        });
        Port {
            idle_at: Time::ZERO,
            looks_at: Time::NEVER,
            line_idle_at: Time::ZERO,
            requests: NONE,
            granted: NONE,
            kind: u16::try_from(kind).expect("fewer than 65,536 kinds of links"),
            marked: false,
            line_told: false,
            starving: 0,
            packets: 0,
            bytes: 0,
            busy: Duration::ZERO,
        }
    });
    let ports = ports.collect();
    (kinds, ports)
}

/// The link of a virtual channel, where each has `channels`.
#[inline]
pub(super) fn link_of(channels: u32, lane: u32) -> u32 {
    match channels {
        1 => lane,
        2 => lane / 2,
        channels => lane / channels,
    }
}

impl Packet {
    /// The link of a virtual channel.
    #[inline]
    pub(super) fn link_of(&self, lane: u32) -> u32 {
        link_of(self.channels, lane)
    }

    /// The channel that the first packet at the end of `lane` asks for.
    pub(super) fn wants(&self, lane: &Lane) -> u32 {
        self.packets.all[lane.front.at()].wants
    }

    /// The name of a channel for people.
    pub(super) fn name_of(&self, lane: u32) -> String {
        let topology = &*self.alone.fabric.topology;
        let link = topology.link(LinkId(self.link_of(lane)));
        let name = |node: Node| match node {
            Node::Host(host) => topology.host_name(host),
            Node::Router(router) => topology.router_name(router),
        };
        format!("{} -> {} (channel {})", name(link.from), name(link.to), lane % self.channels)
    }

    /// Kind of `link`.
    #[inline]
    pub(super) fn kind(&self, link: u32) -> &Kind {
        &self.kinds[usize::from(self.ports[link as usize].kind)]
    }
}
