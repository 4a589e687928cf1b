//! The properties, over the registry.

use std::panic::{AssertUnwindSafe, catch_unwind};

use engine::Bytes;
use engine::registry::Entry;
use mpi::collective::{ALGORITHMS, Algorithm, Cost, Idle, Kind, Step, bounds, find, of_kind};
use proptest::prelude::*;

use super::case::{Case, Parameters, many, parameters, sweep};
use super::{clock, data};

/// Every algorithm on every kind that it does, where it fits.
fn each(given: &Parameters, mut check: impl FnMut(&Entry<Algorithm>, Kind, &Case)) {
    for entry in ALGORITHMS {
        for kind in entry.build.kinds {
            let case = Case::new(*kind, given);
            if (entry.build.fits)(&case.shape(0)) {
                let result = catch_unwind(AssertUnwindSafe(|| check(entry, *kind, &case)));
                assert!(result.is_ok(), "{} by {} fails for {given:?}", kind.name(), entry.name);
            }
        }
    }
}

fn delivers(given: &Parameters) {
    each(given, |entry, kind, case| {
        let totals = data::run(entry, case);
        assert_eq!(totals.sent, totals.received);
        if given.size == 1 && case.neighbours.is_empty() {
            assert_eq!(totals.rounds, 0, "{} alone has nothing to do", kind.name());
        }
    });
}

/// Formulas for the number of messages that a rank sends hold for all ranks.
fn sends(given: &Parameters) {
    each(given, |entry, _, case| {
        let Some(formula) = entry.build.sends else { return };
        for rank in 0..given.size {
            let shape = case.shape(rank);
            let (mut steps, mut round) = (Vec::new(), 0);
            while (entry.build.round)(&shape, rank, round, &mut steps) {
                round += 1;
            }
            let sent = steps.iter().filter(|step| matches!(step, Step::Send { .. })).count();
            assert_eq!(formula(&shape, rank), sent as u64, "{}, rank {rank} of {}", entry.name, given.size);
        }
    });
}

/// Latency, gap, seconds per byte, and seconds per reduced byte.
const ALPHA: f64 = 1.0e-6;
const GAP: f64 = 0.2e-6;
const BETA: f64 = 0.4e-9;

fn costs(given: &Parameters) {
    let time = |bytes: Bytes| ALPHA + BETA * bytes.0 as f64;
    let pipelined = |bytes: Bytes| GAP + BETA * bytes.0 as f64;
    // Slow and fast reductions, and a network with and without overlap of messages.
    for (gamma, overlaps) in [(0.1e-9, false), (0.1e-9, true), (2.0e-9, true), (0.0, true)] {
        let busy: &dyn Fn(Bytes) -> f64 = if overlaps { &pipelined } else { &time };
        let idle = Idle { time: &time, busy, reduce: &|bytes| gamma * bytes.0 as f64 };
        each(given, |entry, kind, case| {
            let simulated = clock::run(entry, case, &idle);
            let formula = (entry.build.cost)(&case.shape(0), &idle);
            let what = format!(
                "{} by {}, p = {}, γ {gamma}, overlap {overlaps}: {simulated} and {formula:?}",
                kind.name(),
                entry.name,
                given.size
            );
            // Sizes of each rank's own: the formula of rank 0 knows only its own.
            if case.calls.len() > 1 && given.uneven != 0 {
                return;
            }
            match formula {
                Cost::Exact(seconds) => {
                    assert!((simulated - seconds).abs() <= 1e-9 * seconds, "{what}");
                }
                Cost::AtMost(seconds) => {
                    assert!(simulated <= seconds * (1.0 + 1e-9), "{what}");
                    // With even blocks the bound is of use: within a factor of five.
                    let loose = given.uneven != 0 || given.bytes == 0;
                    assert!(loose || simulated * 5.0 >= seconds, "{what}");
                }
            }
        });
    }
}

#[test]
fn every_algorithm_delivers_the_right_data_for_any_number_of_ranks() {
    sweep().chain([many()]).for_each(|given| delivers(&given));
}

#[test]
fn formulas_for_the_number_of_messages_hold_for_every_rank() {
    assert!(ALGORITHMS.iter().any(|entry| entry.build.sends.is_some()));
    sweep().for_each(|given| sends(&given));
}

#[test]
fn the_time_on_an_idle_network_is_that_of_the_formula() {
    sweep().for_each(|given| costs(&given));
}

