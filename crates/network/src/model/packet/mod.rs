//! The packet model: every packet, every hop, virtual cut-through with credits and virtual channels.
//!
//! ```text
//! requests at     r = head at the router + P           (store-and-forward: tail + P)
//! transmission    from t ≥ r, when link, crossbar line and credits are there,
//!                 until E = max(t + L / b, tail at the router + P)
//! crossbar line   until X = max(t + L / b_x, tail at the router + P), and E is no sooner
//! at the next     head = t + c,  tail = E + c;         credit back at the link before at X + c'
//! ```
//!
//! with L the bytes of the packet, b and c bandwidth and cable latency of the link that it takes, b' and c'
//! those of the link that it came by, b_x the rate of the crossbar, by default max(b, b'), P the pipeline of the router: routing computation, virtual
//! channel allocation, switch allocation, switch transfer and switch latency. One event for the head of
//! a packet at a router is enough: flits between head and tail follow at the rate of the slowest link so
//! far, so the tail's time says all that flits could say (NSIM, 3.1; the flit-level simulator in the
//! tests agrees to the picosecond).
//!
//! A router has a queue for each virtual channel of each input link, a crossbar with a line for each
//! input link, and outputs that serve one packet after the other. At every instant, after all else, its
//! outputs choose in ascending order among the requests whose crossbar line is idle and for which the
//! next buffer has room for the whole packet: round robin over the input channels, or the oldest
//! message first. Credits come back when the packet's tail has left the buffer, after the cable's
//! latency; nothing is sent without them.
//!
//! A packet lines up as soon as the link before begins to send it, where nothing looks at queues in between, and the first
//! of a queue asks ahead, for the time at which it can go on. An output looks when one of its requests can, and it is idle:
//! a packet for a busy output has no event of its own.
//!
//! Outputs may have buffers, into which packets cross before the link is idle: [`crossing`].
//!
//! Under an adaptive routing a packet that is the first of its channel may choose another link, or another
//! way, before it asks: by the bytes that wait for an output, and those for which the buffers behind it
//! have no room, at the end of the instant, before anything is granted ([`decisions`]).
//!
//! Messages are cut into packets of at most the maximum payload, each with its header, in whole flits.
//! The processes of a host take turns at each of its NICs packet by packet. So do the connections of a process, unless
//! `nic.order` is `in-turn`; the messages of a connection go one after the other. A process's own path to a NIC is
//! a server at R_C before the NIC, and one behind it at the receiver; the NIC's link is no faster than R_N,
//! its DMA engine. Before the first packet of a message a NIC prepares the transfer, one message after the
//! other. Copies between processes of a host wait for the sender's copies and for the host's memory, first
//! come, first served.
//!
//! Messages go as such packets, which nothing answers, or as transactions, whose responses go through the
//! same network: [`transport`]. Links lose nothing, unless the platform says so: then what is lost is sent
//! again, and all arrives once: [`reliability`].
//!
//! Packets add up what they wait for: [`waits`].
//!
//! Assumes buffers that free a packet at once when its tail has left, and hosts that
//! take in whatever comes. Unless the platform says more of crossbars and outputs, the crossbar passes a packet at the rate
//! of the faster of its two links, and an output holds the packet that it transmits, and no other.
//!
//! Source: Miwa et al., "NSIM" (IEICE Trans. Inf. & Syst. E94-D(12), 2011), 3.1 and Table 3; Dally and
//! Towles, "Principles and Practices of Interconnection Networks" (2004), chapters 13, 16 to 19.

mod arrival;
mod border;
mod crossing;
mod crossings;
mod decisions;
mod detours;
mod failures;
mod format;
mod forwarding;
mod host_interface;
mod idle_network;
mod index;
mod injection;
mod messages;
mod options;
mod packets;
mod prefetch;
mod recorder;
mod reliability;
mod rerouting;
mod retransmission;
mod routes;
mod size;
mod steps;
mod switch;
mod transactions;
mod transfers;
mod transport;
mod waits;

use std::sync::Arc;

use engine::registry::{Arguments, BuildError};
use engine::{Bytes, Duration, Lane, Owner, Queue, Time, Token};

use super::alone::Alone;
use crate::congestion::Control;
use crate::interface::{Inspect, Network, NetworkPart, Report};
use crate::message::{Arrival, Crossing, Delays, IdleTime, Losses, Message};
use crate::observe::{NetworkRecord, PacketEvents, Totals};
use crate::topology::{HostId, LinkId, Node};
use crate::{Fabric, HostParameters, Part};
use border::Border;
use format::Format;
use host_interface::HostInterface;
use index::ChannelIndex;
use messages::Messages;
use packets::Packets;
use recorder::Recorder;
use rerouting::Rerouting;
use routes::Routes;
use steps::Step;
use switch::Switch;
use transfers::Transfers;
use waits::Waits;

