//! Replay without a network: the operations of each recorded call, and complete runs of real recordings.

use crate::common;

use std::sync::Arc;

use common::drive;
use common::writer::{Value, Writer, set, status};
use engine::{Bytes, Duration, Time};
use mpi::collective::{Kind, Sizes};
use mpi::operation::{CartGrid, CommId, NewComm, Peer, Request, SendMode, Start, TagMatch, Until, Via, Work};
use mpi::{Op, Rank};
use workload::trace::{self, Clocks, Mode, Replay, ReplayOptions, TraceFile};

const DOUBLE: i64 = 14;
const WORLD: i64 = 2;

fn n(number: i64) -> Value {
    Value::Number(number)
}

fn options(mode: Mode) -> ReplayOptions {
    ReplayOptions { mode, clocks: Clocks::Aligned, ..ReplayOptions::default() }
}

#[track_caller]
fn replay(files: Vec<TraceFile>, mode: Mode) -> Replay {
    trace::replay(trace::recognise(files).unwrap(), options(mode)).unwrap()
}

/// A file that begins at 0 µs with MPI_Init, has these calls, and ends with MPI_Finalize at 900 µs.
fn rank_file(calls: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.call("MPI_Init", 0, 10, &[("argv", Value::Texts(vec!["app", "-x"]))]);
    calls(&mut writer);
    writer.call("MPI_Finalize", 900, 950, &[]);
    writer.finish("nid00001")
}

/// Operations of rank 0 for these calls, without MPI_Init and MPI_Finalize.
#[track_caller]
fn ops_of(ranks: usize, calls: impl Fn(&mut Writer)) -> Vec<Op> {
    let files = (0..ranks)
        .map(|rank| {
            rank_file(|writer| {
                if rank == 0 {
                    calls(writer)
                }
            })
        })
        .collect();
    let mut source = replay(set(files), Mode::Dependencies);
    let run = drive::run(&mut source, ranks as u32);
    assert_eq!(source.take_error(), None);
    let ops = run.ops[0].iter().filter(|op| !matches!(op, Op::Compute(_) | Op::SleepUntil(_)));
    let ops: Vec<_> = ops.cloned().collect();
    let finalize = ops.iter().position(|op| {
        matches!(op, Op::Finalize(_)) || matches!(op, Op::Collective(call, _) if call.comm == CommId::WORLD)
    });
    let end = finalize.unwrap_or(ops.len());
    ops[1..end].to_vec()
}

#[test]
fn gaps_are_computed_and_calls_are_simulated() {
    let file = rank_file(|writer| {
        writer.call("MPI_Wtime", 100, 103, &[]);
        writer.call("MPI_Barrier", 103, 500, &[("comm", n(WORLD))]);
    });
    let mut source = replay(set(vec![file]), Mode::Dependencies);
    let run = drive::run(&mut source, 1);
    let us = |us: u64| Duration(us * 1_000_000);
    let compute = |t| Op::Compute(Work::Time(us(t)));
    // Init returns at 10, Wtime lasts from 100 to 103, the barrier from 103 to 500, Finalize at 900.
    assert_eq!(
        run.ops[0][..4],
        [Op::Call("MPI_Init", us(10)), compute(90), Op::Call("MPI_Wtime", us(3)), {
            let Op::Collective(..) = &run.ops[0][3] else { panic!("a barrier: {:?}", run.ops[0][3]) };
            run.ops[0][3].clone()
        }]
    );
    assert_eq!(run.ops[0][4], compute(400));
    assert_eq!(run.ops[0][5..], [Op::Finalize(us(50)), Op::Finish]);
    assert_eq!(run.ends[0], Time(503_000_000)); // 10 + 90 + 3 + 400 µs, no time in barriers here
    assert_eq!(source_place(&mut source), "call #4 MPI_Finalize at 0.000900 s of the trace");
}

fn source_place(source: &mut Replay) -> String {
    mpi::Source::place(source, Rank(0)).unwrap()
}

