//! Messages that are alone on the network: packets one behind the other, which wait for nothing.
//!
//! ```text
//! T(n) = set-up of the NIC + latency of path and regime + max(Σ wire(p) / bandwidth of the path, Σ p / min(R_N, R_C))
//! ```
//!
//! summed over the payloads p of the packets. A message without payload is one packet, which has a header.

use engine::{Bytes, Duration, Time};

use super::Packet;
use crate::fabric::Idle;
use crate::message::{Arrival, Happening, IdleTime, Message};

impl Packet {
    /// What is told of `message`.
    pub(super) fn arrival(&self, happening: Happening, injected: Time, message: &Message) -> Arrival {
        Arrival { happening, injected, idle: self.alone_on_network(message), message: *message }
    }

    /// How long `message` takes alone: without payload, and what its bytes add.
    pub(super) fn alone_on_network(&self, message: &Message) -> IdleTime {
        let (from, to) = (message.from.host, message.to.host);
        if from == to {
            return self.alone.path(message).idle(message.size);
        }
        let path = self.alone.fabric.idle(from, to);
        let whole = self.idle_time_of(message, message.size, path);
        let latency = self.idle_time_of(message, Bytes(0), path).min(whole);
        IdleTime { latency, transfer: whole.saturating_sub(latency) }
    }

    /// How long `message` would take over `path` if it had `size`.
    fn idle_time_of(&self, message: &Message, size: Bytes, path: Idle) -> Duration {
        let regime = &self.alone.hosts.regimes[usize::from(message.regime)];
        let setup = self.alone.hosts.nics.setup;
        let on_link = |bytes| path.bandwidth.transfer(bytes);
        let transport = self.transfers.as_ref().map(|transfers| &transfers.transport);
        if let Some(transport) = transport.filter(|transport| transport.gets(size)) {
            let back = self.alone.fabric.idle(message.to.host, message.from.host);
            let ways = (path.latency, back.latency);
            // The source prepares its notice, the destination its requests.
            return setup * 2 + regime.latency + transport.time_to_get(&self.options, size, ways, &on_link);
        }
        let host = regime.nic_rate.min(regime.process_rate);
        let (full, packets) = (self.options.payload, self.options.packets(size));
        let last = self.options.payload_of(size, packets - 1);
        let sum = |time: &dyn Fn(Bytes) -> Duration| match packets {
            1 => time(last),
            _ => time(full) * (packets - 1) + time(last),
        };
        let on_links = sum(&|payload| on_link(self.options.wire(payload)));
        let on_host = sum(&|payload| host.transfer(payload));
        setup + path.latency + regime.latency + on_links.max(on_host)
    }
}
