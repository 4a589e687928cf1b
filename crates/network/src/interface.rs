//! The border to the layer above: what a network model takes and gives, and what only some can.

use engine::{Duration, Observer, Queue, Time, Token};

use crate::message::{Arrival, Cargo, Crossing, Delays, IdleTime, Message};
use crate::observe::{NetworkRecord, PacketEvents, Totals};

/// A network model: a state machine that takes messages and wakes at the times it asked for.
///
/// Each message is delivered exactly once. If it asks for that, it is reported as sent exactly once, before its delivery
/// or, where senders wait for answers, after it. Messages of the same ends **may overtake each other** if they go by
/// different NICs, or by routes or regimes of different latency (but not in the flow model): the layer above keeps them
/// in order.
///
/// Times are exact: `inject` is called at the simulated time `now` at which the first byte may leave
/// the process, and what `wake` adds to `arrivals` happens at `now`.
///
/// A model that was built for one [`Part`](crate::Part) of a network handles what happens there. What goes
/// to another part it keeps as [`Crossing`]s until they are taken; the other part's model takes them in
/// before it comes to their time. An owner of events belongs to one part: what happens at a receiver is
/// owned by the receiver.
pub trait Network: Send {
    /// Takes `message` at `now`. What is due at once (a message of no latency) is scheduled at `now`.
    fn inject(&mut self, now: Time, message: &Message, queue: &mut Queue);

    /// Handles an event that this network scheduled on [`engine::Lane::Network`].
    fn wake(&mut self, now: Time, token: Token, queue: &mut Queue, arrivals: &mut Vec<Arrival>);

    /// Asks the processor for the memory that the event of `token` will need.
    fn prefetch(&self, token: Token) {
        let _ = token;
    }

    /// Cargo of the message that the event of `token` brings to its receiver, for the layer above to prefetch by.
    fn upcoming_cargo(&self, token: Token) -> Option<&Cargo> {
        let _ = token;
        None
    }

    /// Does what waits for the end of the instant `now`: called when everything that was due then has been
    /// handled. What it schedules at `now` itself is handled next, and then it is called again.
    fn end_instant(&mut self, now: Time, queue: &mut Queue) {
        let _ = (now, queue);
    }

    /// Time that `message` would take alone on an idle network, without host overheads.
    fn idle_parts(&self, message: &Message) -> IdleTime;

    /// True if messages take time: latency that overlaps with the network's work counts then, too.
    fn takes_time(&self) -> bool {
        true
    }

    /// The same as a whole.
    fn idle_time(&self, message: &Message) -> Duration {
        self.idle_parts(message).total()
    }

    /// Reports what it has done up to `now`: use of links, if it has any, and counts.
    fn report(&self, now: Time, observer: &mut Report<'_>) {
        let _ = (now, observer);
    }

    /// Reports the use of those links alone whose bytes may be others than at the last such report. Costs what moves,
    /// where a model knows that, and not what exists.
    fn report_changes(&mut self, now: Time, observer: &mut Report<'_>) {
        self.report(now, observer);
    }

    /// Number of messages that [`Network::report_changes`] looks at beside the links.
    fn looks(&self) -> u64 {
        0
    }

    /// Its state, for questions; `None` of a model that has no answers.
    fn as_inspect(&self) -> Option<&dyn Inspect> {
        None
    }

    /// The same as one of several parts of a network; `None` of a model that cannot be cut.
    fn as_part(&mut self) -> Option<&mut dyn NetworkPart> {
        None
    }

    /// Its packets, for an observer; `None` of a model without packets.
    fn as_packets(&mut self) -> Option<&mut dyn PacketEvents> {
        None
    }
}

/// Observer of a [`Network::report`].
pub type Report<'o> = dyn for<'a> Observer<NetworkRecord<'a>> + 'o;

/// Questions about the state of a network.
pub trait Inspect {
    /// Delays that sum to `contention`, by which `message`, the last that was told of, took longer than on an idle
    /// network. To be asked before the instant ends.
    fn delays(&self, message: &Message, contention: Duration) -> Delays;

    /// The channels (numbers of the model's own) whose first packet waits for another channel, and that one.
    /// Asked when no event is left; see [`crate::deadlock`].
    fn waits(&self) -> Vec<[u32; 2]> {
        Vec::new()
    }

    /// Name of a channel, for people.
    fn channel_name(&self, channel: u32) -> String {
        channel.to_string()
    }
}

impl dyn Network + '_ {
    /// Delays that sum to `contention`, by which `message`, the last that was told of, took longer than on an idle
    /// network. To be asked before the instant ends.
    pub fn delays(&self, message: &Message, contention: Duration) -> Delays {
        match self.as_inspect() {
            Some(state) => state.delays(message, contention),
            None => Delays::at(message.shared_by_hosts(), contention),
        }
    }

    /// Counts up to `now`.
    pub fn totals(&self, now: Time) -> Totals {
        let mut totals = Totals::default();
        self.report(now, &mut totals);
        totals
    }

    /// The least time between an event of this part and what it makes happen in another.
    pub fn lookahead(&mut self) -> Duration {
        self.as_part().map_or(Duration(u64::MAX), |part| part.lookahead())
    }
}

/// One of several parts of a network that is cut.
pub trait NetworkPart {
    /// The least time between an event of this part and what it makes happen in another, whatever comes.
    fn lookahead(&self) -> Duration;

    /// The least such time in the next window, by what is in the network now: that of the whole network is the least of all
    /// parts. To be asked after the crossings were taken and before they are imported. At least [`NetworkPart::lookahead`].
    fn current_lookahead(&self) -> Duration {
        self.lookahead()
    }

    /// Moves what has left for other parts since the last call to the end of `crossings`.
    fn take_crossings(&mut self, crossings: &mut Vec<Crossing>);

    /// Takes in what has come from another part, and places its event.
    fn import(&mut self, crossing: &Crossing, queue: &mut Queue);
}
