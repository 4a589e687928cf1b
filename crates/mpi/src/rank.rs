//! Numbers of ranks.

use serde::{Deserialize, Serialize};

/// A process of the simulated program, numbered in the run from 0: in the world communicator, where there is one job.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rank(pub u32);
