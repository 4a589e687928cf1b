//! Rounds of a test that damages files: the same in every run, or, with `HOPCAST_FUZZ_SECONDS=60`, for that long from
//! a different seed each time.

use std::time::{Duration, Instant, SystemTime};

use mpi::Rank;
use workload::trace::{self, Clocks, Mode, ReplayOptions, TraceError, TraceFile};

use super::damage::Random;
use super::drive;

/// Calls `try_one` in each round, with different random numbers; it returns `Ok` if the files were read.
#[allow(clippy::disallowed_methods)] // asked for seconds, a test needs a clock
#[track_caller]
pub fn each(rounds: u64, mut try_one: impl FnMut(&mut Random) -> Result<(), ()>) {
    let (mut whole, mut refused) = (0, 0);
    let mut one = |round: u64| match try_one(&mut Random::of(round)) {
        Ok(()) => whole += 1,
        Err(()) => refused += 1,
    };
    match std::env::var("HOPCAST_FUZZ_SECONDS") {
        Err(_) => {
            (0..rounds).for_each(one);
            assert!(whole > rounds / 50 && refused > rounds / 3, "{whole} read, {refused} refused");
        }
        Ok(seconds) => {
            let seconds = seconds.parse().expect("HOPCAST_FUZZ_SECONDS is a number of seconds");
            let start = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() << 24;
            println!("fuzzing for {seconds} s from round {start}");
            let end = Instant::now() + Duration::from_secs(seconds);
            (start..).take_while(|_| Instant::now() < end).for_each(&mut one);
            println!("{whole} read, {refused} refused");
        }
    }
}

/// Uses a trace in every way that hopcast offers.
pub fn use_all(files: Vec<TraceFile>) -> Result<(), TraceError> {
    let opened = trace::recognise(files)?;
    opened.summary(Clocks::Aligned)?;
    for rank in 0..opened.ranks() {
        opened.recorded_calls(Rank(rank), Clocks::Recorded)?.collect::<Result<Vec<_>, _>>()?;
    }
    for (_, mode) in Mode::ALL {
        if !(opened.timed() && opened.common_time())
            && matches!(mode, Mode::Timestamps | Mode::ShiftedTimestamps)
        {
            continue;
        }
        let options = ReplayOptions { mode: *mode, clocks: Clocks::Aligned, ..ReplayOptions::default() };
        let mut source = trace::replay(opened.clone(), options)?;
        drive::run(&mut source, opened.ranks());
        source.warnings();
        source.take_error().map_or(Ok(()), Err)?;
    }
    Ok(())
}
