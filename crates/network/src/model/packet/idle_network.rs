//! Messages that are alone on the network: packets one behind the other, which wait for nothing.
//!
//! ```text
//! T(n) = set-up of the NIC + latency of path and regime + max(Σ wire(p) / bandwidth of the path, Σ p / min(R_N, R_C))
//! ```
//!
//! with the bandwidth of the crossbars among those of the path, where routers have one of their own. It is
//! summed over the payloads p of the packets. A message without payload is one packet, which has a header.
//!
//! The K links of a NIC are shared by packets: the bandwidth of the path is that of all K, and links and crossbars pass the
//! packets side by side, in ⌈packets / K⌉ rounds:
//!
//! ```text
//! T(n) = … + max(Σ wire(p) / bandwidth of the path, Σ over rounds of the longest wire(p) / bandwidth of a link, …)
//! ```
//!
//! That is the least: packets that leave side by side meet again at the next link, where they may wait for each other.

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
        let path = self.alone.idle(from, to);
        let crossbar = self.format.options.crossbar.unwrap_or(Bandwidth::INFINITE);
        // The packets that K links carry cross side by side, too.
        let shares = self.switch.links_of_nics() > 1;
        let bandwidth = if shares { path.bandwidth } else { path.bandwidth.min(crossbar) };
        let of_packet = bandwidth.min(crossbar).min(self.nic_link_bandwidth(message));
        let setup = self.alone.hosts.nics.setup;
        let latency = setup + path.latency + regime.latency;
        // Nobody gets a message without payload: it is put, as one packet.
        let header = of_packet.transfer(self.format.options.wire(Bytes(0)));
        let whole = match self.format.transport.filter(|transport| transport.gets(message.size)) {
            Some(transport) => {
                let back = self.alone.idle(to, from);
                let ways = Latencies { there: path.latency, back: back.latency };
                let on_links = |bytes| bandwidth.transfer(bytes);
                let alone = |bytes| of_packet.transfer(bytes);
                let options = &self.format.options;
                let one = message.size.min(options.payload);
                let all = transport.time_to_get(options, message.size, ways, &on_links);
                // The source prepares its notice, the destination its requests.
                let setups = setup * 2;
                setups + regime.latency + all.max(transport.time_to_get(options, one, ways, &alone))
            }
            None => {
                let together = self.time_to_put(message.size, bandwidth, regime);
                let by_rounds =
                    if shares { self.time_of_rounds(message.size, of_packet, regime) } else { together };
                latency + together.max(by_rounds)
            }
        };
        let latency = (latency + header).min(whole);
        IdleTime { latency, transfer: whole.saturating_sub(latency) }
    }

    /// Bandwidth of the narrower of the links by which packets of `message` leave and come.
    fn nic_link_bandwidth(&self, message: &Message) -> Bandwidth {
        let (topology, nics) = (&self.alone.fabric.topology, message.nic_pair());
        let up = self.switch.kind(topology.nic_up(message.from.host, nics.from));
        up.bandwidth().min(self.switch.kind(topology.nic_down(message.to.host, nics.to)).bandwidth())
    }

    /// Time for which the links of a NIC, of `bandwidth` each, carry a message of `size` side by side.
    fn time_of_rounds(&self, size: Bytes, bandwidth: Bandwidth, regime: &Regime) -> Duration {
        let options = &self.format.options;
        let (packets, links) = (options.packets(size), self.switch.links_of_nics());
        let time = |payload| {
            bandwidth.transfer(options.wire(payload)).max(regime.nic_rate.transfer(payload) * links)
        };
        let last = options.payload_of(size, packets - 1);
        let (others, rest) = ((packets - 1) / links, (packets - 1) % links);
        time(options.payload) * others + time(if rest == 0 { last } else { options.payload })
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
