//! Requests: waits and tests of every kind, persistent requests, cancelling and freeing.

use crate::common;

use std::sync::Arc;

use common::*;
use mpi::operation::{CommId, Draining, Op, Peer, Receive, Request, Send, SendMode, Start, TagMatch, Until};
use mpi::source::Status;

/// Three receives whose messages come one after the other, in the order 2, 0, 1.
fn three(after: Vec<Op>) -> Vec<Vec<Op>> {
    let mut ops = vec![ireceive(1, 0, 0), ireceive(2, 0, 1), ireceive(3, 0, 2)];
    ops.extend(after);
    vec![
        ops,
        vec![compute(20 * LATENCY), send(0, 1, 0)],
        vec![compute(30 * LATENCY), send(0, 2, 0)],
        vec![compute(10 * LATENCY), send(0, 3, 0)],
    ]
}

const ALL: &[u32] = &[0, 1, 2];

fn arrival(index: u64, bytes: u64) -> u64 {
    index * 10 * LATENCY + LATENCY + bytes * BYTE
}

fn bytes(done: &[(u32, Status)]) -> Vec<(u32, u64)> {
    done.iter().map(|(index, status)| (*index, status.bytes)).collect()
}

#[test]
fn waitall_returns_with_the_last() {
    let run = succeed(three(vec![wait_for(ALL, Until::All)]));
    assert_eq!(run.at(0, 3), arrival(3, 2));
    assert_eq!(bytes(&run.done[0][3].done), [(0, 1), (1, 2), (2, 3)]);
}

#[test]
fn waitany_returns_with_the_first_and_leaves_the_rest() {
    let run = succeed(three(vec![
        wait_for(ALL, Until::Any),
        wait_for(&[0, 1], Until::Any),
        wait_for(&[1], Until::Any),
    ]));
    assert_eq!([run.at(0, 3), run.at(0, 4), run.at(0, 5)], [arrival(1, 3), arrival(2, 1), arrival(3, 2)]);
    assert_eq!(bytes(&run.done[0][3].done), [(2, 3)]);
    assert_eq!(run.done[0][3].status.source, 3);
    assert_eq!(bytes(&run.done[0][4].done), [(0, 1)]);
    assert_eq!(bytes(&run.done[0][5].done), [(0, 2)]);
}

#[test]
fn waitany_takes_the_lowest_index_of_several() {
    let run = succeed(three(vec![compute(25 * LATENCY), wait_for(ALL, Until::Any)]));
    assert_eq!(bytes(&run.done[0][4].done), [(0, 1)]);
}

#[test]
fn waitsome_returns_all_that_are_complete() {
    let run =
        succeed(three(vec![compute(25 * LATENCY), wait_for(ALL, Until::Some), wait_for(&[1], Until::Some)]));
    assert_eq!(bytes(&run.done[0][4].done), [(0, 1), (2, 3)]);
    assert_eq!(run.at(0, 4), 25 * LATENCY);
    assert_eq!(run.at(0, 5), arrival(3, 2));
}

#[test]
fn tests_ask_and_do_not_wait() {
    let run = succeed(three(vec![
        test(ALL, Until::Any),
        compute(25 * LATENCY),
        test(ALL, Until::All),
        test(&[1], Until::Some),
        test(ALL, Until::Any),
        test(&[1, 2], Until::Some),
        compute(10 * LATENCY),
        test(&[1], Until::All),
    ]));
    let flags: Vec<bool> = run.done[0].iter().map(|done| done.flag).collect();
    assert_eq!(flags[3..], [false, false, false, false, true, true, false, true]);
    assert_eq!(bytes(&run.done[0][7].done), [(0, 1)]);
    assert_eq!(bytes(&run.done[0][8].done), [(1, 3)]);
    assert_eq!(run.done[0][10].status.bytes, 2);
    // A test that fails costs a poll, one that succeeds nothing.
    assert_eq!(run.at(0, 3), 100_000);
    assert_eq!(run.at(0, 8), run.at(0, 7));
}

/// A loop of tests ends when the message comes.
#[test]
fn polling_lets_time_pass() {
    let mut ops = vec![ireceive(1, 0, 0)];
    ops.extend((0..200).map(|_| Op::ProbeNow(from(1, 7))));
    ops.push(test(&[0], Until::All));
    let run = succeed(vec![ops, vec![compute(10 * LATENCY), send(0, 8, 0)]]);
    assert!(run.done[0].last().expect("the last test").flag);
}

/// Waiting for nothing that is under way returns at once.
#[test]
fn inactive_requests_are_no_reason_to_wait() {
    let persistent = Op::Receive(from(0, 0), Start::Persistent(Request(0)));
    let run = succeed(vec![vec![
        persistent,
        wait(0),
        wait_for(&[0], Until::Any),
        wait_for(&[0], Until::Some),
        wait_for(&[0], Until::All),
        test(&[0], Until::Any),
        wait_for(&[], Until::All),
    ]]);
    assert_eq!(run.end.0, 0);
    assert!(run.done[0][2].done.is_empty() && run.done[0][3].done.is_empty());
    assert_eq!(run.done[0][4].done, [(0, Status::EMPTY)]);
    assert!(run.done[0][5].flag);
}

