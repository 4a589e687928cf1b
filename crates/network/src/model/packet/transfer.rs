//! Transfers: requests from one host to another, each of which is answered (see [`super::transport`]).
//!
//! A message that is put is one transfer; one that is got is a notice to its destination, a transfer that
//! the destination begins, and word to the source that all is there. What is requested of a host it keeps
//! under the transfer's number among those between the two hosts; what it has begun, in a slot that its
//! packets name, so that responses find it.

use engine::hash::Map;
use engine::{Bytes, Queue, Time};

use super::index::{MessageIndex, PacketIndex, PacketNumber};
use super::messages::Slot;
use super::reliability::Finished;
use super::transit::InTransit;
use super::transport::Transport;
use super::waits::Waits;
use super::{NONE, NOTHING, Packet, Step, token};
use crate::Endpoint;
use crate::message::NicPair;
use crate::message::{Arrival, Happening, Losses, Message};

/// Operation of remote memory access that a transfer performs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Brings a message to its destination.
    Put,
    /// Tells the destination that there is a message.
    Notice,
    /// The destination fetches the message.
    Get,
    /// Tells the source that it has.
    Done,
}

/// Role of the packets of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A message's, and nothing answers them.
    Plain,
    /// Requests, of a transfer that has begun here or that is passing by.
    Request(Kind),
    /// Responses.
    Response(Kind),
    /// None: the transfer is being received here.
    Receiving(Kind),
}

const KINDS: [Kind; 4] = [Kind::Put, Kind::Notice, Kind::Get, Kind::Done];

impl Role {
    /// In a number below 2⁸.
    pub fn word(self) -> u64 {
        match self {
            Role::Plain => 0,
            Role::Request(kind) => 1 << 2 | kind as u64,
            Role::Response(kind) => 2 << 2 | kind as u64,
            Role::Receiving(kind) => 3 << 2 | kind as u64,
        }
    }

    /// The role of which `word` is the [`Role::word`].
    pub fn of_word(word: u64) -> Role {
        let kind = KINDS[(word & 3) as usize];
        match word >> 2 {
            0 => Role::Plain,
            1 => Role::Request(kind),
            2 => Role::Response(kind),
            _ => Role::Receiving(kind),
        }
    }

    /// True if its packets go from the message's destination to its source.
    fn is_backwards(self) -> bool {
        let begins_there = |kind| matches!(kind, Kind::Get | Kind::Done);
        match self {
            Role::Plain => false,
            Role::Request(kind) | Role::Receiving(kind) => begins_there(kind),
            Role::Response(kind) => !begins_there(kind),
        }
    }

    /// True if its packets carry the message's data.
    fn carries_data(self) -> bool {
        matches!(self, Role::Plain | Role::Request(Kind::Put) | Role::Response(Kind::Get))
    }
}

impl Slot {
    /// Processes at which its packets start, and to which they go.
    pub fn ends(&self) -> (Endpoint, Endpoint) {
        let Message { from, to, .. } = self.message;
        if self.role.is_backwards() { (to, from) } else { (from, to) }
    }

    /// The NICs by which its packets leave and come.
    pub fn nics(&self) -> NicPair {
        let nics = self.message.nic_pair();
        if self.role.is_backwards() { nics.reversed() } else { nics }
    }

    /// Bytes of `payload` that its packets carry.
    pub fn carried(&self, payload: Bytes) -> Bytes {
        if self.role.carries_data() { payload } else { Bytes(0) }
    }
}

/// A transfer: the host that began it, the other one, its number among theirs.
pub(super) type Key = (u64, u32);

/// All transfers, and what they go by.
#[derive(Debug)]
pub(super) struct Transfers {
    pub transport: Transport,
    /// Number of transfers that have begun, of each pair of hosts.
    begun: Map<u64, u32>,
    /// Slots of the transfers that are being received.
    receiving: Map<Key, MessageIndex>,
    /// Those that have been; only where packets get lost.
    pub finished: Map<u64, Finished>,
    /// Number of times that each unanswered transaction has been sent again, by slot and number.
    pub resent: Map<(MessageIndex, PacketNumber), u32>,
    pub losses: Losses,
}

impl Transfers {
    pub fn new(transport: Transport) -> Transfers {
        Transfers {
            transport,
            begun: Map::default(),
            receiving: Map::default(),
            finished: Map::default(),
            resent: Map::default(),
            losses: Losses::default(),
        }
    }
}

/// A packet that has come to its host.
struct Come {
    message: Message,
    injected: Time,
    key: Key,
    /// See [`Slot::origin`].
    origin: MessageIndex,
    number: PacketNumber,
    /// Waits of its message so far, there and back.
    waits: Waits,
    /// True if a router has marked it, or what it answers.
    is_marked: bool,
}

