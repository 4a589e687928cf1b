//! Named, counter-based random streams: `(seed, purpose, owner)` gives the stream, nothing else does.
//!
//! Source: ChaCha (Bernstein 2008) with 8 rounds, keyed by the seed and the purpose; the owner is
//! the stream number, so two owners never share numbers and no generator is shared.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// A stream of random numbers that depends on its name alone.
pub type Stream = ChaCha8Rng;

/// The stream of `owner` for `purpose` under `seed`.
///
/// `purpose` is a short fixed name such as `"placement"`; `owner` is a rank, host or link number.
pub fn stream(seed: u64, purpose: &str, owner: u64) -> Stream {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    for (index, byte) in purpose.bytes().enumerate() {
        let slot = 8 + index % 24;
        key[slot] = key[slot].wrapping_mul(31).wrapping_add(byte);
    }
    let mut stream = ChaCha8Rng::from_seed(key);
    stream.set_stream(owner);
    stream
}

/// Number at position `place` (below 2⁶⁰) of that stream, whatever has been drawn before.
pub fn at(seed: u64, purpose: &str, owner: u64, place: u64) -> u32 {
    let mut stream = stream(seed, purpose, owner);
    stream.set_word_pos(place.into());
    stream.next_u32()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_its_name() {
        let first = |seed, purpose, owner| stream(seed, purpose, owner).next_u64();
        assert_eq!(first(1, "placement", 0), first(1, "placement", 0));
        assert_ne!(first(1, "placement", 0), first(2, "placement", 0));
        assert_ne!(first(1, "placement", 0), first(1, "placement", 1));
        assert_ne!(first(1, "placement", 0), first(1, "routing", 0));
    }

    #[test]
    fn numbers_have_places() {
        let mut drawn = stream(7, "placement", 3);
        let drawn: Vec<u32> = (0..100).map(|_| drawn.next_u32()).collect();
        assert!((0..100).rev().all(|place| at(7, "placement", 3, place) == drawn[place as usize]));
    }
}