#[test]
fn recorded_starts_are_waited_for_and_move_by_delays() {
    let calls = |writer: &mut Writer| {
        writer.call("MPI_Wtime", 100, 300, &[]); // 200 µs, so that it ends after the next start
        writer.call("MPI_Wtime", 250, 251, &[]);
        writer.call("MPI_Wtime", 400, 401, &[]);
    };
    let ends = |mode| {
        let mut source = replay(set(vec![rank_file(calls)]), mode);
        let run = drive::run(&mut source, 1);
        let computed = run.ops[0].iter().filter_map(|op| match op {
            Op::Compute(Work::Time(time)) => Some(time.0 / 1_000_000),
            _ => None,
        });
        (computed.collect::<Vec<_>>(), run.ends[0].0 / 1_000_000)
    };
    // The clock stands still at 300 until the third call: the second call takes a microsecond there, which is missing
    // before the third one. MPI_Finalize begins at 900.
    assert_eq!(ends(Mode::Timestamps), (vec![90, 99, 499], 900));
    assert_eq!(ends(Mode::ShiftedTimestamps), (vec![90, 100, 499], 901));
}

#[test]
fn messages_carry_bytes_and_small_dense_requests() {
    let ops = ops_of(3, |writer| {
        let message = |tag: i64, request: i64| {
            vec![
                ("count", n(10)),
                ("datatype", n(DOUBLE)),
                ("dest", n(1)),
                ("source", n(2)),
                ("tag", n(tag)),
                ("comm", n(WORLD)),
                ("request", n(request)),
            ]
        };
        writer.call("MPI_Isend", 20, 21, &message(7, 1001));
        writer.call("MPI_Issend", 22, 23, &message(8, 2002));
        writer.call("MPI_Waitall", 24, 25, &[("count", n(2)), ("requests", [1001, 2002].into())]);
        writer.call("MPI_Ibsend", 26, 27, &message(9, 3003));
        writer.call("MPI_Wait", 28, 29, &[("request", n(3003))]);
        writer.call("MPI_Rsend", 30, 31, &message(1, 0));
        let mut nobody = message(1, 0);
        nobody[2].1 = n(-2);
        writer.call("MPI_Send", 32, 33, &nobody);
    });
    let send = |tag, to, mode, start| {
        Op::Send(
            mpi::operation::Send {
                to,
                tag,
                comm: CommId::WORLD,
                bytes: Bytes(80),
                mode,
                via: Via::PLATFORM,
                data: 0,
            },
            start,
        )
    };
    let one = Peer::Rank(1);
    // Waits free requests, which are reused, the last freed first.
    assert_eq!(
        ops,
        [
            send(7, one, SendMode::Standard, Start::Request(Request(0))),
            send(8, one, SendMode::Synchronous, Start::Request(Request(1))),
            Op::Wait(Arc::new([Request(0), Request(1)]), Until::All),
            send(9, one, SendMode::Buffered, Start::Request(Request(1))),
            Op::WaitOne(Request(1)),
            send(1, one, SendMode::Ready, Start::Blocking),
            send(1, Peer::Null, SendMode::Standard, Start::Blocking),
        ]
    );
}

#[test]
fn derived_datatypes_have_the_bytes_of_their_parts() {
    let ops = ops_of(2, |writer| {
        let made = |new: i64| {
            vec![("oldtype", n(DOUBLE)), ("newtype", n(new)), ("count", n(3)), ("blocklength", n(4))]
        };
        writer.call("MPI_Type_vector", 20, 21, &made(28));
        writer.call(
            "MPI_Type_struct",
            22,
            23,
            &[("lengths", [2, 1].into()), ("oldtypes", [28, 9].into()), ("newtype", n(29))],
        );
        writer.call(
            "MPI_Type_contiguous",
            24,
            25,
            &[("count", n(2)), ("oldtype", n(29)), ("newtype", n(28))],
        );
        for datatype in [29, 28] {
            let arguments = [("count", n(5)), ("datatype", n(datatype)), ("dest", n(1)), ("comm", n(WORLD))];
            writer.call("MPI_Send", 26, 27, &arguments);
        }
    });
    let bytes: Vec<_> =
        ops.iter().filter_map(|op| if let Op::Send(s, _) = op { Some(s.bytes.0) } else { None }).collect();
    let structure = 2 * (3 * 4 * 8) + 4;
    assert_eq!(bytes, [5 * structure, 5 * 2 * structure]);
}

