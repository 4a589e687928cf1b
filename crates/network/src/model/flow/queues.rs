//! Queues in which messages wait for their turn: one for each connection, or for each process at a NIC.

use super::Transfer;
use super::streams::NONE;
use crate::model::in_flight::InFlight;
use crate::model::pages::Pages;

/// A list of messages, linked through [`Transfer::next`]. The first of them flows.
#[derive(Debug, Clone, Copy)]
struct LinkQueue {
    front: u32,
    back: u32,
}

const EMPTY: LinkQueue = LinkQueue { front: NONE, back: NONE };

/// All queues, by number.
#[derive(Debug)]
pub(super) struct Queues {
    lines: Pages<LinkQueue>,
}

impl Queues {
    pub const fn new() -> Queues {
        Queues { lines: Pages::new(EMPTY) }
    }

    /// Puts the message in slot `flow` at the end of `queue`. True if it is the only one.
    pub fn push(&mut self, queue: u32, flow: u32, flight: &mut InFlight<Transfer>) -> bool {
        let line = &mut self.lines[queue];
        let is_first = line.front == NONE;
        if is_first {
            line.front = flow;
        } else {
            flight.get_mut(line.back).state.next = flow;
        }
        line.back = flow;
        is_first
    }

    /// Removes the first message of `queue` and gives the next one.
    pub fn pop(&mut self, queue: u32, flight: &InFlight<Transfer>) -> Option<u32> {
        let line = &mut self.lines[queue];
        let next = flight.get(line.front).state.next;
        line.front = next;
        (next != NONE).then_some(next)
    }
}
