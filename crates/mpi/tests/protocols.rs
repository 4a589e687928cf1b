//! Closed forms: how long eager and rendezvous messages take, with and without overheads.

use crate::common;

use common::*;
use engine::{Bandwidth, Bytes};
use mpi::operation::{Op, SendMode, Start};
use mpi::{Protocol, Record};

const OVERHEADS: Overheads = Overheads { send: [30_000, 50_000], receive: [20_000, 70_000] };

fn ping_pong(bytes: u64) -> Vec<Vec<Op>> {
    vec![vec![send(1, bytes, 0), receive(1, 1)], vec![receive(0, 0), send(0, bytes, 1)]]
}

/// Eager: T = o_s + L + n/B + o_r each way; the sender returns after o_s.
#[test]
fn an_eager_ping_pong_takes_twice_its_closed_form() {
    for bytes in [0, 1, 8, EAGER] {
        let run = run_with(setup(2, OVERHEADS), ping_pong(bytes));
        let one_way = 30_000 + LATENCY + bytes * BYTE + 20_000;
        assert_eq!(run.failure, None);
        assert_eq!(run.at(0, 0), 30_000);
        assert_eq!(run.at(1, 0), one_way);
        assert_eq!(run.at(1, 1), one_way + 30_000);
        assert_eq!(run.at(0, 1), 2 * one_way);
        assert_eq!((run.messages, run.bytes), (2, 2 * bytes));
    }
}

/// Rendezvous: request (o_s + L), answer (o_r + o_s + L), data (o_r + o_s' + L + n/B + o_r'); the
/// sender is done when the data has left, n/B after it was injected.
#[test]
fn a_rendezvous_ping_pong_takes_twice_its_closed_form() {
    let bytes = EAGER + 1;
    let run = run_with(setup(2, OVERHEADS), ping_pong(bytes));
    let injected = 30_000 + LATENCY + 20_000 + 30_000 + LATENCY + 20_000 + 50_000;
    let one_way = injected + LATENCY + bytes * BYTE + 70_000;
    assert_eq!(run.failure, None);
    assert_eq!(run.at(0, 0), injected + bytes * BYTE);
    assert_eq!(run.at(1, 0), one_way);
    assert_eq!(run.at(0, 1), 2 * one_way);
}

/// A synchronous send of any size waits for its receive: the handshake of the shortest regime.
#[test]
fn a_synchronous_send_returns_after_the_receive_was_posted() {
    let late = 5 * LATENCY;
    let run =
        succeed(vec![vec![send_mode(SendMode::Synchronous, 1, 8, 0)], vec![compute(late), receive(0, 0)]]);
    assert_eq!(run.at(0, 0), late + LATENCY + 8 * BYTE);
    assert_eq!(run.at(1, 1), late + 2 * LATENCY + 8 * BYTE);
    // On its way were the request, the answer and the data: the rest was waiting.
    assert_eq!(run.waiting(0, "MPI_Ssend"), late - LATENCY);
    assert_eq!(run.waiting(1, "MPI_Recv"), 0);
}

/// A buffered send returns when the data is copied, however long the message.
#[test]
fn a_buffered_send_returns_after_its_copy() {
    let mut setup = setup(2, Overheads::default());
    setup.protocol = Protocol { copy_rate: Bandwidth(2_000_000_000), ..setup.protocol };
    let bytes = 10 * EAGER;
    let ops = vec![
        vec![send_mode(SendMode::Buffered, 1, bytes, 0), compute(1)],
        vec![compute(100 * LATENCY), receive(0, 0)],
    ];
    let run = run_with(setup, ops);
    assert_eq!(run.failure, None);
    assert_eq!(run.at(0, 0), bytes * BYTE / 2);
    assert_eq!(run.at(1, 1), 100 * LATENCY + 2 * LATENCY + bytes * BYTE);
}

/// An eager message that had come before its receive is copied out of MPI's memory.
#[test]
fn an_unexpected_eager_message_is_copied() {
    let mut setup = setup(2, Overheads::default());
    setup.protocol = Protocol { copy_rate: Bandwidth(500_000_000), ..setup.protocol };
    let run = run_with(setup, vec![vec![send(1, 100, 0)], vec![compute(9 * LATENCY), receive(0, 0)]]);
    assert_eq!(run.at(1, 1), 9 * LATENCY + 2 * 100 * BYTE);
}

/// The overheads of one rank follow each other: the k-th of many messages leaves after k overheads.
#[test]
fn overheads_are_serial() {
    let count = 5;
    let sends = (0..count).map(|index| isend(1, 8, index, index)).collect();
    let receives = (0..count).map(|index| receive(0, index)).collect();
    let run = run_with(setup(2, OVERHEADS), vec![sends, receives]);
    for index in 0..count as usize {
        let sent = 30_000 * (index as u64 + 1);
        assert_eq!(run.at(0, index), sent);
        assert_eq!(run.at(1, index), sent + LATENCY + 8 * BYTE + 20_000);
    }
}

/// Messages within a host have an eager limit of their own.
#[test]
fn the_eager_limit_depends_on_the_way() {
    for (same_host, expected) in [(true, 0), (false, 2 * LATENCY + 100 * BYTE)] {
        let mut setup = setup(2, Overheads::default());
        setup.protocol =
            Protocol { eager_limit: Bytes(99), memory_eager_limit: Bytes(100), ..setup.protocol };
        if same_host {
            let first = setup.placement[0];
            setup.placement = [first, network::Endpoint { process: 1, ..first }].into();
        }
        let run = run_with(setup, vec![vec![send(1, 100, 0)], vec![receive(0, 0)]]);
        assert_eq!(run.at(0, 0), expected);
    }
}

/// Time that a receiver waits for a late sender is waiting; time that the message takes is transfer.
#[test]
fn waiting_is_the_time_in_which_nothing_was_on_its_way() {
    for bytes in [8, 2 * EAGER] {
        let run = succeed(vec![vec![compute(3 * LATENCY), send(1, bytes, 0)], vec![receive(0, 0)]]);
        assert_eq!(run.waiting(1, "MPI_Recv"), 3 * LATENCY);
        assert_eq!(run.waiting(0, "MPI_Send"), 0);
    }
}

/// A rendezvous goes on while both ranks compute.
#[test]
fn progress_is_asynchronous() {
    let bytes = 2 * EAGER;
    let long = 50 * LATENCY;
    let run = succeed(vec![
        vec![isend(1, bytes, 0, 0), compute(long), wait(0)],
        vec![ireceive(0, 0, 0), compute(long), wait(0)],
    ]);
    assert_eq!((run.at(0, 2), run.at(1, 2)), (long, long));
    assert_eq!(run.done[1][2].status.bytes, bytes);
}

/// Each message is recorded once, with the time of its call and of its delivery.
#[test]
fn messages_are_recorded_at_their_receiver() {
    let ops = vec![
        vec![compute(7), send(1, 8, 0), Op::Send(to(1, 2 * EAGER, 1), Start::Blocking)],
        vec![receive(0, 0), receive(0, 1)],
    ];
    let run = succeed(ops);
    let messages: Vec<(u64, u64, u64)> = run
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Message { bytes, sent, received, collective: false, .. } => {
                Some((bytes.0, sent.0, received.0))
            }
            _ => None,
        })
        .collect();
    // The request of the long one, without payload, overtakes the short one, and is held back for it.
    let long = 7 + 8 * BYTE + 3 * LATENCY + 2 * EAGER * BYTE;
    assert_eq!(messages, [(8, 7, 7 + LATENCY + 8 * BYTE), (2 * EAGER, 7, long)]);
}
