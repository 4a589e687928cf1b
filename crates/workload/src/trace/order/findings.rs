//! What is wrong with a recording: where, and what a replay makes of it.

use std::fmt;

use mpi::operation::{Peer, Request, Start, TagMatch};
use mpi::{Op, Rank};

use super::Order;
use super::mail::{BLOCKING, Place};
use super::ranks::State;

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A call that names what is not there.
    NotFollowed,
    /// Calls of members of a communicator that do not go together.
    Mismatch,
    /// A message that is longer than the room for it.
    Truncated,
    /// A rank that cannot go on.
    Stuck,
    /// Ranks that wait for each other in a circle.
    Cycle,
    /// A message that nobody receives.
    UnmatchedSend,
    /// A receive that gets no message.
    UnmatchedReceive,
    /// A message of another length than its receive says.
    OtherSize,
    /// A message that was received before it was sent, by the clocks of two hosts.
    ClockInversion,
    /// A call that begins before the one before it on its rank has ended, or ends before it begins.
    ClockBackwards,
}

impl Kind {
    /// Each with its name, and what a replay makes of it.
    pub const ALL: &[(Kind, &str, &str)] = &[
        (Kind::NotFollowed, "not followed", "a replay ends there with an error"),
        (Kind::Mismatch, "mismatched collective", "a replay ends there as a failure"),
        (Kind::Truncated, "truncated message", "a replay ends there as a failure"),
        (Kind::Stuck, "stuck rank", "a replay ends there as a deadlock"),
        (Kind::Cycle, "cyclic dependency", "a replay ends there as a deadlock"),
        (Kind::UnmatchedSend, "unmatched send", "a replay sends it, and nobody takes it"),
        (Kind::UnmatchedReceive, "unmatched receive", "a replay posts it, and goes on as recorded"),
        (Kind::OtherSize, "message of another size", "a replay takes the size that is sent"),
        (
            Kind::ClockInversion,
            "clock inversion",
            "a replay takes the gaps between calls of a rank, not the clocks",
        ),
        (
            Kind::ClockBackwards,
            "clock running backwards",
            "a replay takes the rank's clock to stand still until it is where it had been",
        ),
    ];
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What sort of thing.
    pub kind: Kind,
    /// On which rank.
    pub rank: Rank,
    /// In which call of that rank, from 1; of a graph, at which of its nodes, 0 for none of them.
    pub number: u64,
    /// Of which function.
    pub call: &'static str,
    /// What it is.
    pub cause: String,
}

/// All that is wrong: how often, and the first of each sort.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Findings {
    /// The first of each sort, in the order of [`Kind::ALL`].
    pub first: Vec<Finding>,
    counts: [u64; Kind::ALL.len()],
}

/// So many of a sort are kept.
const KEPT: u64 = 10;

impl Findings {
    /// How many there are of a sort.
    pub fn count(&self, kind: Kind) -> u64 {
        self.counts[kind as usize]
    }

