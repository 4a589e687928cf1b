//! Costs of a message inside a host: overheads, the process's own path, the shared NIC, memory.
//!
//! A message of n bytes passes: sender overhead → the process's path to the NIC (rate R_C, its own)
//! → the NIC (rate R_N, shared by the host's processes) → network → NIC → receiver. With k processes
//! sending at once over one NIC the aggregate rate is `min(R_N, R_Cb + (k-1) R_Ci)` (four parameters), which is
//! `min(R_N, k R_C)` (three) where `R_Cb = R_Ci = R_C`.
//!
//! Source: Gropp, Olson, Samfass, "Modeling MPI communication performance on SMP nodes" (EuroMPI 2016).

use engine::{Bandwidth, Bytes, Duration, LinearTime};

use crate::nics::Nics;

/// The rates of one protocol regime, chosen by message size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Regime {
    /// Up to and including this payload; the last regime has `Bytes(u64::MAX)`.
    pub up_to: Bytes,
    /// CPU time of the sending process for each message \[s_send\].
    pub send_overhead: LinearTime,
    /// CPU time of a call that begins to send and does not wait, by the whole message; `None`: `send_overhead`.
    pub isend_overhead: Option<LinearTime>,
    /// CPU time of the receiving process for each message \[s_recv\].
    pub receive_overhead: LinearTime,
    /// Latency that the protocol adds to the path's, on no CPU.
    pub latency: Duration,
    /// R_C (or R_Cb): the path of one process to a NIC; to each of several it has one.
    pub process_rate: Bandwidth,
    /// R_Ci − R_Cb \[B/s\], may be negative: what each further active process of the host adds, less
    /// one full `process_rate`. Zero gives the three-parameter model.
    pub process_rate_change: f64,
    /// R_N: a NIC and its DMA engine, shared by all processes of the host; `Bandwidth::INFINITE` where the link limits.
    pub nic_rate: Bandwidth,
}

impl Regime {
    /// Messages of all sizes, without overheads, latency or limits of its own.
    pub const FREE: Regime = Regime {
        up_to: Bytes(u64::MAX),
        send_overhead: LinearTime::ZERO,
        isend_overhead: None,
        receive_overhead: LinearTime::ZERO,
        latency: Duration::ZERO,
        process_rate: Bandwidth::INFINITE,
        process_rate_change: 0.0,
        nic_rate: Bandwidth::INFINITE,
    };
}

/// Copies between the processes of one host, by size: those that fit into a cache are faster.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// In order of size; at least one, the last without limit.
    pub regimes: Vec<MemoryRegime>,
}

/// Costs of a copy between two processes of one host. One of n bytes keeps the host's memory busy for
/// `n / total_bandwidth`, whatever the regimes of the copies beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryRegime {
    /// Up to and including this payload; the last regime has `Bytes(u64::MAX)`.
    pub up_to: Bytes,
    /// From the sender's store to the receiver's load.
    pub latency: Duration,
    /// Bandwidth of one copy between two processes.
    pub bandwidth: Bandwidth,
    /// Bandwidth of all such copies on the host together.
    pub total_bandwidth: Bandwidth,
    /// CPU time of the sending process for a message within the host; `None`: that of the message's [`Regime`].
    pub send_overhead: Option<LinearTime>,
    /// CPU time of a call that begins to send within the host; `None`: `send_overhead`, else that of the [`Regime`].
    pub isend_overhead: Option<LinearTime>,
    /// CPU time of the receiving process; `None`: that of the [`Regime`].
    pub receive_overhead: Option<LinearTime>,
}

impl Memory {
    /// Memory with one regime for copies of all sizes.
    pub fn uniform(latency: Duration, bandwidth: Bandwidth, total_bandwidth: Bandwidth) -> Memory {
        let regime = MemoryRegime {
            up_to: Bytes(u64::MAX),
            latency,
            bandwidth,
            total_bandwidth,
            send_overhead: None,
            isend_overhead: None,
            receive_overhead: None,
        };
        Memory { regimes: vec![regime] }
    }

    /// True if some copies take processes a time of their own, not that of messages to other hosts.
    pub fn has_overheads(&self) -> bool {
        let own = |regime: &MemoryRegime| {
            [regime.send_overhead, regime.isend_overhead, regime.receive_overhead].iter().any(Option::is_some)
        };
        self.regimes.iter().any(own)
    }

    /// The index of the regime for a copy of `size`.
    #[inline]
    pub fn regime_of(&self, size: Bytes) -> usize {
        self.regimes.iter().position(|regime| size <= regime.up_to).expect("the last regime has no limit")
    }
}

/// Parameters of every host of a platform.
#[derive(Debug, Clone, PartialEq)]
pub struct HostParameters {
    /// Process slots.
    pub processes: u16,
    /// Between the processes of one host.
    pub memory: Memory,
    /// The regimes in order of size; at least one, the last without limit.
    pub regimes: Vec<Regime>,
    /// Number of NICs, and what they do for each message.
    pub nics: Nics,
    /// The least time from one message to the next at a NIC (LogGP's g).
    pub nic_gap: Duration,
    /// Payload bytes of a full packet, and its bytes on the wire: 64 and 96 on Gemini. Equal values
    /// mean that headers are left out. Links carry `size * packet_wire / packet_payload`.
    pub packet_payload: Bytes,
    /// See `packet_payload`.
    pub packet_wire: Bytes,
}

impl HostParameters {
    /// The index of the regime for a message of `size`.
    #[inline]
    pub fn regime_of(&self, size: Bytes) -> usize {
        self.regimes.iter().position(|regime| size <= regime.up_to).expect("the last regime has no limit")
    }
}
