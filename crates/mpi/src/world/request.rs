//! Requests: operations that outlive the call that began them.

use std::sync::Arc;

use engine::Time;

use crate::collective::Collective;
use crate::operation::{Peer, Rank, Receive, Request, Send, TagMatch};
use crate::record::Failure;
use crate::source::Status;
use crate::world::calls::CallProgress;
use crate::world::collective::Identity;
use crate::world::process::Target;
use crate::world::protocol_message::EnvelopeNumber;
use crate::world::{Context, Outcome, World};

/// A request of a rank.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub state: State,
    /// True if the rank's current call waits for it.
    pub waited: bool,
    /// True if nobody will wait for it: the source hears when it is complete.
    pub let_go: bool,
    /// True if the send is called back, and the answer has not come.
    pub recalled: bool,
    /// Message that it has sent, as long as that may be called back.
    pub sent: Option<Sent>,
    /// Complete: from when on.
    pub at: Time,
    pub status: Status,
    /// Operation that a persistent request starts.
    pub template: Option<Box<Template>>,
}

/// Identity of a message: the number of its envelope, between its sender and the rank that it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub dest: Rank,
    pub number: EnvelopeNumber,
}

/// The states of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Not in use.
    Free,
    /// Persistent, and not started.
    Inactive,
    /// Under way.
    Active,
    /// Complete from a time on, and not waited for yet.
    Complete,
}

/// A prepared operation.
#[derive(Debug, Clone)]
pub(crate) enum Template {
    Send(Send),
    Receive(Receive),
    /// With its number on the communicator.
    Collective(Arc<Collective>, u32),
}

impl Slot {
    pub const FREE: Slot = Slot {
        state: State::Free,
        waited: false,
        let_go: false,
        recalled: false,
        sent: None,
        at: Time::ZERO,
        status: Status::EMPTY,
        template: None,
    };

    pub fn complete(&mut self, at: Time, status: Status) {
        debug_assert!(self.state == State::Active);
        self.state = State::Complete;
        self.at = at;
        self.status = status;
    }

    /// A wait has seen it complete: a persistent request becomes inactive, others are free again.
    pub fn release(&mut self) -> Status {
        self.state = if self.template.is_some() { State::Inactive } else { State::Free };
        self.waited = false;
        self.recalled = false;
        self.sent = None;
        std::mem::replace(&mut self.status, Status::EMPTY)
    }

    pub fn is_complete(&self, now: Time) -> bool {
        self.state == State::Complete && self.at <= now
    }
}

/// Request numbers are dense; far beyond any program's, they are a mistake.
const LIMIT: u32 = 1 << 26;

impl World {
    /// The slot of a request that is not in use yet.
    fn fresh_slot(&mut self, rank: Rank, request: Request) -> Outcome<&mut Slot> {
        if request.0 >= LIMIT {
            let reason = format!("request {} is numbered beyond {LIMIT}: numbers must be dense", request.0);
            return Err(self.misuse(rank, reason));
        }
        let index = request.0 as usize;
        let requests = &self.processes[rank].requests;
        if requests.get(index).is_some_and(|slot| slot.state != State::Free) {
            return Err(self.misuse(rank, format!("request {} is still in use", request.0)));
        }
        let requests = &mut self.processes[rank].requests;
        if index >= requests.len() {
            requests.resize(index + 1, Slot::FREE);
        }
        Ok(&mut requests[index])
    }

    #[inline]
    pub(super) fn activate(&mut self, rank: Rank, request: Request) -> Outcome<()> {
        match self.processes[rank].requests.get_mut(request.0 as usize) {
            Some(slot) if slot.state == State::Free => slot.state = State::Active,
            _ => self.fresh_slot(rank, request)?.state = State::Active,
        }
        Ok(())
    }

    pub(super) fn prepare_request(
        &mut self,
        rank: Rank,
        request: Request,
        template: Template,
    ) -> Outcome<()> {
        let slot = self.fresh_slot(rank, request)?;
        slot.state = State::Inactive;
        slot.template = Some(Box::new(template));
        Ok(())
    }

    /// The slot of a request that is in use.
    pub(super) fn slot(&mut self, rank: Rank, request: Request) -> Outcome<&mut Slot> {
        let known = self.processes[rank].requests.get(request.0 as usize);
        if known.is_none_or(|slot| slot.state == State::Free) {
            return Err(self.unknown_request(rank, request));
        }
        Ok(&mut self.processes[rank].requests[request.0 as usize])
    }

    #[cold]
    pub(super) fn unknown_request(&self, rank: Rank, request: Request) -> Box<Failure> {
        self.misuse(rank, format!("request {} does not exist or is freed", request.0))
    }

    /// Starts persistent requests (MPI_Start, MPI_Startall); receives take the message of `whose`, as far as that says.
    pub(super) fn start_requests(
        &mut self,
        rank: Rank,
        requests: &[Request],
        whose: &[Option<(Peer, TagMatch)>],
        context: &mut Context,
    ) -> Outcome<CallProgress> {
        let mut at = context.now;
        let whose = whose.iter().copied().chain(std::iter::repeat(None));
        for (request, whose) in requests.iter().zip(whose) {
            let slot = self.slot(rank, *request)?;
            let mut template = match (slot.state, &slot.template) {
                (State::Inactive, Some(template)) => Template::clone(template),
                (_, None) => {
                    return Err(self.misuse(rank, format!("request {} is not persistent", request.0)));
                }
                _ => return Err(self.misuse(rank, format!("request {} is already started", request.0))),
            };
            slot.state = State::Active;
            let target = Target::Request(*request);
            if let (Template::Receive(receive), Some((from, tag))) = (&mut template, whose) {
                (receive.from, receive.tag) = (from, tag);
            }
            match &template {
                Template::Send(send) => at = at.max(self.send(rank, send, target, false, context)?.at),
                Template::Receive(receive) => self.receive(rank, receive, target, context)?,
                Template::Collective(call, number) => {
                    let identity = Identity { sequence: Some(*number), agreement: 0 };
                    self.start_collective(rank, call, identity, target, context)?;
                }
            }
        }
        Ok(CallProgress::Return(at))
    }

    /// Forgets a request whose end the source wants to hear of.
    pub(super) fn let_go(
        &mut self,
        rank: Rank,
        request: Request,
        context: &mut Context,
    ) -> Outcome<CallProgress> {
        let slot = self.slot(rank, request)?;
        match slot.state {
            State::Active => slot.let_go = true,
            _ => {
                let status = std::mem::replace(slot, Slot::FREE).status;
                context.source.completed(rank, request, &status);
            }
        }
        Ok(CallProgress::Return(context.now))
    }

    /// Forgets a request (MPI_Request_free): what it stands for goes on for nobody.
    pub(super) fn free_request(
        &mut self,
        rank: Rank,
        request: Request,
        context: &mut Context,
    ) -> Outcome<CallProgress> {
        let active = self.slot(rank, request)?.state == State::Active;
        let process = &mut self.processes[rank];
        process.requests[request.0 as usize] = Slot::FREE;
        if active {
            process.matching.forget(request);
            process.rendezvous.forget(request);
            process.rounds.forget(request);
            self.files.forget(rank, request);
        }
        Ok(CallProgress::Return(context.now))
    }
}
