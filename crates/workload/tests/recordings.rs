//! Real recordings, replayed without a network: every message finds its receive, and every mode reaches its end.

use crate::common;

use common::drive;
use mpi::{Op, Rank};
use workload::trace::{self, Clocks, Mode, ReplayOptions, TraceFile};

/// Replays a real recording: every message finds its receive, and each call becomes one operation.
#[track_caller]
fn runs_to_its_end(files: Vec<TraceFile>) {
    let opened = trace::recognise(files).unwrap();
    for (name, mode) in Mode::ALL {
        let mut source = trace::replay(
            opened.clone(),
            ReplayOptions { mode: *mode, clocks: Clocks::Aligned, ..ReplayOptions::default() },
        )
        .unwrap();
        let run = drive::run(&mut source, opened.ranks());
        assert_eq!(source.take_error(), None, "{name}");
        assert!(run.stuck.is_empty(), "{name}: {:?} cannot go on", run.stuck);
        assert_eq!(run.left_over, 0, "{name}");
        assert_eq!(source.warnings(), [], "{name}");
        if !matches!(mode, Mode::None | Mode::NoDependencies) {
            for (rank, ops) in run.ops.iter().enumerate() {
                let calls =
                    ops.iter().filter(|op| !matches!(op, Op::Compute(_) | Op::SleepUntil(_) | Op::Finish));
                let recorded = opened.recorded_calls(Rank(rank as u32), Clocks::Aligned).unwrap();
                assert_eq!(calls.count(), recorded.count(), "{name}, rank {rank}");
            }
        }
    }
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn lulesh_runs_to_its_end() {
    let data = common::data("dumpi/LULESH-64ranks-hopper.tar.xz");
    let files = common::untar(&data);
    let opened = trace::recognise(files.clone()).unwrap();
    assert_eq!(opened.hosts()[..17].iter().filter(|host| *host == "nid04037").count(), 16);
    // The paper's run took 54.47 s; on aligned clocks its end is 54.47 s after its begin, too.
    let summary = opened.summary(Clocks::Aligned).unwrap();
    assert!((summary.longest().seconds() - 54.469092).abs() < 1e-6, "{}", summary.longest());
    assert!((summary.total().seconds() - 54.47).abs() < 0.02, "{}", summary.total());
    runs_to_its_end(files);
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn imb_and_hpcg_run_to_their_end() {
    let data = common::data("dumpi");
    runs_to_its_end(common::untar(&data.join("IMB-pingpong-16ranks-fudan.tar.xz")));
    runs_to_its_end(common::untar(&data.join("HPCG-16ranks-fudan.tar.xz")));
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn small_sets_run_to_their_end() {
    let data = common::data("dumpi-sst");
    let named = |prefix: &str| {
        common::folder(&data).into_iter().filter(|f| f.base_name().starts_with(prefix)).collect()
    };
    runs_to_its_end(named("testtrace"));
    runs_to_its_end(named("testbgp"));
    for run in ["run_0", "run_1"] {
        runs_to_its_end(common::folder(
            &data.join("../dumpi-to-graph/synthetic/naive_all_to_all/procs4").join(run),
        ));
    }
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn two_runs_in_one_folder_are_not_chosen_from() {
    let data = common::data("dumpi-sst");
    let error = trace::recognise(common::folder(&data)).err().unwrap().to_string();
    assert!(error.contains("testbgp.meta") && error.contains("testtrace.meta"), "{error}");
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn one_rank_of_many_is_not_replayed_as_all() {
    let data = common::data("dumpi-cortex/AMG.bin");
    let opened = trace::recognise(vec![common::file(&data)]).unwrap();
    assert!(opened.warnings()[0].contains("without MPI_Finalize"), "{:?}", opened.warnings());
    assert_eq!(opened.alone(), Some(trace::Alone { rank: 0, ranks: 27 }));
    let calls = opened.events(Rank(0), Clocks::Aligned).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(calls.iter().filter(|event| event.shape.call.0 == "MPI_Isend").count(), 386);
    let error = trace::replay(opened, ReplayOptions::default()).err().unwrap().to_string();
    assert!(
        error.ends_with("is rank 0 of 27, and the files of the other ranks are not beside it"),
        "{error}"
    );
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn a_set_without_one_of_its_files_names_the_rank() {
    let data = common::data("dumpi-sst");
    let files = || common::folder(&data).into_iter().filter(|file| file.base_name().starts_with("testtrace"));
    let without = |name: &str| {
        let left = files().filter(|file| file.base_name() != name).collect();
        trace::recognise(left).err().unwrap().to_string()
    };
    // The .meta file says that there are four, so that a missing last file is noticed, too.
    assert!(without("testtrace-0001.bin").contains("must have 4; rank 1 is missing"));
    assert!(without("testtrace-0003.bin").contains("must have 4; rank 3 is missing"));
}
