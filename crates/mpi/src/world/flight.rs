//! Flights: what messages did between their hand-over to the network and their arrival.

use engine::Duration;
use network::IdleTime;

use crate::cause::{Cause, Path};

/// A stretch of an operation's history.
pub(super) type Span = (Cause, Duration);

/// Time of a message between its hand-over to the network and now, by cause.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flight {
    pub latency: Duration,
    pub bandwidth: Duration,
    pub contention: Duration,
}

impl Flight {
    /// Splits `total`, where an idle network takes `idle`.
    #[inline]
    pub fn new(total: Duration, idle: IdleTime) -> Flight {
        let bandwidth = idle.transfer.min(total);
        let latency = idle.latency.min(total.saturating_sub(bandwidth));
        let contention = total.saturating_sub(bandwidth).saturating_sub(latency);
        Flight { latency, bandwidth, contention }
    }

    pub fn total(&self) -> Duration {
        self.latency + self.bandwidth + self.contention
    }

    pub fn spans(&self) -> [Span; 3] {
        [
            (Cause::Latency, self.latency),
            (Cause::Bandwidth, self.bandwidth),
            (Cause::Contention, self.contention),
        ]
    }

    /// Lengthens `path` by this flight. As much of it as `credit` could have been over before, had the handshake not
    /// stood for so long.
    #[inline]
    pub fn extend(&self, path: &mut Path, credit: Duration) {
        if credit == Duration::ZERO {
            self.spans().into_iter().for_each(|(cause, time)| path.add(cause, time));
            return;
        }
        let mut left = credit;
        for (cause, time) in self.spans() {
            let spared = time.min(left);
            left = left.saturating_sub(spared);
            path.add(Cause::NoProgress, spared);
            path.add(cause, time.saturating_sub(spared));
        }
    }
}
