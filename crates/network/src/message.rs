//! The border to the layer above: messages in, arrivals out.

use engine::{Bytes, Duration, Key, Observer, Queue, Time, Token};
use serde::{Deserialize, Serialize};

use crate::observe::{NetworkRecord, PacketEvents};
use crate::topology::{HOST_CLASSES, HostId, LinkId};

/// A process slot on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// The host.
    pub host: HostId,
    /// The slot on it, below [`crate::HostParameters::processes`].
    pub process: u16,
}

/// Data that the layer above gets back when the message arrives; the network never looks inside.
pub type Cargo = [u64; CARGO_WORDS];

/// Words of a [`Cargo`].
pub const CARGO_WORDS: usize = 11;

/// One message on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Its source.
    pub from: Endpoint,
    /// Its destination.
    pub to: Endpoint,
    /// The NICs that it leaves and comes by; `None` lets the platform choose. Within a host without meaning.
    pub nics: Option<NicPair>,
    /// Index of its regime: among the platform's protocol regimes or, within a host, among those of its memory.
    pub regime: u8,
    /// True to report [`Happening::Sent`], too.
    pub notify_sent: bool,
    /// Its length on the process's path; headers are the model's business.
    pub size: Bytes,
    /// Its place among the messages that are delivered at the same time; unique among those under way.
    pub key: Key,
    /// For the layer above.
    pub cargo: Cargo,
}

impl Message {
    /// Resource that it needs at its hosts.
    pub fn shared_by_hosts(&self) -> Shared {
        if self.from.host == self.to.host { Shared::Memory } else { Shared::Nic }
    }

    /// The NICs that it takes: the first ones, where hosts have no others.
    pub(crate) fn nic_pair(&self) -> NicPair {
        self.nics.unwrap_or(NicPair::FIRST)
    }
}

/// The NICs of a message, each below the hosts' number of NICs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NicPair {
    /// NIC of the source.
    pub from: u8,
    /// NIC of the destination.
    pub to: u8,
}

impl NicPair {
    /// The first NICs.
    pub const FIRST: NicPair = NicPair { from: 0, to: 0 };

    /// The same number at both ends.
    pub fn same(nic: u8) -> NicPair {
        NicPair { from: nic, to: nic }
    }

    /// Pair of NICs for the other direction.
    pub fn reversed(self) -> NicPair {
        NicPair { from: self.to, to: self.from }
    }
}

/// Event in the life of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happening {
    /// Its buffer may be used again: its last byte has left the sender's memory, and is not needed there to
    /// be sent again.
    Sent,
    /// Its last byte is at the receiving process.
    Delivered,
}

/// A message of which something is to be told, now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Event.
    pub happening: Happening,
    /// Time at which the message was handed to the network.
    pub injected: Time,
    /// Time that it would have taken on an idle network: [`Network::idle_parts`] of it.
    pub idle: IdleTime,
    /// The message.
    pub message: Message,
}

/// Time of a message that is alone on the network, without host overheads.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct IdleTime {
    /// Time of a message without payload.
    pub latency: Duration,
    /// Time that its bytes add.
    pub transfer: Duration,
}

impl IdleTime {
    /// The whole.
    pub fn total(self) -> Duration {
        self.latency + self.transfer
    }
}

/// Resource that messages share, and at which they may hold each other up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Shared {
    /// The memory of a host.
    Memory,
    /// A NIC, or the path of a process to it.
    Nic,
    /// The links of this class.
    Links(u16),
    /// Some links between the NICs; the model does not tell which.
    Fabric,
}

impl Shared {
    /// Resource of the links of a class; links of hosts belong to their NICs.
    pub fn of_class(class: u16) -> Shared {
        if usize::from(class) < HOST_CLASSES.len() { Shared::Nic } else { Shared::Links(class) }
    }
}

/// Delays of a message in comparison with an idle network, by resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delays(pub [(Shared, Duration); MOST_DELAYS]);

/// Number of resources of [`Delays`].
pub const MOST_DELAYS: usize = 4;

impl Delays {
    /// All of `time` at one resource.
    pub fn at(shared: Shared, time: Duration) -> Delays {
        let mut delays = [(shared, Duration::ZERO); MOST_DELAYS];
        delays[0].1 = time;
        Delays(delays)
    }

