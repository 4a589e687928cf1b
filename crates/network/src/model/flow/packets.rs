//! Short messages: their packets wait in queues of links.
//!
//! A message of at most [`SHORT`] packets does not share its links with others at the same time, as fluids do. Each packet
//! comes to one link after the other, and waits at each for those that came before it:
//!
//! ```text
//! begin on the first link   when the packet before it, of the same process at the same NIC, has left that
//! begin on a link           b = max(head is there, the link is through with those that have taken it)
//! head at the next link     b + latency of the link
//! tail at the next link     max(b + n / R, tail is there) + latency of the link
//! delivered                 when all tails are through the last link, and the latencies of NICs and regime are over
//! ```
//!
//! with R the rate of the link, or of the part of a host, for the message's regime. So a message that meets no other takes the
//! time that all models give it, and costs no more than its beginning and its end. The connections of a process take turns at its NIC
//! packet by packet; where NICs send in turn, message by message.
//!
//! A packet that need not wait takes the next link ahead of time where it will find that idle, and where the packet before it, of
//! those that go the same way, has taken it: of all that comes there meanwhile, what fits before it goes first, and other packets
//! wait for it. No link is taken twice ahead of time, but by packets of one message that follow each other without a gap; who
//! comes before them and does not fit waits for all of these.
//!
//! Beside long messages, which flow: a packet that comes to a full link on which no other packet waits lets one full packet of
//! each flow pass first; at its own NIC, if it begins a round of its process's turns. What it takes of a full link, the flows
//! on that lose, an equal part each; but those that have lost it on the full link before, with the packet, lose it once.
//!
//! Assumes queues without bounds: nothing presses back, and no packet waits behind one for another output. It holds where
//! the packets that wait for a link are few, or wait at NICs. Where the rate of a process changes with the number of those that
//! send, a packet keeps the rate with which it begins.
//!
//! Source: the `packet` model, of which it keeps links that serve packets first come, first served, as in the queueing networks of
//! Kleinrock, "Queueing Systems", volume 2 (1976), chapter 5. Validity: in 1,972 runs of 18 presets with 14 patterns
//! of 8 B to 16 KiB, on 16 to 511 ranks, makespans differ from those of `packet` by 2.4 % in the mean, and by more than a
//! quarter in 54; as fluids that took turns at NICs and receivers, which this replaced, 3.9 %, and 95.

use std::collections::VecDeque;

use engine::{Bytes, Duration, Key, Queue, Time, prefetch_start};

use super::Flow;
use super::link_queue::LinkQueue;
use super::links::Links;
use super::streams::NONE;
use crate::HostParameters;
use crate::message::{Arrival, Message};
use crate::model::alone::Alone;
use crate::model::in_flight::{Step, token};
use crate::model::pages::Pages;
use crate::model::rate::{Rate, Work};
use crate::routing::Load;
use crate::topology::LinkId;

/// The most packets of a short message.
const SHORT: u64 = 4;

/// All short messages.
#[derive(Debug)]
pub(super) struct Packets {
    /// Payload of a packet.
    payload: Bytes,
    processes: Pages<Process>,
    /// Processes whose next packets leave at the end of this instant, when it is known how many send.
    turns: Vec<u32>,
    /// Number of packets that have left so far: the serial number of the next.
    sent: u32,
    /// Packets under way.
    all: Vec<Packet>,
    /// Numbers of those that are not in use.
    unused: Vec<u32>,
    /// The queue of each link, by place.
    link_queues: Vec<LinkQueue>,
}

/// A process at a NIC.
#[derive(Debug, Clone)]
struct Process {
    /// Message of which a packet leaves; `NONE` if there is none.
    sending: u32,
    /// Short messages that wait for a turn, each the first of its queue.
    waiting: VecDeque<u32>,
    /// Packets of the present round that have yet to leave. A round has one of each message that waited when it began.
    of_round: u32,
    /// Time at which the present round began.
    began: Time,
}

