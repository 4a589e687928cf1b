//! Retransmission: packets that are lost, and requests that are sent again (see [`super::reliability`]).

use engine::{Queue, Time};

use super::index::{MessageIndex, PacketIndex, PacketNumber};
use super::steps::Step;
use super::transfers::Role;
use super::{Packet, owner};
use crate::topology::LinkId;

impl Packet {
    /// A bit for each of `count` transactions, if somebody will ask which have come.
    pub(super) fn none_seen(&self, count: u64) -> Box<[u64]> {
        let words = if self.is_lossy { count.div_ceil(64) as usize } else { 0 };
        vec![0; words].into()
    }

    /// Notes that transaction `number` of the transfer at `index` has come, or been answered. True if that was
    /// known before.
    pub(super) fn is_known(&mut self, index: MessageIndex, number: PacketNumber) -> bool {
        if !self.is_lossy {
            return false;
        }
        let known = self.messages.get_mut(index).note_seen(number);
        if known {
            self.transfers().count(|losses| losses.duplicates += 1);
        } else {
            self.transfers().answer(index, number);
        }
        known
    }

    /// True if transaction `number` of the transfer at `index`, which has begun here, has been answered before.
    pub(super) fn was_answered(&self, index: MessageIndex, number: PacketNumber) -> bool {
        self.messages.get(index).has_seen(number).unwrap_or(false)
    }

    /// True if `packet` is lost, whose tail would be at the end of `link` at `tail`; then it is gone.
    pub(super) fn is_lost(&mut self, link: LinkId, tail: Time, packet: PacketIndex) -> bool {
        let breaks = self.rerouting.as_ref().is_some_and(|rerouting| rerouting.breaks(link, tail));
        if breaks {
            self.lose_by_fault(packet);
        } else if self.format.reliability().loses(link, self.switch.packets_of(link)) {
            self.lose(packet);
        } else {
            return false;
        }
        true
    }

    /// `packet` is lost.
    fn lose(&mut self, packet: PacketIndex) {
        self.transfers().count(|losses| losses.lost += 1);
        self.drop_packet(packet);
    }

    /// `packet` is lost because something has failed.
    pub(super) fn lose_by_fault(&mut self, packet: PacketIndex) {
        self.transfers().count(|losses| losses.broken += 1);
        self.lose(packet);
    }

    /// Packet `number` of the slot `message` has left its NIC at `end`: if it is a request, its answer is
    /// waited for.
    pub(super) fn start_timer(
        &mut self,
        end: Time,
        message: MessageIndex,
        number: PacketNumber,
        queue: &mut Queue,
    ) {
        let slot = self.messages.get_mut(message);
        if !matches!(slot.transfer.role, Role::Request(_)) {
            return;
        }
        slot.holds += 1;
        let host = slot.ends().0.host;
        if let Some(rerouting) = &mut self.rerouting {
            rerouting.count_timer();
            self.watch(queue);
        }
        let resent = self.transfers().resent(message, number);
        let at = end + self.format.reliability().timeout_of(resent);
        queue.push(at, owner(host), Step::TimedOut(message, number).token());
    }

    /// The answer to packet `number` of the slot `message` has been waited for long enough.
    pub(super) fn timed_out(&mut self, now: Time, message: MessageIndex, number: PacketNumber) {
        if let Some(rerouting) = &mut self.rerouting {
            rerouting.end_timer();
        }
        self.send_again(now, message, number);
    }

    /// Packet `number` of the slot `message` is sent again, unless it has been answered.
    pub(super) fn send_again(&mut self, now: Time, message: MessageIndex, number: PacketNumber) {
        let slot = self.messages.get(message);
        if slot.transfer.open && !slot.has_seen(number).unwrap_or(true) {
            if self.rerouting.is_some() && self.waits_for_way(now, message, number) {
                return;
            }
            self.transfers().resend(message, number);
            self.host_interface.note_loss(now, self.messages.get(message), number, &self.format);
            self.send_by_nic(now, message, number);
        }
        self.release(message);
    }
}
