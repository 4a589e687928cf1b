//! Grids of routers: every dimension is a line, a ring, or a complete graph.
//!
//! Torus, mesh, ring, HyperX, hypercube and crossbar are grids with different connections. Nothing is
//! stored per router: with the first dimension varying fastest, router
//! `r = x_0 + s_0 (x_1 + s_1 (x_2 + …))`, and hosts `r p .. (r + 1) p` sit on it.
//!
//! Links are numbered by dimension, then direction (up, down), then router, then lane; ends of lines
//! have no link outwards. A ring of two routers has two cables between them, as the hardware has.

use std::ops::Range;

use engine::registry::BuildError;
use engine::{Bandwidth, Duration};
use strength_reduce::StrengthReducedU32;

use super::{
    Formula, HOST_CLASSES, HostId, Link, LinkDefaults, LinkId, Node, Positions, Rates, RouterId, Topology,
};

/// Connection of the routers along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// Each with the next; the ends are open.
    Line,
    /// Each with the next, the last with the first.
    Ring,
    /// Each with all others.
    Full,
}

/// The links of one direction of a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side {
    /// Parallel links between two routers, 1 or more.
    pub lanes: u32,
    /// Rates of each of them.
    pub rates: Rates,
}

/// One dimension as its maker describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Connection of its routers.
    pub connection: Connection,
    /// Number of its routers, 1 or more.
    pub size: u32,
    /// Upwards (to the higher coordinate) and downwards; complete graphs use the first for both.
    pub sides: [Side; 2],
}

/// One dimension with what routes need at hand.
#[derive(Debug, Clone, Copy)]
pub struct Dimension {
    /// Its description.
    pub shape: Shape,
    /// Its size, for quick division.
    pub size: StrengthReducedU32,
    /// Routers between neighbours in this dimension.
    pub stride: u32,
    /// Routers in all rows that follow each other along it: stride times size.
    row: StrengthReducedU32,
    /// The first link of each direction.
    bases: [u32; 2],
    /// The link after the last.
    end: u32,
    /// Class of each direction.
    classes: [u16; 2],
}

/// One link of a grid, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The dimension it runs along.
    pub dimension: usize,
    /// True if it is one of the upward side; for complete graphs, if it leads to a higher coordinate.
    pub up: bool,
    /// True if it closes a ring.
    pub wraps: bool,
    /// Router that it starts at.
    pub from: u32,
    /// Router that it ends at.
    pub to: u32,
}

/// A grid of routers with the same number of hosts on each.
#[derive(Debug, Clone)]
pub struct Grid {
    dimensions: Vec<Dimension>,
    hosts_per_router: StrengthReducedU32,
    routers: u32,
    hosts: u32,
    links: u32,
    host_rates: Rates,
    default_routing: &'static str,
}

impl Dimension {
    /// The link from router `at`, whose coordinate here is `x`, one step up or down.
    pub fn step(&self, at: u32, x: u32, up: bool, lane: u32) -> LinkId {
        let side = usize::from(!up);
        // A line has one link less than routers in each row, so rows close up.
        let index = match self.shape.connection {
            Connection::Ring => at,
            Connection::Line => {
                let row = at / self.row;
                at - (row + u32::from(!up)) * self.stride
            }
            Connection::Full => return self.jump(at, x, if up { x + 1 } else { x - 1 }, lane),
        };
        LinkId(self.bases[side] + index * self.shape.sides[side].lanes + lane)
    }

    /// The link of a complete graph from router `at` with coordinate `x` to coordinate `target`.
    pub fn jump(&self, at: u32, x: u32, target: u32, lane: u32) -> LinkId {
        let slot = target - u32::from(target > x);
        LinkId(self.bases[0] + (at * (self.shape.size - 1) + slot) * self.shape.sides[0].lanes + lane)
    }

    /// The router one step up or down from `at` with coordinate `x`, around the ring if need be.
    pub fn neighbour(&self, at: u32, x: u32, up: bool) -> u32 {
        let round = (self.shape.size - 1) * self.stride;
        match (up, x + 1 == self.shape.size, x == 0) {
            (true, true, _) => at - round,
            (true, false, _) => at + self.stride,
            (false, _, true) => at + round,
            (false, _, false) => at - self.stride,
        }
    }

