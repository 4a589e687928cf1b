//! The flow model: messages are flows, and links share their bandwidth among the flows on them.
//!
//! ```text
//! T(n) = latency + time until n bytes have flowed,      d(flowed)/dt = rate(t)
//! ```
//!
//! A flow begins when its message is handed over: from then on it takes its share of **all** links of
//! its route at once (a slow link presses back to the source), and of the sender's and the receiver's
//! NIC and process path. It leaves them when its last byte has left the sender; that byte is delivered
//! one latency (path and regime) later. So a link is taken up to one latency too early, and left as
//! much too early: two flows over it meet as long as they would.
//!
//! Rates are those of `sharing`:
//! - `max-min`: max-min fair (see `max_min.rs`), what congestion control and fair arbitration aim at;
//! - `equal-share`: each link splits evenly (see `equal_share.rs`).
//!
//! At a NIC, and on a process's path to it, flows of different regimes share time: a flow at rate x
//! takes x / R of it, with its own regime's R. A host's NIC and its link are one, narrower of both.
//! A process has a path to each NIC of its host, and the set-up of a NIC is added to the latency.
//! With four parameters, the ways out to a NIC over which k processes send carry `(R_Cb + (k−1) R_Ci) / k`.
//! Links carry payload at `bandwidth · packet_payload / packet_wire`. Copies between processes of a
//! host share its memory, or that of their group at their level. Messages without content take the latency alone, and no share.
//!
//! Messages of one pair of processes over the same NICs share a connection, and flow over it one after the other, in
//! the order in which they were handed over: the k-th of equal messages that are handed over at once has flowed after
//! `k n / rate`. They are delivered in that order, too: a message with a shorter latency waits for the one before it.
//! The connections of a process share its NIC like other flows share a link; with `nic.order = "in-turn"`, the messages
//! of a process at a NIC flow one after the other, whatever their connections. Copies between two processes of one host
//! have a connection, too. A message finds its route when it begins to flow. Loops of adaptive routes, which
//! come to a link again, are left out.
//!
//! A packet is not divided: messages of at most four packets between hosts do not flow, but go in packets that wait for each other in
//! queues of links (see `packets.rs`).
//!
//! Changes at the same time are solved once, after everything else of that time. Rates are whole numbers
//! and decided over sets (see `rate.rs`): the order of simultaneous messages does not show in exact ones. What
//! rounding leaves on a link, less than 2⁻¹⁶ B/s for each flow on it, stays unused. Where rates of 16 or more
//! flows often change, links carry up to 1/32 more or less than they can, unless `exact`: see `slack.rs`.
//!
//! Assumes fluid traffic: of long messages no packets, and of all no queues that press back, and no head-of-line blocking. It holds where
//! long messages are long against packets, and where NICs, not the fabric, are what short ones wait for.
//!
//! Source: "time = latency + size / rate" with contention on shared links as in the flow simulator of
//! Pakin (The Next Wave 20(2), 2013); max-min fairness as in Bertsekas and Gallager, "Data
//! Networks" (1992), 6.5.2; NIC sharing from Gropp, Olson, Samfass (EuroMPI 2016); messages of a connection
//! in order: InfiniBand Architecture Specification, volume 1, 10.8 (work requests of a send queue).

mod bounds;
mod bundles;
mod classes;
mod comings;
mod connections;
mod equal_share;
mod holding;
mod host_links;
mod inspect;
mod link;
mod link_queue;
mod link_use;
mod links;
mod lone;
mod max_min;
mod messages;
mod packets;
mod queues;
mod slack;
mod streams;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use engine::registry::{Arguments, BuildError, Kind, Parameter};
use engine::{Bytes, Duration, Queue, Time, Token};

use super::alone::{Alone, Path};
use super::in_flight::{InFlight, Step, VERSIONS, open, owner, token};
use crate::interface::{Inspect, Network, Report};
use crate::message::{Arrival, Cargo, IdleTime, Message};
use crate::nics::{Chooser, NicChoice, NicOrder};
use crate::routing::Trip;
use crate::topology::LinkId;
use crate::{Fabric, HostParameters, Part};
use classes::Classes;
use connections::{Connections, Ends};
pub use host_links::HostLinks;
use links::Links;
use max_min::MaxMin;
use packets::{Loads, Packets};
use queues::Queues;
use streams::{NONE, Streams};

/// Rule by which flows share links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Max-min fair.
    MaxMin,
    /// The even split at the bottleneck.
    EqualShare,
}

