//! Logical clocks of a recording, and what is wrong with one.

use mpi::Rank;
use workload::trace::hct::name::Name;
use workload::trace::hct::rank::{Clock, Head, RankWriter};
use workload::trace::hct::shape::{
    Amount, Begun, Collected, Did, From, How, Made, Mode, Received, Sent, Shape,
};
use workload::trace::hct::write::file_name;
use workload::trace::order::{Findings, Kind, order};
use workload::trace::{self, TraceFile};

/// Sends to a rank of a communicator.
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
    let (kind, sizes) = (kind.to_string(), Amount::Equal(8));
    let collected = Collected { kind, comm: 0, root, sizes, element: 8, commutative: true, request: None };
    ("MPI_A_collective", Did::Collective(collected))
}

fn part(colour: i64, key: i64) -> (&'static str, Did) {
    let how = How::Split { colour: Some(colour), key };
    ("MPI_Comm_split", Did::NewComm(Made { parent: 0, comm: Some(2), how, members: Vec::new() }))
}

/// The clocks of all ranks, and what is wrong: a call each microsecond.
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
/// house and home. The clocks are those of Lamport's rule, by hand.
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
    // Rank 1 comes sixth: whoever gets something of it goes on after 7 = 6 + 1.
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
    // Ranks 2 and 0, in this order; and 1 alone.
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
    let cause = "does not go with MPI_A_collective (call #1 of rank 0)";
    assert_eq!(causes(&findings), [(Kind::Mismatch, 1, 1, cause)]);

    let circle = |to, from| vec![synchronous(to), receive(from, 0)];
    let (_, findings) = ordered(&[circle(1, 2), circle(2, 0), circle(0, 1)]);
    assert_eq!(findings.count(Kind::Stuck), 3);
    let cycle = findings.first.iter().find(|one| one.kind == Kind::Cycle).unwrap();
    assert_eq!((cycle.rank.0, &*cycle.cause), (0, "ranks 0 → 1 → 2 → 0 wait for each other"));

    // Sent at 3 µs, received from 0 to 0.5 µs: the hosts' clocks are apart.
    let late = [vec![("MPI_Wtime", Did::Overhead); 3], vec![send(1, 0)]].concat();
    let (_, findings) = ordered(&[late, vec![receive(0, 0)]]);
    let [(Kind::ClockInversion, 1, 1, cause)] = causes(&findings)[..] else { panic!("{findings:?}") };
    assert!(cause.starts_with("returns 0.000003 s before MPI_Send (call #4 of rank 0) begins"), "{cause}");
}