/// Powers of two with even vectors are what the literature's formulas are for: all are exact.
#[test]
fn formulas_are_exact_for_powers_of_two_and_even_vectors() {
    for size in [1, 2, 4, 8, 16, 32, 64] {
        let given = Parameters {
            size,
            root: 0,
            bytes: 8 * 64 * 12,
            element: 8,
            commutative: true,
            segment: 0,
            uneven: 0,
        };
        let idle = Idle { time: &|_| 1.0, busy: &|_| 1.0, reduce: &|_| 0.0 };
        each(&given, |entry, kind, case| {
            // Trees of another shape than the power of two, and those whose neighbours are not known.
            let bounded = kind == Kind::NeighborAllgather
                || ["binary-tree", "knomial", "split-binary-tree"].contains(&entry.name)
                || !case.neighbours.is_empty()
                || [Kind::Alltoallv, Kind::Alltoallw].contains(&kind);
            assert!(bounded || (entry.build.cost)(&case.shape(0), &idle).is_exact(), "{}", entry.name);
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn any_call_delivers_the_right_data(given in parameters()) {
        delivers(&given);
    }

    #[test]
    fn any_call_takes_the_time_of_the_formula(given in parameters()) {
        costs(&given);
    }
}

/// Whole-vector broadcasts and reductions are not faster than is possible, and the binomial trees reach
/// the optimum where messages do not overlap.
#[test]
fn trees_keep_the_bounds_of_karp_et_al() {
    let time = |bytes: Bytes| ALPHA + BETA * bytes.0 as f64;
    let pipelined = |bytes: Bytes| GAP + BETA * bytes.0 as f64;
    let reduce = |bytes: Bytes| 0.1e-9 * bytes.0 as f64;
    for given in sweep().filter(|given| given.size <= 64 && given.root == 0) {
        for (busy, overlaps) in [(&time as &dyn Fn(Bytes) -> f64, false), (&pipelined, true)] {
            let idle = Idle { time: &time, busy, reduce: &reduce };
            let bytes = Bytes(given.bytes);
            let run = |kind, name| clock::run(find(kind, name).unwrap(), &Case::new(kind, &given), &idle);
            let least = bounds::broadcast(given.size, bytes, &idle) * (1.0 - 1e-9);
            assert!(run(Kind::Bcast, "binomial") >= least && run(Kind::Bcast, "linear") >= least);
            assert!(overlaps || run(Kind::Bcast, "binomial") <= least * (1.0 + 1e-6));
            let least = bounds::reduce(given.size, bytes, &idle) * (1.0 - 1e-9);
            assert!(run(Kind::Reduce, "binomial") >= least && run(Kind::Reduce, "linear") >= least);
        }
    }
}

#[test]
fn names_are_unique_within_a_kind_and_every_kind_has_one_that_always_fits() {
    for kind in Kind::all() {
        let names: Vec<_> = of_kind(kind).map(|entry| entry.name).collect();
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{} has {name} twice", kind.name());
            assert!(name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-'), "{name}");
        }
        for given in sweep() {
            let case = Case::new(kind, &given);
            assert!(of_kind(kind).any(|entry| (entry.build.fits)(&case.shape(0))), "{}", kind.name());
        }
    }
}

#[test]
fn an_unknown_algorithm_is_answered_with_the_known_ones_of_the_kind() {
    let error = find(Kind::Alltoall, "binomial").unwrap_err();
    assert_eq!(error, "unknown algorithm 'binomial' for alltoall; known: bruck, pairwise, linear");
}

/// A million ranks: a round of a logarithmic algorithm is a few operations, wherever the rank is.
#[test]
fn a_million_ranks_need_no_schedule() {
    let given = Parameters {
        size: 1_000_000,
        root: 3,
        bytes: 8,
        element: 8,
        commutative: true,
        segment: 0,
        uneven: 0,
    };
    let case = Case::new(Kind::Allreduce, &given);
    for name in ["recursive-doubling", "dissemination", "rabenseifner", "reduce-bcast"] {
        let round = find(Kind::Allreduce, name).unwrap().build.round;
        let mut steps = Vec::new();
        let (mut sent, mut received) = (0u64, 0u64);
        for rank in 0..given.size {
            let mut number = 0;
            while round(&case.shape(rank), rank, number, &mut steps) {
                number += 1;
            }
            assert!(number <= 42, "{name}: rank {rank} has {number} rounds");
            let sends = steps.drain(..).filter(|step| matches!(step, mpi::collective::Step::Send { .. }));
            sent += sends.count() as u64;
            received += u64::from(number > 0);
        }
        assert_eq!(received, u64::from(given.size));
        assert!(sent >= 2 * u64::from(given.size - 1), "{name} sends {sent} messages");
    }
}
