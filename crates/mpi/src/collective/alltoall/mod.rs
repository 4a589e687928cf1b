//! All-to-all and its v- and w-variants: each rank has a block for each other.
//!
//! The w-variant has a datatype for each block; here that is the v-variant with lengths in bytes.

pub mod bruck;
pub mod linear;
pub mod pairwise;

use crate::collective::{Shape, Sizes};

/// Bytes that this rank sends to `peer`.
fn sent(shape: &Shape, peer: u32) -> u64 {
    match &shape.call.sizes {
        Sizes::Own { send, .. } => send[peer as usize],
        _ => shape.block(peer),
    }
}

/// Bytes that this rank gets from `peer`.
fn received(shape: &Shape, peer: u32) -> u64 {
    match &shape.call.sizes {
        Sizes::Own { receive, .. } => receive[peer as usize],
        _ => shape.block(peer),
    }
}
