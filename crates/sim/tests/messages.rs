//! Each message, and matrices by period: bounded, the same for every cut, and handed out while the run goes on.

use crate::cuts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cuts::{CUTS, assert_same, assert_same_in_processes, is_cut, run_in_processes};
use sim::observe::LiveRows;
use sim::report::Outcome;
use sim::run::Unwatched;
use sim::table::{Column, Table};
use sim::{Control, Monitor, Progress, RunRequest, Workload, prepare};

fn request(ranks: u32, pattern: &str, arguments: &[(&str, &str)], rows: u32) -> RunRequest {
    let arguments = arguments.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    RunRequest {
        ranks: Some(ranks),
        model: Some("loggp".to_string()),
        ppn: Some(2),
        messages: Some(rows),
        matrix_periods: Some(rows),
        ..RunRequest::new("hopper", Workload::pattern(pattern.to_string(), arguments))
    }
}

fn run(request: &RunRequest) -> Outcome {
    let prepared = prepare(request).unwrap_or_else(|error| panic!("{error}"));
    prepared.run(None, &mut Unwatched).unwrap_or_else(|error| panic!("{error}"))
}

fn table<'a>(outcome: &'a Outcome, name: &str) -> &'a Table {
    outcome.tables.iter().find(|table| table.name == name).unwrap_or_else(|| panic!("there is no {name}"))
}

fn rows(table: &Table) -> usize {
    table.columns[0].1.len()
}

/// A column's values, whatever their type.
fn numbers(table: &Table, name: &str) -> Vec<f64> {
    let (_, column) = table.columns.iter().find(|(column, _)| *column == name).expect("it has this column");
    match column {
        Column::U32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Column::U64(values) => values.iter().map(|value| *value as f64).collect(),
        Column::F64(values) => values.clone(),
        Column::Text(_) => panic!("{name} is a text"),
    }
}

fn sum(table: &Table, name: &str) -> f64 {
    numbers(table, name).iter().sum()
}

/// With rows for all, the table is the run: as many messages and bytes as its totals, each with its own latency.
#[test]
fn every_message_is_there() {
    let outcome = run(&request(24, "halo3d", &[("bytes", "8 KiB")], 1_000_000));
    let (report, messages) = (&outcome.report, table(&outcome, "messages"));
    let kept = report.kept_messages.expect("they were asked for");
    assert_eq!((kept.messages, kept.kept, kept.share), (report.messages, report.messages, 1.0));
    assert_eq!(rows(messages) as u64, report.messages);
    assert_eq!(sum(messages, "bytes") as u64, report.bytes);
    let latency = report.message_latency.as_ref().expect("there are messages");
    let longest = numbers(messages, "latency_s").into_iter().fold(0.0, f64::max);
    assert!((longest - latency.max_s).abs() < 1e-12, "{longest} is not {}", latency.max_s);
    for name in ["matrix_periods", "matrix"] {
        assert_eq!(sum(table(&outcome, name), "messages") as u64, report.messages, "{name}");
        assert_eq!(sum(table(&outcome, name), "bytes") as u64, report.bytes, "{name}");
    }
    // What stays within a host passes no router.
    let (routers, within) = (table(&outcome, "router_matrix_periods"), &report.node_memory);
    assert!(within.messages > 0, "no message stays within a host");
    assert_eq!(sum(routers, "messages") as u64, report.messages - within.messages);
    assert_eq!(within.messages_share, within.messages as f64 / report.messages as f64);
    assert_eq!(within.bytes_share, within.bytes as f64 / report.bytes as f64);
}

/// Bins have only routers whose hosts have ranks: two ranks on each of 12 hosts, drawn so that each is on a router of its own
/// among Hopper's 3,264. Rows for 16 full matrices of 12 routers keep them apart; each sends to each of the others.
#[test]
fn idle_routers_widen_no_bin() {
    let asked = request(24, "alltoall", &[("bytes", "64 B"), ("algorithm", "linear")], 16 * 12 * 12);
    let outcome = run(&RunRequest { placement: Some("random".into()), ..asked });
    let routers = table(&outcome, "router_matrix_periods");
    assert!(numbers(routers, "routers_per_bin").iter().all(|routers| *routers == 1.0));
    let ends = numbers(routers, "source").into_iter().zip(numbers(routers, "destination"));
    let ends: BTreeSet<_> = ends.map(|(from, to)| (from as u64, to as u64)).collect();
    let sources: BTreeSet<_> = ends.iter().map(|(from, _)| *from).collect();
    assert_eq!((sources.len(), ends.len()), (12, 12 * 11));
    assert!(sources.iter().any(|router| *router >= 12), "numbers are those of routers: {sources:?}");
}