impl Process {
    const IDLE: Process = Process { sending: NONE, waiting: VecDeque::new(), of_round: 0, began: Time::ZERO };
}

/// A packet on its way.
#[derive(Debug, Clone, Copy)]
struct Packet {
    /// Slot of its message.
    flow: u32,
    /// Key of its events: that of its message.
    key: Key,
    /// Its links: where they begin among the hops of streams, and how many.
    path: (u32, u16),
    /// Number of its links that it has passed or left out.
    hop: u16,
    /// The next link.
    at: u32,
    /// The link that it has passed last; `NONE` before the first.
    passed: u32,
    /// The hop that it leaves out, the way out of its process; `u16::MAX` if there is none.
    way_out: u16,
    /// True if its path is a copy, since the stream may be closed while the packet is under way.
    has_copy: bool,
    regime: u8,
    /// True if it is the last of its message.
    is_last: bool,
    bytes: Bytes,
    /// Bytes of its message before it.
    before: Bytes,
    /// Time at which its tail comes to the next link.
    tail: Time,
    /// Time that it takes at `rate`.
    time: Duration,
    /// Rate of the last link.
    rate: Rate,
    /// Longest wait of its message, and the number of the link that it was for.
    waited: (Duration, u32),
    /// Serial number, which tells it from others that have had the same place in the table.
    serial: u32,
    /// Number and serial number of the packet before it on the same path, of its message or its connection.
    previous: (u32, u32),
}

impl Packets {
    pub fn new(hosts: &HostParameters) -> Packets {
        Packets {
            payload: hosts.full_packet(),
            processes: Pages::new(Process::IDLE),
            turns: Vec::new(),
            sent: 0,
            all: Vec::new(),
            unused: Vec::new(),
            link_queues: Vec::new(),
        }
    }

    /// True if a message of `size` goes in packets.
    pub fn is_short(&self, size: Bytes) -> bool {
        (1..=SHORT.saturating_mul(self.payload.0)).contains(&size.0)
    }

    /// Asks the processor for packet `number`.
    pub fn prefetch(&self, number: u32) {
        prefetch_start(&self.all[number as usize], size_of::<Packet>());
    }

    /// Packets that have yet to pass a link: bytes on the wire, and the time that the link needs for them.
    pub fn to_pass(&self, now: Time, link: u32, links: &Links, alone: &Alone) -> (Bytes, Duration) {
        let Some(link_queue) = self.link_queues.get(link as usize) else { return (Bytes(0), Duration::ZERO) };
        let time = link_queue.backlog(now);
        let bytes = Rate(links.capacities[link as usize]).during(time).bytes();
        (alone.wire_bytes(bytes), time)
    }

    /// True if the packet before `packet` has taken its next link: it will not be overtaken.
    fn follows(&self, packet: &Packet) -> bool {
        let Some(previous) = self.all.get(packet.previous.0 as usize) else { return true };
        previous.serial != packet.previous.1 || previous.hop > packet.hop || previous.hop == previous.path.1
    }

    fn insert(&mut self, packet: Packet) -> u32 {
        if let Some(number) = self.unused.pop() {
            self.all[number as usize] = packet;
            return number;
        }
        self.all.push(packet);
        u32::try_from(self.all.len() - 1).expect("fewer than 2^32 packets are on their way")
    }
}

impl Flow {
    /// The process at a NIC at which the packets of `message` take turns with others, if it goes in packets.
    #[inline]
    pub(super) fn turn_taker(&self, message: &Message) -> Option<u32> {
        let is_short = self.packets.is_short(message.size) && message.from.host != message.to.host;
        is_short.then(|| self.streams.links.process_at(message.from, message.nic_pair().from))
    }

