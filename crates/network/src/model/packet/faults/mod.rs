//! Links and routers that fail and return, under packets.
//!
//! ```text
//! on a link        lost, if the link fails after the head has left and before the tail has come
//! in a router      lost, when the router fails
//! at an output     waits while the link is down; taken to a parallel one, or dropped, once that is known
//! in a NIC         draws its way when it leaves, by what is known then
//! ```
//!
//! What is lost or dropped gives its room back: after a loss on a link as other lost packets do
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

mod ways;

use engine::{Duration, Queue, Time};

use super::index::{MessageIndex, PacketIndex, PacketNumber, SenderIndex};
use super::ports::SILENT;
use super::transfer::Role;
use super::{NONE, NOTHING, Packet, Step, token};
use crate::faults::{Change, Timeline};
use crate::routing::escape::Escape;
use crate::topology::{LinkId, Node, RouterId};

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
enum Waiting {
    /// A message of a process.
    Message { process: SenderIndex, message: MessageIndex },
    /// A packet that is to be sent again.
    Again { message: MessageIndex, number: PacketNumber },
}

impl Waiting {
    fn message(self) -> MessageIndex {
        match self {
            Waiting::Message { message, .. } | Waiting::Again { message, .. } => message,
        }
    }
}

/// The state of everything that can fail, as one part of a network keeps it.
#[derive(Debug)]
pub(super) struct Faults {
    physical: Timeline,
    pub known: Escape,
    /// Time of the next change of either.
    next: Time,
    /// Time at which the queue will tell; [`Time::NEVER`] if nothing is scheduled.
    told_at: Time,
    /// The longest time until the queue tells.
    patience: Duration,
    /// Way of each packet.
    pub ways: Vec<Way>,
    /// Since when, and whether there is hope.
    waiting: Vec<(Time, Waiting, bool)>,
    /// Channels whose first packets cannot go on, and these packets.
    stranded: Vec<(u32, PacketIndex)>,
    /// Answers that are waited for.
    pub timers: u64,
}

/// The queue tells of changes no more often than that, unless there are some.
const PATIENCE_LEAST: Duration = Duration(10_000_000);

impl Faults {
    /// At the beginning, where sources send again after `timeout`; `None` if nothing ever fails.
    pub fn new(fabric: &crate::Fabric, timeout: Duration) -> Option<Box<Faults>> {
        let around = fabric.routing.around()?;
        let physical = Timeline::new(around.elements().clone(), Duration::ZERO);
        let known = Escape::new(around, &*fabric.topology);
        Some(Box::new(Faults {
            next: physical.next().min(known.next()),
            physical,
            known,
            told_at: Time::NEVER,
            patience: timeout.max(PATIENCE_LEAST),
            ways: Vec::new(),
            waiting: Vec::new(),
            stranded: Vec::new(),
            timers: 0,
        }))
    }

    /// Is the link out of service?
    #[inline]
    pub fn is_down(&self, link: u32) -> bool {
        self.physical.is_down(LinkId(link))
    }

    /// Does something change by `now`?
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        self.next <= now
    }

    /// Does the link fail before `tail`, when the tail of a packet is at its end?
    pub fn breaks(&self, link: u32, tail: Time) -> bool {
        self.physical.fails_at(LinkId(link)) < tail
    }
}

impl Packet {
    fn fault(&mut self) -> &mut Faults {
        self.faults.as_mut().expect("only where something may fail")
    }

    /// Brings what is up and down to `now`.
    #[cold]
    pub(super) fn change(&mut self, now: Time, queue: &mut Queue) {
        while let Some(change) = self.fault().physical.advance(now) {
            let faults = self.faults.as_ref().expect("only where something may fail");
            let links = faults.physical.links_of(&change).to_vec();
            if let (true, Some(router)) = (change.fails, change.router) {
                self.lose_buffers(now, router, &links, queue);
            }
            for link in links.into_iter().filter(|_| !change.fails) {
                if self.ports[link.0 as usize].requests != NONE {
                    self.mark(link.0);
                }
            }
        }
        let mut is_news = false;
        let mut order = self.fault().known.order();
        while let Some(change) = self.fault().known.advance(now) {
            is_news = true;
            self.hear_of(now, &change, queue);
            let before = std::mem::replace(&mut order, self.fault().known.order());
            if order != before {
                self.leave_order();
            }
        }
        let faults = self.fault();
        faults.next = faults.physical.next().min(faults.known.next());
        if is_news {
            self.try_again(now, queue);
        }
    }

