//! Communicators: how they are made, who is in them, and that they keep messages apart.

use crate::common;

use std::sync::Arc;

use common::*;
use mpi::cartesian::NOBODY;
use mpi::collective::{Collective, Kind, Sizes};
use mpi::group::Group;
use mpi::operation::{
    CartGrid, CommId, Neighbours, NewComm, Op, Receive, Request, Send, Start, TagMatch, TwoGroups,
};
use mpi::{Completion, Context, Failure, Rank, Setup, Source, World};
use network::HostId;

fn make(parent: CommId, new: NewComm) -> Op {
    Op::NewComm(parent, new)
}

/// The members of the communicator that operation `index` of `rank` gave; empty for none.
fn members(run: &Run, rank: usize, index: usize) -> Vec<u32> {
    let done: &Completion = &run.done[rank][index];
    assert_eq!(done.created.as_ref().map_or(CommId::NULL, |made| made.id), done.comm);
    done.created.as_ref().map_or(Vec::new(), |made| made.group(Rank(rank as u32)).members().collect())
}

fn on_all(ranks: u32, op: impl Fn(u32) -> Op) -> Vec<Vec<Op>> {
    (0..ranks).map(|rank| vec![op(rank)]).collect()
}

/// The same number on all members, another than the parent's, and it takes an allreduce of 256 bytes.
#[test]
fn dup_copies_the_group() {
    let run = succeed(on_all(8, |_| make(CommId::WORLD, NewComm::Dup)));
    for rank in 0..8 {
        assert_eq!(members(&run, rank, 0), (0..8).collect::<Vec<_>>());
        assert_eq!(run.done[rank][0].comm, run.done[0][0].comm);
    }
    assert!(run.done[0][0].comm > CommId::SELF);
    let call = Collective { element: 4, ..collective(Kind::Allreduce, 0, 256) };
    let allreduce = Op::Collective(Arc::new(call), Start::Blocking);
    assert_eq!(run.end, succeed(on_all(8, |_| allreduce.clone())).end);
}

#[test]
fn split_orders_by_key_and_leaves_out_the_undefined() {
    let run = succeed(on_all(7, |rank| {
        let colour = (rank != 4).then_some(i64::from(rank % 2) - 1);
        make(CommId::WORLD, NewComm::Split { colour, key: -i64::from(rank) })
    }));
    for rank in [0, 2, 6] {
        assert_eq!(members(&run, rank, 0), [6, 2, 0]);
    }
    for rank in [1, 3, 5] {
        assert_eq!(members(&run, rank, 0), [5, 3, 1]);
    }
    assert_eq!(members(&run, 4, 0), [] as [u32; 0]);
    assert_ne!(run.done[0][0].comm, run.done[1][0].comm);
}

#[test]
fn split_by_host_keeps_neighbours_together() {
    let mut setup = setup(6, Overheads::default());
    let place = |rank: u32| network::Endpoint { host: HostId(rank % 3), process: rank as u16 / 3 };
    setup.placement = (0..6).map(place).collect();
    let run = run_with(setup, on_all(6, |_| make(CommId::WORLD, NewComm::SplitHost { key: 0 })));
    assert_eq!(run.failure, None);
    assert_eq!((members(&run, 1, 0), members(&run, 5, 0)), (vec![1, 4], vec![2, 5]));
}

#[test]
fn create_takes_the_members_in_their_order() {
    let list: Arc<[u32]> = [3, 0, 2].into();
    let run = succeed(on_all(4, |_| make(CommId::WORLD, NewComm::Create(list.clone()))));
    assert_eq!(members(&run, 0, 0), [3, 0, 2]);
    assert_eq!(run.done[1][0].comm, CommId::NULL);
}

