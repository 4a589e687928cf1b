//! Operations of the calls of an OTF2 archive, and errors for damaged archives.

use crate::common;

use common::otf2::{Writer, archive};
use common::{drive, fuzz};
use engine::{Bytes, Duration, Time};
use mpi::collective::{Kind, Sizes};
use mpi::operation::{CommId, NewComm, Peer, Request, Start, TagMatch, Until, Work};
use mpi::{Op, Rank};
use workload::trace::hct::write::{convert, file_name};
use workload::trace::{self, Clocks, Mode, ReplayOptions, SharedSet, TraceFile};

/// Numbers of communicators in each location.
const WORLD: u64 = 10;
const REVERSED: u64 = 12;
const NONE: u64 = u32::MAX as u64;

/// Two ranks that call `events` between MPI_Init and MPI_Finalize. Clocks of odd ranks are 1000 ticks behind.
fn two(big: bool, events: impl Fn(usize, &mut Writer)) -> Vec<TraceFile> {
    let of_rank = |rank: usize| {
        let mut w = Writer::new(big);
        let from = if rank == 1 { 0 } else { 1000 };
        w.call("MPI_Init", from, from + 10, |_| {});
        events(rank, &mut w);
        w.call("MPI_Finalize", 900_000, 900_500, |_| {});
        w.finish()
    };
    archive(big, (0..2).map(of_rank).collect())
}

/// Operations of rank 0, without computing.
#[track_caller]
fn ops(files: Vec<TraceFile>) -> Vec<Op> {
    let set = trace::recognise(files).unwrap();
    let options =
        ReplayOptions { mode: Mode::Dependencies, clocks: Clocks::Aligned, ..ReplayOptions::default() };
    let mut source = trace::replay(set, options).unwrap();
    let run = drive::run(&mut source, 2);
    assert_eq!(source.take_error(), None);
    assert_eq!(run.stuck, []);
    let ops = run.ops[0].iter().filter(|op| !matches!(op, Op::Compute(_) | Op::SleepUntil(_)));
    ops.cloned().collect()
}

fn collective(w: &mut Writer, operation: u8, comm: u64, root: u64, sent: u64, received: u64) {
    let rest = [w.number(comm), w.number(root), w.number(sent), w.number(received)];
    w.record(22, &[]);
    w.record(23, &[vec![operation], rest.concat()]);
}

/// Messages and collectives of all kinds.
fn program(rank: usize, w: &mut Writer) {
    let other = 1 - rank as u64;
    // The receive that begins first completes last, and only its completion has its source and tag.
    w.call("MPI_Irecv", 2000, 2001, |w| w.single(17, 7));
    w.call("MPI_Isend", 2010, 2020, |w| w.numbers(15, &[other, WORLD, 5, 4096, 8]));
    w.call("MPI_Waitall", 2030, 2100, |w| {
        w.single(16, 8);
        w.numbers(19, &[other, WORLD, 5, 4096, 7]);
    });
    w.call("main", 2110, 2400, |w| {
        w.call("MPI_Sendrecv", 2120, 2130, |w| {
            w.numbers(14, &[other, WORLD, 1, 100]);
            w.numbers(18, &[other, WORLD, 1, 100]);
        });
    });
    // Rank 0 is rank 1 of the reversed communicator.
    let own = 1 - rank as u64;
    w.call("MPI_Startall", 2500, 2510, |w| {
        w.numbers(15, &[1 - own, REVERSED, 3, 8, 20]);
        w.single(17, 21);
    });
    w.call("MPI_Waitall", 2520, 2530, |w| {
        w.numbers(19, &[1 - own, REVERSED, 3, 8, 21]);
        w.single(16, 20);
    });
    w.call("MPI_Allreduce", 2600, 2700, |w| collective(w, 11, WORLD, NONE, 2 * 24, 2 * 24));
    // Ranks have blocks of 10 and 30 bytes.
    let mine = [10, 30][rank];
    w.call("MPI_Allgatherv", 2800, 2900, |w| collective(w, 7, WORLD, NONE, 2 * mine, 40));
    // In place: the own block is not included.
    w.call("MPI_Allgatherv", 2910, 2920, |w| collective(w, 7, WORLD, NONE, mine, 40 - mine));
    w.call("MPI_Gatherv", 2930, 2940, |w| {
        collective(w, 3, WORLD, 0, mine, if rank == 0 { 40 } else { 0 });
    });
    w.call("MPI_Reduce_scatter", 2950, 2960, |w| collective(w, 13, WORLD, NONE, 40, 2 * mine));
    // Rows send 60 and 20, columns receive 20 and 60.
    let (sent, received) = [(60, 20), (20, 60)][rank];
    w.call("MPI_Alltoallv", 2970, 2980, |w| collective(w, 9, WORLD, NONE, sent, received));
    w.call("MPI_Scan", 2990, 2995, |w| {
        let rank = rank as u64;
        collective(w, 14, REVERSED, NONE, (2 - (1 - rank)) * 16, (2 - rank) * 16);
    });
}

