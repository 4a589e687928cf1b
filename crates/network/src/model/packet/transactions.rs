//! Transactions: requests that come to their hosts, and their answers (see [`super::transfers`]).

use engine::{Bytes, Queue, Time};

use super::Packet;
use super::index::{MessageIndex, PacketIndex, PacketNumber};
use super::messages::{Slot, TransferState};
use super::packets::InTransit;
use super::steps::{NOTHING, Step};
use super::transfers::{HostPair, RdmaOp, Role, TransferKey, Transfers};
use super::waits::Waits;
use crate::message::{Arrival, Happening, Message};

/// Message that a transfer brings, so far.
#[derive(Debug, Clone, Copy)]
struct Carried {
    message: Message,
    injected: Time,
    /// Waits of the message so far, there and back.
    waits: Waits,
}

/// A packet that has come to its host.
struct Come {
    carried: Carried,
    key: TransferKey,
    /// See [`TransferState::origin`].
    origin: MessageIndex,
    number: PacketNumber,
    /// True if a router has marked it, or what it answers.
    is_marked: bool,
}

impl Packet {
    /// The transfers, where messages go by them.
    pub(super) fn transfers(&mut self) -> &mut Transfers {
        self.transfers.as_mut().expect("messages go by transfers")
    }

    /// A message to another host begins.
    pub(super) fn begin_transfers(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        let gets = self.format.transport().gets(message.size);
        let op = if gets { RdmaOp::ReadyToGet } else { RdmaOp::Put };
        let carried = Carried { message: *message, injected: now, waits: Waits::default() };
        self.begin_transfer(now, op, &carried, queue);
    }

    /// A transfer of `op` for a message begins.
    fn begin_transfer(&mut self, now: Time, op: RdmaOp, carried: &Carried, queue: &mut Queue) {
        let Carried { message, injected, waits } = carried;
        let count = self.format.transactions(op, message);
        assert!(count < u64::from(NOTHING), "a message has fewer than 2^30 transactions, not {count}");
        let index = self.messages.insert_transfer(*injected, message, count);
        let seen = self.none_seen(count);
        let slot = self.messages.get_mut(index);
        (slot.since, slot.waits) = (now, *waits);
        slot.transfer.role = Role::Request(op);
        slot.left = if matches!(op, RdmaOp::Put | RdmaOp::Get) { message.size } else { Bytes(0) };
        (slot.transfer.origin, slot.transfer.open, slot.told, slot.holds) = (index, true, true, 1);
        slot.transfer.seen = seen;
        let (from, to) = slot.ends();
        let transfers = self.transfers.as_mut().expect("messages go by transfers");
        slot.id = transfers.begin(HostPair::of(from, to));
        self.enqueue(now, index, queue);
    }

    /// The tail of `packet` is at its host.
    pub(super) fn transaction_arrived(
        &mut self,
        now: Time,
        packet: PacketIndex,
        queue: &mut Queue,
        arrivals: &mut Vec<Arrival>,
    ) {
        let InTransit { message: index, number, waits, .. } = self.packets[packet];
        let slot = self.messages.get(index);
        let Slot { message, injected, id, .. } = *slot;
        let TransferState { role, origin, .. } = slot.transfer;
        let (from, to) = slot.ends();
        let is_request = matches!(role, Role::Request(_));
        let hosts = if is_request { HostPair::of(from, to) } else { HostPair::of(to, from) };
        let is_marked = self.switch.is_marked(packet);
        let key = TransferKey { hosts, number: id };
        let carried = Carried { message, injected, waits };
        let mut come = Come { carried, key, origin, number, is_marked };
        self.drop_packet(packet);
        match role {
            Role::Request(RdmaOp::Get) => self.respond(now, RdmaOp::Get, &come),
            Role::Request(op) => {
                self.respond(now, op, &come);
                self.requested(now, op, &mut come, queue, arrivals);
            }
            Role::Response(op) => self.answered(now, op, &mut come, queue, arrivals),
            Role::Plain | Role::Receiving(_) => panic!("every packet is a request or a response"),
        }
    }

    /// Answers a request of a transfer of `op`.
    fn respond(&mut self, now: Time, op: RdmaOp, come: &Come) {
        let Carried { message, injected, waits } = &come.carried;
        let index = self.messages.insert(*injected, message, come.key.number, 1);
        let slot = self.messages.get_mut(index);
        (slot.transfer.role, slot.transfer.origin, slot.holds) = (Role::Response(op), come.origin, 0);
        slot.waits = *waits;
        if self.rerouting.is_some() && self.drops_response(index) {
            return;
        }
        let answer = self.send_by_nic(now, index, come.number);
        self.switch.set_mark(answer, come.is_marked);
    }

