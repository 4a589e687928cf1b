//! The packet model: every packet, every hop, virtual cut-through with credits and virtual channels.
//!
//! ```text
//! requests at     r = head at the router + P           (store-and-forward: tail + P)
//! transmission    from t ≥ r, when link, crossbar line and credits are there,
//!                 until E = max(t + L / b, tail at the router + P)
//! crossbar line   until X = max(t + L / max(b, b'), tail at the router + P)
//! at the next     head = t + c,  tail = E + c;         credit back at the link before at X + c'
//! ```
//!
//! with L the bytes of the packet, b and c bandwidth and cable latency of the link that it takes, b' and c'
//! those of the link that it came by, P the pipeline of the router: routing computation, virtual
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
//! take in whatever comes. The crossbar passes a packet at the rate of the faster of its two links; an output
//! holds the packet that it transmits, and no other.
//!
//! Source: Miwa et al., "NSIM" (IEICE Trans. Inf. & Syst. E94-D(12), 2011), 3.1 and Table 3; Dally and
//! Towles, "Principles and Practices of Interconnection Networks" (2004), chapters 13, 16 to 19.

mod ahead;
mod allocation;
mod border;
mod congestion;
mod connections;
mod credits;
mod decisions;
mod faults;
mod hops;
mod idle;
mod index;
mod injection;
mod memory;
mod messages;
mod nic;
mod options;
mod paths;
mod ports;
mod reliability;
mod senders;
mod statistics;
mod steps;
mod transfer;
mod transit;
mod transport;
mod waits;

use std::sync::Arc;

use engine::registry::{Arguments, BuildError};
use engine::{Bytes, Duration, Lane, Observer, Owner, Queue, Time, Token};

use super::alone::Alone;
use crate::congestion::Control;
use crate::faults::CutOff;
use crate::message::{Arrival, Crossing, Delays, Endpoint, IdleTime, LinkUse, Losses, Message, Network};
use crate::nics::{Chooser, NicChoice, NicOrder};
use crate::statistics::{Options, Statistics};
use crate::topology::{HostId, LinkId};
use crate::{Fabric, HostParameters, Part};
use border::Border;
use congestion::Congestion;
use connections::Connections;
use credits::Credits;
use faults::Faults;
use index::{MessageIndex, PacketIndex, PacketNumber, SenderIndex};
use memory::MemoryQueues;
use messages::Messages;
use paths::Paths;
use ports::{Kind, Lane as Channel, Port};
use senders::Senders;
use statistics::Recorder;
use steps::{NOTHING, Step, open, token};
use transfer::Transfers;
use transit::Packets;
use waits::Waits;

pub use hops::Hop;
pub use options::{Arbitration, PacketOptions, ROUTER, Switching};
pub use reliability::Reliability;
pub use transport::{TRANSPORTS, Transport, transport_keys};

pub(super) const PARAMETERS: &[engine::registry::Parameter] = options::PARAMETERS;

/// No index.
const NONE: u32 = u32::MAX;

