//! Named, counter-based random streams: `(seed, purpose, owner)` gives the stream, nothing else does.
//!
//! Source: ChaCha (Bernstein 2008) with 8 rounds, keyed by the seed and the purpose; the owner is
//! the stream number, so two owners never share numbers and no generator is shared. What is drawn at every
//! message takes a [`SmallStream`]: xoroshiro128++ (Blackman and Vigna, ACM Transactions on Mathematical Software 47,
//! 2021), begun by the stream of the same name, and normal numbers by the ziggurat (Marsaglia and Tsang 2000).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoroshiro128PlusPlus;

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

/// A stream that depends on its name alone as well, of 16 bytes, with numbers at a fraction of the cost.
pub type SmallStream = Xoroshiro128PlusPlus;

/// The small stream of `owner` for `purpose` under `seed`.
pub fn small_stream(seed: u64, purpose: &str, owner: u64) -> SmallStream {
    SmallStream::from_rng(&mut stream(seed, purpose, owner))
}

/// Number at position `place` (below 2⁶⁰) of that stream, whatever has been drawn before.
pub fn at(seed: u64, purpose: &str, owner: u64, place: u64) -> u32 {
    let mut stream = stream(seed, purpose, owner);
    stream.set_word_pos(place.into());
    stream.next_u32()
}

/// A number in \[0, 1).
#[inline]
pub fn uniform(stream: &mut impl RngCore) -> f64 {
    (stream.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A standard normal number (Box and Muller 1958).
pub fn normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * (1.0 - uniform(stream)).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(stream)).cos()
}

/// A standard normal number of a small stream.
#[inline]
pub fn small_normal(stream: &mut SmallStream) -> f64 {
    StandardNormal.sample(stream)
}

/// Shape of the distribution of times around their mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// To both sides.
    #[default]
    Normal,
    /// Upwards from a sharp lower bound: (|z| − √(2/π)) / √(1 − 2/π) of a standard normal z.
    HalfNormal,
}

impl Shape {
    /// Names in platform files.
    pub const NAMES: &[&str] = &["normal", "half-normal"];

    /// The shape of that name, one of [`Shape::NAMES`].
    pub fn named(name: &str) -> Option<Shape> {
        let place = Shape::NAMES.iter().position(|known| *known == name)?;
        Some([Shape::Normal, Shape::HalfNormal][place])
    }

    /// A number of that distribution with mean 0 and standard deviation 1.
    pub fn draw(self, stream: &mut Stream) -> f64 {
        self.of(normal(stream))
    }

    /// The number of that distribution, with mean 0 and standard deviation 1, that a standard normal number gives.
    #[inline]
    pub fn of(self, normal: f64) -> f64 {
        let half = std::f64::consts::FRAC_2_PI;
        match self {
            Shape::Normal => normal,
            Shape::HalfNormal => (normal.abs() - half.sqrt()) / (1.0 - half).sqrt(),
        }
    }
}

/// Place of the mode that is drawn among modes of these weights, whose sum is 1. One mode takes no number of the stream.
#[inline]
pub fn pick(weights: impl ExactSizeIterator<Item = f64>, stream: &mut impl RngCore) -> usize {
    let last = weights.len() - 1;
    if last == 0 {
        return 0;
    }
    let (drawn, mut sum) = (uniform(stream), 0.0);
    weights
        .take(last)
        .position(|weight| {
            sum += weight;
            drawn < sum
        })
        .unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments of a million draws of each shape, of both kinds of stream: those asked for within 0.3 %. Half-normal
    /// numbers have the lower bound −√(2/π) / √(1 − 2/π) = −1.3236.
    #[test]
    fn shapes_have_mean_zero_and_deviation_one() {
        for (shape, small) in
            [Shape::Normal, Shape::HalfNormal].into_iter().flat_map(|one| [(one, false), (one, true)])
        {
            let (mut large, mut little) = (stream(1, "kernels", 0), small_stream(1, "kernels", 0));
            let mut draw =
                || if small { shape.of(small_normal(&mut little)) } else { shape.draw(&mut large) };
            let drawn: Vec<_> = (0..1_000_000).map(|_| draw()).collect();
            let mean = drawn.iter().sum::<f64>() / 1e6;
            let variance = drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 1e6;
            assert!(
                mean.abs() < 0.003 && (variance.sqrt() - 1.0).abs() < 0.003,
                "{shape:?} {small} {mean} {variance}"
            );
            let least = drawn.iter().copied().fold(f64::MAX, f64::min);
            assert_eq!(least >= -1.3237, shape == Shape::HalfNormal);
        }
    }

    /// Each mode has its share of a million draws, within four standard deviations of a count: 4 √(p (1 − p) / n).
    #[test]
    fn modes_are_drawn_by_weight() {
        let weights = [0.7, 0.28, 0.02];
        let (mut stream, mut counts) = (stream(1, "modes", 0), [0.0; 3]);
        (0..1_000_000).for_each(|_| counts[pick(weights.into_iter(), &mut stream)] += 1e-6);
        for (share, weight) in counts.iter().zip(weights) {
            assert!((share - weight).abs() < 4.0 * (weight * (1.0 - weight) / 1e6_f64).sqrt(), "{counts:?}");
        }
    }

    #[test]
    fn a_stream_is_its_name() {
        let first = |seed, purpose, owner| stream(seed, purpose, owner).next_u64();
        assert_eq!(first(1, "placement", 0), first(1, "placement", 0));
        assert_ne!(first(1, "placement", 0), first(2, "placement", 0));
        assert_ne!(first(1, "placement", 0), first(1, "placement", 1));
        assert_ne!(first(1, "placement", 0), first(1, "routing", 0));
        let small = |seed, purpose, owner| small_stream(seed, purpose, owner).next_u64();
        assert_eq!(small(1, "latency", 0), small(1, "latency", 0));
        assert_ne!(small(1, "latency", 0), small(2, "latency", 0));
        assert_ne!(small(1, "latency", 0), small(1, "latency", 1));
        assert_ne!(small(1, "latency", 0), small(1, "send overhead", 0));
    }

    /// Tails of the ziggurat: shares of a million numbers beyond 1, 2 and 3 deviations, within four deviations of a count.
    #[test]
    fn small_normal_numbers_have_their_tails() {
        let mut stream = small_stream(1, "latency", 0);
        let drawn: Vec<_> = (0..1_000_000).map(|_| small_normal(&mut stream)).collect();
        for (beyond, share) in [(1.0, 0.158_655), (2.0, 0.022_750), (3.0, 0.001_350)] {
            let counts = [1.0, -1.0].map(|side| drawn.iter().filter(|one| side * **one > beyond).count());
            let room = 4.0 * (share * (1.0 - share) / 1e6_f64).sqrt();
            assert!(
                counts.iter().all(|count| (*count as f64 / 1e6 - share).abs() < room),
                "{beyond} {counts:?}"
            );
        }
    }

    #[test]
    fn numbers_have_places() {
        let mut drawn = stream(7, "placement", 3);
        let drawn: Vec<u32> = (0..100).map(|_| drawn.next_u32()).collect();
        assert!((0..100).rev().all(|place| at(7, "placement", 3, place) == drawn[place as usize]));
    }
}
