//! Readers of text formats and of schedules: the operations of small runs of our own, and complete reading and replay
//! of traces of others.

use crate::common;

use std::path::Path;

use common::{drive, samples};
use engine::{Bytes, Duration, Time};
use mpi::operation::{Peer, Work};
use mpi::{Op, Rank};
use workload::trace::{self, Clocks, Mode, ReplayOptions, SharedSet, Summary, TraceFile};

fn options(mode: Mode) -> ReplayOptions {
    ReplayOptions { mode, clocks: Clocks::Aligned, ..ReplayOptions::default() }
}

#[track_caller]
fn run(opened: &SharedSet, mode: Mode) -> drive::Run {
    let mut source = trace::replay(opened.clone(), options(mode)).unwrap();
    let run = drive::run(&mut source, opened.ranks());
    assert_eq!(source.take_error(), None);
    assert!(run.stuck.is_empty(), "{:?} cannot go on", run.stuck);
    assert_eq!(run.left_over, 0, "messages that nobody received");
    run
}

/// Replays a recording in every mode that it supports.
#[track_caller]
fn whole(files: Vec<TraceFile>) -> (SharedSet, Summary) {
    let opened = trace::recognise(files).unwrap();
    for (_, mode) in Mode::ALL {
        let has_times = opened.timed() && opened.common_time();
        if has_times || !matches!(mode, Mode::Timestamps | Mode::ShiftedTimestamps) {
            run(&opened, *mode);
        } else {
            let error = trace::replay(opened.clone(), options(*mode)).err().unwrap().to_string();
            let why = if opened.timed() { "no common time" } else { "has no times" };
            assert!(error.contains(why), "{error}");
        }
    }
    let summary = opened.summary(Clocks::Aligned).unwrap();
    (opened, summary)
}

fn messages(summary: &Summary) -> (u64, u64) {
    let sum = |of: fn(&trace::RankSummary) -> u64| summary.ranks.iter().map(of).sum();
    (sum(|rank| rank.messages), sum(|rank| rank.bytes))
}

fn count(summary: &Summary, name: &str) -> u64 {
    summary.calls.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
}

#[test]
fn every_sample_is_known_by_its_content_and_runs_to_its_end() {
    for (format, sample) in samples::all() {
        let (opened, _) = whole(samples::files(&sample));
        assert_eq!((opened.format(), opened.ranks()), (format, 2));
    }
}

#[test]
fn operations_and_elements_of_simgrid() {
    let (opened, summary) = whole(samples::files(&samples::simgrid()));
    // 1e3 bytes; 2e3 bytes; twice 10 elements of 4 bytes.
    assert_eq!(messages(&summary), (4, 1000 + 2000 + 2 * 40));
    let ops = run(&opened, Mode::Dependencies).ops;
    let computed = |rank: usize| {
        ops[rank].iter().filter_map(|op| match op {
            Op::Compute(Work::Flops { flops, .. }) => Some(*flops),
            _ => None,
        })
    };
    // The computing, then the computing of the reductions; none for no operations.
    assert_eq!(computed(0).collect::<Vec<_>>(), [1e6, 5e3, 1e3]);
    assert_eq!(ops[0].iter().filter(|op| matches!(op, Op::Collective(..))).count(), 14);
}

#[test]
fn old_traces_of_simgrid_have_no_tags() {
    let (opened, summary) = whole(samples::files(&samples::simgrid_untagged()));
    // "init 1": elements of 8 bytes; datatype 1 has 4.
    assert_eq!(messages(&summary), (2, 8 * 1000 + 5 * 4));
    let ops = run(&opened, Mode::Dependencies).ops;
    assert!(
        ops[0].iter().any(|op| matches!(op, Op::Send(send, _) if send.tag == 0 && send.to == Peer::Rank(1)))
    );
}

#[test]
fn both_forms_of_goal_say_the_same() {
    // Until the send: 1000 ns. The side calculation begins with it: on a processor of its own it ends at 6000 ns, and
    // 2000 ns follow. Messages take no time here, so the answer has arrived by then.
    let (text, summary) = whole(vec![TraceFile::new("a.goal", samples::GOAL.as_bytes().to_vec())]);
    assert_eq!(messages(&summary), (2, 108));
    assert_eq!(run(&text, Mode::Dependencies).ends, [Time(8_000_000), Time(3_000_000)]);
    assert!(text.warnings()[0].contains("2 processors"), "{:?}", text.warnings());
    let (binary, summary) = whole(vec![TraceFile::new("a.bin", samples::goal_binary())]);
    assert_eq!(messages(&summary), (2, 108));
    assert_eq!(run(&binary, Mode::Dependencies).ends, [Time(8_000_000), Time(3_000_000)]);
    assert_eq!(binary.warnings(), Vec::<String>::new());
}

