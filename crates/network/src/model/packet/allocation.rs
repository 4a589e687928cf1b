//! Allocation: which request an output grants, and what follows from that.

use engine::{Bandwidth, Duration, Queue, Time};

use super::index::{PacketIndex, SenderIndex};
use super::options::{Arbitration, Switching};
use super::ports::SILENT;
use super::transit::InTransit;
use super::waits::Resource;
use super::{Hop, NONE, NOTHING, Packet, Step, owner, token};
use crate::topology::LinkId;

/// The best request that an output has found so far.
#[derive(Debug, Clone, Copy)]
struct Choice {
    /// The least is granted.
    key: (Time, u32),
    requester: u32,
    /// The request before it in the list.
    before: u32,
}

impl Packet {
    /// The output `link` chooses among its requests.
    pub(super) fn allocate(&mut self, now: Time, link: u32, queue: &mut Queue) {
        let port = &self.ports[link as usize];
        let (mut requester, mut before, last) = (port.requests, NONE, port.granted);
        if requester == NONE || self.faults.as_ref().is_some_and(|faults| faults.is_down(link)) {
            return;
        }
        if port.idle_at > now {
            let at = port.idle_at;
            return self.look_at(link, at, queue);
        }
        let mut chosen: Option<Choice> = None;
        let mut next_credit = Time::NEVER;
        let mut lacking = NONE;
        while requester != NONE {
            let (wants, size, idle, next) = self.look(now, requester);
            if idle {
                let lane = &mut self.lanes[wants as usize];
                if lane.credit < size {
                    self.credits.collect(now, lane);
                }
                if lane.credit >= size {
                    let key = self.key(requester, last);
                    if chosen.is_none_or(|chosen| key < chosen.key) {
                        chosen = Some(Choice { key, requester, before });
                    }
                } else {
                    lacking = lacking.min(wants);
                    lane.lacks = true;
                    match self.credits.enough_at(size, lane) {
                        Some(at) => next_credit = next_credit.min(at),
                        None => self.ports[link as usize].starving |= 1 << (wants - link * self.channels),
                    }
                }
            }
            before = requester;
            requester = next;
        }
        if chosen.is_none() && lacking != NONE {
            self.note_stall(now, link, lacking);
        }
        match chosen {
            Some(chosen) => self.grant(now, link, chosen, queue),
            None if next_credit != Time::NEVER => self.look_at(link, next_credit, queue),
            None => {}
        }
    }

    /// Channel that `requester` wants, the bytes of its packet, whether nothing at its own end is in the way,
    /// and the request behind it.
    #[inline]
    fn look(&self, now: Time, requester: u32) -> (u32, u32, bool, u32) {
        match self.lanes.get(requester as usize) {
            Some(lane) => {
                let idle = self.ports[self.link_of(requester) as usize].line_idle_at <= now;
                let packet = &self.packets.all[lane.front.at()];
                (packet.wants, packet.size, idle, lane.next)
            }
            None => {
                let sender = &self.senders[SenderIndex(requester - self.lanes.len() as u32)];
                (sender.wants, sender.size, true, sender.next)
            }
        }
    }

    /// Requests are granted in this order.
    fn key(&self, requester: u32, last: u32) -> (Time, u32) {
        match self.options.arbitration {
            Arbitration::RoundRobin => (Time::ZERO, requester.wrapping_sub(last).wrapping_sub(1)),
            Arbitration::Age => {
                let senders = self.lanes.len() as u32;
                let message = if requester >= senders {
                    self.message_of(SenderIndex(requester - senders))
                } else {
                    self.packets.all[self.lanes[requester as usize].front.at()].message
                };
                (self.messages.get(message).injected, requester)
            }
        }
    }

    fn grant(&mut self, now: Time, link: u32, chosen: Choice, queue: &mut Queue) {
        let Choice { requester, before, .. } = chosen;
        self.ports[link as usize].granted = requester;
        let (end, mut line) = match requester.checked_sub(self.lanes.len() as u32) {
            None => self.forward(now, link, requester, before, queue),
            Some(sender) => (self.launch(now, link, SenderIndex(sender), before, queue), NOTHING),
        };
        if line != NOTHING {
            let idle_at = self.ports[line as usize].line_idle_at;
            if idle_at < end {
                queue.push(idle_at, self.inner(), token(Step::Idle, NOTHING, line));
                line = NOTHING;
            }
        }
        let port = &mut self.ports[link as usize];
        let waits = port.requests != NONE && end < port.looks_at;
        if waits {
            port.looks_at = end;
        }
        if waits || line != NOTHING {
            let output = if waits { link } else { NOTHING };
            queue.push(end, self.inner(), token(Step::Idle, output, line));
        }
    }

