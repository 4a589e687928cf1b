//! Border of a part of the network: packets and credits that go to another part, and come from one.
//!
//! A packet crosses when it is granted a link that ends elsewhere, and has its effect when it is through
//! the pipeline there; a credit crosses when the packet that it is for is granted its next link, and has
//! its effect when its cable has brought it. Both lie at least [`Border::lookahead`] ahead.

use engine::hash::Map;
use engine::{Bytes, Duration, Lane, Owner, Queue, Time};

use super::faults::Way;
use super::index::{MessageIndex, PacketIndex, PacketNumber};
use super::ports::{Kind, Port};
use super::transfer::Role;
use super::waits::{Resource, Waits};
use super::{Packet, Step, token};
use crate::Part;
use crate::message::{CROSSING_WORDS, Crossing};
use crate::model::in_flight::{FREE_AT, pack, unpack};
use crate::topology::{LinkId, Topology};

/// The parts that links lead to and come from, and what is about to leave.
#[derive(Debug)]
pub(super) struct Border {
    pub part: Part,
    /// Parts of the start and of the end of each link. Empty where nothing is cut.
    parts: Vec<[u16; 2]>,
    pub crossings: Vec<Crossing>,
    pub lookahead: Duration,
    /// Packets that have arrived of messages of several packets, by sender's host and message. Empty where
    /// nothing is cut.
    arrived: Map<u64, u64>,
    /// Owner that stamps the crossings of this part.
    owner: Owner,
}

const PACKET: u64 = 1;
const CREDIT: u64 = 2;
/// Words of the waits of a packet.
const WAITS: std::ops::Range<usize> = 9..12;
/// Beside the order of a packet that goes around faults.
const AROUND: u32 = 1 << 31;

impl Border {
    pub fn new(
        part: &Part,
        topology: &dyn Topology,
        (kinds, ports): (&[Kind], &[Port]),
        least: Bytes,
    ) -> Border {
        let cut = &part.cut;
        let links = if part.is_whole() { 0 } else { topology.links() };
        let parts_of = |id: u32| {
            let link = topology.link(LinkId(id));
            [cut.of_node(link.from) as u16, cut.of_node(link.to) as u16]
        };
        let parts: Vec<[u16; 2]> = (0..links).map(parts_of).collect();
        let transfer = kinds.iter().map(|kind| kind.transfer(least.0 as u32)).min().unwrap_or(Duration::ZERO);
        let crossed = parts.iter().zip(ports).filter(|([start, end], _)| start != end);
        let ahead = crossed.map(|(_, port)| {
            let kind = &kinds[usize::from(port.kind)];
            kind.cable + kind.pipeline.min(transfer)
        });
        let lookahead = ahead.min().unwrap_or(Duration(u64::MAX));
        let owner = Owner::new(Lane::Network, topology.hosts());
        let (crossings, arrived) = (Vec::new(), Map::default());
        Border { part: part.clone(), parts, crossings, lookahead, arrived, owner }
    }

    /// The part at the end of `link`, if it is another.
    pub fn end(&self, link: u32) -> Option<u32> {
        self.other(link, 1)
    }

    /// The part at the start of `link`, if it is another.
    pub fn start(&self, link: u32) -> Option<u32> {
        self.other(link, 0)
    }

    fn other(&self, link: u32, end: usize) -> Option<u32> {
        let part = u32::from(self.parts.get(link as usize)?[end]);
        (part != self.part.me).then_some(part)
    }

    /// Sends a credit for `lane` home.
    pub fn credit(
        &mut self,
        to: u32,
        at: Time,
        lane: u32,
        (size, held_by): (u32, Resource),
        queue: &mut Queue,
    ) {
        let mut words = [0; CROSSING_WORDS];
        words[..3].copy_from_slice(&[lane.into(), size.into(), held_by.0.into()]);
        words[FREE_AT] = CREDIT;
        self.crossings.push(Crossing { to, at, key: queue.stamp(self.owner), words });
    }
}