#[test]
fn calls_become_operations() {
    for big in [false, true] {
        let ops = ops(two(big, program));
        let Op::NewComm(CommId::WORLD, NewComm::CreateGroup(members, 2)) = &ops[0] else { panic!("{ops:?}") };
        assert_eq!(members[..], [1, 0]);
        assert_eq!(ops[1], Op::Call("MPI_Init", Duration(10_000_000)));
        let Op::Receive(receive, Start::Request(first)) = ops[2] else { panic!("{:?}", ops[2]) };
        assert_eq!((receive.from, receive.tag), (Peer::Rank(1), TagMatch::Tag(5)));
        let Op::Send(send, Start::Request(second)) = ops[3] else { panic!("{:?}", ops[3]) };
        assert_eq!(
            (send.to, send.bytes, first, second),
            (Peer::Rank(1), Bytes(4096), Request(0), Request(1))
        );
        assert_eq!(ops[4], Op::Wait([Request(1), Request(0)].into(), Until::All));
        assert!(matches!(ops[5], Op::SendReceive(..)), "{:?}", ops[5]);
        // One call that starts two operations.
        let Op::Send(send, Start::Request(_)) = ops[6] else { panic!("{:?}", ops[6]) };
        assert_eq!((send.to, send.comm), (Peer::Rank(0), CommId(1002)));
        assert!(matches!(ops[7], Op::Receive(_, Start::Request(_))), "{:?}", ops[7]);
        let sizes = ops[9..16].iter().map(|op| match op {
            Op::Collective(call, Start::Blocking) => (call.kind, call.sizes.clone()),
            other => panic!("{other:?}"),
        });
        let own =
            |send: [u64; 2], receive: [u64; 2]| Sizes::Own { send: send.into(), receive: receive.into() };
        let by_rank = || Sizes::ByRank([10, 30].into());
        // Of all-to-all only sums are known: 60 × 20 / 80 and 60 × 60 / 80; 60 × 20 / 80 and 20 × 20 / 80.
        let expected = [
            (Kind::Allreduce, Sizes::Equal(Bytes(24))),
            (Kind::Allgatherv, by_rank()),
            (Kind::Allgatherv, by_rank()),
            (Kind::Gatherv, by_rank()),
            (Kind::ReduceScatter, by_rank()),
            (Kind::Alltoallv, own([15, 45], [15, 5])),
            (Kind::Scan, Sizes::Equal(Bytes(16))),
        ];
        assert_eq!(sizes.collect::<Vec<_>>(), expected);
        assert_eq!(ops[16..], [Op::Call("MPI_Finalize", Duration::ZERO), Op::Finish]);
    }
}

fn converted(set: &SharedSet) -> SharedSet {
    let hosts = set.hosts();
    let files = (0..set.ranks()).map(|rank| {
        let mut content = Vec::new();
        convert(&**set, &set.head(Rank(rank), &hosts[rank as usize]), &mut content).unwrap();
        TraceFile::new(file_name(rank), content)
    });
    trace::recognise(files.collect()).unwrap()
}

