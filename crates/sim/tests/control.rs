//! A run that is stopped, at a time or by a monitor, reports exactly what had happened by then, however it is cut;
//! and a monitor may take a closer look.

use crate::cuts;

use std::sync::{Arc, Mutex};

use cuts::{CUTS, assert_same, is_cut, run_in_processes, watch_in_processes};
use engine::{Bytes, Duration, Time};
use mpi::operation::{CommId, Peer, Receive, Start, TagMatch, Work};
use mpi::{Completion, Op, Rank, Source};
use sim::report::Outcome;
use sim::request::Overrides;
use sim::run::Unwatched;
use sim::table::Column;
use sim::{Control, Look, Monitor, Progress, RunRequest, Sources, Workload, prepare};

/// A machine of 72 hosts.
const SMALL: [(&str, &str); 5] = [
    ("groups", "9"),
    ("routers_per_group", "4"),
    ("hosts_per_router", "2"),
    ("global_links_per_router", "2"),
    ("global_links_per_pair", "1"),
];

fn request(model: &str, pattern: &str, arguments: &[(&str, &str)]) -> RunRequest {
    let arguments = arguments.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    RunRequest {
        set: Some(Overrides(
            SMALL.map(|(key, value)| (format!("topology.{key}"), value.to_string())).to_vec(),
        )),
        ranks: Some(24),
        model: Some(model.to_string()),
        seed: Some(7),
        placement: Some("random".into()),
        ppn: Some(2),
        records: Some(1_000_000),
        threads: Some(1),
        ..RunRequest::new("dragonfly", Workload::pattern(pattern.to_string(), arguments))
    }
}

/// A time as requests write it, to the picosecond.
fn text(time: Time) -> String {
    format!("{} ps", time.0)
}

fn watch(request: &RunRequest, monitor: &mut dyn Monitor) -> Outcome {
    let prepared = prepare(request).unwrap_or_else(|error| panic!("{error}"));
    prepared.run(None, monitor).unwrap_or_else(|error| panic!("{error}"))
}

fn run(request: &RunRequest) -> Outcome {
    watch(request, &mut Unwatched)
}

fn f64s<'a>(outcome: &'a Outcome, table: &str, column: &str) -> &'a [f64] {
    let table = outcome.tables.iter().find(|found| found.name == table).unwrap();
    match &table.columns.iter().find(|(name, _)| *name == column).unwrap().1 {
        Column::F64(values) => values,
        other => panic!("{column}: {other:?}"),
    }
}

/// Every cut and every number of processes stops with the same report and the same tables.
#[test]
fn a_time_to_stop_at_stops_every_cut_at_the_same() {
    for (model, pattern, bytes) in [
        ("postal", "allreduce", "100 KB"),
        ("max-rate", "halo3d", "20 KB"),
        ("loggp", "alltoall", "1 KB"),
        ("packet", "alltoall", "5 KB"),
    ] {
        let statistics = (model == "packet").then(|| "links".to_string());
        let request = RunRequest { statistics, ..request(model, pattern, &[("bytes", bytes)]) };
        let all = run(&request).report;
        for share in [0.03, 0.7] {
            let at = Time((all.makespan_s * share * 1e12) as u64);
            let what = format!("{pattern} under {model} until {at}");
            let request = RunRequest { stop_at: Some(text(at)), ..request.clone() };
            let whole = run(&request);
            let stopped = whole.report.stopped.as_ref().expect(&what);
            assert!(whole.report.partial && whole.report.failure.is_none(), "{what}");
            assert_eq!((stopped.by, stopped.at_s), ("stop-at", at.seconds()), "{what}");
            assert_eq!(whole.report.makespan_s, at.seconds(), "{what}");
            assert_ne!(whole.report.outcome_hash, all.outcome_hash, "{what}");
            for threads in CUTS {
                let parts = run(&RunRequest { threads: Some(threads), ..request.clone() });
                assert!(is_cut(&parts), "{what}: {:?}", parts.report.warnings);
                assert_same(&parts, &whole, &format!("{what} on {threads} threads"));
            }
            for processes in [2, 3] {
                let parts = run_in_processes(&RunRequest { threads: Some(2), ..request.clone() }, processes);
                assert_same(&parts.unwrap(), &whole, &format!("{what} in {processes} processes"));
            }
        }
    }
}