    pub(super) fn add(&mut self, kind: Kind, at: Place, cause: String) {
        self.counts[kind as usize] += 1;
        if self.count(kind) <= KEPT {
            let Place { rank, number, call, .. } = at;
            self.first.push(Finding { kind, rank, number, call, cause });
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { rank, number, call, of_graph } = self;
        match (of_graph, number) {
            (false, _) => write!(f, "{call} (call #{number} of rank {})", rank.0),
            (true, 0) => write!(f, "{call} (of rank {})", rank.0),
            (true, _) => write!(f, "{call} (event #{number} of rank {})", rank.0),
        }
    }
}

/// What shows when nobody can go on: who stands where, and what is left.
pub(super) fn at_the_end(order: &mut Order) {
    let mut findings = std::mem::take(&mut order.findings);
    for (state, rank) in order.ranks.iter().zip((0..).map(Rank)) {
        if !state.over {
            let waits = order.waits_for(rank);
            let names: Vec<_> = waits.iter().take(4).map(|rank| rank.0.to_string()).collect();
            let more = if waits.len() > names.len() { ", …" } else { "" };
            let cause = match &names[..] {
                [] => "waits for a message of whoever sends".to_string(),
                _ => format!("waits for rank {}{more}", names.join(", ")),
            };
            findings.add(Kind::Stuck, order.stands(rank), cause);
        }
        for ((comm, from, tag), message) in state.mail.arrived() {
            let cause = format!(
                "sends {} bytes to rank {}, who does not receive them (communicator {comm}, \
                                 from its rank {from}, tag {tag})",
                message.bytes, rank.0
            );
            findings.add(Kind::UnmatchedSend, message.by, cause);
        }
        // The receive in which the rank is stuck was told.
        let stands_in = (!state.over).then(|| state.place(rank).number);
        for posted in state.mail.posted() {
            if posted.request == BLOCKING && Some(posted.by.number) == stands_in {
                continue;
            }
            let from = match posted.receive.from {
                Peer::Rank(from) => format!("rank {from}"),
                _ => "any rank".to_string(),
            };
            let tag = match posted.receive.tag {
                TagMatch::Tag(tag) => format!("tag {tag}"),
                TagMatch::Any => "any tag".to_string(),
            };
            let cause =
                format!("gets no message from {from} of communicator {}, {tag}", posted.receive.comm.0);
            findings.add(Kind::UnmatchedReceive, posted.by, cause);
        }
    }
    if let Some(circle) = circle(order) {
        let at = order.stands(circle[0]);
        let all: Vec<_> = circle.iter().chain(&circle[..1]).map(|rank| rank.0.to_string()).collect();
        findings.add(Kind::Cycle, at, format!("ranks {} wait for each other", all.join(" → ")));
    }
    findings.first.sort_by_key(|finding| finding.kind);
    order.findings = findings;
}

/// Ranks of which each waits for the next, and the last for the first.
fn circle(order: &Order) -> Option<Vec<Rank>> {
    let mut seen_from = vec![None; order.ranks.len()];
    for start in (0..order.ranks.len() as u32).map(Rank) {
        let (mut at, mut way) = (start, Vec::new());
        while !order.ranks[at.0 as usize].over {
            match seen_from[at.0 as usize].replace(start) {
                None => {}
                Some(before) if before == start => {
                    let first = way.iter().position(|rank| *rank == at)?;
                    return Some(way.split_off(first));
                }
                Some(_) => break,
            }
            way.push(at);
            let Some(next) = order.waits_for(at).first().copied() else { break };
            at = next;
        }
    }
    None
}

impl Order<'_> {
    /// Where a rank stands that cannot go on: of a graph, the first of the nodes that it waits for.
    fn stands(&self, rank: Rank) -> Place {
        let state = &self.ranks[rank.0 as usize];
        let own = state.place(rank);
        let Some(Op::Wait(requests, _)) = state.standing.as_ref().map(|step| &step.op) else { return own };
        let begun = |request: &Request| match &state.slots.get(&request.0)?.state {
            State::Meets(which, place) => self.meetings.by(which, *place),
            _ => {
                state.mail.posted().iter().find(|posted| posted.request == request.0).map(|posted| posted.by)
            }
        };
        let nodes = requests.iter().filter(|_| own.of_graph).filter_map(begun);
        nodes.min_by_key(|by| by.number).unwrap_or(own)
    }

    /// Whom a rank waits for that cannot go on, as far as that is known.
    fn waits_for(&self, rank: Rank) -> Vec<Rank> {
        let state = &self.ranks[rank.0 as usize];
        let requests: Vec<u32> = match state.standing.as_ref().map(|step| &step.op) {
            Some(Op::WaitOne(request)) => vec![request.0],
            Some(Op::Wait(requests, _)) => requests.iter().map(|request| request.0).collect(),
            Some(Op::Probe(receive)) => {
                let Peer::Rank(from) = receive.from else { return Vec::new() };
                return self.peer(rank, receive.comm, from).into_iter().collect();
            }
            Some(Op::Send(_, Start::Request(_))) | None => return Vec::new(),
            Some(_) => vec![BLOCKING],
        };
        let slots = requests.iter().filter_map(|request| state.slots.get(request));
        slots
            .flat_map(|slot| match &slot.state {
                State::Waits(from) => from.iter().copied().collect(),
                State::Meets(which, place) if self.meetings.ready(which, *place).is_none() => {
                    self.meetings.absent(which)
                }
                _ => Vec::new(),
            })
            .collect()
    }
}