    /// Divides `time` in proportion to these delays, to the picosecond; without any, all of it is at the first.
    pub fn shares_of(&self, time: Duration) -> impl Iterator<Item = (Shared, Duration)> {
        let sum: u128 = self.0.iter().map(|(_, part)| u128::from(part.0)).sum();
        let (mut shares, mut passed, mut given) = (*self, 0u128, 0u64);
        for (_, part) in &mut shares.0 {
            passed += u128::from(part.0);
            let until = (u128::from(time.0) * passed).checked_div(sum).map_or(time.0, |until| until as u64);
            part.0 = until - given;
            given = until;
        }
        shares.0.into_iter().filter(|(_, share)| *share > Duration::ZERO)
    }
}

/// Message from one domain of a run to another, at the end of a window: plain words, so that it can be
/// sent between processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    /// The part of the network that it goes to.
    pub to: u32,
    /// Time of its effect there, at least [`NetworkPart::lookahead`] after the event that made it.
    pub at: Time,
    /// The place of that event among those of the same time, stamped by the sender's queue.
    pub key: Key,
    /// The model's own.
    pub words: [u64; CROSSING_WORDS],
}

/// Words of a [`Crossing`].
pub const CROSSING_WORDS: usize = 13 + CARGO_WORDS;

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

    /// The same as a whole.
    fn idle_time(&self, message: &Message) -> Duration {
        self.idle_parts(message).total()
    }

    /// Reports what it has done up to `now`: use of links, if it has any, and counts.
    fn report(&self, now: Time, observer: &mut Report<'_>) {
        let _ = (now, observer);
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
    /// network.
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
    /// network.
    pub fn delays(&self, message: &Message, contention: Duration) -> Delays {
        match self.as_inspect() {
            Some(state) => state.delays(message, contention),
            None => Delays::at(message.shared_by_hosts(), contention),
        }
    }

    /// The least time between an event of this part and what it makes happen in another.
    pub fn lookahead(&mut self) -> Duration {
        self.as_part().map_or(Duration(u64::MAX), |part| part.lookahead())
    }
}

/// One of several parts of a network that is cut.
pub trait NetworkPart {
    /// The least time between an event of this part and what it makes happen in another.
    fn lookahead(&self) -> Duration;

    /// Moves what has left for other parts since the last call to the end of `crossings`.
    fn take_crossings(&mut self, crossings: &mut Vec<Crossing>);

    /// Takes in what has come from another part, and places its event.
    fn import(&mut self, crossing: &Crossing, queue: &mut Queue);
}

/// Losses on unreliable links.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses {
    /// Packets lost on links.
    pub lost: u64,
    /// Packets sent again because nothing had answered them in time.
    pub resent: u64,
    /// Packets that came although they had come before.
    pub duplicates: u64,
    /// Number of packets lost on links and in routers that failed, and for want of a way on.
    pub broken: u64,
    /// Packets sent another way than the routing's own, because something had failed.
    pub rerouted: u64,
    /// Messages with such packets.
    pub rerouted_messages: u64,
    /// Number of times that a message, or a packet to be sent again, had to wait because no route led to its host.
    pub waited: u64,
}

impl std::ops::Add for Losses {
    type Output = Losses;
    fn add(self, other: Losses) -> Losses {
        Losses {
            lost: self.lost + other.lost,
            resent: self.resent + other.resent,
            duplicates: self.duplicates + other.duplicates,
            broken: self.broken + other.broken,
            rerouted: self.rerouted + other.rerouted,
            rerouted_messages: self.rerouted_messages + other.rerouted_messages,
            waited: self.waited + other.waited,
        }
    }
}

/// Traffic of one directed link since the start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkUse {
    /// The link.
    pub link: LinkId,
    /// Bytes on the wire, headers included.
    pub bytes: Bytes,
    /// Messages (flows) that crossed it; packets in a model that moves those.
    pub transfers: u64,
    /// For how long at least one of them was on it \[ps\].
    pub busy: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_sum_to_the_whole() {
        let (nic, links, fabric) = (Shared::Nic, Shared::Links(2), Shared::Fabric);
        let times = [(nic, Duration(1)), (links, Duration(1)), (links, Duration(0)), (fabric, Duration(1))];
        let shares = |time| Delays(times).shares_of(Duration(time)).collect::<Vec<_>>();
        assert_eq!(shares(3), [(nic, Duration(1)), (links, Duration(1)), (fabric, Duration(1))]);
        assert_eq!(shares(8), [(nic, Duration(2)), (links, Duration(3)), (fabric, Duration(3))]);
        assert_eq!(shares(1), [(fabric, Duration(1))]);
        let none = Delays::at(links, Duration::ZERO);
        assert_eq!(none.shares_of(Duration(7)).collect::<Vec<_>>(), [(links, Duration(7))]);
    }
}