/// Groups without a common member are made in one call.
#[test]
fn create_makes_disjoint_groups_at_once() {
    let list = |rank: u32| -> Arc<[u32]> {
        match rank {
            0 | 2 => [2, 0].into(),
            1 => [1].into(),
            _ => [].into(),
        }
    };
    let run = succeed(on_all(4, |rank| make(CommId::WORLD, NewComm::Create(list(rank)))));
    assert_eq!((members(&run, 0, 0), members(&run, 1, 0)), (vec![2, 0], vec![1]));
    assert_ne!(run.done[0][0].comm, run.done[1][0].comm);
    assert_eq!(run.done[3][0].comm, CommId::NULL);
}

/// Only the members call; groups with different tags do not meet.
#[test]
fn create_group_is_called_by_its_members_alone() {
    let list: Arc<[u32]> = [2, 1].into();
    let group = |tag| make(CommId::WORLD, NewComm::CreateGroup(list.clone(), tag));
    let mut ops = on_all(4, |_| compute(1));
    ops[1].extend([group(5), group(6)]);
    ops[2].extend([group(5), group(6)]);
    let run = succeed(ops);
    assert_eq!((members(&run, 1, 1), members(&run, 2, 2)), (vec![2, 1], vec![2, 1]));
    assert_eq!(run.done[1][1].comm, run.done[2][1].comm);
    assert_eq!(run.done[1][2].comm, run.done[2][2].comm);
    assert_ne!(run.done[1][1].comm, run.done[1][2].comm);
}

/// Groups that differ by a zero alone are two: one that the rank makes by itself, and one of both.
#[test]
fn a_group_with_rank_zero_is_another() {
    let group = |members: &[u32]| make(CommId::WORLD, NewComm::CreateGroup(members.into(), 0));
    let run = succeed(vec![vec![group(&[0, 1])], vec![group(&[1]), group(&[0, 1])]]);
    assert_eq!((members(&run, 0, 0), members(&run, 1, 1)), (vec![0, 1], vec![0, 1]));
    assert_eq!(members(&run, 1, 0), [1]);
}

/// Ranks that are in no part of a split by hosts take part in a split without a colour.
#[test]
fn a_rank_stays_out_of_a_split_by_hosts() {
    let run = succeed(on_all(3, |rank| match rank {
        1 => make(CommId::WORLD, NewComm::Split { colour: None, key: 0 }),
        _ => make(CommId::WORLD, NewComm::SplitHost { key: 0 }),
    }));
    assert_eq!((members(&run, 0, 0), members(&run, 1, 0)), (vec![0], vec![]));
}

/// A grid leaves out the ranks beyond it, and its neighbourhood collectives know the neighbours.
#[test]
fn a_grid_has_neighbours() {
    let grid = Arc::new(CartGrid { sizes: vec![2, 3], periodic: vec![false, true] });
    assert_eq!(grid.neighbours(4).sources, [1, NOBODY, 3, 5]);
    let exchange = Op::Collective(
        Arc::new(Collective { comm: CommId(2), ..collective(Kind::NeighborAlltoall, 0, 100) }),
        Start::Blocking,
    );
    let mut ops = on_all(7, |_| make(CommId::WORLD, NewComm::Cart(grid.clone())));
    ops.iter_mut().take(6).for_each(|ops| ops.push(exchange.clone()));
    let run = succeed(ops);
    assert_eq!(members(&run, 5, 0), [0, 1, 2, 3, 4, 5]);
    assert_eq!(run.done[6][0].comm, CommId::NULL);
    let begin = (0..6).map(|rank| run.at(rank, 0)).max().unwrap();
    let end = (0..6).map(|rank| run.at(rank, 1)).max().unwrap();
    assert_eq!(end, begin + LATENCY + 100 * BYTE);
}