/// A persistent request can be started again and again, and is freed at the end.
#[test]
fn persistent_requests_start_again() {
    let rounds = 4;
    let mut sender = vec![
        Op::Send(to(1, 8, 0), Start::Persistent(Request(0))),
        Op::Send(to(1, 2 * EAGER, 1), Start::Persistent(Request(1))),
    ];
    let mut receiver = vec![
        Op::Receive(from(0, 0), Start::Persistent(Request(0))),
        Op::Receive(from(0, 1), Start::Persistent(Request(1))),
    ];
    for ops in [&mut sender, &mut receiver] {
        for _ in 0..rounds {
            ops.push(Op::Start(requests(&[0, 1])));
            ops.push(wait_for(&[0, 1], Until::All));
        }
        ops.extend([Op::Free(Request(0)), Op::Free(Request(1)), isend(0, 0, 9, 0), Op::Free(Request(0))]);
    }
    let run = succeed(vec![sender, receiver]);
    for round in 0..rounds {
        let done = &run.done[1][3 + 2 * round];
        assert_eq!(bytes(&done.done), [(0, 8), (1, 2 * EAGER)]);
        // The sender starts again when its data has left: a request, held back for the short message
        // before it, the answer, the data.
        let period = LATENCY + 8 * BYTE + LATENCY + 2 * EAGER * BYTE;
        assert_eq!(done.now.0, (round as u64 + 1) * period + LATENCY);
    }
}

/// A persistent receive of whatever comes can be started for a certain message: here for the one that comes last.
#[test]
fn a_persistent_receive_is_started_for_a_message() {
    let any = Op::Receive(from_any(), Start::Persistent(Request(0)));
    let of_two = Some((Peer::Rank(2), TagMatch::Tag(7)));
    let run = succeed(vec![
        vec![
            any,
            Op::StartAs(requests(&[0]), Arc::new([of_two])),
            wait(0),
            Op::Start(requests(&[0])),
            wait(0),
        ],
        vec![send(0, 1, 7)],
        vec![compute(10 * LATENCY), send(0, 2, 7)],
    ]);
    assert_eq!([run.done[0][2].status.source, run.done[0][4].status.source], [2, 1]);
}

/// Cancelling takes a receive back that has not matched; one that has matched goes on.
#[test]
fn a_receive_is_cancelled_only_before_it_matches() {
    let run = succeed(vec![
        vec![
            ireceive(1, 0, 0),
            Op::Cancel(Request(0)),
            wait(0),
            compute(5 * LATENCY),
            ireceive(1, 0, 1),
            Op::Cancel(Request(1)),
            wait(1),
        ],
        vec![send(0, 3, 0)],
    ]);
    assert!(run.done[0][2].status.cancelled);
    let second = run.done[0][6].status;
    assert_eq!((second.cancelled, second.bytes), (false, 3));
}

/// A message that has not matched is taken back, whether it has come, waits for its receive, or is in a buffer: the
/// question takes one latency after it and the answer another. The next message of its tag is received instead.
#[test]
fn a_message_is_taken_back_before_it_matches() {
    let way = 2 * LATENCY;
    let buffered = Send { mode: SendMode::Buffered, ..to(1, 2 * EAGER, 5) };
    let mut ops = vec![
        vec![
            isend(1, 8, 5, 0),
            Op::Cancel(Request(0)),
            wait(0),
            isend(1, 2 * EAGER, 5, 0),
            Op::Cancel(Request(0)),
            Op::Cancel(Request(0)),
            wait(0),
            Op::Send(buffered, Start::Request(Request(0))),
            Op::Cancel(Request(0)),
            wait(0),
            Op::Drain(Draining::Wait),
            send(1, 9, 5),
        ],
        vec![compute(10 * LATENCY), receive(0, 5)],
    ];
    let run = succeed(ops.clone());
    for taken in [2, 6, 9] {
        let status = run.done[0][taken].status;
        assert_eq!((status.cancelled, status.data), (true, 1_005), "{taken}");
    }
    // The question is taken up after the message that it is about.
    let short = way + 8 * BYTE;
    assert_eq!(
        [2, 6, 9, 10].map(|index| run.at(0, index)),
        [short, short + way, short + 2 * way, short + 2 * way]
    );
    assert_eq!(run.done[1][1].status.bytes, 9);
    // With other messages in plenty, matching looks them up otherwise.
    ops[0].splice(0..0, (0..40).map(|tag| send(1, 1, tag + 10)));
    ops[1].splice(0..0, [compute(20 * LATENCY)]);
    ops[1].extend((0..40).map(|tag| receive(0, tag + 10)));
    let run = succeed(ops);
    assert!([42, 46, 49].iter().all(|taken| run.done[0][*taken].status.cancelled));
}

