//! GOAL: schedules of messages and computing with their dependencies, as LogGOPSim, ATLAHS and HTSIM read them.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! l1: send 4b to 1 tag 1
//! l2: calc 1000 cpu 1
//! l1 requires l2          l1 begins when l2 has ended
//! l3: recv 8b from -1     from anyone
//! l3 irequires l1         l3 begins when l1 has begun
//! }
//! ```
//!
//! A schedule is one file, this text or its binary form. Assumptions: a `calc` of 1 is a nanosecond, as in LogGOPSim;
//! what a message costs is the platform's matter; `cpu` numbers are processors of one rank that compute at the same
//! time; `nic` numbers are left to the platform. How a rank finds the order of its operations is said in
//! `trace/graph/walk.rs`.
//!
//! Source: Hoefler, Siebert, Lumsdaine, "Group Operation Assembly Language" (ICPP 2009); LogGOPSim, `txt2bin` and
//! its binary layout.

mod binary;
mod schedule;
mod set;
mod text;

pub use set::{FORMAT, GoalSet};