/// The rows and columns of a grid are grids themselves.
#[test]
fn sub_grids_are_communicators() {
    let grid = Arc::new(CartGrid { sizes: vec![2, 3], periodic: vec![false, true] });
    let rows: Arc<[bool]> = [false, true].into();
    let columns: Arc<[bool]> = [true, false].into();
    let mut ops = on_all(6, |_| make(CommId::WORLD, NewComm::Cart(grid.clone())));
    for ops in &mut ops {
        ops.push(make(CommId(2), NewComm::CartSub(rows.clone())));
        ops.push(make(CommId(2), NewComm::CartSub(columns.clone())));
    }
    let run = succeed(ops);
    assert_eq!(members(&run, 4, 1), [3, 4, 5]);
    assert_eq!(members(&run, 4, 2), [1, 4]);
    let row = run.done[4][1].created.as_ref().unwrap();
    assert_eq!(row.neighbours(1).unwrap().sources, [0, 2]);
    let failure = common::run(on_all(2, |_| make(CommId::WORLD, NewComm::CartSub(rows.clone())))).failure;
    assert!(matches!(failure, Some(Failure::Misuse { .. })), "{failure:?}");
}

/// A graph's neighbours need not be mutual; sizes are each rank's own, and may be zero.
#[test]
fn a_graph_sends_along_its_edges() {
    let graph = |sources: &[u32], destinations: &[u32]| {
        let (sources, destinations) = (sources.to_vec(), destinations.to_vec());
        make(CommId::WORLD, NewComm::Graph(Arc::new(Neighbours { sources, destinations })))
    };
    let exchange = |send: &[u64], receive: &[u64]| {
        let sizes = Sizes::Own { send: send.into(), receive: receive.into() };
        let call = Collective { sizes, comm: CommId(2), ..collective(Kind::NeighborAlltoallv, 0, 0) };
        Op::Collective(Arc::new(call), Start::Blocking)
    };
    let run = succeed(vec![
        vec![graph(&[], &[1, 2]), exchange(&[10, 0], &[])],
        vec![graph(&[0], &[2]), exchange(&[30], &[10])],
        vec![graph(&[1, 0], &[]), exchange(&[], &[30, 0])],
    ]);
    assert_eq!(run.done[2][0].created.as_ref().unwrap().neighbours(2).unwrap().sources, [1, 0]);
}

/// The same source, tag and size on two communicators are two messages.
#[test]
fn a_new_communicator_is_a_context_of_its_own() {
    let dup = make(CommId::WORLD, NewComm::Dup);
    let other = CommId(2);
    let run = succeed(vec![
        vec![dup.clone(), Op::Send(Send { comm: other, ..to(1, 1, 0) }, Start::Blocking), send(1, 2, 0)],
        vec![dup, receive(0, 0), Op::Receive(Receive { comm: other, ..from(0, 0) }, Start::Blocking)],
    ]);
    assert_eq!((run.done[1][1].status.bytes, run.done[1][2].status.bytes), (2, 1));
}

/// Ranks in peers and statuses are those of the communicator.
#[test]
fn ranks_are_relative_to_the_communicator() {
    let reversed = CommId(2);
    let mut ops =
        on_all(3, |rank| make(CommId::WORLD, NewComm::Split { colour: Some(0), key: -i64::from(rank) }));
    ops[2].push(Op::Send(Send { comm: reversed, ..to(2, 8, 0) }, Start::Blocking));
    ops[0].push(Op::Receive(Receive { comm: reversed, ..from_any() }, Start::Blocking));
    let run = succeed(ops);
    assert_eq!(run.done[0][1].status.source, 0);
    assert_eq!(run.done[2][0].created.as_ref().unwrap().rank_of(Rank(2), Rank(0)), Some(2));
}

/// A communicator that was freed cannot be used, and its number is not given again.
#[test]
fn a_freed_communicator_is_gone() {
    let dup = || make(CommId::WORLD, NewComm::Dup);
    let run = succeed(
        on_all(2, |_| dup())
            .into_iter()
            .map(|mut ops| {
                ops.extend([Op::FreeComm(CommId(2)), dup()]);
                ops
            })
            .collect(),
    );
    assert_eq!(run.done[0][2].comm, CommId(3));
    let use_it = Op::Receive(Receive { comm: CommId(2), ..from_any() }, Start::Blocking);
    let failure = common::run(vec![vec![dup(), Op::FreeComm(CommId(2)), use_it], vec![dup()]]).failure;
    let Some(Failure::Misuse { rank: Rank(0), reason }) = failure else { panic!("{failure:?}") };
    assert!(reason.contains("comm 2"), "{reason}");
}

