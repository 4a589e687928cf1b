//! A picture of a network: routers, hosts and links, with a legend of what each kind of link carries.
//!
//! Grids, levels, groups and all else have a layout of their own, one file each; a large network is drawn in part, and the
//! picture says what was left out. Links between the same two routers are one line, wider for more.

mod grid;
mod groups;
mod levels;
mod spring;
mod svg;

use std::collections::BTreeMap;

use super::{HOST_CLASSES, HostId, Node, RouterId, Topology};

/// A place on the plane of a layout, in any unit; y grows downwards.
type Point = [f64; 2];

/// A line of a picture.
#[derive(Debug, Clone, Copy)]
struct Line {
    from: Point,
    to: Point,
    /// Point that a curve leans towards; `None` is straight.
    control: Option<Point>,
    /// The least of the classes of its links.
    class: u16,
    /// Links that it stands for, each direction.
    lanes: u32,
}

impl Line {
    /// The middle of a curve.
    fn middle(&self) -> Option<Point> {
        let [x, y] = self.control?;
        Some([(self.from[0] + 2.0 * x + self.to[0]) / 4.0, (self.from[1] + 2.0 * y + self.to[1]) / 4.0])
    }
}

/// Positions of everything in the picture.
#[derive(Debug, Default)]
struct Layout {
    routers: Vec<(RouterId, Point)>,
    hosts: Vec<(HostId, Point)>,
    lines: Vec<Line>,
    /// Distance between neighbouring routers, which gives their size.
    spacing: f64,
    /// Sentences on what the picture does not show.
    left_out: Vec<String>,
}

/// Links between two drawn routers, both directions and all lanes together.
#[derive(Debug, Clone, Copy)]
struct Edge {
    /// Indices into the routers of the layout.
    ends: [usize; 2],
    class: u16,
    lanes: u32,
}

/// The picture of `topology` as SVG, under `title`.
pub fn draw(topology: &dyn Topology, title: &str) -> String {
    let layout = if let Some(grid) = topology.cartesian() {
        grid::layout(grid)
    } else if let Some(tree) = topology.levelled() {
        levels::layout(tree)
    } else if let Some(groups) = topology.grouped() {
        groups::layout(topology, &*groups)
    } else {
        spring::layout(topology)
    };
    svg::write(topology, &layout, title)
}

impl Layout {
    /// The edges among the routers that have been placed.
    fn edges(&self, topology: &dyn Topology) -> Vec<Edge> {
        let places: BTreeMap<RouterId, usize> =
            self.routers.iter().enumerate().map(|(place, (router, _))| (*router, place)).collect();
        // Links one way and the other, and the least class.
        let mut edges: BTreeMap<[usize; 2], ([u32; 2], u16)> = BTreeMap::new();
        let mut ports = Vec::new();
        for (place, (router, _)) in self.routers.iter().enumerate() {
            ports.clear();
            topology.ports(*router, &mut ports);
            for port in &ports {
                let link = topology.link(*port);
                let Node::Router(to) = link.to else { continue };
                let Some(other) = places.get(&to).copied() else { continue };
                let edge = edges.entry([place.min(other), place.max(other)]).or_insert(([0, 0], link.class));
                edge.0[usize::from(place > other)] += 1;
                edge.1 = edge.1.min(link.class);
            }
        }
        let edge = |(ends, (lanes, class)): ([usize; 2], ([u32; 2], u16))| Edge {
            ends,
            class,
            lanes: lanes[0].max(lanes[1]),
        };
        edges.into_iter().map(edge).collect()
    }

    /// Draws a straight line for each edge.
    fn straight(&mut self, edges: &[Edge]) {
        for edge in edges {
            let [from, to] = edge.ends.map(|end| self.routers[end].1);
            self.lines.push(Line { from, to, control: None, class: edge.class, lanes: edge.lanes });
        }
    }

    /// Puts the hosts of each router around it, in the direction that `outwards` gives for the router's
    /// place, unless there are too many; then says so.
    fn hang_hosts(&mut self, topology: &dyn Topology, distance: f64, outwards: impl Fn(Point) -> Point) {
        let hosts: usize = self.routers.iter().map(|(router, _)| topology.hosts_of(*router).len()).sum();
        if hosts > HOSTS_MOST {
            let each = topology.hosts_of(self.routers[0].0).len();
            self.left_out.push(format!("Hosts are not drawn; each router has {each}."));
            return;
        }
        for (router, at) in self.routers.clone() {
            let range = topology.hosts_of(router);
            let count = range.len() as f64;
            let [x, y] = outwards(at);
            let middle = y.atan2(x);
            // Hosts fan out: closer together the more there are, at most all around.
            let step = (0.7f64).min(std::f64::consts::TAU / count);
            for (number, host) in range.enumerate() {
                let angle = middle + (number as f64 - (count - 1.0) / 2.0) * step;
                self.host(HostId(host), at, [at[0] + distance * angle.cos(), at[1] + distance * angle.sin()]);
            }
        }
    }

    /// Puts one host, with the line to its router.
    fn host(&mut self, host: HostId, router: Point, at: Point) {
        self.hosts.push((host, at));
        self.lines.push(Line { from: router, to: at, control: None, class: 0, lanes: 1 });
    }
}

/// More hosts than this are not drawn.
const HOSTS_MOST: usize = 400;

/// Takes from the largest of `sizes` until their product is at most `most`.
fn truncate(sizes: &[u32], most: u64) -> Vec<u32> {
    let mut shown = sizes.to_vec();
    while shown.iter().map(|size| u64::from(*size)).product::<u64>() > most {
        let largest = shown.iter_mut().max().expect("an empty product is small");
        *largest = (*largest * 4 / 5).max(1);
    }
    shown
}

/// The name of the class under which both directions of a link are drawn.
fn pair_name(classes: &[String], class: usize) -> String {
    match classes[class].strip_suffix('+') {
        Some(dimension) => dimension.trim().to_string(),
        None if class == 0 => "host".to_string(),
        None => classes[class]
            .strip_prefix("up ")
            .map_or(classes[class].clone(), |level| format!("to level {level}")),
    }
}

/// The class under which the links of `class` are drawn: opposite directions share one.
fn drawn_class(classes: &[String], class: usize) -> usize {
    let opposite = classes[class].ends_with('-') || classes[class].starts_with("down ");
    if class < HOST_CLASSES.len() { 0 } else { class - usize::from(opposite) }
}
