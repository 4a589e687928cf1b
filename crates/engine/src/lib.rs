//! Time, units, the event queue, named random streams, and the shape of a registry.
//!
//! This crate knows no network and no MPI. Everything above it speaks its types: quantities are
//! never bare numbers, events have one total order, random numbers have a name.

pub mod energy;
mod event;
pub mod hash;
mod linear_time;
pub mod observer;
pub mod prefetch;
pub mod queue;
pub mod random;
pub mod registry;
mod unit_names;
pub mod units;

pub use energy::{Energy, EnergyPerByte, Power, TotalTime};
pub use event::{Event, Key, Lane, Owner, Token};
pub use linear_time::LinearTime;
pub use observer::Observer;
pub use prefetch::{prefetch, prefetch_start};
pub use queue::Queue;
pub use units::{Bandwidth, Bytes, Duration, EventRate, FlopRate, Time};
