//! Deadlocks are results: every rank, its call, what it waits for, and where it stands in its program.

use crate::common;

use std::sync::Arc;

use common::*;
use mpi::collective::Kind;
use mpi::operation::{Op, Polls, Start, Until};
use mpi::{Blocked, Failure, Rank};

fn deadlock(ops: Vec<Vec<Op>>) -> Vec<Blocked> {
    match run(ops).failure {
        Some(Failure::Deadlock(blocked)) => blocked,
        other => panic!("{other:?}"),
    }
}

/// Two ranks that both send first: fine while messages are eager, a deadlock when they are not.
#[test]
fn head_to_head_sends_depend_on_the_eager_limit() {
    let ops = |bytes| vec![vec![send(1, bytes, 0), receive(1, 0)], vec![send(0, bytes, 0), receive(0, 0)]];
    succeed(ops(EAGER));
    let blocked = deadlock(ops(EAGER + 1));
    assert_eq!(blocked.len(), 2);
    assert_eq!((blocked[0].rank, blocked[0].ranks.clone()), (Rank(0), vec![Rank(1)]));
    assert_eq!(blocked[0].call, "MPI_Send(dest=1, tag=0, bytes=1001, comm=world)");
    assert_eq!(blocked[0].place.as_deref(), Some("script:1"));
    assert_eq!(blocked[0].waits_for, "a matching receive at rank 1");
}

/// Polls that messages alone end are waits; those of a number end by themselves.
#[test]
fn endless_polls_of_what_nobody_sends_are_a_deadlock() {
    let polls = |function| Op::Linger(Polls::Endless, function);
    let blocked = deadlock(vec![
        vec![ireceive(1, 0, 0), polls("MPI_Test"), polls("MPI_Test")],
        vec![send(0, 8, 0), compute(7 * LATENCY), polls("MPI_Iprobe")],
        vec![receive(1, 9)],
        vec![ireceive(1, 0, 0), polls("MPI_Testany")],
        vec![Op::Linger(Polls::AtMost(1 << 20), "MPI_Iprobe")],
    ]);
    let told: Vec<(u32, &str, &str)> =
        blocked.iter().map(|one| (one.rank.0, one.call.as_str(), one.waits_for.as_str())).collect();
    let expected = [
        (0, "polling with MPI_Test", "nothing that can come"),
        (1, "polling with MPI_Iprobe", "a message from any rank"),
        (2, "MPI_Recv(source=1, tag=9, comm=world)", "a message from rank 1"),
        (3, "polling with MPI_Testany", "a message from rank 1"),
    ];
    assert_eq!(told, expected);
}

/// Each kind of call says what it waits for; ranks that are done are not named.
#[test]
fn every_call_says_what_it_waits_for() {
    let barrier = Op::Collective(Arc::new(collective(Kind::Barrier, 0, 0)), Start::Blocking);
    let blocked = deadlock(vec![
        vec![compute(7), receive(3, 9)],
        vec![receive_any()],
        vec![ireceive(0, 1, 0), ireceive(1, 2, 1), wait_for(&[0, 1], Until::All)],
        vec![],
        vec![Op::Probe(from(5, 4))],
        vec![barrier],
    ]);
    let told: Vec<(u32, &str, &str)> =
        blocked.iter().map(|one| (one.rank.0, one.call.as_str(), one.waits_for.as_str())).collect();
    assert_eq!(told[0], (0, "MPI_Recv(source=3, tag=9, comm=world)", "a message from rank 3"));
    assert_eq!(blocked[0].since.0, 7);
    assert_eq!(told[1].1, "MPI_Recv(source=MPI_ANY_SOURCE, tag=MPI_ANY_TAG, comm=world)");
    assert_eq!((told[1].2, blocked[1].ranks.len()), ("a message from any rank", 0));
    assert_eq!(told[2], (2, "MPI_Waitall(2 requests)", "a message from rank 0, a message from rank 1"));
    assert_eq!(blocked[2].ranks, [Rank(0), Rank(1)]);
    assert_eq!(told[3], (4, "MPI_Probe(source=5, tag=4, comm=world)", "a message from rank 5"));
    assert_eq!(told[4].0, 5);
    assert!(told[4].2.contains("in MPI_Barrier"), "{}", told[4].2);
    assert_eq!(told.len(), 5);
}
