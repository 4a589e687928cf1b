//! Chakra traces: the operations that nodes become, traces of other tools compared with their sources, and damaged
//! files.

use crate::common;

use std::collections::BTreeMap;

use common::chakra::{Node, file};
use common::{drive, fuzz};
use engine::{Bytes, Duration, Time};
use mpi::Op;
use mpi::collective::{Kind, Sizes};
use mpi::operation::{CommId, NewComm, Peer, SendMode, Start, TagMatch, Until, Work};
use workload::trace::{self, Clocks, ReplayOptions, SharedSet, TraceFile};

fn us(us: u64) -> Duration {
    Duration(us * 1_000_000)
}

/// Runs all ranks of a set.
#[track_caller]
fn run(set: &SharedSet) -> drive::Run {
    let mut source = trace::replay(set.clone(), ReplayOptions::default()).unwrap();
    let run = drive::run(&mut source, set.ranks());
    assert_eq!(source.take_error(), None);
    assert_eq!((&run.stuck, run.left_over), (&vec![], 0));
    run
}

/// Rank `rank` of two, which exchange a message while they compute, and reduce, over all ranks and within a group.
fn program(rank: usize) -> TraceFile {
    let other = 1 - rank as u64;
    let groups =
        r#"['[{"pg_name": "7", "backend": "nccl", "ranks": [1, 0]}, {"pg_name": "8", "ranks": []}]']"#;
    file(
        rank,
        &[
            Node::new(1, 1).inputs(groups),
            Node::compute(2, 100, false).after(&[1]),
            Node::send(3, other, 4096).after(&[1]),
            Node::receive(4, other, 4096).after(&[1]),
            // Node 5 needs the message; node 6 does not.
            Node::compute(5, 10, false).after(&[2, 4]),
            Node::compute(6, 20, true).controlled_by(2),
            Node::collective(7, 0, 24).after(&[5, 6]),
            Node::collective(8, 6, 24).after(&[5]).text("pg_name", "7"),
            Node::collective(9, 2, 16).after(&[7, 8]).text("pg_name", "8"),
            Node::compute(10, 0, false).after(&[9]),
        ],
    )
}

