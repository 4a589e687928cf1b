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
//! - `max_min`: max-min fair (see `max_min.rs`), what congestion control and fair arbitration aim at;
//! - `equal_share`: each link splits evenly (see `equal_share.rs`).
//!
//! At a NIC, and on a process's path to it, flows of different regimes share time: a flow at rate x
//! takes x / R of it, with its own regime's R. A host's NIC and its link are one, narrower of both.
//! A process has a path to each NIC of its host, and the set-up of a NIC is added to the latency.
//! With four parameters, the ways out to a NIC over which k processes send carry `(R_Cb + (k−1) R_Ci) / k`.
//! Links carry payload at `bandwidth · packet_payload / packet_wire`. Copies between processes of a
//! host share its memory. Messages without content take the latency alone, and no share.
//!
//! Flows of one pair of processes that go the same way are one stream: they have the same rate at all times.
//! Changes at the same time are solved once, after everything else of that time. Rates are whole numbers
//! and decided over sets (see `rate.rs`): the order of simultaneous messages does not show in them. What
//! rounding leaves on a link, less than 2⁻¹⁶ B/s for each flow on it, stays unused.
//!
//! Assumes fluid traffic: no packets, no queues, no head-of-line blocking. It holds where messages are
//! long against packets. Messages of one pair may overtake each other.
//!
//! Source: "time = latency + size / rate" with contention on shared links as in the flow simulator of
//! Pakin (The Next Wave 20(2), 2013); max-min fairness as in Bertsekas and Gallager, "Data
//! Networks" (1992), 6.5.2; NIC sharing from Gropp, Olson, Samfass (EuroMPI 2016).

mod classes;
mod equal_share;
mod links;
mod max_min;
mod members;
mod pairs;
mod streams;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use engine::registry::{Arguments, BuildError, Kind, Parameter};
use engine::{Bytes, Duration, Observer, Queue, Time, Token};

use super::alone::Alone;
use super::in_flight::{InFlight, Step, VERSIONS, open, owner, token};
use super::rate::{Rate, Work};
use crate::message::{Arrival, LinkUse, Message, Network};
use crate::nics::Chooser;
use crate::routing::Load;
use crate::topology::LinkId;
use crate::{Fabric, HostParameters, Part};
use classes::Classes;
use links::Links;
use max_min::MaxMin;
use pairs::{Pair, Pairs, Way};
use streams::{Begin, Streams};

/// How links are shared.
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
    /// With each message, its latency.
    flight: InFlight<Duration>,
    streams: Streams,
    pairs: Pairs,
    max_min: MaxMin,
    /// equal share: links with more to share.
    risen: Vec<u32>,
    chooser: Chooser,
    /// How many messages each host has sent over the fabric: the keys of their routes.
    sent: Vec<u32>,
    route: Vec<LinkId>,
}