/// Messages as flows.
pub struct Flow {
    alone: Alone,
    sharing: Sharing,
    flight: InFlight<Transfer>,
    streams: Streams,
    connections: Connections,
    queues: Queues,
    packets: Packets,
    max_min: MaxMin,
    /// equal share: links with more to share.
    risen: Vec<u32>,
    chooser: Chooser,
    /// True if each message finds a route of its own.
    adaptive: bool,
    /// Number of processes at all NICs, if a NIC sends the messages of a process in turn: they have
    /// the first queues; else 0. Behind them, each connection has a queue.
    senders: u32,
    /// Messages at each NIC that have not left it; empty unless NICs are chosen by that.
    loads: Vec<u32>,
    /// Number of messages that each host has sent over the fabric: the keys of their routes.
    sent: Vec<u32>,
    route: Vec<LinkId>,
    /// The places of the same links.
    places: Vec<u32>,
    /// Streams whose flows end next on a link; working memory.
    ending: Vec<u32>,
}

/// State of a message.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    connection: u32,
    /// The next message in its queue.
    next: u32,
    /// Bytes that have yet to leave; of a flow all, until its end.
    left: Bytes,
    /// Message of the same connection that has begun to flow after it.
    behind: u32,
    /// Bytes whose time of arrival is not known yet.
    missing: Bytes,
    /// Time of arrival of the other bytes, if no message of the connection before it comes later.
    arrives: Time,
}