pub use options::{Arbitration, PacketOptions, ROUTER, Switching};
pub use reliability::Reliability;
pub use transport::{TRANSPORTS, Transport, transport_keys};

pub(super) const PARAMETERS: &[engine::registry::Parameter] = options::PARAMETERS;

/// No index.
const NONE: u32 = u32::MAX;

/// Packets through routers: what is on its way, and the state machines that bring it forward. Each of these owns its state;
/// the methods of this type pass what one of them says on to the others.
pub struct Packet {
    alone: Alone,
    format: Format,
    messages: Messages,
    packets: Packets,
    routes: Routes,
    host_interface: HostInterface,
    switch: Switch,
    border: Border,
    /// Transfers, where something answers packets.
    transfers: Option<Box<Transfers>>,
    /// Faults, where links and routers may fail.
    rerouting: Option<Box<Rerouting>>,
    recorder: Recorder,
    /// True if packets get lost.
    is_lossy: bool,
    /// Waits of the message that was reported last.
    told: Waits,
}

/// The owner of what is told of messages to `host`.
fn owner(host: HostId) -> Owner {
    Owner::new(Lane::Network, host.0)
}

impl Packet {
    /// On `fabric`, between `hosts`.
    pub fn new(fabric: Arc<Fabric>, hosts: Arc<HostParameters>, options: PacketOptions) -> Packet {
        Packet::of_part(fabric, hosts, options, &Part::whole())
    }

    /// On one part of `fabric`, between `hosts`.
    pub fn of_part(
        fabric: Arc<Fabric>,
        hosts: Arc<HostParameters>,
        options: PacketOptions,
        part: &Part,
    ) -> Packet {
        Packet::with_transport(fabric, hosts, options, None, part)
    }

    /// Like [`Packet::of_part`], with messages that travel by `transport`.
    pub fn with_transport(
        fabric: Arc<Fabric>,
        hosts: Arc<HostParameters>,
        options: PacketOptions,
        transport: Option<Transport>,
        part: &Part,
    ) -> Packet {
        let topology = &*fabric.topology;
        let format = Format { options, transport };
        let rerouting = Rerouting::new(&fabric, format.reliability().timeout);
        assert!(transport.is_some() || rerouting.is_none(), "what faults take is sent again");
        let most = fabric.most_parts().unwrap_or(1);
        assert!(
            part.cut.parts() <= most,
            "{} parts of a network whose routing bears {most}",
            part.cut.parts()
        );
        let is_lossy = rerouting.is_some() || format.reliability().is_lossy();
        let host_interface = HostInterface::new(topology, &hosts);
        let channels = fabric.routing.channel_count();
        let mut switch = Switch::new(topology, channels, &options, is_lossy);
        let routes = Routes::new(&fabric, switch.channel_count(), rerouting.is_some());
        if !routes.each_packet() && !routes.has_decisions() {
            switch.begin_asking_ahead();
        }
        let wire = options.wire(Bytes(0));
        let least = transport.as_ref().map_or(wire, |transport| transport.least(&options));
        Packet {
            format,
            messages: Messages::default(),
            packets: Packets::default(),
            routes,
            host_interface,
            border: Border::new(part, topology, &switch, least),
            switch,
            transfers: transport.map(|_| Box::default()),
            rerouting,
            recorder: Recorder::default(),
            is_lossy,
            told: Waits::default(),
            alone: Alone::new(fabric, hosts),
        }
    }

    pub(super) fn build(
        arguments: &Arguments,
        fabric: Arc<Fabric>,
        hosts: Arc<HostParameters>,
        part: &Part,
    ) -> Result<Box<dyn Network>, BuildError> {
        let options = PacketOptions::read(arguments, &hosts, &*fabric.topology)?;
        let control = transport::congestion(arguments, &options, &hosts)?;
        let answers = fabric.routing.around().is_some() || control.is_some();
        let transport = Transport::read(arguments, &options, answers)?;
        let packet = Packet::with_transport(fabric, hosts, options, transport, part);
        Ok(Box::new(match control {
            None => packet,
            Some((control, threshold)) => packet.with_congestion(control, threshold),
        }))
    }

    /// The same with a controller for each connection, and routers that mark packets in queues of more than `threshold`.
    pub fn with_congestion(mut self, control: Control, threshold: Bytes) -> Packet {
        assert!(self.transfers.is_some(), "connections hear of what has come");
        self.host_interface.control_windows(control);
        self.switch.begin_marking(threshold);
        self
    }

    /// Counts since the start.
    pub fn totals(&self) -> Totals {
        let losses = self.transfers.as_ref().map_or(Losses::default(), |transfers| transfers.losses());
        Totals { packet_hops: self.switch.packet_hops(), losses }
    }

