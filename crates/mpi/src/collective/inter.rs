//! Collectives of inter-communicators: between two groups, with what comes from the other one as the result.
//!
//! Both groups stand in one row, the first `Shape::halves` places being one of them; the first of each group is
//! its leader.
//! - Barrier, allreduce: a binomial tree up to each leader, an exchange between the leaders, and down again.
//! - Broadcast: from the root to the other group's leader, and down its tree. Reduce: the other way round.
//! - Gather, scatter: between the root and every member of the other group, one message each.
//! - Allgather: every member sends to the other group's leader, which hands everything down its tree.
//! - All-to-all: in round i, number r of a group sends to number r + i of the other and receives from number r − i,
//!   modulo the size of the larger group.
//! - Reduce-scatter: as allreduce up to the exchange; then each leader sends every member its block.
//!
//! Who is in the root's group without being the root takes no part. There is one algorithm for each, for libraries
//! differ little here.
//!
//! Source: MPI 5.0, 6.2.3; MPICH, the files `*_inter_*.c` below `src/mpi/coll`.

use super::step::{Phases, receive, send};
use super::tree::Binomial;
use super::{Effect, Kind, Shape, Sizes, Slots, Step};

/// Name in signatures of calls.
pub(crate) const NAME: &str = "between groups";

/// Places in a row that form a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Side {
    begin: u32,
    size: u32,
}

impl Side {
    fn has(self, place: u32) -> bool {
        (self.begin..self.begin + self.size).contains(&place)
    }

    fn places(self) -> std::ops::Range<u32> {
        self.begin..self.begin + self.size
    }
}

/// One who takes part.
struct Member<'a> {
    shape: &'a Shape<'a>,
    place: u32,
    own: Side,
    other: Side,
    node: Binomial,
}

