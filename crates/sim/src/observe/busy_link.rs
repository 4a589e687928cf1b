//! Busiest links of a run, as `report.json` has them.

use engine::Time;
use network::message::LinkUse;
use serde::Serialize;

use super::links::{LinkNames, Links, Parallel, busiest};

const MOST_BUSIEST: usize = 10;

/// One busy link.
#[derive(Debug, Clone, Serialize)]
pub struct BusyLink {
    /// Its number.
    pub link: u32,
    /// Router or host at which it starts.
    pub from: String,
    /// Router or host at which it ends.
    pub to: String,
    /// Its class.
    pub class: String,
    /// Its number, from 1, among the parallel links from one router to the same other one.
    pub parallel: u32,
    /// Number of those parallel links.
    pub parallel_of: u32,
    /// Its traffic, headers included \[bytes\].
    pub bytes: u64,
    /// Messages that crossed it; packets in a model that moves those.
    pub transfers: u64,
    /// Time in which it carried something \[s\].
    pub busy_s: f64,
    /// Bytes over what it could have carried in the makespan \[0..1\].
    pub utilisation: f64,
}

/// The busiest links of a run of length `makespan`, the fullest first.
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
