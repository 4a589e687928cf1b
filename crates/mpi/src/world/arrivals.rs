//! Messages that the network tells of, by what they are.

use network::{Arrival, Happening};

use super::protocol_message::{Ends, ProtocolMessage};
use super::{Context, Outcome};
use crate::world::World;

impl World {
    /// Handles what the network has to tell of a message.
    pub fn arrive(&mut self, arrival: &Arrival, context: &mut Context) {
        if self.failure.is_some() {
            return;
        }
        if self.may_hold_back && self.hold_back(arrival, context) {
            return;
        }
        let what = ProtocolMessage::unpack(&arrival.message.cargo);
        self.follow(&what, arrival, context);
        self.take(&what, arrival, context);
    }

    /// Handles what the network has to tell of a message, after [`Self::follow`].
    #[inline(always)]
    pub(super) fn take(&mut self, what: &ProtocolMessage, arrival: &Arrival, context: &mut Context) {
        let ends = Ends::of(&arrival.message.cargo);
        let (rank, outcome) = match arrival.happening {
            Happening::Sent => (ends.source, self.message_left(ends, what, context)),
            Happening::Delivered => {
                if what.has_payload() {
                    self.traffic.count_arrival();
                }
                (ends.dest, self.message_arrives(ends, what, arrival, context))
            }
        };
        let outcome = outcome.and_then(|()| self.resume_ready(context));
        self.wake_poller(rank, context);
        self.record_failure(outcome);
    }

    /// A message has left its sender.
    fn message_left(&mut self, ends: Ends, what: &ProtocolMessage, context: &mut Context) -> Outcome<()> {
        match what {
            ProtocolMessage::Data(data) => self.data_has_left(ends.source, data, context),
            _ => Ok(()),
        }
    }

    /// A message has come to its receiver.
    #[inline(always)]
    fn message_arrives(
        &mut self,
        ends: Ends,
        what: &ProtocolMessage,
        arrival: &Arrival,
        context: &mut Context,
    ) -> Outcome<()> {
        if let Some(number) = what.envelope_number() {
            return self.envelope_arrives(ends, number, what, arrival, context);
        }
        match what {
            ProtocolMessage::CollectiveEager(round) => {
                self.collective_arrives(ends, round, None, arrival, context)
            }
            ProtocolMessage::CollectiveRequestToSend(request) => {
                self.collective_arrives(ends, &request.round, Some(request), arrival, context)
            }
            ProtocolMessage::ClearToSend(clear) => self.clear_to_send(ends.dest, clear, context),
            ProtocolMessage::Data(data) => self.data_arrives(ends.dest, data, arrival, context),
            ProtocolMessage::AccessAnswer(answer) => self.answer_arrives(ends.dest, answer, arrival, context),
            ProtocolMessage::RecallAnswer(answer) => self.recall_answered(ends, answer, context),
            ProtocolMessage::Eager(_)
            | ProtocolMessage::RequestToSend(_)
            | ProtocolMessage::Access(_)
            | ProtocolMessage::Recall(_) => unreachable!("envelopes have a number"),
        }
    }
}