impl Flow {
    pub(super) const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "sharing",
            kind: Kind::Choice(&["max-min", "equal-share"]),
            default: Some("max-min"),
            summary: "how flows share links: max-min fair, or the even split at the bottleneck",
        },
        Parameter {
            name: "exact",
            kind: Kind::Flag,
            default: Some("false"),
            summary: "max-min: exact rates also where those of 16 or more flows on a link often change, instead of up to \
                      1/32 more or less on it and on links coupled with it; takes up to a hundred times as long",
        },
    ];

    /// On `fabric`, between `hosts`.
    pub fn new(fabric: Arc<Fabric>, hosts: Arc<HostParameters>, sharing: Sharing) -> Flow {
        let (count, nics) = (fabric.topology.hosts(), hosts.nics);
        let in_turn = nics.order == Some(NicOrder::InTurn);
        let processes = u32::from(hosts.processes.max(1));
        let by_load = nics.count > 1 && nics.choice == NicChoice::LeastLoaded;
        let alone = Alone::new(fabric, hosts);
        let mut classes = Classes::new(alone.hosts.regimes.len().max(alone.hosts.memory.regimes.len()));
        let mut links = Links::new(&alone, &mut classes);
        if sharing == Sharing::EqualShare {
            links.many = u32::MAX;
        }
        Flow {
            sharing,
            flight: InFlight::new(Part::whole(), Duration::ZERO),
            streams: Streams::new(links, classes, sharing),
            connections: Connections::default(),
            queues: Queues::new(),
            packets: Packets::new(&alone.hosts),
            max_min: MaxMin::default(),
            risen: Vec::new(),
            chooser: Chooser::new(nics, count),
            adaptive: alone.fabric.routing.is_adaptive(),
            senders: if in_turn { count * u32::from(nics.count) * processes } else { 0 },
            loads: vec![0; if by_load { count as usize * usize::from(nics.count) } else { 0 }],
            sent: vec![0; count as usize],
            route: Vec::new(),
            places: Vec::new(),
            ending: Vec::new(),
            alone,
        }
    }

    pub(super) fn build(
        arguments: &Arguments,
        fabric: Arc<Fabric>,
        hosts: Arc<HostParameters>,
        part: &Part,
    ) -> Result<Box<dyn Network>, BuildError> {
        assert!(part.is_whole(), "the flow model cannot be cut");
        let sharing = match arguments.text("sharing").as_deref() {
            Some("equal-share") => Sharing::EqualShare,
            _ => Sharing::MaxMin,
        };
        let mut flow = Flow::new(fabric, hosts, sharing);
        if arguments.flag("exact") == Some(true) {
            flow.streams.links.many = u32::MAX;
        }
        Ok(Box::new(flow))
    }

    /// The message with its NICs: the load of one is the number of messages that have not left it.
    fn settled<'a>(&mut self, message: &'a Message) -> Cow<'a, Message> {
        let host = message.from.host;
        if host == message.to.host {
            return Cow::Borrowed(message);
        }
        let (links, loads) = (&self.streams.links, &self.loads);
        self.chooser.settle(message, |nic| u64::from(loads[links.nic(host, nic) as usize]))
    }

    /// Counts `message` at its NIC when it comes and when it has left, if NICs are chosen by that.
    fn count_at_nic(&mut self, message: &Message, comes: bool) {
        if self.loads.is_empty() || message.from.host == message.to.host {
            return;
        }
        let nic = self.streams.links.nic(message.from.host, message.nic_pair().from);
        let load = &mut self.loads[nic as usize];
        *load = if comes { *load + 1 } else { *load - 1 };
    }

    /// The connection of `message`.
    fn connection(&mut self, message: &Message) -> u32 {
        let ends = Ends::of(message);
        let (links, senders) = (&self.streams.links, self.senders);
        let sender = links.process_at(message.from, message.nic_pair().from);
        if let Some(known) = self.connections.find_by_sender(sender, ends) {
            return known;
        }
        let (from, to) = (message.from.host, message.to.host);
        let links = (from != to).then(|| self.alone.links(from, to));
        let in_turn = senders > 0 && from != to;
        self.connections.open(ends, links, |number| if in_turn { sender } else { senders + number })
    }

    /// Time that `message`, of `connection`, takes alone.
    fn idle(&self, connection: u32, message: &Message) -> IdleTime {
        let under = |links: Path| links.under(&self.alone.hosts.regimes[usize::from(message.regime)]);
        let links = self.connections.all[connection as usize].links;
        links.map_or_else(|| self.alone.copy(message), under).idle(message.size)
    }

    /// True if all messages of the connection of `message` take the same route.
    fn has_fixed_way(&self, message: &Message) -> bool {
        message.from.host == message.to.host || !self.adaptive
    }

    /// The stream of `message`, the next of `connection`.
    fn stream(&mut self, now: Time, connection: u32, message: &Message) -> u32 {
        let stream = self.connections.all[connection as usize].stream;
        if stream != NONE {
            return stream;
        }
        self.find_route(now, message);
        let Streams { links, classes, .. } = &mut self.streams;
        self.places.clear();
        self.places.extend(self.route.iter().map(|link| links.place(*link, &self.alone, classes)));
        let nic = message.nic_pair().from;
        let out = links.way_out(message.from, nic).filter(|_| message.from.host != message.to.host);
        let out = out.map(|link| links.place(link, &self.alone, classes));
        let way_out = out.map(|link| (link, links.process_at(message.from, nic)));
        let is_within = message.from.host == message.to.host;
        let setup = if is_within { Duration::ZERO } else { self.alone.hosts.nics.setup };
        let latency = setup + self.places.iter().map(|at| links.latency(*at)).sum::<Duration>();
        let stream = self.streams.open(message.from.host, &self.places, way_out);
        let connection = &mut self.connections.all[connection as usize];
        (connection.stream, connection.latency) = (stream, latency);
        stream
    }

    /// Closes the stream of `connection`, over which `message` has flowed, if the next message may take another route.
    fn leave(&mut self, connection: u32, message: &Message) {
        if !self.has_fixed_way(message) {
            let stream = &mut self.connections.all[connection as usize].stream;
            self.streams.close(std::mem::replace(stream, NONE));
        }
    }

    /// Writes the links of `message` into `route`.
    fn find_route(&mut self, now: Time, message: &Message) {
        let (from, to, nics) = (message.from, message.to, message.nic_pair());
        let links = &self.streams.links;
        if from.host == to.host {
            self.route.clear();
            let memory = self.alone.shared_memory(message) as u32;
            links.memory_path(from, memory, &mut self.route);
            return;
        }
        let number = &mut self.sent[from.host.0 as usize];
        let trip = Trip::new(from.host, to.host, u64::from(*number));
        let loads = Loads { links, packets: &self.packets, now };
        self.alone.fabric.route_by(nics, trip, &loads, &mut self.route);
        if self.adaptive {
            remove_loops(&mut self.route);
        }
        *number = number.wrapping_add(1);
        self.route.extend(links.way_out(from, nics.from));
        self.route.extend(links.way_in(to, nics.to));
    }

    /// Finds the rates after the changes of this instant.
    fn solve(&mut self, now: Time) {
        if self.streams.changed.is_empty() && self.streams.noted.is_empty() {
            return;
        }
        match self.sharing {
            Sharing::MaxMin => self.max_min.solve(now, &mut self.streams),
            Sharing::EqualShare => equal_share::solve(now, &mut self.streams, &mut self.risen),
        }
    }

    /// Asks for events at the first ends of what the noted links hold back.
    fn follow_rates(&mut self, now: Time, queue: &mut Queue) {
        let mut noted = std::mem::take(&mut self.streams.noted);
        for at in noted.drain(..) {
            self.streams.links.all[at as usize].noted = false;
            let Some((end, reached)) = self.streams.links.first_end(at, now) else { continue };
            let mut ending = std::mem::take(&mut self.ending);
            for entry in self.streams.links.held(at).iter().filter(|entry| entry.due <= reached) {
                ending.extend(self.streams.bundles.all[entry.number as usize].ending(reached));
            }
            ending.drain(..).for_each(|stream| self.schedule(stream, end, queue));
            self.ending = ending;
        }
        self.streams.noted = noted;
    }

    /// Asks for an event when the first flow of `stream` ends. One that comes too early costs less than a
    /// second one.
    fn schedule(&mut self, stream: u32, end: Time, queue: &mut Queue) {
        let wake = &mut self.streams.wakes[stream as usize];
        if end < wake.at {
            (wake.at, wake.version) = (end, (wake.version + 1) % VERSIONS);
            queue.push(end, owner(wake.host), token(Step::Drained, stream, wake.version));
        }
    }
}

