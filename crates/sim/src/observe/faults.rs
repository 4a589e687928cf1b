//! Failures during a run, and their cost.

use engine::{Duration, Time};
use network::faults::{CutOff, Failing, Outage};
use network::{Fabric, Losses};
use serde::Serialize;

use super::links::LinkNames;
use crate::table::{Column, Table};

/// Limit of failures in `report.json`; the table holds all.
const LISTED: usize = 100;
/// Limit of pairs of hosts that an error about unreachable hosts names.
const NAMED: usize = 4;

/// Summary of faults.
#[derive(Debug, Clone, Serialize)]
pub struct FaultsReport {
    /// Number of failures of links and cables by themselves.
    pub links_failed: u64,
    /// Number of failures of routers.
    pub routers_failed: u64,
    /// Packets that were on a link or in a router that failed, or that had no way on.
    pub packets_lost: u64,
    /// Packets sent again, for whatever reason, since no answer came in time.
    pub packets_resent: u64,
    /// Packets that took another route than the routing's own.
    pub packets_rerouted: u64,
    /// Messages with such packets.
    pub messages_rerouted: u64,
    /// Number of times that a message, or a packet to be sent again, had to wait for a route.
    pub waits: u64,
    /// First failures in order of time, at most 100.
    pub outages: Vec<OutageReport>,
}

/// One failure.
#[derive(Debug, Clone, Serialize)]
pub struct OutageReport {
    /// "link" or "router".
    pub kind: &'static str,
    /// Name of the failed element.
    pub name: String,
    /// Time of the failure \[s\].
    pub failed_s: f64,
    /// Time of the repair \[s\]; `None` if it was not repaired before the end.
    pub returned_s: Option<f64>,
    /// True if the time was given, false if drawn at random.
    pub planned: bool,
}

/// Failures up to `end`, and their cost; `None` if nothing can fail.
pub fn faults(fabric: &Fabric, end: Time, losses: &Losses) -> Option<(FaultsReport, Table)> {
    let outages = fabric.routing.around()?.elements().outages(end);
    let names = LinkNames::new(fabric);
    let all: Vec<OutageReport> = outages.iter().map(|outage| describe(outage, &names)).collect();
    let count = |kind| all.iter().filter(|outage| outage.kind == kind).count() as u64;
    let report = FaultsReport {
        links_failed: count("link"),
        routers_failed: count("router"),
        packets_lost: losses.broken,
        packets_resent: losses.resent,
        packets_rerouted: losses.rerouted,
        messages_rerouted: losses.rerouted_messages,
        waits: losses.waited,
        outages: all.iter().take(LISTED).cloned().collect(),
    };
    Some((report, table(&all, end)))
}

fn describe(outage: &Outage, names: &LinkNames) -> OutageReport {
    let (kind, name) = match &outage.what {
        Failing::Router(router) => ("router", names.fabric.topology.router_name(*router)),
        Failing::Links(links) => {
            let (from, to) = names.ends(links[0]);
            let back = links.iter().any(|link| names.ends(*link).0 == to);
            ("link", format!("{from} {} {to}", if back { "<->" } else { "->" }))
        }
    };
    OutageReport {
        kind,
        name,
        failed_s: outage.failed_at.since(Time::ZERO).seconds(),
        returned_s: outage.returned_at.map(|at| at.since(Time::ZERO).seconds()),
        planned: outage.planned,
    }
}

/// Table of all failures; an element that is not repaired before the `end` of the run has that as its end.
fn table(outages: &[OutageReport], end: Time) -> Table {
    let end = end.since(Time::ZERO).seconds();
    let flags =
        |of: fn(&OutageReport) -> bool| Column::U32(outages.iter().map(|one| of(one).into()).collect());
    Table::new(
        "faults",
        vec![
            ("kind", Column::Text(outages.iter().map(|one| one.kind.to_string()).collect())),
            ("name", Column::Text(outages.iter().map(|one| one.name.clone()).collect())),
            ("failed_s", Column::F64(outages.iter().map(|one| one.failed_s).collect())),
            ("until_s", Column::F64(outages.iter().map(|one| one.returned_s.unwrap_or(end)).collect())),
            ("returned", flags(|one| one.returned_s.is_some())),
            ("planned", flags(|one| one.planned)),
        ],
    )
}

/// Description of unreachable hosts.
pub fn cut_off(fabric: &Fabric, who: &[CutOff]) -> String {
    let topology = &*fabric.topology;
    let mut pairs: Vec<&CutOff> = Vec::new();
    for cut in who {
        if pairs.last().is_none_or(|last| (last.from, last.to) != (cut.from, cut.to)) {
            pairs.push(cut);
        }
    }
    let one = |cut: &&CutOff| {
        let since = cut.since.since(Time::ZERO);
        let since =
            if since == Duration::ZERO { "from the start".to_string() } else { format!("since {since}") };
        format!("{} cannot reach {} ({since})", topology.host_name(cut.from), topology.host_name(cut.to))
    };
    let named: Vec<String> = pairs.iter().take(NAMED).map(one).collect();
    let more = pairs.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(", and {more} more pairs") } else { String::new() };
    format!("{}{more}", named.join(", "))
}
