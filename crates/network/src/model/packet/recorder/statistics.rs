//! Recorder of statistics over time (see [`crate::statistics`]), if they are asked for.
//!
//! Each virtual channel has a record of its own for the present period; what is in it is added to the
//! tables when a later period has begun, so that a packet touches two records and no tables.

mod ends;

use engine::{Duration, Time, prefetch};

use super::super::NONE;
use super::super::index::{ChannelIndex, PacketIndex, SenderIndex};
use super::super::size::{PacketSize, Span, WireSize};
use super::super::switch::{ChannelCount, Source};
use super::Grant;
use crate::statistics::{
    Latencies, Options, Periods, Places, Regions, SlowPacket, SlowPackets, Statistics, Traffic,
};
use crate::topology::{LinkId, Node, Topology};
use crate::{Arrival, Happening, Message, Part};
use ends::{Input, Output};

/// Records of everything that is observed, and the state that they need.
#[derive(Debug)]
pub(super) struct StatisticsRecorder {
    tables: Tables,
    places: Option<Places>,
    /// The most by region, and by place.
    rows: u32,
    latency: Periods<Vec<Latencies>>,
    slow: SlowPackets,
    channels: ChannelCount,
    /// Start of each virtual channel.
    outputs: Vec<Output>,
    inputs: Vec<Input>,
    /// Virtual channel for lack of whose credit each link is stalled, or none.
    stalled: Vec<Option<ChannelIndex>>,
    /// Latest transmission of each link.
    latest: Vec<Transmission>,
    /// Time at which each process asked for its host's link.
    asked: Vec<Time>,
    packets: Vec<Waiting>,
}

/// Wait of a packet, and its payload.
#[derive(Debug, Default, Clone, Copy)]
struct Waiting {
    /// Time from which it could ask for its next link.
    ready: Time,
    /// \[bytes\]
    payload: u32,
}

/// The latest packet that a link has begun to send.
#[derive(Debug, Default, Clone, Copy)]
struct Transmission {
    span: Span,
    channel: ChannelIndex,
    size: PacketSize,
}

/// By class, by region and by place, over time.
#[derive(Debug)]
struct Tables {
    classes: Traffic,
    regions: Traffic,
    by_place: Option<Traffic>,
    /// Groups of each link.
    groups: Vec<Groups>,
    /// Distance of the places of a link's virtual channels from each other.
    stride: u32,
}

/// Groups in which a link's first virtual channel counts: its class, its region, what it sends, what is held at its end.
#[derive(Debug, Clone, Copy)]
struct Groups {
    class: u32,
    region: u32,
    sent: u32,
    held: u32,
}

/// A virtual channel: its link, and its number there.
#[derive(Debug, Clone, Copy)]
struct At {
    link: LinkId,
    number: u8,
}

impl StatisticsRecorder {
    pub fn new(
        options: &Options,
        topology: &dyn Topology,
        part: &Part,
        channels: ChannelCount,
        senders: usize,
    ) -> StatisticsRecorder {
        let links = topology.links() as usize;
        let width = channels.0;
        let found = options.places(topology, width);
        let places = found.map(|(places, _)| places);
        let regions = Regions::of(topology, options.rows);
        let (groups, ids) = groups(places, &regions, topology, part, channels);
        let classes = (0..topology.classes().len() as u32 * width).collect();
        let by_place = found.map(|(_, count)| Traffic::new((options.period, options.periods_of(count)), ids));
        let periods = options.periods_of(regions.count());
        let regions = Traffic::new((options.period, periods), (0..regions.count()).collect());
        let classes = Traffic::new((options.period, options.periods), classes);
        let stride = u32::from(places == Some(Places::Channels));
        StatisticsRecorder {
            tables: Tables { classes, regions, by_place, groups, stride },
            places,
            rows: options.rows,
            latency: Periods::new(options.period, options.periods, Vec::new()),
            slow: SlowPackets::new(options.residence, options.slow_packets),
            channels,
            outputs: vec![Output::default(); links * width as usize],
            inputs: vec![Input::default(); links * width as usize],
            stalled: vec![None; links],
            latest: vec![Transmission::default(); links],
            asked: vec![Time::ZERO; senders],
            packets: Vec::new(),
        }
    }