    /// The short message in slot `flow` of `process`, the first of its queue, waits for its turn.
    pub(super) fn wait_for_turn(&mut self, now: Time, process: u32, flow: u32, queue: &mut Queue) {
        let own = &mut self.packets.processes[process];
        own.waiting.push_back(flow);
        if own.sending == NONE {
            (own.sending, own.began) = (flow, Time::NEVER);
            self.streams.count_active(now, process, true);
            self.take_turn(now, process, queue);
        } else if own.began == now {
            own.of_round += 1;
        }
    }

    /// Sends the next packet of `process`: at once, or at the end of the instant, where rates depend on how many processes send.
    fn take_turn(&mut self, now: Time, process: u32, queue: &mut Queue) {
        if self.streams.links.rate_depends_on_senders() {
            self.packets.turns.push(process);
        } else {
            self.send_next(now, process, queue);
        }
    }

    /// Sends the next packets of the processes that have waited for the end of this instant.
    pub(super) fn take_turns(&mut self, now: Time, queue: &mut Queue) {
        let mut turns = std::mem::take(&mut self.packets.turns);
        for process in turns.drain(..) {
            self.send_next(now, process, queue);
        }
        self.packets.turns = turns;
    }

    /// Sends the next packet of `process`.
    fn send_next(&mut self, now: Time, process: u32, queue: &mut Queue) {
        let own = &mut self.packets.processes[process];
        let flow = own.waiting.pop_front().expect("a process whose turn it is has a message");
        own.sending = flow;
        let begins_round = self.senders > 0 || own.of_round == 0;
        if own.of_round == 0 {
            (own.of_round, own.began) = (own.waiting.len() as u32 + 1, now);
        }
        own.of_round -= 1;
        let packet = self.next_packet(now, flow);
        self.packets.link_queues.resize(self.streams.links.all.len(), LinkQueue::EMPTY);
        let number = self.packets.insert(packet);
        let connection = self.flight.get(flow).state.connection;
        self.connections.all[connection as usize].last_packet = (number, packet.serial);
        self.packets.sent = self.packets.sent.wrapping_add(1);
        let left = self.pass_links(now, number, begins_round, queue);
        queue.place(left, packet.key, token(Step::Turn, process, 0));
    }

    /// The next packet of the message in slot `flow`, which leaves now.
    fn next_packet(&mut self, now: Time, flow: u32) -> Packet {
        let slot = self.flight.get(flow);
        let (message, state, injected) = (slot.message, slot.state, slot.injected);
        let stream = self.stream(now, state.connection, &message);
        let has_copy = !self.has_fixed_way(&message);
        let path =
            if has_copy { self.streams.copy_path(stream) } else { self.streams.all[stream as usize].path };
        let first = self.streams.hops[path.0 as usize];
        let way_out = self.streams.ways_out[stream as usize].map(|(out, _)| out);
        let hop_of = |out| self.streams.path(stream).iter().rposition(|at| *at == out);
        let bytes = state.left.min(self.packets.payload);
        let before = Bytes(message.size.0 - state.left.0);
        let connection = &mut self.connections.all[state.connection as usize];
        if before.0 == 0 {
            connection.begin(flow, &mut self.flight);
        }
        let rate_out = way_out.map_or(Rate::INFINITE, |out| self.streams.all_of(out, message.regime));
        let nic = self.streams.links.all[first as usize].id;
        let waited = if before.0 == 0 { now.since(injected) } else { Duration::ZERO };
        Packet {
            flow,
            key: message.key,
            path,
            hop: 0,
            at: first,
            passed: NONE,
            way_out: way_out.and_then(hop_of).map_or(u16::MAX, |hop| hop as u16),
            has_copy,
            regime: message.regime,
            is_last: bytes == state.left,
            bytes,
            before,
            tail: now + time_behind(before, bytes, rate_out),
            time: Duration::ZERO,
            rate: Rate::INFINITE,
            waited: (waited, nic),
            serial: self.packets.sent,
            previous: if has_copy && before.0 == 0 { (NONE, 0) } else { connection.last_packet },
        }
    }

