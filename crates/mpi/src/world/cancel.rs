//! Cancelling: a receive that has not matched is forgotten, a message that has not is called back (MPI_Cancel).
//!
//! Only the receiver knows whether a message has matched, so its sender asks there, with a message that comes after
//! it; the request is complete when the answer is back. With o_s and o_r the overheads of a message without payload:
//!
//! ```text
//! T(cancel, then wait) = o_s + network(0) + o_r + o_s + network(0) + o_r
//! ```
//!
//! Assumptions: what has matched when the question comes is delivered; under [`Progress::Calls`] the answer waits until
//! the receiver makes progress. A clearance that is here shows that the message has matched: nothing is asked. Who
//! cancels a message to itself is its receiver, too: the cancelling returns when that is answered.
//!
//! Source: MPI 5.0, 3.8.4 (a message is either received or cancelled; the wait for a cancelled request is local, in
//! that it needs no call of the receiver's program that matches it); MPICH's packets of the same kind in ch3.
//!
//! [`Progress::Calls`]: crate::world::Progress::Calls

use engine::Bytes;

use crate::operation::{Op, Rank, Request};
use crate::source::Status;
use crate::world::calls::CallProgress;
use crate::world::process::{Standing, Target};
use crate::world::progress::Unanswered;
use crate::world::protocol_message::{Ends, ProtocolMessage, Recall, RecallAnswer, TakenBack};
use crate::world::request::{Sent, State};
use crate::world::{Context, Outcome, World};

impl World {
    /// Cancels the operation of a request. A receive that has matched goes on.
    pub(super) fn cancel(
        &mut self,
        rank: Rank,
        request: Request,
        context: &mut Context,
    ) -> Outcome<CallProgress> {
        let now = context.now;
        let slot = self.slot(rank, request)?;
        if slot.state == State::Inactive {
            return Err(self.misuse(rank, format!("request {} is not active", request.0)));
        }
        if let (Some(sent), false) = (slot.sent, slot.recalled) {
            // A message that has left without asking counts as complete no longer.
            slot.state = State::Active;
            slot.recalled = true;
            return Ok(self.recall(rank, request, sent, context));
        }
        let target = Target::Request(request);
        let process = &mut self.processes[rank];
        if process.matching.cancel(target) {
            let status = Status { cancelled: true, ..Status::EMPTY };
            process.requests[request.0 as usize].complete(now, status);
        }
        Ok(CallProgress::Return(now))
    }

    /// Asks the receiver of a message for it.
    fn recall(&mut self, rank: Rank, request: Request, sent: Sent, context: &mut Context) -> CallProgress {
        let now = context.now;
        let cost = self.send_overhead(rank, sent.dest, Bytes(0));
        let process = &mut self.processes[rank];
        let at = process.engage(now, cost);
        let number = process.matching.next_to_send(sent.dest);
        let recall = ProtocolMessage::Recall(Recall { request, number, recalled: sent.number });
        let message = self.message(Ends { source: rank, dest: sent.dest }, &recall, Bytes(0), false);
        self.transmit(message, at, false, context);
        if sent.dest == rank {
            self.processes[rank].call.outstanding = 1;
            return CallProgress::Block;
        }
        CallProgress::Return(at)
    }

    /// The question has come: takes the message out, if it has not matched.
    pub(super) fn recall_arrives(&mut self, ends: Ends, recall: &Recall, context: &mut Context) {
        let process = &mut self.processes[ends.dest];
        let found = process.matching.recall(ends.source, recall.recalled);
        let taken_back = found.map(|envelope| TakenBack { send: envelope.handle, data: envelope.data });
        let answer = RecallAnswer { request: recall.request, recalled: recall.recalled, taken_back };
        let back = ends.reversed();
        if process.has_seen(context.now) || ends.source == ends.dest {
            self.answer_recall(back, answer, context);
        } else {
            process.answer_later(Unanswered::Recall { ends: back, answer });
        }
    }

    /// Tells the sender.
    pub(super) fn answer_recall(&mut self, ends: Ends, answer: RecallAnswer, context: &mut Context) {
        let Ends { source, dest } = ends;
        let cost = self.receive_overhead(source, dest, Bytes(0)) + self.send_overhead(source, dest, Bytes(0));
        let at = self.processes[source].engage(context.now, cost);
        let message = self.message(ends, &ProtocolMessage::RecallAnswer(answer), Bytes(0), false);
        self.transmit(message, at, false, context);
    }

    /// The sender hears whether its message has been taken back.
    pub(super) fn recall_answered(
        &mut self,
        ends: Ends,
        answer: &RecallAnswer,
        context: &mut Context,
    ) -> Outcome<()> {
        let rank = ends.dest;
        let RecallAnswer { request, recalled, taken_back } = *answer;
        let cost = self.receive_overhead(rank, ends.source, Bytes(0));
        let process = &mut self.processes[rank];
        let at = process.engage(context.now, cost);
        let data = taken_back.map_or(0, |message| message.data);
        let mut status = Status { cancelled: taken_back.is_some(), data, ..Status::EMPTY };
        let mut drained = false;
        if let Some(TakenBack { send: Some(send), .. }) = taken_back {
            let outgoing = process.rendezvous.end_send(send);
            status.data = outgoing.data;
            self.traffic.withdraw();
            drained = outgoing.buffered;
        }
        let target = Target::Request(request);
        let goes_on = process.rendezvous.sends_for(target).next().is_some();
        // The request may have been freed, and be another one's, since.
        let slot = process.requests.get_mut(request.0 as usize);
        let sent = Some(Sent { dest: ends.source, number: recalled });
        let slot = slot.filter(|slot| slot.recalled && slot.sent == sent);
        let is_over = slot.is_some() && (taken_back.is_some() || !goes_on);
        if let Some(slot) = slot {
            slot.recalled = false;
            slot.sent = None;
        }
        if drained && process.standing == Standing::Blocked && matches!(process.op, Some(Op::Drain(_))) {
            self.complete(rank, Target::Call, at, None, context)?;
        }
        if is_over {
            self.complete(rank, target, at, Some(status), context)?;
        }
        if ends.source == rank {
            return self.complete(rank, Target::Call, at, None, context);
        }
        Ok(())
    }
}
