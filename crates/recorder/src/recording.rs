//! The one recording of a process.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use workload::trace::hct::between::{self, Between};
use workload::trace::hct::rank::{Clock, Head, RankWriter};
use workload::trace::hct::shape::Shape;

struct Recording {
    path: String,
    writer: RankWriter<File>,
    /// What has happened since the last call.
    between: Between,
    /// Where the rank's clock stands still while others work: when blocks are due.
    due: Option<Due>,
}

/// Blocks are written after so much physical time.
struct Due {
    longest: Duration,
    /// When the last one was.
    since: Instant,
}

impl Due {
    /// For a clock that says less of physical time; the writer itself goes by the others.
    fn of(clock: Clock, block_ns: u64) -> Option<Due> {
        (clock == Clock::Cpu).then(|| Due { longest: Duration::from_nanos(block_ns), since: now() })
    }

    /// Is a block due? Begins to count anew then.
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

/// Begins the file of a rank, in `folder`.
pub fn open(folder: &str, head: &Head, block_ns: u64) {
    let path = format!("{folder}/{}", workload::trace::hct::write::file_name(head.rank));
    guarded(|recording| {
        let begun = File::create(&path).and_then(|file| RankWriter::new(file, head, block_ns));
        match begun {
            Ok(writer) => {
                let (between, due) = (Between::default(), Due::of(head.clock, block_ns));
                *recording = Some(Recording { path, writer, between, due });
            }
            Err(error) => eprintln!("hopcast trace: rank {} is not recorded: {path}: {error}", head.rank),
        }
    });
}

/// Before the next call, the rank has polled so often in vain, and did so long nothing else.
pub fn polled(polls: u64, idle_ns: u64) {
    guarded(|recording| {
        let Some(Recording { between, .. }) = recording else { return };
        between.polls += polls;
        between.waited_ns += idle_ns;
    });
}

/// Appends a call.
pub fn push(shape: &Shape, begin_ns: u64, end_ns: u64) {
    guarded(|recording| {
        let Some(Recording { path, writer, between, due }) = recording else { return };
        let mut before = std::mem::take(between);
        if !between::finds(&shape.did) {
            before.waited_ns = 0;
        }
        let mut written = writer.push_after(&before, shape, begin_ns, end_ns);
        if due.as_mut().is_some_and(Due::is_over) {
            written = written.and_then(|()| writer.flush());
        }
        if let Err(error) = written {
            eprintln!("hopcast trace: the recording of this rank ends here: {path}: {error}");
            *recording = None;
        }
    });
}

/// Ends the file.
pub fn close() {
    guarded(|recording| {
        if let Some(Recording { path, writer, .. }) = recording.take()
            && let Err(error) = writer.finish()
        {
            eprintln!("hopcast trace: the end of this rank's recording is missing: {path}: {error}");
        }
    });
}

/// Runs `what`; a bug in it ends the recording.
fn guarded(what: impl FnOnce(&mut Option<Recording>)) {
    let Ok(mut recording) = RECORDING.lock() else { return };
    let ended = catch_unwind(AssertUnwindSafe(|| what(&mut recording)));
    if ended.is_err() {
        *recording = None;
    }
}
