//! OTF2 archives, compared with the output of OTF2's own library: every event of every location, with its time and
//! numbers.

use crate::common;

use std::path::Path;

use common::drive;
use mpi::{Op, Rank};
use workload::trace::hct::write::{convert, file_name};
use workload::trace::otf2::{CollectiveCall, Event, Otf2Set};
use workload::trace::{self, Clocks, Mode, ReplayOptions, TraceFile, TraceSet};

/// Files of an archive: its anchor, its definitions, and those of its folder.
fn archive(folder: &Path) -> Vec<TraceFile> {
    let mut files = common::folder(folder);
    files.extend(common::folder(&folder.join("traces")));
    files
}

/// Number between the last angle brackets before the end of `field: …`.
fn number(line: &str, field: &str) -> u64 {
    let from = line.find(field).unwrap_or_else(|| panic!("no {field} in {line}")) + field.len();
    let rest = line[from..].trim_start();
    // Names precede their numbers: "MPI_COMM_WORLD" <0>; ranks precede the names of their locations.
    let text = match rest.split_once("\" <") {
        Some((_, number)) if rest.starts_with('"') => number.split('>').next().unwrap(),
        _ => rest.split([' ', ',']).next().unwrap(),
    };
    text.parse().unwrap_or_else(|_| panic!("no number in {text} of {line}"))
}

/// Name, time and numbers of an event, from a line of the reference.
fn of_reference(line: &str) -> Option<(String, u64, Vec<u64>)> {
    let mut words = line.split_whitespace();
    let (name, _, time) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
    let get = |fields: &[&str]| fields.iter().map(|field| number(line, field)).collect();
    let numbers = match name {
        "ENTER" | "LEAVE" => get(&["Region:"]),
        "MPI_SEND" => get(&["Receiver:", "Communicator:", "Tag:", "Length:"]),
        "MPI_ISEND" => get(&["Receiver:", "Communicator:", "Tag:", "Length:", "Request:"]),
        "MPI_RECV" => get(&["Sender:", "Communicator:", "Tag:", "Length:"]),
        "MPI_IRECV" => get(&["Sender:", "Communicator:", "Tag:", "Length:", "Request:"]),
        "MPI_ISEND_COMPLETE" | "MPI_IRECV_REQUEST" => get(&["Request:"]),
        "MPI_COLLECTIVE_BEGIN" => Vec::new(),
        "MPI_COLLECTIVE_END" => {
            const NAMES: [&str; 17] = [
                "BARRIER",
                "BCAST",
                "GATHER",
                "GATHERV",
                "SCATTER",
                "SCATTERV",
                "ALLGATHER",
                "ALLGATHERV",
                "ALLTOALL",
                "ALLTOALLV",
                "ALLTOALLW",
                "ALLREDUCE",
                "REDUCE",
                "REDUCE_SCATTER",
                "SCAN",
                "EXSCAN",
                "REDUCE_SCATTER_BLOCK",
            ];
            let operation = line.split("Operation: ").nth(1).unwrap().split(',').next().unwrap();
            let operation = NAMES.iter().position(|name| *name == operation).unwrap() as u64;
            let root = if line.contains("Root: NONE") { u32::MAX.into() } else { number(line, "Root:") };
            let rest: Vec<u64> = get(&["Communicator:", "Sent:", "Received:"]);
            vec![operation, rest[0], root, rest[1], rest[2]]
        }
        "MEASUREMENT_ON_OFF" => vec![line.contains("Mode: ON").into()],
        _ => return None,
    };
    Some((name.to_string(), time, numbers))
}

