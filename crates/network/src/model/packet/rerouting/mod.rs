//! Links and routers that fail and return, under packets.
//!
//! ```text
//! on a link        lost, if the link fails after the head has left and before the tail has come
//! in a router      lost, when the router fails
//! at an output     waits while the link is down; taken to a parallel one, or dropped, once that is known
//! in a NIC         draws its way when it leaves, by what is known then
//! ```
//!
//! Packets that are lost or dropped give their room back: after a loss on a link as other lost packets do
//! ([`super::reliability`]), after one in a router when it could have been sent on, and a cable later the
//! other end knows. So no credit is ever missing, and a link returns with what its buffer can take. What
//! is lost is sent again by its source, after the timeout.
//!
//! A message to where no way leads waits at its source until one does, and so do packets that are due to be
//! sent again; responses are dropped, since they are asked for again. Other messages of the process pass.
//!
//! Changes take effect before all else that happens at their instant, and every part of a network goes through
//! all of them, so that nothing depends on how the network is cut. Where something is on its way they are
//! events of the queue; where nothing is, they wait until something comes.
//!
//! Assumes that a failed link is as good as new when it is back, that the links of a host's NICs fail together,
//! and that hosts do not fail: the ranks on a router that is down compute on.

use engine::{Duration, Time};

use super::index::{ChannelIndex, MessageIndex, PacketIndex, PacketNumber, SenderIndex};
use super::messages::Slot;
use super::packets::InTransit;
use super::switch::ChannelCount;
use crate::Fabric;
use crate::faults::{Change, Timeline};
use crate::routing::escape::Escape;
use crate::topology::{HostId, LinkId, RouterId, Topology};

/// Load of a link that is known to be down: more than any queue.
pub(super) const FULL: u64 = 1 << 40;

/// Way of a packet around faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Way {
    /// The number of the routing's draw that it follows.
    pub attempt: u8,
    /// Or the order of the ways around that it follows, from 1 on.
    pub order: u32,
}

/// Message or packet that waits for a way.
#[derive(Debug, Clone, Copy)]
pub(super) enum Waiting {
    /// A message of a process.
    Message { process: SenderIndex, message: MessageIndex },
    /// A packet that is to be sent again.
    Again { message: MessageIndex, number: PacketNumber },
}

impl Waiting {
    pub fn message(self) -> MessageIndex {
        match self {
            Waiting::Message { message, .. } | Waiting::Again { message, .. } => message,
        }
    }
}

/// Something that waits for a way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    pub since: Time,
    pub waiting: Waiting,
    /// True if a way will be there some time.
    has_hope: bool,
}

/// Something that has failed or returned, or is known to have.
#[derive(Debug)]
pub(super) struct Event {
    pub change: Change,
    /// Links that it takes along.
    pub links: Vec<LinkId>,
}

/// The state of everything that can fail, as one part of a network keeps it.
#[derive(Debug)]
pub(super) struct Rerouting {
    physical: Timeline,
    known: Escape,
    /// Time of the next change of either.
    next: Time,
    /// Time at which the queue will tell; [`Time::NEVER`] if nothing is scheduled.
    told_at: Time,
    /// The longest time until the queue tells.
    patience: Duration,
    /// Way of each packet.
    ways: Vec<Way>,
    waits: Vec<Wait>,
    /// Channels whose first packets cannot go on, and these packets.
    stranded: Vec<(ChannelIndex, PacketIndex)>,
    /// Answers that are waited for.
    timers: u64,
}

/// The queue tells of changes no more often than that, unless there are some.
const PATIENCE_LEAST: Duration = Duration(10_000_000);

impl Rerouting {
    /// At the beginning, where sources send again after `timeout`; `None` if nothing ever fails.
    pub fn new(fabric: &Fabric, timeout: Duration) -> Option<Box<Rerouting>> {
        let around = fabric.routing.around()?;
        let physical = Timeline::new(around.elements().clone(), Duration::ZERO);
        let known = Escape::new(around, &*fabric.topology);
        Some(Box::new(Rerouting {
            next: physical.next().min(known.next()),
            physical,
            known,
            told_at: Time::NEVER,
            patience: timeout.max(PATIENCE_LEAST),
            ways: Vec::new(),
            waits: Vec::new(),
            stranded: Vec::new(),
            timers: 0,
        }))
    }

    /// True if the link is out of service.
    #[inline]
    pub fn is_down(&self, link: LinkId) -> bool {
        self.physical.is_down(link)
    }

    /// True if the router is out of service.
    pub fn is_router_down(&self, router: RouterId) -> bool {
        self.physical.is_router_down(router)
    }

