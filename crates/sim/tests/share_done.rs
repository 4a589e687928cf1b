//! The fraction of a run that is done, from which the remaining time is derived, follows the simulated work, which is
//! the fraction of events, for many small calls as for a few that hold most of the work.

use std::fmt::Write;

use sim::run::{Control, Monitor, Progress};
use sim::{RunRequest, Workload, prepare};

/// Monitor that keeps all progress that it sees.
struct Notes(Vec<Progress>);

impl Monitor for Notes {
    fn poll(&mut self, progress: Progress) -> Control {
        self.0.push(progress);
        Control::Continue
    }
}

/// Largest difference between the reported fraction and the fraction of events, over a run of at least 20 polls.
fn error(workload: Workload, ranks: Option<u32>, model: &str, threads: u32) -> f64 {
    let request = RunRequest {
        ranks,
        model: Some(model.to_string()),
        seed: Some(7),
        threads: Some(threads),
        ..RunRequest::new("hopper", workload)
    };
    let mut notes = Notes(Vec::new());
    let outcome = prepare(&request).unwrap().run(None, &mut notes).unwrap();
    // Of several threads, the first may poll before the others have begun, and none knows the length then.
    let known: Vec<_> =
        notes.0.iter().filter_map(|note| note.share_done.map(|share| (note, share))).collect();
    assert!(known.len() >= 20, "{} of {} polls", known.len(), notes.0.len());
    let all = outcome.report.events as f64;
    let errors = known.iter().map(|(note, share)| {
        assert!((0.0..=1.0).contains(share));
        (share - note.events as f64 / all).abs()
    });
    errors.fold(0.0, f64::max)
}

fn pattern(name: &str, arguments: &[(&str, &str)]) -> Workload {
    let own = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
    Workload::pattern(name, arguments.iter().map(own).collect())
}

/// One call is all of the work, but its messages count one by one.
#[test]
fn a_single_all_to_all_is_done_as_its_messages_are() {
    for (bytes, model) in [("1 KiB", "loggp"), ("1 KiB", "flow"), ("64 KiB", "max-rate")] {
        let off = error(pattern("alltoall", &[("bytes", bytes)]), Some(400), model, 1);
        assert!(off < 0.2, "{bytes} in {model}: {off}");
    }
}

/// Ranks that send go ahead of the one that receives, and all count. By the steps of the receiver alone, a twentieth
/// of the work would be done after two fifths of it.
#[test]
fn ranks_that_go_ahead_count_as_much_as_those_behind() {
    let arguments = [("bytes", "8 B"), ("iterations", "300")];
    for threads in [1, 3] {
        let off = error(pattern("incast", &arguments), Some(400), "loggp", threads);
        assert!(off < 0.25, "on {threads} threads: {off}");
    }
}

/// 900 calls of 7 messages of each rank, then 40 of 127: 96 % of the calls are 55 % of the messages.
#[test]
fn a_few_calls_at_the_end_of_a_recording_weigh_what_they_move() {
    let mut text = String::new();
    for rank in 0..128 {
        (0..900).for_each(|_| writeln!(text, "{rank} allreduce 1 0").unwrap());
        (0..40).for_each(|_| writeln!(text, "{rank} allToAll 100 100").unwrap());
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.txt");
    std::fs::write(&path, text).unwrap();
    let workload = Workload::Trace { path: path.to_string_lossy().into_owned() };
    let off = error(workload, None, "loggp", 1);
    assert!(off < 0.05, "{off}");
}