/// Messages under way on a communicator that all have freed are still received, with their source.
#[test]
fn messages_outlive_their_communicator() {
    let dup = make(CommId::WORLD, NewComm::Dup);
    let comm = CommId(2);
    let mut ops = vec![
        vec![
            dup.clone(),
            Op::Receive(Receive { comm, tag: TagMatch::Tag(0), ..from_any() }, Start::Request(Request(0))),
            Op::ProbeMatched(Receive { comm, ..from(2, 7) }, true),
        ],
        vec![dup.clone(), Op::Send(Send { comm, ..to(0, 2 * EAGER, 0) }, Start::Request(Request(0)))],
        vec![dup.clone(), Op::Send(Send { comm, ..to(0, 8, 7) }, Start::Blocking)],
    ];
    ops.iter_mut().for_each(|ops| ops.push(Op::FreeComm(comm)));
    ops[0].extend([compute(LATENCY), wait(0), Op::ReceiveMatched(0, Start::Blocking)]);
    ops[1].insert(1, compute(9 * LATENCY));
    ops[1].push(wait(0));
    let run = succeed(ops);
    assert_eq!((run.done[0][5].status.source, run.done[0][6].status.source), (1, 2));
}

/// Members that make different things are named.
#[test]
fn mismatched_creations_are_named() {
    let dup = make(CommId::WORLD, NewComm::Dup);
    let split = make(CommId::WORLD, NewComm::Split { colour: Some(3), key: 1 });
    let failure = run(vec![vec![dup], vec![split]]).failure;
    let Some(Failure::Mismatch { calls, .. }) = failure else { panic!("{failure:?}") };
    assert!(calls[0].1.contains("MPI_Comm_dup"), "{calls:?}");
    assert!(calls[1].1.contains("MPI_Comm_split(comm=world, color=3, key=1)"), "{calls:?}");
    let wide = NewComm::Cart(Arc::new(CartGrid { sizes: vec![3], periodic: vec![true] }));
    let failure = run(on_all(2, |_| make(CommId::WORLD, wide.clone()))).failure;
    assert!(matches!(failure, Some(Failure::Misuse { .. })), "{failure:?}");
}

/// The first communicator is made for MPI_COMM_SELF, too, by each rank for itself.
#[test]
fn oneself_can_be_copied() {
    let run = succeed(on_all(3, |_| make(CommId::SELF, NewComm::Dup)));
    for rank in 0..3 {
        assert_eq!(members(&run, rank, 0), [rank as u32]);
    }
}

/// An inter-communicator of 0 and 2 with 4, 1 and 3.
fn inter(rank: u32) -> Op {
    let [even, rest] = [vec![0, 2], vec![4, 1, 3]].map(|members| Group::new(members).unwrap());
    let [local, remote] = if even.rank_of(rank).is_some() { [even, rest] } else { [rest, even] };
    make(CommId::WORLD, NewComm::Inter(Arc::new(TwoGroups { local, remote }), 3))
}

