//! Gaps between calls: facts about them besides their length.
//!
//! A test or probe that found nothing (a *poll*) is no call of its own in a file: there may be millions of them
//! between two calls that did something. The call after them has their number, and the part of the gap that was spent
//! waiting for what that call found; the rest is computing. docs/traces.md explains the distinction. Counts of the
//! recorder (instructions of the program, say) belong to gaps, too.

use serde::{Deserialize, Serialize};

use super::shape::Did;

/// Gap between a call and the one before it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// Number of tests and probes that found nothing.
    pub polls: u64,
    /// Time that the rank waited in polls, which is no computing \[ns\].
    pub waited_ns: u64,
    /// Counts, in the order of the head's `counts`; 0 beyond those.
    pub counts: [u64; MOST_COUNTS],
}

/// A quantity that a recording counts between calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Name, such as "instructions".
    pub name: String,
    /// Unit, such as "page faults".
    pub unit: String,
}

/// Largest number of quantities that a recording counts.
pub const MOST_COUNTS: usize = 8;

/// Number of kinds besides the counts: polls and waited time.
const OWN: usize = 2;

/// Number of kinds of numbers that each gap has in a recording with `counts` counts.
pub fn kinds(counts: usize) -> usize {
    OWN + counts
}

/// Checks the names and the number of a recording's counts.
pub fn check(counts: &[Count]) -> Result<(), String> {
    if counts.len() > MOST_COUNTS {
        return Err(format!("counts {} things, more than {MOST_COUNTS}", counts.len()));
    }
    let again = |at: usize| counts[..at].iter().any(|count| count.name == counts[at].name);
    match (0..counts.len()).find(|at| counts[*at].name.is_empty() || again(*at)) {
        Some(at) => Err(format!("counts '{}' twice, or something without a name", counts[at].name)),
        None => Ok(()),
    }
}

impl Gap {
    /// Number of a kind, in the order of the format.
    pub fn number(&self, kind: usize) -> u64 {
        match kind {
            0 => self.polls,
            1 => self.waited_ns,
            _ => self.counts[kind - OWN],
        }
    }

    /// Makes a gap of numbers by kind.
    pub fn of(kinds: usize, mut number: impl FnMut(usize) -> u64) -> Gap {
        let mut between = Gap { polls: number(0), waited_ns: number(1), ..Gap::default() };
        (OWN..kinds).for_each(|kind| between.counts[kind - OWN] = number(kind));
        between
    }

    /// Scales the counts to a part of the time, `part` of `whole` \[ns\], as if they had come evenly.
    pub fn count_part(&mut self, part: u64, whole: u64) {
        for count in &mut self.counts {
            *count = (u128::from(*count) * u128::from(part) / u128::from(whole.max(1))) as u64;
        }
    }
}

/// True if a rank that polled before this call may have waited for what the call found; otherwise it went on without
/// that.
pub fn finds(did: &Did) -> bool {
    match did {
        Did::Complete { requests, .. } => !requests.is_empty(),
        Did::Receive(receive) => receive.request.is_none(),
        Did::Probe(_) | Did::SendReceive { .. } => true,
        _ => false,
    }
}

/// One column of numbers for each kind, with an entry for each call of a block; empty if all are 0.
pub type Columns = Vec<Vec<u64>>;

/// Appends the gap before the `at`-th call of a block.
pub fn push(columns: &mut Columns, at: usize, between: &Gap) {
    for (kind, column) in columns.iter_mut().enumerate() {
        let number = between.number(kind);
        if number > 0 || !column.is_empty() {
            column.resize(at, 0);
            column.push(number);
        }
    }
}

/// Gap before the `at`-th call.
pub fn read(columns: &Columns, at: usize) -> Gap {
    Gap::of(columns.len(), |kind| columns[kind].get(at).copied().unwrap_or(0))
}
