//! Busiest links of a run, for `report.json`.

use engine::Time;
use network::message::LinkUse;
use serde::Serialize;

use super::links::{LinkNames, Links, Parallel, busiest};

const MOST_BUSIEST: usize = 10;

/// One busy link.
#[derive(Debug, Clone, Serialize)]
pub struct BusyLink {
    /// Number of the link.
    pub link: u32,
    /// Router or host at which it starts.
    pub from: String,
    /// Router or host at which it ends.
    pub to: String,
    /// Class of the link.
    pub class: String,
    /// Number, from 1, among the parallel links from one router to another.
    pub parallel: u32,
    /// Number of these parallel links.
    pub parallel_of: u32,
    /// Traffic with headers \[bytes\].
    pub bytes: u64,
    /// Messages that crossed it; packets in a model that moves those.
    pub transfers: u64,
    /// Time in which it transmitted \[s\].
    pub busy_s: f64,
    /// Transmitted bytes over the link's capacity in the makespan \[0..1\].
    pub utilisation: f64,
}

/// Busiest links of a run of length `makespan`, the highest utilisation first.
pub fn busiest_links(links: &Links, names: &LinkNames, makespan: Time) -> Vec<BusyLink> {
    let busiest = busiest(links.totals(), |link| names.rate(link), MOST_BUSIEST);
    let parallel = names.parallel(busiest.iter().map(|used| used.link));
    let describe = |(used, place): (&LinkUse, &Parallel)| {
        let (from, to) = names.ends(used.link);
        let could = names.bandwidth(used.link) * makespan.seconds();
        BusyLink {
            link: used.link.0,
            from,
            to,
            class: names.class(used.link),
            parallel: place.number,
            parallel_of: place.of,
            bytes: used.bytes.0,
            transfers: used.transfers,
            busy_s: used.busy.seconds(),
            utilisation: if could > 0.0 { used.bytes.0 as f64 / could } else { 0.0 },
        }
    };
    busiest.iter().zip(&parallel).map(describe).collect()
}