    /// The tail of the packet that `process` sent has left its NIC.
    pub(super) fn end_turn(
        &mut self,
        now: Time,
        process: u32,
        queue: &mut Queue,
        arrivals: &mut Vec<Arrival>,
    ) {
        let flow = self.packets.processes[process].sending;
        let slot = self.flight.get_mut(flow);
        slot.state.left.0 -= slot.state.left.0.min(self.packets.payload.0);
        let (message, state) = (slot.message, slot.state);
        if state.left.0 > 0 {
            self.packets.processes[process].waiting.push_back(flow);
            return self.take_turn(now, process, queue);
        }
        if message.notify_sent {
            arrivals.push(self.flight.sent(flow));
        }
        self.count_at_nic(&message, false);
        self.connections.all[state.connection as usize].schedule_deliveries(&mut self.flight, queue);
        self.leave(state.connection, &message);
        if let Some(next) = self.queues.pop(self.queue_of(state), &self.flight)
            && self.may_flow(now, next, queue)
        {
            self.advance(now, next, queue);
        }
        let own = &mut self.packets.processes[process];
        if own.waiting.is_empty() {
            own.sending = NONE;
            return self.streams.count_active(now, process, false);
        }
        self.take_turn(now, process, queue);
    }

    /// The head of packet `number` is at its next link: it passes that, and those behind it which it will find idle. Gives the
    /// time at which its tail has passed the first of them. At a full link that others have left it lets flows pass first if `yields`.
    pub(super) fn pass_links(&mut self, now: Time, number: u32, yields: bool, queue: &mut Queue) -> Time {
        let mut packet = self.packets.all[number as usize];
        let wire = self.alone.wire_bytes(packet.bytes);
        let mut head = self.pass_first(now, &mut packet, yields);
        let (left, waits) = (packet.tail, head > now);
        loop {
            let at = packet.at;
            let latency = self.streams.links.latency(at);
            self.streams.links.carry_packet(at, wire, packet.is_last, packet.time);
            (head, packet.tail) = (head + latency, packet.tail + latency);
            packet.hop += 1;
            if packet.hop == packet.way_out {
                packet.hop += 1;
            }
            if packet.hop == packet.path.1 {
                self.arrive(number, &packet, queue);
                return left;
            }
            let next = self.streams.hops[packet.path.0 as usize + usize::from(packet.hop)];
            (packet.passed, packet.at) = (at, next);
            if waits || self.streams.links.all[next as usize].load > 0 || !self.packets.follows(&packet) {
                break;
            }
            packet.take_time_of(self.packet_rate(next, packet.regime));
            let link_queue = &mut self.packets.link_queues[next as usize];
            if !link_queue.take_ahead(now, head, packet.time, packet.flow) {
                break;
            }
            packet.tail = packet.tail.max(head + packet.time);
        }
        self.packets.all[number as usize] = packet;
        queue.place(head, packet.key, token(Step::Link, number, 0));
        left
    }

    /// Rate of a packet of `regime` on a link. It never changes: only ways out, which packets leave out, depend on who sends.
    #[inline]
    fn packet_rate(&mut self, at: u32, regime: u8) -> Rate {
        let link_queue = &mut self.packets.link_queues[at as usize];
        if link_queue.regime != regime || link_queue.rate == Rate(0) {
            (link_queue.regime, link_queue.rate) = (regime, self.streams.all_of(at, regime));
        }
        link_queue.rate
    }

    /// The head of `packet` is at its next link: gives the time at which it begins there.
    fn pass_first(&mut self, now: Time, packet: &mut Packet, yields: bool) -> Time {
        let at = packet.at;
        packet.take_time_of(self.packet_rate(at, packet.regime));
        let flows = self.streams.flows_beside(at);
        let link_queue = &mut self.packets.link_queues[at as usize];
        let mut ready = now;
        if yields && flows > 0 && link_queue.until <= now {
            let full_packet = Work::of(self.packets.payload).time(packet.rate);
            ready += Duration(full_packet.0.saturating_mul(u64::from(flows)));
        }
        let begin = link_queue.enter(ready, packet.time);
        packet.tail = packet.tail.max(begin + packet.time);
        let waited = begin.since(now);
        if waited > packet.waited.0 {
            packet.waited = (waited, self.streams.links.all[at as usize].id);
        }
        if flows > 0 {
            let before = Some(packet.passed).filter(|link| *link != NONE);
            self.streams.lose(at, before, packet.bytes);
        }
        begin
    }

