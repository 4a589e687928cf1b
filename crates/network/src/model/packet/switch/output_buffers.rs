//! Output buffers of routers: packets that cross to an output, or have crossed, and wait for its link.
//!
//! Each virtual channel of a link has a buffer of its own at the link's start, so that it never waits for another: with
//! its buffer at the link's end it is one long channel, and what a routing says of channels holds for both. The crossbar
//! has a line for each input and one for each output, and each passes one packet at a time.

use engine::{Bytes, Queue, Time};

use super::super::index::{ChannelIndex, PacketIndex};
use super::super::messages::Messages;
use super::super::options::Arbitration;
use super::super::packets::{InTransit, Packets};
use super::super::size::WireSize;
use super::super::steps::Step;
use super::super::waits::Resource;
use super::Switch;
use super::allocation::Remaining;
use super::passage::wait_in_turn;
use super::requests::Source;
use crate::topology::LinkId;

/// The buffers at the starts of all links; those of hosts' own links are never used.
#[derive(Debug)]
pub(super) struct OutputBuffers {
    /// Room of an empty buffer.
    size: WireSize,
    ports: Vec<OutputPort>,
    /// By virtual channel.
    buffers: Vec<OutputBuffer>,
    /// By packet; only where somebody observes them.
    origins: Vec<Origin>,
}

/// State that the buffers of an output share.
#[derive(Debug, Clone, Copy)]
struct OutputPort {
    /// Time at which the crossbar's line to it is idle.
    line_idle_at: Time,
    /// Packets in its buffers that the link does not send yet.
    packets: u32,
    /// Channel that has sent last.
    sent: ChannelIndex,
    /// Room that its last packet leaves in the buffer of that channel when the link is idle.
    leaving: WireSize,
}

/// The output buffer of a virtual channel.
#[derive(Debug, Clone, Copy)]
struct OutputBuffer {
    front: PacketIndex,
    back: PacketIndex,
    room: WireSize,
    /// Resource that packets behind the last that was sent wait for, which it waited for, or its link.
    held_by: Resource,
    /// True if a packet has asked to cross to it and found no room, since the last that crossed.
    lacks: bool,
    /// End of the transmission of the packet that was sent last.
    left_at: Time,
}

/// Origin of a packet in an output buffer.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Origin {
    /// Channel that it has come by.
    pub input: ChannelIndex,
    /// Time since which it could ask to cross.
    pub ready: Time,
}

/// Crossing of a packet to an output buffer.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Crossing {
    /// Time at which all of it has crossed.
    pub end: Time,
    /// Time at which the start of the link that it came by will know of the room that it leaves.
    pub credit_at: Time,
    /// Resource that it waited for.
    pub held_by: Resource,
}

/// Outcome of a look of an output at its buffers.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Departure {
    /// Nothing is sent now.
    Nothing,
    /// Nothing is sent for lack of credit in this channel, and in others behind it.
    Stalled(ChannelIndex),
    /// The first packet of this channel is sent.
    Granted(ChannelIndex),
}

impl OutputBuffers {
    /// Empty buffers of `size` for `channels` channels of `links` links.
    pub fn new(links: usize, channels: usize, size: Bytes) -> OutputBuffers {
        let size = WireSize(size.0 as u32);
        let port = OutputPort {
            line_idle_at: Time::ZERO,
            packets: 0,
            sent: ChannelIndex(u32::MAX),
            leaving: WireSize(0),
        };
        let buffer = OutputBuffer {
            front: PacketIndex::NONE,
            back: PacketIndex::NONE,
            room: size,
            held_by: Resource::NOTHING,
            lacks: false,
            left_at: Time::ZERO,
        };
        OutputBuffers { size, ports: vec![port; links], buffers: vec![buffer; channels], origins: Vec::new() }
    }

    /// Takes the room back that the last packet of `link` has left, which is idle.
    fn reclaim(&mut self, link: LinkId) {
        let port = &mut self.ports[link.at()];
        if port.leaving.0 > 0 {
            self.buffers[port.sent.at()].room.0 += std::mem::take(&mut port.leaving).0;
        }
    }

    fn push(&mut self, packet: PacketIndex, channel: ChannelIndex, packets: &mut Packets) {
        let buffer = &mut self.buffers[channel.at()];
        if buffer.front == PacketIndex::NONE {
            buffer.front = packet;
        } else {
            packets[buffer.back].next = packet;
        }
        buffer.back = packet;
    }

    fn pop(&mut self, channel: ChannelIndex, link: LinkId, packets: &mut Packets) -> PacketIndex {
        let buffer = &mut self.buffers[channel.at()];
        let packet = buffer.front;
        buffer.front = std::mem::replace(&mut packets[packet].next, PacketIndex::NONE);
        self.ports[link.at()].packets -= 1;
        packet
    }
}

impl Switch {
    /// True if packets cross to buffers of outputs.
    #[inline]
    pub fn has_output_buffers(&self) -> bool {
        self.outputs.is_some()
    }