impl Flow {
    pub(super) const PARAMETERS: &'static [Parameter] = &[Parameter {
        name: "sharing",
        kind: Kind::Choice(&["max_min", "equal_share"]),
        default: Some("max_min"),
        summary: "how flows share links: max-min fair, or the even split at the bottleneck",
    }];

    /// On `fabric`, between `hosts`.
    pub fn new(fabric: Arc<Fabric>, hosts: Arc<HostParameters>, sharing: Sharing) -> Flow {
        let count = fabric.topology.hosts();
        let alone = Alone::new(fabric, hosts);
        let mut classes = Classes::new(alone.hosts.regimes.len().max(alone.hosts.memory.regimes.len()));
        let links = Links::new(&alone, &mut classes);
        Flow {
            sharing,
            flight: InFlight::new(Part::whole(), Duration::ZERO),
            streams: Streams::new(links, classes, sharing),
            pairs: Pairs::default(),
            max_min: MaxMin::default(),
            risen: Vec::new(),
            chooser: Chooser::new(alone.hosts.nics, count),
            sent: vec![0; count as usize],
            route: Vec::new(),
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
            Some("equal_share") => Sharing::EqualShare,
            _ => Sharing::MaxMin,
        };
        Ok(Box::new(Flow::new(fabric, hosts, sharing)))
    }

    /// The message with its NICs: the load of one is the number of flows on its link up.
    fn settled<'a>(&mut self, message: &'a Message) -> Cow<'a, Message> {
        let host = message.from.host;
        if host == message.to.host {
            return Cow::Borrowed(message);
        }
        let (topology, links) = (&self.alone.fabric.topology, &self.streams.links);
        self.chooser.settle(message, |nic| links.of(topology.nic_up(host, nic)))
    }

    /// Do all messages of the pair of `message` go its way?
    fn has_fixed_way(&self, message: &Message) -> bool {
        message.from.host == message.to.host || !self.alone.fabric.routing.is_adaptive()
    }

    /// The stream that `message` joins, and its latency.
    fn way(&mut self, message: &Message) -> Way {
        let fixed = self.has_fixed_way(message);
        let pair = Pair::of(message);
        if fixed && let Some(way) = self.pairs.get(pair) {
            return way;
        }
        let latency = self.find_route(message);
        let nic = message.nic_pair().from;
        let out = self.streams.links.way_out(message.from, nic);
        let way_out = out.map(|link| (link.0, self.streams.links.nic(message.from.host, nic)));
        let stream = self.streams.open(message.from.host, message.regime, &self.route, way_out);
        let way = Way { stream, latency };
        if fixed {
            self.pairs.insert(pair, way);
        }
        way
    }

    /// Forgets `stream`, that of `message`, if it has no flow and is not kept for the next.
    fn let_go(&mut self, stream: u32, message: &Message) {
        if self.streams.all[stream as usize].count > 0 {
            return;
        }
        if !self.has_fixed_way(message) || self.pairs.is_idle(Pair::of(message)) {
            self.streams.close(stream);
        }
    }

    /// Writes the links of `message` into `route`, and gives its latency.
    fn find_route(&mut self, message: &Message) -> Duration {
        let (from, to, nics) = (message.from, message.to, message.nic_pair());
        let links = &self.streams.links;
        if from.host == to.host {
            self.route.clear();
            links.memory_path(from.host, from.process, &mut self.route);
            return self.alone.memory(message).latency;
        }
        let number = &mut self.sent[from.host.0 as usize];
        self.alone.fabric.route(from.host, to.host, u64::from(*number), links, &mut self.route);
        self.alone.fabric.take_nics(nics, from.host, to.host, &mut self.route);
        *number = number.wrapping_add(1);
        let on_links: Duration = self.route.iter().map(|link| links.latency(*link)).sum();
        let is_limit = |link: &LinkId| {
            let class = links.all[link.0 as usize].class;
            self.streams.classes.alone(class, message.regime) != Rate::INFINITE
        };
        self.route.extend(links.way_out(from, nics.from).filter(is_limit));
        self.route.extend(links.way_in(to, nics.to).filter(is_limit));
        let hosts = &self.alone.hosts;
        hosts.nics.setup + on_links + hosts.regimes[usize::from(message.regime)].latency
    }

    /// Asks for events at the first ends of what the noted links hold back.
    fn follow_rates(&mut self, now: Time, queue: &mut Queue) {
        let mut noted = std::mem::take(&mut self.streams.noted);
        for at in noted.drain(..) {
            self.streams.links.all[at as usize].noted = false;
            let Some((end, reached)) = self.streams.links.first_end(at, now) else { continue };
            for position in 0..self.streams.links.all[at as usize].keeps as usize {
                let entry = &self.streams.links.entries[at as usize][position];
                if entry.due <= reached {
                    self.schedule(entry.stream, end, queue);
                }
            }
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

impl Flow {
    /// The event of `stream` is due: its first flows end, or were slowed down since.
    fn drain(
        &mut self,
        now: Time,
        stream: u32,
        version: u32,
        queue: &mut Queue,
        arrivals: &mut Vec<Arrival>,
    ) {
        let wake = self.streams.wakes[stream as usize];
        if wake.version != version {
            return;
        }
        let host = owner(wake.host);
        if self.streams.left(stream, now) > Work::ZERO {
            let end = self.streams.end_if_first(stream, now);
            self.streams.wakes[stream as usize].at = end.unwrap_or(Time::NEVER);
            if let Some(end) = end {
                queue.push(end, host, token(Step::Drained, stream, version));
            }
            return;
        }
        self.streams.wakes[stream as usize].at = Time::NEVER;
        while let Some(flow) = self.streams.take_ended(now, stream) {
            let slot = self.flight.get(flow);
            let bytes = self.alone.wire_bytes(slot.message.size);
            self.streams.end(now, stream, bytes);
            if slot.message.notify_sent {
                arrivals.push(self.flight.sent(flow));
            }
            queue.push(now + slot.state, host, token(Step::Delivered, flow, 0));
            let message = slot.message;
            self.let_go(stream, &message);
        }
    }
}

impl Network for Flow {
    fn inject(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        let message = &*self.settled(message);
        let Way { stream, latency } = self.way(message);
        let flow = self.flight.insert(now, message, latency);
        if message.size.0 == 0 || self.streams.is_unlimited(stream) {
            let bytes = self.alone.wire_bytes(message.size);
            self.streams.carry(stream, bytes);
            self.let_go(stream, message);
            return self.flight.schedule(flow, now, Step::Delivered, now + latency, 0, queue);
        }
        match self.streams.begin(now, stream, flow, message.size) {
            Begin::Alone => {
                let time = Work::of(message.size).time(self.streams.rate(stream));
                self.schedule(stream, now + time, queue);
            }
            Begin::Shared => {}
        }
    }

    fn wake(&mut self, now: Time, event: Token, queue: &mut Queue, arrivals: &mut Vec<Arrival>) {
        let (step, index, version) = open(event);
        match step {
            Step::Drained => self.drain(now, index, version, queue, arrivals),
            _ => arrivals.push(self.flight.tell(step, index)),
        }
    }

    fn settle(&mut self, now: Time, queue: &mut Queue) {
        if self.streams.changed.is_empty() {
            return;
        }
        match self.sharing {
            Sharing::MaxMin => self.max_min.solve(now, &mut self.streams),
            Sharing::EqualShare => equal_share::solve(now, &mut self.streams, &mut self.risen),
        }
        self.follow_rates(now, queue);
    }

    fn idle_time(&mut self, message: &Message) -> Duration {
        self.alone.time(message)
    }

    fn report_links(&mut self, now: Time, observer: &mut dyn Observer<LinkUse>) {
        let links = &self.streams.links;
        let mut on_the_way = vec![Bytes(0); links.fabric()];
        for (at, carried) in on_the_way.iter_mut().enumerate() {
            for entry in &links.entries[at] {
                for (flow, left) in self.streams.flows(entry.stream, now) {
                    let size = self.flight.get(flow).message.size;
                    *carried += self.alone.wire_bytes(Work::of(size).less(left).bytes());
                }
            }
        }
        links.report(now, &on_the_way, observer);
    }
}