    /// Links of each direction.
    fn side_links(shape: &Shape, routers: u64) -> [u64; 2] {
        let size = u64::from(shape.size);
        let per_lane = match shape.connection {
            _ if size == 1 => [0, 0],
            Connection::Ring => [routers, routers],
            Connection::Line => [routers / size * (size - 1); 2],
            Connection::Full => [routers * (size - 1), 0],
        };
        [0, 1].map(|side| per_lane[side] * u64::from(shape.sides[side].lanes))
    }
}

impl Grid {
    /// A grid of these dimensions; none of them makes a single router.
    pub fn new(
        shapes: &[Shape],
        hosts_per_router: u32,
        links: &LinkDefaults,
        default_routing: &'static str,
    ) -> Result<Grid, BuildError> {
        let sizes = shapes.iter().map(|shape| shape.size.to_string()).collect::<Vec<_>>().join("x");
        let too_large = || {
            BuildError::new(
                "sizes",
                format!(
                    "{sizes} routers with {hosts_per_router} hosts each need more than {} links; \
                     make the sizes, the lanes or hosts_per_router smaller",
                    u32::MAX
                ),
            )
        };
        let routers = shapes
            .iter()
            .try_fold(1u32, |product, shape| product.checked_mul(shape.size))
            .ok_or_else(too_large)?;
        let hosts = routers.checked_mul(hosts_per_router).ok_or_else(too_large)?;
        let mut next = u64::from(hosts) * 2;
        let (mut stride, mut class) = (1, HOST_CLASSES.len() as u16);
        let mut dimensions = Vec::with_capacity(shapes.len());
        for shape in shapes {
            let counts = Dimension::side_links(shape, routers.into());
            let end = next + counts[0] + counts[1];
            let end32 = u32::try_from(end).map_err(|_| too_large())?;
            let sides = if shape.connection == Connection::Full { 1 } else { 2 };
            dimensions.push(Dimension {
                shape: *shape,
                size: StrengthReducedU32::new(shape.size),
                stride,
                row: StrengthReducedU32::new(stride * shape.size),
                bases: [next as u32, (next + counts[0]) as u32],
                end: end32,
                classes: [class, class + sides - 1],
            });
            (next, stride, class) = (end, stride * shape.size, class + sides);
        }
        Ok(Grid {
            dimensions,
            hosts_per_router: StrengthReducedU32::new(hosts_per_router),
            routers,
            hosts,
            links: u32::try_from(next).map_err(|_| too_large())?,
            host_rates: links.host(),
            default_routing,
        })
    }

    /// Its dimensions, the fastest varying first.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// The rates of the hosts' links.
    pub fn host_rates(&self) -> Rates {
        self.host_rates
    }

    /// The number of the router of a host.
    pub fn router_number(&self, host: HostId) -> u32 {
        host.0 / self.hosts_per_router
    }

    /// The coordinates of a router.
    pub fn coordinates(&self, router: RouterId) -> Vec<u32> {
        let mut rest = router.0;
        self.dimensions
            .iter()
            .map(|dimension| {
                let (above, x) = StrengthReducedU32::div_rem(rest, dimension.size);
                rest = above;
                x
            })
            .collect()
    }

    /// The first of the links parallel to a link between routers, and how many they are.
    pub fn parallel(&self, id: LinkId) -> (LinkId, u32) {
        let dimension = self.dimensions.iter().find(|dimension| id.0 < dimension.end);
        let dimension = dimension.expect("the link exists");
        let side = usize::from(id.0 >= dimension.bases[1]);
        let lanes = dimension.shape.sides[side].lanes;
        (LinkId(id.0 - (id.0 - dimension.bases[side]) % lanes), lanes)
    }

    /// Takes apart a link between routers.
    pub fn hop(&self, id: LinkId) -> Hop {
        let dimension = self.dimensions.iter().position(|dimension| id.0 < dimension.end);
        let dimension = dimension.expect("the link exists");
        let this = &self.dimensions[dimension];
        let Shape { connection, size, sides } = this.shape;
        let up = id.0 < this.bases[1];
        let side = usize::from(!up);
        let index = (id.0 - this.bases[side]) / sides[side].lanes;
        match connection {
            Connection::Ring => {
                let x = index / this.stride % this.size;
                let wraps = if up { x + 1 == size } else { x == 0 };
                Hop { dimension, up, wraps, from: index, to: this.neighbour(index, x, up) }
            }
            Connection::Line => {
                let row = index / (this.stride * (size - 1));
                let from = index + (row + u32::from(!up)) * this.stride;
                let to = if up { from + this.stride } else { from - this.stride };
                Hop { dimension, up, wraps: false, from, to }
            }
            Connection::Full => {
                let (from, slot) = (index / (size - 1), index % (size - 1));
                let x = from / this.stride % this.size;
                let target = slot + u32::from(slot >= x);
                let to = from - x * this.stride + target * this.stride;
                Hop { dimension, up: target > x, wraps: false, from, to }
            }
        }
    }

