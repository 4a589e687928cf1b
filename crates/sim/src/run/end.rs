//! End of a run: gathers the outcomes of its domains, in one or several processes.

use engine::Time;
use mpi::{PartCall, Source};

use super::merge::Merged;
use super::peers::Peers;
use super::{Domain, Ended, Stop};
use crate::observe::{NetworkViews, Views, restored, saved};

/// End of a run, from the domains of this process with their `sources`, and those of other processes. `None` in all
/// processes but the first, which reports.
pub fn ended(
    mut domains: Vec<Domain>,
    sources: &[&dyn Source],
    stop: Option<Stop>,
    wall_s: f64,
    peers: &mut dyn Peers,
) -> Option<Ended> {
    let sums =
        domains.iter_mut().zip(sources).map(|(domain, source)| Merged::of(domain, *source, stop.is_some()));
    let mut sum = sums.reduce(Merged::and).expect("a process has a domain");
    // The end times of all processes, and their questions to others about mismatched collectives.
    let told = peers.share(saved(&(sum.now, sum.asked())));
    let told: Vec<(Time, Vec<PartCall>)> = told.iter().map(|told| restored(told)).collect();
    let mut last = told.iter().map(|(now, _)| *now).max().expect("a run has a process");
    if let Some(Stop::At(at)) = stop {
        last = at;
    }
    sum.now = last;
    for part in told.iter().flat_map(|(_, asked)| asked) {
        let known = domains.iter().find_map(|domain| domain.world.part_call(part));
        sum.answers.extend(known.map(|call| (*part, call)));
    }
    let (views, network) = seen(domains, last);
    let (sum, views, network) = gather(sum, views, network, peers)?;
    Some(sum.close(stop, wall_s, views, network, peers.count()))
}

/// Views of all domains of this process, up to `last`: of ranks, and of the network.
fn seen(domains: Vec<Domain>, last: Time) -> (Views, NetworkViews) {
    let each = domains.into_iter().map(|mut domain| {
        domain.finish(last);
        (domain.views, domain.network_views)
    });
    each.reduce(|(views, network), (other_views, other_network)| {
        (views.and(other_views), network.and(other_network))
    })
    .expect("a process has a domain")
}

/// Sends everything to the first process.
fn gather(
    mut sum: Merged,
    mut views: Views,
    mut network: NetworkViews,
    peers: &mut dyn Peers,
) -> Option<(Merged, Views, NetworkViews)> {
    if peers.count() == 1 {
        return Some((sum, views, network));
    }
    let mut to = vec![Vec::new(); peers.count() as usize];
    if peers.rank() > 0 {
        to[0] = saved(&(&sum, views.save(), network.save()));
    }
    let received = peers.exchange(&to);
    if peers.rank() > 0 {
        return None;
    }
    for other in &received[1..] {
        let (other_sum, other_views, other_network): (Merged, Vec<Vec<u8>>, Vec<Vec<u8>>) = restored(other);
        sum = sum.and(other_sum);
        let other_views = views.restored(&other_views);
        views = views.and(other_views);
        let other_network = network.restored(&other_network);
        network = network.and(other_network);
    }
    Some((sum, views, network))
}
