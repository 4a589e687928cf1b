//! The time of an algorithm on an idle network: the model that `mpi::collective::Idle` states, run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use engine::registry::Entry;
use mpi::collective::{Algorithm, Idle, Step};

use super::case::Case;

/// An event, ordered by time (seconds ≥ 0 are in the order of their bits), then by number.
type Event = Reverse<(u64, u64, What)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A rank begins its next round.
    Begin { rank: u32 },
    /// A message is at the door of its receiver.
    Arrive { from: u32, to: u32, bytes: u64 },
}

#[derive(Default, Clone)]
struct Member {
    round: u32,
    begun: f64,
    /// Time at which the port out is free.
    out: f64,
    /// Time at which the port in took its last message, if it has taken one.
    taken: Option<f64>,
    /// The receives of the round, in order: from whom, whether it is reduced, when it was taken.
    wanted: Vec<(u32, u64, bool, Option<f64>)>,
    done: bool,
}

pub struct Clock<'a> {
    entry: &'a Entry<Algorithm>,
    case: &'a Case,
    idle: &'a Idle<'a>,
    members: Vec<Member>,
    /// Messages that were taken before their receiver asked for them.
    early: BTreeMap<(u32, u32), VecDeque<f64>>,
    events: BinaryHeap<Event>,
    number: u64,
    end: f64,
}

/// Time at which the last rank is done, if all call at 0 \[s\].
pub fn run(entry: &Entry<Algorithm>, case: &Case, idle: &Idle) -> f64 {
    let mut clock = Clock {
        entry,
        case,
        idle,
        members: vec![Member::default(); case.size as usize],
        early: BTreeMap::new(),
        events: BinaryHeap::new(),
        number: 0,
        end: 0.0,
    };
    for rank in 0..case.size {
        clock.push(0.0, What::Begin { rank });
    }
    while let Some(Reverse((bits, _, what))) = clock.events.pop() {
        let now = f64::from_bits(bits);
        match what {
            What::Begin { rank } => clock.begin(rank, now),
            What::Arrive { from, to, bytes } => clock.arrive(from, to, bytes, now),
        }
    }
    assert!(clock.members.iter().all(|member| member.done), "some ranks never end");
    clock.end
}

impl Clock<'_> {
    fn push(&mut self, at: f64, what: What) {
        self.events.push(Reverse((at.to_bits(), self.number, what)));
        self.number += 1;
    }

    fn begin(&mut self, rank: u32, now: f64) {
        let mut steps = Vec::new();
        let index = rank as usize;
        self.members[index].begun = now;
        if !(self.entry.build.round)(&self.case.shape(rank), rank, self.members[index].round, &mut steps) {
            self.members[index].done = true;
            self.end = self.end.max(now);
            return;
        }
        self.members[index].round += 1;
        for step in steps {
            match step {
                Step::Send { to, bytes, .. } => {
                    let leaves = self.members[index].out.max(now);
                    self.members[index].out = leaves + self.idle.busy(bytes.0);
                    let arrives = leaves + self.idle.time(bytes.0);
                    self.push(arrives, What::Arrive { from: rank, to, bytes: bytes.0 });
                }
                Step::Receive { from, bytes, effect, .. } => {
                    let reduced = effect != mpi::collective::Effect::Store;
                    let taken = self.early.get_mut(&(from, rank)).and_then(VecDeque::pop_front);
                    self.members[index].wanted.push((from, bytes.0, reduced, taken));
                }
            }
        }
        self.end_of_round(rank);
    }

    fn arrive(&mut self, from: u32, to: u32, bytes: u64, now: f64) {
        let member = &mut self.members[to as usize];
        let taken = member.taken.map_or(now, |last| now.max(last + self.idle.busy(bytes)));
        member.taken = Some(taken);
        let open = |want: &&mut (u32, u64, bool, Option<f64>)| want.0 == from && want.3.is_none();
        match member.wanted.iter_mut().find(open) {
            Some(want) => {
                want.3 = Some(taken);
                self.end_of_round(to);
            }
            None => self.early.entry((from, to)).or_default().push_back(taken),
        }
    }

    /// If all messages of the round have come, works out when it ends.
    fn end_of_round(&mut self, rank: u32) {
        let idle = self.idle;
        let member = &mut self.members[rank as usize];
        let mut at = member.begun;
        for (_, bytes, reduced, taken) in &member.wanted {
            let Some(taken) = taken else { return };
            at = at.max(*taken) + if *reduced { idle.reduce(*bytes) } else { 0.0 };
        }
        member.wanted.clear();
        let at = at.max(member.out);
        self.push(at, What::Begin { rank });
    }
}