    /// The cheapest cut in the middle of a dimension, if that dimension has a middle.
    fn bisection(&self) -> Option<Bandwidth> {
        let cut = |dimension: &Dimension| {
            let Shape { connection, size, sides } = dimension.shape;
            let [up, down] = sides.map(|side| f64::from(side.lanes) * side.rates.bandwidth.as_f64());
            let size = f64::from(size);
            let row = match connection {
                // One way, a ring offers its upward links at one cut and its downward links at the other.
                Connection::Ring => up + down,
                Connection::Line => up.min(down),
                Connection::Full => up * size * size / 4.0,
            };
            row * f64::from(self.routers) / size
        };
        let long = self.dimensions.iter().filter(|dimension| dimension.shape.size > 1);
        let cheapest = long.min_by(|one, other| cut(one).total_cmp(&cut(other)))?;
        let even = cheapest.shape.size % 2 == 0;
        even.then(|| Bandwidth::from_f64(cut(cheapest)))
    }

    /// The short name of a dimension: x, y, z, a, b, c as Tofu counts them, numbers beyond six.
    fn dimension_name(&self, dimension: usize) -> String {
        match ["x", "y", "z", "a", "b", "c"].get(dimension) {
            Some(name) if self.dimensions.len() <= 6 => (*name).to_string(),
            _ => format!("d{dimension} "),
        }
    }
}

impl Topology for Grid {
    fn hosts(&self) -> u32 {
        self.hosts
    }
    fn routers(&self) -> u32 {
        self.routers
    }
    fn links(&self) -> u32 {
        self.links
    }
    fn link(&self, id: LinkId) -> Link {
        if let Some(link) = self.host_link(id, self.host_rates) {
            return link;
        }
        let hop = self.hop(id);
        let dimension = &self.dimensions[hop.dimension];
        let side = usize::from(!hop.up && dimension.shape.connection != Connection::Full);
        let rates = dimension.shape.sides[side].rates;
        Link {
            from: Node::Router(RouterId(hop.from)),
            to: Node::Router(RouterId(hop.to)),
            bandwidth: rates.bandwidth,
            latency: rates.latency,
            class: dimension.classes[side],
        }
    }
    fn classes(&self) -> Vec<String> {
        let mut classes: Vec<String> = HOST_CLASSES.map(String::from).to_vec();
        for (number, dimension) in self.dimensions.iter().enumerate() {
            let name = self.dimension_name(number);
            if dimension.shape.connection == Connection::Full {
                classes.push(name.trim().to_string());
            } else {
                classes.extend([format!("{name}+"), format!("{name}-")]);
            }
        }
        classes
    }
    fn router_of(&self, host: HostId) -> RouterId {
        RouterId(self.router_number(host))
    }
    fn hosts_of(&self, router: RouterId) -> Range<u32> {
        let each = self.hosts_per_router.get();
        router.0 * each..(router.0 + 1) * each
    }
    fn ports(&self, router: RouterId, ports: &mut Vec<LinkId>) {
        for (dimension, x) in self.dimensions.iter().zip(self.coordinates(router)) {
            let Shape { connection, size, sides } = dimension.shape;
            if connection == Connection::Full {
                for target in (0..size).filter(|target| *target != x) {
                    ports.extend((0..sides[0].lanes).map(|lane| dimension.jump(router.0, x, target, lane)));
                }
                continue;
            }
            for up in [true, false] {
                let edge = if up { x + 1 == size } else { x == 0 };
                if size > 1 && !(edge && connection == Connection::Line) {
                    let lanes = sides[usize::from(!up)].lanes;
                    ports.extend((0..lanes).map(|lane| dimension.step(router.0, x, up, lane)));
                }
            }
        }
    }
    fn formula(&self) -> Formula {
        let routers = u64::from(self.routers);
        let shapes = || self.dimensions.iter().map(|dimension| dimension.shape);
        let between: u64 = shapes().flat_map(|shape| Dimension::side_links(&shape, routers)).sum();
        let hosts = routers * u64::from(self.hosts_per_router.get());
        let diameter = shapes().map(|shape| match shape.connection {
            Connection::Ring => shape.size / 2,
            Connection::Line => shape.size - 1,
            Connection::Full => u32::from(shape.size > 1),
        });
        // Along one dimension, over all ordered pairs of coordinates, equal ones included.
        let mean = shapes().map(|shape| {
            let size = f64::from(shape.size);
            match shape.connection {
                Connection::Ring => f64::from(shape.size / 2) * f64::from(shape.size.div_ceil(2)) / size,
                Connection::Line => (size * size - 1.0) / (3.0 * size),
                Connection::Full => (size - 1.0) / size,
            }
        });
        let all_pairs = hosts as f64 / (hosts as f64 - 1.0);
        Formula {
            diameter: Some(diameter.sum()),
            mean_hops: (hosts > 1).then(|| all_pairs * mean.sum::<f64>()),
            bisection: self.bisection(),
            ..Formula::counts(hosts, routers, 2 * hosts + between)
        }
    }
    fn router_name(&self, router: RouterId) -> String {
        let coordinates = self.coordinates(router);
        if coordinates.is_empty() {
            return "crossbar".into();
        }
        let texts: Vec<_> = coordinates.iter().map(u32::to_string).collect();
        format!("({})", texts.join(","))
    }
    fn default_routing(&self) -> &'static str {
        self.default_routing
    }
    fn unit(&self) -> u32 {
        self.dimensions.iter().map(|dimension| dimension.stride).max().unwrap_or(1)
    }
    fn positions(&self, class: u16) -> Positions {
        match self.dimensions.iter().position(|dimension| dimension.classes.contains(&class)) {
            Some(number) => {
                let of = self.dimension_name(number).trim().to_string();
                Positions { of, count: self.dimensions[number].shape.size }
            }
            None => Positions { of: "router".to_string(), count: self.routers },
        }
    }
    fn position(&self, id: LinkId) -> u32 {
        match self.host_link(id, self.host_rates) {
            Some(_) => self.router_number(HostId(id.0 % self.hosts)),
            None => {
                let hop = self.hop(id);
                let dimension = &self.dimensions[hop.dimension];
                hop.from / dimension.stride % dimension.shape.size
            }
        }
    }
    fn cartesian(&self) -> Option<&Grid> {
        Some(self)
    }
}

