//! Report of a run: the contents of `report.json`, and the tables beside it.

mod energy;
mod failure;
mod jobs;

use engine::{Bytes, Time};
use network::{Fabric, HostParameters};
use serde::Serialize;

use crate::config::{Calibration, Powers};
use crate::feed::PlacedJob;
use crate::memory::peak_rss_bytes;
use crate::observe::{
    AlgorithmUse, Balance, BusyLink, CausesReport, Contended, CriticalPath, FaultsReport, LatencyReport,
    LinkNames, MessagesReport, NodeMemoryReport, RankTotals, StatisticsReport, Summary, Utilisation,
};
use crate::profile::SimulatorProfile;
use crate::run::{End, Ended, Stop};
use crate::table::{Column, Table};
use energy::energy;
pub use energy::{EnergyCauses, EnergyUse};
pub use failure::{FailureReport, StuckRank};
use failure::{failure, stuck};
pub use jobs::JobReport;

/// Facts about a run; the fields are the keys of `report.json`.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Version of hopcast.
    pub hopcast_version: &'static str,
    /// Full platform: with overrides applied and defaults filled in.
    pub platform_toml: String,
    /// Name of the platform.
    pub platform: String,
    /// Its fit to measurements of its machine; none if it was not calibrated.
    pub calibration: Option<Calibration>,
    /// Workload that ran on it.
    pub workload: String,
    /// Network model.
    pub model: String,
    /// Kind of the placement.
    pub placement: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Ranks of the workload.
    pub ranks: u32,
    /// Ranks that had finished at the end.
    pub ranks_finished: u32,
    /// Hosts of the platform.
    pub hosts: u32,
    /// Hosts that have a rank.
    pub hosts_used: u32,
    /// Sockets of a host.
    pub sockets: u16,
    /// Predicted time: the finish of the last rank, or the end of a partial run \[s\].
    pub makespan_s: f64,
    /// Hash of the outcome, the same for every repeat, thread and process count.
    pub outcome_hash: String,
    /// Messages delivered between ranks, those of collectives included.
    pub messages: u64,
    /// Their payload \[bytes\].
    pub bytes: u64,
    /// Packets forwarded over links; 0 for models without packets.
    pub packet_hops: u64,
    /// Packets that links have lost; 0 where they lose none.
    pub packets_lost: u64,
    /// Packets sent again since no answer came in time.
    pub packets_resent: u64,
    /// Packets that arrived more than once.
    pub packets_duplicate: u64,
    /// Events handled.
    pub events: u64,
    /// Real time of the simulation without its setup \[s\].
    pub wall_s: f64,
    /// Real time of the setup \[s\].
    pub setup_s: f64,
    /// High-water mark of the process's memory \[bytes\].
    #[serde(rename = "peak_rss_B")]
    pub peak_rss_bytes: u64,
    /// Threads that ran it, in all processes.
    pub threads: u32,
    /// Processes that ran it.
    pub processes: u32,
    /// Split of the time, summed over ranks.
    pub time: TimeSplit,
    /// Causes of the time in MPI, summed over ranks.
    pub causes: CausesReport,
    /// Resources at which messages delayed each other, with their parts of `causes.contention_s`, in descending
    /// order.
    pub contention: Vec<Contended>,
    /// Critical path, which determines the makespan, if all ranks have finished.
    pub critical_path: Option<CriticalPath>,
    /// Balance of computing and of received bytes over ranks.
    pub balance: Balance,
    /// Busiest links, the busiest first.
    pub busiest_links: Vec<BusyLink>,
    /// Highest utilisation of NICs, links and memories.
    pub utilisation: Utilisation,
    /// Messages between ranks of one host, which cross no link.
    pub node_memory: NodeMemoryReport,
    /// Totals by MPI call, in descending order of time.
    pub calls: Vec<CallTotal>,
    /// Algorithms that collectives used, by collective, members and size.
    pub collectives: Vec<AlgorithmUse>,
    /// Distribution of the time from a sender's call to the message in the receiver's buffer; none without messages.
    pub message_latency: Option<LatencyReport>,
    /// Share of the messages that the table `messages` holds, if it was requested.
    pub kept_messages: Option<MessagesReport>,
    /// Jobs of a run of several; empty for a run of one.
    pub jobs: Vec<JobReport>,
    /// Summary of statistics over time, if they were requested.
    pub statistics: Option<StatisticsReport>,
    /// Failed parts of the network and their cost, if parts can fail.
    pub faults: Option<FaultsReport>,
    /// Energy to solution, if the platform has powers: its keys are keys of `report.json`.
    #[serde(flatten)]
    pub energy: Option<EnergyUse>,
    /// Failure of the simulated program, if it failed.
    pub failure: Option<FailureReport>,
    /// True if the run was stopped before its end.
    pub partial: bool,
    /// Cause and point of the stop, if it was stopped.
    pub stopped: Option<StopReport>,
    /// Warnings: check these before you trust the prediction.
    pub warnings: Vec<String>,
    /// Time and memory of the simulator by layer, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_simulator: Option<SimulatorProfile>,
}

