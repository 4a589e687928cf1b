//! Grids: a circle or line in one dimension, a raster in two, a slanted box in three; beyond that, small
//! dimensions are nested in large ones, turn by turn across and down.

use std::f64::consts::TAU;

use super::{Layout, Line, Point, truncate};
use crate::topology::grid::{Connection, Grid};
use crate::topology::{RouterId, Topology};

/// By the number of dimensions up to two, three, and more.
const ROUTERS_MOST: [u64; 3] = [1_000, 400, 800];

pub(super) fn layout(grid: &Grid) -> Layout {
    let sizes: Vec<u32> = grid.dimensions().iter().map(|dimension| dimension.shape.size).collect();
    let long: Vec<usize> = (0..sizes.len()).filter(|dimension| sizes[*dimension] > 1).collect();
    let shown = truncate(&sizes, ROUTERS_MOST[long.len().clamp(2, 4) - 2]);
    let routers = coordinates(&shown);
    let number = |coordinates: &Vec<u32>| {
        let parts = coordinates.iter().zip(grid.dimensions()).map(|(x, dimension)| x * dimension.stride);
        RouterId(parts.sum())
    };
    let round = long.len() == 1
        && grid.dimensions()[long[0]].shape.connection != Connection::Line
        && shown == sizes
        && shown[long[0]] > 2;
    let axes = axes(&long, &shown);
    let place = |coordinates: &Vec<u32>| -> Point {
        if round {
            let angle = TAU * f64::from(coordinates[long[0]]) / f64::from(sizes[long[0]]) - TAU / 4.0;
            let radius = f64::from(sizes[long[0]]) / TAU;
            return [radius * angle.cos(), radius * angle.sin()];
        }
        let parts = long
            .iter()
            .zip(&axes)
            .map(|(dimension, axis)| axis.map(|part| part * f64::from(coordinates[*dimension])));
        parts.fold([0.0, 0.0], |sum, part| [sum[0] + part[0], sum[1] + part[1]])
    };
    let mut layout = Layout { spacing: if long.len() > 2 { 0.45 } else { 1.0 }, ..Layout::default() };
    layout.routers = routers.iter().map(|coordinates| (number(coordinates), place(coordinates))).collect();
    for edge in layout.edges(grid) {
        let [from, to] = edge.ends.map(|end| layout.routers[end].1);
        let steps: u32 =
            routers[edge.ends[0]].iter().zip(&routers[edge.ends[1]]).map(|(a, b)| a.abs_diff(*b)).sum();
        // What would run over other routers leans aside.
        let bow = [(to[1] - from[1]) * 0.15, (from[0] - to[0]) * 0.15];
        let middle = [(from[0] + to[0]) / 2.0 + bow[0], (from[1] + to[1]) / 2.0 + bow[1]];
        let [width, height] = [(to[0] - from[0]).abs(), (to[1] - from[1]).abs()];
        let over = steps > 1 || (long.len() > 3 && width + height > 0.51);
        let control = (over && !round).then_some(middle);
        layout.lines.push(Line { from, to, control, class: edge.class, lanes: edge.lanes });
    }
    if shown != sizes {
        let text = |sizes: &[u32]| sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ");
        let sentence = format!(
            "Drawn are {} of {} routers, those with the lowest coordinates.",
            text(&shown),
            text(&sizes)
        );
        layout.left_out.push(sentence);
    }
    let distance = 0.42 * layout.spacing;
    if long.is_empty() {
        let hosts = grid.hosts_of(RouterId(0)).len();
        layout.spacing = 0.2 + hosts as f64 / 100.0;
        let radius = (0.3 * hosts as f64).max(2.0) / TAU;
        layout.hang_hosts(grid, radius, |_| [1.0, 0.0]);
    } else {
        layout.hang_hosts(grid, distance, |at| if round { at } else { [1.0, 1.0] });
    }
    layout
}

/// All coordinates below `sizes`, the first dimension varying fastest.
fn coordinates(sizes: &[u32]) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new()];
    for size in sizes {
        all = (0..*size)
            .flat_map(|x| {
                all.iter().map(move |before| before.iter().copied().chain([x]).collect::<Vec<u32>>())
            })
            .collect();
    }
    all
}

/// The step on the plane for one step in each of the dimensions `long`.
fn axes(long: &[usize], shown: &[u32]) -> Vec<Point> {
    match long.len() {
        1 => vec![[1.0, 0.0]],
        2 => vec![[1.0, 0.0], [0.0, 1.0]],
        3 => vec![[1.0, 0.0], [0.0, -1.0], [0.43, -0.31]],
        _ => {
            let mut axes = vec![[0.0, 0.0]; long.len()];
            let mut order: Vec<usize> = (0..long.len()).collect();
            order.sort_by_key(|index| shown[long[*index]]);
            let mut extents = [0.5, 0.5];
            for (turn, index) in order.into_iter().enumerate() {
                let side = turn % 2;
                axes[index][side] = extents[side];
                extents[side] *= f64::from(shown[long[index]]) + 0.6;
            }
            axes
        }
    }
}
