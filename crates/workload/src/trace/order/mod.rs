//! Happened-before order of a recorded run: replays its calls in an order that honours messages and collectives,
//! assigns Lamport's logical clocks, and reports errors.
//!
//! ```text
//! clock of a call = max(clock of the rank's call before, latest clock that the call has waited for) + 1
//! ```
//!
//! A message carries the clock of the call that sent it; a receive (or the call that completes it) waits for that
//! message; a synchronous send for its receive; a member of a collective for those in `meeting.rs`. The recording
//! states which messages matched (wildcards with their source), so the clocks are those that the run itself would
//! have had, although its messages carried no clocks. Time does not enter: clocks of hosts may differ.
//!
//! Sends are assumed to be buffered, except for synchronous ones. Calls that only take time, one-sided ones among
//! them, do not order ranks.
//!
//! Traces of graphs have no order of calls and hence no clocks, but the same errors can occur ([`lint`]): such a
//! trace is replayed on a machine on which computing takes the recorded time, and nothing else takes any.
//!
//! Source: Lamport, "Time, clocks, and the ordering of events in a distributed system" (CACM 21(7), 1978).

mod agree;
mod check;
mod communicators;
mod findings;
mod mail;
mod meeting;
mod ranks;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use engine::Time;
use mpi::Rank;
use mpi::operation::{CommId, NewComm};

use super::error::TraceError;
use super::set::{Clocks, TraceSet};
use communicators::Comm;
use mail::Place;
use meeting::{Entry, Meeting, Meetings, What, Which};
use ranks::RankState;

pub use findings::{Finding, Findings, Kind};

/// Observer of a recorded run. A function is a `Watch` of the clocks.
pub trait Watch {
    /// Called with the logical clock of each call, in order for each rank.
    fn call(&mut self, rank: Rank, clock: u64);
    /// Called when a message goes from the first to the second operation.
    fn message(&mut self, _sent: By, _received: By) {}
    /// Called when a probe has found a message.
    fn probe(&mut self, _sent: By, _probe: By) {}
    /// Called when all members have arrived at a meeting.
    fn meeting(&mut self, _purpose: Purpose, _calls: &mut dyn Iterator<Item = By>) {}
    /// Called with the communicators that a meeting has created, by call.
    fn made(&mut self, _calls: &[(By, Option<Members>)]) {}
}

/// Members of a communicator, as ranks of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Members {
    /// Ranks in order; those of the first of two groups come first.
    pub ranks: Arc<[u32]>,
    /// True for an inter-communicator.
    pub inter: bool,
}

impl<F: FnMut(Rank, u64)> Watch for F {
    fn call(&mut self, rank: Rank, clock: u64) {
        self(rank, clock);
    }
}

/// One operation: a call, and the request under which it began it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct By {
    /// Rank.
    pub rank: Rank,
    /// Number of the call, from 1.
    pub number: u64,
    /// Request; `None` for a call that blocks.
    pub request: Option<u32>,
}

/// Purpose of a meeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Collective from which nobody returns before all have called.
    Together,
    /// Collective with a root.
    Rooted(Rank),
    /// A scan.
    Scan,
    /// Neighbourhood collective.
    Around,
    /// A new communicator.
    Communicator,
    /// MPI_Finalize.
    Finalize,
}

/// Replays the calls of all ranks and reports to `watch`.
pub fn order(set: &dyn TraceSet, watch: &mut dyn Watch) -> Result<Findings, TraceError> {
    Ok(order_first(set, u64::MAX, watch)?.unwrap_or_default())
}

/// Findings in a trace, of calls or of graphs.
pub fn lint(set: &dyn TraceSet) -> Result<Findings, TraceError> {
    Ok(go_through(set, u64::MAX, &mut |_, _| {})?.unwrap_or_default())
}

/// Like [`order`], but gives up with `None` after `most` calls have returned.
pub fn order_first(
    set: &dyn TraceSet,
    most: u64,
    watch: &mut dyn Watch,
) -> Result<Option<Findings>, TraceError> {
    if !set.ordered() {
        let reason = "its calls have dependencies instead of an order, and hence no logical clocks";
        return Err(TraceError::new(set.format(), reason));
    }
    go_through(set, most, watch)
}

