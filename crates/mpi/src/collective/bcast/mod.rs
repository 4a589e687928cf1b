//! Broadcast: the root's vector goes to all.

pub mod binary_tree;
pub mod binomial;
pub mod chain;
pub mod knomial;
pub mod linear;
pub mod scatter_recursive_doubling_allgather;
pub mod scatter_ring_allgather;
pub mod split_binary_tree;