/// Split of the time, summed over ranks.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct TimeSplit {
    /// Computing \[s\].
    pub compute_s: f64,
    /// Time in MPI calls with something on its way to the rank, with overheads \[s\].
    pub transfer_s: f64,
    /// Time in MPI calls with nothing on its way yet, as partners were late \[s\].
    pub waiting_s: f64,
}

impl TimeSplit {
    /// Sums the times of some ranks.
    pub fn of(ranks: &[RankTotals]) -> TimeSplit {
        let sum = |of: fn(&RankTotals) -> f64| ranks.iter().map(of).sum();
        TimeSplit {
            compute_s: sum(|rank| rank.compute.seconds()),
            transfer_s: sum(|rank| rank.transfer().seconds()),
            waiting_s: sum(|rank| rank.waiting().seconds()),
        }
    }
}

/// Totals of one MPI function.
#[derive(Debug, Clone, Serialize)]
pub struct CallTotal {
    /// Function.
    pub call: &'static str,
    /// Number of calls.
    pub count: u64,
    /// Total time \[s\].
    pub total_s: f64,
    /// Mean time of a call \[s\].
    pub mean_s: f64,
    /// Longest call \[s\].
    pub max_s: f64,
    /// Part of `total_s` during which nothing was on its way \[s\].
    pub waiting_s: f64,
    /// Bytes that the calls themselves sent or received.
    pub bytes: u64,
}

/// Point at which a run was stopped before its end.
#[derive(Debug, Clone, Serialize)]
pub struct StopReport {
    /// Cause: "stop-at" for a requested time, "interrupt" for a monitor, "recording" for the end of a partial one.
    pub by: &'static str,
    /// Time of the last event, or the requested end \[s\].
    pub at_s: f64,
    /// Time before which all events were handled \[s\]; later ones, up to `at_s` inclusive, only in part. None if all events
    /// up to `at_s` were handled.
    pub whole_until_s: Option<f64>,
    /// Some of the ranks that have not finished, the furthest behind first.
    pub behind: Vec<StuckRank>,
}

/// Facts about a run that its builder knows.
#[derive(Debug, Clone, Default)]
pub struct Title {
    /// See [`Report::platform`].
    pub platform: String,
    /// See [`Report::calibration`].
    pub calibration: Option<Calibration>,
    /// See [`Report::platform_toml`].
    pub platform_toml: String,
    /// See [`Report::workload`].
    pub workload: String,
    /// See [`Report::model`].
    pub model: String,
    /// See [`Report::placement`].
    pub placement: String,
    /// See [`Report::seed`].
    pub seed: u64,
    /// See [`Report::setup_s`].
    pub setup_s: f64,
    /// Warnings found while building.
    pub warnings: Vec<String>,
    /// Warning to give if the work of a rank states memory traffic.
    pub unshared_memory: Option<String>,
    /// Host of each rank.
    pub host_of_rank: Vec<u32>,
    /// Sockets of a host, and the socket of each rank on its host.
    pub sockets: u16,
    /// See `sockets`.
    pub socket_of_rank: Vec<u32>,
    /// Jobs of a run of several; none for a run of one.
    pub jobs: Vec<PlacedJob>,
    /// Powers of the platform; none if no energy is counted.
    pub powers: Option<Powers>,
}

/// A finished run: the report and its tables.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Contents of `report.json`.
    pub report: Report,
    /// Tables for Parquet.
    pub tables: Vec<Table>,
}

