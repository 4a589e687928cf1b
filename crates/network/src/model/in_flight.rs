//! Messages on their way, and the events that bring them forward.
//!
//! A message lies in a slot from `inject` until it is delivered; events carry the slot's number, so a
//! message costs no allocation once the slots are there.

use engine::{Lane, Owner, Queue, Time, Token};

use crate::message::{Arrival, Happening, Message};
use crate::topology::HostId;

/// What is due at a slot (or, where the model says so, at a host).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The last byte is at the receiving process.
    Delivered,
    /// The last byte has left the sender.
    Sent,
    /// The last byte is at the receiver's NIC.
    AtReceiver,
    /// A transfer that shares its rate may be complete.
    Drained,
    /// Shares are to be computed anew.
    Share,
}

const STEPS: [Step; 5] = [Step::Delivered, Step::Sent, Step::AtReceiver, Step::Drained, Step::Share];
const STEP_BITS: u32 = 3;
const VERSION_BITS: u32 = 28;

/// Versions of a slot's schedule wrap around at this.
pub(super) const VERSIONS: u32 = 1 << VERSION_BITS;

/// The token of `step` at slot `index` in the `version` of its schedule.
pub(super) fn token(step: Step, index: u32, version: u32) -> Token {
    debug_assert!(version < VERSIONS);
    let payload = (u64::from(index) << VERSION_BITS | u64::from(version)) << STEP_BITS | step as u64;
    Token::new(Lane::Network, payload)
}

/// What [`token`] was made of.
pub(super) fn open(token: Token) -> (Step, u32, u32) {
    let payload = token.payload();
    let step = STEPS[(payload & ((1 << STEP_BITS) - 1)) as usize];
    let version = (payload >> STEP_BITS) as u32 & (VERSIONS - 1);
    (step, (payload >> (STEP_BITS + VERSION_BITS)) as u32, version)
}

/// The owner of what happens to messages from `host`: their order never depends on other hosts.
pub(super) fn owner(host: HostId) -> Owner {
    Owner::new(Lane::Network, host.0)
}

/// The messages on their way, each with what the model keeps for it.
pub(super) struct InFlight<S> {
    slots: Vec<Slot<S>>,
    free: Vec<u32>,
}

pub(super) struct Slot<S> {
    pub message: Message,
    pub injected: Time,
    pub state: S,
}

impl<S> InFlight<S> {
    pub fn new() -> InFlight<S> {
        InFlight { slots: Vec::new(), free: Vec::new() }
    }

    /// Takes `message` in and gives its slot.
    pub fn insert(&mut self, now: Time, message: &Message, state: S) -> u32 {
        let slot = Slot { message: *message, injected: now, state };
        if let Some(index) = self.free.pop() {
            self.slots[index as usize] = slot;
            return index;
        }
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 messages are on their way");
        self.slots.push(slot);
        index
    }

    pub fn get(&self, index: u32) -> &Slot<S> {
        &self.slots[index as usize]
    }

    pub fn get_mut(&mut self, index: u32) -> &mut Slot<S> {
        &mut self.slots[index as usize]
    }

    /// What to tell of the message at `index`, whose buffer is free.
    pub fn sent(&self, index: u32) -> Arrival {
        let slot = &self.slots[index as usize];
        Arrival { happening: Happening::Sent, injected: slot.injected, message: slot.message }
    }

    /// What to tell of the message at `index`, which has arrived: its slot is free again.
    pub fn deliver(&mut self, index: u32) -> Arrival {
        self.free.push(index);
        Arrival { happening: Happening::Delivered, ..self.sent(index) }
    }

    /// Schedules the end of the message at `index`: when the sender's buffer is free, if it asked for
    /// that, and `step` towards its delivery. Sent is never told after delivered.
    pub fn schedule(&self, index: u32, sent: Time, step: Step, at: Time, queue: &mut Queue) {
        let message = &self.slots[index as usize].message;
        let owner = owner(message.from.host);
        if message.notify_sent {
            queue.push(sent, owner, token(Step::Sent, index, 0));
        }
        queue.push(at, owner, token(step, index, 0));
    }
}
