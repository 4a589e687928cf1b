//! The time that the modelled file system takes.
//!
//! An access of n bytes that begins at t is served when those before it are: it is done at
//! `latency + max(t + n / client, served)`, with `served = max(t, served before) + n / total`: each client has a
//! rate of its own, and all together have no more than the total.
//!
//! Assumptions: one queue, in the order of simulated time, without caches, striping or metadata; a file is as
//! near to each host. It holds where files are large and streamed. Source: the postal model, with a server.

use std::cell::Cell;

use engine::{Bandwidth, Bytes, Duration, Time};

/// A file system.
#[derive(Debug, Default)]
pub struct Storage {
    model: Option<Model>,
    /// When all accesses so far are served.
    served: Cell<Time>,
}

/// Its rates.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// Of each access.
    pub latency: Duration,
    /// Of one rank.
    pub client: Bandwidth,
    /// Of all together.
    pub total: Bandwidth,
}

impl Storage {
    /// With these rates; without any, no access takes time.
    pub fn new(model: Option<Model>) -> Storage {
        Storage { model, served: Cell::default() }
    }

    /// When an access of so many bytes that begins now is done.
    pub fn done(&self, now: Time, bytes: u64) -> Time {
        let Some(model) = self.model else { return now };
        let bytes = Bytes(bytes);
        self.served.set(now.max(self.served.get()) + model.total.transfer(bytes));
        self.served.get().max(now + model.client.transfer(bytes)) + model.latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four ranks write 1 GB each at once: 1 GB/s of their own and 2 GB/s in all. The k-th is served after k half
    /// seconds, but none before its own second.
    #[test]
    fn clients_share_the_total_rate() {
        let rate = |gigabytes: u64| Bandwidth(gigabytes * 1_000_000_000);
        let latency = Duration::from_seconds(0.001);
        let storage = Storage::new(Some(Model { latency, client: rate(1), total: rate(2) }));
        let done: Vec<f64> = (0..4).map(|_| storage.done(Time::ZERO, 1_000_000_000).seconds()).collect();
        assert_eq!(done, [1.001, 1.001, 1.501, 2.001]);
        assert_eq!(Storage::new(None).done(Time::ZERO, 1 << 40), Time::ZERO);
    }
}
