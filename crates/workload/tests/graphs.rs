//! Findings in traces whose ranks have graphs instead of an order of calls.

use crate::common;

use common::chakra::{Node, file};
use common::samples;
use mpi::Rank;
use mpi::operation::CommId;
use workload::trace::graph::After;
use workload::trace::order::{Findings, Kind, lint};
use workload::trace::{self, SharedSet, TraceFile};

/// A schedule from the text between the braces of each rank.
fn goal(ranks: &[&str]) -> SharedSet {
    let mut text = format!("num_ranks {}\n", ranks.len());
    for (lines, rank) in ranks.iter().zip(0..) {
        text += &format!("rank {rank} {{\n{lines}\n}}\n");
    }
    trace::recognise(vec![TraceFile::new("a.goal", text.into_bytes())]).unwrap()
}

fn chakra(ranks: &[&[Node]]) -> SharedSet {
    let files = ranks.iter().enumerate().map(|(rank, nodes)| file(rank, nodes));
    trace::recognise(files.collect()).unwrap()
}

fn causes(findings: &Findings) -> Vec<(Kind, u32, u64, &str)> {
    findings.first.iter().map(|one| (one.kind, one.rank.0, one.number, &*one.cause)).collect()
}

#[track_caller]
fn finds(set: &SharedSet, expected: &[(Kind, u32, u64, &str)]) {
    let findings = lint(&**set).unwrap();
    assert_eq!(causes(&findings), expected);
}

#[test]
fn nothing_is_wrong_with_what_runs_to_its_end() {
    for (format, sample) in samples::all() {
        let set = trace::recognise(samples::files(&sample)).unwrap();
        let findings = lint(&*set).unwrap();
        assert_eq!(causes(&findings), [], "{format}");
    }
    // A chain over four ranks, with two processors on one of them.
    finds(
        &goal(&[
            "a: calc 10000\nb: send 1000b to 1 tag 7\nb requires a",
            "r: recv 1000b from 0 tag 7\ns: send 3000b to 2 tag 7\ns requires r\ncalc 100000",
            "r: recv 3000b from 1 tag 7\nc: calc 5 cpu 1\nd: calc 7\nc requires r\nd requires r\n\
             s: send 1b to 3\ns requires c\ns requires d",
            "recv 1b from -1",
        ]),
        &[],
    );
    // A ring in which all send first, computing before a reduction of all.
    let rank = |to: u64| {
        let all = Node::collective(4, 0, 800).after(&[3]);
        [Node::send(1, to, 8), Node::receive(2, to, 8), Node::compute(3, 5, false).after(&[2]), all]
    };
    finds(&chakra(&[&rank(1), &rank(0)]), &[]);
}

#[test]
fn computing_takes_its_time() {
    // Rank 0 sends two messages of one tag, each after another rank has computed: the shorter one after 1 s, the
    // longer after 10 s. If computing took no time, ranks would come in their order, and the longer message would go
    // first.
    let zero = "a: recv 1b from 1\nl: send 200b to 3\nl requires a\nb: recv 1b from 2\ns: send 100b to 3\ns requires b";
    let answer = |seconds: u64| format!("c: calc {seconds}000000000\na: send 1b to 0\na requires c");
    let three = "s: recv 100b from 0\nl: recv 200b from 0\nl requires s";
    let all = |longer: u64, shorter: u64| goal(&[zero, &answer(longer), &answer(shorter), three]);
    finds(&all(10, 1), &[]);
    let first = "receives 100 bytes, but MPI_Isend (event #2 of rank 0) sends 200";
    let second = "receives 200 bytes, but MPI_Isend (event #4 of rank 0) sends 100";
    finds(&all(10, 11), &[(Kind::OtherSize, 3, 1, first), (Kind::OtherSize, 3, 2, second)]);
}

