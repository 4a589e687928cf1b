//! Speed of reading and translating DUMPI files: prints MB/s and calls/s, and asserts nothing.
//!
//! Run it as `cargo bench -p workload --bench dumpi [-- FOLDER]`: FOLDER holds a recorded set unpacked;
//! without one, the recording of LULESH in `$HOPCAST_DATA` (or `../shared/data`) is taken, else a made
//! one. Files are in memory, so that the disk is not what is measured.

use std::path::Path;
use std::time::Instant;

use mpi::{Completion, Op, Rank, Source};
use workload::trace::{self, Clocks, Mode, ReplayOptions, SharedSet, TraceFile};

#[allow(dead_code, reason = "a part of what tests need")]
#[path = "../tests/common/mod.rs"]
mod common;

use common::writer::{Value, Writer, set};

fn main() {
    let folder = std::env::args().nth(1).filter(|argument| !argument.starts_with('-'));
    let (name, files) = match folder {
        Some(folder) => (folder.clone(), common::folder(Path::new(&folder))),
        None if cfg!(recorded_data) => {
            let archive = common::data("dumpi/LULESH-64ranks-hopper.tar.xz");
            ("LULESH, 64 ranks of Hopper".to_string(), common::untar(&archive))
        }
        None => ("made: sends and waits".to_string(), made()),
    };
    let bytes: u64 = files.iter().map(|file| file.bytes.size()).sum();
    let opened = trace::recognise(files).expect("a readable trace");
    println!("{name}: {:.1} MB", bytes as f64 / 1e6);
    report("read every record", bytes, || {
        (0..opened.ranks())
            .map(|rank| opened.recorded_calls(Rank(rank), Clocks::Recorded).expect("readable").count() as u64)
            .sum()
    });
    report("translate every call", bytes, || replay_alone(&opened));
}

/// The best of five runs.
#[allow(clippy::disallowed_methods)] // a bench reads a clock
fn report(what: &str, bytes: u64, mut run: impl FnMut() -> u64) {
    let mut best = f64::INFINITY;
    let mut calls = 0;
    for _ in 0..5 {
        let start = Instant::now();
        calls = run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    let (megabytes, millions) = (bytes as f64 / 1e6 / best, calls as f64 / 1e6 / best);
    println!("  {what:22} {megabytes:8.0} MB/s {millions:8.2} million calls/s");
}

/// Asks for all operations of each rank, as if all were done at once.
fn replay_alone(opened: &SharedSet) -> u64 {
    let options =
        ReplayOptions { mode: Mode::Timestamps, clocks: Clocks::Recorded, ..ReplayOptions::default() };
    let mut source = trace::replay(opened.clone(), options).expect("replayable");
    let mut calls = 0;
    for rank in 0..opened.ranks() {
        let mut done = Completion::default();
        loop {
            match source.next(Rank(rank), &done) {
                Op::Finish => break,
                Op::SleepUntil(time) => done.now = time,
                _ => calls += 1,
            }
        }
    }
    assert_eq!(source.take_error(), None);
    calls
}

fn made() -> Vec<TraceFile> {
    let file = |_| {
        let mut writer = Writer::new();
        for call in 0..200_000 {
            let number = |n: i64| Value::Number(n);
            let message = [
                ("count", number(100)),
                ("datatype", number(14)),
                ("comm", number(2)),
                ("request", number(2)),
            ];
            writer.call("MPI_Isend", 20 * call, 20 * call + 5, &message);
            writer.call("MPI_Wait", 20 * call + 10, 20 * call + 15, &[("request", number(2))]);
        }
        writer.call("MPI_Finalize", 5_000_000, 5_000_001, &[]);
        writer.finish("host")
    };
    set((0..4).map(file).collect())
}