/// Packets through routers.
pub struct Packet {
    alone: Alone,
    options: PacketOptions,
    /// Number of virtual channels of each link.
    channels: u32,
    kinds: Vec<Kind>,
    ports: Vec<Port>,
    /// Virtual channels, link by link.
    lanes: Vec<Channel>,
    chooser: Chooser,
    /// Processes of the host of each NIC, NIC by NIC; behind them, where NICs send by themselves, the NICs.
    senders: Senders,
    sender_count: u32,
    /// Connections of the processes, if these share their NICs.
    connections: Option<Box<Connections>>,
    /// Windows and marks, where congestion is controlled.
    congestion: Option<Box<Congestion>>,
    /// Number of processes at all NICs.
    processes: u32,
    /// Time at which each NIC has prepared what it has been given so far; only where that takes time.
    prepared: Vec<Time>,
    /// Payload that has not left each NIC \[bytes\]; only where it is asked for.
    waiting: Vec<u64>,
    /// Time at which the path from a NIC to a process has taken in what has come so far; only where it has a rate.
    taken: Vec<Time>,
    memory: MemoryQueues,
    credits: Credits,
    paths: Paths,
    packets: Packets,
    messages: Messages,
    /// Transfers, where something answers packets.
    transfers: Option<Box<Transfers>>,
    /// True if packets get lost.
    is_lossy: bool,
    /// True if buffers have a limit.
    is_finite: bool,
    /// True if somebody observes every hop.
    is_watched: bool,
    /// Faults, where links and routers may fail.
    faults: Option<Box<Faults>>,
    /// Messages that each host has sent over the network.
    sent: Vec<u32>,
    /// Outputs that have something to decide at the end of this instant.
    marked: Vec<u32>,
    /// True if each packet finds its own route.
    route_each: bool,
    /// Number of routers, from its first on, at which a packet may change its route.
    decisions: u32,
    /// Course that each packet has decided on; empty where none does.
    courses: Vec<u32>,
    /// Channels whose first packets decide at the end of this instant.
    deciding: Vec<u32>,
    packet_hops: u64,
    hops: Option<Vec<Hop>>,
    recorder: Option<Box<Recorder>>,
    border: Border,
    /// Waits of the message that was reported last.
    told: Waits,
    /// Working memory: a route and its virtual channels.
    links: Vec<LinkId>,
    path_channels: Vec<u8>,
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
        let timeout = transport.map_or(Reliability::LOSSLESS, |transport| transport.reliability).timeout;
        let faults = Faults::new(&fabric, timeout);
        assert!(transport.is_some() || faults.is_none(), "what faults take is sent again");
        let most = fabric.most_parts().unwrap_or(1);
        assert!(
            part.cut.parts() <= most,
            "{} parts of a network whose routing bears {most}",
            part.cut.parts()
        );
        let channels = u32::from(fabric.routing.channel_count());
        let (count, links) = (topology.hosts(), topology.links());
        let nics = count * u32::from(hosts.nics.count);
        let slots = u32::from(hosts.processes.max(1));
        let processes = nics * slots;
        let by_nic = |is_needed: bool| if is_needed { nics as usize } else { 0 };
        let lanes = links as usize * channels as usize;
        assert!(lanes < NOTHING as usize, "fewer than 2^30 virtual channels");
        assert!(channels <= u32::BITS, "at most 32 virtual channels for each link");
        let (kinds, ports) = ports::all(topology, &options);
        let wire = options.wire(Bytes(0));
        let least = transport.as_ref().map_or(wire, |transport| transport.least(&options));
        let senders = processes + by_nic(transport.is_some()) as u32;
        let border = Border::new(part, topology, (&kinds, &ports), least);
        let credit = options.credit();
        let rated = hosts.regimes.iter().any(|regime| regime.process_rate != engine::Bandwidth::INFINITE);
        Packet {
            channels,
            kinds,
            ports,
            lanes: vec![Channel::new(credit); lanes],
            chooser: Chooser::new(hosts.nics, count),
            senders: Senders::new(senders),
            sender_count: senders,
            connections: (hosts.nics.order != Some(NicOrder::InTurn)).then(Box::default),
            congestion: None,
            processes,
            prepared: vec![Time::ZERO; by_nic(hosts.nics.setup > Duration::ZERO)],
            waiting: vec![0; by_nic(hosts.nics.count > 1 && hosts.nics.choice == NicChoice::LeastLoaded)],
            taken: if rated { vec![Time::ZERO; processes as usize] } else { Vec::new() },
            memory: MemoryQueues::new(count, count * slots),
            credits: Credits::default(),
            paths: Paths::default(),
            packets: Packets::default(),
            messages: Messages::default(),
            is_lossy: faults.is_some() || transport.is_some_and(|transport| transport.reliability.is_lossy()),
            is_finite: options.buffer.is_some(),
            is_watched: false,
            transfers: transport.map(|transport| Box::new(Transfers::new(transport))),
            sent: vec![0; count as usize],
            marked: Vec::new(),
            route_each: fabric.routing.is_adaptive() || faults.is_some(),
            faults,
            decisions: fabric.routing.decisions(),
            courses: Vec::new(),
            deciding: Vec::new(),
            packet_hops: 0,
            hops: None,
            recorder: None,
            border,
            told: Waits::default(),
            links: Vec::new(),
            path_channels: Vec::new(),
            alone: Alone::new(fabric, hosts),
            options,
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
        assert!(self.transfers.is_some() && self.connections.is_some(), "connections hear of what has come");
        let links = self.ports.len() as u32;
        self.congestion = Some(Box::new(Congestion::new(control, threshold, links)));
        self
    }

    /// The place of a process among those of all hosts.
    fn process(&self, end: Endpoint) -> u32 {
        end.host.0 * u32::from(self.alone.hosts.processes.max(1)) + u32::from(end.process)
    }

    /// The place of a process among those at all NICs, of which it is at `nic` of its host.
    fn process_at(&self, end: Endpoint, nic: u8) -> SenderIndex {
        let slots = u32::from(self.alone.hosts.processes.max(1));
        SenderIndex(self.alone.nic(end.host, nic) * slots + u32::from(end.process))
    }

    /// Notes that the output `link` has something to decide at the end of this instant.
    fn mark(&mut self, link: u32) {
        let port = &mut self.ports[link as usize];
        if !port.marked {
            port.marked = true;
            self.marked.push(link);
        }
    }

    /// Lets the output `link` look again at `at`, unless it does so earlier.
    fn look_at(&mut self, link: u32, at: Time, queue: &mut Queue) {
        let port = &mut self.ports[link as usize];
        if at < port.looks_at {
            port.looks_at = at;
            queue.push(at, self.inner(), token(Step::Idle, link, NOTHING));
        }
    }