#[test]
fn processors_of_a_rank_compute_at_the_same_time() {
    let schedule = |cpu: u32| {
        let text = format!(
            "num_ranks 1\nrank 0 {{\na: calc 300\nb: calc 500 cpu {cpu}\nc: calc 100\nc requires a\n}}\n"
        );
        trace::recognise(vec![TraceFile::new("a.goal", text.into_bytes())]).unwrap()
    };
    let end = |cpu: u32| run(&schedule(cpu), Mode::Dependencies).ends[0];
    assert_eq!([end(0), end(1)], [Time(900_000), Time(500_000)]);
}

#[test]
fn damaged_schedules_name_line_and_value() {
    let refusal = |text: &str| {
        let file = TraceFile::new("a.goal", text.as_bytes().to_vec());
        trace::recognise(vec![file]).err().unwrap_or_else(|| panic!("{text} was read")).to_string()
    };
    let rank = |lines: &str| refusal(&format!("num_ranks 1\nrank 0 {{\n{lines}\n}}\n"));
    assert_eq!(rank("send 8b to 1"), "a.goal: line 3: names rank 1, but the schedule has 1 ranks");
    assert_eq!(rank("a requires b"), "a.goal: line 3: names 'a', which is no operation before it");
    assert_eq!(rank("jump 3"), "a.goal: line 3: unknown operation 'jump'; known: send, recv, calc");
    assert_eq!(rank("calc 3 gpu 1"), "a.goal: line 3: unknown attribute 'gpu'; known: tag, cpu, nic");
    assert_eq!(rank("calc x"), "a.goal: line 3: 'x' is not a size");
    let cycle = "a: calc 1\nb: calc 1\na requires b\nb requires a";
    assert_eq!(
        rank(cycle),
        "a.goal: line 2: operation 1 of the rank that begins here waits for itself, by way of others"
    );
    assert_eq!(refusal("num_ranks 2\nrank 1 {\n}\n"), "a.goal: has 2 ranks, but rank 0 is missing");
}

#[test]
fn clocks_of_hosts_are_brought_together() {
    let (opened, summary) = whole(samples::files(&samples::allprof()));
    assert_eq!(opened.hosts(), ["node0", "node1"]);
    // Twice 200 bytes, 200 bytes, 8 bytes twice, 200 bytes twice.
    assert_eq!(messages(&summary), (7, 5 * 200 + 2 * 8));
    // From the first call at 10 µs to MPI_Finalize at 400 µs, on both, though one clock is a second ahead.
    assert_eq!(summary.total(), Duration(390_000_000));
    let recorded = opened.summary(Clocks::Recorded).unwrap();
    assert_eq!(recorded.total(), Duration(1_000_390_000_000));
}

#[test]
fn events_of_bigsim_compute_and_send_on_the_way() {
    let (opened, summary) = whole(samples::files(&samples::bigsim()));
    // To both, to one, the answer, to all except processor 0.
    assert_eq!(messages(&summary), (5, 2 * 80 + 304 + 304 + 16));
    let run = run(&opened, Mode::Dependencies);
    // Computing of each rank, as messages take no time here: 0.25 + 0.5 + 0.125 s, and 1 s.
    assert_eq!(run.ends, [Time(875_000_000_000), Time(1_000_000_000_000)]);
    let sent = run.ops[0].iter().filter_map(|op| match op {
        Op::Send(send, _) => Some((send.to, send.bytes)),
        _ => None,
    });
    let to = |rank, bytes| (Peer::Rank(rank), Bytes(bytes));
    assert_eq!(sent.collect::<Vec<_>>(), [to(0, 80), to(1, 80), to(1, 304), to(1, 16)]);
}