    /// `change` becomes known: who waits for a link that is down goes another way.
    fn hear_of(&mut self, now: Time, change: &Change, queue: &mut Queue) {
        let links = self.fault().known.links_of(change).to_vec();
        for link in links.into_iter().filter(|_| change.fails) {
            self.turn_away(now, link, queue);
        }
    }

    /// Lets the queue tell of the next change.
    pub(super) fn watch(&mut self, queue: &mut Queue) {
        let inner = self.inner();
        let Some(faults) = &mut self.faults else { return };
        if faults.told_at == Time::NEVER && faults.next < Time::NEVER {
            // At times that do not depend on who asks first, so that the run ends at the same for every cut.
            let now = queue.now();
            let round = Time((now.0 / faults.patience.0 + 1) * faults.patience.0);
            faults.told_at = faults.next.min(round).max(now);
            queue.push(faults.told_at, inner, token(Step::Changed, NOTHING, NOTHING));
        }
    }

    /// The queue has told of a change, or asks whether to go on with that.
    pub(super) fn changed(&mut self, queue: &mut Queue) {
        let faults = self.fault();
        faults.told_at = Time::NEVER;
        let waits = faults.timers > 0 || faults.waiting.iter().any(|(.., hope)| *hope);
        // What waits for its host's link is no packet yet.
        let asks = || self.senders.iter().any(|sender| sender.wants != NONE);
        if waits || self.packets.count() > 0 || asks() {
            self.watch(queue);
        }
    }

    /// `router` has failed, and with it what is in its buffers.
    fn lose_buffers(&mut self, now: Time, router: RouterId, links: &[LinkId], queue: &mut Queue) {
        for link in links {
            if self.alone.fabric.topology.link(*link).to != Node::Router(router) {
                continue;
            }
            for lane in link.0 * self.channels..(link.0 + 1) * self.channels {
                while self.lanes[lane as usize].front != PacketIndex::NONE {
                    self.drop_front(now, lane, queue);
                }
            }
        }
    }

    /// A packet has come by `lane` to a router. If that is down, the packet is lost.
    pub(super) fn is_lost_in_router(
        &mut self,
        now: Time,
        packet: PacketIndex,
        lane: u32,
        queue: &mut Queue,
    ) -> bool {
        let Node::Router(router) = self.alone.fabric.topology.link(LinkId(self.link_of(lane))).to else {
            return false;
        };
        if !self.fault().physical.is_router_down(router) {
            return false;
        }
        self.give_up(now, packet, lane, queue);
        true
    }

    /// The first packet of `lane` is dropped.
    fn drop_front(&mut self, now: Time, lane: u32, queue: &mut Queue) {
        self.withdraw(lane);
        let packet = self.leave_queue(lane);
        let (size, tail) = (self.packets.all[packet.at()].size, self.packets.all[packet.at()].tail);
        let free = self.free_at(now, lane, size, tail);
        self.note_dropped((now, free), lane, size);
        self.give_up(now, packet, lane, queue);
    }

    /// Time at which the room of a packet is free that is dropped at the end of `lane`: it takes as long as to send
    /// it, and all of it must have come.
    fn free_at(&self, now: Time, lane: u32, size: u32, tail: Time) -> Time {
        (now + self.kind(self.link_of(lane)).transfer(size)).max(tail)
    }

    /// `packet` is lost at the end of `lane`.
    fn give_up(&mut self, now: Time, packet: PacketIndex, lane: u32, queue: &mut Queue) {
        let state = self.packets.all[packet.at()];
        let free = self.free_at(now, lane, state.size, state.tail);
        self.return_credit(now, free, lane, state.size, queue);
        self.lose_by_fault(packet);
    }

