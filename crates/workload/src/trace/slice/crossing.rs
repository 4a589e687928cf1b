//! Operations that cross the border of a slice: between calls inside and outside a window, or between kept ranks and
//! others.

use std::collections::{BTreeMap, BTreeSet};

use mpi::Rank;

use super::Row;
use crate::trace::order::{By, Members, Purpose, Watch};

/// Numbers of the operations that were cut.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Messages that were sent in the window, and received outside.
    pub sends: u64,
    /// Messages that were received in the window, and sent outside.
    pub receives: u64,
    /// Collectives with calls of some members outside.
    pub collectives: u64,
    /// Messages between kept ranks and others, and collectives whose root or neighbours are not kept.
    pub outside: u64,
    /// Collectives that only the kept ranks perform.
    pub restricted: u64,
}

/// An operation of a rank: the number of its call, and its request.
type Operation = (u64, Option<u32>);

/// Cut operations of one rank.
#[derive(Debug, Default, Clone)]
pub struct Cuts {
    /// Cut sends.
    pub sends: BTreeSet<Operation>,
    /// Cut receives.
    pub receives: BTreeSet<Operation>,
    /// Cut collectives.
    pub collectives: BTreeSet<Operation>,
    /// Cut probes, by call.
    pub probes: BTreeSet<u64>,
    /// Calls after the window that create communicators with members who create them in it.
    pub late: BTreeSet<u64>,
    /// Operations with ranks that are not kept.
    pub outside: Outside,
    /// Communicators that its calls created, if not all ranks are kept.
    pub made: BTreeMap<u64, Made>,
}

/// Operations of a rank with others that are not kept.
#[derive(Debug, Default, Clone)]
pub struct Outside {
    /// Sends.
    pub sends: BTreeSet<Operation>,
    /// Receives.
    pub receives: BTreeSet<Operation>,
    /// Collectives whose root or neighbours are not kept.
    pub collectives: BTreeSet<Operation>,
    /// Probes, by call.
    pub probes: BTreeSet<u64>,
}

/// Communicator that a call has created.
#[derive(Debug, Clone)]
pub struct Made {
    /// Members of the new communicator, if the rank is in one.
    pub members: Option<Members>,
    /// True if all ranks that created it, and all of its members, are kept.
    pub by_kept: bool,
    /// True if all of its members are kept.
    pub of_kept: bool,
}

/// An operation between a kept rank and another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaving {
    /// Call of the kept rank.
    pub by: By,
    /// The other rank.
    pub other: Rank,
    /// Kind of the operation.
    pub what: What,
}

/// Kind of an operation with a rank that is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A message to the other rank.
    Send,
    /// A message from the other rank.
    Receive,
    /// A collective with the other rank as root or neighbour.
    Collective,
    /// An inter-communicator with the other rank.
    Groups,
}

/// Observes the run and finds the operations that cross the border of a slice.
pub struct Crossing {
    rows: Vec<Row>,
    /// True for each kept rank; `None` if all are kept.
    kept: Option<Vec<bool>>,
    /// First operation that leaves the kept ranks, by rank and call; and the first that cannot be dropped.
    leaving: Option<Leaving>,
    impossible: Option<Leaving>,
    /// Number of calls of each rank that have returned.
    seen: Vec<u64>,
    ranks: Vec<Cuts>,
    cut: Cut,
    /// Probes in the window of messages that were sent in it, by message.
    probed: BTreeMap<(Rank, Operation), Vec<By>>,
}

fn operation(by: By) -> Operation {
    (by.number, by.request)
}

impl Crossing {
    /// Begins before the first call.
    pub fn new(rows: Vec<Row>, kept: Option<Vec<bool>>) -> Crossing {
        let (seen, ranks) = (vec![0; rows.len()], vec![Cuts::default(); rows.len()]);
        let (cut, probed) = (Cut::default(), BTreeMap::new());
        Crossing { rows, kept, leaving: None, impossible: None, seen, ranks, cut, probed }
    }

    fn keeps(&self, rank: Rank) -> bool {
        self.kept.as_ref().is_none_or(|kept| kept[rank.0 as usize])
    }

    /// Records the operation of the kept call `by` with another rank that is not kept.
    fn leaves(&mut self, by: By, other: Rank, what: What) {
        let leaving = Leaving { by, other, what };
        let first = |one: &Leaving| (one.by.rank, one.by.number);
        if self.leaving.as_ref().is_none_or(|before| first(&leaving) < first(before)) {
            self.leaving = Some(leaving);
        }
    }