fn two(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

impl Packet {
    /// `packet` leaves over channel `lane` for another part, and is through the pipeline there at `ready`.
    pub(super) fn hand_over(
        &mut self,
        to: u32,
        ready: Time,
        packet: PacketIndex,
        lane: u32,
        queue: &mut Queue,
    ) {
        let state = self.packets.all[packet.at()];
        let slot = self.messages.get(state.message);
        let course = self.courses.get(packet.at()).copied().unwrap_or(0);
        let way = self.way(packet);
        let marked = u64::from(self.is_marked(packet)) << 24;
        let luggage =
            PACKET | slot.role.word() << 8 | u64::from(way.attempt) << 16 | marked | u64::from(course) << 32;
        let mut words = pack(&slot.message, slot.injected);
        words[FREE_AT] = luggage;
        words[5] = state.tail.0;
        words[6] = two(lane, state.size);
        words[7] = two(slot.id, state.number.0);
        // The way of a packet that goes around is its next link.
        let place = if way.order > 0 { way.order | AROUND } else { self.paths.taken(state.path) };
        words[8] = two(slot.origin.0, place);
        words[WAITS].copy_from_slice(&state.waits.words());
        let key = queue.stamp(self.border.owner);
        self.border.crossings.push(Crossing { to, at: ready, key, words });
        if self.let_go(packet) == 0 {
            self.messages.release(state.message);
        }
    }

    /// Takes in what [`Packet::hand_over`] or [`Border::credit`] has sent.
    pub(super) fn take_in(&mut self, crossing: &Crossing, queue: &mut Queue) {
        let words = &crossing.words;
        if words[FREE_AT] == CREDIT {
            let lane = words[0] as u32;
            let at = (self.link_of(lane), lane);
            let credit = (words[1] as u32, Resource(words[2] as u16));
            return self.take_credit(queue.now(), crossing.at, at, credit, queue);
        }
        let ((message, injected), luggage) = (unpack(words), words[FREE_AT]);
        let (id, number) = ((words[7] >> 32) as u32, PacketNumber(words[7] as u32));
        let index = self.messages.insert(injected, &message, id, 1);
        self.messages.take_over(index);
        let slot = self.messages.get_mut(index);
        (slot.role, slot.origin) =
            (Role::of_word(luggage >> 8 & 0xFF), MessageIndex((words[8] >> 32) as u32));
        let course = (luggage >> 32) as u32;
        let place = words[8] as u32;
        let order = if place & AROUND > 0 { place & !AROUND } else { 0 };
        let way = Way { attempt: (luggage >> 16) as u8, order };
        let first = match &self.faults {
            Some(_) => self.find_way(index, number, course, way),
            None => self.find_path(index, number, course),
        };
        if !self.route_each {
            self.messages.get_mut(index).path = first;
        }
        let path = first + if order > 0 { 1 } else { place };
        let packet = self.begin_packet(index, number, words[6] as u32, path, course);
        self.set_mark(packet, luggage >> 24 & 1 == 1);
        let state = &mut self.packets.all[packet.at()];
        state.tail = Time(words[5]);
        (state.ready, state.waits) = (crossing.at, Waits::of_words(&words[WAITS]));
        if self.faults.is_some() {
            self.set_way(packet, way);
        }
        let lane = (words[6] >> 32) as u32;
        queue.place(crossing.at, crossing.key, token(Step::Ready, packet.0, lane));
    }

    /// Number of packets of `message` that have not arrived, after one that has just done so and left `here` others in
    /// its slot: where the network is cut, packets of one message may come in several slots.
    pub(super) fn missing_in_all(&mut self, message: MessageIndex, here: u64) -> u64 {
        let slot = self.messages.get(message);
        let packets = self.options.packets(slot.message.size);
        if self.border.parts.is_empty() || packets == 1 {
            return here;
        }
        let key = two(slot.message.from.host.0, slot.id);
        let arrived = self.border.arrived.entry(key).or_insert(0);
        *arrived += 1;
        let missing = packets - *arrived;
        if missing == 0 {
            self.border.arrived.remove(&key);
        }
        missing
    }
}
