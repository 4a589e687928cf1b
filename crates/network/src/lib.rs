//! Hosts and bytes: topologies, routes, and the models that turn messages into timed events.
//!
//! This crate never hears of ranks, tags or communicators: a message goes from a process slot of a
//! host to a process slot of a host, with a cargo that only its sender's layer can read.

pub mod choice;
pub mod congestion;
pub mod cut;
pub mod deadlock;
pub mod fabric;
pub mod faults;
pub mod host;
pub mod ids;
pub mod interface;
pub mod memory;
pub mod message;
pub mod model;
pub mod nics;
pub mod observe;
pub mod routing;
pub mod statistics;
pub mod survey;
pub mod topology;
mod trip;

pub use cut::{Cut, Grain, Part};
pub use fabric::Fabric;
pub use faults::Faults;
pub use host::{HostParameters, Regime};
pub use interface::{Inspect, Network, NetworkPart};
pub use memory::{Memory, MemoryLevel, MemoryRegime};
pub use message::{
    Arrival, CARGO_WORDS, CROSSING_WORDS, Cargo, Crossing, Delays, Endpoint, Happening, IdleTime, Losses,
    MOST_DELAYS, Message, NicPair, Shared,
};
pub use nics::{NicChoice, NicOrder, Nics};
pub use observe::{NetworkObserver, NetworkRecord, PacketEvents, PacketHop, Totals};
pub use topology::{HostId, Link, LinkId, Node, RouterId, Topology};
