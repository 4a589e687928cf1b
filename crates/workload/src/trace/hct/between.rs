//! What is known of the time between two calls, besides how long it was.
//!
//! A test or probe that found nothing (a *poll*) is no call of its own in a file: there may be millions of them between two
//! calls that did something. The call after them says how many there were, and how much of the time was spent in waiting
//! for what that call found; the rest is computing. docs/traces.md says which is which.

use super::shape::Did;

/// What lies between the call before and this one.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Between {
    /// Tests and probes that found nothing.
    pub polls: u64,
    /// How long the rank waited in them \[ns\]: this is no computing.
    pub waited_ns: u64,
}

/// How many numbers that are.
pub const KINDS: usize = 2;

impl Between {
    /// As numbers, in the order of the format.
    pub fn numbers(&self) -> [u64; KINDS] {
        [self.polls, self.waited_ns]
    }

    /// Of numbers in the order of the format.
    pub fn of([polls, waited_ns]: [u64; KINDS]) -> Between {
        Between { polls, waited_ns }
    }

    /// Whether there is nothing.
    pub fn is_nothing(&self) -> bool {
        *self == Between::default()
    }
}

/// Whether a rank that polled before this call may have waited for what the call found: otherwise it went on without it.
pub fn finds(did: &Did) -> bool {
    match did {
        Did::Complete { requests, .. } => !requests.is_empty(),
        Did::Receive(receive) => receive.request.is_none(),
        Did::Probe(_) | Did::SendReceive { .. } => true,
        _ => false,
    }
}

/// For each kind a number for each call of a block; none where all are 0.
pub type Columns = [Vec<u64>; KINDS];

/// Appends the numbers of a call, the `at`-th of its block.
pub fn push(columns: &mut Columns, at: usize, between: &Between) {
    if between.is_nothing() && columns.iter().all(Vec::is_empty) {
        return;
    }
    for (column, number) in columns.iter_mut().zip(between.numbers()) {
        if number > 0 || !column.is_empty() {
            column.resize(at, 0);
            column.push(number);
        }
    }
}

/// The numbers of the `at`-th call.
pub fn read(columns: &Columns, at: usize) -> Between {
    Between::of(columns.each_ref().map(|column| column.get(at).copied().unwrap_or(0)))
}
