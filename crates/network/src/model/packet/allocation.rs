//! Allocation: which request an output grants, and what follows from that.

use engine::{Bandwidth, Duration, Queue, Time};

use super::options::{Arbitration, Switching};
use super::senders::Sender;
use super::transit::InTransit;
use super::{Hop, NONE, NOTHING, Packet, Step, owner, token};
use crate::topology::LinkId;

/// What an output has found.
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
        if port.requests == NONE {
            return;
        }
        if self.faults.as_ref().is_some_and(|faults| faults.is_down(link)) {
            return;
        }
        if port.idle_at > now {
            let at = port.idle_at;
            return self.look_at(link, at, queue);
        }
        let last = port.granted;
        let (mut requester, mut before) = (port.requests, NONE);
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
                    match self.credits.enough_at(size, lane) {
                        Some(at) => next_credit = next_credit.min(at),
                        None => lane.starving = true,
                    }
                }
            }
            before = requester;
            requester = next;
        }
        if chosen.is_none() && self.recorder.is_some() {
            self.note_nothing(now, link, lacking);
        }
        match chosen {
            Some(chosen) => self.grant(now, link, chosen, queue),
            None if next_credit != Time::NEVER => self.look_at(link, next_credit, queue),
            None => {}
        }
    }

    /// What `requester` wants, the bytes of its packet, whether nothing at its own end is in the way,
    /// and the request behind it.
    fn look(&self, now: Time, requester: u32) -> (u32, u32, bool, u32) {
        let senders = self.lanes.len() as u32;
        if requester >= senders {
            let sender = &self.senders[requester - senders];
            return (sender.wants, sender.size, true, sender.next);
        }
        let lane = &self.lanes[requester as usize];
        let idle = self.ports[self.link_of(requester) as usize].line_idle_at <= now;
        (lane.wants, self.packets.all[lane.front as usize].size, idle, lane.next)
    }

    /// Requests are granted in this order.
    fn key(&self, requester: u32, last: u32) -> (Time, u32) {
        match self.options.arbitration {
            Arbitration::RoundRobin => (Time::ZERO, requester.wrapping_sub(last).wrapping_sub(1)),
            Arbitration::Age => {
                let senders = self.lanes.len() as u32;
                let message = if requester >= senders {
                    self.message_of(requester - senders)
                } else {
                    self.packets.all[self.lanes[requester as usize].front as usize].message
                };
                (self.messages.get(message).injected, requester)
            }
        }
    }

    fn grant(&mut self, now: Time, link: u32, chosen: Choice, queue: &mut Queue) {
        let Choice { requester, before, .. } = chosen;
        let senders = self.lanes.len() as u32;
        let injects = requester >= senders;
        let (wants, next) = if injects {
            let Sender { wants, next, .. } = self.senders[requester - senders];
            self.senders[requester - senders].wants = NONE;
            (wants, next)
        } else {
            let lane = &mut self.lanes[requester as usize];
            (std::mem::replace(&mut lane.wants, NONE), lane.next)
        };
        if let Some(recorder) = &self.recorder {
            recorder.fetch(wants, requester);
        }
        self.unlink(link, before, next);
        let packet = if injects { self.take_from(requester - senders) } else { self.leave_queue(requester) };
        let InTransit { message, number, .. } = self.packets.all[packet as usize];
        let end = self.transmit(now, link, wants, requester, packet, queue);
        self.ports[link as usize].granted = requester;
        if injects {
            if self.is_lossy {
                self.start_timer(end, message, number, queue);
            }
            self.injected(now, requester - senders, end, queue);
        }
        let waits = self.ports[link as usize].requests != NONE && end < self.ports[link as usize].looks_at;
        let line = if injects { NOTHING } else { self.hold_line(requester, end) };
        if waits || line != NOTHING {
            let output = if waits { link } else { NOTHING };
            if waits {
                self.ports[link as usize].looks_at = end;
            }
            queue.push(end, self.inner(), token(Step::Idle, output, line));
        }
    }

    /// Takes a request out of the list of `link`: the one between `before` and `next`.
    pub(super) fn unlink(&mut self, link: u32, before: u32, next: u32) {
        let senders = self.lanes.len() as u32;
        match before {
            NONE => self.ports[link as usize].requests = next,
            lane if lane < senders => self.lanes[lane as usize].next = next,
            sender => self.senders[sender - senders].next = next,
        }
    }

    /// Takes the first packet out of `lane`.
    pub(super) fn leave_queue(&mut self, lane: u32) -> u32 {
        let state = &mut self.lanes[lane as usize];
        let packet = state.front;
        state.front = std::mem::replace(&mut self.packets.all[packet as usize].next, NONE);
        packet
    }

    /// The crossbar's line of the link of `lane` is busy until `end`: the link, if somebody there waits
    /// to hear of it.
    fn hold_line(&mut self, lane: u32, end: Time) -> u32 {
        let link = self.link_of(lane);
        let first = (link * self.channels) as usize;
        let waits = self.lanes[first..first + self.channels as usize].iter().any(|lane| lane.front != NONE);
        let port = &mut self.ports[link as usize];
        port.line_idle_at = end;
        port.line_told = waits;
        if waits { link } else { NOTHING }
    }

    /// Sends `packet` over channel `wants` of `link`; says when its tail has left.
    fn transmit(
        &mut self,
        now: Time,
        link: u32,
        wants: u32,
        requester: u32,
        packet: u32,
        queue: &mut Queue,
    ) -> Time {
        let state = self.packets.all[packet as usize];
        let kind = self.kinds[usize::from(self.ports[link as usize].kind)];
        let mut end = now + kind.transfer(state.size);
        if kind.up || kind.down {
            end = end.max(now + self.nic_time(&state));
        }
        if requester < self.lanes.len() as u32 {
            end = end.max(state.tail + self.kind(self.link_of(requester)).pipeline);
            self.return_credit(now, end, requester, state.size, queue);
        }
        let port = &mut self.ports[link as usize];
        port.idle_at = end;
        port.busy += end.since(now);
        port.bytes += u64::from(state.size);
        port.packets += 1;
        self.packet_hops += 1;
        if self.options.buffer.is_some() {
            self.lanes[wants as usize].credit -= state.size;
        }
        self.note_hop(now, end, wants, &state);
        if self.recorder.is_some() {
            self.note_transmission((now, end), wants, requester, (packet, &state));
        }
        let tail = end + kind.cable;
        if self.is_lossy && self.is_lost(link, tail, packet) {
            self.return_credit(now, tail, wants, state.size, queue);
            return end;
        }
        let moved = &mut self.packets.all[packet as usize];
        moved.tail = tail;
        moved.path += 1;
        moved.wants = self.paths.lane(moved.path);
        if kind.down {
            self.return_credit(now, tail, wants, state.size, queue);
            let host = self.messages.get(state.message).ends().1.host;
            queue.push(tail, owner(host), token(Step::Arrived, packet, 0));
        } else {
            let head = match self.options.switching {
                Switching::VirtualCutThrough => now + kind.cable,
                Switching::StoreAndForward => tail,
            };
            let ready = head + kind.pipeline;
            match self.border.end(link) {
                None => queue.push(ready, self.inner(), token(Step::Ready, packet, wants)),
                Some(part) => self.hand_over(part, ready, packet, wants, queue),
            }
        }
        end
    }

    /// How long a NIC needs for `packet`.
    fn nic_time(&self, packet: &InTransit) -> Duration {
        let slot = self.messages.get(packet.message);
        let rate = self.alone.hosts.regimes[usize::from(slot.message.regime)].nic_rate;
        if rate == Bandwidth::INFINITE {
            return Duration::ZERO;
        }
        rate.transfer(slot.carried(self.options.payload_of(slot.message.size, u64::from(packet.number))))
    }

    /// The buffer of `lane` has room for `size` bytes more at `at`; its start hears of it a cable later.
    pub(super) fn return_credit(&mut self, now: Time, at: Time, lane: u32, size: u32, queue: &mut Queue) {
        if self.options.buffer.is_none() {
            return;
        }
        let link = self.link_of(lane);
        let at = at + self.kind(link).cable;
        if let Some(part) = self.border.start(link) {
            return self.border.credit(part, at, lane, size, queue);
        }
        self.take_credit(now, at, lane, size, queue);
    }

    /// Room for `size` bytes more in `lane` will be known at its start at `at`.
    pub(super) fn take_credit(&mut self, now: Time, at: Time, lane: u32, size: u32, queue: &mut Queue) {
        let state = &mut self.lanes[lane as usize];
        self.credits.send(now, at, size, state);
        let starving = std::mem::take(&mut state.starving);
        // Credits of lost packets come sooner than some that were promised before.
        if starving || self.is_lossy {
            self.look_at(self.link_of(lane), at, queue);
        }
    }

    fn note_hop(&mut self, begin: Time, end: Time, lane: u32, packet: &InTransit) {
        if let Some(hops) = &mut self.hops {
            hops.push(Hop {
                message: self.messages.get(packet.message).message.cargo,
                number: packet.number,
                link: LinkId(lane / self.channels),
                channel: (lane % self.channels) as u8,
                begin,
                end,
            });
        }
    }
}
