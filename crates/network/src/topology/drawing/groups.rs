//! Groups (dragonflies, Slim Fly): groups on a large circle, the routers of each on a small one, global links across.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use super::{Layout, Line, Point};
use crate::topology::grouped::Grouped;
use crate::topology::{RouterId, Topology};

const GROUPS_MOST: u32 = 80;
const GROUP_ROUTERS_MOST: u32 = 48;
const LINES_MOST: usize = 3_000;

pub(super) fn layout(topology: &dyn Topology, network: &dyn Grouped) -> Layout {
    let size = topology.unit();
    let (groups, routers) = (network.groups().min(GROUPS_MOST), size.min(GROUP_ROUTERS_MOST));
    let mut layout = Layout::default();
    let circle = |index: u32, count: u32| {
        let angle = TAU * f64::from(index) / f64::from(count) - TAU / 4.0;
        [angle.cos(), angle.sin()]
    };
    // Small circles take up two thirds of the room that they have on the large one.
    let small = if groups == 1 { 1.0 } else { (TAU / f64::from(groups) / 3.0).min(0.4) };
    let centre = |group: u32| if groups == 1 { [0.0, 0.0] } else { circle(group, groups) };
    for group in 0..groups {
        for number in 0..routers {
            let ([x, y], [dx, dy]) = (centre(group), circle(number, routers));
            let radius = if routers == 1 { 0.0 } else { small };
            layout.routers.push((RouterId(group * size + number), [x + radius * dx, y + radius * dy]));
        }
    }
    layout.spacing = small * (TAU / f64::from(routers.max(6)));
    lines(&mut layout, topology, network, &|router| centre(network.group_of(router.0)));
    if (groups, routers) != (network.groups(), size) {
        layout.left_out.push(format!(
            "Drawn are {groups} of {} groups, and {routers} of {size} routers in each.",
            network.groups()
        ));
    }
    let centres: Vec<Point> =
        layout.routers.iter().map(|(router, _)| centre(network.group_of(router.0))).collect();
    let places: Vec<Point> = layout.routers.iter().map(|(_, at)| *at).collect();
    let alone = routers == 1;
    layout.hang_hosts(topology, 0.35 * small, |at| {
        let index = places.iter().position(|place| *place == at).unwrap_or(0);
        if alone { at } else { [at[0] - centres[index][0], at[1] - centres[index][1]] }
    });
    layout
}

/// Local links straight, global ones bent towards the middle; too many are drawn for one group, or
/// from group to group.
fn lines(
    layout: &mut Layout,
    topology: &dyn Topology,
    network: &dyn Grouped,
    centre: &dyn Fn(RouterId) -> Point,
) {
    let edges = layout.edges(topology);
    let global = topology.classes().len() as u16 - 1;
    let (far, near): (Vec<_>, Vec<_>) = edges.into_iter().partition(|edge| edge.class == global);
    let group = |layout: &Layout, end: usize| network.group_of(layout.routers[end].0.0);
    let all_near = near.len() <= LINES_MOST;
    if !all_near {
        layout.left_out.push("Local links are drawn for group 0; all groups are alike.".into());
    }
    let near: Vec<_> = near.into_iter().filter(|edge| all_near || group(layout, edge.ends[0]) == 0).collect();
    layout.straight(&near);
    let mut bundles: BTreeMap<[u32; 2], (Point, Point, u32)> = BTreeMap::new();
    for edge in &far {
        let ([from, to], [a, b]) = (edge.ends.map(|end| layout.routers[end].1), edge.ends);
        if far.len() <= LINES_MOST {
            let control = Some([(from[0] + to[0]) * 0.2, (from[1] + to[1]) * 0.2]);
            layout.lines.push(Line { from, to, control, class: global, lanes: edge.lanes });
        } else {
            let ends = [centre(layout.routers[a].0), centre(layout.routers[b].0)];
            let key = [group(layout, a), group(layout, b)];
            bundles.entry(key).or_insert((ends[0], ends[1], 0)).2 += edge.lanes;
        }
    }
    if !bundles.is_empty() {
        layout.left_out.push("All global links between two groups are one line.".into());
    }
    for (from, to, _) in bundles.into_values() {
        let control = Some([(from[0] + to[0]) * 0.2, (from[1] + to[1]) * 0.2]);
        layout.lines.push(Line { from, to, control, class: global, lanes: 1 });
    }
}