/// Files of an archive that lie in `folder`, or the one of that name.
fn within(archive: &Path, folder: &str) -> Vec<TraceFile> {
    let part = |file: &TraceFile| {
        let rest = file.name.trim_start_matches("./").strip_prefix(folder).map(str::to_string);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    common::untar(archive).into_iter().filter(part).collect()
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn traces_of_simgrid_are_read_whole() {
    let data = common::data("simgrid-ti/simgrid-replay-and-platforms.tar.xz");
    let all = common::untar(&data);
    let replay = |name: &str| {
        let found = all.iter().find(|file| file.name.ends_with(&format!("/replay/{name}"))).unwrap();
        whole(vec![found.clone()])
    };
    for (name, ranks, sent) in [
        ("actions_allgatherv.txt", 4, (0, 0)),
        ("actions_allreduce.txt", 3, (0, 0)),
        ("actions_alltoall.txt", 3, (0, 0)),
        ("actions_alltoallv.txt", 3, (0, 0)),
        ("actions_barrier.txt", 3, (1, 10_000_000)),
        ("actions_bcast.txt", 3, (0, 0)),
        ("actions_bcast_reduce_datatypes.txt", 3, (0, 0)),
        ("actions_gather.txt", 4, (0, 0)),
        ("actions_reducescatter.txt", 4, (0, 0)),
        ("actions_waitall.txt", 3, (3, 8_000)),
        ("actions_with_isend.txt", 3, (3, 3_000_000)),
    ] {
        let (opened, summary) = replay(name);
        assert_eq!((opened.ranks(), messages(&summary)), (ranks, sent), "{name}");
    }
    // The calls of 32 ranks: as many as their keywords in the files.
    let (opened, summary) = whole(within(&data, "examples/smpi/replay_multiple/ti_traces_32_1"));
    assert_eq!(opened.ranks(), 32);
    for (name, times) in
        [("MPI_Allreduce", 192), ("MPI_Alltoall", 160), ("MPI_Alltoallv", 64), ("MPI_Barrier", 512)]
    {
        assert_eq!(count(&summary, name), times, "{name}");
    }
    let (_, summary) = whole(within(&data, "examples/smpi/replay_multiple_manual_deploy/mixed"));
    assert_eq!(messages(&summary), (4, 4_000_000_000));
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn schedules_of_others_are_read_whole() {
    let data = common::data("goal");
    let goal = |name: &str| whole(vec![common::file(&data.join(name))]);
    for (name, ranks, sent) in [
        // n - 1 messages reach n ranks from one; dissemination takes log2(n) rounds of n.
        ("binary_tree_16.goal", 16, (15, 15)),
        ("binary_tree_32.goal", 32, (31, 31)),
        ("dissemination_16.goal", 16, (64, 64)),
        ("dissemination_32.goal", 32, (160, 160)),
        ("htsim_comp.goal", 16, (1, 80_000_000)),
        ("htsim_comp1.goal", 16, (0, 0)),
        ("htsim_one_send.goal", 16, (1, 80_000_000)),
        ("htsim_incast_8_1_2MiB.goal", 16, (2, 160_000_000)),
        ("llamp_blocking.goal", 2, (1, 4)),
        ("llamp_non_blocking.goal", 2, (1, 4)),
    ] {
        let (opened, summary) = goal(name);
        assert_eq!((opened.ranks(), messages(&summary)), (ranks, sent), "{name}");
    }
    // Computing of each rank, as messages take no time here: 1 + 2 µs and, without blocking, 4 µs more; 3 + 2 µs.
    let ends = |name: &str| run(&goal(name).0, Mode::Dependencies).ends;
    assert_eq!(ends("llamp_blocking.goal"), [Time(3_000_000), Time(5_000_000)]);
    assert_eq!(ends("llamp_non_blocking.goal"), [Time(7_000_000), Time(5_000_000)]);
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn liballprof_is_read_whole() {
    let data = common::data("goal");
    let (opened, summary) = whole(common::untar(&data.join("sweep3d-2x2.tar.xz")));
    assert_eq!(opened.hosts().len(), 4);
    // Counts of `cut -d: -f1 * | sort | uniq -c`.
    for (name, times) in [("MPI_Send", 5760), ("MPI_Recv", 5760), ("MPI_Allreduce", 128), ("MPI_Barrier", 12)]
    {
        assert_eq!(count(&summary, name), times, "{name}");
    }
    assert_eq!(messages(&summary).0, 5760);
    // Rank 0, from the return of MPI_Init to the call of MPI_Finalize: 1237666089489240 - 1237666046950106 µs.
    assert_eq!(summary.ranks[0].wall(), Duration(42_539_134_000_000));
    assert_eq!(opened.warnings(), Vec::<String>::new());
    let (opened, summary) = whole(common::folder(&data.join("bcast")));
    assert_eq!((opened.ranks(), count(&summary, "MPI_Bcast")), (4, 20));
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn logs_of_bigsim_are_read_whole() {
    let data = common::data("bigsim/jacobi2d-bigsim.tar.xz");
    // Every event that waits for a message has a message of its own, on 64 and on 32 processors.
    for (folder, ranks, events, sent) in [("traceJ0", 64, 13_910, 3_794), ("traceJ1", 32, 6_941, 1_881)] {
        let (opened, summary) = whole(within(&data, folder));
        assert_eq!((opened.ranks(), messages(&summary).0), (ranks, sent), "{folder}");
        assert_eq!((count(&summary, "event"), count(&summary, "MPI_Irecv")), (events, sent), "{folder}");
        assert_eq!(
            opened.recorded_calls(Rank(5), Clocks::Recorded).unwrap().count() as u64,
            summary.ranks[5].calls
        );
    }
}
