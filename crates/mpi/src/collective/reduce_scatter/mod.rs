//! Reduce-scatter: the vectors of all, combined, of which each rank gets its own block. For both
//! `reduce_scatter` and `reduce_scatter_block`.

pub mod butterfly;
pub mod pairwise;
pub mod recursive_doubling;
pub mod recursive_halving;
pub mod reduce_scatterv;
pub mod ring;

use crate::collective::Kind;

/// All of them do both: with sizes by rank their formulas take the largest block, add the wait B where
/// a rank hears from several, and are bounds.
const KINDS: &[Kind] = &[Kind::ReduceScatterBlock, Kind::ReduceScatter];
