//! Passage of granted packets: through the crossbar, over the link, and what they leave behind.

use engine::{Duration, Queue, Time};

use super::super::index::{ChannelIndex, PacketIndex};
use super::super::packets::{InTransit, Packets};
use super::super::size::{Span, WireSize};
use super::super::steps::Step;
use super::super::waits::Resource;
use super::Switch;
use super::credits::Credit;
use super::links::{LinkKind, VirtualChannel};
use super::requests::Requester;
use crate::topology::LinkId;

/// Passage of a packet through a router.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Passage {
    /// End of its transmission over the next link.
    pub end: Time,
    /// Time at which the start of the link that it came by will know of the room that it leaves.
    pub credit_at: Time,
    /// Resource that it waited for.
    pub held_by: Resource,
    /// Link that it came by, if somebody waits for the crossbar's line of that.
    pub line: Option<LinkId>,
}

impl Switch {
    /// Takes the first packet out of `channel`.
    #[inline]
    pub fn take_front(&mut self, channel: ChannelIndex, packets: &mut Packets) -> PacketIndex {
        let state = &mut self.channels[channel.at()];
        let packet = state.front;
        state.front = std::mem::replace(&mut packets[packet].next, PacketIndex::NONE);
        packet
    }

    /// `packet`, the first of channel `input` until now, passes the crossbar to `link`, which sends it until `end`, if it
    /// comes quickly enough.
    #[inline]
    pub fn pass(
        &mut self,
        now: Time,
        link: LinkId,
        input: ChannelIndex,
        end: Time,
        packet: &mut InTransit,
    ) -> Passage {
        let held_by = self.end_wait(now, link, input, packet);
        let from = self.link_of(input);
        let come = *self.kind(from);
        let there = packet.tail + come.pipeline;
        let across = (now + self.crossing_time(&come, link, packet.size)).max(there);
        self.channels[input.at()].left_at = across;
        let line = self.hold_line(from, across);
        Passage { end: end.max(across), credit_at: across + come.cable, held_by, line }
    }

    /// Time that a packet of `size` needs to cross from a link of kind `come` to `link`, if it comes quickly enough.
    #[inline(always)]
    pub(super) fn crossing_time(&self, come: &LinkKind, link: LinkId, size: WireSize) -> Duration {
        match self.crossbar {
            None => come.transfer(size).min(self.kind(link).transfer(size)),
            Some(rate) => rate.transfer(size),
        }
    }

    /// The crossbar's line of `link` is busy until `end`: the link, if a first packet there waits to hear of it, which has not
    /// asked.
    #[inline(always)]
    pub(super) fn hold_line(&mut self, link: LinkId, end: Time) -> Option<LinkId> {
        let channels = self.channel_count.range(link);
        let waits = |channel: &VirtualChannel| !channel.is_empty() && !channel.asks();
        let waits = !self.asks_ahead && self.channels[channels].iter().any(waits);
        let port = &mut self.ports[link.at()];
        port.line_idle_at = end;
        port.line_told = waits;
        waits.then_some(link)
    }

    /// `link` sends a packet of `size` in `span` on its channel `wants`.
    #[inline(always)]
    pub fn send(&mut self, link: LinkId, span: Span, wants: ChannelIndex, size: WireSize) -> &LinkKind {
        let port = &mut self.ports[link.at()];
        port.idle_at = span.end;
        port.busy += span.length();
        port.bytes += size.wide();
        port.packets += 1;
        self.packet_hops += 1;
        self.moved.note(link);
        if self.buffer.is_some() {
            self.channels[wants.at()].credit -= size.0;
        }
        &self.kinds[usize::from(port.kind)]
    }

    /// `credit` for `channel` will be known at the start of its link at `at`.
    #[inline(always)]
    pub fn take_credit(
        &mut self,
        now: Time,
        at: Time,
        channel: ChannelIndex,
        credit: Credit,
        queue: &mut Queue,
    ) {
        self.credits.send(now, at, credit, &mut self.channels[channel.at()]);
        let link = self.link_of(channel);
        let starving = &mut self.ports[link.at()].starving;
        let bit = self.channel_count.bit(channel);
        // Credits of lost packets come sooner than some that were promised before.
        if *starving & bit != 0 || self.is_lossy {
            *starving &= !bit;
            self.look_at(link, at, queue);
        }
    }