fn of_reader(event: Event, ticks: u64) -> Option<(String, u64, Vec<u64>)> {
    let n = |numbers: &[u64]| numbers.to_vec();
    let (name, numbers) = match event {
        Event::Enter(region) => ("ENTER", n(&[region.into()])),
        Event::Leave(region) => ("LEAVE", n(&[region.into()])),
        Event::Send(m) => ("MPI_SEND", n(&[m.peer.into(), m.comm.into(), m.tag.into(), m.bytes])),
        Event::SendBegins(m, r) => {
            ("MPI_ISEND", n(&[m.peer.into(), m.comm.into(), m.tag.into(), m.bytes, r]))
        }
        Event::Receive(m) => ("MPI_RECV", n(&[m.peer.into(), m.comm.into(), m.tag.into(), m.bytes])),
        Event::ReceiveComplete(m, r) => {
            ("MPI_IRECV", n(&[m.peer.into(), m.comm.into(), m.tag.into(), m.bytes, r]))
        }
        Event::SendComplete(request) => ("MPI_ISEND_COMPLETE", n(&[request])),
        Event::ReceiveBegins(request) => ("MPI_IRECV_REQUEST", n(&[request])),
        Event::CollectiveBegins => ("MPI_COLLECTIVE_BEGIN", n(&[])),
        Event::Collective(CollectiveCall { operation, comm, root, sent, received }) => {
            ("MPI_COLLECTIVE_END", n(&[operation.into(), comm.into(), root.into(), sent, received]))
        }
        Event::Recording(on) => ("MEASUREMENT_ON_OFF", n(&[on.into()])),
        _ => return None,
    };
    Some((name.to_string(), ticks, numbers))
}