/// A ping-pong under a law without contention: each message takes half of a round, and messages follow each other.
#[test]
fn latencies_of_a_ping_pong_are_equal() {
    let pingpong = RunRequest { ppn: Some(1), ..request(2, "pingpong", &[("bytes", "64 B")], 100_000) };
    let outcome = run(&pingpong);
    let (messages, makespan) = (table(&outcome, "messages"), outcome.report.makespan_s);
    let latency = numbers(messages, "latency_s");
    assert!(latency.iter().all(|one| (one - latency[0]).abs() < 1e-12), "{latency:?}");
    let all = latency[0] * latency.len() as f64;
    assert!((all / makespan - 1.0).abs() < 0.01, "{all} s of messages in a run of {makespan} s");
    let (begin, end) = (numbers(messages, "sent_s"), numbers(messages, "received_s"));
    assert!(begin[1..].iter().zip(&end).all(|(next, before)| next >= before));
}

/// A table that is too short keeps a power of one half of the messages: those whose sample is below it.
#[test]
fn an_equal_share_of_too_many_messages_is_kept() {
    let all = run(&request(24, "alltoall", &[("bytes", "64 B")], 1_000_000));
    let few = run(&request(24, "alltoall", &[("bytes", "64 B")], 100));
    let kept = few.report.kept_messages.expect("they were asked for");
    assert!((0.0..1.0).contains(&kept.share) && kept.kept <= 100, "{kept:?}");
    let below = |outcome: &Outcome, share: f64| {
        let messages = table(outcome, "messages");
        let keys = numbers(messages, "source").into_iter().zip(numbers(messages, "number"));
        let samples = numbers(messages, "sample");
        let kept = keys.zip(samples).filter(|(_, sample)| *sample < share);
        kept.map(|(key, _)| (key.0 as u64, key.1 as u64)).collect::<Vec<_>>()
    };
    assert_eq!(below(&few, 1.0), below(&all, kept.share));
    assert!(below(&all, kept.share * 2.0).len() > 100, "a larger share would have fitted");
    assert_eq!(below(&few, 1.0).len() as u64, kept.kept);
}

/// Rows, shares and periods do not depend on threads and processes, whether the rows suffice or not.
#[test]
fn rows_are_the_same_for_every_cut() {
    for rows in [40, 700, 1_000_000] {
        for (pattern, bytes) in [("alltoall", "64 B"), ("halo3d", "100 KB")] {
            let asked = request(24, pattern, &[("bytes", bytes)], rows);
            let whole = run(&RunRequest { threads: Some(1), ..asked.clone() });
            for name in ["messages", "matrix_periods", "router_matrix_periods"] {
                let found = self::rows(table(&whole, name));
                assert!((1..=rows as usize).contains(&found), "{found} rows of {name}");
            }
            for threads in CUTS {
                let parts = run(&RunRequest { threads: Some(threads), ..asked.clone() });
                assert!(is_cut(&parts));
                assert_same(&parts, &whole, &format!("{pattern}, {rows} rows on {threads} threads"));
            }
            let parts = run_in_processes(&RunRequest { threads: Some(2), ..asked }, 2);
            let parts = parts.unwrap_or_else(|error| panic!("{error}"));
            assert_same_in_processes(&parts, &whole, &format!("{pattern}, {rows} rows in 2 processes"));
        }
    }
}

/// Monitor that takes new rows with every poll.
struct Reader {
    rows: Arc<LiveRows>,
    tables: Vec<Table>,
    /// Simulated time of the first rows \[s\].
    first_s: Option<f64>,
}

impl Reader {
    /// Parts of a table.
    fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Table> {
        self.tables.iter().filter(move |table| table.name == name)
    }

    /// Checks that at least half of the bytes of a table came while the run went on, and none twice.
    fn check_bytes(&self, outcome: &Outcome, name: &str) {
        let seen: f64 = self.of(name).map(|one| sum(one, "bytes")).sum();
        let of = sum(table(outcome, name), "bytes");
        assert!(seen > 0.5 * of && seen <= of, "{seen} B of {of} B of {name} were seen");
    }
}

impl Monitor for Reader {
    fn poll(&mut self, progress: Progress) -> Control {
        self.tables.extend(self.rows.take().tables);
        if !self.tables.is_empty() {
            self.first_s.get_or_insert(progress.now.seconds());
        }
        Control::Continue
    }
}

