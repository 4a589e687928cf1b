//! Messages that are alone on the network: packets one behind the other, which wait for nothing.
//!
//! ```text
//! T(n) = set-up of the NIC + latency of path and regime + max(Σ wire(p) / bandwidth of the path, Σ p / min(R_N, R_C))
//! ```
//!
//! with the bandwidth of the crossbars among those of the path, where routers have one of their own. It is
//! summed over the payloads p of the packets. A message without payload is one packet, which has a header.

use engine::{Bandwidth, Bytes, Duration, Time};

use super::Packet;
use super::transport::Latencies;
use crate::Regime;
use crate::message::{Arrival, Happening, IdleTime, Message};

impl Packet {
    /// The arrival of `message`, with its time on an idle network.
    pub(super) fn arrival(&self, happening: Happening, injected: Time, message: &Message) -> Arrival {
        Arrival { happening, injected, idle: self.alone_on_network(message), message: *message }
    }

    /// Time of `message` alone on the network: without payload, and what its bytes add.
    pub(super) fn alone_on_network(&self, message: &Message) -> IdleTime {
        let (from, to) = (message.from.host, message.to.host);
        if from == to {
            return self.alone.path(message).idle(message.size);
        }
        let regime = &self.alone.hosts.regimes[usize::from(message.regime)];
        let path = self.alone.fabric.idle(from, to);
        let crossbar = self.format.options.crossbar.unwrap_or(Bandwidth::INFINITE);
        let bandwidth = path.bandwidth.min(crossbar);
        let setup = self.alone.hosts.nics.setup;
        let latency = setup + path.latency + regime.latency;
        // Nobody gets a message without payload: it is put, as one packet.
        let header = bandwidth.transfer(self.format.options.wire(Bytes(0)));
        let whole = match self.format.transport.filter(|transport| transport.gets(message.size)) {
            Some(transport) => {
                let back = self.alone.fabric.idle(to, from);
                let ways = Latencies { there: path.latency, back: back.latency };
                let on_link = |bytes| bandwidth.transfer(bytes);
                // The source prepares its notice, the destination its requests.
                let setups = setup * 2;
                setups
                    + regime.latency
                    + transport.time_to_get(&self.format.options, message.size, ways, &on_link)
            }
            None => latency + self.time_to_put(message.size, bandwidth, regime),
        };
        let latency = (latency + header).min(whole);
        IdleTime { latency, transfer: whole.saturating_sub(latency) }
    }

    /// Time for which the packets of a message of `size` keep links of `bandwidth`, or the path of their process, busy.
    fn time_to_put(&self, size: Bytes, bandwidth: Bandwidth, regime: &Regime) -> Duration {
        let host = regime.nic_rate.min(regime.process_rate);
        let (full, packets) = (self.format.options.payload, self.format.options.packets(size));
        let on = |payload| (bandwidth.transfer(self.format.options.wire(payload)), host.transfer(payload));
        let (mut on_links, mut on_host) = on(self.format.options.payload_of(size, packets - 1));
        if packets > 1 {
            let (link, process) = on(full);
            (on_links, on_host) = (on_links + link * (packets - 1), on_host + process * (packets - 1));
        }
        on_links.max(on_host)
    }
}