    /// Applies all failures and returns that are due by `now`, before all else that happens then.
    #[inline]
    fn keep_up(&mut self, now: Time, queue: &mut Queue) {
        if self.faults.as_ref().is_some_and(|faults| faults.is_due(now)) {
            self.change(now, queue);
        }
    }

    /// Owns what happens inside the network: none of that depends on its order within an instant.
    fn inner(&self) -> Owner {
        Owner::new(Lane::Network, self.sent.len() as u32)
    }
}

impl Network for Packet {
    fn inject(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        self.keep_up(now, queue);
        self.watch(queue);
        if message.from.host == message.to.host {
            return self.copy(now, message, queue);
        }
        let (alone, waiting) = (&self.alone, &self.waiting);
        let load = |nic| waiting[alone.nic(message.from.host, nic) as usize];
        let message = &self.chooser.settle(message, load);
        if self.transfers.is_some() {
            self.begin_transfers(now, message, queue);
        } else {
            self.begin(now, message, queue);
        }
    }

    fn wake(&mut self, now: Time, event: Token, queue: &mut Queue, arrivals: &mut Vec<Arrival>) {
        self.look_ahead(queue);
        self.keep_up(now, queue);
        let (step, first, second) = open(event);
        let told = arrivals.len();
        match step {
            Step::Ready => self.ready(now, PacketIndex(first), second, queue),
            Step::Idle => self.idle(now, first, second),
            Step::Arrived => self.arrived(now, PacketIndex(first), queue, arrivals),
            Step::Filled if self.faults.is_some() => self.filled(now, SenderIndex(first), queue),
            Step::Filled => {
                let link = self.request_injection(now, SenderIndex(first));
                self.mark(link);
            }
            Step::Sent => self.tell_sent(MessageIndex(first), arrivals),
            Step::Delivered => self.deliver(MessageIndex(first), arrivals),
            Step::TimedOut => self.timed_out(now, MessageIndex(first), PacketNumber(second)),
            Step::Changed => self.changed(queue),
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.take_note(now, &arrivals[told..]);
        }
    }

    fn settle(&mut self, now: Time, queue: &mut Queue) {
        if !self.deciding.is_empty() {
            self.decide_all(now);
        }
        if self.faults.is_some() {
            while self.drop_stranded(now, queue) {
                self.decide_all(now);
            }
        }
        if self.marked.is_empty() {
            return;
        }
        let mut marked = std::mem::take(&mut self.marked);
        marked.sort_unstable();
        for link in &marked {
            self.ports[*link as usize].marked = false;
            self.allocate(now, *link, queue);
        }
        marked.clear();
        debug_assert!(self.marked.is_empty(), "a grant enables nothing at its own instant");
        self.marked = marked;
    }

    fn idle_parts(&self, message: &Message) -> IdleTime {
        self.alone_on_network(message)
    }

    fn delays(&self, message: &Message, contention: Duration) -> Delays {
        self.delays_of(message, contention)
    }

    fn report_links(&mut self, now: Time, observer: &mut dyn Observer<LinkUse>) {
        for (at, port) in self.ports.iter().enumerate() {
            let to_come = if port.idle_at > now { port.idle_at.since(now) } else { Duration::ZERO };
            let link_use = LinkUse {
                link: LinkId(at as u32),
                bytes: Bytes(port.bytes.saturating_sub(self.kind(at as u32).sends_in(to_come))),
                transfers: port.packets,
                busy: port.busy.saturating_sub(to_come),
            };
            observer.record(now, &link_use);
        }
    }

    fn waits(&self) -> Vec<[u32; 2]> {
        let lanes = self.lanes.iter().zip(0..);
        lanes
            .filter(|(lane, _)| lane.front != PacketIndex::NONE)
            .map(|(lane, at)| [at, self.wants(lane)])
            .collect()
    }

    fn channel_name(&self, channel: u32) -> String {
        self.name_of(channel)
    }

    fn keep_statistics(&mut self, options: &Options) -> bool {
        let (topology, part) = (&*self.alone.fabric.topology, &self.border.part);
        let recorder = Recorder::new(options, topology, part, self.channels, self.sender_count);
        self.recorder = Some(Box::new(recorder));
        self.is_watched = true;
        true
    }

    fn take_statistics(&mut self, now: Time) -> Option<Box<Statistics>> {
        self.recorder.take().map(|recorder| Box::new(recorder.finish(now)))
    }

    fn lookahead(&self) -> Duration {
        self.border.lookahead
    }

    fn take_crossings(&mut self, crossings: &mut Vec<Crossing>) {
        crossings.append(&mut self.border.crossings);
    }

    fn import(&mut self, crossing: &Crossing, queue: &mut Queue) {
        self.watch(queue);
        self.take_in(crossing, queue);
    }

    fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    fn losses(&self) -> Losses {
        self.transfers.as_ref().map_or(Losses::default(), |transfers| transfers.losses)
    }

    fn cut_off(&self) -> Vec<CutOff> {
        self.waits_in_vain()
    }
}
