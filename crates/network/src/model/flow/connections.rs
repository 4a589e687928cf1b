//! Connections: one for each pair of processes and NICs between which messages go.
//!
//! A connection delivers its messages in the order in which they were handed over, whatever their regimes
//! and routes. When its last message is delivered it is kept, with its route where that is always the same, up to a
//! number of connections that suffices for most programs and bounds the memory of all others.

use engine::hash::Map;
use engine::{Duration, Time};

use super::streams::NONE;
use crate::message::NicPair;
use crate::message::{Endpoint, Message};
use crate::model::alone::Path;

/// The ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Ends {
    hosts: u64,
    rest: u64,
}

impl Ends {
    pub fn of(message: &Message) -> Ends {
        let (Endpoint { host, process }, to) = (message.from, message.to);
        let NicPair { from: nic, to: to_nic } = message.nic_pair();
        let nics = u64::from(nic) << 8 | u64::from(to_nic);
        Ends {
            hosts: u64::from(host.0) << 32 | u64::from(to.host.0),
            rest: u64::from(process) << 48 | u64::from(to.process) << 32 | nics,
        }
    }
}

/// The state of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connection {
    ends: Ends,
    /// The stream of its messages; `NONE` while it has no route.
    pub stream: u32,
    /// The queue in which its messages wait for their turn.
    pub queue: u32,
    /// Path of a message that is alone, without its regime's part; copies have none.
    pub links: Option<Path>,
    /// Messages that were handed over and are not delivered yet.
    pub pending: u32,
    /// Latency of the links and set-up of the NIC, to which a message adds the latency of its regime.
    pub latency: Duration,
    /// Time at which the last message so far is delivered.
    pub delivered: Time,
    /// The bottleneck of the last message that has left; `NONE` before.
    pub held_by: u32,
}

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Connections {
    pub all: Vec<Connection>,
    numbers: Map<Ends, u32>,
    unused: Vec<u32>,
}

/// Number of connections above which none is kept without messages: some 80 MB. HPL has about 20 for each process.
const MOST: usize = 1 << 18;

impl Connections {
    /// The connection between `ends`, if there is one.
    pub fn find(&self, ends: Ends) -> Option<u32> {
        self.numbers.get(&ends).copied()
    }

    /// A new connection between `ends`, without a route; `queue` gives the queue of a connection's number.
    pub fn open(&mut self, ends: Ends, links: Option<Path>, queue: impl FnOnce(u32) -> u32) -> u32 {
        let number = self.unused.pop().unwrap_or(self.all.len() as u32);
        let connection = Connection {
            ends,
            stream: NONE,
            queue: queue(number),
            links,
            pending: 0,
            latency: Duration::ZERO,
            delivered: Time::ZERO,
            held_by: NONE,
        };
        match self.all.get_mut(number as usize) {
            Some(unused) => *unused = connection,
            None => self.all.push(connection),
        }
        self.numbers.insert(ends, number);
        number
    }

    /// Notes the delivery of a message. If it was the connection's last one and there are too many connections, removes
    /// the connection and gives its stream.
    pub fn deliver(&mut self, number: u32) -> Option<u32> {
        let connection = &mut self.all[number as usize];
        connection.pending -= 1;
        if connection.pending > 0 || self.numbers.len() <= MOST {
            return None;
        }
        self.numbers.remove(&connection.ends);
        self.unused.push(number);
        Some(connection.stream)
    }
}
