//! What must not show how a run was cut.
#![allow(dead_code, reason = "each test file uses a part of it")]

use sim::report::Outcome;

/// The numbers of domains that runs are compared on, besides one.
pub const CUTS: [u32; 3] = [2, 3, 8];

/// The report without real times, memory and threads, as text.
pub fn comparable(outcome: &Outcome) -> String {
    let mut report = outcome.report.clone();
    (report.wall_s, report.setup_s, report.peak_rss_bytes, report.threads) = (0.0, 0.0, 0, 0);
    report.warnings.retain(|warning| !warning.starts_with("--threads"));
    serde_json::to_string_pretty(&report).unwrap()
}

/// Are report and tables the same?
pub fn assert_same(parts: &Outcome, whole: &Outcome, what: &str) {
    assert_eq!(comparable(parts), comparable(whole), "{what}");
    assert_eq!(parts.tables.len(), whole.tables.len(), "{what}");
    for (table, expected) in parts.tables.iter().zip(&whole.tables) {
        assert_eq!(table, expected, "{what}");
    }
}

/// Was the run cut at all?
pub fn is_cut(outcome: &Outcome) -> bool {
    outcome.report.threads > 1
}
