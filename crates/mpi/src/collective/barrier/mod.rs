//! Barrier: nobody leaves before everybody has come. Its messages carry no data.

pub mod dissemination;
pub mod double_ring;
pub mod linear;
pub mod recursive_doubling;
pub mod tree;