#[test]
fn nodes_become_operations_in_an_order_that_keeps_dependencies() {
    let set = trace::recognise(vec![program(0), program(1)]).unwrap();
    assert_eq!((set.format(), set.ranks(), set.timed(), set.ordered()), ("chakra", 2, false, false));
    let run = run(&set);
    // Rank 1 runs when rank 0 waits, so its message is there when it asks after the 100 µs.
    let ops = &run.ops[1];
    let at = |wanted: &dyn Fn(&Op) -> bool| ops.iter().position(wanted).unwrap_or_else(|| panic!("{ops:?}"));
    let Op::NewComm(CommId::WORLD, NewComm::CreateGroup(members, _)) = &ops[0] else { panic!("{ops:?}") };
    assert_eq!(members[..], [1, 0]);
    let send = at(
        &|op| matches!(op, Op::Send(send, Start::Request(_)) if (send.bytes, send.mode) == (Bytes(4096), SendMode::Buffered)),
    );
    let receive = at(&|op| match op {
        Op::Receive(receive, Start::Request(_)) => {
            (receive.from, receive.tag) == (Peer::Rank(0), TagMatch::Tag(3))
        }
        _ => false,
    });
    // Messages begin before the 100 µs of node 2; after those, both processors begin, and 10 µs are over first.
    let computed = at(&|op| *op == Op::Compute(Work::Time(us(100))));
    assert!(send < computed && receive < computed, "{ops:?}");
    assert!(ops.contains(&Op::Compute(Work::Time(us(10)))), "{ops:?}");
    let calls: Vec<_> = ops
        .iter()
        .filter_map(|op| match op {
            Op::Collective(call, Start::Request(_)) => Some((call.kind, call.comm, call.sizes.clone())),
            _ => None,
        })
        .collect();
    let equal = |bytes| Sizes::Equal(Bytes(bytes));
    // The group's all-to-all is ready first: 24 bytes for two. Group 8 lists nobody: all ranks.
    assert_eq!(
        calls,
        [
            (Kind::Alltoall, CommId(1000), equal(12)),
            (Kind::Allreduce, CommId::WORLD, equal(24)),
            (Kind::Allgather, CommId::WORLD, equal(16)),
        ]
    );
    // 100 µs, then 20 µs on the host beside 10 µs on the accelerator. Rank 0 has its message only after the 20 µs:
    // here, messages take no time, but nothing was sent yet when it asked.
    assert_eq!(run.ends, [Time(130_000_000), Time(120_000_000)]);
    assert!(matches!(&ops[ops.len() - 2], Op::Wait(_, Until::Some)), "{ops:?}");
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let refused = |files: Vec<TraceFile>| trace::recognise(files).err().expect("refused").to_string();
    assert_eq!(refused(vec![program(1)]), "run/made.1.et: there is no file of rank 0");
    let replayed = |files: Vec<TraceFile>| {
        let set = trace::recognise(files).unwrap();
        match trace::replay(set.clone(), ReplayOptions::default()) {
            Err(error) => error.to_string(),
            Ok(mut source) => {
                drive::run(&mut source, set.ranks());
                source.take_error().expect("refused").to_string()
            }
        }
    };
    let of = |nodes: &[Node]| replayed(vec![file(0, nodes), file(1, &[])]);
    assert_eq!(
        replayed(vec![program(0)]),
        "run/made.0.et: 5 nodes communicate, but there are no files of other ranks than 0"
    );
    assert_eq!(
        of(&[Node::compute(1, 1, true).after(&[2]), Node::compute(2, 1, true).after(&[1])]),
        "run/made.0.et: node 1 depends on itself, by way of others"
    );
    assert_eq!(of(&[Node::send(4, 2, 8)]), "run/made.0.et: node 4 names rank 2, but the trace has 2 ranks");
    assert_eq!(
        of(&[Node::collective(4, 0, 8).text("pg_name", "5")]),
        "run/made.0.et: node 4 is a collective of group '5', which this rank is not in; its groups are ''"
    );
    let same = refused(vec![file(0, &[Node::compute(1, 1, true), Node::compute(1, 1, true)])]);
    assert_eq!(same, "run/made.0.et: two nodes have the number 1");
    // The first node begins after the length of the head (1), the head (7) and its own length (1).
    let unknown = refused(vec![file(0, &[Node::new(1, 77)])]);
    assert_eq!(unknown, "run/made.0.et: byte 9: node 1 is of type 77; known: 1 to 10");
}

