//! One DUMPI file, as the only rank of a run: `cargo +nightly fuzz run dumpi FOLDER`, where FOLDER holds
//! some `.bin` files to begin with.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpi::operation::{CommId, Work};
use mpi::{Completion, Op, Rank, Source};
use workload::trace::dumpi::{DumpiFile, text};
use workload::trace::{self, Clocks, Mode, ReplayOptions, TraceError, TraceFile};

fuzz_target!(|content: &[u8]| {
    if let Err(error) = use_all(content) {
        assert_eq!(error.file, "fuzz-0000.bin", "{error}");
    }
});

fn use_all(content: &[u8]) -> Result<(), TraceError> {
    let file = TraceFile::new("fuzz-0000.bin", content.to_vec());
    let opened = DumpiFile::open(file.clone())?;
    let mut out = std::io::sink();
    let (keyvals, addresses) = (opened.keyvals()?, opened.addresses()?);
    text::write_footer(&opened, &keyvals, &addresses, &mut out).expect("a sink takes all");
    let mut records = opened.records(64)?;
    while let Some(record) = records.next()? {
        text::write_record(record, &opened, &addresses, &mut out).expect("a sink takes all");
    }
    let set = trace::recognise(vec![file])?;
    set.summary(Clocks::Aligned)?;
    for (_, mode) in Mode::ALL {
        let mut source = trace::replay(set.clone(), ReplayOptions { mode: *mode, clocks: Clocks::Aligned })?;
        replay(&mut source);
        source.take_error().map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// To the end, with every operation done at once.
fn replay(source: &mut dyn Source) {
    let mut done = Completion::default();
    let mut comms = 2;
    loop {
        match source.next(Rank(0), &done) {
            Op::Finish | Op::Abort(_) => return,
            Op::SleepUntil(time) => done.now = done.now.max(time),
            Op::Compute(Work::Time(time)) => done.now = engine::Time(done.now.0.saturating_add(time.0)),
            Op::NewComm(..) => {
                done.comm = CommId(comms);
                comms += 1;
            }
            _ => {}
        }
    }
}
