//! What failed during a run, and what that has cost.

use engine::{Duration, Time};
use network::faults::{CutOff, Failing, Outage};
use network::{Fabric, Losses};
use serde::Serialize;

use super::links::LinkNames;
use crate::table::{Column, Table};

/// So many failures stand in `report.json`; the table holds all.
const LISTED: usize = 100;
/// So many pairs of hosts are named that do not reach each other.
const NAMED: usize = 4;

/// Faults in short.
#[derive(Debug, Clone, Serialize)]
pub struct FaultsReport {
    /// How often a link or cable has failed by itself.
    pub links_failed: u64,
    /// How often a router has.
    pub routers_failed: u64,
    /// Packets that were on a link or in a router that failed, or that had no way on.
    pub packets_lost: u64,
    /// Packets sent again, whatever for, because nothing had answered them in time.
    pub packets_resent: u64,
    /// Packets that went another way than the routing's own.
    pub packets_rerouted: u64,
    /// Messages with such packets.
    pub messages_rerouted: u64,
    /// How often a message, or a packet to be sent again, had to wait until there was a way.
    pub waits: u64,
    /// The failures, first first: 100 at the most.
    pub outages: Vec<OutageReport>,
}

/// One failure.
#[derive(Debug, Clone, Serialize)]
pub struct OutageReport {
    /// "link" or "router".
    pub kind: &'static str,
    /// What failed.
    pub name: String,
    /// When \[s\].
    pub failed_s: f64,
    /// When it was back \[s\]; `None` if that was not before the end.
    pub returned_s: Option<f64>,
    /// Whether the time was given, not drawn.
    pub planned: bool,
}

/// What failed up to `end`, and what it has cost; `None` where nothing can fail.
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

/// All failures; what was not back at the `end` of the run has that as its end.
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

/// Who cannot reach whom, in words.
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