    /// Resource that a packet of `size` bytes waited for which asked for channel `wants` of `link`, and which that sends now.
    #[inline(always)]
    pub fn turn_at(&mut self, now: Time, link: LinkId, wants: ChannelIndex, size: WireSize) -> Resource {
        let channel = &mut self.channels[wants.at()];
        let lacked = std::mem::take(&mut channel.lacks);
        self.credits.collect(now, channel);
        let is_last_room = channel.credit - size.0 < size.0;
        if (lacked || is_last_room) && channel.credit_held_by != Resource::NOTHING {
            return channel.credit_held_by;
        }
        self.kind(link).resource
    }

    /// Resource that `packet` waited for which `link` sends now, see [`Switch::turn_at`]; nothing if it has only just come.
    #[inline(always)]
    pub(super) fn turn_of(
        &mut self,
        now: Time,
        link: LinkId,
        wants: ChannelIndex,
        packet: &InTransit,
    ) -> Resource {
        if packet.ready < now {
            return self.turn_at(now, link, wants, packet.size);
        }
        self.channels[wants.at()].lacks = false;
        Resource::NOTHING
    }

    /// Adds to the waits of `packet`, the first of channel `input` until now, which leaves by `link`. Gives what it waited
    /// for.
    #[inline]
    fn end_wait(&mut self, now: Time, link: LinkId, input: ChannelIndex, packet: &mut InTransit) -> Resource {
        let turn = self.turn_of(now, link, packet.wants, packet);
        let resource = self.kinds[usize::from(self.ports[link.at()].kind)].resource;
        let channel = &mut self.channels[input.at()];
        wait_in_turn(packet, now, channel.left_at, &mut channel.held_by, turn, resource)
    }

    /// `packet` takes its place in the queue of `channel`. True if it is the first.
    #[inline]
    pub fn line_up(&mut self, packet: PacketIndex, channel: ChannelIndex, packets: &mut Packets) -> bool {
        let state = &mut self.channels[channel.at()];
        let is_first = state.is_empty();
        if is_first {
            state.front = packet;
        } else {
            packets[state.back].next = packet;
        }
        state.back = packet;
        is_first
    }

    /// True if `channel` has a packet and its crossbar line is idle, so that the packet may ask; else it asks when the line is.
    #[inline]
    pub fn may_ask(&mut self, now: Time, channel: ChannelIndex, queue: &mut Queue) -> bool {
        if self.channels[channel.at()].is_empty() {
            return false;
        }
        let link = self.link_of(channel);
        let port = &mut self.ports[link.at()];
        if port.line_idle_at <= now {
            return true;
        }
        if !port.line_told {
            port.line_told = true;
            queue.push(port.line_idle_at, self.owner, Step::Idle { output: None, line: Some(link) }.token());
        }
        false
    }

    /// The output `link` may choose again.
    #[inline]
    pub fn output_is_idle(&mut self, now: Time, link: LinkId) {
        let port = &mut self.ports[link.at()];
        if port.looks_at == now {
            port.looks_at = Time::NEVER;
        }
        if port.requests != Requester::NONE || self.has_stored_from(link) {
            self.mark(link);
        }
    }

    /// The crossbar's line of `link` is idle. Gives its channels.
    #[inline]
    pub fn line_is_idle(&mut self, link: LinkId) -> impl Iterator<Item = ChannelIndex> + use<> {
        self.ports[link.at()].line_told = false;
        self.channel_count.channels(link)
    }

    /// True if `channel` has a first packet that has not asked.
    #[inline]
    pub fn may_wake_front(&self, channel: ChannelIndex) -> bool {
        let state = &self.channels[channel.at()];
        !state.is_empty() && !state.asks()
    }
}

/// Adds to the waits of `packet`, the first of its queue until now, which goes on by a link of `resource`: until the packet
/// before it had left at `left_at` it waited for what that is `held_by`, and since then for its `turn`. Gives what it waited
/// for.
#[inline(always)]
pub(super) fn wait_in_turn(
    packet: &mut InTransit,
    now: Time,
    left_at: Time,
    held_by: &mut Resource,
    turn: Resource,
    resource: Resource,
) -> Resource {
    if packet.ready >= now {
        *held_by = resource;
        return Resource::NOTHING;
    }
    let asked = packet.ready.max(left_at);
    if asked > packet.ready {
        packet.waits.add(*held_by, asked.since(packet.ready));
    }
    if now > asked {
        packet.waits.add(turn, now.since(asked));
        *held_by = turn;
    }
    *held_by
}