#[test]
fn messages_without_a_partner_are_found() {
    let wrong_tag = goal(&["a: send 10b to 1 tag 3", "calc 5\nr: recv 10b from 0 tag 4", "a: calc 3"]);
    let nobody =
        "sends 10 bytes to rank 1, who does not receive them (communicator 0, from its rank 0, tag 3)";
    finds(
        &wrong_tag,
        &[
            (Kind::Stuck, 1, 2, "waits for rank 0"),
            (Kind::UnmatchedSend, 0, 1, nobody),
            (Kind::UnmatchedReceive, 1, 2, "gets no message from rank 0 of communicator 0, tag 4"),
        ],
    );
    finds(&goal(&["a: send 10b to 1 tag 3", "b: calc 5"]), &[(Kind::UnmatchedSend, 0, 1, nobody)]);
    let receive = Node::new(6, 6).attribute("comm_src", 7, 0).attribute("comm_size", 9, 10);
    finds(
        &chakra(&[
            &[Node::compute(1, 100, false), Node::send(2, 1, 10).after(&[1])],
            &[receive.attribute("comm_tag", 7, 4)],
        ]),
        &[
            (Kind::Stuck, 1, 1, "waits for rank 0"),
            (Kind::UnmatchedSend, 0, 2, nobody),
            (Kind::UnmatchedReceive, 1, 1, "gets no message from rank 0 of communicator 0, tag 4"),
        ],
    );
}

#[test]
fn a_message_has_the_size_that_is_received() {
    let cause = "receives 500 bytes, but MPI_Isend (event #2 of rank 0) sends 1000";
    finds(&goal(&["calc 3\nsend 1000b to 1", "recv 500b from 0"]), &[(Kind::OtherSize, 1, 1, cause)]);
    let cause = "receives 500 bytes, but MPI_Isend (event #1 of rank 0) sends 400";
    finds(
        &chakra(&[&[Node::send(7, 1, 400)], &[Node::receive(8, 0, 500)]]),
        &[(Kind::OtherSize, 1, 1, cause)],
    );
}

#[test]
fn ranks_that_wait_for_each_other_are_found() {
    let gets = |rank: u32, tag: u32| format!("gets no message from rank {rank} of communicator 0, tag {tag}");
    // Each rank sends the message that the other waits for, but only after the one that it receives.
    let circle = |of_zero: u64, tag: u32| {
        let (from_one, from_zero) = (gets(1, tag), gets(0, tag));
        let expected = [
            (Kind::Stuck, 0, of_zero, "waits for rank 1".to_string()),
            (Kind::Stuck, 1, 1, "waits for rank 0".to_string()),
            (Kind::Cycle, 0, of_zero, "ranks 0 → 1 → 0 wait for each other".to_string()),
            (Kind::UnmatchedReceive, 0, of_zero, from_one),
            (Kind::UnmatchedReceive, 1, 1, from_zero),
        ];
        expected.to_vec()
    };
    let check = |set: &SharedSet, of_zero: u64, tag: u32| {
        let expected = circle(of_zero, tag);
        let expected: Vec<_> =
            expected.iter().map(|(kind, rank, at, cause)| (*kind, *rank, *at, &**cause)).collect();
        finds(set, &expected);
    };
    let zero = "a: calc 1000\nb: send 10b to 1\nc: recv 10b from 1\na requires c\nb requires a";
    check(&goal(&[zero, "r: recv 10b from 0\ns: send 10b to 0\ns requires r"]), 3, 0);
    let rank = |other: u64| [Node::receive(1, other, 10), Node::send(2, other, 10).after(&[1])];
    check(&chakra(&[&rank(1), &rank(0)]), 1, 3);
}

#[test]
fn collectives_that_do_not_go_together_are_found() {
    let (allreduce, allgather) = (0, 2);
    let one = |kind: u64, bytes: u64| vec![Node::collective(1, kind, bytes)];
    let found = |zero: Vec<Node>, one: Vec<Node>, expected: &[(Kind, u32, u64, &str)]| {
        finds(&chakra(&[&zero, &one]), expected);
    };
    let other_kind = (Kind::Mismatch, 1, 1, "does not go with MPI_Iallreduce (event #1 of rank 0)");
    found(one(allreduce, 1000), one(allgather, 1000), &[other_kind]);
    let other_size = "has 2000 bytes, and MPI_Iallreduce (event #1 of rank 0) has 1000";
    found(one(allreduce, 1000), one(allreduce, 2000), &[(Kind::Mismatch, 1, 1, other_size)]);
    found(one(allreduce, 1000), vec![Node::compute(1, 1, false)], &[(Kind::Stuck, 0, 1, "waits for rank 1")]);
    // Two collectives in different order. Rank 1 is the last to arrive at the first, so it is the first to arrive at
    // the second.
    let two = |kinds: [u64; 2]| {
        vec![Node::collective(1, kinds[0], 8), Node::collective(2, kinds[1], 8).after(&[1])]
    };
    let second = (Kind::Mismatch, 0, 2, "does not go with MPI_Iallreduce (event #2 of rank 1)");
    found(two([allreduce, allgather]), two([allgather, allreduce]), &[other_kind, second]);
}

