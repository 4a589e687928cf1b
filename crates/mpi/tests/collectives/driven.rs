//! The formulas against the simulator itself: collectives that real ranks call, on a wire that takes
//! `LATENCY + n / RATE` for any number of messages at once (`busy = 0`), without overheads.

use std::sync::Arc;

use engine::Bytes;
use mpi::Op;
use mpi::collective::{ALGORITHMS, Collective, Cost, Idle};
use mpi::operation::Start;

use super::case::{Case, Parameters};
use crate::common::{BYTE, LATENCY, Overheads, run_with, setup};

#[test]
fn ranks_that_call_an_algorithm_take_the_time_of_its_formula() {
    // The wire's and the setup's 1 byte per ns, in seconds.
    let time = |bytes: Bytes| (LATENCY + bytes.0 * BYTE) as f64 * 1e-12;
    let idle = Idle { time: &time, busy: &|_| 0.0, reduce: &|bytes| bytes.0 as f64 * 1e-9 };
    let mut exact = 0;
    for size in (1..=20).chain([31, 32, 63, 64]) {
        for bytes in [0, 8 * 64 * 63 * 31] {
            let given =
                Parameters { size, root: 0, bytes, element: 8, commutative: true, segment: 0, uneven: 0 };
            for entry in ALGORITHMS {
                for kind in entry.build.kinds {
                    let case = Case::new(*kind, &given);
                    let shape = case.shape(0);
                    if !case.neighbours.is_empty() || !(entry.build.fits)(&shape) {
                        continue;
                    }
                    let ended = run(&case, entry.name);
                    let what = format!("{} by {} on {size}", kind.name(), entry.name);
                    match (entry.build.cost)(&shape, &idle) {
                        Cost::Exact(seconds) => {
                            assert!((ended - seconds).abs() < 1e-11, "{what}: {ended} s, not {seconds} s");
                            exact += 1;
                        }
                        Cost::AtMost(seconds) => {
                            assert!(ended < seconds + 1e-11, "{what}: {ended} s, more than {seconds} s");
                        }
                    }
                }
            }
        }
    }
    assert!(exact > 1_000, "only {exact} formulas were exact");
}

/// Time at which the last rank returns from the collective \[s\].
fn run(case: &Case, algorithm: &'static str) -> f64 {
    let call = |rank: u32| {
        let call = case.calls[rank as usize % case.calls.len()].clone();
        let call = Collective { algorithm: Some(algorithm), ..call };
        vec![Op::Collective(Arc::new(call), Start::Blocking)]
    };
    let mut setup = setup(case.size, Overheads::default());
    setup.protocol.eager_limit = Bytes(u64::MAX);
    let run = run_with(setup, (0..case.size).map(call).collect());
    assert_eq!(run.failure, None, "{algorithm}");
    let last = (0..case.size as usize).map(|rank| run.at(rank, 0)).max();
    last.expect("there are ranks") as f64 * 1e-12
}