    /// Work that a message of `regime` which begins to flow on `stream` has before it: at its rate alone, the time that a link
    /// on which nothing flows needs for the packets that wait for it. Others take from what flows there.
    pub(super) fn packets_before(&self, now: Time, stream: u32, regime: u8) -> Work {
        let path = self.streams.path(stream);
        let time = |at: &u32| {
            let link_queue = self.packets.link_queues.get(*at as usize)?;
            (self.streams.links.all[*at as usize].load == 0).then(|| link_queue.backlog(now))
        };
        match path.iter().filter_map(time).max() {
            None | Some(Duration::ZERO) => Work::ZERO,
            Some(time) => {
                let rates = path.iter().map(|at| self.streams.all_of(*at, regime));
                rates.min().expect("a path has links").during(time)
            }
        }
    }

    /// A message has begun to flow on `stream`, behind packets.
    pub(super) fn begin_behind_packets(&mut self, now: Time, stream: u32) {
        for hop in self.streams.hop_range(stream) {
            let at = self.streams.hops[hop];
            if let Some(link_queue) = self.packets.link_queues.get(at as usize) {
                self.streams.links.begin_behind(at, now + link_queue.backlog(now));
            }
        }
    }

    /// Packet `number` is through all links.
    fn arrive(&mut self, number: u32, packet: &Packet, queue: &mut Queue) {
        if packet.has_copy {
            self.streams.give_back(packet.path);
        }
        self.packets.all[number as usize].hop = packet.hop;
        self.packets.unused.push(number);
        let slot = self.flight.get(packet.flow);
        let (hosts, message) = (&self.alone.hosts, &slot.message);
        let connection = slot.state.connection;
        self.connections.all[connection as usize].hold(packet.waited, packet.before.0 == 0);
        let latency = hosts.nics.setup + hosts.regimes[usize::from(message.regime)].latency;
        let state = &mut self.flight.get_mut(packet.flow).state;
        state.missing.0 -= packet.bytes.0;
        state.arrives = state.arrives.max(packet.tail + latency);
        if state.missing.0 == 0 {
            self.connections.all[connection as usize].schedule_deliveries(&mut self.flight, queue);
        }
    }
}

impl Packet {
    /// It passes a link of `rate` next.
    #[inline]
    fn take_time_of(&mut self, rate: Rate) {
        if rate != self.rate {
            (self.rate, self.time) = (rate, time_behind(self.before, self.bytes, rate));
        }
    }
}

/// Time of `bytes` at `rate` behind those `before`: parts of a message take together as long as all of it, to the picosecond.
fn time_behind(before: Bytes, bytes: Bytes, rate: Rate) -> Duration {
    Duration(Work::of(before + bytes).time(rate).0 - Work::of(before).time(rate).0)
}

/// Load of links at a time, for routings: flows on them, and packets in their queues.
pub(super) struct Loads<'a> {
    pub links: &'a Links,
    pub packets: &'a Packets,
    pub now: Time,
}

impl Load for Loads<'_> {
    fn of(&self, link: LinkId) -> u64 {
        let Some(at) = self.links.find(link) else { return 0 };
        let flows = u64::from(self.links.all[at as usize].load);
        let Some(link_queue) = self.packets.link_queues.get(at as usize) else { return flows };
        let backlog = Rate(self.links.capacities[at as usize]).during(link_queue.backlog(self.now));
        flows + backlog.bytes().0.div_ceil(self.packets.payload.0)
    }
}