    /// True if something changes by `now`.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        self.next <= now
    }

    /// True if the link fails before `tail`, when the tail of a packet is at its end.
    pub fn breaks(&self, link: LinkId, tail: Time) -> bool {
        self.physical.fails_at(link) < tail
    }

    /// True if `link` is known to be down.
    pub fn is_known_down(&self, link: LinkId) -> bool {
        self.known.is_down(link)
    }

    /// True if all of `links` are in service, as far as is known.
    pub fn is_open(&self, links: &[LinkId]) -> bool {
        self.known.is_open(links)
    }

    /// True if ways around lead from one host to the other, and back.
    pub fn joins(&self, topology: &dyn Topology, from: HostId, to: HostId) -> bool {
        self.known.joins(topology, from, to)
    }

    /// Order of the ways around that are taken now.
    pub fn order(&self) -> u32 {
        self.known.order()
    }

    /// The next failure or return by `now`, which has happened then.
    pub fn next_event(&mut self, now: Time) -> Option<Event> {
        let change = self.physical.advance(now)?;
        let links = self.physical.links_of(&change).to_vec();
        Some(Event { change, links })
    }

    /// The next that becomes known by `now`, and is known then.
    pub fn next_news(&mut self, now: Time) -> Option<Event> {
        let change = self.known.advance(now)?;
        let links = self.known.links_of(&change).to_vec();
        Some(Event { change, links })
    }

    /// All changes that are due have been heard of.
    pub fn end_events(&mut self) {
        self.next = self.physical.next().min(self.known.next());
    }

    /// Time at which the queue is to tell of the next change, if it does not do so yet.
    pub fn schedule(&mut self, now: Time) -> Option<Time> {
        if self.told_at < Time::NEVER || self.next == Time::NEVER {
            return None;
        }
        // At times that do not depend on who asks first, so that the run ends at the same for every cut.
        let round = Time((now.0 / self.patience.0 + 1) * self.patience.0);
        self.told_at = self.next.min(round).max(now);
        Some(self.told_at)
    }

    /// The queue has told. True if something waits for an answer, or for a way that will be there.
    pub fn is_awaited(&mut self) -> bool {
        self.told_at = Time::NEVER;
        self.timers > 0 || self.waits.iter().any(|wait| wait.has_hope)
    }

    /// An answer is waited for.
    pub fn count_timer(&mut self) {
        self.timers += 1;
    }

    /// An answer is not waited for any longer.
    pub fn end_timer(&mut self) {
        self.timers -= 1;
    }

    /// Way of a packet.
    #[inline]
    pub fn way(&self, packet: PacketIndex) -> Way {
        self.ways[packet.at()]
    }

    /// Notes how a packet goes.
    pub fn set_way(&mut self, packet: PacketIndex, way: Way) {
        if packet.at() >= self.ways.len() {
            self.ways.resize(packet.at() + 1, Way::default());
        }
        self.ways[packet.at()] = way;
    }

    /// Next channel of a packet of `slot`, in state `packet`, that has come by channel `last` and goes by `way`: nothing
    /// known is in its way then. `None` if it cannot go on.
    pub fn onward(
        &mut self,
        topology: &dyn Topology,
        channels: ChannelCount,
        way: Way,
        last: ChannelIndex,
        packet: &InTransit,
        slot: &Slot,
    ) -> Option<ChannelIndex> {
        if way.order == 0 {
            let parallel = self.known.parallel(channels.link_of(packet.wants))?;
            return Some(channels.same_on(parallel, packet.wants));
        }
        if way.order != self.known.order() {
            return None;
        }
        let (to, nic) = (slot.ends().1.host, slot.nics().to);
        let key = u64::from(slot.id.0) << 32 | u64::from(packet.number.0);
        let link = self.known.next_link(topology, channels.link_of(last), to, key)?;
        Some(match link == topology.down(to) {
            true => channels.channel(topology.nic_down(to, nic), 0),
            false => channels.last_of(link),
        })
    }

    /// `packet`, the first of `channel`, cannot go on.
    pub fn strand(&mut self, channel: ChannelIndex, packet: PacketIndex) {
        self.stranded.push((channel, packet));
    }

    /// Takes the packets that cannot go on, in the order of their channels.
    pub fn take_stranded(&mut self) -> Vec<(ChannelIndex, PacketIndex)> {
        let mut stranded = std::mem::take(&mut self.stranded);
        stranded.sort_unstable();
        stranded.dedup();
        stranded
    }

    /// Something waits for a way from one host to another, `since` then.
    pub fn wait(&mut self, since: Time, waiting: Waiting, topology: &dyn Topology, from: HostId, to: HostId) {
        let has_hope = self.known.will_join(topology, from, to);
        self.waits.push(Wait { since, waiting, has_hope });
    }

    /// Everything that waits for a way.
    pub fn waits(&self) -> &[Wait] {
        &self.waits
    }

    /// Takes everything that waits for a way.
    pub fn take_waits(&mut self) -> Vec<Wait> {
        std::mem::take(&mut self.waits)
    }
}