/// A pair of hosts in a word.
fn pair((from, to): (Endpoint, Endpoint)) -> u64 {
    u64::from(from.host.0) << 32 | u64::from(to.host.0)
}

impl Packet {
    /// A message to another host begins.
    pub(super) fn begin_transfers(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        let transfers = self.transfers.as_ref().expect("messages go by transfers");
        let kind = if transfers.transport.gets(message.size) { Kind::Notice } else { Kind::Put };
        self.begin_transfer(now, kind, (message, now, Waits::default()), queue);
    }

    /// A transfer of `kind` for a message begins.
    fn begin_transfer(
        &mut self,
        now: Time,
        kind: Kind,
        (message, injected, waits): (&Message, Time, Waits),
        queue: &mut Queue,
    ) {
        let count = self.transactions(kind, message.size);
        assert!(count < u64::from(NOTHING), "a message has fewer than 2^30 transactions, not {count}");
        let index = self.messages.insert(injected, message, 0, count);
        let seen = self.none_seen(count);
        let slot = self.messages.get_mut(index);
        (slot.since, slot.waits) = (now, waits);
        slot.role = Role::Request(kind);
        slot.left = if matches!(kind, Kind::Put | Kind::Get) { message.size } else { Bytes(0) };
        (slot.origin, slot.open, slot.told, slot.holds) = (index, true, true, 1);
        slot.seen = seen;
        let ends = slot.ends();
        let transfers = self.transfers.as_mut().expect("messages go by transfers");
        let begun = transfers.begun.entry(pair(ends)).or_insert(0);
        slot.id = *begun;
        *begun = begun.wrapping_add(1);
        self.enqueue(now, index, queue);
    }

    /// Number of transactions of a transfer.
    fn transactions(&self, kind: Kind, size: Bytes) -> u64 {
        match kind {
            Kind::Put | Kind::Get => self.options.packets(size),
            Kind::Notice | Kind::Done => 1,
        }
    }

    /// A packet with `payload` on the wire \[bytes\].
    pub(super) fn wire_of(&self, role: Role, payload: Bytes) -> u32 {
        let transport = || &self.transfers.as_ref().expect("messages go by transfers").transport;
        let bytes = match role {
            Role::Plain | Role::Request(Kind::Put) => self.options.wire(payload),
            Role::Request(Kind::Notice | Kind::Done) => self.options.wire(Bytes(0)),
            Role::Request(Kind::Get) => transport().get_request,
            Role::Response(Kind::Get) => self.options.flits(transport().get_header + payload),
            Role::Response(_) => transport().put_response,
            Role::Receiving(_) => panic!("a transfer that is being received sends nothing"),
        };
        bytes.0 as u32
    }

    /// `packet` is not in this part of the network any more.
    pub(super) fn drop_packet(&mut self, packet: PacketIndex) {
        let InTransit { message, path, .. } = self.packets.all[packet.at()];
        if self.congestion.is_some() {
            self.count_out(packet, false);
        }
        self.packets.remove(packet);
        if self.route_each {
            self.paths.remove(path);
        }
        self.release(message);
    }

    /// One thing less needs the slot of a transfer.
    pub(super) fn release(&mut self, index: MessageIndex) {
        if self.messages.release(index) {
            let slot = self.messages.get_mut(index);
            let path = std::mem::replace(&mut slot.path, NONE);
            slot.seen = Box::default();
            if path != NONE {
                self.paths.remove(path);
            }
        }
    }

    /// The tail of `packet` is at its host.
    pub(super) fn transaction_arrived(
        &mut self,
        now: Time,
        packet: PacketIndex,
        queue: &mut Queue,
        arrivals: &mut Vec<Arrival>,
    ) {
        let InTransit { message: index, number, waits, .. } = self.packets.all[packet.at()];
        let slot = self.messages.get(index);
        let Slot { message, injected, role, id, origin, .. } = *slot;
        let (from, to) = slot.ends();
        let begun_by = if matches!(role, Role::Request(_)) { (from, to) } else { (to, from) };
        let is_marked = self.is_marked(packet);
        let mut come =
            Come { message, injected, key: (pair(begun_by), id), origin, number, waits, is_marked };
        self.drop_packet(packet);
        match role {
            Role::Request(Kind::Get) => self.respond(now, Kind::Get, &come),
            Role::Request(kind) => {
                self.respond(now, kind, &come);
                self.requested(now, kind, &mut come, queue, arrivals);
            }
            Role::Response(kind) => self.answered(now, kind, &mut come, queue, arrivals),
            Role::Plain | Role::Receiving(_) => panic!("every packet is a request or a response"),
        }
    }

