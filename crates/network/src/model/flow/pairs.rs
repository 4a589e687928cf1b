//! The streams of pairs of processes: where all messages of a pair go the same way, it is found once.
//!
//! A stream is kept when its last flow has ended, and takes the pair's next message; so many that the
//! routes of all pairs that talk are there in most programs, and memory stays bounded in all others.

use engine::Duration;
use engine::hash::Map;

use crate::message::{Endpoint, Message};
use crate::nics::NicPair;

/// What decides on the way of a message where routes do not depend on load or chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Pair {
    ends: u64,
    rest: u64,
}

impl Pair {
    pub fn of(message: &Message) -> Pair {
        let (Endpoint { host, process }, to) = (message.from, message.to);
        let NicPair { from: nic, to: to_nic } = message.nic_pair();
        let low = u64::from(nic) << 16 | u64::from(to_nic) << 8 | u64::from(message.regime);
        Pair {
            ends: u64::from(host.0) << 32 | u64::from(to.host.0),
            rest: u64::from(process) << 48 | u64::from(to.process) << 32 | low,
        }
    }
}

/// The way of a stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub stream: u32,
    pub latency: Duration,
}

/// The streams of pairs, those that wait for their next message among them.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    ways: Map<Pair, Way>,
}

/// From so many pairs on, none is kept without flows: some 20 MB.
const MOST: usize = 1 << 16;

impl Pairs {
    pub fn get(&self, pair: Pair) -> Option<Way> {
        self.ways.get(&pair).copied()
    }

    pub fn insert(&mut self, pair: Pair, way: Way) {
        self.ways.insert(pair, way);
    }

    /// The stream of `pair` has no flow any more. Says whether it is forgotten.
    pub fn is_idle(&mut self, pair: Pair) -> bool {
        self.ways.len() > MOST && self.ways.remove(&pair).is_some()
    }
}
