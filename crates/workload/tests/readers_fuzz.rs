//! Damaged and hostile files of the other formats give errors that name the file, and never a panic.
//!
//! Like `dumpi_fuzz`: the same sequence in every run, and with `HOPCAST_FUZZ_SECONDS=60` from another seed.

use crate::common;

use common::damage::damage;
use common::{fuzz, samples};

const ROUNDS: u64 = 3_000;

#[test]
fn damaged_files_are_refused_or_read() {
    let seeds = samples::all();
    fuzz::each(ROUNDS, |random| {
        let mut sample = seeds[random.below(seeds.len())].1.clone();
        let broken = random.below(sample.len());
        damage(&mut sample[broken].1, random);
        fuzz::use_all(samples::files(&sample)).map_err(|error| {
            assert!(error.file.starts_with("run/"), "no file in '{error}'");
            assert!(!error.reason.is_empty(), "{error}");
        })
    });
}

#[test]
fn a_binary_file_cut_anywhere_says_so() {
    for (format, sample) in samples::all() {
        // The rest of a truncated text may be a complete trace.
        let binary = sample.iter().all(|(_, content)| std::str::from_utf8(content).is_err());
        for at in 0..if binary { sample.len() } else { 0 } {
            for length in 0..sample[at].1.len() {
                let mut cut = sample.clone();
                cut[at].1.truncate(length);
                // The last number of the overview, which is not needed, may be missing.
                let whole = cut[at].0 == "bgTrace" && length >= sample[at].1.len() - 4;
                assert_eq!(
                    fuzz::use_all(samples::files(&cut)).is_ok(),
                    whole,
                    "{format}, {length} bytes of {}",
                    cut[at].0
                );
            }
        }
    }
}
