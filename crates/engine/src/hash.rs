//! A fast map for lookups that are never iterated, and the running hash of an outcome.

use std::hash::{BuildHasherDefault, Hasher};

/// A hash map with a fixed, fast hasher. **Never iterate it** where the result could show.
#[allow(clippy::disallowed_types)]
pub type Map<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Mix>>;

/// One multiply-and-rotate round per word: quick, and the same on every run.
#[derive(Debug, Default, Clone, Copy)]
pub struct Mix(u64);

const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(29) ^ value).wrapping_mul(FACTOR);
    }
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(FACTOR);
        mixed ^ (mixed >> 29)
    }
}

/// The hash of what happened to one rank: fold in words in the order in which they happen there.
///
/// Two runs with the same digest for every rank had the same outcome; the order between ranks does
/// not enter, so cutting a run into domains cannot change it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// Folds one word into the digest.
    #[inline]
    pub fn fold(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(FACTOR) ^ (word >> 31);
    }
    /// Folds a text into the digest.
    pub fn fold_text(&mut self, text: &str) {
        let mut mix = Mix::default();
        mix.write(text.as_bytes());
        self.fold(mix.finish() ^ text.len() as u64);
    }
    /// The digest so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_sees_order_and_value() {
        let digest = |words: &[u64]| {
            let mut digest = Digest::default();
            words.iter().for_each(|word| digest.fold(*word));
            digest
        };
        assert_ne!(digest(&[1, 2]), digest(&[2, 1]));
        assert_ne!(digest(&[1, 2]), digest(&[1, 3]));
        assert_eq!(digest(&[1, 2]), digest(&[1, 2]));
    }
}
