//! One file of any format but DUMPI's, as all of a run: `cargo +nightly fuzz run readers FOLDER`, where FOLDER holds
//! some traces to begin with.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpi::operation::{CommId, Work};
use mpi::{Completion, Op, Rank, Source};
use workload::trace::{self, Clocks, Mode, ReplayOptions, TraceError, TraceFile};

fuzz_target!(|content: &[u8]| {
    if let Err(error) = use_all(content) {
        assert!(["fuzz-0.txt", "--mode"].contains(&error.file.as_str()), "{error}");
    }
});

fn use_all(content: &[u8]) -> Result<(), TraceError> {
    let set = trace::recognise(vec![TraceFile::new("fuzz-0.txt", content.to_vec())])?;
    set.summary(Clocks::Aligned)?;
    for rank in 0..set.ranks() {
        set.recorded_calls(Rank(rank), Clocks::Recorded)?.collect::<Result<Vec<_>, _>>()?;
        for (_, mode) in Mode::ALL {
            let mut source = trace::replay(set.clone(), ReplayOptions { mode: *mode, clocks: Clocks::Aligned })?;
            replay(&mut source, Rank(rank));
            source.take_error().map_or(Ok(()), Err)?;
        }
    }
    Ok(())
}

/// One rank to its end, with every operation done at once.
fn replay(source: &mut dyn Source, rank: Rank) {
    let mut done = Completion::default();
    let mut comms = 2;
    loop {
        done.done.clear();
        match source.next(rank, &done) {
            Op::Finish | Op::Abort(_) => return,
            Op::SleepUntil(time) => done.now = done.now.max(time),
            Op::Compute(Work::Time(time) | Work::Polled(time)) => done.now = engine::Time(done.now.0.saturating_add(time.0)),
            Op::Wait(requests, _) | Op::Test(requests, _) => {
                done.done.extend((0..requests.len() as u32).map(|at| (at, mpi::source::Status::EMPTY)));
            }
            Op::NewComm(..) => {
                done.comm = CommId(comms);
                comms += 1;
            }
            _ => {}
        }
    }
}
