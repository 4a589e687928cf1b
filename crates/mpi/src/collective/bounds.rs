//! Lower bounds of broadcasts and reductions of whole vectors in the model of [`super::Idle`].
//!
//! Broadcast: let N(t) be the most ranks that can have the vector at time t. Then N(t) = 1 for t < T
//! and N(t) = N(t − B) + N(t − T): who sends at 0 can send again at B, and whom it reaches at T sends
//! from then on. The bound is the least t with N(t) ≥ p. Reduction is broadcast with time reversed: a
//! message that is combined last was sent T + R before the end, and one rank's combinations end at
//! least max(B, R) apart.
//! Holds for one port in and one port out, vectors that are not cut (segments can be faster).
//! Source: Karp, Sahay, Santos, Schauser, "Optimal broadcast and summation in the LogP model" (SPAA
//! 1993), with T = L + 2o and B = g; for LogGP with T = L + 2o + n G and B = max(o, g, n G).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use engine::Bytes;

use super::Idle;

/// The least time in which all of `size` ranks can have a vector of `bytes` of one of them \[s\].
pub fn broadcast(size: u32, bytes: Bytes, idle: &Idle) -> f64 {
    greedy(size, idle.time(bytes.0), idle.busy(bytes.0))
}

/// The least time in which one of `size` ranks can have the vectors of all, `bytes` each, combined \[s\].
pub fn reduce(size: u32, bytes: Bytes, idle: &Idle) -> f64 {
    greedy(size, idle.time_reduced(bytes.0), idle.busy(bytes.0).max(idle.reduce(bytes.0)))
}

/// Every rank sends as soon as it can; the earliest sends reach the next ranks.
fn greedy(size: u32, time: f64, busy: f64) -> f64 {
    // Seconds above zero are in the same order as their bits.
    let mut ready = BinaryHeap::from([Reverse(0f64.to_bits())]);
    let mut last = 0.0;
    for _ in 1..size {
        let Some(Reverse(bits)) = ready.pop() else { unreachable!("every send adds two") };
        let sent = f64::from_bits(bits);
        last = sent + time;
        ready.push(Reverse((sent + busy).to_bits()));
        ready.push(Reverse(last.to_bits()));
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Karp et al. 1993, figure 1: P = 8, L = 6, o = 2, g = 4 gives 24 cycles.
    #[test]
    fn the_published_example_takes_24_cycles() {
        assert_eq!(greedy(8, 6.0 + 2.0 * 2.0, 4.0), 24.0);
    }

    /// With B = T the tree is binomial: N doubles every T.
    #[test]
    fn without_overlap_it_doubles() {
        for (size, levels) in [(1, 0), (2, 1), (3, 2), (8, 3), (9, 4), (1024, 10)] {
            assert_eq!(greedy(size, 5.0, 5.0), 5.0 * f64::from(levels));
        }
    }
}
