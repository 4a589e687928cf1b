//! What goes between a call inside a window and one outside, or between a rank that is kept and one that is not.

use std::collections::{BTreeMap, BTreeSet};

use mpi::Rank;

use super::Row;
use crate::trace::order::{By, Members, Purpose, Watch};

/// How much was cut.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Messages that were sent in the window, and received outside.
    pub sends: u64,
    /// Messages that were received in the window, and sent outside.
    pub receives: u64,
    /// Collectives of which some members' calls were outside.
    pub collectives: u64,
    /// Messages that ranks exchanged with others that are not kept, and collectives whose root or neighbours are not.
    pub outside: u64,
    /// Collectives that only the kept ranks do.
    pub restricted: u64,
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
    /// What it exchanges with ranks that are not kept.
    pub outside: Outside,
    /// What its calls have made, where not all ranks are kept.
    pub made: BTreeMap<u64, Made>,
}

/// What a rank exchanges with others that are not kept.
#[derive(Debug, Default, Clone)]
pub struct Outside {
    /// Messages that it sends.
    pub sends: BTreeSet<Operation>,
    /// Messages that it receives.
    pub receives: BTreeSet<Operation>,
    /// Collectives whose root or neighbours are not kept.
    pub collectives: BTreeSet<Operation>,
    /// Calls that probe.
    pub probes: BTreeSet<u64>,
}

/// What a call has made.
#[derive(Debug, Clone)]
pub struct Made {
    /// The members of the rank's new communicator, if it is in one.
    pub members: Option<Members>,
    /// Whether all ranks that made it are kept, and all that are in what they made.
    pub by_kept: bool,
    /// The second alone.
    pub of_kept: bool,
}

/// Something between a rank that is kept and one that is not: the call of the former, and the other rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaving {
    /// The call of the rank that is kept.
    pub by: By,
    /// The other rank.
    pub other: Rank,
    /// What it is.
    pub what: What,
}

/// What leaves the kept ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A message to the other rank.
    Send,
    /// A message from it.
    Receive,
    /// A collective with it as root or neighbour.
    Collective,
    /// An inter-communicator with it.
    Groups,
}

/// Looks at what goes from call to call.
pub struct Crossing {
    rows: Vec<Row>,
    /// Whether each rank is kept; all are if there is none.
    kept: Option<Vec<bool>>,
    /// What leaves the ranks that are kept: the first of the lowest, and the first that nothing can be made of.
    leaving: Option<Leaving>,
    impossible: Option<Leaving>,
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
    pub fn new(rows: Vec<Row>, kept: Option<Vec<bool>>) -> Crossing {
        let (seen, ranks) = (vec![0; rows.len()], vec![Cuts::default(); rows.len()]);
        let (cut, probed) = (Cut::default(), BTreeMap::new());
        Crossing { rows, kept, leaving: None, impossible: None, seen, ranks, cut, probed }
    }

    fn keeps(&self, rank: Rank) -> bool {
        self.kept.as_ref().is_none_or(|kept| kept[rank.0 as usize])
    }

    /// What the call `by`, inside, has to do with another rank that is not kept.
    fn leaves(&mut self, by: By, other: Rank, what: What) {
        let leaving = Leaving { by, other, what };
        let first = |one: &Leaving| (one.by.rank, one.by.number);
        if self.leaving.as_ref().is_none_or(|before| first(&leaving) < first(before)) {
            self.leaving = Some(leaving);
        }
    }

    /// What leaves the ranks that are kept first: the lowest rank's first call that does.
    pub fn leaving(&self) -> Option<Leaving> {
        self.leaving
    }

    /// Something that leaves them of which nothing can be made.
    pub fn impossible(&self) -> Option<Leaving> {
        self.impossible
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
            // Its probes, if there were any, stay as they are.
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