/// A partial run holds the same as the whole run until then: the calls that had ended, and the end of the last call
/// of each rank.
#[test]
fn a_partial_run_is_the_beginning_of_the_whole() {
    for model in ["loggp", "flow", "packet"] {
        let request = request(model, "halo2d", &[("bytes", "20 KB"), ("iterations", "3")]);
        let whole = run(&request);
        let at = whole.report.makespan_s * 0.6;
        let part = run(&RunRequest { stop_at: Some(text(Time((at * 1e12) as u64))), ..request });
        let ended = |outcome: &Outcome| {
            let ends = f64s(outcome, "call_records", "end_s").iter();
            let mut ends: Vec<f64> = ends.copied().filter(|end| *end <= at).collect();
            ends.sort_by(f64::total_cmp);
            ends
        };
        assert!(!ended(&part).is_empty() && ended(&part).len() < f64s(&whole, "call_records", "end_s").len());
        assert_eq!(f64s(&part, "call_records", "end_s").len(), ended(&part).len(), "{model}");
        assert_eq!(ended(&part), ended(&whole), "{model}");
        let reached = f64s(&part, "ranks", "reached_s");
        let last = ended(&part).last().copied();
        assert_eq!(reached.iter().copied().max_by(f64::total_cmp), last, "{model}");
        let behind = &part.report.stopped.as_ref().unwrap().behind;
        let least = reached.iter().copied().min_by(f64::total_cmp).unwrap();
        assert_eq!((behind.len(), behind[0].since_s), (8, least), "{model}");
        assert!(behind.is_sorted_by(|one, other| one.since_s <= other.since_s), "{model}");
        assert!(behind.iter().all(|rank| rank.call.starts_with("MPI_")), "{model}: {behind:?}");
    }
}

/// A transmission that is cut short counts up to the stop: no link was busy for longer than the run, and periods and
/// totals agree except for the bytes that are cut through.
#[test]
fn a_transmission_that_is_cut_short_counts_up_to_then() {
    let request = request("packet", "alltoall", &[("bytes", "50 KB")]);
    let request = RunRequest { statistics: Some("links".to_string()), ..request };
    let whole = run(&request).report.makespan_s;
    for share in [0.2, 0.31, 0.5, 0.83] {
        let at = whole * share;
        let part = run(&RunRequest { stop_at: Some(text(Time((at * 1e12) as u64))), ..request.clone() });
        let periods = |name: &str| f64s(&part, "link_periods", name);
        let (begin, end, busy) = (periods("begin_s"), periods("end_s"), periods("busy_s"));
        let longest = busy.iter().zip(end.iter().zip(begin)).map(|(busy, (end, begin))| busy - (end - begin));
        assert!(longest.fold(f64::MIN, f64::max) < 1e-13, "{share}");
        assert!(end.iter().all(|end| *end <= at), "{share}");
        let links = f64s(&part, "links", "busy_s");
        let (by_period, by_link) = (busy.iter().sum::<f64>(), links.iter().sum::<f64>());
        assert!((by_period - by_link).abs() < 1e-9 * by_link, "{share}: {by_period} and {by_link}");
    }
}

/// A run whose ranks have all finished in time is complete, even if the network still has something to do.
#[test]
fn a_time_to_stop_at_that_is_late_changes_nothing() {
    for model in ["loggp", "packet"] {
        let request = request(model, "alltoall", &[("bytes", "5 KB")]);
        let whole = run(&request);
        assert_eq!(f64s(&whole, "ranks", "reached_s"), f64s(&whole, "ranks", "finish_s"));
        let last = Time((whole.report.makespan_s * 1e12).round() as u64);
        let much_later = Time(Time::LAST.0 / 2);
        for (stop_at, threads) in [(last, 1), (last, 3), (much_later, 1), (much_later, 3)] {
            let again =
                run(&RunRequest { stop_at: Some(text(stop_at)), threads: Some(threads), ..request.clone() });
            assert!(!again.report.partial && again.report.ranks_finished == 24);
            assert_same(&again, &whole, &format!("{model} until {stop_at} on {threads} threads"));
        }
        let before = run(&RunRequest { stop_at: Some(text(Time(last.0 - 1))), ..request.clone() });
        assert!(before.report.partial && before.report.ranks_finished < 24);
    }
}

/// Computes for a microsecond, then waits for a message that nobody sends.
struct Stuck(Vec<bool>);

impl Source for Stuck {
    fn next(&mut self, rank: Rank, _done: &Completion) -> Op {
        if std::mem::replace(&mut self.0[rank.0 as usize], true) {
            let from = Peer::Rank((rank.0 + 1) % 24);
            let receive = Receive { comm: CommId::WORLD, from, tag: TagMatch::Any, capacity: Bytes(8) };
            return Op::Receive(receive, Start::Blocking);
        }
        Op::Compute(Work::Time(Duration::from_ns(1_000)))
    }
}