/// A rank hears at once what becomes of a message to itself: the cancelling returns with the answer.
#[test]
fn a_message_to_oneself_is_taken_back_before_the_cancelling_returns() {
    let synchronous = Send { mode: SendMode::Synchronous, ..to(0, 8, 5) };
    let run = succeed(vec![vec![
        Op::Send(synchronous, Start::Request(Request(0))),
        Op::Cancel(Request(0)),
        test(&[0], Until::All),
        Op::Send(synchronous, Start::Request(Request(0))),
        ireceive(0, 5, 1),
        Op::Cancel(Request(0)),
        wait_for(&[0, 1], Until::All),
    ]]);
    assert!(run.done[0][2].flag && run.done[0][2].done[0].1.cancelled);
    assert_eq!(bytes(&run.done[0][6].done), [(0, 0), (1, 8)]);
    assert!(!run.done[0][6].done[0].1.cancelled);
}

/// A message that has matched is delivered; its request is complete when that is known, or its data has left.
#[test]
fn a_message_is_not_taken_back_after_it_has_matched() {
    let long = 2 * EAGER;
    let run = succeed(vec![
        vec![
            isend(1, 8, 0, 0),
            isend(1, long, 1, 1),
            Op::Cancel(Request(0)),
            Op::Cancel(Request(1)),
            wait(0),
            wait(1),
            isend(1, 8, 2, 0),
            Op::Cancel(Request(0)),
            Op::Free(Request(0)),
            isend(1, 8, 2, 0),
            wait(0),
        ],
        vec![ireceive(0, 0, 0), ireceive(0, 1, 1), wait_for(&[0, 1], Until::All), receive(0, 2)],
    ]);
    assert!([4, 5, 10].iter().all(|index| !run.done[0][*index].status.cancelled));
    assert_eq!(bytes(&run.done[1][2].done), [(0, 8), (1, long)]);
    assert_eq!(run.done[1][3].status.bytes, 8);
    // The question comes behind the short message, and the answer a latency later.
    assert_eq!(run.at(0, 4), 2 * LATENCY + 8 * BYTE);
    // The request to send waits for the short one, too; then the clearance, then the data leaves.
    assert_eq!(run.at(0, 5), 2 * LATENCY + 8 * BYTE + long * BYTE);
}

/// A freed request goes on by itself, and its number can be used again at once.
#[test]
fn a_freed_request_completes_for_nobody() {
    let run = succeed(vec![
        vec![
            isend(1, 2 * EAGER, 0, 0),
            Op::Free(Request(0)),
            ireceive(1, 1, 0),
            Op::Free(Request(0)),
            ireceive(1, 2, 0),
            wait(0),
        ],
        vec![compute(10), receive(0, 0), send(0, 1, 1), send(0, 2, 2)],
    ]);
    assert_eq!(run.done[1][1].status.bytes, 2 * EAGER);
    assert_eq!(run.done[0][5].status.bytes, 2);
}

/// The source hears of a request that was let go, when it is complete, and of the match of a rendezvous
/// before its sender may use its memory again.
#[test]
fn the_source_hears_of_matches_and_of_requests_let_go() {
    let let_go = |request| Op::LetGo(Request(request));
    let long = 2 * EAGER;
    let run = succeed(vec![
        vec![isend(1, long, 0, 0), let_go(0), isend(1, 8, 1, 2), let_go(2), send(1, long, 2)],
        vec![ireceive(0, 0, 3), ireceive(0, 1, 4), let_go(3), let_go(4), receive(0, 2)],
    ]);
    assert_eq!(
        run.heard,
        [
            Heard::Completed(0, 2, 0),
            // The short message is there while the requests to send are answered.
            Heard::Completed(1, 4, 8),
            Heard::Matched(1_000, 1, Some(3)),
            Heard::Matched(1_002, 1, None),
            Heard::Completed(0, 0, 0),
            Heard::Completed(1, 3, long),
        ]
    );
}

/// Messages in buffered mode leave when their receive is there: the receiver computes 10 latencies; then
/// its clearance takes one, and the data its length.
#[test]
fn draining_waits_for_what_is_buffered() {
    let long = 3 * EAGER;
    let buffered = |tag| send_mode(SendMode::Buffered, 1, long, tag);
    let run = succeed(vec![
        vec![buffered(0), buffered(1), Op::Drain(Draining::Ask), Op::Drain(Draining::Wait)],
        vec![compute(10 * LATENCY), receive(0, 1), receive(0, 0)],
    ]);
    let asked = &run.done[0][2];
    assert_eq!((asked.now.0, asked.matched, asked.status.bytes), (0, 2, 2 * long));
    let one = LATENCY + long * BYTE;
    assert_eq!(run.at(0, 3), 10 * LATENCY + one + LATENCY + one);
}

/// Messages of a communicator's two contexts do not match each other, whatever their tags.
#[test]
fn contexts_of_a_communicator_are_apart() {
    let side = CommId::WORLD.side();
    let run = succeed(vec![
        vec![Op::Send(Send { comm: side, ..to(1, 1, 0) }, Start::Blocking), send(1, 2, 0)],
        vec![
            compute(10 * LATENCY),
            receive_any(),
            Op::Receive(Receive { comm: side, ..from_any() }, Start::Blocking),
        ],
    ]);
    assert_eq!([run.done[1][1].status.bytes, run.done[1][2].status.bytes], [2, 1]);
}
