//! Random choices that depend on a name alone: a counter-based generator for one message's route.
//!
//! Source: the finalizer of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014); one multiplication chain per number, where a cipher would cost more
//! than the route.

use crate::trip::Trip;

/// Stream of random numbers that a seed and a [`Trip`] name.
#[derive(Debug, Clone, Copy)]
pub struct Choice(u64);

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

impl Choice {
    /// Random numbers of one trip.
    #[inline]
    pub fn new(seed: u64, Trip { from, to, key }: Trip) -> Choice {
        let pair = u64::from(from.0) << 32 | u64::from(to.0);
        Choice(mix(mix(pair.wrapping_add(GAMMA)) ^ key.wrapping_mul(GAMMA) ^ seed))
    }

    /// The name itself, mixed: what routings take that need one number only.
    pub fn word(self) -> u64 {
        self.0
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    /// The number at place `index` below `bound` (1 or more), whatever was drawn before.
    pub fn at(self, index: u64, bound: u32) -> u32 {
        Choice(self.0.wrapping_add(GAMMA.wrapping_mul(index))).below(bound)
    }

    /// The next number below `bound` (1 or more), without bias that could show (below 2⁻³²).
    pub fn below(&mut self, bound: u32) -> u32 {
        if bound == 1 { 0 } else { ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u32 }
    }
}
