//! Observers of a run: each layer reports its records, observers decide what to keep.

use crate::units::Time;

/// Receives the records of one layer (`R` is that layer's record type) in event order.
pub trait Observer<R> {
    /// Takes note of `record`, which happened at `now`.
    fn record(&mut self, now: Time, record: &R);
}

/// Keeps nothing. A run with this observer pays nothing for being observable.
#[derive(Debug, Default, Clone, Copy)]
pub struct Ignore;

impl<R> Observer<R> for Ignore {
    fn record(&mut self, _now: Time, _record: &R) {}
}
