//! Point-to-point messages by the standard: order, wildcards, statuses, probes, truncation, MPI_PROC_NULL.

use crate::common;

use common::*;
use engine::Bytes;
use mpi::operation::{CommId, Op, Peer, Receive, Request, Send, SendMode, Start, TagMatch, Until};
use mpi::{Failure, Rank};
use rand_chacha::rand_core::RngCore;

/// Messages between two ranks do not overtake each other in matching, though the wire lets them.
#[test]
fn messages_match_in_the_order_of_their_sends() {
    let sizes = [900, 500, 5 * EAGER, 100, 0, 2 * EAGER, 1];
    let sends: Vec<Op> = sizes.iter().zip(0..).map(|(bytes, request)| isend(1, *bytes, 0, request)).collect();
    for late in [0, 100 * LATENCY] {
        let mut receives = vec![compute(late)];
        receives.extend(sizes.iter().map(|_| receive_any()));
        let run = succeed(vec![sends_and_wait(&sends, sizes.len()), receives]);
        let received: Vec<u64> = run.done[1][1..].iter().map(|done| done.status.bytes).collect();
        assert_eq!(received, sizes);
    }
}

fn sends_and_wait(sends: &[Op], count: usize) -> Vec<Op> {
    let all: Vec<u32> = (0..count as u32).collect();
    let mut ops = sends.to_vec();
    ops.push(wait_for(&all, Until::All));
    ops
}

/// Receives take messages in the order in which they were posted, wild or not.
#[test]
fn receives_match_in_the_order_of_their_posts() {
    let any = |request| Op::Receive(from_any(), Start::Request(Request(request)));
    let run = succeed(vec![
        vec![compute(1), send(1, 10, 7), send(1, 20, 7), send(1, 30, 7), send(1, 40, 8)],
        vec![ireceive(0, 7, 0), any(1), ireceive(0, 7, 2), any(3), wait_for(&[0, 1, 2, 3], Until::All)],
    ]);
    let done: Vec<(u32, u64)> = run.done[1][4].done.iter().map(|(at, status)| (*at, status.bytes)).collect();
    assert_eq!(done, [(0, 10), (1, 20), (2, 30), (3, 40)]);
}

/// The status of a wildcard receive tells source, tag, size and content.
#[test]
fn a_wildcard_s_status_names_the_message() {
    let run = succeed(vec![
        vec![receive_any(), receive_any()],
        vec![compute(50), send(0, 3, 4)],
        vec![compute(20), send(0, 2 * EAGER, 9)],
    ]);
    // The short one is quicker than the rendezvous, and its envelope comes later than the request.
    let first = run.done[0][0].status;
    assert_eq!((first.source, first.tag, first.bytes, first.data), (2, 9, 2 * EAGER, 1_009));
    let second = run.done[0][1].status;
    assert_eq!((second.source, second.tag, second.bytes, second.data), (1, 4, 3, 1_004));
    assert!(!second.cancelled);
}

/// Messages of other tags and communicators stay where they are.
#[test]
fn tags_and_communicators_keep_messages_apart() {
    let run = succeed(vec![vec![send(1, 1, 1), send(1, 2, 2)], vec![receive(0, 2), receive(0, 1)]]);
    assert_eq!((run.done[1][0].status.bytes, run.done[1][1].status.bytes), (2, 1));
    let oneself = CommId::SELF;
    let run = succeed(vec![vec![
        Op::Send(Send { comm: oneself, ..to(0, 5, 0) }, Start::Blocking),
        Op::Send(to(0, 6, 0), Start::Blocking),
        receive(0, 0),
        Op::Receive(Receive { comm: oneself, ..from_any() }, Start::Blocking),
    ]]);
    assert_eq!((run.done[0][2].status.bytes, run.done[0][3].status.bytes), (6, 5));
    assert_eq!(run.done[0][3].status.source, 0);
}

/// A send to nobody and a receive from nobody return at once; the status says so.
#[test]
fn nobody_answers_at_once() {
    let nobody = Send { to: Peer::Null, ..to(0, 100, 3) };
    let from_nobody = Receive { from: Peer::Null, ..from(0, 3) };
    let run = succeed(vec![vec![
        Op::Send(nobody, Start::Blocking),
        Op::Receive(from_nobody, Start::Blocking),
        Op::SendReceive(nobody, from_nobody),
        Op::Probe(from_nobody),
        Op::ProbeMatched(from_nobody, true),
        Op::ReceiveMatched(u64::MAX, Start::Blocking),
        Op::Receive(from_nobody, Start::Request(Request(0))),
        wait(0),
    ]]);
    assert_eq!(run.end.0, 0);
    assert_eq!(run.messages, 0);
    assert_eq!(run.done[0][4].matched, u64::MAX);
    assert!(run.done[0].iter().all(|done| done.status.source == u32::MAX && done.status.bytes == 0));
}

