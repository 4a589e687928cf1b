//! Regular recordings grow to more ranks; others are refused, with rank and call.

use crate::common;

use common::drive;
use engine::Bytes;
use mpi::operation::CartGrid;
use mpi::{Op, Rank};
use workload::trace::hct::name::Name;
use workload::trace::hct::rank::{Clock, Head, RankWriter};
use workload::trace::hct::shape::{
    Amount, Begun, Collected, Did, From, How, Made, Mode as SendMode, Received, Sent, Shape,
};
use workload::trace::hct::write::{file_name, write};
use workload::trace::order::{Kind, order};
use workload::trace::scale::Scaled;
use workload::trace::{self, Clocks, ReplayOptions, SharedSet, TraceFile};

fn head(rank: u32, ranks: u32) -> Head {
    let (program, library) = ("stencil".to_string(), String::new());
    Head {
        rank,
        ranks,
        host: String::new(),
        start_unix_ns: 0,
        program,
        library,
        tallied: false,
        clock: Clock::Wall,
        counts: Vec::new(),
    }
}

fn shape(call: &'static str, did: Did) -> Shape {
    Shape { call: Name(call), did }
}

/// Calls of each rank of `grid` in one round: messages to these offsets and from the opposite ones, with a length
/// that depends on the dimension; then a collective.
fn stencil(grid: &CartGrid, rank: u32, offsets: &[Vec<i64>], root: u32) -> Vec<Shape> {
    let place: Vec<i64> = grid.coordinates(rank).into_iter().map(i64::from).collect();
    let partner = |offset: &[i64], sign: i64| {
        let there: Vec<i64> = place.iter().zip(offset).map(|(place, along)| place + sign * along).collect();
        grid.rank(&there)
    };
    let mut calls = Vec::new();
    let mut requests = Vec::new();
    for (tag, offset) in (0..).zip(offsets) {
        let number = requests.len() as u32;
        requests.extend([number, number + 1]);
        let (bytes, comm) = (1000 + u64::from(tag), 2);
        let from = partner(offset, -1).map_or(From::Null, From::Rank);
        let request = Some(Begun::Active(number));
        let receive = Received { from, tag: Some(tag), comm, capacity: bytes, matched: None, request };
        let request = Some(Begun::Active(number + 1));
        let to = partner(offset, 1);
        calls.push(shape("MPI_Irecv", Did::Receive(receive)));
        let send = Sent { to, tag, comm, bytes, mode: SendMode::Standard, request };
        calls.push(shape("MPI_Isend", Did::Send(send)));
    }
    calls.push(shape("MPI_Waitall", Did::Complete { requests, matched: Vec::new() }));
    let (kind, sizes) = ("reduce".into(), Amount::Equal(8));
    let sum = Collected { kind, comm: 2, root, sizes, element: 8, commutative: true, request: None };
    calls.push(shape("MPI_Reduce", Did::Collective(sum)));
    calls
}

/// A recording of three rounds on `grid`; `change` may alter a rank's round.
fn recording(grid: &CartGrid, offsets: &[Vec<i64>], change: &dyn Fn(u32, &mut Vec<Shape>)) -> SharedSet {
    let ranks = grid.size().unwrap();
    let file = |rank| {
        let mut file = Vec::new();
        let mut writer = RankWriter::new(&mut file, &head(rank, ranks), 1 << 40).unwrap();
        let how = How::Cart { sizes: grid.sizes.clone(), periodic: grid.periodic.clone() };
        let made = Made { parent: 0, comm: Some(2), how, members: (0..ranks).collect() };
        writer.push(&shape("MPI_Cart_create", Did::NewComm(made)), 0, 10).unwrap();
        let mut round = stencil(grid, rank, offsets, 0);
        change(rank, &mut round);
        let mut now = 10;
        for _ in 0..3 {
            // The computing of a rank depends on its number.
            now += 1000 * u64::from(rank + 1);
            for call in &round {
                writer.push(call, now, now + 5).unwrap();
                now += 5;
            }
        }
        writer.push(&shape("MPI_Finalize", Did::Finalize), now, now).unwrap();
        writer.finish().unwrap();
        TraceFile::new(file_name(rank), file)
    };
    trace::recognise((0..ranks).map(file).collect()).unwrap()
}

