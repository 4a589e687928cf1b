//! Driving collectives: rounds, progress, requests, mismatches. What the algorithms do stands elsewhere.

use crate::common;

use std::sync::Arc;

use common::*;
use engine::{Bandwidth, Bytes, Duration};
use mpi::collective::{ALGORITHMS, Collective, Kind, Sizes, of_kind};
use mpi::operation::{CommId, Op, Request, Start, Until};
use mpi::{Failure, Rank, Record};

fn blocking(call: &Collective) -> Op {
    Op::Collective(Arc::new(call.clone()), Start::Blocking)
}

fn everywhere(ranks: u32, ops: &[Op]) -> Vec<Vec<Op>> {
    (0..ranks).map(|_| ops.to_vec()).collect()
}

fn named(kind: Kind, bytes: u64, algorithm: &'static str) -> Collective {
    Collective { algorithm: Some(algorithm), ..collective(kind, 0, bytes) }
}

/// Recursive doubling: log2(p) rounds of one message each way, reduced at 1 byte per ns.
#[test]
fn an_allreduce_takes_its_rounds() {
    let overheads = Overheads { send: [30_000, 0], receive: [20_000, 0] };
    for (ranks, rounds) in [(1, 0), (2, 1), (8, 3), (64, 6)] {
        let call = blocking(&named(Kind::Allreduce, 8, "recursive-doubling"));
        let run = run_with(setup(ranks, overheads), everywhere(ranks, &[call]));
        let round = 30_000 + LATENCY + 8 * BYTE + 20_000 + 8 * BYTE;
        assert_eq!(run.failure, None);
        assert!((0..ranks as usize).all(|rank| run.at(rank, 0) == rounds * round));
        assert_eq!(run.messages, u64::from(ranks) * rounds);
    }
}

/// Above the eager limit each message of a round is a rendezvous.
#[test]
fn long_messages_of_a_collective_shake_hands() {
    let bytes = 2 * EAGER;
    let call = blocking(&named(Kind::Allreduce, bytes, "recursive-doubling"));
    let run = succeed(everywhere(4, &[call]));
    let round = 3 * LATENCY + 2 * bytes * BYTE;
    assert!((0..4).all(|rank| run.at(rank, 0) == 2 * round));
}

/// Every algorithm of every kind that fits comes to an end on any number of ranks, and twice the same.
#[test]
fn every_algorithm_comes_to_an_end() {
    for ranks in [1, 2, 3, 5, 8, 13] {
        for kind in Kind::all().filter(|kind| !kind.name().starts_with("neighbor")) {
            for entry in of_kind(kind) {
                for (bytes, root) in [(0, 0), (24, ranks - 1), (3 * EAGER, ranks / 2)] {
                    let call = Collective {
                        sizes: sizes(kind, ranks, bytes),
                        algorithm: Some(entry.name),
                        ..collective(kind, if kind.rooted() { root } else { 0 }, bytes)
                    };
                    let ops = everywhere(ranks, &[blocking(&call), blocking(&call)]);
                    let first = run(ops.clone());
                    if let Some(Failure::Misuse { reason, .. }) = &first.failure {
                        assert!(reason.contains("cannot do"), "{reason}");
                        continue;
                    }
                    assert_eq!(first.failure, None, "{} {} on {ranks}", kind.name(), entry.name);
                    assert_eq!(run(ops).digest, first.digest);
                }
            }
        }
    }
    assert!(!ALGORITHMS.is_empty());
}

fn sizes(kind: Kind, ranks: u32, bytes: u64) -> Sizes {
    let list: Arc<[u64]> = (0..ranks).map(|_| bytes).collect();
    match kind {
        Kind::Gatherv | Kind::Scatterv | Kind::Allgatherv | Kind::ReduceScatter => Sizes::ByRank(list),
        Kind::Alltoallv | Kind::Alltoallw => Sizes::Own { send: list.clone(), receive: list },
        _ => Sizes::Equal(Bytes(bytes)),
    }
}