    /// First operation that leaves the kept ranks: that of the lowest rank's first such call.
    pub fn leaving(&self) -> Option<Leaving> {
        self.leaving
    }

    /// First operation that leaves the kept ranks and cannot be dropped.
    pub fn impossible(&self) -> Option<Leaving> {
        self.impossible
    }

    fn inside(&self, by: By) -> bool {
        self.rows[by.rank.0 as usize].has(by.number)
    }

    fn cuts(&mut self, by: By) -> &mut Cuts {
        &mut self.ranks[by.rank.0 as usize]
    }

    /// Ends the observation: probes of cut messages are cut. Fails with the first rank that is stuck within its
    /// window, and the call that it is in.
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

    /// Numbers of the cut operations.
    pub fn cut(&self) -> Cut {
        self.cut
    }

    /// Cut operations of one rank.
    pub fn of_rank(&self, rank: Rank) -> &Cuts {
        &self.ranks[rank.0 as usize]
    }
}

impl Watch for Crossing {
    fn call(&mut self, rank: Rank, _: u64) {
        self.seen[rank.0 as usize] += 1;
    }

    fn message(&mut self, sent: By, received: By) {
        match (self.keeps(sent.rank), self.keeps(received.rank)) {
            (true, true) => {}
            (true, false) if self.inside(sent) => {
                self.cut.outside += 1;
                self.cuts(sent).outside.sends.insert(operation(sent));
                return self.leaves(sent, received.rank, What::Send);
            }
            (false, true) if self.inside(received) => {
                self.cut.outside += 1;
                self.cuts(received).outside.receives.insert(operation(received));
                return self.leaves(received, sent.rank, What::Receive);
            }
            _ => return,
        }
        match (self.inside(sent), self.inside(received)) {
            (true, false) => {
                self.cut.sends += 1;
                self.cuts(sent).sends.insert(operation(sent));
            }
            (false, true) => {
                self.cut.receives += 1;
                self.cuts(received).receives.insert(operation(received));
            }
            // Probes of the message, if there were any, stay unchanged.
            (true, true) => drop(self.probed.remove(&(sent.rank, operation(sent)))),
            (false, false) => {}
        }
    }

    fn probe(&mut self, sent: By, probe: By) {
        match (self.inside(sent), self.inside(probe)) {
            (true, true) => self.probed.entry((sent.rank, operation(sent))).or_default().push(probe),
            (false, true) if self.keeps(sent.rank) => drop(self.cuts(probe).probes.insert(probe.number)),
            (false, true) => drop(self.cuts(probe).outside.probes.insert(probe.number)),
            _ => {}
        }
    }

    fn meeting(&mut self, purpose: Purpose, calls: &mut dyn Iterator<Item = By>) {
        let (calls, strangers): (Vec<By>, Vec<By>) = calls.partition(|by| self.keeps(by.rank));
        let (inside, outside): (Vec<By>, Vec<By>) = calls.into_iter().partition(|by| self.inside(*by));
        if inside.is_empty() {
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
        if !outside.is_empty() {
            self.cut.collectives += 1;
            for by in inside {
                self.cuts(by).collectives.insert(operation(by));
            }
            return;
        }
        let Some(stranger) = strangers.first().map(|by| by.rank) else { return };
        let needed = match purpose {
            Purpose::Rooted(root) => Some(root).filter(|root| !self.keeps(*root)),
            Purpose::Around => Some(stranger),
            _ => None,
        };
        match needed {
            Some(other) => {
                self.cut.outside += 1;
                for by in inside {
                    self.cuts(by).outside.collectives.insert(operation(by));
                    self.leaves(by, other, What::Collective);
                }
            }
            None => self.cut.restricted += u64::from(purpose != Purpose::Finalize),
        }
    }

    fn made(&mut self, calls: &[(By, Option<Members>)]) {
        if self.kept.is_none() {
            return;
        }
        let stranger =
            |made: &Members| made.ranks.iter().map(|rank| Rank(*rank)).find(|rank| !self.keeps(*rank));
        let of_kept = calls.iter().flat_map(|(_, made)| made).all(|made| stranger(made).is_none());
        let by_kept = of_kept && calls.iter().all(|(by, _)| self.keeps(by.rank));
        let torn = calls.iter().find_map(|(by, made)| {
            let made = made.as_ref().filter(|made| made.inter && self.keeps(by.rank))?;
            Some(Leaving { by: *by, other: stranger(made)?, what: What::Groups })
        });
        self.impossible = self.impossible.or(torn);
        for (by, members) in calls {
            let made = Made { members: members.clone(), by_kept, of_kept };
            self.cuts(*by).made.insert(by.number, made);
        }
    }
}
