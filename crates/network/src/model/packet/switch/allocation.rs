//! Allocation: which request an output grants.

use engine::{Queue, Time};

use super::super::index::{ChannelIndex, SenderIndex};
use super::super::messages::Messages;
use super::super::options::Arbitration;
use super::super::packets::Packets;
use super::super::size::WireSize;
use super::super::steps::Step;
use super::Switch;
use super::requests::{Requester, Source};
use crate::topology::LinkId;

/// Outcome of a look of an output at its requests.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Allocation {
    /// Nothing is sent now.
    Nothing,
    /// Nothing is sent for lack of credit in this channel, and in others behind it.
    Stalled(ChannelIndex),
    /// The packet of this source is sent; others may be from this time on.
    Granted(Source, Time),
}

/// Requests that an output has not granted.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Remaining {
    /// Time from which on one of them may go, as far as its own end is concerned; [`Time::NEVER`] without one.
    pub ready_at: Time,
    /// True if one of them lacks room.
    pub lacks_room: bool,
}

impl Remaining {
    /// No requests.
    pub const NONE: Remaining = Remaining { ready_at: Time::NEVER, lacks_room: false };

    fn note(&mut self, ready_at: Time) {
        self.ready_at = self.ready_at.min(ready_at);
    }
}

/// The best request that an output has found so far.
#[derive(Debug, Clone, Copy)]
struct Choice {
    requester: Requester,
    /// The request before it in the list.
    before: Requester,
}

/// One request.
struct Look {
    wants: ChannelIndex,
    size: WireSize,
    /// Time from which on nothing at its own end is in the way.
    ready_at: Time,
    /// The request behind it.
    next: Requester,
}

impl Switch {
    /// The output `link` chooses among its requests.
    pub fn allocate(
        &mut self,
        now: Time,
        link: LinkId,
        packets: &Packets,
        messages: &Messages,
        queue: &mut Queue,
    ) -> Allocation {
        let port = &self.ports[link.at()];
        if port.requests == Requester::NONE {
            return Allocation::Nothing;
        }
        if port.idle_at > now {
            let at = port.idle_at;
            self.look_at(link, at, queue);
            return Allocation::Nothing;
        }
        let mut next_credit = Time::NEVER;
        let mut lacking: Option<ChannelIndex> = None;
        let (chosen, remaining) = self.choose(now, link, packets, messages, |switch, wants, size| {
            let has_credit = switch.has_credit(now, wants, size, &mut next_credit);
            if !has_credit {
                lacking = Some(lacking.map_or(wants, |lacking| lacking.min(wants)));
            }
            has_credit
        });
        if let Some(source) = chosen {
            return Allocation::Granted(source, remaining.ready_at);
        }
        let next = next_credit.min(remaining.ready_at);
        if next != Time::NEVER {
            self.look_at(link, next, queue);
        }
        lacking.map_or(Allocation::Nothing, Allocation::Stalled)
    }

    /// The best of the requests for `link` for which nothing is in the way at their own end, and which `may_go`; then it is
    /// granted. Gives the others, too.
    #[inline(always)]
    pub(super) fn choose(
        &mut self,
        now: Time,
        link: LinkId,
        packets: &Packets,
        messages: &Messages,
        mut may_go: impl FnMut(&mut Switch, ChannelIndex, WireSize) -> bool,
    ) -> (Option<Source>, Remaining) {
        let port = &self.ports[link.at()];
        let (mut requester, mut before, last) = (port.requests, Requester::NONE, port.granted);
        let mut chosen: Option<Choice> = None;
        let mut remaining = Remaining::NONE;
        while requester != Requester::NONE {
            let look = self.look(requester, packets);
            if look.ready_at > now {
                remaining.note(look.ready_at);
            } else if may_go(self, look.wants, look.size) {
                // Mostly there is one request, which needs no key.
                let key = |requester| self.key(requester, last, packets, messages);
                if chosen.is_some() {
                    remaining.note(now);
                }
                if chosen.is_none_or(|chosen| key(requester) < key(chosen.requester)) {
                    chosen = Some(Choice { requester, before });
                }
            } else {
                remaining.lacks_room = true;
            }
            before = requester;
            requester = look.next;
        }
        let Some(Choice { requester, before }) = chosen else { return (None, remaining) };
        let source = self.source(requester);
        self.ports[link.at()].granted = requester;
        self.unlink(link, before, source);
        if remaining.lacks_room {
            // The grant has ended what was noted of their wait for room; the next look notes it anew.
            remaining.note(now);
        }
        (Some(source), remaining)
    }

    /// True if the buffer at the end of channel `wants` has room for `size` bytes. Else notes that, and when it will have,
    /// if that is known, in `next_credit`.
    #[inline(always)]
    pub(super) fn has_credit(
        &mut self,
        now: Time,
        wants: ChannelIndex,
        size: WireSize,
        next_credit: &mut Time,
    ) -> bool {
        let channel = &mut self.channels[wants.at()];
        if channel.credit < size.0 {
            self.credits.collect(now, channel);
        }
        if channel.credit >= size.0 {
            return true;
        }
        channel.lacks = true;
        match self.credits.enough_at(size, channel) {
            Some(at) => *next_credit = (*next_credit).min(at),
            None => {
                let link = self.channel_count.link_of(wants);
                self.ports[link.at()].starving |= self.channel_count.bit(wants);
            }
        }
        false
    }

    #[inline(always)]
    fn look(&self, requester: Requester, packets: &Packets) -> Look {
        match self.channels.get(requester.0 as usize) {
            Some(channel) => {
                let link = self.link_of(ChannelIndex(requester.0));
                let packet = &packets[channel.front];
                let ready_at = self.ports[link.at()].line_idle_at.max(packet.ready);
                Look { wants: packet.wants, size: packet.size, ready_at, next: channel.next }
            }
            None => {
                let listed = &self.requests[SenderIndex(requester.0 - self.channels.len() as u32)];
                let request = &listed.request;
                Look { wants: request.wants, size: request.size, ready_at: request.asked, next: listed.next }
            }
        }
    }

    /// The request with the least is granted.
    fn key(
        &self,
        requester: Requester,
        last: Requester,
        packets: &Packets,
        messages: &Messages,
    ) -> (Time, u32) {
        match self.arbitration {
            Arbitration::RoundRobin => (Time::ZERO, requester.0.wrapping_sub(last.0).wrapping_sub(1)),
            Arbitration::Age => {
                let injected = match self.source(requester) {
                    Source::Sender(sender) => self.requests[sender].request.injected,
                    Source::Channel(channel) => {
                        let front = self.channels[channel.at()].front;
                        messages.get(packets[front].message).injected
                    }
                };
                (injected, requester.0)
            }
        }
    }

    /// Schedules what follows the transmission over `link`: the output's next look at `next`, when it is idle and others may
    /// be sent, and that of the inputs which wait for the crossbar line of `line`.
    #[inline]
    pub fn schedule_next(&mut self, link: LinkId, next: Time, line: Option<LinkId>, queue: &mut Queue) {
        let Some(waited) = line else {
            if next != Time::NEVER {
                self.look_at(link, next, queue);
            }
            return;
        };
        let line_idle_at = self.ports[waited.at()].line_idle_at;
        let port = &mut self.ports[link.at()];
        let mut output = (next < port.looks_at).then_some(link);
        if output.is_some() {
            port.looks_at = next;
            if next != line_idle_at {
                queue.push(next, self.owner, Step::Idle { output, line: None }.token());
                output = None;
            }
        }
        queue.push(line_idle_at, self.owner, Step::Idle { output, line }.token());
    }
}
