//! The flows of one stream, by when they end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::rate::Work;

/// One of them; the first to end is the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    /// What the clock of the bottleneck shows when it ends, less the stream's `shift`.
    due: i128,
    /// The order among flows that end together: that of their beginning.
    number: u64,
    flow: u32,
}

/// The flows of a stream.
#[derive(Debug, Default)]
pub(super) struct Members {
    waiting: BinaryHeap<Reverse<Member>>,
    /// What is added to the `due` of all: they move together when another link holds the stream back.
    shift: i128,
}

impl Members {
    /// Adds `flow`, which began as the `number`-th of all; it ends when the clock shows `due`.
    pub fn insert(&mut self, due: Work, number: u64, flow: u32) {
        if self.waiting.is_empty() {
            self.shift = 0;
        }
        self.waiting.push(Reverse(Member { due: signed(due) - self.shift, number, flow }));
    }

    /// The flow that ends first, and when.
    pub fn first(&self) -> Option<(u32, Work)> {
        let Reverse(first) = self.waiting.peek()?;
        Some((first.flow, self.due(first)))
    }

    /// Takes it.
    pub fn take_first(&mut self) -> Option<u32> {
        Some(self.waiting.pop()?.0.flow)
    }

    /// The clock is another: what was due `before` is due at `after`.
    pub fn shift(&mut self, before: Work, after: Work) {
        self.shift += signed(after) - signed(before);
    }

    /// All flows, and when they are due, in no order that matters.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Work)> {
        self.waiting.iter().map(|Reverse(member)| (member.flow, self.due(member)))
    }

    fn due(&self, member: &Member) -> Work {
        Work((member.due + self.shift) as u128)
    }
}

/// Work is below 2¹²⁷: at most 2⁶³ rate steps for 2⁶⁴ ps.
fn signed(work: Work) -> i128 {
    work.0 as i128
}
