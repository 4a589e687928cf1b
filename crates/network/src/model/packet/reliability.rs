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

use engine::registry::{Arguments, BuildError};
use engine::{Duration, Queue, Time};

use super::index::{MessageIndex, PacketIndex, PacketNumber};
use super::transfer::Role;
use super::{Packet, Step, owner, token};

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

    /// Time to wait for an answer to a packet that has been sent again `resent` times.
    fn timeout_of(&self, resent: u32) -> Duration {
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
    pub fn has(&self, number: u32) -> bool {
        // Numbers start again after 2^32: half of that is never on its way at a time.
        number.wrapping_sub(self.below) > u32::MAX / 2 || self.beyond.contains(&number)
    }

    pub fn add(&mut self, number: u32) {
        self.beyond.insert(number);
        while self.beyond.remove(&self.below) {
            self.below = self.below.wrapping_add(1);
        }
    }
}

impl Packet {
    /// A bit for each of `count` transactions, if somebody will ask which have come.
    pub(super) fn none_seen(&self, count: u64) -> Box<[u64]> {
        let words = if self.is_lossy { count.div_ceil(64) as usize } else { 0 };
        vec![0; words].into()
    }

    /// Notes that transaction `number` of the transfer at `index` has come, or been answered. Was that
    /// known before?
    pub(super) fn is_known(&mut self, index: MessageIndex, number: PacketNumber) -> bool {
        if !self.is_lossy {
            return false;
        }
        let seen = &mut self.messages.get_mut(index).seen[number.at() / 64];
        let bit = 1 << (number.0 % 64);
        let known = *seen & bit != 0;
        *seen |= bit;
        let transfers = self.transfers.as_mut().expect("messages go by transfers");
        if known {
            transfers.losses.duplicates += 1;
        } else {
            transfers.resent.remove(&(index, number));
        }
        known
    }

    /// Says if transaction `number` of the transfer at `index`, which has begun here, has been answered before.
    pub(super) fn was_answered(&self, index: MessageIndex, number: PacketNumber) -> bool {
        let seen = &self.messages.get(index).seen;
        seen.get(number.at() / 64).is_some_and(|seen| seen >> (number.0 % 64) & 1 == 1)
    }

    /// Is `packet` lost, whose tail would be at the end of `link` at `tail`?
    pub(super) fn is_lost(&mut self, link: u32, tail: Time, packet: PacketIndex) -> bool {
        let breaks = self.faults.as_ref().is_some_and(|faults| faults.breaks(link, tail));
        if breaks {
            self.lose_by_fault(packet);
        } else if self.loses(link) {
            self.lose(packet);
        } else {
            return false;
        }
        true
    }

    /// Does `link` lose the packet that it carries now?
    fn loses(&self, link: u32) -> bool {
        let transfers = self.transfers.as_ref().expect("messages go by transfers");
        let Reliability { loss, seed, .. } = transfers.transport.reliability;
        if loss == 0 {
            return false;
        }
        let place = self.ports[link as usize].packets;
        engine::random::at(seed, PURPOSE, link.into(), place) < loss
    }

    /// `packet` is lost.
    pub(super) fn lose(&mut self, packet: PacketIndex) {
        self.transfers.as_mut().expect("messages go by transfers").losses.lost += 1;
        self.drop_packet(packet);
    }

    /// Packet `number` of the slot `message` has left its NIC at `end`: if it is a request, its answer is
    /// waited for.
    pub(super) fn start_timer(
        &mut self,
        end: Time,
        message: MessageIndex,
        number: PacketNumber,
        queue: &mut Queue,
    ) {
        let slot = self.messages.get_mut(message);
        if !matches!(slot.role, Role::Request(_)) {
            return;
        }
        slot.holds += 1;
        if let Some(faults) = &mut self.faults {
            faults.timers += 1;
            self.watch(queue);
        }
        let slot = self.messages.get(message);
        let host = slot.ends().0.host;
        let transfers = self.transfers.as_ref().expect("messages go by transfers");
        let resent = transfers.resent.get(&(message, number)).copied().unwrap_or(0);
        let at = end + transfers.transport.reliability.timeout_of(resent);
        queue.push(at, owner(host), token(Step::TimedOut, message.0, number.0));
    }

    /// The answer to packet `number` of the slot `message` has been waited for long enough.
    pub(super) fn timed_out(&mut self, now: Time, message: MessageIndex, number: PacketNumber) {
        if let Some(faults) = &mut self.faults {
            faults.timers -= 1;
        }
        self.send_again(now, message, number);
    }

    /// Packet `number` of the slot `message` is sent again, unless it has been answered.
    pub(super) fn send_again(&mut self, now: Time, message: MessageIndex, number: PacketNumber) {
        let slot = self.messages.get(message);
        let answered = slot.seen.get(number.at() / 64).is_none_or(|seen| seen >> (number.0 % 64) & 1 == 1);
        if slot.open && !answered {
            if self.faults.is_some() && self.waits_for_way(now, message, number) {
                return;
            }
            let transfers = self.transfers.as_mut().expect("messages go by transfers");
            *transfers.resent.entry((message, number)).or_insert(0) += 1;
            transfers.losses.resent += 1;
            self.note_loss(now, message, number);
            self.send_by_nic(now, message, number);
        }
        self.release(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_finished_is_known_in_any_order() {
        let mut finished = Finished { below: u32::MAX - 1, beyond: BTreeSet::new() };
        for number in [2, 0, u32::MAX] {
            finished.add(number);
        }
        let known = |finished: &Finished| {
            [u32::MAX - 2, u32::MAX - 1, u32::MAX, 0, 1, 2, 3].map(|number| finished.has(number))
        };
        assert_eq!(known(&finished), [true, false, true, true, false, true, false]);
        finished.add(u32::MAX - 1);
        finished.add(1);
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