    /// A request that brings something has come.
    fn requested(
        &mut self,
        now: Time,
        op: RdmaOp,
        come: &mut Come,
        queue: &mut Queue,
        arrivals: &mut Vec<Arrival>,
    ) {
        if self.transfers().is_finished(come.key) {
            return;
        }
        let index = match self.transfers().receiving(come.key) {
            Some(index) => index,
            None => self.begin_to_receive(op, come),
        };
        let Some(at) = self.take_in_one(now, index, come, op == RdmaOp::Put) else { return };
        let is_lossy = self.is_lossy;
        self.transfers().finish(come.key, is_lossy);
        match op {
            RdmaOp::Put => self.deliver_at(now, at, index, queue, arrivals),
            RdmaOp::ReadyToGet => self.begin_transfer(now, RdmaOp::Get, &come.carried, queue),
            RdmaOp::GetDone => self.report(Happening::Sent, &come.carried, arrivals),
            RdmaOp::Get => panic!("what is got comes with responses"),
        }
        self.release(index);
    }

    /// Takes in what `come` brings of the transfer at `index`: the time at which all of it is taken in, if it is the last.
    fn take_in_one(
        &mut self,
        now: Time,
        index: MessageIndex,
        come: &mut Come,
        has_payload: bool,
    ) -> Option<Time> {
        if self.is_known(index, come.number) {
            return None;
        }
        let Carried { message, waits, .. } = &mut come.carried;
        let at = if has_payload { self.take_in_payload(now, message, come.number, waits) } else { now };
        let slot = self.messages.get_mut(index);
        slot.missing -= 1;
        if slot.missing > 0 {
            return None;
        }
        slot.waits = *waits;
        Some(at)
    }

    /// The first request of a transfer has come: where it stands from now on.
    fn begin_to_receive(&mut self, op: RdmaOp, come: &Come) -> MessageIndex {
        let Carried { message, injected, .. } = &come.carried;
        let count = self.format.transactions(op, message);
        let index = self.messages.insert(*injected, message, come.key.number, count);
        let seen = self.none_seen(count);
        let slot = self.messages.get_mut(index);
        (slot.transfer.role, slot.holds, slot.transfer.seen) = (Role::Receiving(op), 1, seen);
        if count > 1 {
            self.transfers().receive(come.key, index);
        }
        index
    }

    /// A response has come.
    fn answered(
        &mut self,
        now: Time,
        op: RdmaOp,
        come: &mut Come,
        queue: &mut Queue,
        arrivals: &mut Vec<Arrival>,
    ) {
        let index = come.origin;
        let slot = self.messages.get(index);
        let is_its =
            slot.transfer.open && slot.transfer.role == Role::Request(op) && slot.id == come.key.number;
        let (from, to) = slot.ends();
        if !is_its || HostPair::of(from, to) != come.key.hosts {
            // All of it has been answered before.
            self.transfers().count(|losses| losses.duplicates += 1);
            return;
        }
        if op == RdmaOp::Put && !self.was_answered(index, come.number) {
            self.acknowledged(now, index, come.number, come.is_marked, queue);
        }
        let Some(at) = self.take_in_one(now, index, come, op == RdmaOp::Get) else { return };
        self.messages.get_mut(index).transfer.open = false;
        let is_asked = come.carried.message.notify_sent;
        match op {
            RdmaOp::Put if is_asked => self.report(Happening::Sent, &come.carried, arrivals),
            RdmaOp::Get => {
                self.deliver_at(now, at, index, queue, arrivals);
                if is_asked {
                    self.begin_transfer(now, RdmaOp::GetDone, &come.carried, queue);
                }
            }
            _ => {}
        }
        self.release(index);
    }

    /// Packet `number` of the message at `index`, which has begun here, is acknowledged.
    fn acknowledged(
        &mut self,
        now: Time,
        index: MessageIndex,
        number: PacketNumber,
        is_marked: bool,
        queue: &mut Queue,
    ) {
        let (messages, format) = (&mut self.messages, &self.format);
        let woken = self.host_interface.acknowledge(now, index, number, is_marked, messages, format);
        if let Some(process) = woken {
            self.begin_to_send(now, process, queue);
        }
    }

    /// The message of the transfer at `index` is delivered at `at`.
    fn deliver_at(
        &mut self,
        now: Time,
        at: Time,
        index: MessageIndex,
        queue: &mut Queue,
        arrivals: &mut Vec<Arrival>,
    ) {
        let slot = self.messages.get_mut(index);
        slot.holds += 1;
        if at == now {
            self.deliver_transferred(index, arrivals);
        } else {
            queue.place(at, slot.message.key, Step::Delivered(index).token());
        }
    }

    /// The message of the transfer at `index` is delivered.
    pub(super) fn deliver_transferred(&mut self, index: MessageIndex, arrivals: &mut Vec<Arrival>) {
        self.report_slot(Happening::Delivered, index, arrivals);
        self.release(index);
    }

    /// Tells of a message.
    fn report(&mut self, happening: Happening, carried: &Carried, arrivals: &mut Vec<Arrival>) {
        self.told = carried.waits;
        arrivals.push(self.arrival(happening, carried.injected, &carried.message));
    }
}