/// Calls that only waited take no time in a replay, nor in a replay of the same trace in another format: a wait that
/// completed nothing, a call that created a communicator, MPI_Finalize. Their recorded lengths are 100, 200 and 500
/// µs.
#[test]
fn what_only_waited_does_so_in_hopcasts_format_too() {
    let waits = |rank: usize, w: &mut Writer| {
        w.call("MPI_Waitall", 1100, 1200, |_| {});
        w.call("MPI_Comm_dup", 1300, 1500, |_| {});
        program(rank, w);
    };
    let set = trace::recognise(two(false, waits)).unwrap();
    let replayed = |set: SharedSet| {
        let mut source = trace::replay(set, ReplayOptions::default()).unwrap();
        let run = drive::run(&mut source, 2);
        assert_eq!(source.take_error(), None);
        run
    };
    let (original, copy) = (replayed(set.clone()), replayed(converted(&set)));
    let nothing = |name| Op::Call(name, Duration::ZERO);
    for name in ["MPI_Waitall", "MPI_Comm_dup", "MPI_Finalize"] {
        assert!(original.ops[0].contains(&nothing(name)), "{name}");
    }
    assert_eq!(copy.ops, original.ops);
    assert_eq!(copy.ends, original.ends);
    // The recorded times stay unchanged.
    let times = |set: &SharedSet| -> Vec<_> {
        set.recorded_calls(Rank(1), Clocks::Aligned).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(times(&converted(&set)), times(&set));
}

#[test]
fn gaps_are_computed_on_the_common_clock() {
    let set = trace::recognise(two(false, |_, _| {})).unwrap();
    // Rank 0 begins at 1000; so does rank 1, whose clock shows 0 at that moment.
    let first = |clocks| {
        let mut of =
            (0..2).map(|rank| set.recorded_calls(Rank(rank), clocks).unwrap().nth(1).unwrap().unwrap());
        [of.next().unwrap(), of.next().unwrap()]
            .map(|call| (call.begin.0 / 1_000_000, call.end.0 / 1_000_000))
    };
    assert_eq!(first(Clocks::Aligned), [(0, 10), (0, 10)]);
    assert_eq!(first(Clocks::Recorded), [(1000, 1010), (0, 10)]);
    let options =
        ReplayOptions { mode: Mode::Dependencies, clocks: Clocks::Aligned, ..ReplayOptions::default() };
    let mut source = trace::replay(set.clone(), options).unwrap();
    let run = drive::run(&mut source, 2);
    assert_eq!(run.ops[0][2], Op::Compute(Work::Time(Duration((900_000 - 1010) * 1_000_000))));
    // 10 µs of MPI_Init, and the computing.
    assert_eq!(run.ends[0], Time((900_000 - 1000) * 1_000_000));
    assert_eq!(set.hosts(), ["h0", "h1"]);
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let error = |files: Vec<TraceFile>| trace::recognise(files).err().expect("refused").to_string();
    let whole = || two(false, program);
    let without = |name: &str| whole().into_iter().filter(|file| &*file.name != name).collect::<Vec<_>>();
    assert_eq!(error(without("run/made.def")), "run/made.otf2: its part run/made.def is missing");
    assert_eq!(error(without("run/made/1.evt")), "run/made.otf2: its part run/made/1.evt is missing");
    let wrong = two(false, |_, w| w.call("MPI_Send", 2000, 2001, |w| w.numbers(14, &[2, WORLD, 5, 4])));
    let set = trace::recognise(wrong).unwrap();
    let mut source = trace::replay(set, ReplayOptions::default()).unwrap();
    drive::run(&mut source, 2);
    let error = source.take_error().unwrap().to_string();
    assert!(
        error.starts_with("run/made/0.evt: byte ") && error.ends_with("names rank 2 of a communicator of 2"),
        "{error}"
    );
}

#[test]
fn damaged_archives_are_refused_or_read() {
    fuzz::use_all(two(false, program)).unwrap();
    fuzz::each(2_000, |random| {
        let mut files = two(random.below(2) == 1, program);
        let which = random.below(files.len());
        let mut content = common::content(&files[which]);
        common::damage::damage(&mut content, random);
        files[which] = TraceFile::new(files[which].name.clone(), content);
        fuzz::use_all(files).map_err(|error| {
            let named = error.file.starts_with("run/made");
            assert!(named || error.reason.starts_with("not a trace"), "no file in '{error}'");
        })
    });
}

#[test]
fn an_archive_cut_anywhere_says_so() {
    let whole = two(false, program);
    for which in 0..whole.len() {
        let content = common::content(&whole[which]);
        for length in 0..content.len() - 1 {
            let mut files = whole.clone();
            files[which] = TraceFile::new(files[which].name.clone(), content[..length].to_vec());
            let name = files[which].name.clone();
            // In the anchor, bytes after the properties are not read.
            let Err(error) = fuzz::use_all(files) else {
                assert!(name.ends_with(".otf2") && length > 60, "{length} bytes of {name} were read");
                continue;
            };
            assert!(error.file.starts_with("run/made"), "{length} bytes of {name}: {error}");
        }
    }
}
