//! Recording of a process, of which there is one.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use workload::trace::hct::gaps::{self, Gap};
use workload::trace::hct::rank::{Clock, Head, RankWriter, Standing};
use workload::trace::hct::shape::Shape;

use crate::counts::{Counters, Counting, TAKEN};

struct Recording {
    path: String,
    writer: RankWriter<File>,
    /// Gap since the last call.
    between: Gap,
    /// Time that the rank has polled since then \[ns\].
    polled_ns: u64,
    /// Counters besides time.
    counting: Option<Counting>,
    /// Schedule of blocks by physical time, if the rank's clock stands still while others work.
    due: Option<Due>,
    watched: Watched,
}

/// State of the rank at the last look.
#[derive(Default)]
struct Watched {
    /// Number of calls that it had made.
    calls: u64,
    /// Standing that has been written, if any.
    told: Option<Option<Standing>>,
}

/// Interval of physical time between blocks.
struct Due {
    longest: Duration,
    /// Time of the last block.
    since: Instant,
}

impl Due {
    /// Makes a schedule for clocks that differ from physical time; for all others the writer itself keeps it.
    fn of(clock: Clock, block_ns: u64) -> Option<Due> {
        (clock == Clock::Cpu).then(|| Due { longest: Duration::from_nanos(block_ns), since: now() })
    }

    /// True if a block is due; then the next interval begins.
    fn is_over(&mut self) -> bool {
        let over = self.since.elapsed() >= self.longest;
        if over {
            self.since = now();
        }
        over
    }
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "how much may be lost is physical time")]
    Instant::now()
}

static RECORDING: Mutex<Option<Recording>> = Mutex::new(None);
/// Counters of the recording that begins next.
static COUNTERS: Mutex<Option<Counters>> = Mutex::new(None);

/// Selects the quantities that the next recording counts: names separated by commas, or none.
pub fn count(names: &str) -> Result<(), String> {
    let opened = catch_unwind(|| (!names.is_empty()).then(|| Counters::open(names)).transpose());
    let opened = opened.unwrap_or_else(|_| Err(format!("{names}: opening the counters failed")))?;
    if let Ok(mut counters) = COUNTERS.lock() {
        *counters = opened;
    }
    Ok(())
}

/// Begins the file of a rank in `folder`; `head` has everything but the counted quantities.
pub fn open(folder: &str, mut head: Head, block_ns: u64) {
    let path = format!("{folder}/{}", workload::trace::hct::write::file_name(head.rank));
    guarded(|recording| {
        let counters = COUNTERS.lock().ok().and_then(|mut counters| counters.take());
        head.counts = counters.as_ref().map_or(Vec::new(), |counters| counters.counts.clone());
        let begun = File::create(&path).and_then(|file| RankWriter::new(file, &head, block_ns));
        match begun {
            Ok(writer) => {
                let (between, due) = (Gap::default(), Due::of(head.clock, block_ns));
                let counting = counters.map(Counting::new);
                let watched = Watched::default();
                *recording = Some(Recording { path, writer, between, polled_ns: 0, counting, due, watched });
            }
            Err(error) => eprintln!("hopcast trace: rank {} is not recorded: {path}: {error}", head.rank),
        }
    });
}

/// Adds polls before the next call: their number, the time in which the rank did nothing else, and the time since the
/// first of them.
pub fn polled(polls: u64, idle_ns: u64, for_ns: u64) {
    guarded(|recording| {
        let Some(Recording { between, polled_ns, .. }) = recording else { return };
        between.polls += polls;
        between.waited_ns += idle_ns;
        *polled_ns += for_ns;
    });
}

/// Calls `what` with the counters, if there are any. Ends the recording if the counters are lost.
pub fn counting(what: impl FnOnce(&mut Counting) -> Option<()>) {
    guarded(|recording| {
        let Some(Recording { path, counting: Some(counting), .. }) = recording else { return };
        if what(counting).is_none() {
            eprintln!("hopcast trace: the recording of this rank ends here: {path}: {TAKEN}");
            *recording = None;
        }
    });
}

/// Appends a call.
pub fn push(shape: &Shape, begin_ns: u64, end_ns: u64) {
    guarded(|recording| {
        let Some(Recording { path, writer, between, polled_ns, counting, due, watched }) = recording else {
            return;
        };
        let mut before = std::mem::take(between);
        if !gaps::finds(&shape.did) {
            before.waited_ns = 0;
        }
        if let Some(counting) = counting {
            counting.take(&mut before, std::mem::take(polled_ns));
        }
        let mut written = writer.push_after(&before, shape, begin_ns, end_ns);
        if due.as_mut().is_some_and(Due::is_over) {
            written = written.and_then(|()| writer.flush());
        }
        if watched.told.take().flatten().is_some() {
            written = written.and_then(|()| writer.stand(None));
        }
        if let Err(error) = written {
            lost(path, &error);
            *recording = None;
        }
    });
}

fn lost(path: &str, error: &std::io::Error) {
    eprintln!("hopcast trace: the recording of this rank ends here: {path}: {error}");
}

/// Looks at a rank that is in a call, or in none. If no call has returned since the last look, writes the buffered
/// calls and the call that the rank is in, since it may stay there until it is killed.
pub fn watch(standing: Option<Standing>) {
    guarded(|recording| {
        let Some(Recording { path, writer, watched, .. }) = recording else { return };
        let so_far = writer.so_far();
        if std::mem::replace(&mut watched.calls, so_far.calls) != so_far.calls {
            return;
        }
        // A call that has returned meanwhile is among the recorded calls.
        let standing = standing.filter(|standing| standing.since_ns >= so_far.last_ns);
        if watched.told.as_ref() == Some(&standing) {
            return;
        }
        if let Err(error) = writer.stand(standing.as_ref()) {
            lost(path, &error);
            *recording = None;
            return;
        }
        watched.told = Some(standing);
    });
}

/// Ends the file; `early` for a rank that has not reached MPI_Finalize.
pub fn close(early: bool) {
    guarded(|recording| {
        let Some(Recording { path, writer, .. }) = recording.take() else { return };
        let ended = if early { writer.leave(None) } else { writer.finish() };
        if let Err(error) = ended {
            eprintln!("hopcast trace: the end of this rank's recording is missing: {path}: {error}");
        }
    });
}

/// Runs `what`; a panic in it ends the recording.
fn guarded(what: impl FnOnce(&mut Option<Recording>)) {
    let Ok(mut recording) = RECORDING.lock() else { return };
    let ended = catch_unwind(AssertUnwindSafe(|| what(&mut recording)));
    if ended.is_err() {
        *recording = None;
    }
}
