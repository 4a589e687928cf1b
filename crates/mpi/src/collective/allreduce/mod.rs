//! Allreduce: the vectors of all, combined element by element, go to all.

pub mod dissemination;
pub mod linear;
pub mod rabenseifner;
pub mod recursive_doubling;
pub mod reduce_bcast;
pub mod ring;
pub mod segmented_ring;