    /// Asks for what will be needed of `packet`, which comes by `channel` and goes on by `wants`.
    pub fn prefetch(&self, channel: ChannelIndex, packet: PacketIndex, wants: ChannelIndex) {
        prefetch(&self.inputs, channel.at());
        prefetch(&self.packets, packet.at());
        prefetch(&self.outputs, wants.at());
    }

    /// `sender` asks for its host's link.
    pub fn ask(&mut self, now: Time, sender: SenderIndex) {
        self.asked[sender.at()] = now;
    }

    /// Messages have been delivered, or sent, `now`.
    pub fn report(&mut self, now: Time, arrivals: &[Arrival]) {
        for arrival in arrivals {
            let Message { from, to, .. } = arrival.message;
            if arrival.happening == Happening::Delivered && from.host != to.host {
                self.latency.note(now, now.since(arrival.injected));
            }
        }
    }

    /// A packet of `size` has come by `channel`.
    #[inline(never)]
    pub fn arrive(
        &mut self,
        now: Time,
        packet: PacketIndex,
        channel: ChannelIndex,
        size: WireSize,
        payload: Option<u32>,
    ) {
        let at = self.at(channel);
        let known = self.packet(packet);
        known.ready = now;
        known.payload = payload.unwrap_or(known.payload);
        self.tables.advance(now);
        self.inputs[channel.at()].arrive(now, size, at, &mut self.tables);
    }

    /// The output `link` has requests, and none for lack of credit in `channel`.
    #[inline(never)]
    pub fn stall(&mut self, now: Time, link: LinkId, channel: ChannelIndex) {
        let stalled = &mut self.stalled[link.at()];
        if stalled.is_none() {
            *stalled = Some(channel);
            self.outputs[channel.at()].stalled_since = now;
        }
    }

    /// The output `link` does not lack credit any more.
    fn go_on(&mut self, now: Time, link: LinkId) {
        if let Some(channel) = self.stalled[link.at()].take() {
            let at = self.at(channel);
            self.outputs[channel.at()].go_on(now, at, &mut self.tables);
        }
    }

    /// A packet is granted a channel.
    #[inline(never)]
    pub fn grant(&mut self, grant: &Grant) {
        let (span, output) = (grant.span, self.at(grant.channel));
        let now = span.begin;
        let known = self.packet(grant.packet);
        known.payload = grant.payload.unwrap_or(known.payload);
        let Waiting { mut ready, payload } = *known;
        if let Source::Sender(sender) = grant.source {
            ready = self.asked[sender.at()];
        }
        self.tables.advance(now);
        self.go_on(now, output.link);
        if let Source::Channel(input) = grant.source {
            let at = self.at(input);
            self.inputs[input.at()].leave(span, grant.size, at, &mut self.tables);
        }
        let size = PacketSize { wire: grant.size, payload };
        let waited = now.since(ready);
        self.outputs[grant.channel.at()].send(span, size, waited, output, &mut self.tables);
        self.latest[output.link.at()] = Transmission { span, channel: grant.channel, size };
        if let Source::Channel(input) = grant.source {
            let residence = span.end.since(ready) + grant.pipeline;
            if self.slow.is_slow(residence) {
                self.note_slow(ready, residence, input, grant);
            }
        }
    }

    /// A packet leaves the buffer of `input`, in which it was `ready`, after too long a `residence`.
    #[cold]
    fn note_slow(&mut self, ready: Time, residence: Duration, input: ChannelIndex, grant: &Grant) {
        let message = grant.message();
        self.inputs[input.at()].slow += 1;
        self.slow.note(SlowPacket {
            residence,
            ready,
            waited: grant.span.begin.since(ready),
            link: self.channels.link_of(input),
            channel: self.channels.number_of(input),
            next: self.channels.link_of(grant.channel),
            from: message.from.host,
            to: message.to.host,
            number: grant.number.0,
        });
    }

    /// A packet of `size` is dropped from the buffer of `channel`, whose room is free at the end of `span`.
    pub fn drop_packet(&mut self, span: Span, channel: ChannelIndex, size: WireSize) {
        let at = self.at(channel);
        self.tables.advance(span.begin);
        self.inputs[channel.at()].leave(span, size, at, &mut self.tables);
    }

    fn at(&self, channel: ChannelIndex) -> At {
        At { link: self.channels.link_of(channel), number: self.channels.number_of(channel) }
    }

