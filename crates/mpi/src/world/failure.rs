//! Failures of simulated programs: deadlocks in words, and misuse.

use crate::operation::{Op, Rank, Request};
use crate::record::{Blocked, Failure};
use crate::source::Source;
use crate::world::process::{Process, Standing, Target};
use crate::world::request::State;
use crate::world::rounds::Disagreement;
use crate::world::{World, text};

impl World {
    /// The ranks that are not done, once nothing can happen any more.
    pub fn blocked(&self, source: &dyn Source) -> Vec<Blocked> {
        let stuck = self.processes.iter().filter(|(_, process)| process.standing != Standing::Finished);
        stuck.map(|(rank, process)| self.blocked_rank(rank, process, source)).collect()
    }

    pub(super) fn misuse(&self, rank: Rank, reason: String) -> Box<Failure> {
        Box::new(Failure::Misuse { rank, reason })
    }

    /// The call that `target` belongs to, in words.
    pub(super) fn call_text(&self, rank: Rank, target: Target) -> String {
        let op = self.processes[rank].op.as_ref();
        match (target, op) {
            (Target::Call, Some(op)) => text::describe(op),
            (Target::Request(request), _) => format!("MPI_Irecv (request {})", request.0),
            _ => "MPI_Recv".into(),
        }
    }

    pub(super) fn blocked_rank(&self, rank: Rank, process: &Process, source: &dyn Source) -> Blocked {
        let op = process.op.as_ref();
        let call = op.map_or("no call".into(), text::describe);
        let mut waits = Waits::default();
        match op {
            Some(Op::Wait(..) | Op::WaitOne(_)) => {
                let requests = World::requests_of(op.expect("just seen"));
                requests.iter().for_each(|request| self.waits_for_request(process, *request, &mut waits));
            }
            Some(Op::Probe(receive) | Op::ProbeMatched(receive, _)) => {
                let from = self.pattern(rank, receive).ok().flatten().and_then(|pattern| pattern.source());
                waits.message(from);
            }
            Some(Op::Linger(_, function)) => {
                if function.contains("probe") {
                    waits.message(None);
                }
                let requests = (0..process.requests.len() as u32).map(Request);
                requests.for_each(|request| self.waits_for_request(process, request, &mut waits));
            }
            Some(Op::Drain(_)) => {
                let held = process.rendezvous.buffered();
                held.for_each(|held| waits.add("a matching receive at", Some(held.dest)));
            }
            Some(_) => self.waits_for(process, Target::Call, &mut waits),
            None => {}
        }
        waits.ranks.sort_unstable();
        waits.ranks.dedup();
        Blocked {
            rank,
            since: process.call.begin,
            call,
            waits_for: waits.text(),
            ranks: waits.ranks,
            place: source.place(rank),
        }
    }

    fn waits_for_request(&self, process: &Process, request: Request, waits: &mut Waits) {
        let slot = process.requests.get(request.0 as usize);
        if slot.is_some_and(|slot| slot.state == State::Active) {
            self.waits_for(process, Target::Request(request), waits);
        }
    }

    /// Adds the events that `target` still needs.
    fn waits_for(&self, process: &Process, target: Target, waits: &mut Waits) {
        for (pattern, _) in process.matching.posted().filter(|(_, posting)| posting.target == target) {
            waits.message(pattern.source());
        }
        for outgoing in process.rendezvous.sends_for(target) {
            let what =
                if outgoing.handshake.is_some() { "its data to leave for" } else { "a matching receive at" };
            waits.add(what, Some(outgoing.dest));
        }
        for incoming in process.rendezvous.receives_for(target) {
            waits.add("the data of a message from", Some(incoming.source));
        }
        let accesses = process.rare.iter().flat_map(|rare| rare.accesses.iter());
        for (_, access) in accesses.filter(|(_, access)| access.target == target) {
            waits.add("a lock, or the answer of the memory of", Some(access.to));
        }
        for (number, instance) in process.rounds.iter().filter(|(_, part)| part.target == target) {
            process
                .rounds
                .awaited_by(number)
                .for_each(|(pattern, _)| waits.add(instance.call.kind.function(), pattern.source()));
            self.waits_for(process, Target::Round(number), waits);
        }
    }

    /// Two members of a collective that wait for each other's messages in vain, and the first's rank.
    pub fn hidden_mismatch(&self) -> Option<(Rank, Failure)> {
        self.processes.iter().find_map(|(rank, process)| {
            process.rounds.early().find_map(|(key, early)| {
                let (number, instance) = process.rounds.find(key.context, key.tag)?;
                if instance.signature != early.signature {
                    return Some((rank, *self.mismatch(rank, key, Disagreement(early.signature))));
                }
                let mut awaited = process.rounds.awaited_by(number);
                let (_, awaited) = awaited.find(|(waiting, _)| waiting.source() == Some(key.source))?;
                let call = text::collective(&instance.call);
                let calls = vec![
                    (rank, format!("{call} receives {} bytes", awaited.bytes)),
                    (key.source, format!("{call} sends {} bytes", early.bytes)),
                ];
                Some((rank, Failure::Mismatch { calls, elsewhere: None }))
            })
        })
    }
}

/// Events that a rank waits for, by kind and partner.
#[derive(Default)]
struct Waits {
    parts: Vec<(&'static str, Option<Rank>)>,
    ranks: Vec<Rank>,
}

/// More than these are counted, not named.
const NAMED: usize = 8;

impl Waits {
    fn message(&mut self, from: Option<Rank>) {
        self.add("a message from", from);
    }

    fn add(&mut self, what: &'static str, from: Option<Rank>) {
        self.parts.push((what, from));
        self.ranks.extend(from);
    }

    fn text(&self) -> String {
        let mut words: Vec<String> = self
            .parts
            .iter()
            .take(NAMED)
            .map(|(what, from)| match from {
                Some(rank) if what.starts_with("MPI_") => format!("rank {} in {what}", rank.0),
                Some(rank) => format!("{what} rank {}", rank.0),
                None => format!("{what} any rank"),
            })
            .collect();
        words.dedup();
        if self.parts.len() > NAMED {
            words.push(format!("{} more", self.parts.len() - NAMED));
        }
        if words.is_empty() { "nothing that can come".into() } else { words.join(", ") }
    }
}