impl<'a> Member<'a> {
    fn new(shape: &'a Shape<'a>, place: u32) -> Member<'a> {
        let half = shape.halves.expect("there are two groups");
        let sides = [Side { begin: 0, size: half }, Side { begin: half, size: shape.size - half }];
        let (own, other) = if place < half { (sides[0], sides[1]) } else { (sides[1], sides[0]) };
        let node = Binomial::new(place - own.begin, own.size);
        Member { shape, place, own, other, node }
    }

    fn leads(&self) -> bool {
        self.place == self.own.begin
    }

    /// One round of reducing `bytes` up to the leader.
    fn up(&self, round: u32, bytes: u64, steps: &mut Vec<Step>) {
        if round < self.node.children() {
            let child = self.own.begin + self.node.child(round);
            receive(steps, child, bytes, Slots::None, Effect::CombineRight);
        } else if let Some(parent) = self.node.parent() {
            send(steps, self.own.begin + parent, bytes, Slots::None);
        }
    }

    /// One round of handing `bytes` down from the leader.
    fn down(&self, round: u32, bytes: u64, steps: &mut Vec<Step>) {
        match self.node.parent() {
            Some(parent) if round == 0 => {
                receive(steps, self.own.begin + parent, bytes, Slots::None, Effect::Store);
            }
            parent => {
                let sent = round - u32::from(parent.is_some());
                let child = self.node.child(self.node.children() - 1 - sent);
                send(steps, self.own.begin + child, bytes, Slots::None);
            }
        }
    }

    /// The rounds up to the leader and, for leaders, between them; `None` when they are over.
    fn combine(&self, phases: &mut Phases, bytes: u64, steps: &mut Vec<Step>) -> Option<()> {
        if let Some(round) = phases.take(self.node.rounds()) {
            self.up(round, bytes, steps);
            return Some(());
        }
        if self.leads() && phases.take(1).is_some() {
            send(steps, self.other.begin, bytes, Slots::None);
            receive(steps, self.other.begin, bytes, Slots::None, Effect::Store);
            return Some(());
        }
        None
    }

    /// The rounds down from the leader; `None` when they are over.
    fn hand_down(&self, phases: &mut Phases, bytes: u64, steps: &mut Vec<Step>) -> Option<()> {
        let round = phases.take(self.node.rounds())?;
        self.down(round, bytes, steps);
        Some(())
    }

    fn broadcast(&self, root: u32, phases: &mut Phases, steps: &mut Vec<Step>) -> Option<()> {
        let bytes = self.shape.vector();
        if self.own.has(root) {
            (self.place == root && phases.take(1).is_some()).then_some(())?;
            send(steps, self.other.begin, bytes, Slots::None);
            return Some(());
        }
        if self.leads() && phases.take(1).is_some() {
            receive(steps, root, bytes, Slots::None, Effect::Store);
            return Some(());
        }
        self.hand_down(phases, bytes, steps)
    }

    fn reduce(&self, root: u32, phases: &mut Phases, steps: &mut Vec<Step>) -> Option<()> {
        let bytes = self.shape.vector();
        if self.own.has(root) {
            (self.place == root && phases.take(1).is_some()).then_some(())?;
            receive(steps, self.other.begin, bytes, Slots::None, Effect::Store);
            return Some(());
        }
        if let Some(round) = phases.take(self.node.rounds()) {
            self.up(round, bytes, steps);
            return Some(());
        }
        (self.leads() && phases.take(1).is_some()).then_some(())?;
        send(steps, root, bytes, Slots::None);
        Some(())
    }

    /// Between the root and each member of the other group, in one direction.
    fn linear(&self, root: u32, to_root: bool, phases: &mut Phases, steps: &mut Vec<Step>) -> Option<()> {
        phases.take(1)?;
        let block = |place| self.shape.block(place);
        let mut message = |with: u32, bytes: u64, sends: bool| match sends {
            true => send(steps, with, bytes, Slots::None),
            false => receive(steps, with, bytes, Slots::None, Effect::Store),
        };
        if self.place == root {
            self.other.places().for_each(|place| message(place, block(place), !to_root));
        } else if self.other.has(root) {
            message(root, block(self.place), to_root);
        }
        Some(())
    }

    fn allgather(&self, phases: &mut Phases, steps: &mut Vec<Step>) -> Option<()> {
        let (sent, received) = self.own_sizes();
        if phases.take(1).is_some() {
            send(steps, self.other.begin, sent[self.other.begin as usize], Slots::None);
            if self.leads() {
                for place in self.other.places() {
                    receive(steps, place, received[place as usize], Slots::None, Effect::Store);
                }
            }
            return Some(());
        }
        self.hand_down(phases, received.iter().sum(), steps)
    }

    fn exchange(&self, phases: &mut Phases, steps: &mut Vec<Step>) -> Option<()> {
        let (sent, received) = self.own_sizes();
        let most = self.own.size.max(self.other.size);
        let round = phases.0;
        phases.take(most)?;
        let number = u64::from(self.place - self.own.begin);
        let shifted = |by: u32| ((number + u64::from(by)) % u64::from(most)) as u32;
        let place = |number: u32| (number < self.other.size).then_some(self.other.begin + number);
        if let Some(to) = place(shifted(round)) {
            send(steps, to, sent[to as usize], Slots::None);
        }
        if let Some(from) = place(shifted(most - round)) {
            receive(steps, from, received[from as usize], Slots::None, Effect::Store);
        }
        Some(())
    }

    fn scatter_down(&self, phases: &mut Phases, steps: &mut Vec<Step>) -> Option<()> {
        phases.take(1)?;
        if self.leads() {
            for place in self.own.places().skip(1) {
                send(steps, place, self.shape.block(place), Slots::None);
            }
        } else {
            receive(steps, self.own.begin, self.shape.block(self.place), Slots::None, Effect::Store);
        }
        Some(())
    }

    /// Sizes of its blocks to and from each place.
    fn own_sizes(&self) -> (&[u64], &[u64]) {
        match &self.shape.call.sizes {
            Sizes::Own { send, receive } => (send, receive),
            _ => panic!("between groups, {} has sizes of each rank's own", self.shape.call.kind.name()),
        }
    }
}

