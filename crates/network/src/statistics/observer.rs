//! Observer of packets that keeps statistics over time.
//!
//! Each virtual channel has a record of its own for the present period; what is in it is added to the
//! tables when a later period has begun, so that a packet touches two records and no tables.

mod ends;

use engine::{Bytes, Observer, Time, prefetch};

use super::{Latencies, Options, Periods, Places, Regions, SlowPacket, SlowPackets, Statistics, Traffic};
use crate::message::{Arrival, Happening, Message};
use crate::observe::{Buffer, LinkChannel, NetworkObserver, NetworkRecord, PacketHop};
use crate::topology::{LinkId, Node, Topology};
use crate::{Fabric, Part};
use ends::{Contents, Output};

/// No place.
const NONE: u32 = u32::MAX;

/// Statistics of packets while they go, see [`super`].
#[derive(Debug)]
pub struct StatisticsObserver {
    tables: Tables,
    places: Option<Places>,
    /// The most by region, and by place.
    rows: u32,
    latency: Periods<Vec<Latencies>>,
    slow: SlowPackets,
    /// Number of virtual channels of each link.
    channels: u32,
    /// Start of each virtual channel.
    outputs: Vec<Output>,
    /// Input buffer of each virtual channel.
    inputs: Vec<Contents<false>>,
    /// Output buffer of each virtual channel; empty until a packet crosses to one.
    stores: Vec<Contents<true>>,
    /// Virtual channel for lack of whose credit each link is stalled, or none.
    stalled: Vec<Option<LinkChannel>>,
    /// Latest transmission of each link.
    latest: Vec<Option<Transmission>>,
}

/// Bytes of a packet.
#[derive(Debug, Default, Clone, Copy)]
struct Size {
    wire: u32,
    /// Payload among them.
    payload: u32,
}

/// Time from a begin to an end.
#[derive(Debug, Default, Clone, Copy)]
struct Span {
    begin: Time,
    end: Time,
}

/// The latest packet that a link has begun to send.
#[derive(Debug, Clone, Copy)]
struct Transmission {
    span: Span,
    channel: LinkChannel,
    size: Size,
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

impl StatisticsObserver {
    /// Observer of one part of `fabric`, from the start.
    pub fn new(options: &Options, fabric: &Fabric, part: &Part) -> StatisticsObserver {
        let topology = &*fabric.topology;
        let links = topology.links() as usize;
        let channels = u32::from(fabric.routing.channel_count());
        let found = options.places(topology, channels);
        let places = found.map(|(places, _)| places);
        let regions = Regions::of(topology, options.rows);
        let (groups, ids) = groups(places, &regions, topology, part, channels);
        let classes = (0..topology.classes().len() as u32 * channels).collect();
        let by_place = found.map(|(_, count)| Traffic::new((options.period, options.periods_of(count)), ids));
        let periods = options.periods_of(regions.count());
        let regions = Traffic::new((options.period, periods), (0..regions.count()).collect());
        let classes = Traffic::new((options.period, options.periods), classes);
        let stride = u32::from(places == Some(Places::Channels));
        StatisticsObserver {
            tables: Tables { classes, regions, by_place, groups, stride },
            places,
            rows: options.rows,
            latency: Periods::new(options.period, options.periods, Vec::new()),
            slow: SlowPackets::new(options.residence, options.slow_packets),
            channels,
            outputs: vec![Output::default(); links * channels as usize],
            inputs: vec![Contents::default(); links * channels as usize],
            stores: Vec::new(),
            stalled: vec![None; links],
            latest: vec![None; links],
        }
    }

    /// Index of a channel.
    #[inline]
    fn at(&self, channel: LinkChannel) -> usize {
        (channel.link.0 * self.channels + u32::from(channel.number)) as usize
    }

    /// A message has been sent or delivered.
    fn arrival(&mut self, now: Time, arrival: &Arrival) {
        let Message { from, to, .. } = arrival.message;
        if arrival.happening == Happening::Delivered && from.host != to.host {
            self.latency.note(now, now.since(arrival.injected));
        }
    }

    /// A link lacks credit in `channel`.
    fn stall(&mut self, now: Time, channel: LinkChannel) {
        if self.stalled[channel.link.at()].is_none() {
            self.stalled[channel.link.at()] = Some(channel);
            let at = self.at(channel);
            self.outputs[at].stalled_since = now;
        }
    }

    /// `link` does not lack credit any more.
    fn go_on(&mut self, now: Time, link: LinkId) {
        if let Some(channel) = self.stalled[link.at()].take() {
            let at = self.at(channel);
            self.outputs[at].go_on(now, channel, &mut self.tables);
        }
    }

    /// A packet has been granted a link.
    fn hop(&mut self, hop: &PacketHop) {
        let span = Span { begin: hop.begin, end: hop.end };
        let size = Size { wire: hop.size.0 as u32, payload: hop.payload.0 as u32 };
        self.tables.advance(span.begin);
        self.go_on(span.begin, hop.to.link);
        if let Some(from) = hop.from {
            let at = self.at(from);
            match hop.leaves {
                Buffer::Input => self.inputs[at].leave(span, size.wire, from, &mut self.tables),
                Buffer::Output => self.leave_store(span, size.wire, hop.to),
            }
        }
        let (waited, at) = (span.begin.since(hop.ready), self.at(hop.to));
        self.outputs[at].send(span, size, waited, hop.to, &mut self.tables);
        self.latest[hop.to.link.at()] = Some(Transmission { span, channel: hop.to, size });
        if let Some(from) = hop.from
            && self.slow.is_slow(span.end.since(hop.arrived))
        {
            self.note_slow(from, hop);
        }
    }