/// A deadlock before or at the requested end is reported as a deadlock.
#[test]
fn a_deadlock_before_the_time_to_stop_at_is_told() {
    let sources = Sources(Arc::new(|| Box::new(Stuck(vec![false; 24]))));
    let request = request("loggp", "ring", &[]);
    let request =
        RunRequest { workload: Workload::Sources { name: "stuck".to_string(), make: sources }, ..request };
    let until = |ns: u64, threads| {
        run(&RunRequest { stop_at: Some(text(Time(ns * 1_000))), threads: Some(threads), ..request.clone() })
            .report
    };
    for threads in [1, 3] {
        let before = until(999, threads);
        assert!(before.partial && before.failure.is_none());
        assert_eq!(before.stopped.unwrap().behind[0].call, "compute");
        for late in [1_000, 2_000] {
            let late = until(late, threads);
            assert_eq!((late.failure.unwrap().kind, late.partial), ("deadlock", false));
        }
    }
}

/// Monitor that gives an answer after a number of events, and keeps the progress that it sees.
struct After<'a> {
    events: u64,
    wants: Control,
    told: &'a Mutex<Vec<Progress>>,
}

impl Monitor for After<'_> {
    fn poll(&mut self, progress: Progress) -> Control {
        self.told.lock().unwrap().push(progress);
        if progress.events < self.events {
            return Control::Continue;
        }
        // It asks only once.
        self.events = u64::MAX;
        self.wants
    }
}

const EVENTS: u64 = 50_000;

fn long() -> RunRequest {
    let arguments = [("iterations", "400"), ("bytes", "4 KB")];
    RunRequest { ranks: Some(64), records: None, ..request("loggp", "halo3d", &arguments) }
}

/// A run that a monitor stops, in whichever process, is the one up to the time at which it stopped.
#[test]
fn a_run_that_is_stopped_is_one_up_to_that_time() {
    for (threads, processes) in [(1, 1), (3, 1), (1, 2), (2, 3)] {
        let request = RunRequest { threads: Some(threads), ..long() };
        let told = Mutex::new(Vec::new());
        let stops = |events| After { events, wants: Control::Stop, told: &told };
        let stopped = match processes {
            1 => watch(&request, &mut stops(EVENTS)),
            // The last process asks.
            _ => watch_in_processes(&request, processes, |rank| {
                stops(if rank + 1 == processes { EVENTS } else { u64::MAX })
            })
            .unwrap(),
        };
        let what = format!("{threads} threads in {processes} processes");
        assert_eq!(stopped.report.stopped.as_ref().expect(&what).by, "interrupt", "{what}");
        assert!((EVENTS..2 * EVENTS).contains(&stopped.report.events), "{what}");
        let at = Time((stopped.report.makespan_s * 1e12).round() as u64);
        let mut until = run(&RunRequest { stop_at: Some(text(at)), ..long() });
        until.report.stopped.as_mut().unwrap().by = "interrupt";
        assert_same(&stopped, &until, &what);
    }
}

/// Every process gets the closer look that one of them asks for, once, and at all ranks.
#[test]
fn a_closer_look_is_at_all_ranks() {
    for (threads, processes) in [(1, 1), (3, 1), (1, 2), (2, 3)] {
        let request = RunRequest { threads: Some(threads), ..long() };
        let told = Mutex::new(Vec::new());
        let looks = |events| After { events, wants: Control::Look, told: &told };
        let what = format!("{threads} threads in {processes} processes");
        let outcome = match processes {
            1 => watch(&request, &mut looks(EVENTS)),
            _ => watch_in_processes(&request, processes, |rank| {
                looks(if rank == 0 { EVENTS } else { u64::MAX })
            })
            .unwrap(),
        };
        assert!(!outcome.report.partial, "{what}");
        let told = told.into_inner().unwrap();
        let looked: Vec<(Time, Look)> = told.iter().filter_map(|told| Some((told.now, told.look?))).collect();
        assert_eq!(looked.len(), processes as usize, "{what}");
        for (now, look) in looked {
            assert_eq!(look.unfinished, 64, "{what}");
            // No rank sends more than its six halves of a halo ahead.
            assert!((1..=64 * 6 * 2).contains(&look.in_flight), "{what}: {look:?}");
            let (reached, rank) = look.behind.expect(&what);
            assert!(reached > Time::ZERO && reached <= now && rank.0 < 64, "{what}: {look:?} at {now}");
        }
    }
}
