//! What goes between a call inside a window and one outside.

use std::collections::{BTreeMap, BTreeSet};

use mpi::Rank;

use super::Row;
use crate::trace::order::{By, Purpose, Watch};

/// How much was cut.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Messages that were sent in the window, and received outside.
    pub sends: u64,
    /// Messages that were received in the window, and sent outside.
    pub receives: u64,
    /// Collectives of which some members' calls were outside.
    pub collectives: u64,
}

/// An operation of a rank: its call, and the request under which it began.
type Operation = (u64, Option<u32>);

/// The operations of one rank that are cut.
#[derive(Debug, Default, Clone)]
pub struct Cuts {
    /// Messages that it sends.
    pub sends: BTreeSet<Operation>,
    /// Messages that it receives.
    pub receives: BTreeSet<Operation>,
    /// Collectives.
    pub collectives: BTreeSet<Operation>,
    /// Calls that probe.
    pub probes: BTreeSet<u64>,
    /// Calls after the window that make communicators with members who make them in it.
    pub late: BTreeSet<u64>,
}

/// Looks at what goes from call to call.
pub struct Crossing {
    rows: Vec<Row>,
    /// How many calls of each rank have returned.
    seen: Vec<u64>,
    ranks: Vec<Cuts>,
    cut: Cut,
    /// Probes in the window of messages sent in it, by the message.
    probed: BTreeMap<(Rank, Operation), Vec<By>>,
}

fn operation(by: By) -> Operation {
    (by.number, by.request)
}

impl Crossing {
    /// Before the first call.
    pub fn new(rows: Vec<Row>) -> Crossing {
        let (seen, ranks) = (vec![0; rows.len()], vec![Cuts::default(); rows.len()]);
        Crossing { rows, seen, ranks, cut: Cut::default(), probed: BTreeMap::new() }
    }

    fn inside(&self, by: By) -> bool {
        self.rows[by.rank.0 as usize].has(by.number)
    }

    fn cuts(&mut self, by: By) -> &mut Cuts {
        &mut self.ranks[by.rank.0 as usize]
    }

    /// Where all has been seen: probes of messages that are cut are cut. Gives the first rank that stands still within
    /// its window, and the call.
    pub fn close(&mut self) -> Result<(), (u32, u64)> {
        for ((rank, sent), probes) in std::mem::take(&mut self.probed) {
            if self.ranks[rank.0 as usize].sends.contains(&sent) {
                for probe in probes {
                    self.cuts(probe).probes.insert(probe.number);
                }
            }
        }
        let mut all = (0..).zip(self.rows.iter().zip(&self.seen));
        all.find(|(_, (row, seen))| **seen < row.last)
            .map_or(Ok(()), |(rank, (_, seen))| Err((rank, seen + 1)))
    }

    /// How much is cut.
    pub fn cut(&self) -> Cut {
        self.cut
    }

    /// What is cut of one rank.
    pub fn of_rank(&self, rank: Rank) -> &Cuts {
        &self.ranks[rank.0 as usize]
    }
}

impl Watch for Crossing {
    fn call(&mut self, rank: Rank, _: u64) {
        self.seen[rank.0 as usize] += 1;
    }

    fn message(&mut self, sent: By, received: By) {
        match (self.inside(sent), self.inside(received)) {
            (true, false) => {
                self.cut.sends += 1;
                self.cuts(sent).sends.insert(operation(sent));
            }
            (false, true) => {
                self.cut.receives += 1;
                self.cuts(received).receives.insert(operation(received));
            }
            // Its probes, if there were any, stay as they are.
            (true, true) => drop(self.probed.remove(&(sent.rank, operation(sent)))),
            (false, false) => {}
        }
    }

    fn probe(&mut self, sent: By, probe: By) {
        match (self.inside(sent), self.inside(probe)) {
            (true, true) => self.probed.entry((sent.rank, operation(sent))).or_default().push(probe),
            (false, true) => drop(self.cuts(probe).probes.insert(probe.number)),
            _ => {}
        }
    }

    fn meeting(&mut self, purpose: Purpose, calls: &mut dyn Iterator<Item = By>) {
        let (inside, outside): (Vec<By>, Vec<By>) = calls.partition(|by| self.inside(*by));
        if inside.is_empty() || outside.is_empty() {
            return;
        }
        if purpose == Purpose::Communicator {
            for by in outside {
                if by.number > self.rows[by.rank.0 as usize].last {
                    self.cuts(by).late.insert(by.number);
                }
            }
            return;
        }
        self.cut.collectives += 1;
        for by in inside {
            self.cuts(by).collectives.insert(operation(by));
        }
    }
}