fn go_through(set: &dyn TraceSet, most: u64, watch: &mut dyn Watch) -> Result<Option<Findings>, TraceError> {
    let of_graphs = !set.ordered();
    let ranks =
        (0..set.ranks()).map(|rank| Ok(RankState::new(set.calls(Rank(rank), Clocks::Aligned)?, of_graphs)));
    let mut order = Order {
        hosts: set.hosts(),
        common_time: set.common_time(),
        ranks: ranks.collect::<Result<_, TraceError>>()?,
        comms: vec![Comm::world(set.ranks()), Comm::world(set.ranks())],
        meetings: Meetings::default(),
        queue: (0..set.ranks()).map(Rank).collect(),
        of_graphs,
        computing: BinaryHeap::new(),
        now: Time::ZERO,
        ended: false,
        findings: Findings::default(),
        left: most,
        watch,
    };
    while let Some(rank) = order.next() {
        if !order.advance(rank)? {
            return Ok(None);
        }
    }
    if !order.ended {
        findings::at_the_end(&mut order);
    }
    Ok(Some(order.findings))
}

/// State of the replay.
struct Order<'a> {
    hosts: Vec<String>,
    /// True if times of different ranks can be compared.
    common_time: bool,
    ranks: Vec<RankState>,
    /// Communicators by number; number 1 is MPI_COMM_SELF of each rank.
    comms: Vec<Comm>,
    meetings: Meetings,
    /// Ranks that may be able to go on.
    queue: VecDeque<Rank>,
    /// True if ranks have graphs instead of calls in order.
    of_graphs: bool,
    /// Ranks of a graph that compute, with the end of their computing.
    computing: BinaryHeap<Reverse<(Time, u32)>>,
    now: Time,
    /// True if a rank has reached a call without an operation, where a replay ends.
    ended: bool,
    findings: Findings,
    /// Number of calls that may still return.
    left: u64,
    watch: &'a mut dyn Watch,
}