    /// Record of a packet.
    fn packet(&mut self, index: PacketIndex) -> &mut Waiting {
        if index.at() >= self.packets.len() {
            self.packets.resize(index.at() + 1, Waiting::default());
        }
        &mut self.packets[index.at()]
    }

    /// Gives the statistics up to `now`.
    pub fn finish(mut self, now: Time) -> Statistics {
        self.tables.advance(now);
        for link in (0..self.stalled.len() as u32).map(LinkId) {
            self.go_on(now, link);
            let Transmission { span: Span { begin, end }, channel, size } = self.latest[link.at()];
            if end > now {
                let (at, size) = (self.at(channel), (size.wire.0, size.payload));
                self.outputs[channel.at()].give(at, &mut self.tables);
                self.tables.of_output(at, |table, place| table.cut_short(place, (begin, end), now, size));
            }
            for channel in self.channels.range(link) {
                let at = self.at(ChannelIndex(channel as u32));
                self.outputs[channel].give(at, &mut self.tables);
                self.inputs[channel].settle(now, at, &mut self.tables);
                self.inputs[channel].give(at, &mut self.tables);
            }
        }
        let StatisticsRecorder { places, rows, channels, .. } = self;
        let Tables { mut classes, mut regions, mut by_place, .. } = self.tables;
        classes.reach(now);
        regions.reach(now);
        self.latency.reach(now);
        by_place.iter_mut().for_each(|by_place| by_place.reach(now));
        let (latency, slow, channels) = (self.latency, self.slow, channels.0);
        Statistics { classes, regions, rows, places, by_place, channels, latency, slow, until: now }
    }
}

impl Tables {
    /// It is `now`.
    #[inline]
    fn advance(&mut self, now: Time) {
        if now >= self.classes.end() {
            self.classes.advance(now);
            // Their periods are as long, or a multiple.
            self.regions.advance(now);
            self.by_place.iter_mut().for_each(|by_place| by_place.advance(now));
        }
    }

    /// Calls `add` with each table, and the place in it of what `at` sends.
    fn of_output(&mut self, at: At, add: impl Fn(&mut Traffic, u32)) {
        let groups = self.groups[at.link.at()];
        add(&mut self.classes, groups.class + u32::from(at.number));
        add(&mut self.regions, groups.region);
        if let Some(by_place) = &mut self.by_place {
            add(by_place, groups.sent + u32::from(at.number) * self.stride);
        }
    }

    /// The same of what is held at its end.
    fn of_input(&mut self, at: At, add: impl Fn(&mut Traffic, u32)) {
        let groups = self.groups[at.link.at()];
        add(&mut self.classes, groups.class + u32::from(at.number));
        add(&mut self.regions, groups.region);
        if let Some(by_place) = &mut self.by_place {
            add(by_place, groups.held + u32::from(at.number) * self.stride);
        }
    }
}

/// Groups of each link, and the places of this part: a link counts if one of its ends is here.
fn groups(
    places: Option<Places>,
    regions: &Regions,
    topology: &dyn Topology,
    part: &Part,
    ChannelCount(channels): ChannelCount,
) -> (Vec<Groups>, Vec<u32>) {
    let owns = |node: Node| part.is_whole() || part.cut.of_node(node) == part.me;
    let all = |id: u32| {
        let link = topology.link(LinkId(id));
        let [from, to] = topology.routers_of(LinkId(id));
        let (sent, held) = match places {
            None => (0, 0),
            Some(Places::Channels) => (id * channels, id * channels),
            Some(Places::Links) => (id, id),
            Some(Places::Routers) => (from.0, to.0),
        };
        let class = u32::from(link.class) * channels;
        let region = regions.of_link(topology, LinkId(id));
        (Groups { class, region, sent, held }, owns(link.from) || owns(link.to))
    };
    let all: Vec<(Groups, bool)> = (0..topology.links()).map(all).collect();
    let width = if places == Some(Places::Channels) { channels } else { 1 };
    let here = all.iter().filter(|(_, here)| *here).flat_map(|(groups, _)| [groups.sent, groups.held]);
    let mut ids: Vec<u32> = here.flat_map(|first| first..first + width).collect();
    ids.sort_unstable();
    ids.dedup();
    let place = |group: u32| ids.binary_search(&group).map_or(NONE, |place| place as u32);
    let placed =
        |(groups, _): (Groups, bool)| Groups { sent: place(groups.sent), held: place(groups.held), ..groups };
    (all.into_iter().map(placed).collect(), ids)
}
