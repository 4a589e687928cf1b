//! Queues in which messages wait for their turn: one for each connection, or for each process at a NIC.

use super::Transfer;
use super::streams::NONE;
use crate::model::in_flight::InFlight;
use crate::model::pages::Pages;

/// A list of messages, linked through [`Transfer::next`]. The first of them flows.
#[derive(Debug, Clone, Copy)]
struct MessageList {
    front: u32,
    back: u32,
}

const EMPTY: MessageList = MessageList { front: NONE, back: NONE };

/// All queues, by number.
#[derive(Debug)]
pub(super) struct Queues {
    lists: Pages<MessageList>,
}

impl Queues {
    pub const fn new() -> Queues {
        Queues { lists: Pages::new(EMPTY) }
    }

    /// Puts the message in slot `flow` at the end of `queue`. True if it is the only one.
    pub fn push(&mut self, queue: u32, flow: u32, flight: &mut InFlight<Transfer>) -> bool {
        let list = &mut self.lists[queue];
        let is_first = list.front == NONE;
        if is_first {
            list.front = flow;
        } else {
            flight.get_mut(list.back).state.next = flow;
        }
        list.back = flow;
        is_first
    }

    /// Removes the first message of `queue` and gives the next one.
    pub fn pop(&mut self, queue: u32, flight: &InFlight<Transfer>) -> Option<u32> {
        let list = &mut self.lists[queue];
        let next = flight.get(list.front).state.next;
        list.front = next;
        (next != NONE).then_some(next)
    }
}
