//! Messages, and what networks tell of them.

use engine::{Bytes, Duration, Key, Time};
use serde::{Deserialize, Serialize};

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
    /// Index of its regime: among the platform's protocol regimes or, within a host, among those of its memory,
    /// which name the level, too.
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
    /// Time that it would have taken on an idle network: [`crate::Network::idle_parts`] of it.
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
            let until = match passed {
                _ if passed == sum => time.0,
                0 => 0,
                _ => (u128::from(time.0) * passed / sum) as u64,
            };
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
    /// Time of its effect there, at least [`crate::NetworkPart::current_lookahead`] after the event that made it.
    pub at: Time,
    /// The place of that event among those of the same time, stamped by the sender's queue.
    pub key: Key,
    /// The model's own.
    pub words: [u64; CROSSING_WORDS],
}

/// Words of a [`Crossing`].
pub const CROSSING_WORDS: usize = 13 + CARGO_WORDS;

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