#[test]
fn wildcards_receive_from_where_the_recording_did() {
    let ops = ops_of(4, |writer| {
        let any = |request: i64| {
            vec![("source", n(-1)), ("tag", n(-1)), ("comm", n(WORLD)), ("request", n(request))]
        };
        let received = |source, tag| Value::Statuses(vec![status(source, tag)]);
        writer.call("MPI_Irecv", 20, 21, &any(5)); // completed last, from rank 3
        writer.call("MPI_Irecv", 22, 23, &any(6)); // completed first, from rank 1
        writer.call("MPI_Irecv", 24, 25, &any(7)); // never
        writer.call(
            "MPI_Waitany",
            26,
            27,
            &[("requests", [5, 6].into()), ("index", n(1)), ("status", received(1, 11))],
        );
        let mut blocking = any(0);
        blocking.push(("status", received(2, 12)));
        writer.call("MPI_Recv", 28, 29, &blocking);
        writer.call("MPI_Test", 30, 32, &[("request", n(5)), ("flag", n(0))]);
        writer.call(
            "MPI_Testsome",
            33,
            34,
            &[("requests", [5].into()), ("indices", [0].into()), ("statuses", received(3, 13))],
        );
    });
    let receive = |from, tag, start| {
        let capacity = Bytes(u64::MAX);
        Op::Receive(mpi::operation::Receive { from, tag, comm: CommId::WORLD, capacity }, start)
    };
    let resolved = |from, tag, start| receive(Peer::Rank(from), TagMatch::Tag(tag), start);
    // The run stops where rank 0 first waits, as nobody sends: only its own operations matter.
    assert_eq!(
        ops[..3],
        [
            resolved(3, 13, Start::Request(Request(0))),
            resolved(1, 11, Start::Request(Request(1))),
            receive(Peer::Any, TagMatch::Any, Start::Request(Request(2))),
        ]
    );
    assert_eq!(ops[3], Op::WaitOne(Request(1)));
}

#[test]
fn communicators_are_those_that_the_simulation_has_made() {
    let ops = ops_of(6, |writer| {
        writer.call(
            "MPI_Comm_split",
            20,
            21,
            &[("oldcomm", n(WORLD)), ("color", n(7)), ("key", n(-1)), ("newcomm", n(4))],
        );
        writer.call(
            "MPI_Comm_split",
            22,
            23,
            &[("oldcomm", n(WORLD)), ("color", n(-32766)), ("newcomm", n(1))],
        );
        writer.call("MPI_Comm_group", 24, 25, &[("comm", n(WORLD)), ("group", n(3))]);
        writer.call(
            "MPI_Group_range_excl",
            26,
            27,
            &[("group", n(3)), ("ranges", Value::Lists(vec![vec![1, 5, 2]])), ("newgroup", n(4))],
        );
        writer.call("MPI_Comm_create", 28, 29, &[("oldcomm", n(WORLD)), ("group", n(4)), ("newcomm", n(5))]);
        writer.call(
            "MPI_Cart_create",
            30,
            31,
            &[("oldcomm", n(WORLD)), ("dims", [3, 2].into()), ("periods", [1, 0].into()), ("newcomm", n(6))],
        );
        writer.call(
            "MPI_Cart_sub",
            32,
            33,
            &[("oldcomm", n(6)), ("remain_dims", [1, 0].into()), ("newcomm", n(7))],
        );
        for comm in [7, 5, 4] {
            writer.call("MPI_Comm_free", 34, 35, &[("comm", n(comm))]);
        }
    });
    let world = |new| Op::NewComm(CommId::WORLD, new);
    let grid = CartGrid { sizes: vec![3, 2], periodic: vec![true, false] };
    let ops: Vec<_> = ops.into_iter().filter(|op| !matches!(op, Op::Call(..))).collect();
    // The driver numbers communicators from 2 in the order of their creation: split 2, (null) 3, …
    assert_eq!(
        ops,
        [
            world(NewComm::Split { colour: Some(7), key: -1 }),
            world(NewComm::Split { colour: None, key: 0 }),
            world(NewComm::Create(Arc::new([0, 2, 4]))),
            world(NewComm::Cart(Arc::new(grid))),
            Op::NewComm(CommId(5), NewComm::Split { colour: Some(0), key: 0 }),
            Op::FreeComm(CommId(6)),
            Op::FreeComm(CommId(4)),
            Op::FreeComm(CommId(2)),
        ]
    );
}

