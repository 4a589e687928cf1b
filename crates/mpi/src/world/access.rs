//! One-sided operations: memory of another rank is read or written without its call.
//!
//! An operation carries n bytes to its target and r back; there it is applied by the NIC, or by the target's library at
//! the rate m of reductions, one after the other with what else MPI does on that rank. With o_s the sender's overhead:
//!
//! ```text
//! put          T = o_s(n) + network(n) + network(0)         the answer says that it is there
//! get          T = o_s(0) + network(0) + network(r)
//! accumulate   T = o_s(n) + network(n) + n/m + network(r)   fetching ones with r = n, others with r = 0
//! lock         T = o_s(0) + network(0) + wait + network(0)  wait: until those before it have released it
//! ```
//!
//! Operations of one origin at one target are applied in the order of their calls, and not before messages that were
//! sent there earlier have come. The answer is a message of the NIC: it costs no rank an overhead.
//!
//! Assumptions: the library registers memory in advance; puts and gets need neither a rendezvous nor a copy; of
//! accumulates the target's processor is always at hand (a progress thread, or atomics of the NIC).
//!
//! Validity: RDMA networks with hardware puts and gets (InfiniBand, Aries, Slingshot); on a host the messages go through
//! memory like any other, as libraries do with windows that are not shared.
//!
//! Source: MPI 5.0, 12.3 to 12.7 (what is ordered and when operations are complete); Gerstenberger, Besta,
//! Hoefler, "Enabling Highly-Scalable Remote Memory Access Programming with MPI-3 One Sided" (SC 2013), the models
//! of 3.1 and 3.2: a put or get costs latency and bytes, a lock at least one remote atomic, a fence a barrier.

use engine::Time;
use network::Arrival;

use crate::operation::{Access, Applied, Peer, Rank, Start};
use crate::world::calls::CallProgress;
use crate::world::process::{Pending, UnansweredAccess};
use crate::world::protocol_message::{AccessAnswer, AccessRequest, Ends, ProtocolMessage};
use crate::world::{Context, Outcome, World};

impl World {
    /// Begins a one-sided operation.
    pub(super) fn issue_access(
        &mut self,
        rank: Rank,
        access: &Access,
        start: Start,
        context: &mut Context,
    ) -> Outcome<CallProgress> {
        if let Start::Persistent(_) = start {
            return Err(self.misuse(rank, "a one-sided operation cannot be persistent".into()));
        }
        let dest = self.partner(rank, access.comm, Peer::Rank(access.to))?;
        let dest = dest.expect("a target that is a rank");
        let target = self.target(rank, start, || panic!("it is not persistent"))?;
        let target = target.expect("only persistent operations have no target");
        let now = context.now;
        let cost = self.send_overhead(rank, dest, access.bytes);
        let process = &mut self.processes[rank];
        let at = process.engage(now, cost);
        let number = process.matching.next_to_send(dest);
        let handle = process.rare().accesses.insert(Pending {
            target,
            to: dest,
            sent: now,
            handed: at,
            bytes: access.bytes,
        });
        let message = ProtocolMessage::Access(AccessRequest {
            applied: access.applied,
            answer: access.answer,
            number,
            access: handle,
            data: access.data,
            sent: now,
        });
        let message = self.message(Ends { source: rank, dest }, &message, access.bytes, false);
        self.traffic.count(access.bytes);
        self.transmit(message, at, false, context);
        Ok(self.progress_of(rank, target, at))
    }

    /// A one-sided operation has come to its target.
    pub(super) fn access_arrives(
        &mut self,
        ends: Ends,
        request: &AccessRequest,
        arrival: &Arrival,
        context: &mut Context,
    ) {
        let rank = ends.dest;
        let process = &mut self.processes[rank];
        let at = match request.applied {
            Applied::ByTarget => {
                process.engage(context.now, self.setup.reduce_rate.transfer(arrival.message.size))
            }
            Applied::ByNic => context.now,
        };
        let unanswered = UnansweredAccess {
            ends: ends.reversed(),
            access: request.access,
            answer: request.answer,
            arrived: context.now,
        };
        process.rare().unanswered_accesses.insert(request.data, unanswered);
        let mut answers = Vec::new();
        context.source.access(rank, request.data, &mut answers);
        for data in answers {
            let held = self.processes[rank].rare().unanswered_accesses.remove(&data);
            let held = held.expect("an operation that has come and is not answered");
            self.answer(&held, at, context);
        }
    }

    /// Tells the origin that its operation has been applied, with what it has read.
    fn answer(&mut self, unanswered: &UnansweredAccess, at: Time, context: &mut Context) {
        let UnansweredAccess { ends, access, answer: bytes, arrived } = *unanswered;
        let answer = ProtocolMessage::AccessAnswer(AccessAnswer { access, arrived });
        let message = self.message(ends, &answer, bytes, false);
        self.traffic.count(bytes);
        self.transmit(message, at, false, context);
    }

    /// The answer to a one-sided operation has come.
    pub(super) fn answer_arrives(
        &mut self,
        rank: Rank,
        answer: &AccessAnswer,
        arrival: &Arrival,
        context: &mut Context,
    ) -> Outcome<()> {
        let pending = self.processes[rank].rare().accesses.remove(answer.access);
        self.charge_access(rank, &pending, answer, arrival, context);
        self.complete(rank, pending.target, context.now, None, context)
    }
}