impl Order<'_> {
    fn state(&mut self, rank: Rank) -> &mut RankState {
        &mut self.ranks[rank.0 as usize]
    }

    /// Next rank that may go on; if there is none, the rank whose computing ends first.
    fn next(&mut self) -> Option<Rank> {
        if let Some(rank) = self.queue.pop_front() {
            self.state(rank).queued = false;
            return Some(rank);
        }
        let Reverse((end, rank)) = self.computing.pop()?;
        self.now = end;
        self.state(Rank(rank)).computing = false;
        Some(Rank(rank))
    }

    fn wake(&mut self, rank: Rank) {
        let state = self.state(rank);
        if !std::mem::replace(&mut state.queued, true) {
            self.queue.push_back(rank);
        }
    }

    /// World rank that a rank addresses as `peer` in a communicator.
    fn peer(&self, rank: Rank, comm: CommId, peer: u32) -> Option<Rank> {
        if comm == CommId::SELF {
            return Some(rank);
        }
        self.comms.get(comm.0 as usize)?.peer(rank.0, peer).map(Rank)
    }

    /// Number of ranks that a rank can address in a communicator.
    fn peers(&self, rank: Rank, comm: CommId) -> usize {
        if comm == CommId::SELF {
            return 1;
        }
        self.comms.get(comm.0 as usize).map_or(0, |comm| comm.peers(rank.0) as usize)
    }

    fn rank_of(&self, rank: Rank, comm: CommId) -> Option<u32> {
        if comm == CommId::SELF {
            return Some(0);
        }
        self.comms.get(comm.0 as usize)?.rank_of(rank.0)
    }

    /// Arrives at a meeting; its identity, and the rank's place. `None` if the rank takes part in no such meeting.
    fn meet(
        &mut self,
        by: Place,
        clock: u64,
        comm: CommId,
        what: What,
        request: u32,
    ) -> Option<(Which, usize)> {
        let rank = by.rank;
        if let Some(cause) = check::of_meeting(self, rank, comm, &what) {
            self.findings.add(Kind::NotFollowed, by, cause);
        }
        let (meeting, members, place) = self.meeting(rank, comm, &what)?;
        let of = self.comms.get(comm.0 as usize).filter(|_| comm != CommId::SELF);
        let around = match &what {
            What::Collective(call) if call.kind.among_neighbours() => of.and_then(|of| of.around(place)),
            _ => None,
        };
        let inter = of.is_some_and(Comm::is_inter);
        let which = (meeting.clone(), self.state(rank).count(meeting));
        let made = matches!(what, What::Make(_));
        let entry = Entry { by, clock, what, around, request };
        let arrived = self.meetings.arrive(&which, &members, (place, inter), entry);
        if let Some((by, cause)) = arrived.mismatch {
            self.findings.add(Kind::Mismatch, by, cause);
        }
        if arrived.complete && made {
            self.make(comm, &which);
        }
        if let Some(met) = self.meetings.get_mut(&which).filter(|_| arrived.complete) {
            let (purpose, mut calls) = met.met();
            self.watch.meeting(purpose, &mut calls);
        }
        arrived.wake.into_iter().filter(|other| *other != rank).for_each(|other| self.wake(other));
        Some((which, place))
    }

    /// Meeting of a call, its members, and the place of the rank among them.
    fn meeting(&self, rank: Rank, comm: CommId, what: &What) -> Option<(Meeting, Arc<[u32]>, usize)> {
        let some = |members: Arc<[u32]>, tag| {
            let place = members.iter().position(|member| *member == rank.0)?;
            Some((Meeting { comm: comm.0, part: Some(members.clone()), tag }, members, place))
        };
        match what {
            _ if comm == CommId::SELF => some([rank.0].into(), 0),
            What::Make(NewComm::CreateGroup(list, tag)) => {
                let members = list.iter().map(|&one| self.peer(rank, comm, one).map(|rank| rank.0));
                some(members.collect::<Option<_>>()?, *tag)
            }
            What::Make(NewComm::Inter(groups, tag)) => {
                let both = Comm::two(&groups.local, &groups.remote);
                if both.members().iter().any(|member| *member as usize >= self.ranks.len()) {
                    return None;
                }
                some(both.members().clone(), *tag)
            }
            _ => {
                let of = self.comms.get(comm.0 as usize)?;
                let place = of.place_of(rank.0)?;
                Some((Meeting { comm: comm.0, part: None, tag: 0 }, of.members().clone(), place))
            }
        }
    }

    /// Creates the communicators that the members of a complete meeting have asked for.
    fn make(&mut self, comm: CommId, which: &Which) {
        let Some(instance) = self.meetings.get_mut(which) else { return };
        let asked = instance.entries.iter().flatten().filter_map(|entry| match &entry.what {
            What::Make(how) => Some(how.clone()),
            _ => None,
        });
        let asked: Vec<NewComm> = asked.collect();
        let members = instance.members.clone();
        let made = match &asked[..] {
            // Some members came for something else, which has been reported.
            few if few.len() < members.len() => Vec::new(),
            [NewComm::CreateGroup(..), ..] => vec![Comm::of(members.to_vec())],
            all if comm == CommId::SELF => Comm::of(members.to_vec()).make(all, &self.hosts),
            all => self.comms[comm.0 as usize].make(all, &self.hosts),
        };
        let first = self.comms.len() as u32;
        let number = |rank: &u32| {
            let at = made.iter().position(|comm| comm.place_of(*rank).is_some());
            at.map_or(CommId::NULL.0, |at| first + at as u32)
        };
        instance.made = members.iter().map(number).collect();
        self.comms.extend(made);
        let entries = instance.entries.iter().flatten().zip(&instance.made);
        let calls: Vec<_> = entries
            .map(|(entry, made)| {
                let of = self.comms.get(*made as usize);
                let members = of.map(|of| Members { ranks: of.members().clone(), inter: of.is_inter() });
                (entry.by.beginning(entry.request), members)
            })
            .collect();
        self.watch.made(&calls);
    }
}
