//! Logical clocks of a recording, and findings in one.

use mpi::Rank;
use workload::trace::hct::name::Name;
use workload::trace::hct::rank::{Clock, Head, RankWriter};
use workload::trace::hct::shape::{
    Amount, Begun, Collected, Did, From, How, Made, Mode, Received, Sent, Shape,
};
use workload::trace::hct::write::file_name;
use workload::trace::order::{Findings, Kind, order};
use workload::trace::{self, TraceFile};

/// A send to a rank of a communicator.
fn send(to: u32, comm: u32) -> (&'static str, Did) {
    let sent = Sent { to: Some(to), tag: 1, comm, bytes: 8, mode: Mode::Standard, request: None };
    ("MPI_Send", Did::Send(sent))
}

fn synchronous(to: u32) -> (&'static str, Did) {
    let sent = Sent { to: Some(to), tag: 1, comm: 0, bytes: 8, mode: Mode::Synchronous, request: None };
    ("MPI_Ssend", Did::Send(sent))
}

fn receiving(from: u32, comm: u32, request: Option<Begun>) -> Did {
    Did::Receive(Received { from: From::Rank(from), tag: Some(1), comm, capacity: 8, matched: None, request })
}

fn receive(from: u32, comm: u32) -> (&'static str, Did) {
    ("MPI_Recv", receiving(from, comm, None))
}

fn together(kind: &str, root: u32) -> (&'static str, Did) {
    sized(kind, root, 0, Amount::Equal(8))
}

/// A collective over a communicator, with sizes.
fn sized(kind: &str, root: u32, comm: u32, sizes: Amount) -> (&'static str, Did) {
    let kind = kind.to_string().into();
    let collected = Collected { kind, comm, root, sizes, element: 8, commutative: true, request: None };
    ("MPI_A_collective", Did::Collective(collected))
}

fn by_rank(sizes: &[u64]) -> Amount {
    Amount::ByRank(sizes.to_vec())
}

fn own(send: &[u64], receive: &[u64]) -> Amount {
    Amount::Own { send: send.to_vec(), receive: receive.to_vec() }
}

/// A call that creates communicator 2 out of the world.
fn making(how: How) -> (&'static str, Did) {
    ("MPI_Comm_made", Did::NewComm(Made { parent: 0, comm: Some(2), how, members: Vec::new() }))
}

fn grid(sizes: &[u32], periodic: bool) -> (&'static str, Did) {
    making(How::Cart { sizes: sizes.to_vec(), periodic: vec![periodic; sizes.len()] })
}

fn part(colour: i64, key: i64) -> (&'static str, Did) {
    let how = How::Split { colour: Some(colour), key };
    ("MPI_Comm_split", Did::NewComm(Made { parent: 0, comm: Some(2), how, members: Vec::new() }))
}