#[test]
fn a_row_of_a_grid_is_cut_by_its_coordinates() {
    // Rank 5 of a 3 x 4 grid is in row 1, column 1.
    let cut = |keep: [i32; 2]| {
        let file = |rank: usize| {
            rank_file(|writer| {
                if rank == 5 {
                    let dims = [
                        ("oldcomm", n(WORLD)),
                        ("dims", [3, 4].into()),
                        ("periods", [0, 0].into()),
                        ("newcomm", n(4)),
                    ];
                    writer.call("MPI_Cart_create", 20, 21, &dims);
                    writer.call(
                        "MPI_Cart_sub",
                        22,
                        23,
                        &[("oldcomm", n(4)), ("remain_dims", keep.into()), ("newcomm", n(5))],
                    );
                }
            })
        };
        let mut source = replay(set((0..12).map(file).collect()), Mode::Dependencies);
        let run = drive::run(&mut source, 12);
        run.ops[5].iter().find_map(|op| match op {
            Op::NewComm(_, NewComm::Split { colour, key }) => Some((*colour, *key)),
            _ => None,
        })
    };
    assert_eq!(cut([0, 1]), Some((Some(1), 1))); // its row: colour is the row, key the column
    assert_eq!(cut([1, 0]), Some((Some(1), 1)));
    assert_eq!(cut([1, 1]), Some((Some(0), 5)));
    assert_eq!(cut([0, 0]), Some((Some(5), 0)));
}

#[test]
fn collectives_have_the_sizes_of_their_blocks() {
    let ops = ops_of(3, |writer| {
        let one = [("count", n(5)), ("datatype", n(DOUBLE)), ("root", n(2)), ("op", n(3)), ("comm", n(4))];
        writer.call("MPI_Comm_dup", 18, 19, &[("oldcomm", n(WORLD)), ("newcomm", n(4))]);
        writer.call("MPI_Bcast", 20, 21, &one);
        writer.call("MPI_Allreduce", 20, 21, &one);
        writer.call(
            "MPI_Gatherv",
            22,
            23,
            &[
                ("commrank", n(0)),
                ("commsize", n(3)),
                ("sendcount", n(2)),
                ("sendtype", n(DOUBLE)),
                ("root", n(1)),
                ("comm", n(4)),
            ],
        );
        writer.call(
            "MPI_Allgatherv",
            24,
            25,
            &[("commsize", n(3)), ("recvcounts", [1, 2, 3].into()), ("recvtype", n(9)), ("comm", n(4))],
        );
        writer.call(
            "MPI_Alltoallw",
            26,
            27,
            &[
                ("commsize", n(3)),
                ("sendcounts", [1, 2, 3].into()),
                ("sendtypes", [9, 14, 2].into()),
                ("recvcounts", [3, 2, 1].into()),
                ("recvtypes", [9, 9, 9].into()),
                ("comm", n(4)),
            ],
        );
    });
    let calls: Vec<_> = ops
        .iter()
        .filter_map(|op| {
            if let Op::Collective(c, _) = op {
                Some((c.kind, c.root, c.sizes.clone(), c.element))
            } else {
                None
            }
        })
        .collect();
    let list = |sizes: [u64; 3]| Arc::<[u64]>::from(sizes);
    assert_eq!(
        calls,
        [
            (Kind::Bcast, 2, Sizes::Equal(Bytes(40)), 8),
            (Kind::Allreduce, 0, Sizes::Equal(Bytes(40)), 8),
            (Kind::Gatherv, 1, Sizes::ByRank(list([16, 0, 0])), 8),
            (Kind::Allgatherv, 0, Sizes::ByRank(list([4, 8, 12])), 4),
            (Kind::Alltoallw, 0, Sizes::Own { send: list([4, 16, 3]), receive: list([12, 8, 4]) }, 1),
        ]
    );
}