/// Everybody sends to the right and receives from the left at once; both parts overlap.
#[test]
fn a_shift_by_sendrecv_takes_one_message() {
    for (bytes, trips) in [(8, 1), (2 * EAGER, 3)] {
        let ops = (0..5u32)
            .map(|rank| vec![Op::SendReceive(to((rank + 1) % 5, bytes, 0), from((rank + 4) % 5, 0))]);
        let run = succeed(ops.collect());
        for rank in 0..5 {
            assert_eq!(run.at(rank, 0), trips * LATENCY + bytes * BYTE);
            assert_eq!(run.done[rank][0].status.source, (rank as u32 + 4) % 5);
        }
    }
}

/// A rank may send to itself if the receive is posted, or the message is eager.
#[test]
fn a_rank_can_send_to_itself() {
    let run =
        succeed(vec![vec![send(0, 8, 0), receive(0, 0), ireceive(0, 1, 0), send(0, 2 * EAGER, 1), wait(0)]]);
    assert_eq!(run.done[0][4].status.bytes, 2 * EAGER);
    let stuck = run_of_one_blocked();
    assert!(matches!(stuck, Some(Failure::Deadlock(blocked)) if blocked[0].ranks == [Rank(0)]));
}

fn run_of_one_blocked() -> Option<Failure> {
    run(vec![vec![send(0, 2 * EAGER, 1), receive(0, 1)]]).failure
}

/// A message that is longer than the room for it fails the run, naming both sides and the call.
#[test]
fn a_message_that_is_too_long_is_a_truncation() {
    for bytes in [11, 2 * EAGER] {
        for late in [0, 9 * LATENCY] {
            let short = Receive { capacity: Bytes(10), ..from(1, 5) };
            let run =
                run(vec![vec![compute(late), Op::Receive(short, Start::Blocking)], vec![send(0, bytes, 5)]]);
            let Some(Failure::Truncation { rank, from, bytes: length, capacity, call }) = run.failure else {
                panic!("{:?}", run.failure)
            };
            assert_eq!((rank, from, length, capacity), (Rank(0), Rank(1), Bytes(bytes), Bytes(10)));
            assert!(call.contains("MPI_Recv"), "{call}");
        }
    }
    let exact = Receive { capacity: Bytes(10), ..from(1, 5) };
    succeed(vec![vec![Op::Receive(exact, Start::Blocking)], vec![send(0, 10, 5)]]);
}

/// A probe waits for a message, tells of it, and leaves it where it is.
#[test]
fn a_probe_leaves_the_message() {
    let wanted = Receive { from: Peer::Any, tag: TagMatch::Tag(4), ..from_any() };
    for bytes in [8, 3 * EAGER] {
        let run = succeed(vec![
            vec![Op::Probe(wanted), Op::Probe(wanted), receive(1, 3), receive_any()],
            vec![compute(100), send(0, 1, 3), send(0, bytes, 4)],
        ]);
        let probed = run.done[0][0].status;
        assert_eq!((probed.source, probed.tag, probed.bytes), (1, 4, bytes));
        assert_eq!(run.done[0][1].status, probed);
        assert_eq!(run.done[0][1].now, run.done[0][0].now);
        assert_eq!(run.done[0][3].status.bytes, bytes);
    }
}

/// A probe that does not wait says whether there is a message; one that finds none takes its time.
#[test]
fn iprobe_asks_and_lets_time_pass() {
    let run = succeed(vec![
        vec![Op::ProbeNow(from_any()), compute(5 * LATENCY), Op::ProbeNow(from_any()), receive_any()],
        vec![send(0, 2, 9)],
    ]);
    assert!(!run.done[0][0].flag && run.done[0][2].flag);
    assert_eq!(run.at(0, 0), 100_000);
    assert_eq!(run.done[0][2].status.tag, 9);
    assert_eq!(run.at(0, 2), run.at(0, 1));
}

/// A matched probe takes the message out of matching: a later receive gets the next one.
#[test]
fn a_matched_probe_reserves_the_message() {
    for (first, second) in [(8, 9), (2 * EAGER, 3 * EAGER)] {
        let run = succeed(vec![
            vec![
                Op::ProbeMatched(from(1, 0), true),
                ireceive(1, 0, 0),
                Op::ReceiveMatched(0, Start::Blocking),
                wait(0),
                Op::ProbeMatched(from(1, 0), false),
            ],
            vec![compute(10), isend(0, first, 0, 0), isend(0, second, 0, 1), wait_for(&[0, 1], Until::All)],
        ]);
        assert_eq!(run.done[0][0].matched, 0);
        assert_eq!(run.done[0][0].status.bytes, first);
        assert_eq!(run.done[0][2].status.bytes, first);
        assert_eq!(run.done[0][3].status.bytes, second);
        assert!(!run.done[0][4].flag);
    }
}

/// A ready send finds its receive posted, or fails the run.
#[test]
fn a_ready_send_needs_its_receive() {
    let ready = |late| {
        vec![vec![compute(late), send_mode(SendMode::Ready, 1, 8, 0)], vec![compute(LATENCY), receive(0, 0)]]
    };
    assert_eq!(run(ready(LATENCY)).failure, None);
    let failure = run(vec![ready(0).remove(0), vec![compute(3 * LATENCY), receive(0, 0)]]).failure;
    let Some(Failure::Misuse { rank: Rank(0), reason }) = failure else { panic!("{failure:?}") };
    assert!(reason.contains("MPI_Rsend") && reason.contains("rank 1"), "{reason}");
}