/// `rates` where no list says otherwise: one value for all, one per dimension, or two per dimension
/// (upwards, downwards).
pub(super) fn sides(
    dimensions: usize,
    lanes: &[i64],
    bandwidths: &[Bandwidth],
    latencies: &[Duration],
    links: &LinkDefaults,
) -> Result<Vec<[Side; 2]>, BuildError> {
    let lanes = spread("lanes", lanes, 1, dimensions)?;
    let bandwidths = spread("bandwidth", bandwidths, links.bandwidth, dimensions)?;
    let latencies = spread("latency", latencies, links.latency, dimensions)?;
    if bandwidths.iter().flatten().any(|bandwidth| bandwidth.0 == 0) {
        return Err(BuildError::new("bandwidth", "0 B/s carries nothing; write more, or \"infinite\""));
    }
    let side = |d: usize, s: usize| Side {
        lanes: lanes[d][s] as u32,
        rates: Rates { bandwidth: bandwidths[d][s], latency: latencies[d][s] },
    };
    Ok((0..dimensions).map(|d| [side(d, 0), side(d, 1)]).collect())
}

/// Spreads a list over dimensions and directions, see [`sides`].
pub(super) fn spread<T: Copy>(
    parameter: &'static str,
    values: &[T],
    default: T,
    dimensions: usize,
) -> Result<Vec<[T; 2]>, BuildError> {
    match values.len() {
        0 => Ok(vec![[default; 2]; dimensions]),
        1 => Ok(vec![[values[0]; 2]; dimensions]),
        n if n == dimensions => Ok(values.iter().map(|value| [*value; 2]).collect()),
        n if n == 2 * dimensions => Ok(values.chunks(2).map(|pair| [pair[0], pair[1]]).collect()),
        n => Err(BuildError::new(
            parameter,
            format!(
                "{n} values for {dimensions} dimensions; write one for all, {dimensions} (one each), \
                 or {} (up and down each)",
                2 * dimensions
            ),
        )),
    }
}