#[test]
fn without_dependencies_receives_come_first_and_one_wait_comes_last() {
    let file = |me: i64| {
        rank_file(|writer| {
            let other = 1 - me;
            let base = vec![
                ("count", n(1)),
                ("datatype", n(9)),
                ("source", n(other)),
                ("dest", n(other)),
                ("comm", n(WORLD)),
            ];
            let with =
                |request: i64| base.iter().cloned().chain([("request", n(request))]).collect::<Vec<_>>();
            writer.call("MPI_Send", 20, 21, &base);
            writer.call("MPI_Recv", 22, 23, &base);
            writer.call("MPI_Send_init", 24, 25, &with(9));
            writer.call("MPI_Recv_init", 24, 25, &with(8));
            writer.call("MPI_Startall", 26, 27, &[("requests", [9, 8].into())]);
            writer.call("MPI_Waitall", 28, 29, &[("requests", [9, 8].into())]);
            writer.call(
                "MPI_Sendrecv",
                30,
                31,
                &[
                    ("sendcount", n(1)),
                    ("sendtype", n(9)),
                    ("dest", n(other)),
                    ("source", n(other)),
                    ("comm", n(WORLD)),
                ],
            );
        })
    };
    let mut source = replay(set(vec![file(0), file(1)]), Mode::None);
    let run = drive::run(&mut source, 2);
    assert!(run.stuck.is_empty() && run.left_over == 0);
    let kinds: Vec<_> = run.ops[0]
        .iter()
        .map(|op| match op {
            Op::Receive(_, Start::Request(_)) => "receive",
            Op::Send(_, Start::Request(_)) => "send",
            Op::Collective(_, Start::Request(_)) => "collective", // MPI_Finalize
            Op::Wait(all, Until::All) => {
                if all.len() == 7 {
                    "wait for 7"
                } else {
                    "wait"
                }
            }
            Op::Finish => "finish",
            _ => "other",
        })
        .collect();
    let order = ["receive"; 3].into_iter().chain(["send"; 3]).chain(["collective", "wait for 7", "finish"]);
    assert_eq!(kinds, order.collect::<Vec<_>>());
}

#[test]
fn clocks_of_hosts_are_aligned_by_the_first_barrier() {
    // The second host's clock is 5 s ahead, and its rank starts 30 µs later than the first.
    let file = |host: &str, clock: u64, start: u64| {
        let mut writer = Writer::new();
        let at = |us: u64| clock + us;
        writer.call("MPI_Init", at(start), at(start + 1), &[]);
        writer.call("MPI_Barrier", at(40), at(100), &[("comm", n(WORLD))]);
        writer.call("MPI_Finalize", at(200), at(210), &[]);
        writer.finish(host)
    };
    let files = set(vec![file("a", 0, 0), file("b", 5_000_000, 30)]);
    let opened = trace::recognise(files).unwrap();
    let begins = |clocks| {
        (0..2)
            .map(|rank| {
                opened.recorded_calls(Rank(rank), clocks).unwrap().next().unwrap().unwrap().begin.0
                    / 1_000_000
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(begins(Clocks::Aligned), [0, 30]);
    assert_eq!(begins(Clocks::Recorded), [0, 5_000_030]);
    let total = |clocks| opened.summary(clocks).unwrap().total().0 / 1_000_000;
    assert_eq!((total(Clocks::Aligned), total(Clocks::Recorded)), (210, 5_000_210));
}
