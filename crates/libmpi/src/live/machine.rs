//! Rates of the machine that measures: the peak of a core, and its memory bandwidth.
//!
//! ```text
//!   F = 2 v c u / t        c chains of u multiply-adds of v numbers in registers, which depend on nothing but their own
//!   B = 2 n / t            a copy of n bytes, read and written, larger than any cache
//! ```
//!
//! Times are the thread's, and the best of several tries counts: other work of the machine makes a try slower, never faster.

use crate::process_view::computing_clock as clock;
use std::hint::black_box;

use super::neighbours::{BYTES, Neighbours, copy};
use super::profile::Machine;

/// Measures this machine; memory under load only with `neighbours`.
pub fn measure(neighbours: Option<&mut Neighbours>) -> Machine {
    let words = BYTES / 8;
    let (from, mut into) = (vec![1_u64; words], vec![0_u64; words]);
    let mut bandwidth = || {
        let copies = (0..COPIES).map(|_| {
            let since = clock::thread_ns();
            copy(&from, &mut into);
            black_box(&mut into);
            2.0 * BYTES as f64 / (clock::thread_ns() - since).max(1) as f64 * 1e9
        });
        copies.fold(0.0, f64::max)
    };
    let memory_bandwidth = bandwidth();
    let busy_memory_bandwidth = neighbours.map_or(memory_bandwidth, |neighbours| {
        neighbours.set(true);
        let busy = bandwidth();
        neighbours.set(false);
        busy.min(memory_bandwidth)
    });
    Machine {
        processor: processor(),
        cores: cores(),
        flop_rate: flop_rate(),
        memory_bandwidth,
        busy_memory_bandwidth,
    }
}

/// Number of copies, of which the fastest counts.
const COPIES: usize = 12;

/// Cores that this process may use.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

/// The name of the processor, as Linux knows it.
pub fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    line.map_or_else(|| "an unknown processor".to_string(), |(_, name)| name.trim().to_string())
}

/// Multiply-adds of each chain in one try.
const ADDS: u32 = 40_000;
/// Number of tries, of which the fastest counts.
const TRIES: u32 = 40;

/// The peak of this core \[flop/s\].
fn flop_rate() -> f64 {
    let (run, numbers): (unsafe fn(u32), u32) =
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            (wide::chains_256, 4)
        } else {
            (wide::chains_128, 2)
        };
    let flops = f64::from(2 * numbers * wide::CHAINS * ADDS);
    let tries = (0..TRIES).map(|_| {
        let since = clock::thread_ns();
        // SAFETY: the processor has these instructions.
        unsafe { run(ADDS) };
        flops / (clock::thread_ns() - since).max(1) as f64 * 1e9
    });
    tries.fold(0.0, f64::max)
}

/// Chains of multiply-adds in the vectors of the processor.
mod wide {
    use std::arch::x86_64::*;
    use std::hint::black_box;

    /// Number of chains: more multiply-adds than a processor has under way, which are two per cycle of four or five cycles
    /// each.
    pub const CHAINS: u32 = 12;

    macro_rules! chains {
        ($name:ident, $features:literal, $set:ident, $step:expr) => {
            #[target_feature(enable = $features)]
            pub fn $name(adds: u32) {
                let factor = $set(black_box(0.999_999));
                let step = $step;
                let mut sums = [$set(black_box(1.0)); CHAINS as usize];
                let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h, mut i, mut j, mut k, mut l] =
                    sums;
                for _ in 0..adds {
                    a = step(a, factor);
                    b = step(b, factor);
                    c = step(c, factor);
                    d = step(d, factor);
                    e = step(e, factor);
                    f = step(f, factor);
                    g = step(g, factor);
                    h = step(h, factor);
                    i = step(i, factor);
                    j = step(j, factor);
                    k = step(k, factor);
                    l = step(l, factor);
                }
                sums = [a, b, c, d, e, f, g, h, i, j, k, l];
                black_box(&sums);
            }
        };
    }

    chains!(chains_256, "avx2,fma", _mm256_set1_pd, |sum, factor| _mm256_fmadd_pd(sum, factor, factor));
    chains!(chains_128, "sse2", _mm_set1_pd, |sum, factor| _mm_add_pd(_mm_mul_pd(sum, factor), factor));
}