fn grid(sizes: &[u32], periodic: bool) -> CartGrid {
    CartGrid { sizes: sizes.to_vec(), periodic: vec![periodic; sizes.len()] }
}

fn written(scaled: &Scaled) -> SharedSet {
    let file = |rank| {
        let mut file = Vec::new();
        write(scaled.events(Rank(rank)).unwrap(), None, &head(rank, scaled.ranks()), &mut file).unwrap();
        TraceFile::new(file_name(rank), file)
    };
    trace::recognise((0..scaled.ranks()).map(file).collect()).unwrap()
}

fn faces(dimensions: usize) -> Vec<Vec<i64>> {
    let unit =
        |at: usize, along| (0..dimensions).map(|dimension| if dimension == at { along } else { 0 }).collect();
    (0..dimensions).flat_map(|at| [unit(at, 1), unit(at, -1)]).collect()
}

/// The scaled recording equals that of the program on the larger grid, except for its times.
#[test]
fn a_stencil_grows_into_the_same_stencil() {
    let wide = vec![vec![2, 0], vec![-1, 1]];
    for (from, to, periodic, offsets) in [
        (vec![3, 3, 3], vec![5, 4, 6], false, faces(3)),
        (vec![3, 4], vec![7, 4], true, faces(2)),
        (vec![4, 4], vec![4, 9], false, faces(2)),
        (vec![3], vec![17], true, faces(1)),
        (vec![5, 6], vec![8, 11], false, wide.clone()),
        (vec![5, 5], vec![9, 8], true, wide),
        (vec![6, 5], vec![5, 3], false, faces(2)),
    ] {
        let what = format!("{from:?} to {to:?}, periodic {periodic}");
        let scaled = Scaled::new(recording(&grid(&from, periodic), &offsets, &|_, _| ()), None, &to).unwrap();
        assert_eq!(scaled.grids(), (&from[..], &to[..]));
        let (set, asked) = (written(&scaled), recording(&grid(&to, periodic), &offsets, &|_, _| ()));
        assert_eq!(set.ranks(), asked.ranks());
        for rank in 0..set.ranks() {
            let shapes = |set: &SharedSet| -> Vec<Did> {
                let did = set
                    .events(Rank(rank), Clocks::Aligned)
                    .unwrap()
                    .map(|event| event.unwrap().shape.did.clone());
                did.map(|did| match did {
                    Did::NewComm(made) => Did::NewComm(Made { members: Vec::new(), ..made }),
                    did => did,
                })
                .collect()
            };
            assert_eq!(shapes(&set), shapes(&asked), "{what}, rank {rank}");
        }
        let findings = order(&*set, &mut |_, _| ()).unwrap();
        let wrong = |kind: &Kind| *kind != Kind::ClockInversion && findings.count(*kind) > 0;
        assert!(!Kind::ALL.iter().any(|(kind, ..)| wrong(kind)), "{what}: {:?}", findings.first);
        let ranks = set.ranks();
        let mut source = trace::replay(set, ReplayOptions::default()).unwrap();
        let run = drive::run(&mut source, ranks);
        assert!(run.stuck.is_empty() && run.left_over == 0, "{what}: {:?}", run.stuck);
    }
}

/// Ranks of one place take turns, so each computes like a recorded rank of its place.
#[test]
fn computing_is_that_of_recorded_ranks_in_turn() {
    let scaled = Scaled::new(recording(&grid(&[4], false), &faces(1), &|_, _| ()), None, &[7]).unwrap();
    let repeats: Vec<u32> = (0..7).map(|rank| scaled.repeats(Rank(rank)).0).collect();
    assert_eq!(repeats, [0, 1, 2, 1, 2, 1, 3]);
    for (rank, of) in (0..).zip(repeats) {
        let second = scaled.events(Rank(rank)).unwrap().nth(1).unwrap().unwrap();
        assert_eq!(second.begin_ns, 10 + 1000 * u64::from(of + 1));
    }
}

