//! One-sided operations: their times in closed form, their order, and answers that come later.

use crate::common;

use common::*;
use engine::Bytes;
use mpi::Op;
use mpi::operation::{Access, Applied, CommId, Request, Start};

fn access(bytes: u64, answer: u64, applied: Applied, data: u64) -> Access {
    Access { to: 1, comm: CommId::WORLD, bytes: Bytes(bytes), answer: Bytes(answer), applied, data }
}

fn blocking(access: Access) -> Op {
    Op::Access(access, Start::Blocking)
}

const SEND: u64 = 30_000;

/// The target computes all the time and is not needed.
fn time(of: Access) -> u64 {
    let setup = setup(2, Overheads { send: [SEND; 2], receive: [20_000; 2] });
    let run = run_with(setup, vec![vec![blocking(of)], vec![compute(1_000 * LATENCY)]]);
    assert_eq!(run.failure, None);
    run.at(0, 0)
}

/// T = o_s(n) + network(n) + network(0), and so on, with network(n) = latency + n x 1 ns, 1 ns for each byte reduced.
#[test]
fn times_are_those_of_the_model() {
    for n in [0, 8, EAGER, 20 * EAGER] {
        assert_eq!(time(access(n, 0, Applied::ByNic, 1)), SEND + n * BYTE + 2 * LATENCY);
        assert_eq!(time(access(0, n, Applied::ByNic, 1)), SEND + n * BYTE + 2 * LATENCY);
        assert_eq!(time(access(n, 0, Applied::ByTarget, 1)), SEND + 2 * n * BYTE + 2 * LATENCY);
        assert_eq!(time(access(n, n, Applied::ByTarget, 1)), SEND + 3 * n * BYTE + 2 * LATENCY);
    }
}

/// Two accumulates that come together are applied one after the other.
#[test]
fn the_target_applies_one_after_the_other() {
    let one = vec![blocking(access(100, 0, Applied::ByTarget, 1))];
    let run = succeed(vec![one.clone(), vec![], vec![blocking(access(100, 0, Applied::ByTarget, 2))]]);
    assert_eq!(run.at(0, 0), 2 * LATENCY + 2 * 100 * BYTE);
    assert_eq!(run.at(2, 0), 2 * LATENCY + 3 * 100 * BYTE);
}

/// A short operation does not overtake a long one of the same origin.
#[test]
fn operations_of_an_origin_are_applied_in_order() {
    let begin = |bytes, data, request| {
        Op::Access(access(bytes, 0, Applied::ByNic, data), Start::Request(Request(request)))
    };
    let run = succeed(vec![vec![begin(5 * EAGER, 7, 0), begin(1, 8, 1), wait(1), wait(0)], vec![]]);
    assert_eq!(run.at(0, 2), 5 * EAGER * BYTE + 2 * LATENCY);
    assert_eq!(run.at(0, 3), run.at(0, 2));
    assert_eq!(run.heard, [Heard::Applied(1, 7), Heard::Applied(1, 8)]);
}
