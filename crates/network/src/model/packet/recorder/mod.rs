//! Recorder: notes of packets, if somebody asks for them. It takes no part in what happens.

mod hops;
mod statistics;

use engine::{Duration, Time};

use super::index::{ChannelIndex, MessageIndex, PacketIndex, PacketNumber, SenderIndex};
use super::messages::Messages;
use super::size::{Span, WireSize};
use super::switch::{ChannelCount, Source};
use crate::Part;
use crate::message::{Arrival, Message};
use crate::statistics::{Options, Statistics};
use crate::topology::{LinkId, Topology};
use statistics::StatisticsRecorder;

pub use hops::Hop;

/// Notes of packets, if somebody asks for them.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    hops: Option<Vec<Hop>>,
    statistics: Option<Box<StatisticsRecorder>>,
    /// True if somebody observes every hop.
    is_watching: bool,
}

/// Grant of a link to a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grant<'a> {
    /// Transmission over the link.
    pub span: Span,
    pub source: Source,
    /// Channel that the packet takes.
    pub channel: ChannelIndex,
    pub packet: PacketIndex,
    /// Number of the packet within its message.
    pub number: PacketNumber,
    pub size: WireSize,
    /// Payload of the packet \[bytes\], if it leaves its host.
    pub payload: Option<u32>,
    /// Message of the packet, one of `messages`.
    pub message: MessageIndex,
    pub messages: &'a Messages,
    /// Pipeline of the router that the packet leaves, if it leaves one.
    pub pipeline: Duration,
}

impl Grant<'_> {
    fn message(&self) -> &Message {
        &self.messages.get(self.message).message
    }
}

impl Recorder {
    /// Keeps every hop from now on.
    pub fn keep_hops(&mut self) {
        self.hops.get_or_insert_default();
        self.is_watching = true;
    }

    /// Takes the hops kept so far.
    pub fn take_hops(&mut self) -> Vec<Hop> {
        self.hops.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Keeps statistics from now on, of one part of a network with so many `channels` for each link and so many `senders`.
    pub fn keep_statistics(
        &mut self,
        options: &Options,
        topology: &dyn Topology,
        part: &Part,
        channels: ChannelCount,
        senders: usize,
    ) {
        let statistics = StatisticsRecorder::new(options, topology, part, channels, senders);
        self.statistics = Some(Box::new(statistics));
        self.is_watching = true;
    }

    /// Gives the statistics up to `now`, if they were kept.
    pub fn take_statistics(&mut self, now: Time) -> Option<Box<Statistics>> {
        self.statistics.take().map(|statistics| Box::new(statistics.finish(now)))
    }

    /// True if somebody observes every hop.
    #[inline]
    pub fn is_watching(&self) -> bool {
        self.is_watching
    }

    /// True if statistics are kept.
    #[inline]
    pub fn has_statistics(&self) -> bool {
        self.statistics.is_some()
    }

    /// Asks for what will be needed of `packet`, which comes by `channel` and goes on by `wants`.
    #[inline]
    pub fn prefetch(&self, channel: ChannelIndex, packet: PacketIndex, wants: ChannelIndex) {
        if let Some(statistics) = &self.statistics {
            statistics.prefetch(channel, packet, wants);
        }
    }

    /// `sender` asks for its host's link.
    #[inline]
    pub fn ask(&mut self, now: Time, sender: SenderIndex) {
        if let Some(statistics) = &mut self.statistics {
            statistics.ask(now, sender);
        }
    }

    /// Messages have been delivered, or sent, `now`.
    #[inline]
    pub fn report(&mut self, now: Time, arrivals: &[Arrival]) {
        if let Some(statistics) = &mut self.statistics {
            statistics.report(now, arrivals);
        }
    }

    /// A packet of `size` may ask for its next link; it has come by `channel`. Its `payload` is given if it comes from
    /// another part.
    pub fn arrive(
        &mut self,
        now: Time,
        packet: PacketIndex,
        channel: ChannelIndex,
        size: WireSize,
        payload: Option<u32>,
    ) {
        if let Some(statistics) = &mut self.statistics {
            statistics.arrive(now, packet, channel, size, payload);
        }
    }

    /// The output `link` has requests and grants none, for lack of credit in `channel`. That lasts until its next
    /// grant, whatever it finds when it looks in between: it may look more often where the network is cut.
    #[inline]
    pub fn stall(&mut self, now: Time, link: LinkId, channel: ChannelIndex) {
        if let Some(statistics) = &mut self.statistics {
            statistics.stall(now, link, channel);
        }
    }

    /// A packet is granted a channel.
    pub fn grant(&mut self, grant: &Grant, channels: ChannelCount) {
        if let Some(hops) = &mut self.hops {
            hops.push(Hop {
                message: grant.message().cargo,
                number: grant.number.0,
                link: channels.link_of(grant.channel),
                channel: channels.number_of(grant.channel),
                begin: grant.span.begin,
                end: grant.span.end,
            });
        }
        if let Some(statistics) = &mut self.statistics {
            statistics.grant(grant);
        }
    }

    /// A packet of `size` is dropped from the buffer of `channel`, whose room is free at the end of `span`.
    pub fn drop_packet(&mut self, span: Span, channel: ChannelIndex, size: WireSize) {
        if let Some(statistics) = &mut self.statistics {
            statistics.drop_packet(span, channel, size);
        }
    }
}
