//! What the benches share: networks by name, and traffic that drives a network model by itself.
//!
//! Rates are per core: everything runs on one thread.

pub mod fabrics;
pub mod traffic;
