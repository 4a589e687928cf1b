//! Recorder of statistics over time (see [`crate::statistics`]), if they are asked for.
//!
//! Each virtual channel has a record of its own for the present period; what is in it is added to the
//! tables when a later period has begun, so that a packet touches two records and no tables.

mod ends;

use engine::{Duration, Time, prefetch};

use super::index::{PacketIndex, SenderIndex};
use super::transit::InTransit;
use super::{NONE, Packet};
use crate::statistics::{
    Latencies, Options, Periods, Places, Regions, SlowPacket, SlowPackets, Statistics, Traffic,
};
use crate::topology::{LinkId, Node, Topology};
use crate::{Arrival, Happening, Message, Part};
use ends::{Input, Output};

/// Records of everything that is observed, and the state that they need.
#[derive(Debug)]
pub(super) struct Recorder {
    tables: Tables,
    places: Option<Places>,
    /// The most by region, and by place.
    rows: u32,
    latency: Periods<Vec<Latencies>>,
    slow: SlowPackets,
    channels: u32,
    /// Start of each virtual channel.
    outputs: Vec<Output>,
    inputs: Vec<Input>,
    /// Virtual channel for lack of whose credit each link is stalled, or none.
    stalled: Vec<u32>,
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
    begin: Time,
    end: Time,
    lane: u32,
    /// \[bytes\]: on the wire, and the payload among them.
    size: (u32, u32),
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

/// A virtual channel: its link, its number there, its number among all.
#[derive(Debug, Clone, Copy)]
struct At {
    link: u32,
    channel: u32,
    lane: u32,
}

impl Recorder {
    pub fn new(
        options: &Options,
        topology: &dyn Topology,
        part: &Part,
        channels: u32,
        processes: u32,
    ) -> Recorder {
        let links = topology.links();
        let found = options.places(topology, channels);
        let places = found.map(|(places, _)| places);
        let regions = Regions::of(topology, options.rows);
        let (groups, ids) = groups((places, &regions), topology, part, channels);
        let classes = (0..topology.classes().len() as u32 * channels).collect();
        let by_place = found.map(|(_, count)| Traffic::new((options.period, options.periods_of(count)), ids));
        let periods = options.periods_of(regions.count());
        let regions = Traffic::new((options.period, periods), (0..regions.count()).collect());
        let classes = Traffic::new((options.period, options.periods), classes);
        let stride = u32::from(places == Some(Places::Channels));
        Recorder {
            tables: Tables { classes, regions, by_place, groups, stride },
            places,
            rows: options.rows,
            latency: Periods::new(options.period, options.periods, Vec::new()),
            slow: SlowPackets::new(options.residence, options.slow_packets),
            channels,
            outputs: vec![Output::default(); (links * channels) as usize],
            inputs: vec![Input::default(); (links * channels) as usize],
            stalled: vec![NONE; links as usize],
            latest: vec![Transmission::default(); links as usize],
            asked: vec![Time::ZERO; processes as usize],
            packets: Vec::new(),
        }
    }

    /// Asks for what will be needed of `packet`, which comes by `lane` and goes on by `wants`.
    pub fn fetch(&self, lane: u32, packet: PacketIndex, wants: u32) {
        prefetch(&self.inputs, lane as usize);
        prefetch(&self.packets, packet.at());
        prefetch(&self.outputs, wants as usize);
    }

    /// `process` asks for its host's link.
    pub fn ask(&mut self, now: Time, process: SenderIndex) {
        self.asked[process.at()] = now;
    }

    /// Notes the messages that were delivered `now`.
    pub fn take_note(&mut self, now: Time, arrivals: &[Arrival]) {
        for arrival in arrivals {
            let Message { from, to, .. } = arrival.message;
            if arrival.happening == Happening::Delivered && from.host != to.host {
                self.latency.note(now, now.since(arrival.injected));
            }
        }
    }

    /// The output `link` has requests, and none for lack of credit in `lane`.
    fn stall(&mut self, now: Time, link: u32, lane: u32) {
        if self.stalled[link as usize] == NONE {
            self.stalled[link as usize] = lane;
            self.outputs[lane as usize].stalled_since = now;
        }
    }

    /// The output `link` does not lack credit any more.
    fn go_on(&mut self, now: Time, link: u32) {
        let lane = std::mem::replace(&mut self.stalled[link as usize], NONE);
        if lane != NONE {
            let at = At { link, channel: lane - link * self.channels, lane };
            self.outputs[lane as usize].go_on(now, at, &mut self.tables);
        }
    }

    /// Record of packet `index`.
    fn packet(&mut self, index: PacketIndex) -> &mut Waiting {
        if index.at() >= self.packets.len() {
            self.packets.resize(index.at() + 1, Waiting::default());
        }
        &mut self.packets[index.at()]
    }

