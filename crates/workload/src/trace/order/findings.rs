//! Findings of the check of a recording: each with its place, and its consequence for a replay.

use std::fmt;

use mpi::operation::{Peer, Request, Start, TagMatch};
use mpi::{Op, Rank};

use super::Order;
use super::mail::{BLOCKING, Place};
use super::ranks::State;

/// Kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A call names a communicator, rank, tag or grid that does not exist.
    NotFollowed,
    /// Calls of members of a communicator do not agree.
    Mismatch,
    /// A message is longer than the receive buffer.
    Truncated,
    /// A rank cannot go on.
    Stuck,
    /// Ranks wait for each other in a cycle.
    Cycle,
    /// Nobody receives a message.
    UnmatchedSend,
    /// A receive gets no message.
    UnmatchedReceive,
    /// A message has another length than its receive states.
    OtherSize,
    /// A message was received before it was sent, by the clocks of two hosts.
    ClockInversion,
    /// A call begins before the previous one on its rank has ended, or ends before it begins.
    ClockBackwards,
}

impl Kind {
    /// All kinds, each with its name and its consequence for a replay.
    pub const ALL: &[(Kind, &str, &str)] = &[
        (Kind::NotFollowed, "not followed", "a replay ends there with an error"),
        (Kind::Mismatch, "mismatched collective", "a replay ends there as a failure"),
        (Kind::Truncated, "truncated message", "a replay ends there as a failure"),
        (Kind::Stuck, "stuck rank", "a replay ends there as a deadlock"),
        (Kind::Cycle, "cyclic dependency", "a replay ends there as a deadlock"),
        (Kind::UnmatchedSend, "unmatched send", "a replay sends it, and nobody receives it"),
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
            "a replay assumes that the rank's clock stands still until it is back where it had been",
        ),
    ];
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Kind of the finding.
    pub kind: Kind,
    /// Rank.
    pub rank: Rank,
    /// Number of the call on that rank, from 1; in a graph the number of the node, 0 for none.
    pub number: u64,
    /// Function of the call.
    pub call: &'static str,
    /// Description.
    pub cause: String,
}

/// All findings: counts, and the first ones of each kind.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Findings {
    /// First findings of each kind, in the order of [`Kind::ALL`].
    pub first: Vec<Finding>,
    counts: [u64; Kind::ALL.len()],
}

/// Limit of findings kept for each kind; the rest are only counted.
const KEPT: u64 = 10;

impl Findings {
    /// Number of findings of a kind.
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

/// Adds the findings that show when no rank can go on: stuck ranks, and unmatched messages and receives.
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
        // The receive that blocks the rank has been reported.
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
    /// Call that a stuck rank is in; in a graph the first node that it waits for.
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

    /// Stuck ranks that a rank waits for, as far as known.
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
