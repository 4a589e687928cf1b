//! DCTCP: a connection cuts its window by as much as routers say that queues are too long.
//!
//! ```text
//! α ← (1 - g) α + g F              after each window of data, F the share of its bytes that were marked
//! W ← W (1 - α / 2)                after a window in which something was marked
//! W ← W + b  or  W + b MSS / W     for b bytes acknowledged, before and after the first mark or loss
//! W ← W / 2                        after a window in which something was lost
//! ```
//!
//! With a constant F, α after k windows is `F + (α₀ - F) (1 - g)^k`; α₀ = 1. Routers mark packets that leave a queue of more
//! than K bytes. N long flows to one receiver keep its queue between `K + N MSS` and that less the swing
//! `A ≈ ½ √(2 N (C RTT + K) MSS)`.
//!
//! Assumes one acknowledgement for each packet, which tells of its mark. The window is cut at the end of a window of data, not
//! at its first mark, and is one packet at the least. What is held back by a window counts as contention.
//!
//! Source: Alizadeh, Greenberg, Maltz, Padhye, Patel, Prabhakar, Sengupta, Sridharan, "Data center TCP (DCTCP)" (SIGCOMM
//! 2010), sections 3.1 to 3.3; RFC 8257 for α₀ and the initial window of 10 packets (RFC 6928).

use std::sync::Arc;

use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter};
use engine::{Bytes, Time};

use super::{Build, Control, Controller};

/// The registry's line.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "dctcp",
    summary: "the window shrinks by the share of packets that routers mark",
    source: "Alizadeh et al. 2010; RFC 8257",
    parameters: &[
        Parameter {
            name: "dctcp_gain",
            kind: Kind::Number(0.0, 1.0),
            default: Some("0.0625"),
            summary: "dctcp: g, the weight of the last window in the estimate of the marked share [0..1]",
        },
        Parameter {
            name: "initial_window",
            kind: Kind::Integer(1, 1 << 20),
            default: Some("10"),
            summary: "dctcp: window of a new connection, in full packets",
        },
    ],
    examples: &[""],
    build,
};

fn build(arguments: &Arguments, packet: Bytes) -> Result<Option<Control>, BuildError> {
    if arguments.size("marking_threshold").is_none() {
        let reason =
            "missing: dctcp goes by the marks of routers; write router.marking_threshold, such as \"64 KiB\"";
        return Err(BuildError::new("marking_threshold", reason));
    }
    let gain = arguments.number("dctcp_gain").unwrap_or(0.0625);
    let initial = arguments.integer("initial_window").unwrap_or(10) as u64;
    let controller = Dctcp::new(packet, gain, Bytes(packet.0 * initial));
    Ok(Some(Arc::new(move || Box::new(controller.clone()) as Box<dyn Controller>)))
}

/// See above.
#[derive(Debug, Clone)]
pub struct Dctcp {
    /// MSS \[bytes\]
    packet: f64,
    /// g
    gain: f64,
    /// α
    alpha: f64,
    /// W \[bytes\]
    window: f64,
    /// True until the first mark or loss.
    is_starting: bool,
    /// Bytes of the present window of data; the next two fields count those acknowledged, and those of them marked.
    length: f64,
    acknowledged: f64,
    marked: f64,
    has_lost: bool,
}

impl Dctcp {
    /// A new connection, whose full packets have `packet` bytes on the wire.
    pub fn new(packet: Bytes, gain: f64, window: Bytes) -> Dctcp {
        let (packet, window) = (packet.0 as f64, window.0 as f64);
        Dctcp {
            packet,
            gain,
            alpha: 1.0,
            window,
            is_starting: true,
            length: window,
            acknowledged: 0.0,
            marked: 0.0,
            has_lost: false,
        }
    }

    /// α, the estimate of the share of bytes that are marked.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// A window of data has been acknowledged.
    fn turn(&mut self) {
        self.alpha += self.gain * (self.marked / self.acknowledged - self.alpha);
        if self.has_lost {
            self.window /= 2.0;
        } else if self.marked > 0.0 {
            self.window *= 1.0 - self.alpha / 2.0;
        }
        self.window = self.window.max(self.packet);
        (self.length, self.acknowledged, self.marked, self.has_lost) = (self.window, 0.0, 0.0, false);
    }
}

impl Controller for Dctcp {
    fn on_acknowledgement(&mut self, _now: Time, bytes: Bytes) {
        let bytes = bytes.0 as f64;
        self.acknowledged += bytes;
        self.window += if self.is_starting { bytes } else { bytes * self.packet / self.window };
        if self.acknowledged >= self.length {
            self.turn();
        }
    }
    fn on_mark(&mut self, _now: Time, bytes: Bytes) {
        self.marked += bytes.0 as f64;
        self.is_starting = false;
    }
    fn on_loss(&mut self, _now: Time, _bytes: Bytes) {
        (self.has_lost, self.is_starting) = (true, false);
    }
    fn window(&self) -> Bytes {
        Bytes(self.window as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goes through windows of data of which a share of `marked` is marked.
    fn windows(controller: &mut Dctcp, count: u32, marked: f64) {
        for _ in 0..count {
            let length = controller.length as u64;
            let part = (length as f64 * marked) as u64;
            if part > 0 {
                controller.on_mark(Time(0), Bytes(part));
                controller.on_acknowledgement(Time(0), Bytes(part));
            }
            // The last bytes of a window of a broken length.
            controller.on_acknowledgement(Time(0), Bytes(length - part + 1));
        }
    }

    /// `α_k = F + (α₀ - F) (1 - g)^k`, for shares of none, a quarter, and all.
    #[test]
    fn the_estimate_approaches_the_marked_share() {
        for share in [0.0, 0.25, 1.0] {
            let mut controller = Dctcp::new(Bytes(1000), 0.0625, Bytes(10_000_000));
            for count in [1u32, 3, 12, 30] {
                let mut fresh = controller.clone();
                windows(&mut fresh, count, share);
                let expected = share + (1.0 - share) * (1.0 - 0.0625f64).powi(count as i32);
                assert!((fresh.alpha() - expected).abs() < 0.01, "{share}, {count}: {}", fresh.alpha());
            }
            controller.on_send(Time(0), Bytes(1));
        }
    }

    /// A window of 100 packets of which all were marked is halved (α = 1) after it has grown by one packet; without marks it
    /// doubles before the first mark, and grows by a packet after it. A loss halves it, whatever α is. It never falls below a
    /// packet.
    #[test]
    fn windows_follow_the_law() {
        let mut controller = Dctcp::new(Bytes(1000), 1.0 / 16.0, Bytes(100_000));
        controller.on_acknowledgement(Time(0), Bytes(100_000));
        assert_eq!(controller.window(), Bytes(200_000));
        let mut controller = Dctcp::new(Bytes(1000), 1.0 / 16.0, Bytes(100_000));
        controller.on_mark(Time(0), Bytes(100_000));
        controller.on_acknowledgement(Time(0), Bytes(100_000));
        assert_eq!(controller.window(), Bytes(101_000 / 2));
        controller.on_acknowledgement(Time(0), Bytes(50_500));
        assert_eq!(controller.window(), Bytes(51_500));
        controller.on_loss(Time(0), Bytes(1000));
        controller.on_acknowledgement(Time(0), Bytes(51_500));
        assert_eq!(controller.window(), Bytes(52_500 / 2));
        for _ in 0..100 {
            controller.on_loss(Time(0), Bytes(1000));
            controller.on_acknowledgement(Time(0), Bytes(100_000));
        }
        assert!(controller.window() >= Bytes(1000) && controller.window() < Bytes(200_000));
    }
}