    /// Gives the statistics up to `now`.
    pub fn finish(mut self, now: Time) -> Statistics {
        let Recorder { places, rows, channels, .. } = self;
        self.tables.advance(now);
        for link in 0..self.stalled.len() as u32 {
            self.go_on(now, link);
            let Transmission { begin, end, lane, size } = self.latest[link as usize];
            if end > now {
                let at = At { link, channel: lane - link * channels, lane };
                self.outputs[lane as usize].give(at, &mut self.tables);
                self.tables.of_output(at, |table, place| table.cut_short(place, (begin, end), now, size));
            }
            for channel in 0..channels {
                let at = At { link, channel, lane: link * channels + channel };
                self.outputs[at.lane as usize].give(at, &mut self.tables);
                self.inputs[at.lane as usize].settle(now, at, &mut self.tables);
                self.inputs[at.lane as usize].give(at, &mut self.tables);
            }
        }
        let Tables { mut classes, mut regions, mut by_place, .. } = self.tables;
        classes.reach(now);
        regions.reach(now);
        self.latency.reach(now);
        by_place.iter_mut().for_each(|by_place| by_place.reach(now));
        let (latency, slow) = (self.latency, self.slow);
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
        let groups = self.groups[at.link as usize];
        add(&mut self.classes, groups.class + at.channel);
        add(&mut self.regions, groups.region);
        if let Some(by_place) = &mut self.by_place {
            add(by_place, groups.sent + at.channel * self.stride);
        }
    }

    /// The same of what is held at its end.
    fn of_input(&mut self, at: At, add: impl Fn(&mut Traffic, u32)) {
        let groups = self.groups[at.link as usize];
        add(&mut self.classes, groups.class + at.channel);
        add(&mut self.regions, groups.region);
        if let Some(by_place) = &mut self.by_place {
            add(by_place, groups.held + at.channel * self.stride);
        }
    }
}

/// Groups of each link, and the places of this part: a link counts if one of its ends is here.
fn groups(
    (places, regions): (Option<Places>, &Regions),
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

impl Packet {
    fn at(&self, lane: u32) -> At {
        let link = self.link_of(lane);
        At { link, channel: lane - link * self.channels, lane }
    }

    /// The packet `index` may ask for its next link; it has come by `lane`.
    #[inline(never)]
    pub(super) fn note_arrival(&mut self, now: Time, index: PacketIndex, lane: u32) {
        let (packet, at) = (self.packets.all[index.at()], self.at(lane));
        let foreign = self.border.start(at.link).is_some();
        let payload = foreign.then(|| self.payload(&packet));
        let Some(recorder) = &mut self.recorder else { return };
        let known = recorder.packet(index);
        known.ready = now;
        known.payload = payload.unwrap_or(known.payload);
        recorder.tables.advance(now);
        recorder.inputs[lane as usize].arrive(now, packet.size, at, &mut recorder.tables);
    }

    /// The output `link` has requests and grants none, for lack of credit in `lane`. That lasts until its next
    /// grant, whatever it finds when it looks in between: it may look more often where the network is cut.
    #[inline(never)]
    pub(super) fn note_stall(&mut self, now: Time, link: u32, lane: u32) {
        if let Some(recorder) = &mut self.recorder {
            recorder.stall(now, link, lane);
        }
    }

    /// The `packet` of number `index` is granted channel `wants`, and has left at `end`.
    #[inline(never)]
    pub(super) fn note_transmission(
        &mut self,
        (now, end): (Time, Time),
        wants: u32,
        requester: u32,
        (index, packet): (PacketIndex, &InTransit),
    ) {
        let (senders, output) = (self.lanes.len() as u32, self.at(wants));
        let payload = (requester >= senders).then(|| self.payload(packet));
        let input = (requester < senders).then(|| self.at(requester));
        let Some(recorder) = &mut self.recorder else { return };
        let known = recorder.packet(index);
        known.payload = payload.unwrap_or(known.payload);
        let Waiting { mut ready, payload } = *known;
        recorder.tables.advance(now);
        recorder.go_on(now, output.link);
        match input {
            None => ready = recorder.asked[(requester - senders) as usize],
            Some(at) => {
                recorder.inputs[at.lane as usize].leave((now, end), packet.size, at, &mut recorder.tables);
            }
        }
        let (size, waited) = ((packet.size, payload), now.since(ready));
        recorder.outputs[wants as usize].send((now, end), size, waited, output, &mut recorder.tables);
        recorder.latest[output.link as usize] = Transmission { begin: now, end, lane: wants, size };
        if let Some(at) = input {
            let residence = end.since(ready) + self.kind(at.link).pipeline;
            if self.recorder.as_ref().is_some_and(|recorder| recorder.slow.is_slow(residence)) {
                self.note_slow((now, ready, residence), at, output, packet);
            }
        }
    }

    /// A packet of `size` bytes is dropped from the buffer of `lane`, whose room is free at `end`.
    pub(super) fn note_dropped(&mut self, (now, end): (Time, Time), lane: u32, size: u32) {
        let at = self.at(lane);
        let Some(recorder) = &mut self.recorder else { return };
        recorder.tables.advance(now);
        recorder.inputs[lane as usize].leave((now, end), size, at, &mut recorder.tables);
    }

    fn payload(&self, packet: &InTransit) -> u32 {
        let slot = self.messages.get(packet.message);
        slot.carried(self.options.payload_of(slot.message.size, u64::from(packet.number.0))).0 as u32
    }

    /// A packet leaves the buffer of `at`, in which it was `ready`, after too long a residence.
    #[cold]
    fn note_slow(
        &mut self,
        (now, ready, residence): (Time, Time, Duration),
        at: At,
        next: At,
        packet: &InTransit,
    ) {
        let message = &self.messages.get(packet.message).message;
        let slow = SlowPacket {
            residence,
            ready,
            waited: now.since(ready),
            link: LinkId(at.link),
            channel: at.channel as u8,
            next: LinkId(next.link),
            from: message.from.host,
            to: message.to.host,
            number: packet.number.0,
        };
        let Some(recorder) = &mut self.recorder else { return };
        recorder.inputs[at.lane as usize].slow += 1;
        recorder.slow.note(slow);
    }
}
