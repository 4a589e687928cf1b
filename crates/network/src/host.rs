//! Costs of a message inside a host: overheads, the process's own path, the shared NIC, memory.
//!
//! A message of n bytes passes: sender overhead → the process's path to the NIC (rate R_C, its own)
//! → the NIC (rate R_N, shared by the host's processes) → network → NIC → receiver. With k processes
//! sending at once over one NIC the aggregate rate is `min(R_N, R_Cb + (k-1) R_Ci)` (four parameters), which is
//! `min(R_N, k R_C)` (three) where `R_Cb = R_Ci = R_C`.
//!
//! Source: Gropp, Olson, Samfass, "Modeling MPI communication performance on SMP nodes" (EuroMPI 2016).

use engine::{Bandwidth, Bytes, Duration, LinearTime};

use crate::memory::Memory;
use crate::message::Endpoint;
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
    /// The same, but from the hand-over on, while NIC and links work for this message and for others. No network model
    /// knows of it: the layer above holds a message back until its own time, [`Self::own_time`], is over.
    pub overlapped_latency: Duration,
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
        overlapped_latency: Duration::ZERO,
        process_rate: Bandwidth::INFINITE,
        process_rate_change: 0.0,
        nic_rate: Bandwidth::INFINITE,
    };

    /// Time of a message of `size` on its process's own path, s + n / R_C, which overlaps with that of the NIC.
    #[inline]
    pub fn own_time(&self, size: Bytes) -> Duration {
        self.overlapped_latency + self.process_rate.transfer(size)
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
    /// Payload of a full packet: 2 KiB if the platform does not say it.
    pub fn full_packet(&self) -> Bytes {
        let is_told = self.packet_payload.0 > 1 || self.packet_wire != self.packet_payload;
        if is_told { self.packet_payload } else { Bytes(2048) }
    }

    /// The bytes that `size` makes on the wire, rounded up.
    pub fn wire_bytes(&self, size: Bytes) -> Bytes {
        let (payload, wire) = (self.packet_payload.0, self.packet_wire.0);
        if payload == wire {
            return size;
        }
        Bytes((u128::from(size.0) * u128::from(wire)).div_ceil(u128::from(payload)) as u64)
    }

    /// The index of the regime for a message of `size`.
    #[inline]
    pub fn regime_of(&self, size: Bytes) -> usize {
        self.regimes.iter().position(|regime| size <= regime.up_to).expect("the last regime has no limit")
    }

    /// Index of the regime for a message of `size`: among those of the memory where both ends are on one host.
    #[inline]
    pub fn regime_between(&self, from: Endpoint, to: Endpoint, size: Bytes) -> u8 {
        let regime = match from.host == to.host {
            true => self.memory.regime_between(from.process, to.process, size),
            false => self.regime_of(size),
        };
        regime as u8
    }
}