/// Compares every event of every rank with the library's output, and returns their number.
#[track_caller]
fn same_as_printed(folder: &Path) -> usize {
    let printed = common::unxz(&folder.join("reference-otf2-print.txt.xz"));
    let set = Otf2Set::open(archive(folder)).unwrap();
    let mut count = 0;
    for rank in 0..set.ranks() {
        let of_rank = printed
            .lines()
            .filter(|line| line.split_whitespace().nth(1).and_then(|word| word.parse().ok()) == Some(rank));
        let mut expected = of_rank.filter_map(of_reference);
        let mut events = set.events(Rank(rank), Clocks::Aligned).unwrap();
        while let Some((stamp, event)) = events.next().unwrap() {
            if let Some(read) = of_reader(event, stamp.ticks) {
                assert_eq!(Some(read), expected.next(), "rank {rank}, byte {}", stamp.offset);
                count += 1;
            }
        }
        assert_eq!(expected.next(), None, "rank {rank}");
    }
    count
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn stencil4d_is_read_as_the_library_reads_it() {
    let data = common::data("otf2/tracer/traces-32");
    // All lines of the reference: 1251 + 1249 + 3 × 512 + 3 × 96.
    assert_eq!(same_as_printed(&data), 4324);
    let set = trace::recognise(archive(&data)).unwrap();
    assert_eq!((set.format(), set.ranks()), ("otf2", 32));
    let (on_first, on_second) = (0..32).partition::<Vec<usize>, _>(|&rank| set.hosts()[rank] == "quartz1");
    assert_eq!((on_first.len(), on_second.len()), (16, 16));
    assert_eq!(set.hosts()[31], "quartz2");
    let summary = set.summary(Clocks::Aligned).unwrap();
    // 2 iterations × 8 neighbours of each of the 32, 128 KiB each.
    assert_eq!(summary.ranks.iter().map(|rank| rank.messages).sum::<u64>(), 512);
    assert_eq!(summary.ranks.iter().map(|rank| rank.bytes).sum::<u64>(), 512 * 131_072);
    let calls: Vec<_> = summary.calls.iter().map(|(name, count)| format!("{name} {count}")).collect();
    assert_eq!(calls, ["MPI_Barrier 96", "MPI_Init 32", "MPI_Irecv 512", "MPI_Send 512", "MPI_Waitall 64"]);
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn ten_ranks_are_read_as_the_library_reads_them() {
    let data = common::data("otf2/misc/sst-macro-otf2_test_traces");
    assert_eq!(same_as_printed(&data), 2 * 7010 + 4 * 1440 + 2 * 1200);
    let set = trace::recognise(archive(&data)).unwrap();
    assert_eq!(set.hosts()[..2], ["kn1.eth", "kn2.eth"]);
    assert_eq!(set.warnings(), Vec::<String>::new());
    let summary = set.summary(Clocks::Aligned).unwrap();
    let count = |name: &str| summary.calls.iter().find(|call| call.0 == name).unwrap().1;
    assert_eq!([count("MPI_Wait"), count("MPI_Alltoall"), count("MPI_Comm_split")], [1080, 360, 20]);
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn ping_pong_is_read_as_the_library_reads_it() {
    let data = common::data("otf2/misc/pipit-ping-pong-otf2");
    assert_eq!(same_as_printed(&data), 2 * 42 + 2 * 16);
    // The same program, with counters of the processor among its events.
    let set = trace::recognise(archive(&data.join("../pipit-ping-pong-otf2-papi"))).unwrap();
    let summary = set.summary(Clocks::Aligned).unwrap();
    assert_eq!(summary.ranks.iter().map(|rank| rank.messages).sum::<u64>(), 16);
    // 16 KiB doubled seven times, there and back.
    assert_eq!(summary.ranks[0].bytes, (0..8).map(|n| 16_384 << n).sum::<u64>());
}

/// Replays in every mode; every message finds its receive.
#[track_caller]
fn runs_to_its_end(folder: &Path) {
    let opened = trace::recognise(archive(folder)).unwrap();
    for (name, mode) in Mode::ALL {
        let options = ReplayOptions { mode: *mode, clocks: Clocks::Aligned, ..ReplayOptions::default() };
        let mut source = trace::replay(opened.clone(), options).unwrap();
        let run = drive::run(&mut source, opened.ranks());
        assert_eq!(source.take_error(), None, "{name}");
        assert_eq!((run.stuck, run.left_over), (vec![], 0), "{name}");
        if !matches!(mode, Mode::None | Mode::NoDependencies) {
            for (rank, ops) in run.ops.iter().enumerate() {
                let between = |op: &&Op| matches!(op, Op::Compute(_) | Op::SleepUntil(_) | Op::Finish);
                let calls = ops.iter().filter(|op| !between(op)).count();
                let recorded = opened.recorded_calls(Rank(rank as u32), Clocks::Aligned).unwrap();
                assert_eq!(calls, recorded.count(), "{name}, rank {rank}");
            }
        }
    }
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn all_archives_run_to_their_end() {
    let data = common::data("otf2");
    runs_to_its_end(&data.join("tracer/traces-32"));
    for archive in ["sst-macro-otf2_test_traces", "pipit-ping-pong-otf2", "pipit-ping-pong-otf2-papi"] {
        runs_to_its_end(&data.join("misc").join(archive));
    }
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn an_archive_converts_and_replays_alike() {
    let data = common::data("otf2/misc/sst-macro-otf2_test_traces");
    let archive = trace::recognise(archive(&data)).unwrap();
    let hosts = archive.hosts();
    let mut files = Vec::new();
    for rank in 0..archive.ranks() {
        let mut content = Vec::new();
        convert(&*archive, &archive.head(Rank(rank), &hosts[rank as usize]), &mut content).unwrap();
        files.push(TraceFile::new(file_name(rank), content));
    }
    // The same communication; times in files are whole nanoseconds.
    let replayed = |set| {
        let mut source = trace::replay(set, ReplayOptions::default()).unwrap();
        let run = drive::run(&mut source, 10);
        assert_eq!((source.take_error(), run.stuck, run.left_over), (None, vec![], 0));
        let timed = |op: &Op| matches!(op, Op::Compute(_) | Op::SleepUntil(_) | Op::Call(..));
        run.ops
            .into_iter()
            .map(|ops| ops.into_iter().filter(|op| !timed(op)).collect())
            .collect::<Vec<Vec<_>>>()
    };
    assert_eq!(replayed(trace::recognise(files).unwrap()), replayed(archive));
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn an_archive_without_mpi_is_refused_with_its_reason() {
    let data = common::data("otf2/misc/fastotf2-simple-mi300-example-run.tar.xz");
    let error = trace::recognise(common::untar(&data)).err().expect("nothing can be replayed");
    let reason = "none of the 32 locations is a rank of MPI: nothing can be replayed";
    assert_eq!(error.to_string(), format!("simple-mi300-example-run/traces.def: {reason}"));
}
