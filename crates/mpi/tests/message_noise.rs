//! Noise of messages: what is drawn has the moments of its modes, and depends on its rank and the seed alone.

use crate::common;

use common::{BYTE, LATENCY, Overheads, Run, receive, run_with, send, setup};
use engine::random::Shape;
use mpi::message_noise::{MessageNoise, RegimeNoise, TimeMode, TimeModes};
use mpi::{Op, Setup};

const MESSAGES: usize = 10_000;
const SIZE: u64 = 100;

/// Three quarters of the calls take 1 µs ± 0.1 µs, a quarter 5 µs ± 0.4 µs.
fn two_modes() -> TimeModes {
    let mode = |weight, mean, deviation| TimeMode { weight, mean, deviation, shape: Shape::HalfNormal };
    TimeModes(vec![mode(0.75, 1e-6, 0.1e-6), mode(0.25, 5e-6, 0.4e-6)])
}

fn noisy(ranks: u32, seed: u64, noise: RegimeNoise) -> Setup {
    let network = vec![noise, RegimeNoise::default()];
    let noise = MessageNoise { seed, network, memory: vec![RegimeNoise::default()] };
    Setup { noise: Some(noise), ..setup(ranks, Overheads::default()) }
}

/// Pairs of ranks 0 and 1, 2 and 3, …: the first of each sends `MESSAGES` messages to the second.
fn pairs(count: usize, seed: u64, noise: &RegimeNoise) -> Run {
    let ranks = 2 * count;
    let ops = (0..ranks).map(|rank| match rank % 2 {
        0 => vec![send(rank as u32 + 1, SIZE, 0); MESSAGES],
        _ => vec![receive(rank as u32 - 1, 0); MESSAGES],
    });
    let run = run_with(noisy(ranks as u32, seed, noise.clone()), ops.collect::<Vec<Vec<Op>>>());
    assert_eq!(run.failure, None);
    run
}

/// Times between the returns of the calls of a rank \[µs\].
fn durations(run: &Run, rank: usize) -> Vec<f64> {
    let ends: Vec<_> = (0..MESSAGES).map(|index| run.at(rank, index) as f64 * 1e-6).collect();
    ends.iter().zip([0.0].iter().chain(&ends)).map(|(end, begin)| end - begin).collect()
}

/// The mean is 2 µs; the variance is Σ w (σ² + μ²) − 2² = 0.75 (0.01 + 1) + 0.25 (0.16 + 25) − 4 = 3.0475 µs², so that the
/// mean of 10,000 is within 4 · 1.746 / 100 = 0.07 µs, and the share of a mode within 4 √(0.1875 / 10,000) = 0.0173.
#[test]
fn times_of_sends_have_the_moments_of_their_modes() {
    let run = pairs(1, 7, &RegimeNoise { send: Some(two_modes()), ..RegimeNoise::default() });
    let times = durations(&run, 0);
    let mean = times.iter().sum::<f64>() / MESSAGES as f64;
    let fast: Vec<_> = times.iter().filter(|time| **time < 3.0).collect();
    let share = fast.len() as f64 / MESSAGES as f64;
    assert!((mean - 2.0).abs() < 0.07 && (share - 0.75).abs() < 0.0173, "{mean} {share}");
    let of_fast = fast.iter().copied().sum::<f64>() / fast.len() as f64;
    let variance = fast.iter().map(|time| (*time - of_fast).powi(2)).sum::<f64>() / fast.len() as f64;
    assert!((variance.sqrt() - 0.1).abs() < 0.005, "{}", variance.sqrt());
}

/// A message comes LATENCY + SIZE · BYTE + l after it was sent. The receiver takes them in order: its n-th receive ends
/// when the latest of n messages has come, all of which were sent at 0, at least 10,000 draws' greatest and no sooner than each.
#[test]
fn latencies_are_added_and_messages_matched_in_order() {
    let run = pairs(1, 7, &RegimeNoise { latency: Some(two_modes()), ..RegimeNoise::default() });
    let ends: Vec<_> = (0..MESSAGES).map(|index| run.at(1, index)).collect();
    let least = LATENCY + SIZE * BYTE + 800_000;
    assert!(ends[0] >= least && ends.is_sorted() && ends[MESSAGES - 1] > LATENCY + SIZE * BYTE + 5_500_000);
}

/// The same pair draws the same, whoever runs beside it; another pair and another seed draw otherwise. Receive overheads
/// leave the sender alone.
#[test]
fn what_is_drawn_depends_on_the_rank_and_the_seed_alone() {
    let noise = RegimeNoise { send: Some(two_modes()), receive: Some(two_modes()), ..RegimeNoise::default() };
    let (alone, beside, other) = (pairs(1, 7, &noise), pairs(3, 7, &noise), pairs(1, 8, &noise));
    for rank in [0, 1] {
        assert_eq!(durations(&alone, rank), durations(&beside, rank));
        assert_ne!(durations(&beside, rank), durations(&beside, rank + 2));
        assert_ne!(durations(&alone, rank), durations(&other, rank));
    }
    let silent = pairs(1, 7, &RegimeNoise { receive: Some(two_modes()), ..RegimeNoise::default() });
    assert_eq!(durations(&silent, 0), vec![0.0; MESSAGES]);
}
