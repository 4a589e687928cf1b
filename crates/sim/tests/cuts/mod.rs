//! Comparison of runs that are cut differently, and must not differ.

use std::sync::mpsc::{Receiver, Sender, channel};

use sim::report::Outcome;
use sim::run::Unwatched;
use sim::{InputError, Monitor, Peers, RunRequest, prepare_share};

/// Numbers of domains that runs are compared on, besides one.
pub const CUTS: [u32; 3] = [2, 3, 8];

/// The report without real times, memory and threads, as text.
pub fn comparable(outcome: &Outcome) -> String {
    let mut report = outcome.report.clone();
    (report.wall_s, report.setup_s, report.peak_rss_bytes) = (0.0, 0.0, 0);
    (report.threads, report.processes) = (0, 0);
    if report.model == "packet" {
        // An output that learns later of credits on their way to it checks in vain more often.
        report.events = 0;
    }
    report.warnings.retain(|warning| !warning.contains("one thread is used"));
    serde_json::to_string_pretty(&report).unwrap()
}

/// Asserts that report and tables are the same.
pub fn assert_same(parts: &Outcome, whole: &Outcome, what: &str) {
    assert_eq!(comparable(parts), comparable(whole), "{what}");
    assert_eq!(parts.tables.len(), whole.tables.len(), "{what}");
    for (table, expected) in parts.tables.iter().zip(&whole.tables) {
        assert_eq!(table, expected, "{what}");
    }
}

/// Asserts that report and tables are the same, as far as several processes allow: if the program failed while other
/// ranks went on, only the failure is.
pub fn assert_same_in_processes(parts: &Outcome, whole: &Outcome, what: &str) {
    let goes_on = |warning: &String| warning.starts_with("other ranks went on");
    if !parts.report.warnings.iter().any(goes_on) {
        return assert_same(parts, whole, what);
    }
    assert_eq!(parts.report.outcome_hash, whole.report.outcome_hash, "{what}");
    assert_eq!(parts.report.makespan_s, whole.report.makespan_s, "{what}");
    let failure = |outcome: &Outcome| outcome.report.failure.clone().map(|failure| failure.kind);
    assert_eq!(failure(parts), failure(whole), "{what}");
}

/// True if the run was cut at all.
pub fn is_cut(outcome: &Outcome) -> bool {
    outcome.report.threads > 1
}

/// One of several processes that live in this one.
struct Linked {
    rank: u32,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

impl Linked {
    fn all(count: u32) -> Vec<Linked> {
        let link = |rank| Linked { rank, to: Vec::new(), from: Vec::new() };
        let mut all: Vec<Linked> = (0..count).map(link).collect();
        for sender in 0..count as usize {
            for receiver in &mut all {
                let (to, from) = channel();
                receiver.from.push(from);
                receiver.to.push(to);
            }
            // Every receiver holds its sender's end, which belongs to the sender.
            let ends: Vec<_> = all.iter_mut().map(|receiver| receiver.to.pop().unwrap()).collect();
            all[sender].to = ends;
        }
        all
    }
}

impl Peers for Linked {
    fn count(&self) -> u32 {
        self.to.len() as u32
    }
    fn rank(&self) -> u32 {
        self.rank
    }
    fn exchange(&mut self, to: &[Vec<u8>]) -> Vec<Vec<u8>> {
        for (other, bytes) in self.to.iter().zip(to) {
            other.send(bytes.clone()).unwrap();
        }
        self.from.iter().map(|other| other.recv().unwrap()).collect()
    }
    fn share(&mut self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        self.exchange(&vec![bytes; self.to.len()])
    }
}

/// Runs `request` in `count` processes; the first reports.
pub fn run_in_processes(request: &RunRequest, count: u32) -> Result<Outcome, InputError> {
    watch_in_processes(request, count, |_| Unwatched)
}

/// Runs `request` like [`run_in_processes`], each process with its own monitor.
pub fn watch_in_processes<M: Monitor>(
    request: &RunRequest,
    count: u32,
    monitor: impl Fn(u32) -> M + Sync,
) -> Result<Outcome, InputError> {
    let run = |mut peers: Linked| -> Result<Option<Outcome>, InputError> {
        let mut monitor = monitor(peers.rank());
        prepare_share(request, &peers)?.run_share(None, &mut monitor, &mut peers)
    };
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            Linked::all(count).into_iter().map(|peers| scope.spawn(|| run(peers))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut reports = Vec::new();
    for outcome in outcomes {
        reports.push(outcome?);
    }
    assert!(reports[1..].iter().all(Option::is_none), "only the first process reports");
    Ok(reports.swap_remove(0).expect("the first process reports"))
}