/// Peers and sources are ranks of the other group, and a message takes as long as in any communicator.
#[test]
fn groups_talk_through_an_inter_communicator() {
    let comm = CommId(2);
    let mut ops = on_all(5, inter);
    ops[0].extend([
        Op::SleepUntil(engine::Time(50 * LATENCY)),
        Op::Send(Send { comm, ..to(1, 8, 7) }, Start::Blocking),
    ]);
    ops[1].push(Op::Receive(Receive { comm, ..from_any() }, Start::Blocking));
    ops[3].push(Op::Send(Send { comm, ..to(1, 9, 7) }, Start::Blocking));
    ops[2].push(Op::Probe(Receive { comm, ..from(2, 7) }));
    ops[2].push(Op::Receive(Receive { comm, ..from(2, 7) }, Start::Blocking));
    let run = succeed(ops);
    assert_eq!((members(&run, 2, 0), members(&run, 1, 0)), (vec![0, 2], vec![4, 1, 3]));
    let seen = run.done[0][0].created.as_ref().unwrap();
    assert_eq!((seen.size(), seen.peers(), seen.everybody()), (2, 3, 5));
    assert_eq!((run.done[1][1].status.source, run.done[1][1].status.bytes), (0, 8));
    assert_eq!((run.done[2][1].status.source, run.done[2][2].status.source), (2, 2));
    assert_eq!(run.at(1, 1), 50 * LATENCY + LATENCY + 8 * BYTE);
    let mut wrong = on_all(5, inter);
    wrong[4].push(Op::Send(Send { comm, ..to(2, 8, 7) }, Start::Blocking));
    let failure = common::run(wrong).failure;
    let Some(Failure::Misuse { rank: Rank(4), reason }) = failure else { panic!("{failure:?}") };
    assert!(reason.contains("which has 2 ranks"), "{reason}");
}

/// Contributions of one group go from leader to leader, up and down trees of two and of three members: a message takes
/// L + n G, as alone. Nobody of the root's group but the root takes part in a broadcast.
#[test]
fn collectives_between_groups_go_through_leaders() {
    let comm = CommId(2);
    let begin = 50 * LATENCY;
    let with = |call: Collective| {
        let mut ops = on_all(5, inter);
        for ops in &mut ops {
            ops.push(Op::SleepUntil(engine::Time(begin)));
            ops.push(Op::Collective(Arc::new(call.clone()), Start::Blocking));
        }
        ops
    };
    let run = succeed(with(Collective::barrier(comm)));
    for (rank, messages) in [(0, 2), (2, 3), (4, 2), (1, 3), (3, 3)] {
        assert_eq!(run.at(rank, 2), begin + messages * LATENCY, "rank {rank}");
    }
    // All stand in one row: 0, 2, 4, 1, 3. The root is rank 1.
    let run = succeed(with(Collective { comm, ..collective(Kind::Bcast, 3, 8) }));
    for (rank, messages) in [(1, 0), (0, 1), (2, 2), (4, 0), (3, 0)] {
        assert_eq!(run.at(rank, 2), begin + messages * (LATENCY + 8 * BYTE), "rank {rank}");
    }
    let failure = common::run(with(Collective { comm, ..collective(Kind::Scan, 0, 8) })).failure;
    let Some(Failure::Misuse { reason, .. }) = failure else { panic!("{failure:?}") };
    assert!(reason.contains("no scans between two groups"), "{reason}");
}

/// Both groups take part when one is copied, split, cut or merged; a part without one side is none.
#[test]
fn inter_communicators_make_others() {
    let comm = CommId(2);
    let mut ops = on_all(5, inter);
    for (rank, ops) in (0..).zip(&mut ops) {
        let colour = Some(i64::from(matches!(rank, 0 | 4 | 3)));
        let members: Arc<[u32]> = if [0, 2].contains(&rank) { [1].into() } else { [2, 0].into() };
        ops.push(make(comm, NewComm::Dup));
        ops.push(make(comm, NewComm::Split { colour, key: -i64::from(rank) }));
        ops.push(make(comm, NewComm::Create(members)));
        ops.push(make(comm, NewComm::Merge { high: rank % 2 == 0 && rank != 4 }));
        ops.push(make(comm, NewComm::Split { colour: Some(i64::from([0, 2].contains(&rank))), key: 0 }));
        ops.push(Op::Collective(Arc::new(Collective::barrier(comm)), Start::Blocking));
    }
    let run = succeed(ops);
    let both = |rank: usize, index: usize| {
        let made = run.done[rank][index].created.as_ref().unwrap();
        let remote = made.remote().map_or(Vec::new(), |remote| remote.members().collect());
        (members(&run, rank, index), remote)
    };
    assert_eq!(both(2, 1), (vec![0, 2], vec![4, 1, 3]));
    assert_eq!(both(4, 2), (vec![4, 3], vec![0]));
    assert_eq!(both(2, 2), (vec![2], vec![1]));
    assert_eq!(run.done[4][2].comm, run.done[0][2].comm);
    assert_eq!(both(3, 3), (vec![3, 4], vec![2]));
    assert_eq!(run.done[0][3].comm, CommId::NULL);
    for rank in 0..5 {
        assert_eq!(both(rank, 4), (vec![4, 1, 3, 0, 2], vec![]));
        assert_eq!(run.done[rank][5].comm, CommId::NULL);
    }
    let failure = common::run(on_all(2, |_| make(CommId::WORLD, NewComm::Merge { high: false }))).failure;
    assert!(matches!(failure, Some(Failure::Misuse { .. })), "{failure:?}");
}