    /// True if packets wait in output buffers for `link`.
    #[inline(always)]
    pub fn has_stored(&self, link: LinkId) -> bool {
        self.outputs.as_ref().is_some_and(|outputs| outputs.ports[link.at()].packets > 0)
    }

    /// True if packets wait in output buffers for `first`, or another link of the same NIC in its direction.
    pub(super) fn has_stored_from(&self, first: LinkId) -> bool {
        match self.outputs.is_some() && self.is_shared(first) {
            true => self.in_turn(first).any(|link| self.has_stored(link)),
            false => self.has_stored(first),
        }
    }

    fn outputs(&mut self) -> &mut OutputBuffers {
        self.outputs.as_mut().expect("outputs have buffers")
    }

    /// Time at which the crossbar's line to the output `link` is idle, where that has buffers.
    #[inline]
    pub(super) fn crossing_at(&self, link: LinkId) -> Option<Time> {
        self.outputs.as_ref().map(|outputs| outputs.ports[link.at()].line_idle_at)
    }

    /// The output `link` chooses among the packets that ask to cross to it: the channel whose first does, and what remains.
    #[inline(always)]
    pub fn choose_crossing(
        &mut self,
        now: Time,
        link: LinkId,
        packets: &Packets,
        messages: &Messages,
    ) -> (Option<ChannelIndex>, Remaining) {
        let first = self.first_link(link);
        if !self.has_requests(first) {
            return (None, Remaining::NONE);
        }
        let is_link_idle = self.ports[link.at()].idle_at <= now;
        let outputs = self.outputs();
        if is_link_idle {
            outputs.reclaim(link);
        }
        if outputs.ports[link.at()].line_idle_at > now {
            return (None, Remaining { ready_at: now, lacks_room: false });
        }
        let (chosen, remaining) = self.choose(now, first, packets, messages, |switch, wants, size| {
            let wants = switch.channel_count.same_on(link, wants);
            let buffer = &mut switch.outputs().buffers[wants.at()];
            buffer.lacks |= buffer.room < size;
            buffer.room >= size
        });
        let channel = chosen.map(|source| match source {
            Source::Channel(channel) => channel,
            Source::Sender(sender) => panic!("{sender:?} asks for {link:?}, which is no link of its host"),
        });
        (channel, remaining)
    }

    /// The packet in `state`, the first of channel `input` until now, crosses to the output `link`.
    #[inline(always)]
    pub fn cross(
        &mut self,
        now: Time,
        link: LinkId,
        input: ChannelIndex,
        state: &mut InTransit,
        queue: &mut Queue,
    ) -> Crossing {
        let (from, resource) = (self.link_of(input), self.kind(link).resource);
        let come = *self.kind(from);
        let (wants, size) = (state.wants, state.size);
        let end = (now + self.crossing_time(&come, link, size)).max(state.tail + come.pipeline);

        let buffer = &mut self.outputs.as_mut().expect("outputs have buffers").buffers[wants.at()];
        buffer.room.0 -= size.0;
        let lacked = std::mem::take(&mut buffer.lacks) && buffer.held_by != Resource::NOTHING;
        let turn = if lacked { buffer.held_by } else { resource };
        let channel = &mut self.channels[input.at()];
        let held_by = wait_in_turn(state, now, channel.left_at, &mut channel.held_by, turn, resource);
        channel.left_at = end;
        (state.tail, state.ready) = (end, now);

        let outputs = self.outputs();
        outputs.ports[link.at()].line_idle_at = end;
        if let Some(line) = self.hold_line(from, end) {
            queue.push(end, self.owner, Step::Idle { output: None, line: Some(line) }.token());
        }
        Crossing { end, credit_at: end + come.cable, held_by }
    }

    /// True if a packet of `size` that has just crossed to the buffer of channel `wants` may leave over `link` at once: it is
    /// the only one there, and the link and credits are there.
    #[inline(always)]
    pub fn may_depart(&mut self, now: Time, link: LinkId, wants: ChannelIndex, size: WireSize) -> bool {
        self.outputs().ports[link.at()].packets == 0
            && self.ports[link.at()].idle_at <= now
            && self.has_credit(now, wants, size, &mut { Time::NEVER })
    }

    /// `packet`, which has crossed to the output buffer of `channel`, waits there.
    pub fn store(&mut self, packet: PacketIndex, channel: ChannelIndex, packets: &mut Packets) {
        let link = self.link_of(channel);
        let outputs = self.outputs();
        outputs.push(packet, channel, packets);
        outputs.ports[link.at()].packets += 1;
    }