/// A barrier holds everybody until the last has come, and the others' time in it is waiting.
#[test]
fn a_barrier_waits_for_the_last() {
    let late = 40 * LATENCY;
    let barrier = blocking(&named(Kind::Barrier, 0, "dissemination"));
    let mut ops = everywhere(4, &[compute(0), barrier]);
    ops[2][0] = compute(late);
    let run = succeed(ops);
    assert!((0..4).all(|rank| (late..=late + 2 * LATENCY).contains(&run.at(rank, 1))));
    // Rank 3 hears from rank 2 first, and until then had heard nothing but what came at once.
    assert_eq!(run.at(3, 1), late + LATENCY);
    assert_eq!(run.waiting(3, "MPI_Barrier"), late);
    assert_eq!(run.waiting(2, "MPI_Barrier"), 0);
}

/// MPI_Finalize of a recording is a barrier by its own name.
#[test]
fn finalizing_waits_for_the_last() {
    let mut ops = everywhere(4, &[compute(0), Op::Finalize(Duration::ZERO)]);
    ops[2][0] = compute(40 * LATENCY);
    let run = succeed(ops);
    assert!((0..4).all(|rank| run.at(rank, 1) >= 40 * LATENCY));
    assert_eq!(run.waiting(3, "MPI_Finalize"), 40 * LATENCY);
    assert_eq!(run.waiting(3, "MPI_Barrier"), 0);
}

/// Non-blocking collectives go on while the ranks compute; several can be under way.
#[test]
fn nonblocking_collectives_progress_by_themselves() {
    let start = |request| {
        let call = Arc::new(named(Kind::Allreduce, 8, "recursive-doubling"));
        Op::Collective(call, Start::Request(Request(request)))
    };
    let long = 100 * LATENCY;
    let run = succeed(everywhere(8, &[start(0), start(1), compute(long), wait_for(&[0, 1], Until::All)]));
    assert!((0..8).all(|rank| run.at(rank, 3) == long));
    let names = run.records.iter().filter(
        |record| matches!(record, Record::Call { name: "MPI_Iallreduce", end, begin, .. } if begin == end),
    );
    assert_eq!(names.count(), 16);
    let run = succeed(everywhere(8, &[start(0), wait(0)]));
    assert!((0..8).all(|rank| run.at(rank, 1) == 3 * (LATENCY + 16 * BYTE)));
}

/// Persistent collectives start again and again.
#[test]
fn persistent_collectives_start_again() {
    let call = Arc::new(named(Kind::Barrier, 0, "dissemination"));
    let mut ops = vec![Op::Collective(call, Start::Persistent(Request(0)))];
    for _ in 0..3 {
        ops.extend([Op::Start(requests(&[0])), wait(0)]);
    }
    let run = succeed(everywhere(4, &ops));
    assert!((0..4).all(|rank| run.at(rank, 6) == 3 * 2 * LATENCY));
}

/// Members start several persistent collectives in different orders, and other collectives between them: those
/// meet that were made in the same order.
#[test]
fn persistent_collectives_are_started_in_any_order() {
    let calls = [(Kind::Allreduce, 8), (Kind::Bcast, 8), (Kind::Barrier, 0)];
    let ranks = (0..5_u32).map(|rank| {
        let made = calls.iter().enumerate().map(|(number, (kind, bytes))| {
            let call = Arc::new(collective(*kind, 0, *bytes));
            Op::Collective(call, Start::Persistent(Request(number as u32)))
        });
        let mut ops: Vec<Op> = made.collect();
        for _ in 0..3 {
            ops.extend((0..3).map(|step| Op::Start(requests(&[(step + rank) % 3]))));
            ops.push(blocking(&collective(Kind::Allgather, 0, 16)));
            ops.extend([2, 0, 1].map(wait));
        }
        ops
    });
    succeed(ranks.collect());
}

/// Messages of collectives and of the program do not meet, though ranks and numbers are the same.
#[test]
fn collectives_have_a_context_of_their_own() {
    let barrier = blocking(&named(Kind::Barrier, 0, "dissemination"));
    let run = succeed(vec![
        vec![ireceive(1, 0, 0), barrier.clone(), barrier.clone(), wait(0)],
        vec![barrier.clone(), send(0, 0, 0), barrier],
    ]);
    assert_eq!(run.done[0][3].status.source, 1);
    let orders = [[Kind::Barrier, Kind::Allreduce], [Kind::Allreduce, Kind::Barrier]];
    for order in orders {
        let calls: Vec<Op> = order.iter().map(|kind| blocking(&collective(*kind, 0, 8))).collect();
        succeed(everywhere(5, &calls));
    }
}