    /// Sends the first packet of the channel `input` over `link`; `before` is the request before it. Says
    /// when its tail has left the router, and which crossbar line somebody waits for.
    #[inline]
    fn forward(&mut self, now: Time, link: u32, input: u32, before: u32, queue: &mut Queue) -> (Time, u32) {
        let lane = &mut self.lanes[input as usize];
        let (packet, next) = (lane.front, std::mem::replace(&mut lane.next, SILENT));
        let state = &mut self.packets.all[packet.at()];
        lane.front = std::mem::replace(&mut state.next, PacketIndex::NONE);
        let (size, tail) = (state.size, state.tail);
        self.unlink(link, before, next);
        if self.congestion.is_some() {
            self.count_out(packet, true);
        }
        let held_by = self.end_wait(now, link, input, packet);
        let from = self.link_of(input);
        let come = *self.kind(from);
        let there = tail + come.pipeline;
        let end = self.end_of(now, link, packet).max(there);
        let across = (now + come.transfer(size).min(self.kind(link).transfer(size))).max(there);
        self.lanes[input as usize].left_at = across;
        if self.is_finite {
            self.send_credit(now, across + come.cable, (from, input), (size, held_by), queue);
        }
        self.transmit(now, end, (link, input), packet, queue);
        (end, self.hold_line(from, across))
    }

    /// Sends the next packet of `sender` over its host's `link`; says when its tail has left.
    fn launch(&mut self, now: Time, link: u32, sender: SenderIndex, before: u32, queue: &mut Queue) -> Time {
        let state = &mut self.senders[sender];
        state.wants = NONE;
        let next = state.next;
        self.unlink(link, before, next);
        let packet = self.take_from(sender);
        let InTransit { message, number, .. } = self.packets.all[packet.at()];
        let end = self.end_of(now, link, packet);
        self.end_wait_at_nic((now, end), link, sender, packet);
        // A packet that is lost on this link may be the last that needs the slot, which the timer needs, too.
        self.messages.get_mut(message).holds += u32::from(self.is_lossy);
        self.transmit(now, end, (link, self.lanes.len() as u32 + sender.0), packet, queue);
        if self.is_lossy {
            self.start_timer(end, message, number, queue);
            self.release(message);
        }
        self.injected(now, sender, end, queue);
        end
    }

    /// Takes a request out of the list of `link`: the one between `before` and `next`.
    #[inline]
    pub(super) fn unlink(&mut self, link: u32, before: u32, next: u32) {
        if before == NONE {
            self.ports[link as usize].requests = next;
        } else if let Some(lane) = self.lanes.get_mut(before as usize) {
            lane.next = next;
        } else {
            self.senders[SenderIndex(before - self.lanes.len() as u32)].next = next;
        }
    }

    /// Takes the first packet out of `lane`.
    pub(super) fn leave_queue(&mut self, lane: u32) -> PacketIndex {
        let state = &mut self.lanes[lane as usize];
        let packet = state.front;
        state.front = std::mem::replace(&mut self.packets.all[packet.at()].next, PacketIndex::NONE);
        packet
    }

    /// The crossbar's line of `link` is busy until `end`: the link, if somebody there waits to hear of it.
    #[inline]
    fn hold_line(&mut self, link: u32, end: Time) -> u32 {
        let first = (link * self.channels) as usize;
        let waits = self.lanes[first..first + self.channels as usize]
            .iter()
            .any(|lane| lane.front != PacketIndex::NONE);
        let port = &mut self.ports[link as usize];
        port.line_idle_at = end;
        port.line_told = waits;
        if waits { link } else { NOTHING }
    }

    /// Time at which the tail of `packet` leaves over `link`, if it comes quickly enough.
    #[inline]
    fn end_of(&self, now: Time, link: u32, packet: PacketIndex) -> Time {
        let kind = self.kind(link);
        let state = &self.packets.all[packet.at()];
        let transfer = kind.transfer(state.size);
        now + if kind.up || kind.down { transfer.max(self.nic_time(state)) } else { transfer }
    }