    /// `packet` is lost because something has failed.
    pub(super) fn lose_by_fault(&mut self, packet: PacketIndex) {
        self.transfers.as_mut().expect("messages go by transfers").losses.broken += 1;
        self.lose(packet);
    }

    /// Takes the request of `lane` back, if it has one.
    fn withdraw(&mut self, lane: u32) {
        let state = &self.lanes[lane as usize];
        if state.asks() {
            let (link, next) = (self.link_of(self.wants(state)), state.next);
            self.forget(link, lane, next);
            self.lanes[lane as usize].next = SILENT;
        }
    }

    /// Takes `requester` out of the requests for `link`; `next` is behind it.
    fn forget(&mut self, link: u32, requester: u32, next: u32) {
        let senders = self.lanes.len() as u32;
        let (mut before, mut at) = (NONE, self.ports[link as usize].requests);
        while at != requester {
            before = at;
            at = match at.checked_sub(senders) {
                Some(sender) => self.senders[SenderIndex(sender)].next,
                None => self.lanes[at as usize].next,
            };
        }
        self.unlink(link, before, next);
    }

    /// `link` is known to be down: who waits for it goes another way.
    fn turn_away(&mut self, now: Time, link: LinkId, queue: &mut Queue) {
        let senders = self.lanes.len() as u32;
        let mut at = self.ports[link.0 as usize].requests;
        let mut requesters = Vec::new();
        while at != NONE {
            requesters.push(at);
            at = match at.checked_sub(senders) {
                Some(sender) => self.senders[SenderIndex(sender)].next,
                None => self.lanes[at as usize].next,
            };
        }
        requesters.sort_unstable();
        for requester in requesters {
            match requester.checked_sub(senders) {
                None => {
                    self.withdraw(requester);
                    self.ask_onward(requester);
                }
                Some(sender) => self.call_back(now, SenderIndex(sender), link.0, queue),
            }
        }
    }

    /// The link that `sender` asks for is known to be down.
    fn call_back(&mut self, now: Time, sender: SenderIndex, link: u32, queue: &mut Queue) {
        let requester = self.lanes.len() as u32 + sender.0;
        let next = self.senders[sender].next;
        self.senders[sender].wants = NONE;
        self.forget(link, requester, next);
        if sender.0 < self.processes {
            let front = self.senders[sender].message();
            let path = std::mem::replace(&mut self.messages.get_mut(front).path, NONE);
            self.paths.remove(path);
            if let Some(link) = self.fill(now, sender, queue) {
                self.mark(link);
            }
            return;
        }
        // What a NIC sends by itself: requests wait for a way, responses are asked for again.
        while !self.senders[sender].is_idle() {
            let packet = self.leave_nic(sender);
            let super::transit::InTransit { message, number, .. } = self.packets.all[packet.at()];
            if matches!(self.messages.get(message).role, Role::Request(_)) {
                self.messages.get_mut(message).holds += 1;
                self.drop_packet(packet);
                self.wait_anew(now, Waiting::Again { message, number });
            } else {
                self.lose_by_fault(packet);
            }
        }
    }

    /// A new order begins: packets that go around under the old one are dropped.
    fn leave_order(&mut self) {
        for lane in 0..self.lanes.len() as u32 {
            // One behind others is found when it is first.
            let first = self.lanes[lane as usize].front;
            if first != PacketIndex::NONE && self.fault().ways[first.at()].order > 0 {
                self.withdraw(lane);
                self.fault().stranded.push((lane, first));
            }
        }
    }

    /// Drops the packets that cannot go on; says whether there were any.
    pub(super) fn drop_stranded(&mut self, now: Time, queue: &mut Queue) -> bool {
        let mut stranded = std::mem::take(&mut self.fault().stranded);
        stranded.sort_unstable();
        stranded.dedup();
        for (lane, packet) in &stranded {
            if self.lanes[*lane as usize].front == *packet {
                self.drop_front(now, *lane, queue);
                self.call_front(now, *lane, queue);
            }
        }
        !stranded.is_empty()
    }
}