/// One rank begins, the other does so only after a message that comes from the first meanwhile; a communicator
/// that is made between has another number.
#[test]
fn a_communicator_is_made_while_its_members_do_something_else() {
    let begin = |comm, request| Op::BeginNewComm(comm, NewComm::Dup, Request(request));
    let run = succeed(vec![
        vec![
            begin(CommId::WORLD, 0),
            send(1, 8, 0),
            make(CommId::WORLD, NewComm::Dup),
            wait(0),
            Op::TakeNewComm(0),
        ],
        vec![
            receive(0, 0),
            begin(CommId::WORLD, 3),
            make(CommId::WORLD, NewComm::Dup),
            wait(3),
            Op::TakeNewComm(0),
        ],
    ]);
    assert_eq!((run.done[0][0].matched, run.done[1][1].matched), (0, 0));
    assert_eq!((members(&run, 0, 4), members(&run, 1, 4)), (vec![0, 1], vec![0, 1]));
    assert_eq!(run.done[0][4].comm, run.done[1][4].comm);
    assert_ne!(run.done[0][4].comm, run.done[0][2].comm);
}

/// Sources are asked in the order of simulated time.
#[test]
fn sources_are_asked_in_the_order_of_time() {
    struct Ordered(Vec<u64>, Vec<u32>);
    impl Source for Ordered {
        fn next(&mut self, rank: Rank, done: &Completion) -> Op {
            self.0.push(done.now.0);
            let step = &mut self.1[rank.0 as usize];
            *step += 1;
            let peer = (rank.0 + 1) % 3;
            match *step {
                1..=5 => compute(u64::from(rank.0 * 7 + *step)),
                6 => ireceive((rank.0 + 2) % 3, 0, 0),
                7 => send(peer, 8, 0),
                8 => wait(0),
                _ => Op::Finish,
            }
        }
    }
    let setup: Setup = setup(3, Overheads { send: [13, 13], receive: [17, 17] });
    let mut world = World::new(setup);
    let (mut queue, mut wire) = (engine::Queue::new(), Wire::default());
    let (mut source, mut observer) = (Ordered(Vec::new(), vec![0; 3]), Records::default());
    let mut arrivals = Vec::new();
    let mut now = engine::Time::ZERO;
    let mut first = true;
    loop {
        let event = if first { None } else { queue.pop() };
        if !first && event.is_none() {
            break;
        }
        now = event.map_or(now, |event| event.time);
        if let Some(event) = event.filter(|event| event.token.lane() == engine::Lane::Network) {
            network::Network::wake(&mut wire, now, event.token, &mut queue, &mut arrivals);
        }
        let (source, observer) = (&mut source, &mut observer);
        let context = &mut Context { now, queue: &mut queue, network: &mut wire, source, observer };
        match event {
            None => (0..world.ranks()).for_each(|place| world.start(place, context)),
            Some(event) if event.token.lane() == engine::Lane::Rank => world.wake(event.token, context),
            Some(_) => arrivals.drain(..).for_each(|arrival| world.arrive(&arrival, context)),
        }
        first = false;
    }
    assert!(world.finished());
    assert!(source.0.is_sorted(), "{:?}", source.0);
}