    /// Answers a request of a transfer of `kind`.
    fn respond(&mut self, now: Time, kind: Kind, come: &Come) {
        let index = self.messages.insert(come.injected, &come.message, come.key.1, 1);
        let slot = self.messages.get_mut(index);
        (slot.role, slot.origin, slot.holds) = (Role::Response(kind), come.origin, 0);
        slot.waits = come.waits;
        if self.faults.is_some() && self.drops_response(index) {
            return;
        }
        let answer = self.send_by_nic(now, index, come.number);
        self.set_mark(answer, come.is_marked);
    }

    /// A request that brings something has come.
    fn requested(
        &mut self,
        now: Time,
        kind: Kind,
        come: &mut Come,
        queue: &mut Queue,
        arrivals: &mut Vec<Arrival>,
    ) {
        let transfers = self.transfers.as_mut().expect("messages go by transfers");
        if transfers.finished.get(&come.key.0).is_some_and(|finished| finished.has(come.key.1)) {
            transfers.losses.duplicates += 1;
            return;
        }
        let index = match transfers.receiving.get(&come.key) {
            Some(index) => *index,
            None => self.begin_to_receive(kind, come),
        };
        let Some(at) = self.take_in_one(now, index, come, kind == Kind::Put) else { return };
        let transfers = self.transfers.as_mut().expect("messages go by transfers");
        transfers.receiving.remove(&come.key);
        if self.is_lossy {
            transfers.finished.entry(come.key.0).or_default().add(come.key.1);
        }
        match kind {
            Kind::Put => self.deliver_at(now, at, index, queue, arrivals),
            Kind::Notice => {
                self.begin_transfer(now, Kind::Get, (&come.message, come.injected, come.waits), queue)
            }
            Kind::Done => {
                self.told = come.waits;
                arrivals.push(self.arrival(Happening::Sent, come.injected, &come.message));
            }
            Kind::Get => panic!("what is got comes with responses"),
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
        let Come { message, number, .. } = *come;
        let at = if has_payload { self.take_in_payload(now, &message, number, &mut come.waits) } else { now };
        let slot = self.messages.get_mut(index);
        slot.missing -= 1;
        if slot.missing > 0 {
            return None;
        }
        slot.waits = come.waits;
        Some(at)
    }

    /// The first request of a transfer has come: where it stands from now on.
    fn begin_to_receive(&mut self, kind: Kind, come: &Come) -> MessageIndex {
        let count = self.transactions(kind, come.message.size);
        let index = self.messages.insert(come.injected, &come.message, come.key.1, count);
        let seen = self.none_seen(count);
        let slot = self.messages.get_mut(index);
        (slot.role, slot.holds, slot.seen) = (Role::Receiving(kind), 1, seen);
        if count > 1 {
            let transfers = self.transfers.as_mut().expect("messages go by transfers");
            transfers.receiving.insert(come.key, index);
        }
        index
    }

    /// A response has come.
    fn answered(
        &mut self,
        now: Time,
        kind: Kind,
        come: &mut Come,
        queue: &mut Queue,
        arrivals: &mut Vec<Arrival>,
    ) {
        let index = come.origin;
        let slot = self.messages.get(index);
        let is_its = slot.open && slot.role == Role::Request(kind) && slot.id == come.key.1;
        if !is_its || pair(slot.ends()) != come.key.0 {
            // All of it has been answered before.
            self.transfers.as_mut().expect("messages go by transfers").losses.duplicates += 1;
            return;
        }
        if kind == Kind::Put && !self.was_answered(index, come.number) {
            self.acknowledged(now, index, come.number, come.is_marked, queue);
        }
        let Some(at) = self.take_in_one(now, index, come, kind == Kind::Get) else { return };
        self.messages.get_mut(index).open = false;
        match kind {
            Kind::Put if come.message.notify_sent => {
                self.told = come.waits;
                arrivals.push(self.arrival(Happening::Sent, come.injected, &come.message))
            }
            Kind::Get => {
                self.deliver_at(now, at, index, queue, arrivals);
                if come.message.notify_sent {
                    self.begin_transfer(now, Kind::Done, (&come.message, come.injected, come.waits), queue);
                }
            }
            _ => {}
        }
        self.release(index);
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
            queue.place(at, slot.message.key, token(Step::Delivered, index.0, 0));
        }
    }

    /// The message of the transfer at `index` is delivered.
    pub(super) fn deliver_transferred(&mut self, index: MessageIndex, arrivals: &mut Vec<Arrival>) {
        let Slot { injected, message, waits, .. } = self.messages.get(index);
        self.told = *waits;
        arrivals.push(self.arrival(Happening::Delivered, *injected, message));
        self.release(index);
    }
}