impl Outcome {
    /// Contents of `report.json`, on one line.
    pub fn json(&self) -> String {
        serde_json::to_string(&self.report).expect("a report has text keys and finite numbers")
    }
}

/// Ratio of packets sent again to packets lost above which a warning is given.
const MOST_IN_VAIN: u64 = 2;

/// Facts of a run that was stopped before its end.
fn stop_report(ended: &Ended, makespan: Time) -> Option<StopReport> {
    let End::Stopped(stop) = ended.end else { return None };
    Some(StopReport {
        by: match stop {
            Stop::Asked => "interrupt",
            Stop::At(_) => "stop-at",
            Stop::Recorded => "recording",
        },
        at_s: makespan.seconds(),
        whole_until_s: ended.whole_until.map(Time::seconds),
        behind: ended.behind.iter().map(stuck).collect(),
    })
}

/// Makes the report of a run that has ended.
pub fn report(fabric: &Fabric, hosts: &HostParameters, ended: &Ended, title: &Title) -> Outcome {
    let makespan = makespan(ended);
    let names = LinkNames::new(fabric);
    let hosts_used = hosts_used(title);
    let stopped = stop_report(ended, makespan);
    let ranks = title.host_of_rank.len() as u32;
    let ranks_finished = ranks - ended.unfinished.len() as u32;
    let warnings = warnings(fabric, ended, title, ranks_finished);
    let (totals, finished) = (ended.views.ranks.totals(), ended.unfinished.is_empty());
    let (faults, faults_table) = crate::observe::faults(fabric, makespan, &ended.losses).unzip();
    let mut summary = ended.views.summary();
    ended.network.summarize(&names, &mut summary);
    let Summary { message_latency, kept_messages, node_memory, collectives, statistics } = summary;
    let mean = Bytes(ended.bytes / ended.messages.max(1));
    let utilisation = Utilisation::of((&ended.network.links, &names, hosts), &node_memory, mean, makespan);
    let utilisation = utilisation.with_processes((totals, &title.host_of_rank), hosts, makespan);
    let energy = title.powers.map(|powers| energy(&powers, fabric, ended, makespan, hosts_used));
    let report = Report {
        platform_toml: title.platform_toml.clone(),
        calibration: title.calibration.clone(),
        hopcast_version: env!("CARGO_PKG_VERSION"),
        platform: title.platform.clone(),
        workload: title.workload.clone(),
        model: title.model.clone(),
        placement: title.placement.clone(),
        seed: title.seed,
        ranks,
        ranks_finished,
        hosts: fabric.topology.hosts(),
        hosts_used,
        sockets: title.sockets,
        makespan_s: makespan.seconds(),
        outcome_hash: format!("{:016x}", ended.outcome_hash),
        messages: ended.messages,
        bytes: ended.bytes,
        packet_hops: ended.packet_hops,
        packets_lost: ended.losses.lost,
        packets_resent: ended.losses.resent,
        packets_duplicate: ended.losses.duplicates,
        events: ended.events,
        wall_s: ended.wall_s,
        setup_s: title.setup_s,
        peak_rss_bytes: peak_rss_bytes(),
        threads: ended.threads,
        processes: ended.processes,
        time: TimeSplit::of(totals),
        causes: CausesReport::of(totals),
        contention: ended.views.contention.report(fabric),
        critical_path: CriticalPath::of(&ended.views.ranks)
            .filter(|_| finished && ended.end == End::Finished),
        balance: Balance::of(totals),
        busiest_links: crate::observe::busiest_links(&ended.network.links, &names, makespan),
        utilisation,
        node_memory,
        calls: call_totals(ended),
        collectives,
        message_latency,
        kept_messages,
        jobs: jobs(ended, title),
        statistics,
        faults,
        energy,
        failure: failure(fabric, ended, &title.jobs),
        partial: stopped.is_some(),
        stopped,
        warnings,
        profile_simulator: None,
    };
    let mut tables = tables(ended, &names, title);
    tables.extend(faults_table);
    Outcome { report, tables }
}

/// Number of hosts that have a rank.
fn hosts_used(title: &Title) -> u32 {
    let mut used = title.host_of_rank.clone();
    used.sort_unstable();
    used.dedup();
    used.len() as u32
}