/// A number of ranks is divided as MPI_Dims_create does.
#[test]
fn a_number_of_ranks_becomes_a_grid() {
    let small = recording(&grid(&[3, 3, 3], false), &faces(3), &|_, _| ());
    let scaled = Scaled::new(small, None, &[1000]).unwrap();
    assert_eq!(scaled.grids().1, [10, 10, 10]);
    assert_eq!(scaled.ranks(), 1000);
}

#[test]
fn what_is_not_regular_is_refused_by_rank_and_call() {
    let refused =
        |set: SharedSet, to: &[u32]| Scaled::new(set, None, to).err().expect("it is refused").to_string();
    let row = grid(&[6], false);
    let spoil = |at: u32, what: fn(&mut Vec<Shape>)| {
        recording(&row, &faces(1), &move |rank, round| {
            if rank == at {
                what(round);
            }
        })
    };
    let longer = spoil(3, |round| {
        let Did::Send(send) = &mut round[1].did else { panic!("it sends") };
        send.bytes += 1;
    });
    let reason = refused(longer, &[9]);
    assert!(
        reason.contains(
            "ranks 1 and 3 stand alike on a grid of 6, but differ: in rank 3, call #3, MPI_Isend, has another"
        ),
        "{reason}"
    );
    let shorter = refused(spoil(4, |round| drop(round.pop())), &[9]);
    assert!(shorter.contains("ranks 1 and 4"), "{shorter}");
    let butterfly = recording(&grid(&[8], false), &[], &|rank, round| {
        *round = stencil(&grid(&[8], false), rank, &[vec![if rank & 1 == 0 { 1 } else { -1 }]], 0);
    });
    assert!(refused(butterfly, &[16]).contains("but differ"));
    let elsewhere = recording(&row, &faces(1), &|rank, round| *round = stencil(&row, rank, &faces(1), 3));
    let reason = refused(elsewhere, &[9]);
    assert!(reason.contains("call #7 MPI_Reduce: its root is rank 3"), "{reason}");
    let small = recording(&grid(&[2, 3], false), &faces(2), &|_, _| ());
    let reason = refused(small.clone(), &[4, 4]);
    assert!(reason.contains("dimension 0 has 2 ranks, and is to have 4"), "{reason}");
    assert!(Scaled::new(small.clone(), None, &[2, 5]).is_ok(), "a dimension that stays needs no more");
    assert!(refused(small.clone(), &[2, 5, 2]).contains("has 3 dimensions, and 2 x 3 has 2"));
    assert!(refused(small.clone(), &[0, 5]).contains("has no rank"));
    let reason = Scaled::new(small, Some(vec![5]), &[9]).err().unwrap().to_string();
    assert!(reason.contains("a grid of 5 is not one of its 6 ranks"), "{reason}");
    let even = refused(recording(&grid(&[4], true), &[vec![2]], &|_, _| ()), &[8]);
    assert!(even.contains("is half way round dimension 0 of 4 ranks"), "{even}");
}

/// A recording whose ranks form a row needs no grid.
#[test]
fn a_row_is_found_without_a_grid() {
    let set = recording(&grid(&[5], true), &faces(1), &|_, _| ());
    let scaled = Scaled::new(set, Some(vec![5]), &[12]).unwrap();
    let last = scaled.events(Rank(11)).unwrap().filter_map(|event| match &event.unwrap().shape.did {
        Did::Send(send) => send.to,
        _ => None,
    });
    assert_eq!(last.take(2).collect::<Vec<_>>(), [0, 10]);
    let sends = |op: &Op| matches!(op, Op::Send(send, _) if send.bytes >= Bytes(1000));
    let mut calls = written(&scaled).calls(Rank(3), Clocks::Aligned).unwrap();
    let mut count = 0;
    while let Some(step) = calls.next().unwrap() {
        if matches!(step.op, Op::NewComm(..)) {
            calls.made(mpi::operation::CommId(2));
        }
        count += usize::from(sends(&step.op));
    }
    assert_eq!(count, 6);
}
