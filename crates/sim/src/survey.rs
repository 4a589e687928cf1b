//! Data of `hopcast topology show` about a platform's network.

use network::survey::{Survey, Value as Measured, survey as survey_of};
use network::topology::drawing::draw;
use network::topology::link_classes::ClassSurvey;
use serde_json::{Value, json};

use crate::config::{InputError, Platform};

/// Counts, distances, bisection and path diversity of the platform's network; units end the names. A value that is
/// not always exact is `{value, found}`, and `null` if it has no meaning or is infinite.
pub fn survey(platform: &Platform, seed: u64) -> Result<Value, InputError> {
    let Survey {
        hosts,
        routers,
        links,
        classes,
        diameter,
        mean_hops,
        bisection,
        half_of_hosts,
        diversity,
        routed,
    } = survey_of(&platform.fabric(seed)?);
    let diversity =
        diversity.map(|ways| json!({"least": ways.least, "mean": ways.mean, "pairs_of_routers": ways.pairs}));
    let routed = routed.map(|routes| {
        json!({
            "mean_hops": routes.mean_hops,
            "most_hops": routes.most_hops,
            "latency_min_s": routes.latency_min.seconds(),
            "latency_mean_s": routes.latency_mean.seconds(),
            "latency_max_s": routes.latency_max.seconds(),
            "pairs_of_hosts": routes.pairs,
            "virtual_channels": routes.channels,
        })
    });
    Ok(json!({
        "platform": platform.name(),
        "topology": platform.topology_kind(),
        "hosts": hosts,
        "routers": routers,
        "links": links,
        "classes": classes.iter().map(class).collect::<Vec<_>>(),
        "diameter_hops": measured(diameter, |hops| json!(hops)),
        "mean_hops": mean_hops.map(|mean| measured(mean, |hops| json!(hops))),
        "bisection_Bps": bisection.map(|found| measured(found, |bandwidth| json!(bandwidth.as_f64()))),
        "half_of_hosts_Bps": half_of_hosts.as_f64(),
        "path_diversity": diversity,
        "routed": routed,
    }))
}

/// Picture of the platform's network, as SVG.
pub fn picture(platform: &Platform) -> Result<String, InputError> {
    Ok(draw(&*platform.topology()?, &format!("{}: {}", platform.name(), platform.topology_kind())))
}

fn measured<T>(found: Measured<T>, write: impl Fn(T) -> Value) -> Value {
    json!({"value": write(found.value), "found": found.found.to_string()})
}

fn class(class: &ClassSurvey) -> Value {
    json!({
        "name": class.name,
        "links": class.links,
        "bandwidth_min_Bps": class.bandwidth_min.as_f64(),
        "bandwidth_max_Bps": class.bandwidth_max.as_f64(),
        "latency_min_s": class.latency_min.seconds(),
        "latency_max_s": class.latency_max.seconds(),
    })
}