/// Reducing takes bytes over the reduce rate, and storing does not.
#[test]
fn only_reductions_pay_the_reduce_rate() {
    for (kind, reduced) in [(Kind::Bcast, 0), (Kind::Reduce, 1)] {
        let mut setup = setup(2, Overheads::default());
        setup.reduce_rate = Bandwidth(1_000_000);
        let run = run_with(setup, everywhere(2, &[blocking(&named(kind, 100, "binomial"))]));
        let receiver = if kind == Kind::Bcast { 1 } else { 0 };
        assert_eq!(run.at(receiver, 0), LATENCY + 100 * BYTE + reduced * 100 * 1_000_000);
    }
}

fn mismatch(ops: Vec<Vec<Op>>) -> Vec<(Rank, String)> {
    match run(ops).failure {
        Some(Failure::Mismatch { calls, .. }) => calls,
        other => panic!("{other:?}"),
    }
}

/// Members that call different collectives, roots or sizes are named with their calls.
#[test]
fn mismatched_calls_are_named() {
    let (barrier, allreduce) = (collective(Kind::Barrier, 0, 0), collective(Kind::Allreduce, 0, 8));
    let cases = [
        (barrier.clone(), allreduce.clone(), "MPI_Barrier", "MPI_Allreduce(bytes=8"),
        (collective(Kind::Bcast, 0, 8), collective(Kind::Bcast, 1, 8), "MPI_Bcast(", "MPI_Bcast("),
        (allreduce.clone(), collective(Kind::Allreduce, 0, 16), "bytes=8", "bytes=16"),
    ];
    for (a, b, first, second) in cases {
        for late in [0, 9 * LATENCY] {
            let calls =
                mismatch(vec![vec![compute(late), blocking(&a)], vec![blocking(&b)], vec![blocking(&b)]]);
            let text: Vec<&str> = calls.iter().map(|(_, call)| call.as_str()).collect();
            assert!(text.iter().any(|call| call.contains(second)), "{text:?}");
            assert!(text.iter().any(|call| call.contains(first)), "{text:?}");
        }
    }
}

/// Sizes that two ranks of an alltoallv state for each other must agree.
#[test]
fn mismatched_sizes_between_two_ranks_are_named() {
    let call = |out: u64, into: u64| {
        let sizes = Sizes::Own { send: [0, out].into(), receive: [0, into].into() };
        Collective { sizes, ..collective(Kind::Alltoallv, 0, 0) }
    };
    let other = |out: u64, into: u64| {
        let sizes = Sizes::Own { send: [out, 0].into(), receive: [into, 0].into() };
        Collective { sizes, ..collective(Kind::Alltoallv, 0, 0) }
    };
    succeed(vec![vec![blocking(&call(5, 3))], vec![blocking(&other(3, 5))]]);
    let calls = mismatch(vec![vec![blocking(&call(5, 3))], vec![blocking(&other(3, 7))]]);
    assert_eq!(calls[0].0, Rank(1));
    assert!(calls[0].1.contains("receives 7 bytes") && calls[1].1.contains("sends 5 bytes"), "{calls:?}");
}

/// Wrong arguments of a collective are the program's failure.
#[test]
fn misuse_of_collectives_is_named() {
    let short = Collective { sizes: Sizes::ByRank([1].into()), ..collective(Kind::Allgatherv, 0, 0) };
    let elsewhere = Collective { comm: CommId(9), ..collective(Kind::Barrier, 0, 0) };
    for (call, expected) in [
        (collective(Kind::Bcast, 2, 8), "root is not below the size 2"),
        (short, "does not fit 2 ranks"),
        (elsewhere, "communicator 'comm 9'"),
        (named(Kind::Bcast, 8, "quantum"), "unknown algorithm 'quantum'"),
        (collective(Kind::NeighborAllgather, 0, 8), "world has no topology"),
    ] {
        let failure = run(everywhere(2, &[blocking(&call)])).failure;
        let Some(Failure::Misuse { reason, .. }) = failure else { panic!("{expected}: {failure:?}") };
        assert!(reason.contains(expected), "'{reason}' does not say '{expected}'");
    }
}