    /// Sends `packet` of `requester` over `link`, on the channel that it wants; its tail has left at `end`.
    #[inline]
    fn transmit(
        &mut self,
        now: Time,
        end: Time,
        (link, requester): (u32, u32),
        packet: PacketIndex,
        queue: &mut Queue,
    ) {
        let state = &mut self.packets.all[packet.at()];
        let (wants, size, message) = (state.wants, state.size, state.message);
        let port = &mut self.ports[link as usize];
        let kind = &self.kinds[usize::from(port.kind)];
        port.idle_at = end;
        port.busy += end.since(now);
        port.bytes += u64::from(size);
        port.packets += 1;
        self.packet_hops += 1;
        if self.is_finite {
            self.lanes[wants as usize].credit -= size;
        }
        let (tail, cable, pipeline, down) = (end + kind.cable, kind.cable, kind.pipeline, kind.down);
        if self.is_watched {
            self.note_grant((now, end), wants, requester, packet);
        }
        if self.is_lossy && self.is_lost(link, tail, packet) {
            return self.return_credit(now, tail, wants, size, queue);
        }
        let state = &mut self.packets.all[packet.at()];
        state.tail = tail;
        state.path += 1;
        state.wants = self.paths.lane(state.path);
        if down {
            self.return_credit(now, tail, wants, size, queue);
            let arrived = token(Step::Arrived, packet.0, 0);
            return match self.messages.get(message).key_of_only_packet(self.options.payload) {
                Some(key) => queue.place(tail, key, arrived),
                None => queue.push(tail, owner(self.messages.get(message).ends().1.host), arrived),
            };
        }
        let head = match self.options.switching {
            Switching::VirtualCutThrough => now + cable,
            Switching::StoreAndForward => tail,
        };
        let ready = head + pipeline;
        state.ready = ready;
        match self.border.end(link) {
            None => queue.push(ready, self.inner(), token(Step::Ready, packet.0, wants)),
            Some(part) => self.hand_over(part, ready, packet, wants, queue),
        }
    }

    /// Notes a grant for the observers.
    #[cold]
    fn note_grant(&mut self, (now, end): (Time, Time), wants: u32, requester: u32, packet: PacketIndex) {
        let state = self.packets.all[packet.at()];
        self.note_hop(now, end, wants, &state);
        if self.recorder.is_some() {
            self.note_transmission((now, end), wants, requester, (packet, &state));
        }
    }

    /// Time that a NIC needs for `packet`.
    fn nic_time(&self, packet: &InTransit) -> Duration {
        let slot = self.messages.get(packet.message);
        let rate = self.alone.hosts.regimes[usize::from(slot.message.regime)].nic_rate;
        if rate == Bandwidth::INFINITE {
            return Duration::ZERO;
        }
        rate.transfer(slot.carried(self.options.payload_of(slot.message.size, u64::from(packet.number.0))))
    }

    /// The buffer of `lane` has room for `size` bytes more at `at`; its start hears of it a cable later.
    pub(super) fn return_credit(&mut self, now: Time, at: Time, lane: u32, size: u32, queue: &mut Queue) {
        if self.is_finite {
            let link = self.link_of(lane);
            let at = at + self.kind(link).cable;
            self.send_credit(now, at, (link, lane), (size, Resource::NOTHING), queue);
        }
    }

    /// The start of `link` will hear at `at` of room for some bytes more in its channel `lane`, which a packet has left
    /// that waited for a resource.
    #[inline]
    fn send_credit(
        &mut self,
        now: Time,
        at: Time,
        (link, lane): (u32, u32),
        credit: (u32, Resource),
        queue: &mut Queue,
    ) {
        match self.border.start(link) {
            None => self.take_credit(now, at, (link, lane), credit, queue),
            Some(part) => self.border.credit(part, at, lane, credit, queue),
        }
    }

    /// Room for some bytes more in channel `lane` of `link` will be known at its start at `at`.
    #[inline]
    pub(super) fn take_credit(
        &mut self,
        now: Time,
        at: Time,
        (link, lane): (u32, u32),
        credit: (u32, Resource),
        queue: &mut Queue,
    ) {
        self.credits.send(now, at, credit, &mut self.lanes[lane as usize]);
        let starving = &mut self.ports[link as usize].starving;
        let bit = 1 << (lane - link * self.channels);
        // Credits of lost packets come sooner than some that were promised before.
        if *starving & bit != 0 || self.is_lossy {
            *starving &= !bit;
            self.look_at(link, at, queue);
        }
    }

    fn note_hop(&mut self, begin: Time, end: Time, lane: u32, packet: &InTransit) {
        if let Some(hops) = &mut self.hops {
            hops.push(Hop {
                message: self.messages.get(packet.message).message.cargo,
                number: packet.number.0,
                link: LinkId(lane / self.channels),
                channel: (lane % self.channels) as u8,
                begin,
                end,
            });
        }
    }
}