/// Wrong arguments are the program's failure, with the rank and what is wrong.
#[test]
fn misuse_is_named() {
    let unknown = Send { comm: CommId(77), ..to(0, 1, 0) };
    let request = Start::Request(Request(0));
    let cases: Vec<(Vec<Op>, &str)> = vec![
        (vec![send(9, 1, 0)], "rank 9 is not in world, which has 2 ranks"),
        (vec![receive(2, 0)], "rank 2 is not in world"),
        (vec![Op::Send(unknown, Start::Blocking)], "communicator 'comm 77'"),
        (vec![Op::Send(Send { to: Peer::Any, ..to(0, 1, 0) }, Start::Blocking)], "MPI_ANY_SOURCE"),
        (vec![send(1, 1, 1 << 31)], "tag 2147483648"),
        (vec![wait(3)], "request 3 does not exist"),
        (vec![test(&[1], Until::Any)], "request 1 does not exist"),
        (vec![ireceive(1, 0, 0), ireceive(1, 0, 0)], "request 0 is still in use"),
        (vec![ireceive(1, 0, 0), Op::Start(requests(&[0]))], "request 0 is not persistent"),
        (vec![ireceive(1, 0, u32::MAX)], "numbers must be dense"),
        (vec![Op::ReceiveMatched(5, Start::Blocking)], "no matched message 5"),
        (vec![Op::Receive(from(1, 0), request), Op::Free(Request(0)), wait(0)], "request 0 does not exist"),
        (vec![Op::FreeComm(CommId::WORLD)], "world cannot be freed"),
    ];
    for (ops, expected) in cases {
        let failure = run(vec![vec![compute(5)], ops]).failure;
        let Some(Failure::Misuse { rank: Rank(1), reason }) = failure else {
            panic!("{expected}: {failure:?}")
        };
        assert!(reason.contains(expected), "'{reason}' does not say '{expected}'");
    }
}

/// Abort ends the run with its code.
#[test]
fn abort_ends_the_run() {
    let run = run(vec![vec![receive(1, 0)], vec![compute(5), Op::Abort(42)]]);
    assert_eq!(run.failure, Some(Failure::Abort { rank: Rank(1), code: 42 }));
}

/// Random traffic of all sizes between all pairs, received by exact or wild receives: between two
/// ranks and under one tag, messages are received in the order of their sends, all of them, and
/// everything happens the same way twice.
#[test]
fn random_traffic_never_overtakes() {
    for seed in 0..30 {
        let (ranks, count) = (2 + seed as u32 % 4, 60);
        let mut random = engine::random::stream(seed, "traffic-test", 0);
        let mut below = |limit: u32| random.next_u32() % limit;
        let mut sends: Vec<Vec<Op>> = vec![Vec::new(); ranks as usize];
        let mut receives = sends.clone();
        let mut number = vec![0; ranks as usize];
        for serial in 0..count * ranks {
            let (source, dest, tag) = (below(ranks), below(ranks), below(2));
            let bytes = [0, 8, EAGER, 2 * EAGER, 5 * EAGER][below(5) as usize];
            let content = Send { data: u64::from(serial), ..to(dest, bytes, tag) };
            let mut request = |rank: u32| {
                number[rank as usize] += 1;
                Start::Request(Request(number[rank as usize] - 1))
            };
            sends[source as usize].push(Op::Send(content, request(source)));
            // Wild in the tag, or exact: never both for one rank, or an order could starve a receive.
            let receive = if dest % 2 == 0 { from_any() } else { from(source, tag) };
            receives[dest as usize].push(Op::Receive(receive, request(dest)));
        }
        let ops: Vec<Vec<Op>> = (0..ranks as usize)
            .map(|rank| {
                let (mut first, mut second) = (sends[rank].clone(), receives[rank].clone());
                if below(2) == 0 {
                    std::mem::swap(&mut first, &mut second);
                }
                first.push(compute(u64::from(below(5)) * LATENCY));
                first.append(&mut second);
                let all: Vec<u32> = (0..number[rank]).collect();
                first.push(wait_for(&all, Until::All));
                first
            })
            .collect();
        let run = succeed(ops.clone());
        assert_eq!(succeed(ops.clone()).digest, run.digest);
        for rank in 0..ranks as usize {
            let is_receive = |request: u32| {
                let named = Start::Request(Request(request));
                ops[rank].iter().any(|op| matches!(op, Op::Receive(_, start) if *start == named))
            };
            let done = &run.done[rank].last().expect("the wait").done;
            // By number of the request, which is not the order of the posts.
            let received: Vec<_> = done.iter().filter(|(request, _)| is_receive(*request)).collect();
            assert_eq!(received.len(), receives[rank].len());
            for source in 0..ranks {
                for tag in 0..2 {
                    let stream = received.iter().filter(|(_, one)| (one.source, one.tag) == (source, tag));
                    assert!(stream.map(|(_, one)| one.data).is_sorted(), "seed {seed}, {source} to {rank}");
                }
            }
        }
    }
}
