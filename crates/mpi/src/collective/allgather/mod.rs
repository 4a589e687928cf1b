//! Allgather and allgatherv: the block of each rank goes to all.

pub mod bruck;
pub mod gather_bcast;
pub mod neighbor_exchange;
pub mod recursive_doubling;
pub mod ring;

use crate::collective::Kind;

/// All of them do both: with sizes by rank their formulas take the largest block, add the wait B where
/// a rank hears from several, and are bounds.
const KINDS: &[Kind] = &[Kind::Allgather, Kind::Allgatherv];
