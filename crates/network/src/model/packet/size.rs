//! Sizes of packets, and spans of time.

use engine::{Bytes, Duration, Time};

/// Bytes on the wire, of a packet or of room for packets: fewer than 2³².
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WireSize(pub u32);

impl WireSize {
    /// The bytes as a wide number.
    #[inline]
    pub fn wide(self) -> u64 {
        u64::from(self.0)
    }
}

impl From<WireSize> for Bytes {
    fn from(size: WireSize) -> Bytes {
        Bytes(size.wide())
    }
}

/// Time from a begin to an end.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Span {
    pub begin: Time,
    pub end: Time,
}

impl Span {
    /// Its length.
    #[inline]
    pub fn length(self) -> Duration {
        self.end.since(self.begin)
    }
}