#[test]
fn nodes_of_a_rank_that_wait_for_themselves_are_found() {
    // Node 5 waits for those of the cycle, but is not part of it.
    let cycle = [
        Node::compute(5, 1, false).after(&[1]),
        Node::compute(1, 100, false).controlled_by(2),
        Node::compute(2, 1, false).controlled_by(1),
    ];
    finds(
        &chakra(&[&cycle, &[Node::compute(1, 100, false)]]),
        &[(Kind::NotFollowed, 0, 0, "run/made.0.et: node 1 depends on itself, by way of others")],
    );
    let text = "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\nc: calc 1\na requires b\nb requires c\nc requires b\n}\n";
    let refused = trace::recognise(vec![TraceFile::new("a.goal", text.as_bytes().to_vec())]).err().unwrap();
    let reason =
        "a.goal: line 2: operation 2 of the rank that begins here waits for itself, by way of others";
    assert_eq!(refused.to_string(), reason);
}

#[test]
fn nodes_are_named_as_their_file_does() {
    let name = |set: &SharedSet, rank: u32, number: u64| set.node_name(Rank(rank), number).unwrap();
    // Line 1 has the number of ranks, line 2 begins the rank.
    let set = goal(&["/* two\nlines */ first: calc 3\nsend 8b to 1\nlast: recv 8b from 1", "calc 1"]);
    let named = [1, 2, 3, 4].map(|number| name(&set, 0, number));
    let expected = [Some("'first', line 4"), Some("line 5"), Some("'last', line 6"), None];
    assert_eq!(named, expected.map(|name| name.map(String::from)));
    assert_eq!(name(&set, 1, 1).as_deref(), Some("line 9"));
    let set = chakra(&[&[Node::compute(70, 1, false), Node::compute(17, 1, false)]]);
    assert_eq!(name(&set, 0, 2).as_deref(), Some("node 17"));
    assert_eq!(name(&set, 0, 3), None);
    // Processor 1: a message and what it starts; a message, computing, the answer, and computing.
    let set = trace::recognise(samples::files(&samples::bigsim())).unwrap();
    let named = [1, 2, 3, 5].map(|number| name(&set, 1, number));
    assert_eq!(named, [0, 0, 1, 1].map(|event| Some(format!("event {event} of the log"))));
}

/// Groups are numbered from 2, as if they had been created: 0 and 1 are the world and MPI_COMM_SELF.
#[test]
fn graphs_of_a_rank_are_told_without_a_replay() {
    let groups = r#"['[{"pg_name": "7", "ranks": [1, 0]}]']"#;
    let nodes = [
        Node::new(10, 1).inputs(groups),
        Node::collective(20, 0, 24).text("pg_name", "7"),
        Node::collective(30, 0, 16).after(&[10]),
        Node::collective(40, 0, 8).after(&[10]).text("pg_name", "7"),
    ];
    let graph = chakra(&[&nodes, &nodes]).graph(Rank(1)).unwrap().unwrap();
    let comms = [0, 1, 2].map(|number| graph.collective(number).comm);
    assert_eq!(comms, [CommId(2), CommId::WORLD, CommId(2)]);
    // The second collective of a group begins after the first has.
    let after = [vec![], vec![], vec![(0, After::Finish)], vec![(0, After::Finish), (1, After::Start)]];
    assert_eq!(graph.earlier(), after);
    let ordered = trace::recognise(samples::files(&samples::simgrid())).unwrap();
    assert!(ordered.graph(Rank(0)).unwrap().is_none());
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn schedules_of_others_are_whole() {
    let data = common::data("goal");
    let schedules = common::folder(&data).into_iter().filter(|file| file.name.ends_with(".goal"));
    let mut looked_at = 0;
    for schedule in schedules {
        let name = schedule.name.clone();
        let set = trace::recognise(vec![schedule]).unwrap();
        assert_eq!(causes(&lint(&*set).unwrap()), [], "{name}");
        looked_at += 1;
    }
    assert_eq!(looked_at, 10);
}
