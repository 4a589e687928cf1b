//! Reduce: the vectors of all, combined element by element, go to the root.

pub mod binary_tree;
pub mod binomial;
pub mod chain;
pub mod linear;
pub mod rabenseifner;
