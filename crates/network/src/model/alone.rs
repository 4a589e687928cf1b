//! Time of a message when nothing else is on the network: the law that all models share.
//!
//! ```text
//! T(n) = set-up of the NIC + latency of the path + latency of the regime + n / min(R_C, R_N, bandwidth of the path)
//! ```
//!
//! It is the postal model (Hockney 1994) with cut-through: the size counts once, however many links
//! there are. A link's bandwidth is that of the wire; headers take their part of it, so the payload
//! runs at `bandwidth · packet_payload / packet_wire`. Between processes of one host,
//! `T(n) = memory latency + n / min(memory bandwidth, total memory bandwidth)`, with those of the memory's
//! regime for n at the innermost level of the host that holds both processes.

use std::sync::Arc;

use engine::{Bandwidth, Bytes, Duration};

use super::idle_paths::IdlePaths;
use crate::message::{IdleTime, Message};
use crate::topology::{HostId, Idle};
use crate::{Fabric, HostParameters, MemoryRegime, Part, Regime};

/// The fabric and the hosts, for messages that are alone on them.
pub(super) struct Alone {
    pub fabric: Arc<Fabric>,
    pub hosts: Arc<HostParameters>,
    /// Payload bytes for each byte on the wire.
    payload_share: f64,
    idle_paths: IdlePaths,
}

/// An idle path from process to process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Path {
    /// Set-up of the NIC, before anything leaves.
    pub setup: Duration,
    /// Latency of the links and the regime, or of the memory.
    pub latency: Duration,
    /// Rate of the narrowest part, for payload.
    pub bandwidth: Bandwidth,
}

impl Path {
    /// Time of a message of `size` on it.
    #[inline]
    pub fn idle(self, size: Bytes) -> IdleTime {
        IdleTime { latency: self.setup + self.latency, transfer: self.bandwidth.transfer(size) }
    }

    /// This path, of NICs and links, for messages of `regime`.
    #[inline]
    pub fn under(self, regime: &Regime) -> Path {
        Path {
            latency: self.latency + regime.latency,
            bandwidth: self.bandwidth.min(regime.process_rate).min(regime.nic_rate),
            ..self
        }
    }
}

impl Alone {
    pub fn new(fabric: Arc<Fabric>, hosts: Arc<HostParameters>) -> Alone {
        let (payload, wire) = (hosts.packet_payload.0, hosts.packet_wire.0);
        assert!(0 < payload && payload <= wire, "a packet has a payload, and is no shorter than it");
        assert!(!hosts.regimes.is_empty(), "a platform has at least one regime");
        assert!(!hosts.memory.regimes.is_empty(), "a memory has at least one regime");
        assert_eq!(hosts.nics.count, fabric.topology.nics(), "a topology has the links of all NICs");
        let idle_paths = IdlePaths::new(fabric.topology.hosts());
        Alone { fabric, payload_share: payload as f64 / wire as f64, hosts, idle_paths }
    }

    /// The path of `message`.
    #[inline]
    pub fn path(&self, message: &Message) -> Path {
        if message.from.host == message.to.host {
            return self.copy(message);
        }
        let links = self.links(message.from.host, message.to.host);
        links.under(&self.hosts.regimes[usize::from(message.regime)])
    }

    /// The path of `message`, which stays within its host.
    #[inline]
    pub fn copy(&self, message: &Message) -> Path {
        let memory = self.memory(message);
        let bandwidth = memory.bandwidth.min(memory.total_bandwidth);
        Path { setup: Duration::ZERO, latency: memory.latency, bandwidth }
    }

    /// The links between two hosts, as they are on the wire.
    #[inline]
    pub fn idle(&self, from: HostId, to: HostId) -> Idle {
        self.idle_paths.between(&self.fabric, from, to)
    }

    /// NICs and links between two hosts, for messages of whatever regime.
    #[inline]
    pub fn links(&self, from: HostId, to: HostId) -> Path {
        let idle = self.idle(from, to);
        let bandwidth = self.payload_bandwidth(idle.bandwidth);
        Path { setup: self.hosts.nics.setup, latency: idle.latency, bandwidth }
    }

    /// Memory regime of `message`, which stays within its host.
    pub fn memory(&self, message: &Message) -> &MemoryRegime {
        &self.hosts.memory.regimes[usize::from(message.regime)]
    }

    /// Number of the memory that `message`, which stays within its host, shares with others, among those of all hosts.
    #[inline]
    pub fn shared_memory(&self, message: &Message) -> usize {
        let memory = &self.hosts.memory;
        let group = memory.group_of(message.regime, message.from.process);
        (message.from.host.0 * memory.groups() + group) as usize
    }

    /// The place of a NIC among all.
    pub fn nic(&self, host: HostId, nic: u8) -> u32 {
        host.0 * u32::from(self.hosts.nics.count) + u32::from(nic)
    }

    /// The payload bandwidth of a link that carries `wire` bytes per second.
    pub fn payload_bandwidth(&self, wire: Bandwidth) -> Bandwidth {
        wire.scaled(self.payload_share)
    }

    /// The bytes that `size` makes on the wire, rounded up.
    pub fn wire_bytes(&self, size: Bytes) -> Bytes {
        self.hosts.wire_bytes(size)
    }

    /// The least time from a message's start in `part` to its arrival in another.
    pub fn lookahead(&self, part: &Part) -> Duration {
        let regime = self.hosts.regimes.iter().map(|regime| regime.latency).min();
        part.cut.least_path() + regime.expect("a platform has at least one regime")
    }
}