/// Clocks of all ranks, and findings, for a call each microsecond.
fn ordered(ranks: &[Vec<(&'static str, Did)>]) -> (Vec<Vec<u64>>, Findings) {
    let mut files = Vec::new();
    for (calls, rank) in ranks.iter().zip(0..) {
        let mut file = Vec::new();
        let (host, program, library) = (String::new(), String::new(), String::new());
        let head = Head {
            rank,
            ranks: ranks.len() as u32,
            host,
            start_unix_ns: 0,
            program,
            library,
            tallied: false,
            clock: Clock::Wall,
            counts: Vec::new(),
        };
        let mut writer = RankWriter::new(&mut file, &head, 1 << 40).unwrap();
        for ((name, did), at) in calls.iter().zip(0..) {
            let shape = Shape { call: Name(name), did: did.clone() };
            writer.push(&shape, 1000 * at, 1000 * at + 500).unwrap();
        }
        writer.finish().unwrap();
        files.push(TraceFile::new(file_name(rank), file));
    }
    let set = trace::recognise(files).unwrap();
    let mut clocks = vec![Vec::new(); ranks.len()];
    let findings = order(&*set, &mut |rank: Rank, clock| clocks[rank.0 as usize].push(clock)).unwrap();
    (clocks, findings)
}

fn causes(findings: &Findings) -> Vec<(Kind, u32, u64, &str)> {
    findings.first.iter().map(|one| (one.kind, one.rank.0, one.number, &*one.cause)).collect()
}

/// Alice drives from home (0) to the soccer field (1) to the tea house (2) and home; Carol from home (3) to the tea
/// house and home. The clocks follow from Lamport's rule, by hand.
#[test]
fn friends_who_meet_for_tea() {
    let (clocks, findings) = ordered(&[
        vec![send(1, 0), receive(2, 0)],
        vec![receive(0, 0), send(2, 0)],
        vec![receive(1, 0), receive(3, 0), send(0, 0), send(3, 0)],
        vec![send(2, 0), receive(2, 0)],
    ]);
    assert_eq!(clocks, [vec![1, 7], vec![2, 3], vec![4, 5, 6, 7], vec![1, 8]]);
    assert_eq!(findings.count(Kind::Stuck) + findings.count(Kind::UnmatchedSend), 0);
}

#[test]
fn collectives_wait_for_what_their_data_depends_on() {
    let late = || vec![("MPI_Wtime", Did::Overhead); 5];
    // Rank 1 arrives sixth: whoever receives data of it goes on after 7 = 6 + 1.
    let of = |kind: &str, root| {
        let call = together(kind, root);
        let second = [late(), vec![call.clone()]].concat();
        let (clocks, findings) = ordered(&[vec![call.clone()], second, vec![call]]);
        assert_eq!(causes(&findings), []);
        clocks.iter().map(|clocks| *clocks.last().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(of("barrier", 0), [7, 7, 7]);
    assert_eq!(of("bcast", 1), [7, 6, 7]);
    assert_eq!(of("bcast", 0), [1, 6, 2]);
    assert_eq!(of("reduce", 0), [7, 6, 1]);
    assert_eq!(of("scan", 0), [1, 6, 7]);
}

#[test]
fn ranks_of_a_part_are_its_own() {
    // Ranks 2 and 0, in this order; and rank 1 alone.
    let (clocks, findings) =
        ordered(&[vec![part(0, 1), receive(0, 2)], vec![part(1, 0)], vec![part(0, 0), send(1, 2)]]);
    assert_eq!(clocks, [vec![2, 4], vec![2], vec![2, 3]]);
    assert_eq!(causes(&findings), []);
}

#[test]
fn a_probe_waits_for_its_message() {
    let Did::Receive(looks) = receiving(1, 0, None) else { unreachable!() };
    let probe = ("MPI_Probe", Did::Probe(looks));
    let (clocks, findings) = ordered(&[vec![probe, receive(1, 0)], vec![send(0, 0)]]);
    assert_eq!(clocks, [vec![2, 3], vec![1]]);
    assert_eq!(findings.count(Kind::Stuck), 0);
}

#[test]
fn a_receive_that_is_waited_for_later_counts_when_it_is() {
    let begin = ("MPI_Irecv", receiving(0, 0, Some(Begun::Active(0))));
    let wait = ("MPI_Wait", Did::Complete { requests: vec![0], matched: Vec::new() });
    let sender = [vec![("MPI_Wtime", Did::Overhead); 3], vec![send(1, 0)]].concat();
    let (clocks, _) = ordered(&[sender, vec![begin, send(0, 0), wait]]);
    assert_eq!(clocks[1], [1, 2, 5]);
}

#[test]
fn what_is_wrong_is_named_with_rank_call_and_cause() {
    let (_, findings) = ordered(&[vec![send(1, 0), send(1, 0)], vec![receive(0, 0)]]);
    let cause = "sends 8 bytes to rank 1, who does not receive them (communicator 0, from its rank 0, tag 1)";
    assert_eq!(causes(&findings), [(Kind::UnmatchedSend, 0, 2, cause)]);

    let (_, findings) = ordered(&[vec![together("bcast", 0)], vec![together("bcast", 1)]]);
    let cause = "has root 1, and MPI_A_collective (call #1 of rank 0) has root 0";
    assert_eq!(causes(&findings), [(Kind::Mismatch, 1, 1, cause)]);

    let circle = |to, from| vec![synchronous(to), receive(from, 0)];
    let (_, findings) = ordered(&[circle(1, 2), circle(2, 0), circle(0, 1)]);
    assert_eq!(findings.count(Kind::Stuck), 3);
    let cycle = findings.first.iter().find(|one| one.kind == Kind::Cycle).unwrap();
    assert_eq!((cycle.rank.0, &*cycle.cause), (0, "ranks 0 → 1 → 2 → 0 wait for each other"));

    // Sent at 3 µs, received from 0 to 0.5 µs: the hosts' clocks differ.
    let late = [vec![("MPI_Wtime", Did::Overhead); 3], vec![send(1, 0)]].concat();
    let (_, findings) = ordered(&[late, vec![receive(0, 0)]]);
    let [(Kind::ClockInversion, 1, 1, cause)] = causes(&findings)[..] else { panic!("{findings:?}") };
    assert!(cause.starts_with("returns 0.000003 s before MPI_Send (call #4 of rank 0) begins"), "{cause}");
}

/// A clock that is set back by 60 µs after the send, and one that is set back to before the run, twice: at the begin
/// of the send, and within it.
#[test]
fn a_clock_that_runs_backwards_is_named() {
    let text = |calls: &str| {
        let head =
            "# collprof 0.9 output file\n# host: one\n# Init clockdiff: 0.000000\n\nMPI_Init:-:1:2:100.0\n";
        format!("{head}{calls}# Finalize clockdiff: 0.000000\nMPI_Finalize:405.0:-\n").into_bytes()
    };
    let backwards = |send: [u32; 2], receive: [u32; 2]| -> Vec<(u64, String)> {
        let first = format!(
            "MPI_Send:{}.0:9:500:11,8,8:1:7:0,0,2:{}.0\nMPI_Recv:{}.0:9:1000:2,4,4:1:8:0,0,2:10:{}.0\n",
            send[0], send[1], receive[0], receive[1]
        );
        let other =
            "MPI_Recv:100.0:9:500:11,8,8:0:7:0,1,2:10:170.0\nMPI_Send:200.0:9:1000:2,4,4:0:8:0,1,2:210.0\n";
        let files = [text(&first), text(other)].into_iter().enumerate();
        let files = files.map(|(rank, text)| TraceFile::new(format!("pmpi-trace-rank-{rank}.txt"), text));
        let set = trace::recognise(files.collect()).unwrap();
        let findings = order(&*set, &mut |_: Rank, _: u64| {}).unwrap();
        let found = causes(&findings).into_iter().filter(|(kind, ..)| *kind == Kind::ClockBackwards);
        found
            .map(|(_, rank, number, cause)| {
                assert_eq!(rank, 0);
                (number, cause.to_string())
            })
            .collect()
    };
    let one = |number, cause: &str| vec![(number, cause.to_string())];
    assert_eq!(backwards([150, 160], [170, 400]), []);
    assert_eq!(
        backwards([150, 160], [100, 400]),
        one(3, "begins 60 us before the end of MPI_Send, the call before it")
    );
    assert_eq!(backwards([150, 160], [170, 150]), one(3, "ends 20 us before it begins"));
    assert_eq!(backwards([90, 80], [170, 400]), one(2, "begins 10 us before the first call of the run"));
    assert_eq!(backwards([100, 80], [170, 400]), one(2, "ends 20 us before the first call of the run"));
}

/// Collective calls of two ranks, with the reason and the rank of the finding where they do not agree.
#[test]
fn sizes_that_must_agree_do() {
    const FIRST: &str = "MPI_A_collective (call #1 of rank 0)";
    const SECOND: &str = "MPI_A_collective (call #1 of rank 1)";
    let of = |kind: &'static str, one: Amount, other: Amount| {
        let (_, findings) = ordered(&[vec![sized(kind, 0, 0, one)], vec![sized(kind, 0, 0, other)]]);
        let found: Vec<_> = causes(&findings)
            .iter()
            .map(|(kind, rank, _, cause)| (*kind, *rank, cause.to_string()))
            .collect();
        found
    };
    let wrong = |rank, cause: String| vec![(Kind::Mismatch, rank, cause)];
    for kind in ["bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "scan"] {
        assert_eq!(of(kind, Amount::Equal(8), Amount::Equal(8)), []);
        let expected = wrong(1, format!("has 16 bytes, and {FIRST} has 8"));
        assert_eq!(of(kind, Amount::Equal(8), Amount::Equal(16)), expected, "{kind}");
    }
    for kind in ["allgatherv", "reduce_scatter"] {
        assert_eq!(of(kind, by_rank(&[8, 16]), by_rank(&[8, 16])), []);
        let expected = wrong(1, format!("has 24 bytes for rank 1, and {FIRST} has 16"));
        assert_eq!(of(kind, by_rank(&[8, 16]), by_rank(&[8, 24])), expected, "{kind}");
    }
    // Only the root knows all sizes, and its own block concerns nobody else.
    for kind in ["gatherv", "scatterv"] {
        assert_eq!(of(kind, by_rank(&[8, 16]), by_rank(&[0, 16])), []);
        let expected = wrong(1, format!("has 24 bytes, for which {FIRST} has 16"));
        assert_eq!(of(kind, by_rank(&[8, 16]), by_rank(&[0, 24])), expected, "{kind}");
    }
    for kind in ["alltoallv", "alltoallw"] {
        assert_eq!(of(kind, own(&[1, 2], &[1, 3]), own(&[3, 4], &[2, 4])), []);
        let expected = wrong(0, format!("takes 3 bytes of {SECOND}, which sends 5"));
        assert_eq!(of(kind, own(&[1, 2], &[1, 3]), own(&[5, 4], &[2, 4])), expected, "{kind}");
    }
    assert_eq!(
        of("allgatherv", by_rank(&[8, 8]), Amount::Equal(8)),
        wrong(1, format!("has sizes of another sort than {FIRST}"))
    );
}

#[test]
fn neighbours_agree_with_each_other_only() {
    let of = |sizes: [u64; 4]| {
        // A row of four: a rank exchanges with the one before and the one after.
        let calls = |bytes| vec![grid(&[4], false), sized("neighbor_alltoall", 0, 2, Amount::Equal(bytes))];
        ordered(&sizes.map(calls)).1
    };
    assert_eq!(causes(&of([8; 4])), []);
    let cause = "takes 8 bytes of MPI_A_collective (call #2 of rank 3), which sends 16";
    assert_eq!(causes(&of([8, 8, 8, 16])), [(Kind::Mismatch, 2, 2, cause)]);

    // A ring of two: each is the other's neighbour on both sides, in either order.
    let sizes = [own(&[1, 2], &[4, 3]), own(&[3, 4], &[2, 1])];
    let calls = |sizes| vec![grid(&[2], true), sized("neighbor_alltoallv", 0, 2, sizes)];
    assert_eq!(causes(&ordered(&sizes.map(calls)).1), []);
}

#[test]
fn what_names_nothing_is_not_followed() {
    let call = |call: (&'static str, Did), cause: &str| {
        let (_, findings) = ordered(&[vec![call.clone()], vec![call], Vec::new()]);
        let found = causes(&findings);
        assert!(found.contains(&(Kind::NotFollowed, 1, 1, cause)), "{found:?} instead of {cause}");
    };
    call(together("bcast", 3), "has root 3 in communicator 0, which has 3 ranks");
    call(
        sized("allgatherv", 0, 0, by_rank(&[8, 8])),
        "has a list of 2 sizes for communicator 0, which has 3 ranks",
    );
    call(
        sized("neighbor_allgather", 0, 0, Amount::Equal(8)),
        "is among neighbours, but communicator 0 has no topology",
    );
    call(send(3, 0), "names rank 3 of communicator 0, which has 3 ranks");
    call(receive(7, 0), "names rank 7 of communicator 0, which has 3 ranks");
    let Did::Receive(mut looks) = receiving(7, 0, None) else { unreachable!() };
    call(("MPI_Probe", Did::Probe(looks.clone())), "names rank 7 of communicator 0, which has 3 ranks");
    (looks.from, looks.tag) = (From::Any, Some(1 << 31));
    call(("MPI_Recv", Did::Receive(looks)), "has tag 2147483648, above the largest, 2147483647");
    let tagged = |tag| Sent { to: Some(0), tag, comm: 0, bytes: 8, mode: Mode::Standard, request: None };
    call(("MPI_Send", Did::Send(tagged(u32::MAX))), "has tag 4294967295, above the largest, 2147483647");
}

#[test]
fn a_grid_fits_its_communicator() {
    let of = |calls: [(&'static str, Did); 2]| ordered(&calls.map(|call| vec![call])).1;
    assert_eq!(causes(&of([grid(&[2, 1], true), grid(&[2, 1], true)])), []);
    // One rank remains outside, which is no error.
    assert_eq!(causes(&of([grid(&[1], true), grid(&[1], true)])), []);
    for (sizes, said) in [(&[2, 2][..], "2 x 2"), (&[2, 0], "2 x 0"), (&[1 << 16, 1 << 16], "65536 x 65536")]
    {
        let cause = format!("asks for a grid of {said} ranks in communicator 0, which has 2 ranks");
        let expected = [(Kind::NotFollowed, 0, 1, &*cause), (Kind::NotFollowed, 1, 1, &*cause)];
        assert_eq!(causes(&of([grid(sizes, true), grid(sizes, true)])), expected);
    }
    let cause = "asks for a grid of [1, 2], and MPI_Comm_made (call #1 of rank 0) for one of [2, 1]";
    assert_eq!(causes(&of([grid(&[2, 1], true), grid(&[1, 2], true)])), [(Kind::Mismatch, 1, 1, cause)]);
    let cause =
        "asks for a grid of [2], and MPI_Comm_made (call #1 of rank 0) for one of [2], with other periods";
    assert_eq!(causes(&of([grid(&[2], true), grid(&[2], false)])), [(Kind::Mismatch, 1, 1, cause)]);
    let of = |how: How| of([making(how.clone()), making(how)]);
    let found = of(How::CartSub { keep: vec![true] });
    assert_eq!(found.first[0].cause, "takes a part of a grid, but this communicator is none");
    let found = of(How::Create { members: vec![0, 5] });
    assert_eq!(found.first[0].cause, "names rank 5 of communicator 0, which has 2 ranks");
    let found = of(How::Graph { sources: vec![], destinations: vec![2] });
    assert_eq!(found.first[0].cause, "names rank 2 of communicator 0, which has 2 ranks");
}
