//! Any graph: routers repel each other, links pull them together.
//!
//! Source: Fruchterman and Reingold, "Graph drawing by force-directed placement" (Software: Practice and
//! Experience 21(11), 1991), from a circle in breadth-first order, so that the picture is always the same.

use std::f64::consts::TAU;

use super::{Edge, Layout, Point};
use crate::topology::adjacency::Adjacency;
use crate::topology::{RouterId, Topology};

const ROUTERS_MOST: usize = 300;
const ROUNDS: u32 = 300;

pub(super) fn layout(topology: &dyn Topology) -> Layout {
    let adjacency = Adjacency::of(topology);
    let near: Vec<u32> = adjacency.backwards(0).nearest_first().take(ROUTERS_MOST).collect();
    let count = near.len() as f64;
    let on_circle = |(index, router): (usize, &u32)| {
        let angle = TAU * index as f64 / count;
        (RouterId(*router), [count.sqrt() * angle.cos(), count.sqrt() * angle.sin()])
    };
    let mut layout = Layout {
        routers: near.iter().enumerate().map(on_circle).collect(),
        spacing: 0.8,
        ..Layout::default()
    };
    let edges = layout.edges(topology);
    settle(&mut layout, &edges);
    layout.straight(&edges);
    if near.len() < topology.routers() as usize {
        let sentence = format!(
            "Drawn are the {} of {} routers that are nearest to {}.",
            near.len(),
            topology.routers(),
            topology.router_name(RouterId(0))
        );
        layout.left_out.push(sentence);
    }
    let middle = layout
        .routers
        .iter()
        .fold([0.0, 0.0], |sum, (_, at)| [sum[0] + at[0] / count, sum[1] + at[1] / count]);
    layout.hang_hosts(topology, 0.45, |at| [at[0] - middle[0] + 1e-9, at[1] - middle[1]]);
    layout
}

/// Moves the routers until the forces have cooled down; the unit is the wanted length of a link.
fn settle(layout: &mut Layout, edges: &[Edge]) {
    let count = layout.routers.len();
    for round in 0..ROUNDS {
        let heat = (count as f64).sqrt() * 0.3 * (1.0 - f64::from(round) / f64::from(ROUNDS));
        let mut forces: Vec<Point> = vec![[0.0, 0.0]; count];
        for one in 0..count {
            for other in one + 1..count {
                let [dx, dy] = difference(layout, one, other);
                let push = 1.0 / (dx * dx + dy * dy).max(1e-4);
                add(&mut forces, one, other, [dx * push, dy * push]);
            }
        }
        for edge in edges {
            let [one, other] = edge.ends;
            let [dx, dy] = difference(layout, one, other);
            let pull = -dx.hypot(dy);
            add(&mut forces, one, other, [dx * pull, dy * pull]);
        }
        for ((_, at), [fx, fy]) in layout.routers.iter_mut().zip(forces) {
            let strength = fx.hypot(fy).max(1e-9);
            let step = strength.min(heat) / strength;
            *at = [at[0] + fx * step, at[1] + fy * step];
        }
    }
}

fn difference(layout: &Layout, one: usize, other: usize) -> Point {
    let (one, other) = (layout.routers[one].1, layout.routers[other].1);
    [one[0] - other[0], one[1] - other[1]]
}

fn add(forces: &mut [Point], one: usize, other: usize, [fx, fy]: Point) {
    forces[one] = [forces[one][0] + fx, forces[one][1] + fy];
    forces[other] = [forces[other][0] - fx, forces[other][1] - fy];
}