/// Warnings: things to check before the numbers are trusted.
fn warnings(fabric: &Fabric, ended: &Ended, title: &Title, ranks_finished: u32) -> Vec<String> {
    let mut warnings = title.warnings.clone();
    if matches!(ended.end, End::Stopped(Stop::Asked | Stop::At(_))) {
        warnings.push(format!(
            "the run was stopped at {}, when {ranks_finished} of {} ranks were done: this is a partial result",
            makespan(ended),
            title.host_of_rank.len(),
        ));
        warnings.extend(ended.whole_until.map(|whole_until| {
            format!(
                "the run was stopped in the middle of more than could be ended at once: of what happens at {whole_until} or \
                 later, only a part is in this report"
            )
        }));
    }
    warnings.extend(title.unshared_memory.clone().filter(|_| ended.names_memory));
    warnings.extend(ended.leftovers.iter().cloned());
    warnings.extend(ended.views.warnings());
    let network::Losses { lost, resent, .. } = ended.losses;
    if resent > MOST_IN_VAIN * lost {
        warnings.push(format!(
            "{resent} packets were sent again, and only {lost} had been lost: answers take longer than \
             transport.timeout; a longer one would spare the network"
        ));
    }
    if ended.end == End::Finished && !ended.cut_off.is_empty() {
        let who = crate::observe::cut_off(fabric, &ended.cut_off);
        warnings.push(format!("messages were never delivered, because no way was left: {who}"));
    }
    warnings
}

/// Finish of the last rank, or the time of the last event if not all have finished.
fn makespan(ended: &Ended) -> Time {
    match ended.end {
        End::Stopped(Stop::Recorded) if !ended.unfinished.is_empty() => ended.now,
        End::Finished | End::Stopped(Stop::Recorded) => {
            ended.views.ranks.totals().iter().map(|t| t.finish).max().unwrap_or(Time::ZERO)
        }
        _ => ended.now,
    }
}

fn tables(ended: &Ended, names: &LinkNames, title: &Title) -> Vec<Table> {
    let mut tables = ended.views.tables();
    let ranks = tables.iter_mut().find(|table| table.name == "ranks").expect("ranks are always kept");
    ranks.columns.insert(1, ("host", Column::U32(title.host_of_rank.clone())));
    if title.sockets > 1 {
        ranks.columns.insert(2, ("socket", Column::U32(title.socket_of_rank.clone())));
    }
    if !title.jobs.is_empty() {
        let names = title.jobs.iter().flat_map(|job| vec![job.name.clone(); job.ranks as usize]);
        ranks.columns.insert(1, ("job", Column::Text(names.collect())));
    }
    ranks.columns.extend(standings(ended));
    tables.extend(ended.network.tables(names));
    tables
}

/// Time that each rank has reached, and the call that it is in unless it has finished.
fn standings(ended: &Ended) -> [(&'static str, Column); 2] {
    let totals = ended.views.ranks.totals();
    let mut reached: Vec<f64> = totals.iter().map(|totals| totals.finish.seconds()).collect();
    let mut calls = vec![String::new(); totals.len()];
    for standing in &ended.unfinished {
        let rank = standing.rank.0 as usize;
        reached[rank] = standing.reached.seconds();
        calls[rank].clone_from(&standing.call);
    }
    [("reached_s", Column::F64(reached)), ("stands_in", Column::Text(calls))]
}

fn jobs(ended: &Ended, title: &Title) -> Vec<JobReport> {
    let totals = ended.views.ranks.totals();
    let unfinished: Vec<u32> = ended.unfinished.iter().map(|standing| standing.rank.0).collect();
    title.jobs.iter().map(|job| JobReport::of(job, totals, &title.host_of_rank, &unfinished)).collect()
}

fn call_totals(ended: &Ended) -> Vec<CallTotal> {
    let describe = |(call, totals): (&'static str, crate::observe::CallTotals)| CallTotal {
        call,
        count: totals.count,
        total_s: totals.total_s(),
        mean_s: totals.total_s() / totals.count as f64,
        max_s: totals.max.seconds(),
        waiting_s: totals.waiting_s(),
        bytes: totals.bytes.0,
    };
    ended.views.calls.totals().into_iter().map(describe).collect()
}
