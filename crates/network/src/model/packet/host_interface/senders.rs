//! Senders: processes at NICs, and NICs by themselves. Their numbers follow from their hosts', so that turns
//! do not depend on who came first.
//!
//! A process has a queue of messages, and a NIC one of the packets that it sends by itself: responses, and packets that are
//! sent again.

use engine::{Duration, Time};

use super::super::NONE;
use super::super::index::{MessageIndex, PacketIndex, SenderIndex};
use super::super::messages::Messages;
use super::super::packets::Packets;
use super::super::size::Span;
use super::super::waits::{Resource, Waits};
use super::HostInterface;

/// A process that sends, or a NIC.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender {
    /// First of its messages or packets.
    front: u32,
    /// Last of its messages or packets.
    back: u32,
    /// Time at which its path has moved all packets so far to the NIC.
    filled_at: Time,
    /// End of the transmission of its last packet.
    left_at: Time,
    /// Resource that packets behind that one wait for, which it waited for, or the NIC.
    held_by: Resource,
}

impl Sender {
    pub const IDLE: Sender = Sender {
        front: NONE,
        back: NONE,
        filled_at: Time::ZERO,
        left_at: Time::ZERO,
        held_by: Resource::NIC,
    };

    /// True if it has nothing to send.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.front == NONE
    }
}

impl HostInterface {
    /// True if `sender` has nothing to send.
    #[inline]
    pub fn is_idle(&self, sender: SenderIndex) -> bool {
        self.senders[sender].is_idle()
    }

    /// First message of a process.
    #[inline]
    pub fn front(&self, process: SenderIndex) -> MessageIndex {
        MessageIndex(self.senders[process].front)
    }

    /// First packet of a NIC that sends by itself.
    pub fn first_packet(&self, nic: SenderIndex) -> PacketIndex {
        PacketIndex(self.senders[nic].front)
    }

    pub(super) fn push_back(&mut self, process: SenderIndex, message: MessageIndex, messages: &mut Messages) {
        let sender = &mut self.senders[process];
        if sender.is_idle() {
            sender.front = message.0;
        } else {
            messages.get_mut(MessageIndex(sender.back)).next = message;
        }
        sender.back = message.0;
    }

    pub(super) fn pop_front(&mut self, process: SenderIndex, messages: &mut Messages) -> MessageIndex {
        let sender = &mut self.senders[process];
        let message = MessageIndex(sender.front);
        let next = std::mem::replace(&mut messages.get_mut(message).next, MessageIndex::NONE);
        sender.front = next.0;
        if next == MessageIndex::NONE {
            sender.back = NONE;
        }
        message
    }

    /// Queues `packet` at a NIC that sends by itself. True if it is the first.
    pub fn push_packet(&mut self, nic: SenderIndex, packet: PacketIndex, packets: &mut Packets) -> bool {
        let sender = &mut self.senders[nic];
        let is_first = sender.is_idle();
        if is_first {
            sender.front = packet.0;
        } else {
            packets[PacketIndex(sender.back)].next = packet;
        }
        sender.back = packet.0;
        is_first
    }

    /// Takes the first packet from the queue of a NIC, which has been granted its link.
    pub fn pop_packet(&mut self, nic: SenderIndex, packets: &mut Packets) -> PacketIndex {
        let sender = &mut self.senders[nic];
        let packet = PacketIndex(sender.front);
        sender.front = std::mem::replace(&mut packets[packet].next, PacketIndex::NONE).0;
        packet
    }

    /// The path of `process` to its NIC moves a packet from `begin` on, which takes it `time`. Gives the time at which all
    /// of it is there.
    pub fn fill(&mut self, process: SenderIndex, begin: Time, time: Duration) -> Time {
        let filled_at = &mut self.senders[process].filled_at;
        *filled_at = begin.max(*filled_at) + time;
        *filled_at
    }

    /// Adds to `waits` those of the next packet of `sender`, from `since` until its host's link sends it in `sent`; since it
    /// has asked it waited for `turn`.
    pub fn end_wait(
        &mut self,
        sender: SenderIndex,
        since: Time,
        sent: Span,
        turn: Resource,
        waits: &mut Waits,
    ) {
        let own = &mut self.senders[sender];
        let now = sent.begin;
        let asked = since.max(own.left_at).min(now);
        if asked > since {
            waits.add(own.held_by, asked.since(since));
        }
        if now > asked {
            waits.add(turn, now.since(asked));
            own.held_by = turn;
        } else if asked <= since {
            own.held_by = Resource::NIC;
        }
        own.left_at = sent.end;
    }
}