/// The folders of ASTRA-sim's examples with their files.
fn astra_sim() -> BTreeMap<String, Vec<TraceFile>> {
    let data = common::data("chakra/astra-sim-examples.tar.xz");
    let mut folders: BTreeMap<String, Vec<TraceFile>> = BTreeMap::new();
    for file in common::untar(&data).into_iter().filter(|file| file.name.ends_with(".et")) {
        let folder = file.name.rsplit_once('/').unwrap().0.to_string();
        folders.entry(folder).or_default().push(file);
    }
    folders
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn examples_of_astra_sim_run_to_their_end() {
    let folders = astra_sim();
    assert_eq!(folders.len(), 18);
    for (folder, files) in folders {
        let ranks = files.len();
        let set = trace::recognise(files).unwrap();
        assert_eq!(set.ranks() as usize, ranks, "{folder}");
        let run = run(&set);
        let sends = run.ops[0].iter().filter_map(|op| match op {
            Op::Send(send, _) => Some(send.bytes.0),
            _ => None,
        });
        let sends: Vec<u64> = sends.collect();
        let collectives: Vec<_> = run.ops[0]
            .iter()
            .filter_map(|op| match op {
                Op::Collective(call, _) => Some((call.kind, call.sizes.clone())),
                _ => None,
            })
            .collect();
        let equal = |bytes| Sizes::Equal(Bytes(bytes));
        let name = folder.rsplit('/').nth(1).unwrap();
        match name {
            // 1 MiB in a ring of 8: 2 (8 − 1) steps of an eighth each, computing 7 µs in half of them.
            "custom_collectives" => {
                assert_eq!(sends, vec![(1 << 20) / 8; 14]);
                assert_eq!(run.ends, [Time(49_000_000); 8]);
            }
            // The trace contains what it was made of: forward, input gradient and weight gradient of six layers.
            "demo2" => {
                let layers = [32291, 7488, 7488, 14144, 7488, 9984].iter().sum::<u64>();
                let weights = [12864, 3648, 3456, 10368, 3648, 3456].iter().sum::<u64>();
                assert_eq!(run.ends, vec![Time((2 * layers + weights) * 1_000_000); 32]);
                assert_eq!(collectives.len(), 11);
            }
            "all_reduce" => assert_eq!(collectives, [(Kind::Allreduce, equal(1 << 20))]),
            "all_gather" => assert_eq!(collectives, [(Kind::Allgather, equal(1 << 20))]),
            "all_to_all" => assert_eq!(collectives, [(Kind::Alltoall, equal((1 << 20) / ranks as u64))]),
            "reduce_scatter" => {
                assert_eq!(collectives, [(Kind::ReduceScatterBlock, equal((1 << 20) / ranks as u64))]);
            }
            _ => assert_eq!(collectives[0].0, Kind::Allreduce, "{folder}"),
        }
    }
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn traces_of_pytorch_are_read_and_say_what_they_lack() {
    let data = common::data("chakra/mlcommons-feeder_tests_trace.tar.gz");
    let set = trace::recognise(common::untar(&data)).unwrap();
    let calls = set.summary(Clocks::Aligned).unwrap().calls;
    // 3,643 computations, and 14 calls that start one of the 7 collectives.
    assert_eq!(calls, [("MPI_Iallreduce", 5), ("MPI_Ibcast", 2), ("compute", 3657)]);
    assert!(set.replayable().unwrap_err().to_string().contains("7 nodes communicate"));
    let json = common::untar(&data.with_file_name("mlcommons-json_trace.tar.gz"));
    let named = |name: &str| vec![json.iter().find(|file| file.base_name() == name).unwrap().clone()];
    let small = trace::recognise(named("small_chakra.0.json")).unwrap().replayable().unwrap_err();
    assert_eq!(small.reason, "the run had 8 ranks, but there are files of 1");
    let large = trace::recognise(named("chakra.0.json")).unwrap();
    assert_eq!(large.summary(Clocks::Aligned).unwrap().ranks[0].calls, 3664);
    let reason = large.replayable().unwrap_err().reason;
    assert_eq!(reason, "node 435 does not say which collective it is (comm_type)");
    let raw = common::untar(&data.with_file_name("mlcommons-1.0.2-chakra.0.0.4.tgz"));
    let error = trace::recognise(raw).err().unwrap().to_string();
    assert!(error.contains("chakra_converter"), "{error}");
}

#[test]
fn damaged_files_are_refused_or_read() {
    let json = r#"{"workload_graph": [
        {"Id": 1, "Name": "a", "NodeType": 4, "data_deps": [], "runtime": 5, "is_cpu_op": true},
        {"Id": 2, "Name": "b", "NodeType": 7, "ctrlDeps": [1], "comm_type": 0, "comm_size": 8, "is_cpu_op": false}]}"#;
    let in_json = |rank: usize| TraceFile::new(format!("run/made.{rank}.json"), json.as_bytes().to_vec());
    let seeds = [vec![program(0), program(1)], vec![in_json(0), in_json(1)]];
    seeds.iter().for_each(|seed| fuzz::use_all(seed.clone()).unwrap());
    common::fuzz::each(3_000, |random| {
        let mut files = seeds[random.below(2)].clone();
        let which = random.below(2);
        let mut content = common::content(&files[which]);
        common::damage::damage(&mut content, random);
        files[which] = TraceFile::new(files[which].name.clone(), content);
        fuzz::use_all(files).map_err(|error| {
            assert!(error.file.starts_with("run/made"), "no file in '{error}'");
        })
    });
}
