//! Scan and exclusive scan: rank r gets what ranks 0 to r, or to r − 1, have, combined in order.

pub mod linear;
pub mod recursive_doubling;

use crate::collective::Kind;

const KINDS: &[Kind] = &[Kind::Scan, Kind::Exscan];
