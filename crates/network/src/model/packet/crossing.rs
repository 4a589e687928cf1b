//! Crossing: packets pass the crossbar into the buffers of outputs, and leave these over links.
//!
//! ```text
//! crossing        from t, when the lines of input and output are idle and the output's buffer has room,
//!                 until X = max(t + L / b_x, tail at the router + P)
//! transmission    from t' ≥ t, when link and credits are there, until E = max(t' + L / b, X)
//! room            in the input's buffer X + c' at the start of its link, in the output's at E
//! ```
//!
//! At every instant an output first lets a packet cross, and then sends one, be it the same: alone, a packet waits for
//! neither.

use engine::{Queue, Time};

use super::Packet;
use super::index::{ChannelIndex, PacketIndex};
use super::packets::InTransit;
use super::size::Span;
use super::switch::{Credit, Departure, Origin, Source};
use crate::topology::LinkId;

impl Packet {
    /// The output `link`, which has buffers, lets a packet cross to them and sends one from them.
    #[inline(never)]
    pub(super) fn allocate_crossing(&mut self, now: Time, link: LinkId, queue: &mut Queue) {
        if self.switch.is_shared(link) {
            return self.allocate_shared_crossing(now, link, queue);
        }
        let (input, remaining) = self.switch.choose_crossing(now, link, &self.packets, &self.messages);
        if let Some(input) = input {
            self.cross(now, link, input, queue);
        }
        if self.switch.has_stored(link) {
            self.send_stored(now, link, queue);
        }
        self.switch.look_again(now, link, remaining, queue);
    }

    /// The same for the outputs of the NIC of `first`.
    #[cold]
    fn allocate_shared_crossing(&mut self, now: Time, first: LinkId, queue: &mut Queue) {
        let remaining = loop {
            match self.switch.choose_shared_crossing(now, first, &self.packets, &self.messages) {
                Err(remaining) => break remaining,
                Ok((link, input)) => {
                    self.switch.take_shared(link, Source::Channel(input), &mut self.packets);
                    self.cross(now, link, input, queue);
                }
            }
        };
        for link in self.switch.in_turn(first) {
            let remaining = self.switch.remaining_for(now, link, remaining);
            if self.switch.has_stored(link) {
                self.send_stored(now, link, queue);
            }
            self.switch.look_again(now, link, remaining, queue);
        }
    }

    /// The output `link` sends a packet from its buffers, which hold some, if it can.
    #[inline(never)]
    fn send_stored(&mut self, now: Time, link: LinkId, queue: &mut Queue) {
        match self.switch.choose_departure(now, link, &self.packets, &self.messages, queue) {
            Departure::Nothing => {}
            Departure::Stalled(channel) => self.note_stall(now, channel),
            Departure::Granted(channel) => {
                let packet = self.switch.take_stored(channel, &mut self.packets);
                self.depart(now, link, channel, packet, queue);
            }
        }
    }

    /// The first packet of the channel `input` crosses to the output `link`, and leaves over it at once if nothing is in its
    /// way.
    #[inline(always)]
    fn cross(&mut self, now: Time, link: LinkId, input: ChannelIndex, queue: &mut Queue) {
        let packet = self.switch.take_front(input, &mut self.packets);
        let InTransit { size, wants, ready, .. } = self.packets[packet];
        let crossing = self.switch.cross(now, link, input, &mut self.packets[packet], queue);
        if self.switch.has_credits() {
            let credit = Credit { size, held_by: crossing.held_by };
            self.send_credit(now, crossing.credit_at, input, credit, queue);
        }
        if self.switch.asks_ahead() {
            self.switch.ask_ahead(input, &self.packets, queue);
        }
        if self.recorder.is_watching() {
            self.switch.note_origin(packet, Origin { input, ready });
            self.note_crossing(Span { begin: now, end: crossing.end }, input, packet);
        }
        if self.switch.may_depart(now, link, wants, size) {
            self.depart(now, link, wants, packet, queue);
        } else {
            self.switch.store(packet, wants, &mut self.packets);
        }
    }

    /// `packet`, which has crossed to the output buffer of `channel`, leaves over `link`.
    #[inline(always)]
    fn depart(
        &mut self,
        now: Time,
        link: LinkId,
        channel: ChannelIndex,
        packet: PacketIndex,
        queue: &mut Queue,
    ) {
        if self.switch.marks_packets() {
            self.count_out(packet, true);
        }
        let end = self.end_of(now, link, packet).max(self.packets[packet].tail);
        self.switch.end_wait_in_store(now, channel, end, &mut self.packets[packet]);
        self.transmit(link, Span { begin: now, end }, Source::Channel(channel), packet, queue);
    }

    /// The packets in the output buffers of `link` are lost, because that or their router has failed.
    pub(super) fn lose_stored(&mut self, now: Time, link: LinkId) {
        if !self.switch.has_stored(link) {
            return;
        }
        for channel in self.switch.channel_count().channels(link) {
            while let Some(packet) = self.switch.drop_stored(channel, &mut self.packets) {
                self.note_stored_drop(now, channel, self.packets[packet].size);
                self.lose_by_fault(packet);
            }
        }
    }
}
