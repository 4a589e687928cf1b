//! Packets from one part of the network to another, in words.

use engine::{Queue, Time};

use super::Packet;
use super::border::{Border, Import, SIZE, size_of};
use super::index::{
    ChannelIndex, Course, MessageIndex, MessageNumber, PacketIndex, PacketNumber, PartIndex, PathIndex,
};
use super::rerouting::Way;
use super::transfers::Role;
use super::waits::Waits;
use crate::message::{CROSSING_WORDS, Crossing};
use crate::model::in_flight::{FREE_AT, pack, unpack};

const PACKET: u64 = 1;
/// Words of the waits of a packet.
const WAITS: std::ops::Range<usize> = 9..12;
/// Beside the order of a packet that goes around faults.
const AROUND: u32 = 1 << 31;

fn two(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

impl Packet {
    /// `packet` leaves over `channel` for another part, and is through the pipeline there at `ready`.
    pub(super) fn hand_over(
        &mut self,
        to: PartIndex,
        ready: Time,
        packet: PacketIndex,
        channel: ChannelIndex,
        queue: &mut Queue,
    ) {
        let state = self.packets[packet];
        let slot = self.messages.get(state.message);
        let way = self.way(packet);
        let (marked, course) =
            (u64::from(self.switch.is_marked(packet)), u64::from(self.routes.course(packet).0));
        let luggage = PACKET
            | slot.transfer.role.word() << 8
            | u64::from(way.attempt) << 16
            | marked << 24
            | course << 32;
        let mut words = pack(&slot.message, slot.injected);
        words[FREE_AT] = luggage;
        words[5] = state.tail.0;
        words[SIZE] = two(channel.0, state.size.0);
        words[7] = two(slot.id.0, state.number.0);
        // The way of a packet that goes around is its next link.
        let place = if way.order > 0 { way.order | AROUND } else { self.routes.taken(state.path) };
        words[8] = two(slot.transfer.origin.0, place);
        words[WAITS].copy_from_slice(&state.waits.words());
        self.border.send(to, ready, words, queue);
        if self.let_go(packet) == 0 {
            self.messages.release(state.message);
        }
    }

    /// Takes in what another part has sent.
    pub(super) fn take_in(&mut self, crossing: &Crossing, queue: &mut Queue) {
        match Border::open(crossing) {
            Import::Credit(channel, credit) => {
                self.switch.take_credit(queue.now(), crossing.at, channel, credit, queue);
            }
            Import::Packet(words) => {
                let (packet, channel) = self.take_in_packet(crossing.at, words);
                self.border.count_in(size_of(words));
                self.come(packet, channel, (crossing.at, crossing.key), queue);
            }
        }
    }

    /// Takes in a packet, which is `ready` then: it, and the channel by which it has come.
    fn take_in_packet(&mut self, ready: Time, words: &[u64; CROSSING_WORDS]) -> (PacketIndex, ChannelIndex) {
        let ((message, injected), luggage) = (unpack(words), words[FREE_AT]);
        let high = |word: u64| (word >> 32) as u32;
        let number = PacketNumber(words[7] as u32);
        let index = self.messages.insert(injected, &message, MessageNumber(high(words[7])), 1);
        self.messages.take_over(index);
        let slot = self.messages.get_mut(index);
        (slot.transfer.role, slot.transfer.origin) =
            (Role::of_word(luggage >> 8 & 0xFF), MessageIndex(high(words[8])));
        let course = Course(high(luggage));
        let place = words[8] as u32;
        let order = if place & AROUND > 0 { place & !AROUND } else { 0 };
        let way = Way { attempt: (luggage >> 16) as u8, order };
        let first = match &self.rerouting {
            Some(_) => self.find_way(index, number, course, way),
            None => self.routes.find(&self.alone.fabric, self.messages.get(index), number, course),
        };
        if !self.routes.each_packet() {
            self.messages.get_mut(index).path = first;
        }
        let path = PathIndex(first.0 + if order > 0 { 1 } else { place });
        let packet = self.begin_packet(index, number, size_of(words), path, course);
        self.switch.set_mark(packet, luggage >> 24 & 1 == 1);
        let state = &mut self.packets[packet];
        state.tail = Time(words[5]);
        (state.ready, state.waits) = (ready, Waits::of_words(&words[WAITS]));
        if let Some(rerouting) = &mut self.rerouting {
            rerouting.set_way(packet, way);
        }
        (packet, ChannelIndex(high(words[SIZE])))
    }

    /// Number of packets of `message` that have not arrived, after one that has just done so and left `here` others in
    /// its slot: where the network is cut, packets of one message may come in several slots.
    pub(super) fn missing_in_all(&mut self, message: MessageIndex, here: u64) -> u64 {
        let slot = self.messages.get(message);
        let packets = self.format.options.packets(slot.message.size);
        if !self.border.is_open() || packets == 1 {
            return here;
        }
        self.border.count_arrival(slot.message.from.host, slot.id, packets)
    }
}