    /// Room in buffers that the starts of their links do not know of at `now` \[bytes\]: none, when nothing has been on
    /// its way for a while.
    pub fn missing_credit(&self, now: Time) -> u64 {
        self.switch.missing_credit(now).0
    }

    /// The bytes that wait in routers for `link`, where congestion is controlled.
    pub fn queued(&self, link: LinkId) -> Bytes {
        self.switch.queued(link)
    }

    /// The name of a channel for people.
    fn name_of(&self, channel: ChannelIndex) -> String {
        let topology = &*self.alone.fabric.topology;
        let link = topology.link(self.switch.link_of(channel));
        let name = |node: Node| match node {
            Node::Host(host) => topology.host_name(host),
            Node::Router(router) => topology.router_name(router),
        };
        let number = self.switch.channel_count().number_of(channel);
        format!("{} -> {} (channel {number})", name(link.from), name(link.to))
    }

    /// Applies all failures and returns that are due by `now`, before all else that happens then.
    #[inline]
    fn keep_up(&mut self, now: Time, queue: &mut Queue) {
        if self.rerouting.as_ref().is_some_and(|rerouting| rerouting.is_due(now)) {
            self.change(now, queue);
        }
    }
}

impl Network for Packet {
    fn inject(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        self.keep_up(now, queue);
        self.watch(queue);
        if message.from.host == message.to.host {
            return self.copy(now, message, queue);
        }
        let message = &self.host_interface.choose_nics(message);
        if self.transfers.is_some() {
            self.begin_transfers(now, message, queue);
        } else {
            self.begin(now, message, queue);
        }
    }

    fn wake(&mut self, now: Time, event: Token, queue: &mut Queue, arrivals: &mut Vec<Arrival>) {
        if self.packets.are_many() {
            self.prefetch_events(queue);
        }
        self.keep_up(now, queue);
        let told = arrivals.len();
        match Step::of(event) {
            Step::Ready(packet, channel) => self.ready(now, packet, channel, queue),
            Step::Idle { output, line } => self.idle(now, output, line),
            Step::Arrived(packet) => self.arrived(now, packet, queue, arrivals),
            Step::Filled(process) => self.filled(now, process, queue),
            Step::Sent(message) => self.tell_sent(message, arrivals),
            Step::Delivered(message) => self.deliver(message, arrivals),
            Step::TimedOut(message, number) => self.timed_out(now, message, number),
            Step::Changed => self.changed(queue),
        }
        self.recorder.report(now, &arrivals[told..]);
    }

    fn end_instant(&mut self, now: Time, queue: &mut Queue) {
        if self.routes.are_deciding() {
            self.decide_all(now);
        }
        if self.rerouting.is_some() {
            while self.drop_stranded(now, queue) {
                self.decide_all(now);
            }
        }
        if !self.switch.has_decisions() {
            return;
        }
        let marked = self.switch.begin_decisions();
        for link in &marked {
            self.switch.begin_decision(*link);
            self.allocate(now, *link, queue);
        }
        self.switch.end_decisions(marked);
    }

    fn idle_parts(&self, message: &Message) -> IdleTime {
        self.alone_on_network(message)
    }

    fn report(&self, now: Time, observer: &mut Report<'_>) {
        self.switch.report(now, observer);
        observer.record(now, &NetworkRecord::Totals(&self.totals()));
        self.cut_off().iter().for_each(|cut_off| observer.record(now, &NetworkRecord::CutOff(cut_off)));
    }

    fn report_changes(&mut self, now: Time, observer: &mut Report<'_>) {
        self.switch.report_changes(now, observer);
    }

    fn as_inspect(&self) -> Option<&dyn Inspect> {
        Some(self)
    }

    fn as_part(&mut self) -> Option<&mut dyn NetworkPart> {
        Some(self)
    }

    fn as_packets(&mut self) -> Option<&mut dyn PacketEvents> {
        Some(self)
    }
}

impl Inspect for Packet {
    fn delays(&self, message: &Message, contention: Duration) -> Delays {
        self.delays_of(message, contention)
    }

    fn waits(&self) -> Vec<[u32; 2]> {
        self.switch.waits(&self.packets)
    }

    fn channel_name(&self, channel: u32) -> String {
        self.name_of(ChannelIndex(channel))
    }
}

impl NetworkPart for Packet {
    fn lookahead(&self) -> Duration {
        self.border.lookahead()
    }

    fn current_lookahead(&self) -> Duration {
        self.border.current_lookahead(&self.switch)
    }

    fn take_crossings(&mut self, crossings: &mut Vec<Crossing>) {
        self.border.take_crossings(crossings);
    }

    fn import(&mut self, crossing: &Crossing, queue: &mut Queue) {
        self.watch(queue);
        self.take_in(crossing, queue);
    }
}
