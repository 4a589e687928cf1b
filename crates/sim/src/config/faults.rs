//! `[faults]` and `[[faults.planned]]`: random and planned failures.

use engine::registry::{Kind, Parameter};
use engine::{Duration, Time};
use network::Topology;
use network::faults::{Failing, Faults, Planned, Rates, links_named, router_named};

use super::error::InputError;
use super::read::Checked;
use super::sections::optional;

pub(super) const FAULTS: &[Parameter] = &[
    optional(
        "link_time_to_failure",
        Kind::Time,
        "",
        "Mean time from when a cable between two routers is back (or the start) until it fails, at random. \
         Default: none does",
    ),
    optional("link_time_to_repair", Kind::Time, "", "Mean time until such a cable is back; needed with it"),
    optional(
        "router_time_to_failure",
        Kind::Time,
        "",
        "Mean time from when a router is back (or the start) until it fails, at random, with all of its links. \
         Default: none does",
    ),
    optional(
        "router_time_to_repair",
        Kind::Time,
        "",
        "Mean time until such a router is back; needed with it",
    ),
    optional(
        "detection",
        Kind::Time,
        "0 ns",
        "From when something fails or returns until routes take notice: until then packets wait at what has \
         failed",
    ),
];

pub(super) const PLANNED: &[Parameter] = &[
    optional(
        "link",
        Kind::Text,
        "",
        "Failing element: all links from A to B (\"A -> B\") or in both directions (\"A <-> B\"), by the names of \
         routers and hosts in reports: \"(0,0) <-> (1,0)\"",
    ),
    optional(
        "lane",
        Kind::Integer(0, 65_535),
        "",
        "Number of the parallel link, from 0, in each direction. Default: all of them",
    ),
    optional("router", Kind::Text, "", "Or a router by its name, with all of its links"),
    Parameter { name: "fails_at", kind: Kind::Time, default: None, summary: "Time of the failure" },
    optional("returns_at", Kind::Time, "", "Time of the repair, after the failure. Default: never"),
];

/// Faults of the sections; `seed` is that of all random streams.
pub(super) fn faults(
    faults: &Checked,
    planned: &[&Checked],
    topology: &dyn Topology,
    seed: u64,
) -> Result<Faults, InputError> {
    Ok(Faults {
        planned: planned.iter().map(|one| planned_of(one, topology)).collect::<Result<_, _>>()?,
        cables: rates(faults, "link_time_to_failure", "link_time_to_repair")?,
        routers: rates(faults, "router_time_to_failure", "router_time_to_repair")?,
        detection: faults.arguments.time("detection").expect("has a default"),
        seed,
    })
}

/// Error for faults in a `model` without them (only the packet model has them), at the place that asks for faults, if
/// one does.
pub(super) fn refused(faults: &Checked, planned: &[&Checked], model: &str) -> Option<InputError> {
    let key = ["link_time_to_failure", "router_time_to_failure"];
    let key = key.into_iter().find(|key| faults.arguments.time(key).is_some());
    let (section, key) = match (key, planned.first()) {
        (Some(key), _) => (faults, key),
        (None, Some(first)) => (*first, "fails_at"),
        (None, None) => return None,
    };
    let reason = format!(
        "only the network model 'packet' simulates faults, not '{model}'; take --model packet, or leave [faults] out"
    );
    Some(section.error(key, reason))
}

fn rates(faults: &Checked, failure: &str, repair: &str) -> Result<Option<Rates>, InputError> {
    let (to_failure, to_repair) = match [failure, repair].map(|key| faults.arguments.time(key)) {
        [None, None] => return Ok(None),
        [Some(to_failure), Some(to_repair)] => (to_failure, to_repair),
        [Some(_), None] => {
            return Err(faults.error(failure, format!("also needs {repair}, such as \"10 ms\"")));
        }
        [None, Some(_)] => {
            return Err(faults.error(repair, format!("also needs {failure}, such as \"1 s\"")));
        }
    };
    for (key, time) in [(failure, to_failure), (repair, to_repair)] {
        if time == Duration::ZERO {
            return Err(faults.error(key, "0 s: nothing would ever work; a mean time is above 0"));
        }
    }
    Ok(Some(Rates { to_failure, to_repair }))
}

fn planned_of(planned: &Checked, topology: &dyn Topology) -> Result<Planned, InputError> {
    let arguments = &planned.arguments;
    let lane = arguments.integer("lane").map(|lane| lane as u32);
    let what = match (arguments.text("link"), arguments.text("router")) {
        (Some(link), None) => {
            let links = links_named(topology, &link, lane);
            Failing::Links(links.map_err(|reason| planned.error("link", reason))?)
        }
        (None, Some(router)) if lane.is_none() => {
            let router = router_named(topology, &router);
            Failing::Router(router.map_err(|reason| planned.error("router", reason))?)
        }
        (None, Some(_)) => return Err(planned.error("lane", "a router fails with all of its links")),
        (Some(_), Some(_)) => {
            return Err(planned.error("router", "either a link or a router fails; write two entries"));
        }
        (None, None) => {
            let reason = "names neither a link such as \"A <-> B\" nor a router";
            return Err(planned.error("link", reason));
        }
    };
    let fails_at = arguments.time("fails_at").expect("required");
    let returns_at = arguments.time("returns_at");
    if let Some(returns_at) = returns_at.filter(|returns_at| *returns_at <= fails_at) {
        return Err(planned.error("returns_at", format!("{returns_at} is not after fails_at, {fails_at}")));
    }
    let returns_at = returns_at.map_or(Time::NEVER, |at| Time::ZERO + at);
    Ok(Planned { what, fails_at: Time::ZERO + fails_at, returns_at })
}
