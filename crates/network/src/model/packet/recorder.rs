//! Recorder: tells an observer of packets, if there is one. It takes no part in what happens.

use engine::{Bytes, Time};

use super::Packet;
use super::index::{ChannelIndex, PacketIndex};
use super::packets::InTransit;
use super::size::{Span, WireSize};
use super::switch::Source;
use crate::message::Arrival;
use crate::observe::{Buffer, LinkChannel, NetworkObserver, NetworkRecord, PacketEvents, PacketHop};

/// The observer of all packets, if there is one.
#[derive(Default)]
pub(super) struct Recorder {
    observer: Option<Box<dyn NetworkObserver>>,
}

impl Recorder {
    /// True if somebody observes.
    #[inline]
    pub fn is_watching(&self) -> bool {
        self.observer.is_some()
    }

    /// The observer, if there is one.
    #[inline]
    pub fn observer(&self) -> Option<&dyn NetworkObserver> {
        self.observer.as_deref()
    }

    /// Tells of `record`.
    pub fn record(&mut self, now: Time, record: &NetworkRecord) {
        if let Some(observer) = &mut self.observer {
            observer.record(now, record);
        }
    }

    /// Tells of messages that were sent or delivered.
    #[inline]
    pub fn report(&mut self, now: Time, arrivals: &[Arrival]) {
        if let Some(observer) = &mut self.observer {
            arrivals.iter().for_each(|arrival| observer.record(now, &NetworkRecord::Arrival(arrival)));
        }
    }
}

impl PacketEvents for Packet {
    fn observe(&mut self, observer: Box<dyn NetworkObserver>) {
        self.recorder.observer = Some(observer);
    }

    fn take_observer(&mut self) -> Option<Box<dyn NetworkObserver>> {
        self.recorder.observer.take()
    }
}

impl Packet {
    fn link_channel(&self, channel: ChannelIndex) -> LinkChannel {
        let count = self.switch.channel_count();
        LinkChannel { link: count.link_of(channel), number: count.number_of(channel) }
    }

    /// Asks for the memory that the observer needs of a packet that comes by `channel` and goes on by `wants`.
    #[inline]
    pub(super) fn prefetch_observer(&self, channel: ChannelIndex, wants: ChannelIndex) {
        if let Some(observer) = self.recorder.observer() {
            observer.prefetch(self.link_channel(channel), self.link_channel(wants));
        }
    }

    /// Tells that `packet` of `source` is sent in `span` over the channel that it wants.
    #[cold]
    pub(super) fn note_grant(&mut self, span: Span, source: Source, packet: PacketIndex) {
        let InTransit { message, number, wants, size, ready, .. } = self.packets[packet];
        let slot = self.messages.get(message);
        let mut leaves = Buffer::Input;
        let (from, ready, arrived) = match source {
            Source::Sender(sender) => {
                let asked = self.switch.asked(sender).asked;
                (None, asked, asked)
            }
            Source::Channel(channel) => {
                let (mut input, mut ready) = (channel, ready);
                if let Some(origin) = self.switch.origin(packet) {
                    (leaves, input, ready) = (Buffer::Output, origin.input, origin.ready);
                }
                let pipeline = self.switch.kind(self.switch.link_of(input)).pipeline;
                (Some(self.link_channel(input)), ready, Time(ready.0 - pipeline.0))
            }
        };
        let hop = PacketHop {
            message: &slot.message,
            number: number.0,
            size: size.into(),
            payload: self.format.carried_by(slot, number),
            from,
            to: self.link_channel(wants),
            leaves,
            arrived,
            ready,
            begin: span.begin,
            end: span.end,
        };
        self.recorder.record(span.begin, &NetworkRecord::Hop(&hop));
    }

    /// Tells that a packet of `size` has come by `channel`, and may ask for its next link.
    #[inline(never)]
    pub(super) fn note_arrival(&mut self, now: Time, channel: ChannelIndex, size: WireSize) {
        let record = NetworkRecord::Buffered { channel: self.link_channel(channel), size: size.into() };
        self.recorder.record(now, &record);
    }

    /// Tells that `packet` crosses in `span` from channel `input` to the output buffer of the channel that it wants.
    #[cold]
    pub(super) fn note_crossing(&mut self, span: Span, input: ChannelIndex, packet: PacketIndex) {
        let InTransit { wants, size, .. } = self.packets[packet];
        let (from, to) = (self.link_channel(input), self.link_channel(wants));
        let record = NetworkRecord::Crossed { from, to, size: size.into(), until: span.end };
        self.recorder.record(span.begin, &record);
    }

    /// Tells that an output has requests and grants none, for lack of credit in `channel`.
    pub(super) fn note_stall(&mut self, now: Time, channel: ChannelIndex) {
        if self.recorder.is_watching() {
            let record = NetworkRecord::Stalled(self.link_channel(channel));
            self.recorder.record(now, &record);
        }
    }

    /// Tells that a packet of `size` is dropped from the buffer of `channel`, whose room is free at the end of `span`.
    pub(super) fn note_drop(&mut self, span: Span, channel: ChannelIndex, size: WireSize) {
        let (channel, buffer) = (self.link_channel(channel), Buffer::Input);
        let record = NetworkRecord::Dropped { channel, buffer, size: Bytes::from(size), until: span.end };
        self.recorder.record(span.begin, &record);
    }

    /// Tells that a packet of `size` is dropped from the output buffer of `channel`.
    pub(super) fn note_stored_drop(&mut self, now: Time, channel: ChannelIndex, size: WireSize) {
        let (channel, buffer) = (self.link_channel(channel), Buffer::Output);
        let record = NetworkRecord::Dropped { channel, buffer, size: Bytes::from(size), until: now };
        self.recorder.record(now, &record);
    }
}
