//! Floating-point operations, as the processor counts them when they retire.
//!
//! ```text
//! Intel  flops = sum over the widths of vectors of  lanes x FP_ARITH_INST_RETIRED (event 0xC7)
//! AMD    flops = RETIRED_SSE_AVX_FLOPS (event 0x03)
//! ```
//!
//! Both count an instruction that multiplies and adds twice; they omit the old x87 unit, conversions and moves.
//! Widths with the same number of lanes (four doubles, or eight singles in half of it) are one event, so five
//! counters suffice, four without AVX-512. The counters are verified first, with a known number of operations
//! ([`check`]).
//!
//! Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3B, chapter on performance
//! monitoring events (Broadwell and later); AMD's Processor Programming References of the families 17h, 19h and 1Ah,
//! PMCx003.

use std::hint::black_box;

use super::Counters;
use super::event::{Event, Source};

/// Events of this processor.
pub fn events() -> Result<Vec<Event>, String> {
    let (vendor, family, widest) = processor();
    events_of(&vendor, family, widest)
}

/// Bits of the mask of FP_ARITH_INST_RETIRED with the operations that each instruction stands for: of doubles and singles,
/// alone (bits 0, 1), in 128 (2, 3), 256 (4, 5) and 512 bits (6, 7).
const INTEL: [(u64, u64); 5] =
    [(0b11, 1), (1 << 2, 2), (1 << 3 | 1 << 4, 4), (1 << 5 | 1 << 6, 8), (1 << 7, 16)];

fn events_of(vendor: &str, family: u32, has_512_bits: bool) -> Result<Vec<Event>, String> {
    let event = |number: u64, mask: u64, weight| Event {
        source: Source::Raw,
        config: mask << 8 | number,
        weight,
        kernel_too: false,
    };
    match (vendor, family) {
        ("GenuineIntel", _) => {
            let there = if has_512_bits { 0xff } else { 0x3f };
            let masks = INTEL.iter().map(|(mask, lanes)| (mask & there, *lanes));
            Ok(masks.filter(|(mask, _)| *mask != 0).map(|(mask, lanes)| event(0xc7, mask, lanes)).collect())
        }
        // Kinds of operations: the first two generations count singles and doubles separately.
        ("AuthenticAMD", 0x17) => Ok(vec![event(0x03, 0xff, 1)]),
        ("AuthenticAMD", 0x19) => Ok(vec![event(0x03, 0x1f, 1)]),
        ("AuthenticAMD", 0x1a) => Ok(vec![event(0x03, 0x0f, 1)]),
        _ => Err(format!(
            "only of Intel's processors, and of AMD's from family 17h on, it is known how they count it; this one \
             is of '{vendor}', family {family:x}h"
        )),
    }
}

/// Vendor and family of this processor; true if it has vectors of 512 bits.
#[cfg(target_arch = "x86_64")]
fn processor() -> (String, u32, bool) {
    use std::arch::x86_64::__cpuid;
    // SAFETY: every processor of this architecture has the instruction, with these two leaves.
    #[allow(unused_unsafe, reason = "later versions of the library say so themselves")]
    let (name, version) = unsafe { (__cpuid(0), __cpuid(1).eax) };
    let text: Vec<u8> = [name.ebx, name.edx, name.ecx].iter().flat_map(|word| word.to_le_bytes()).collect();
    let (base, more) = (version >> 8 & 0xf, version >> 20 & 0xff);
    let family = if base == 0xf { base + more } else { base };
    (String::from_utf8_lossy(&text).into_owned(), family, std::is_x86_feature_detected!("avx512f"))
}

#[cfg(not(target_arch = "x86_64"))]
fn processor() -> (String, u32, bool) {
    (std::env::consts::ARCH.to_string(), 0, false)
}

/// Number of dependent additions.
const ADDED: u64 = 4096;
/// Tolerance for other operations that are counted meanwhile.
const MORE: u64 = 64;

/// Checks that the counted number of operations is the executed one.
pub fn check(counters: &Counters) -> Result<(), String> {
    let Some(at) = counters.counts.iter().position(|count| count.name == "flops") else { return Ok(()) };
    let counted = || counters.read().map(|counts| counts[at]);
    let before = counted();
    let mut sum = 0.0_f64;
    for _ in 0..ADDED {
        sum = black_box(sum) + 1.0;
    }
    black_box(sum);
    match (before, counted()) {
        (Some(before), Some(after)) if (ADDED..=ADDED + MORE).contains(&(after - before)) => Ok(()),
        (Some(before), Some(after)) => Err(format!(
            "flops: of {ADDED} additions this processor, or the machine that it is a part of, has counted {}",
            after - before
        )),
        _ => Err(format!("flops: {}", super::TAKEN)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes of doubles, then of singles, for each width, by the manual, bit by bit.
    #[test]
    fn each_width_counts_with_its_lanes() {
        let lanes = [1, 1, 2, 4, 4, 8, 8, 16];
        for (has_512_bits, bits) in [(true, 8), (false, 6)] {
            let events = events_of("GenuineIntel", 6, has_512_bits).unwrap();
            for (bit, lanes) in lanes[..bits].iter().enumerate() {
                let having = events.iter().filter(|event| event.config >> (8 + bit) & 1 == 1);
                assert_eq!(having.map(|event| event.weight).collect::<Vec<_>>(), [*lanes], "bit {bit}");
            }
            assert!(
                events.iter().all(|event| event.config & 0xff == 0xc7 && event.config >> (8 + bits) == 0)
            );
            assert_eq!(events.len(), if has_512_bits { 5 } else { 4 });
        }
    }

    #[test]
    fn other_processors_are_refused_by_name() {
        assert_eq!(events_of("AuthenticAMD", 0x19, true).unwrap().len(), 1);
        for (vendor, family) in [("AuthenticAMD", 0x15), ("aarch64", 0)] {
            let error = events_of(vendor, family, false).unwrap_err();
            assert!(error.contains(vendor) && error.contains(&format!("{family:x}h")), "{error}");
        }
    }
}
