//! Progress: what is answered while a rank computes, what waits for its next call, and for which.

use crate::common;

use std::sync::Arc;

use common::*;
use engine::Duration;
use engine::random::stream;
use mpi::collective::Kind;
use mpi::operation::{CommId, NewComm, Op, Polls, Request, SendMode, Start, Until, Work};
use mpi::{Progress, Protocol, Setup};
use rand_chacha::rand_core::RngCore;

const LONG: u64 = 2 * EAGER;
const AWAY: u64 = 50 * LATENCY;
const OVERHEADS: Overheads = Overheads { send: [30_000, 50_000], receive: [20_000, 70_000] };

fn progressing(progress: Progress, setup: Setup) -> Setup {
    Setup { protocol: Protocol { progress, ..setup.protocol }, ..setup }
}

fn calls(ops: Vec<Vec<Op>>) -> Run {
    let run = run_with(progressing(Progress::Calls, setup(ops.len() as u32, Overheads::default())), ops);
    assert_eq!(run.failure, None);
    run
}

/// The time from a receiver's answer to the data's arrival, on the wire of the tests.
const ANSWER_AND_DATA: u64 = 2 * LATENCY + LONG * BYTE;

/// Calls of a receiver that answer a request to send: it computes, makes the call, and computes again.
#[test]
fn calls_that_wait_test_or_probe_answer_and_others_do_not() {
    let other = 7;
    let never = || from(1, other);
    let cases = [
        (test(&[0], Until::All), true),
        (Op::ProbeNow(never()), true),
        (Op::ProbeMatched(never(), false), true),
        (send_mode(SendMode::Standard, 1, 8, other), true),
        (isend(1, 8, other, 1), false),
        (ireceive(1, other, 1), false),
        (Op::Call("MPI_Wtime", Duration(1)), false),
        (Op::Receive(never(), Start::Persistent(Request(1))), false),
        (compute(1), false),
        (Op::Compute(Work::Polled(Duration(1))), true),
        (Op::Compute(Work::PolledFlops(1.0)), true),
    ];
    for (call, answers) in cases {
        let text = format!("{call:?}");
        let sender = vec![isend(0, LONG, 0, 0), wait(0)];
        let receiver = vec![ireceive(1, 0, 0), compute(AWAY), call, compute(AWAY), wait(0)];
        let run =
            run_with(progressing(Progress::Calls, setup(2, Overheads::default())), vec![receiver, sender]);
        let answered = if answers { run.at(0, 1) } else { run.at(0, 3) };
        assert_eq!(run.at(1, 1), answered + LATENCY + LONG * BYTE, "{text}");
        assert_eq!(run.at(0, 4), run.at(0, 3).max(answered + ANSWER_AND_DATA), "{text}");
    }
}

/// The sender's side: the receiver's answer waits for a call of the sender.
#[test]
fn the_data_waits_for_a_call_of_its_sender() {
    let run =
        calls(vec![vec![isend(1, LONG, 0, 0), compute(AWAY), wait(0)], vec![ireceive(0, 0, 0), wait(0)]]);
    assert_eq!(run.at(0, 2), AWAY + LONG * BYTE);
    assert_eq!(run.at(1, 1), AWAY + LONG * BYTE + LATENCY);
    // The answer had lain there for longer than the data takes, which would have left meanwhile: without progress
    // of its own, the rank waits for all of it.
    assert_eq!(run.waiting(0, "MPI_Wait"), LONG * BYTE);
}

/// A request to send that a call has seen is answered by the receive that is started later; one that
/// came since the last such call is not.
#[test]
fn a_receive_that_starts_answers_what_has_been_seen() {
    for (call, seen) in [(Op::ProbeNow(from(0, 9)), true), (compute(1), false)] {
        let run = calls(vec![
            vec![isend(1, LONG, 0, 0), wait(0)],
            vec![compute(AWAY), call, ireceive(0, 0, 0), compute(AWAY), wait(0)],
        ]);
        let answered = if seen { run.at(1, 2) } else { run.at(1, 3) };
        assert_eq!(run.at(0, 1), answered + LATENCY + LONG * BYTE, "seen: {seen}");
    }
}

/// A non-blocking barrier of two needs nothing of a rank that computes; one of four has a second round,
/// which starts in the next call that makes progress.
#[test]
fn rounds_of_non_blocking_collectives_start_in_calls() {
    let barrier = |ranks: usize, progress| {
        let call = Arc::new(collective(Kind::Barrier, 0, 0));
        let ops = vec![vec![Op::Collective(call, Start::Request(Request(0))), compute(AWAY), wait(0)]; ranks];
        let run = run_with(progressing(progress, setup(ranks as u32, Overheads::default())), ops);
        assert_eq!(run.failure, None);
        run.at(0, 2)
    };
    assert_eq!(barrier(2, Progress::Calls), AWAY);
    assert_eq!(barrier(4, Progress::Asynchronous), AWAY);
    assert_eq!(barrier(4, Progress::Calls), AWAY + LATENCY);
}

/// MPI_Finalize goes on with what is under way.
#[test]
fn a_rank_that_is_done_answers() {
    let run =
        calls(vec![vec![send_mode(SendMode::Buffered, 1, LONG, 0), compute(AWAY)], vec![receive(0, 0)]]);
    assert_eq!(run.at(1, 0), AWAY + LATENCY + LONG * BYTE);
}

