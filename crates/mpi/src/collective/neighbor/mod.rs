//! Neighbourhood collectives: among the neighbours of a Cartesian or graph topology.

pub mod linear;