/// Removes loops: of two passages of a link, the second one and what lies between. An adaptive route may have them, and a
/// flow takes one share of each link.
fn remove_loops(route: &mut Vec<LinkId>) {
    let mut at = 0;
    while at < route.len() {
        let last = route.iter().rposition(|link| *link == route[at]).expect("it is there");
        route.drain(at + 1..=last);
        at += 1;
    }
}

impl Network for Flow {
    fn inject(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        let message = &*self.settled(message);
        let connection = self.connection(message);
        let idle = self.idle(connection, message);
        let transfer = Transfer {
            connection,
            next: NONE,
            left: message.size,
            missing: message.size,
            behind: NONE,
            arrives: Time::ZERO,
        };
        let flow = self.flight.insert(now, message, idle, transfer);
        self.connections.hand_over(connection);
        self.count_at_nic(message, true);
        self.line_up(now, flow, queue);
    }

    fn wake(&mut self, now: Time, event: Token, queue: &mut Queue, arrivals: &mut Vec<Arrival>) {
        let (step, index, version) = open(event);
        match step {
            Step::Drained => self.drain(now, index, version, queue, arrivals),
            Step::Turn => self.end_turn(now, index, queue, arrivals),
            Step::Link => {
                self.pass_links(now, index, true, queue);
            }
            Step::Delivered => {
                self.connections.deliver(self.flight.get(index).state.connection);
                arrivals.push(self.flight.tell(step, index));
            }
            _ => arrivals.push(self.flight.tell(step, index)),
        }
    }

    fn prefetch(&self, token: Token) {
        match open(token) {
            (Step::Link, index, _) => self.packets.prefetch(index),
            (Step::Delivered | Step::Sent, index, _) => self.flight.prefetch(index),
            _ => {}
        }
    }

    fn upcoming_cargo(&self, token: Token) -> Option<&Cargo> {
        match open(token) {
            (Step::Delivered, index, _) => Some(&self.flight.get(index).message.cargo),
            _ => None,
        }
    }

    fn end_instant(&mut self, now: Time, queue: &mut Queue) {
        self.take_turns(now, queue);
        self.streams.spread_slack();
        self.solve(now);
        self.follow_rates(now, queue);
        while let Some(stream) = self.connections.close_ended() {
            if stream != NONE {
                self.streams.close(stream);
            }
        }
    }

    fn idle_parts(&self, message: &Message) -> IdleTime {
        self.alone.path(message).idle(message.size)
    }

    fn report(&self, now: Time, observer: &mut Report<'_>) {
        let on_the_way = |at| self.streams.on(at).map(|stream| self.flowed(stream, now)).sum();
        let to_pass = |at| self.packets.to_pass(now, at, &self.streams.links, &self.alone);
        self.streams.links.report(now, on_the_way, to_pass, observer);
    }

    fn report_changes(&mut self, now: Time, observer: &mut Report<'_>) {
        self.count_under_way(now);
        let (packets, alone) = (&self.packets, &self.alone);
        let to_pass = |links: &Links, at| packets.to_pass(now, at, links, alone);
        self.streams.links.report_changes(now, to_pass, observer);
    }

    fn looks(&self) -> u64 {
        self.streams.flowing.len() as u64
    }

    fn as_inspect(&self) -> Option<&dyn Inspect> {
        Some(self)
    }
}