/// An answer that is given in a test takes its CPU time there: o_r of the request and o_s of the answer.
#[test]
fn a_test_lasts_until_it_has_answered() {
    let ops = vec![
        vec![isend(1, LONG, 0, 0), wait(0)],
        vec![ireceive(0, 0, 0), compute(AWAY), test(&[0], Until::All), wait(0)],
    ];
    let mut setup = progressing(Progress::Calls, setup(2, OVERHEADS));
    setup.protocol.poll = Duration(1);
    let run = run_with(setup, ops);
    assert!(!run.done[1][2].flag);
    assert_eq!(run.at(1, 2), AWAY + 20_000 + 30_000);
}

/// A freed request is answered, for nobody.
#[test]
fn a_request_can_be_freed_while_it_waits_for_its_answer() {
    let run = calls(vec![
        vec![isend(1, LONG, 0, 0), wait(0)],
        vec![
            ireceive(0, 0, 0),
            compute(AWAY),
            Op::Free(Request(0)),
            ireceive(0, 1, 0),
            Op::Cancel(Request(0)),
            wait(0),
        ],
    ]);
    assert_eq!(run.at(0, 1), AWAY + LATENCY + LONG * BYTE);
}

/// A rank that cancels a message to itself need not make progress elsewhere to hear of it.
#[test]
fn a_message_to_oneself_is_taken_back_without_another_call() {
    let run = calls(vec![vec![isend(0, LONG, 0, 0), Op::Cancel(Request(0)), wait(0)]]);
    assert!(run.done[0][2].status.cancelled);
    assert_eq!(run.at(0, 1), run.at(0, 2));
}

/// Programs of blocking calls, at random: the same digest either way. Ranks pair up anew in every step,
/// the lower one sends first, and each computes for a random time before; now and then all meet in a
/// collective.
#[test]
fn programs_that_only_block_take_the_same_times_in_both_modes() {
    const RANKS: u32 = 6;
    for seed in 0..60 {
        let mut random = stream(seed, "progress-test", 0);
        let mut below = |bound: u32| random.next_u32() % bound;
        let mut ops: Vec<Vec<Op>> = vec![Vec::new(); RANKS as usize];
        for step in 0..30 {
            ops.iter_mut().for_each(|list| list.push(compute(u64::from(below(20)) * LATENCY / 4)));
            let bytes = u64::from(below(3 * EAGER as u32));
            if below(6) == 0 {
                let kind = [Kind::Barrier, Kind::Bcast, Kind::Allreduce, Kind::Alltoall][below(4) as usize];
                let bytes = if kind == Kind::Barrier { 0 } else { bytes };
                let call = Arc::new(collective(kind, below(RANKS), bytes));
                ops.iter_mut().for_each(|list| list.push(Op::Collective(call.clone(), Start::Blocking)));
                continue;
            }
            if below(10) == 0 {
                ops.iter_mut().for_each(|list| list.push(Op::NewComm(CommId::WORLD, NewComm::Dup)));
            }
            let shift = 1 + below(RANKS - 1);
            let mode = [SendMode::Standard, SendMode::Synchronous][below(2) as usize];
            for rank in 0..RANKS {
                let (up, down) = ((rank + shift) % RANKS, (rank + RANKS - shift) % RANKS);
                let list = &mut ops[rank as usize];
                if step % 2 == 0 {
                    list.push(Op::SendReceive(to(up, bytes, step), from(down, step)));
                } else if rank % 2 == 0 && shift % 2 == 1 {
                    list.extend([send_mode(mode, up, bytes, step), receive(down, step)]);
                } else if shift % 2 == 1 {
                    list.extend([
                        Op::Probe(from_any()),
                        receive(down, step),
                        send_mode(mode, up, bytes, step),
                    ]);
                }
            }
        }
        let digest = |progress, ops| {
            let run = run_with(progressing(progress, setup(RANKS, OVERHEADS)), ops);
            assert_eq!(run.failure, None, "seed {seed}");
            (run.digest, run.end)
        };
        let asynchronous = digest(Progress::Asynchronous, ops.clone());
        assert_eq!(digest(Progress::Calls, ops), asynchronous, "seed {seed}");
    }
}

/// A rank that lingers goes on at the first multiple of a poll at which its message is there, as a loop of probes
/// does; without one it goes on when it has lingered; what is left of a lingering does not disturb later calls.
#[test]
fn lingering_is_a_loop_of_probes() {
    let poll = Protocol::default().poll.0;
    let arrival = LATENCY + 8 * BYTE;
    let seen = arrival.div_ceil(poll) * poll;
    let sender = vec![send(0, 8, 0)];
    for most in [Polls::AtMost(1 << 20), Polls::Endless] {
        let lingers = vec![
            Op::Linger(Polls::AtMost(3), "MPI_Iprobe"),
            Op::Linger(most, "MPI_Iprobe"),
            receive(1, 0),
            compute(100 * AWAY),
        ];
        let run = calls(vec![lingers, sender.clone()]);
        assert_eq!((run.at(0, 0), run.at(0, 1)), (3 * poll, seen));
        assert_eq!(run.at(0, 3), run.at(0, 2) + 100 * AWAY);
        assert!(!run.done[0][0].flag && run.done[0][1].flag);
    }
    let probes = vec![Op::ProbeNow(from(1, 0)); seen.div_ceil(poll) as usize + 1];
    let run = calls(vec![probes, sender]);
    let found = run.done[0].iter().find(|done| done.flag).map(|done| done.now.0);
    assert_eq!(found, Some(seen));
}