    /// A packet of `size` crosses in `span` from the input buffer of one channel to the output buffer of another.
    fn cross(&mut self, span: Span, size: Bytes, from: LinkChannel, to: LinkChannel) {
        self.tables.advance(span.begin);
        let (at, store) = (self.at(from), self.at(to));
        self.inputs[at].leave(span, size.0 as u32, from, &mut self.tables);
        if self.stores.is_empty() {
            self.stores = vec![Contents::default(); self.inputs.len()];
        }
        self.stores[store].arrive(span.begin, size, to, &mut self.tables);
    }

    /// A packet of `size` bytes leaves the output buffer of `channel` in `span`.
    fn leave_store(&mut self, span: Span, size: u32, channel: LinkChannel) {
        let at = self.at(channel);
        self.stores[at].leave(span, size, channel, &mut self.tables);
    }

    /// A packet leaves the buffer of `from` after too long a residence.
    #[cold]
    fn note_slow(&mut self, from: LinkChannel, hop: &PacketHop) {
        let at = self.at(from);
        self.inputs[at].slow += 1;
        self.slow.note(SlowPacket {
            residence: hop.end.since(hop.arrived),
            ready: hop.ready,
            waited: hop.begin.since(hop.ready),
            link: from.link,
            channel: from.number,
            next: hop.to.link,
            from: hop.message.from.host,
            to: hop.message.to.host,
            number: hop.number,
        });
    }

    /// Gives the statistics up to `now`.
    pub fn finish(mut self, now: Time) -> Statistics {
        self.tables.advance(now);
        for link in (0..self.stalled.len() as u32).map(LinkId) {
            self.go_on(now, link);
            if let Some(Transmission { span: Span { begin, end }, channel, size }) = self.latest[link.at()]
                && end > now
            {
                let (at, size) = (self.at(channel), (size.wire, size.payload));
                self.outputs[at].give(channel, &mut self.tables);
                self.tables
                    .of_output(channel, |table, place| table.cut_short(place, (begin, end), now, size));
            }
            for number in 0..self.channels {
                let channel = LinkChannel { link, number: number as u8 };
                let at = self.at(channel);
                self.outputs[at].give(channel, &mut self.tables);
                self.inputs[at].settle(now, channel, &mut self.tables);
                self.inputs[at].give(channel, &mut self.tables);
                if let Some(store) = self.stores.get_mut(at) {
                    store.settle(now, channel, &mut self.tables);
                    store.give(channel, &mut self.tables);
                }
            }
        }
        let StatisticsObserver { places, rows, channels, .. } = self;
        let Tables { mut classes, mut regions, mut by_place, .. } = self.tables;
        classes.reach(now);
        regions.reach(now);
        self.latency.reach(now);
        by_place.iter_mut().for_each(|by_place| by_place.reach(now));
        let (latency, slow, output_buffers) = (self.latency, self.slow, !self.stores.is_empty());
        Statistics {
            classes,
            regions,
            rows,
            places,
            by_place,
            channels,
            output_buffers,
            latency,
            slow,
            until: now,
        }
    }
}

impl Observer<NetworkRecord<'_>> for StatisticsObserver {
    #[inline]
    fn record(&mut self, now: Time, record: &NetworkRecord) {
        match record {
            NetworkRecord::Hop(hop) => self.hop(hop),
            NetworkRecord::Buffered { channel, size } => {
                let at = self.at(*channel);
                self.tables.advance(now);
                self.inputs[at].arrive(now, *size, *channel, &mut self.tables);
            }
            NetworkRecord::Arrival(arrival) => self.arrival(now, arrival),
            NetworkRecord::Stalled(channel) => self.stall(now, *channel),
            NetworkRecord::Crossed { from, to, size, until } => {
                self.cross(Span { begin: now, end: *until }, *size, *from, *to);
            }
            NetworkRecord::Dropped { channel, buffer, size, until } => {
                let at = self.at(*channel);
                self.tables.advance(now);
                let span = Span { begin: now, end: *until };
                match buffer {
                    Buffer::Input => {
                        self.inputs[at].leave(span, size.0 as u32, *channel, &mut self.tables);
                    }
                    Buffer::Output => self.leave_store(span, size.0 as u32, *channel),
                }
            }
            NetworkRecord::LinkUse(_) | NetworkRecord::Totals(_) | NetworkRecord::CutOff(_) => {}
        }
    }
}

impl NetworkObserver for StatisticsObserver {
    fn prefetch(&self, from: LinkChannel, to: LinkChannel) {
        prefetch(&self.inputs, self.at(from));
        prefetch(&self.outputs, self.at(to));
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
    fn of_output(&mut self, at: LinkChannel, add: impl Fn(&mut Traffic, u32)) {
        let groups = self.groups[at.link.at()];
        add(&mut self.classes, groups.class + u32::from(at.number));
        add(&mut self.regions, groups.region);
        if let Some(by_place) = &mut self.by_place {
            add(by_place, groups.sent + u32::from(at.number) * self.stride);
        }
    }

    /// The same of what a buffer of `at` holds: the one at its start, or at its end.
    fn of_buffer<const AT_START: bool>(&mut self, at: LinkChannel, add: impl Fn(&mut Traffic, u32)) {
        if AT_START {
            self.of_output(at, add);
        } else {
            self.of_input(at, add);
        }
    }

    /// The same of what is held at its end.
    fn of_input(&mut self, at: LinkChannel, add: impl Fn(&mut Traffic, u32)) {
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
    channels: u32,
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