/// The messages of the one at `place` in `round`; as [`super::Round`] says.
pub(crate) fn round(shape: &Shape, place: u32, round: u32, steps: &mut Vec<Step>) -> bool {
    let (member, root) = (Member::new(shape, place), shape.call.root);
    let phases = &mut Phases(round);
    let more = match shape.call.kind {
        Kind::Barrier | Kind::Allreduce => {
            let bytes = shape.vector();
            member.combine(phases, bytes, steps).or_else(|| member.hand_down(phases, bytes, steps))
        }
        Kind::Bcast => member.broadcast(root, phases, steps),
        Kind::Reduce => member.reduce(root, phases, steps),
        Kind::Gather | Kind::Gatherv => member.linear(root, true, phases, steps),
        Kind::Scatter | Kind::Scatterv => member.linear(root, false, phases, steps),
        Kind::Allgather | Kind::Allgatherv => member.allgather(phases, steps),
        Kind::Alltoall | Kind::Alltoallv | Kind::Alltoallw => member.exchange(phases, steps),
        Kind::ReduceScatter | Kind::ReduceScatterBlock => {
            member.combine(phases, shape.vector(), steps).or_else(|| member.scatter_down(phases, steps))
        }
        _ => None,
    };
    more.is_some()
}

/// Checks that the collective exists between groups and that its sizes have the right form.
pub(crate) fn check(kind: Kind, sizes: &Sizes) -> Result<(), String> {
    let own = matches!(sizes, Sizes::Own { .. });
    match kind {
        Kind::Scan | Kind::Exscan => Err("there are no scans between two groups".into()),
        _ if kind.among_neighbours() => Err("there are no neighbours between two groups".into()),
        Kind::Allgather | Kind::Allgatherv | Kind::Alltoall | Kind::Alltoallv | Kind::Alltoallw if !own => {
            Err("between two groups, what is sent and what is received have sizes of their own".into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use engine::Bytes;

    use super::*;
    use crate::collective::Collective;
    use crate::operation::CommId;

    /// Runs all rounds; a message carries the places from which its sender has something. Gives what each has at
    /// the end. Panics where a message does not fit, or somebody waits for ever.
    fn knowledge(calls: &[Collective], half: u32) -> Vec<u64> {
        let size = calls.len() as u32;
        let shape = |place: u32| Shape {
            size,
            call: &calls[place as usize],
            neighbours: None,
            segment: Bytes(0),
            halves: Some(half),
        };
        let mut known: Vec<u64> = (0..size).map(|place| 1 << place).collect();
        let mut rounds = vec![Some(0); size as usize];
        let mut sent = vec![false; size as usize];
        let mut channels = vec![VecDeque::<(u64, u64)>::new(); (size * size) as usize];
        let mut steps = Vec::new();
        loop {
            let mut moved = false;
            for place in 0..size {
                let me = place as usize;
                let Some(number) = rounds[me] else { continue };
                steps.clear();
                if !round(&shape(place), place, number, &mut steps) {
                    (rounds[me], moved) = (None, true);
                    continue;
                }
                if !std::mem::replace(&mut sent[me], true) {
                    for step in &steps {
                        if let Step::Send { to, bytes, .. } = step {
                            channels[(place * size + to) as usize].push_back((bytes.0, known[me]));
                        }
                    }
                }
                let receives = steps.iter().filter_map(|step| match step {
                    Step::Receive { from, bytes, .. } => Some(((from * size + place) as usize, bytes.0)),
                    Step::Send { .. } => None,
                });
                let receives: Vec<_> = receives.collect();
                if receives.iter().any(|(channel, _)| channels[*channel].is_empty()) {
                    continue;
                }
                for (channel, bytes) in receives {
                    let (length, carried) = channels[channel].pop_front().unwrap();
                    assert_eq!(length, bytes, "{:?}, place {place}, round {number}", calls[me].kind);
                    known[me] |= carried;
                }
                (rounds[me], sent[me], moved) = (Some(number + 1), false, true);
            }
            if rounds.iter().all(Option::is_none) {
                assert!(channels.iter().all(VecDeque::is_empty), "messages are left over");
                return known;
            }
            assert!(moved, "{:?} of {half} and {} hangs", calls[0].kind, size - half);
        }
    }

    /// The calls of all, `first` of them in one group; blocks differ by sender.
    fn calls(kind: Kind, root: u32, first: u32, second: u32) -> Vec<Collective> {
        let size = first + second;
        let other = |place: u32| if place < first { first..size } else { 0..first };
        (0..size)
            .map(|place| {
                let among = |bytes: &dyn Fn(u32) -> u64| {
                    (0..size).map(|peer| if other(place).contains(&peer) { bytes(peer) } else { 0 }).collect()
                };
                let sizes = match kind {
                    Kind::Allgather | Kind::Alltoallv => Sizes::Own {
                        send: among(&|_| u64::from(place) + 1),
                        receive: among(&|peer| u64::from(peer) + 1),
                    },
                    // As many values in each group, shared out differently.
                    Kind::ReduceScatter => Sizes::ByRank(
                        (0..size)
                            .map(|peer| match (place < first, peer) {
                                (true, peer) if peer < first => u64::from(second),
                                (false, peer) if peer >= first => u64::from(first),
                                _ => 0,
                            })
                            .collect(),
                    ),
                    Kind::Gatherv | Kind::Scatterv => Sizes::ByRank((0..size).map(u64::from).collect()),
                    _ => Sizes::Equal(Bytes(8)),
                };
                Collective { kind, root, sizes, ..Collective::barrier(CommId(5)) }
            })
            .collect()
    }

    #[test]
    fn everything_comes_from_the_other_group_to_whom_it_is_for() {
        for (first, second) in [(1, 1), (1, 4), (5, 1), (3, 5), (8, 2), (7, 7)] {
            let size = first + second;
            let group = |begin: u32, count: u32| ((1_u64 << count) - 1) << begin;
            let other = |place: u32| if place < first { group(first, second) } else { group(0, first) };
            let all = [Kind::Barrier, Kind::Allreduce, Kind::Allgather, Kind::Alltoallv, Kind::ReduceScatter];
            for kind in all {
                let known = knowledge(&calls(kind, 0, first, second), first);
                assert!(
                    (0..size).all(|place| known[place as usize] & other(place) == other(place)),
                    "{kind:?}"
                );
            }
            for root in 0..size {
                for kind in [Kind::Reduce, Kind::Gather, Kind::Gatherv] {
                    let known = knowledge(&calls(kind, root, first, second), first);
                    assert_eq!(known[root as usize] & other(root), other(root), "{kind:?} to {root}");
                }
                for kind in [Kind::Bcast, Kind::Scatter, Kind::Scatterv] {
                    let known = knowledge(&calls(kind, root, first, second), first);
                    let reached = (0..size).filter(|place| other(root) >> place & 1 == 1);
                    assert!(
                        reached.into_iter().all(|place| known[place as usize] >> root & 1 == 1),
                        "{kind:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_does_not_exist_between_groups_is_refused() {
        let equal = Sizes::Equal(Bytes(8));
        assert!(check(Kind::Scan, &equal).unwrap_err().contains("no scans"));
        assert!(check(Kind::NeighborAlltoall, &equal).unwrap_err().contains("no neighbours"));
        assert!(check(Kind::Allgather, &equal).unwrap_err().contains("sizes of their own"));
        assert_eq!(check(Kind::Allreduce, &equal), Ok(()));
    }
}
