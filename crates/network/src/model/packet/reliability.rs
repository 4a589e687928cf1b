//! Packets that get lost on links, and what is done about it.
//!
//! Each packet is lost on each link with probability p, independently: it takes the link and the room at
//! its end, where it is found broken and thrown away, so that its credit comes back one cable after its
//! tail has come. The draw for the n-th packet of a link is the n-th number of the link's own random
//! stream, whatever else happens and however the network is cut.
//!
//! A request that has not been answered when its timeout has passed since its tail left is sent again, by
//! the NIC, until it is answered. The timeout of the k-th time is `timeout · 2^min(k, 6)`, or always the
//! same. A host answers every request that comes, and takes in each only once: it knows which of a
//! transfer's have come, and which transfers between the two hosts are complete. With p the probability
//! on a link and h links each way, a transaction is sent `1 / (1 − p)^2h` times in the mean.
//!
//! Source: Ahmed et al., SIGSIM-PADS 2016, section 5 ("a message retransmission mechanism to ensure
//! reliable data delivery"), which gives no numbers; Jacobson, "Congestion avoidance and control"
//! (SIGCOMM 1988), for the doubling.

use std::collections::BTreeSet;

use engine::Duration;
use engine::registry::{Arguments, BuildError};

use super::index::MessageNumber;
use crate::topology::LinkId;

/// Treatment of lost packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reliability {
    /// The probability that a packet is lost on a link \[2⁻³²\]; 0 is never, and nothing is sent twice.
    pub loss: u32,
    /// From when a request has left until it is sent again, the first time; above 0.
    pub timeout: Duration,
    /// Number of times that the timeout doubles.
    pub doublings: u32,
    /// Seed of the streams that say which packets get lost.
    pub seed: u64,
}

const MOST_DOUBLINGS: u32 = 6;
/// The purpose of the streams.
const PURPOSE: &str = "packet loss";

impl Reliability {
    /// Nothing gets lost.
    pub const LOSSLESS: Reliability =
        Reliability { loss: 0, timeout: Duration::from_ns(100_000), doublings: MOST_DOUBLINGS, seed: 0 };

    /// Reads the arguments of `[transport]`, and the run's seed.
    pub(super) fn read(arguments: &Arguments) -> Result<Reliability, BuildError> {
        let timeout = arguments.time("timeout").unwrap_or(Reliability::LOSSLESS.timeout);
        if timeout == Duration::ZERO {
            return Err(BuildError::new("timeout", "0 ns: an answer takes longer"));
        }
        let fixed = arguments.text("backoff").as_deref() == Some("fixed");
        Ok(Reliability {
            loss: (arguments.number("loss").unwrap_or(0.0) * 2f64.powi(32)).round() as u32,
            timeout,
            doublings: if fixed { 0 } else { MOST_DOUBLINGS },
            seed: arguments.integer("seed").unwrap_or(0) as u64,
        })
    }

    /// True if packets get lost.
    pub fn is_lossy(&self) -> bool {
        self.loss > 0
    }

    /// True if `link` loses the packet that it carries now, its `place`-th.
    pub(super) fn loses(&self, link: LinkId, place: u64) -> bool {
        self.loss > 0 && engine::random::at(self.seed, PURPOSE, link.0.into(), place) < self.loss
    }

    /// Time to wait for an answer to a packet that has been sent again `resent` times.
    pub(super) fn timeout_of(&self, resent: u32) -> Duration {
        self.timeout * (1 << resent.min(self.doublings))
    }
}

/// The numbers of the transfers from one host to another that are complete.
#[derive(Debug, Default)]
pub(super) struct Finished {
    /// All below this,
    below: u32,
    /// and these.
    beyond: BTreeSet<u32>,
}

impl Finished {
    pub fn has(&self, MessageNumber(number): MessageNumber) -> bool {
        // Numbers start again after 2^32: half of that is never on its way at a time.
        number.wrapping_sub(self.below) > u32::MAX / 2 || self.beyond.contains(&number)
    }

    pub fn add(&mut self, MessageNumber(number): MessageNumber) {
        self.beyond.insert(number);
        while self.beyond.remove(&self.below) {
            self.below = self.below.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_finished_is_known_in_any_order() {
        let mut finished = Finished { below: u32::MAX - 1, beyond: BTreeSet::new() };
        for number in [2, 0, u32::MAX] {
            finished.add(MessageNumber(number));
        }
        let known = |finished: &Finished| {
            [u32::MAX - 2, u32::MAX - 1, u32::MAX, 0, 1, 2, 3]
                .map(|number| finished.has(MessageNumber(number)))
        };
        assert_eq!(known(&finished), [true, false, true, true, false, true, false]);
        finished.add(MessageNumber(u32::MAX - 1));
        finished.add(MessageNumber(1));
        assert_eq!((finished.below, finished.beyond.len()), (3, 0));
        assert_eq!(known(&finished), [true, true, true, true, true, true, false]);
    }

    #[test]
    fn timeouts_double_six_times() {
        let reliability = Reliability { timeout: Duration(10), ..Reliability::LOSSLESS };
        assert_eq!([0, 1, 5, 6, 7, 1000].map(|n| reliability.timeout_of(n).0), [10, 20, 320, 640, 640, 640]);
        let fixed = Reliability { doublings: 0, ..reliability };
        assert_eq!(fixed.timeout_of(9), Duration(10));
    }
}
