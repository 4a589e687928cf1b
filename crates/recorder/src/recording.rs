//! The one recording of a process.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use workload::trace::hct::between::{self, Between};
use workload::trace::hct::rank::{Head, RankWriter};
use workload::trace::hct::shape::Shape;

struct Recording {
    path: String,
    writer: RankWriter<File>,
    /// What has happened since the last call.
    between: Between,
}

static RECORDING: Mutex<Option<Recording>> = Mutex::new(None);

/// Begins the file of a rank, in `folder`.
pub fn open(folder: &str, head: &Head, block_ns: u64) {
    let path = format!("{folder}/{}", workload::trace::hct::write::file_name(head.rank));
    guarded(|recording| {
        let begun = File::create(&path).and_then(|file| RankWriter::new(file, head, block_ns));
        match begun {
            Ok(writer) => *recording = Some(Recording { path, writer, between: Between::default() }),
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
        let Some(Recording { path, writer, between }) = recording else { return };
        let mut before = std::mem::take(between);
        if !between::finds(&shape.did) {
            before.waited_ns = 0;
        }
        if let Err(error) = writer.push_after(&before, shape, begin_ns, end_ns) {
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
