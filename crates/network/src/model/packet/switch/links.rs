//! Links and their virtual channels: what stands at the start of a link, and what at its end.

use engine::{Bandwidth, Bytes, Duration, Time};

use super::super::NONE;
use super::super::index::PacketIndex;
use super::super::options::PacketOptions;
use super::super::size::WireSize;
use super::super::waits::Resource;
use super::requests::Requester;
use crate::topology::{LinkId, Node, Topology};

/// Bandwidth of a link or crossbar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Rate {
    bandwidth: Bandwidth,
    /// Transfer time of one byte \[ps\], if that is a whole number.
    per_byte: Option<u64>,
}

impl Rate {
    pub fn new(bandwidth: Bandwidth) -> Rate {
        const SECOND: u64 = 1_000_000_000_000;
        let per_byte = match bandwidth {
            Bandwidth::INFINITE => Some(0),
            Bandwidth(rate) => (rate > 0 && SECOND % rate == 0).then(|| SECOND / rate),
        };
        Rate { bandwidth, per_byte }
    }

    /// Time in which `size` passes.
    #[inline]
    pub fn transfer(self, size: WireSize) -> Duration {
        match self.per_byte {
            Some(per_byte) => Duration(per_byte * size.wide()),
            None => self.bandwidth.transfer(size.into()),
        }
    }
}

/// Properties that links of one kind have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct LinkKind {
    rate: Rate,
    /// The cable alone.
    pub cable: Duration,
    /// Pipeline of the router at the end; zero at a host.
    pub pipeline: Duration,
    /// True if it leads to a host.
    pub down: bool,
    /// True if it comes from a host.
    pub up: bool,
    /// Resource that it belongs to.
    pub resource: Resource,
}

impl LinkKind {
    /// Time that a packet of `size` is on the wire.
    #[inline]
    pub fn transfer(&self, size: WireSize) -> Duration {
        self.rate.transfer(size)
    }

    /// Bandwidth of one of them.
    pub fn bandwidth(&self) -> Bandwidth {
        self.rate.bandwidth
    }

    /// The bytes that it sends in `time`.
    pub fn sends_in(&self, time: Duration) -> Bytes {
        if time == Duration::ZERO || self.bandwidth() == Bandwidth::INFINITE {
            return Bytes(0);
        }
        Bytes((u128::from(self.bandwidth().0) * u128::from(time.0) / 1_000_000_000_000) as u64)
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
    /// The first of the requests for it, a list linked through [`VirtualChannel::next`] and
    /// [`super::requests::Request::next`].
    pub requests: Requester,
    /// Requester that was granted last.
    pub granted: Requester,
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
pub(super) struct VirtualChannel {
    /// First packet at its end.
    pub front: PacketIndex,
    /// Last packet at its end.
    pub back: PacketIndex,
    /// The next request for the link that the first of them asks for; [`Requester::SILENT`] while it does not ask.
    pub next: Requester,
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

impl VirtualChannel {
    /// With room for `credit` at its end.
    pub fn new(credit: WireSize) -> VirtualChannel {
        VirtualChannel {
            front: PacketIndex::NONE,
            back: PacketIndex::NONE,
            next: Requester::SILENT,
            latest: NONE,
            credit: credit.0,
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
    #[inline]
    pub fn asks(&self) -> bool {
        self.next != Requester::SILENT
    }

    /// True if no packet is at its end.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.front == PacketIndex::NONE
    }
}

/// The ports of all links, and their kinds.
pub(super) fn all(topology: &dyn Topology, options: &PacketOptions) -> (Vec<LinkKind>, Vec<Port>) {
    let mut kinds: Vec<LinkKind> = Vec::new();
    let ports = (0..topology.links()).map(|id| {
        let kind = kind_of(topology, LinkId(id), options);
        // Kinds are few, and neighbours in number are mostly alike.
        let kind = kinds.iter().rposition(|known| *known == kind).unwrap_or_else(|| {
            kinds.push(kind);
            kinds.len() - 1
        });
        Port {
            idle_at: Time::ZERO,
            looks_at: Time::NEVER,
            line_idle_at: Time::ZERO,
            requests: Requester::NONE,
            granted: Requester::NONE,
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

fn kind_of(topology: &dyn Topology, link: LinkId, options: &PacketOptions) -> LinkKind {
    let link = topology.link(link);
    let down = matches!(link.to, Node::Host(_));
    let pipeline = if down { Duration::ZERO } else { options.pipeline.min(link.latency) };
    let cable = link.latency.saturating_sub(pipeline);
    let up = matches!(link.from, Node::Host(_));
    let resource = Resource::of_class(link.class);
    LinkKind { rate: Rate::new(link.bandwidth), cable, pipeline, down, up, resource }
}
