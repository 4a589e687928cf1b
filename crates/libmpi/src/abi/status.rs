//! MPI_Status: three fields that programs read, five that are ours.

use mpi::source;

use super::pointers::OutPtr;
use super::{ANY_SOURCE, ANY_TAG, PROC_NULL};

/// As in `mpi.h`; `MPI_F_STATUS_SIZE` is its length in integers.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// MPI_SOURCE
    pub source: i32,
    /// MPI_TAG
    pub tag: i32,
    /// MPI_ERROR
    pub error: i32,
    /// Bytes (low, high), and whether it was cancelled.
    internal: [i32; 5],
}

const _: () = assert!(size_of::<Status>() == 32);

impl Status {
    /// Empty status, which a wait for a null or inactive request gives.
    pub const EMPTY: Status = Status { source: ANY_SOURCE, tag: ANY_TAG, error: 0, internal: [0; 5] };
    /// Status of a receive from MPI_PROC_NULL.
    pub const NOBODY: Status = Status { source: PROC_NULL, tag: ANY_TAG, error: 0, internal: [0; 5] };

    /// Status of a message that was received or found.
    pub fn of(status: &source::Status) -> Status {
        let cancelled = i32::from(status.cancelled);
        let internal = [status.bytes as i32, (status.bytes >> 32) as i32, cancelled, 0, 0];
        Status { source: status.source as i32, tag: status.tag as i32, error: 0, internal }
    }

    /// With these contents.
    pub fn new(source: i32, tag: i32, error: i32, bytes: u64, cancelled: bool) -> Status {
        let internal = [bytes as i32, (bytes >> 32) as i32, i32::from(cancelled), 0, 0];
        Status { source, tag, error, internal }
    }

    /// Length of the message \[bytes\].
    pub fn bytes(&self) -> u64 {
        u64::from(self.internal[0] as u32) | u64::from(self.internal[1] as u32) << 32
    }

    /// Makes that its length \[bytes\].
    pub fn set_bytes(&mut self, bytes: u64) {
        self.internal[0] = bytes as i32;
        self.internal[1] = (bytes >> 32) as i32;
    }

    /// True if it was cancelled.
    pub fn cancelled(&self) -> bool {
        self.internal[2] != 0
    }

    /// Says whether it was cancelled.
    pub fn set_cancelled(&mut self, cancelled: bool) {
        self.internal[2] = i32::from(cancelled);
    }

    /// Writes it to where the program wants it, leaving MPI_ERROR alone as the standard says for calls with
    /// one status; a null pointer (MPI_STATUS_IGNORE) wants none.
    #[inline]
    pub fn write(&self, place: OutPtr<Status>) {
        place.change(|status| *status = Status { error: status.error, ..*self });
    }

    /// Writes the empty status, of which MPI_ERROR is a part (MPI 5.0, 3.7.3).
    pub fn write_empty(place: OutPtr<Status>) {
        place.set(Status::EMPTY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_beyond_four_gigabytes_survives() {
        let length = 5_000_000_000;
        let told = source::Status { source: 3, tag: 9, bytes: length, data: 0, cancelled: false };
        let status = Status::of(&told);
        assert_eq!((status.source, status.tag, status.bytes()), (3, 9, length));
    }
}