/// The reader has rows long before the end; each is of the final table, and none comes twice.
#[test]
fn a_reader_follows_the_run() {
    for threads in [1, 3] {
        let long = request(24, "alltoall", &[("bytes", "64 B"), ("iterations", "400")], 1_000_000);
        let mut prepared = prepare(&RunRequest { threads: Some(threads), ..long }).unwrap();
        let rows = Arc::<LiveRows>::default();
        prepared.follow(rows.clone());
        let mut reader = Reader { rows, tables: Vec::new(), first_s: None };
        let outcome = prepared.run(None, &mut reader).unwrap();
        let first_s = reader.first_s.expect("it has seen rows");
        assert!(first_s < 0.5 * outcome.report.makespan_s, "the first rows came at {first_s} s");
        let keys = |table: &Table| {
            numbers(table, "source")
                .into_iter()
                .zip(numbers(table, "number"))
                .map(|(source, number)| (source as u64, number as u64))
                .collect::<Vec<_>>()
        };
        let mut all: BTreeMap<(u64, u64), u32> = BTreeMap::new();
        keys(table(&outcome, "messages")).into_iter().for_each(|key| *all.entry(key).or_default() += 1);
        let seen = reader.tables.iter().filter(|table| table.name == "messages").flat_map(keys);
        let mut count = 0;
        for key in seen {
            count += 1;
            assert_eq!(all.remove(&key), Some(1), "message {key:?} is not there, or came twice");
        }
        assert!(count as f64 > 0.5 * outcome.report.messages as f64, "{count} messages were seen");
        for name in ["matrix_periods", "router_matrix_periods"] {
            reader.check_bytes(&outcome, name);
        }
        check_progress(&reader, &outcome);
    }
}

/// The reader also has the traffic of links, by parts that add up, if the model has links.
#[test]
fn a_reader_follows_the_links() {
    for (model, threads) in [("flow", 1), ("packet", 3)] {
        let long = request(24, "halo3d", &[("bytes", "64 KiB"), ("iterations", "60")], 1000);
        let platform = RunRequest::new("fat-tree", long.workload.clone()).platform;
        let asked = RunRequest { platform, model: Some(model.to_string()), threads: Some(threads), ..long };
        let mut prepared = prepare(&asked).unwrap();
        let rows = Arc::<LiveRows>::default();
        prepared.follow(rows.clone());
        let mut reader = Reader { rows, tables: Vec::new(), first_s: None };
        let outcome = prepared.run(None, &mut reader).unwrap();
        reader.check_bytes(&outcome, "links_over_time");
        check_links(&reader);
        check_progress(&reader, &outcome);
        let unwatched = run(&asked);
        assert_eq!(table(&unwatched, "links_over_time"), table(&outcome, "links_over_time"));
    }
}

/// Periods of a link do not overlap, and each link has its name once.
fn check_links(reader: &Reader) {
    let mut ends: BTreeMap<u64, f64> = BTreeMap::new();
    for rows in reader.of("links_over_time") {
        let times = numbers(rows, "begin_s").into_iter().zip(numbers(rows, "end_s"));
        for (link, (begin, end)) in numbers(rows, "link").into_iter().zip(times) {
            let before = ends.insert(link as u64, end).unwrap_or(0.0);
            assert!(before <= begin && begin < end, "link {link}: {begin} to {end} after {before}");
        }
    }
    let mut named: Vec<u64> =
        reader.of("links").flat_map(|rows| numbers(rows, "link")).map(|link| link as u64).collect();
    named.sort_unstable();
    assert_eq!(named, ends.into_keys().collect::<Vec<_>>());
}

/// Each look has all ranks once, none of which is beyond what it is at the end.
fn check_progress(reader: &Reader, outcome: &Outcome) {
    let ends = table(outcome, "ranks");
    let (mut looks, mut before_s) = (BTreeMap::<u64, f64>::new(), 0.0);
    for rows in reader.of("rank_progress") {
        let at_s = numbers(rows, "at_s")[0];
        for (place, rank) in numbers(rows, "rank").into_iter().enumerate() {
            *looks.entry(rank as u64).or_default() += 1.0;
            assert!(numbers(rows, "reached_s")[place] <= at_s);
            assert_eq!(numbers(rows, "ranks")[place], 1.0);
            for name in ["compute_s", "transfer_s", "waiting_s"] {
                let (now, end) = (numbers(rows, name)[place], numbers(ends, name)[rank as usize]);
                assert!(now <= end, "{name} of rank {rank} is {now} of {end}");
                before_s += now;
            }
        }
    }
    assert_eq!(looks.len() as u32, outcome.report.ranks);
    assert!(before_s > 0.0 && looks.values().all(|count| *count >= 1.0));
}