    /// The output `link` chooses among the first packets of its buffers.
    pub fn choose_departure(
        &mut self,
        now: Time,
        link: LinkId,
        packets: &Packets,
        messages: &Messages,
        queue: &mut Queue,
    ) -> Departure {
        let OutputPort { packets: count, sent, .. } = self.outputs().ports[link.at()];
        if count == 0 || self.ports[link.at()].idle_at > now {
            return Departure::Nothing;
        }
        let mut chosen: Option<((Time, u32), ChannelIndex)> = None;
        let mut lacking: Option<ChannelIndex> = None;
        let mut next_credit = Time::NEVER;
        for channel in self.channel_count.channels(link) {
            let front = self.outputs().buffers[channel.at()].front;
            if front == PacketIndex::NONE {
                continue;
            }
            if !self.has_credit(now, channel, packets[front].size, &mut next_credit) {
                lacking = lacking.or(Some(channel));
                continue;
            }
            let key = match self.arbitration {
                Arbitration::RoundRobin => (Time::ZERO, channel.0.wrapping_sub(sent.0).wrapping_sub(1)),
                Arbitration::Age => (messages.get(packets[front].message).injected, channel.0),
            };
            if chosen.is_none_or(|(least, _)| key < least) {
                chosen = Some((key, channel));
            }
        }
        if let Some((_, channel)) = chosen {
            return Departure::Granted(channel);
        }
        if next_credit != Time::NEVER {
            self.look_at(link, next_credit, queue);
        }
        lacking.map_or(Departure::Nothing, Departure::Stalled)
    }

    /// Takes the first packet out of the output buffer of `channel`.
    pub fn take_stored(&mut self, channel: ChannelIndex, packets: &mut Packets) -> PacketIndex {
        let link = self.link_of(channel);
        self.outputs().pop(channel, link, packets)
    }

    /// `packet`, which was first in the output buffer of `channel`, is sent until `end`, when its room there is free. Adds to
    /// its waits.
    #[inline(always)]
    pub fn end_wait_in_store(&mut self, now: Time, channel: ChannelIndex, end: Time, packet: &mut InTransit) {
        let link = self.link_of(channel);
        let resource = self.kind(link).resource;
        let turn = self.turn_of(now, link, channel, packet);
        let outputs = self.outputs();
        outputs.reclaim(link);
        let port = &mut outputs.ports[link.at()];
        (port.sent, port.leaving) = (channel, packet.size);
        let buffer = &mut outputs.buffers[channel.at()];
        wait_in_turn(packet, now, buffer.left_at, &mut buffer.held_by, turn, resource);
        buffer.left_at = end;
    }

    /// Lets the output `link` look again when what `remains` of its requests may cross, or when its link is idle, if
    /// something waits for that. Returning credit wakes the packets that wait for it.
    #[inline(always)]
    pub fn look_again(&mut self, now: Time, link: LinkId, remaining: Remaining, queue: &mut Queue) {
        let OutputPort { line_idle_at, packets, .. } = self.outputs().ports[link.at()];
        let idle_at = self.ports[link.at()].idle_at;
        let mut at = remaining.ready_at.max(line_idle_at);
        if idle_at > now && (packets > 0 || remaining.lacks_room) {
            at = at.min(idle_at);
        }
        if at != Time::NEVER {
            self.look_at(link, at, queue);
        }
    }

    /// Drops the first packet out of the output buffer of `channel`, if there is one. Its room is free at once: as long as
    /// it crosses, nothing else does.
    pub fn drop_stored(&mut self, channel: ChannelIndex, packets: &mut Packets) -> Option<PacketIndex> {
        let link = self.link_of(channel);
        let outputs = self.outputs.as_mut()?;
        if outputs.buffers[channel.at()].front == PacketIndex::NONE {
            return None;
        }
        let packet = outputs.pop(channel, link, packets);
        outputs.buffers[channel.at()].room.0 += packets[packet].size.0;
        Some(packet)
    }

    /// Keeps the origin of `packet`, which crosses, for an observer.
    pub fn note_origin(&mut self, packet: PacketIndex, origin: Origin) {
        let origins = &mut self.outputs().origins;
        if packet.at() >= origins.len() {
            origins.resize(packet.at() + 1, origin);
        }
        origins[packet.at()] = origin;
    }

    /// Origin of `packet`, which is in an output buffer or has just left one; `None` where outputs have none.
    pub fn origin(&self, packet: PacketIndex) -> Option<Origin> {
        self.outputs.as_ref()?.origins.get(packet.at()).copied()
    }

    /// Bytes in the output buffers of `link` at `now`.
    #[inline]
    pub fn stored(&self, now: Time, link: LinkId) -> Bytes {
        self.outputs.as_ref().map_or(Bytes(0), |outputs| self.stored_in(outputs, now, link))
    }

    fn stored_in(&self, outputs: &OutputBuffers, now: Time, link: LinkId) -> Bytes {
        let buffers = &outputs.buffers[self.channel_count.range(link)];
        let taken: u64 = buffers.iter().map(|buffer| outputs.size.wide() - buffer.room.wide()).sum();
        let is_idle = self.ports[link.at()].idle_at <= now;
        let left = if is_idle { outputs.ports[link.at()].leaving.wide() } else { 0 };
        Bytes(taken - left)
    }
}
