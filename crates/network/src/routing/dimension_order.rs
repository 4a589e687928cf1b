//! Dimension order: the coordinates are set right one after the other, the shorter way round each ring.
//!
//! Route length `Σ distance_d`, where the distance is `|Δ|` on a line, `min(Δ mod s, -Δ mod s)` on a
//! ring, and 1 in a complete graph; idle latency is `Σ distance_d latency_d` plus the hosts' links.
//! Two virtual channels (a dateline) where a ring is long enough to wait for itself, else one.
//!
//! Source: Dally and Seitz, "Deadlock-free message routing in multiprocessor interconnection networks"
//! (IEEE ToC C-36(5), 1987).

use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter};
use engine::{Bandwidth, Duration};
use strength_reduce::StrengthReducedU32;

use super::{Build, Decision, Load, Routing, RoutingState, Trip, grid_channels};
use crate::choice::Choice;
use crate::topology::Idle;
use crate::topology::grid::{Connection, Dimension, Grid};
use crate::topology::{HostId, LinkId, Topology};

pub(super) const LANES: Parameter = Parameter {
    name: "lanes",
    kind: Kind::Choice(&["hashed", "pair", "first", "least-loaded"]),
    default: Some("\"hashed\""),
    summary: "which of parallel links: by the message (or packet), by its pair of hosts, the first, or by load",
};
pub(super) const TIES: Parameter = Parameter {
    name: "ties",
    kind: Kind::Choice(&["pair", "up"]),
    default: Some("\"pair\""),
    summary: "which way half round a ring: by the pair of hosts, or always up",
};

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "dimension-order",
    summary: "one dimension after the other, the shorter way; grids (torus, mesh, hyperx, …)",
    source: "Dally and Seitz 1987",
    parameters: &[LANES, TIES],
    examples: &["", "lanes = \"pair\"\nties = \"up\"", "lanes = \"first\"", "lanes = \"least-loaded\""],
    build,
};

/// Choice among the parallel links between two routers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lanes {
    Hashed,
    Pair,
    First,
    LeastLoaded,
}

/// The way through a grid, and the choices that it leaves open.
#[derive(Debug, Clone)]
pub(super) struct Way {
    pub grid: Grid,
    lanes: Lanes,
    /// Ties on rings go up always, not by the pair of hosts.
    ties_up: bool,
    seed: u64,
}

/// The random words of one message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    /// Equal for all messages between two hosts.
    pair: u64,
    /// Its own, where the lanes want it.
    lane: u64,
}

impl Way {
    /// Through `topology`, which must be a grid.
    pub fn new(arguments: &Arguments, topology: &dyn Topology, seed: u64) -> Result<Way, BuildError> {
        let grid = topology.cartesian().ok_or_else(|| {
            BuildError::new(
                "kind",
                format!(
                    "this topology has no dimensions, as torus, mesh, hyperx, … have; here {} would do",
                    topology.default_routing()
                ),
            )
        })?;
        let lanes = match arguments.text("lanes").as_deref() {
            Some("pair") => Lanes::Pair,
            Some("first") => Lanes::First,
            Some("least-loaded") => Lanes::LeastLoaded,
            _ => Lanes::Hashed,
        };
        let ties_up = arguments.text("ties").as_deref() == Some("up");
        Ok(Way { grid: grid.clone(), lanes, ties_up, seed })
    }

    /// True if messages of one pair may part: there are parallel links, and they are chosen by message.
    pub fn parts(&self) -> bool {
        let side = |dimension: &Dimension| dimension.shape.sides.iter().any(|side| side.lanes > 1);
        matches!(self.lanes, Lanes::Hashed | Lanes::LeastLoaded) && self.grid.dimensions().iter().any(side)
    }

    /// At how many routers packets choose among parallel links by load: all, or none.
    pub fn decisions(&self) -> u32 {
        if self.lanes == Lanes::LeastLoaded && self.parts() { u32::MAX } else { 0 }
    }

    /// The least loaded of the links parallel to `next`; `next` itself where that is one of them.
    pub fn adapt(&self, next: LinkId, load: &dyn Load) -> Decision {
        if self.lanes != Lanes::LeastLoaded {
            return Decision::Stay;
        }
        let (first, lanes) = self.grid.parallel(next);
        let lane = |number: u32| LinkId(first.0 + (next.0 - first.0 + number) % lanes);
        let least =
            (0..lanes).map(lane).min_by_key(|link| load.of(*link)).expect("there is at least one lane");
        if least == next { Decision::Stay } else { Decision::ParallelLink(least) }
    }

    /// The most hops between two routers.
    pub fn diameter(&self) -> u32 {
        self.grid.formula().diameter.expect("grids know their diameter")
    }

    /// The words of a message.
    pub fn words(&self, trip: Trip) -> Words {
        let pair = Choice::new(self.seed, Trip { key: 0, ..trip }).word();
        match self.lanes {
            Lanes::First => Words { pair, lane: 0 },
            Lanes::Pair => Words { pair, lane: pair },
            _ if trip.key == 0 => Words { pair, lane: pair },
            _ => Words { pair, lane: Choice::new(self.seed, trip).word() },
        }
    }

    /// Direction and number of hops from coordinate `x` to `target` of dimension `number`.
    fn plan(&self, number: usize, dimension: &Dimension, x: u32, target: u32, words: Words) -> (bool, u32) {
        let size = dimension.shape.size;
        match dimension.shape.connection {
            Connection::Line => (target > x, target.abs_diff(x)),
            Connection::Full => (target > x, u32::from(target != x)),
            Connection::Ring => {
                let up = if target >= x { target - x } else { target + size - x };
                let down = size - up;
                let tie_up = self.ties_up || words.pair >> (number % 64) & 1 == 0;
                if up < down || (up == down && tie_up) { (true, up) } else { (false, down) }
            }
        }
    }

    /// Appends the links from router `from` to router `to`.
    pub fn walk(&self, from: u32, to: u32, words: Words, load: &dyn Load, path: &mut Vec<LinkId>) {
        let (mut at, mut rest, mut rest_to) = (from, from, to);
        for (number, dimension) in self.grid.dimensions().iter().enumerate() {
            if rest == rest_to {
                break;
            }
            let (above, x) = StrengthReducedU32::div_rem(rest, dimension.size);
            let (above_to, target) = StrengthReducedU32::div_rem(rest_to, dimension.size);
            (rest, rest_to) = (above, above_to);
            if x != target {
                at = self.leg(number, at, [x, target], words, load, path);
            }
        }
    }

    /// Appends the links from `at` along one dimension to the coordinate of `to`, none if it is there; says where they end.
    pub fn along(
        &self,
        number: usize,
        at: u32,
        to: u32,
        words: Words,
        load: &dyn Load,
        path: &mut Vec<LinkId>,
    ) -> u32 {
        let dimension = &self.grid.dimensions()[number];
        let ends = [at, to].map(|router| router / dimension.stride % dimension.size);
        if ends[0] == ends[1] {
            return at;
        }
        self.leg(number, at, ends, words, load, path)
    }

    /// Appends the links from `at` along one dimension from coordinate `x` to a different `target`.
    fn leg(
        &self,
        number: usize,
        mut at: u32,
        [mut x, target]: [u32; 2],
        words: Words,
        load: &dyn Load,
        path: &mut Vec<LinkId>,
    ) -> u32 {
        let dimension = &self.grid.dimensions()[number];
        let (up, hops) = self.plan(number, dimension, x, target, words);
        if dimension.shape.connection == Connection::Full {
            let first = dimension.jump(at, x, target, 0);
            path.push(self.lane(first, dimension.shape.sides[0].lanes, number, words, load));
            return at + target * dimension.stride - x * dimension.stride;
        }
        let (lanes, last) = (dimension.shape.sides[usize::from(!up)].lanes, dimension.shape.size - 1);
        for _ in 0..hops {
            let first = dimension.step(at, x, up, 0);
            path.push(self.lane(first, lanes, number, words, load));
            at = dimension.neighbour(at, x, up);
            x = match up {
                true if x == last => 0,
                true => x + 1,
                false if x == 0 => last,
                false => x - 1,
            };
        }
        at
    }

    /// One of `lanes` links from `first` on.
    fn lane(&self, first: LinkId, lanes: u32, dimension: usize, words: Words, load: &dyn Load) -> LinkId {
        if lanes == 1 || self.lanes == Lanes::First {
            return first;
        }
        let word = words.lane.rotate_right(11 * dimension as u32) & u64::from(u32::MAX);
        let chosen = ((word * u64::from(lanes)) >> 32) as u32;
        if self.lanes != Lanes::LeastLoaded {
            return LinkId(first.0 + chosen);
        }
        let lane = |number: u32| LinkId(first.0 + (chosen + number) % lanes);
        (0..lanes).map(lane).min_by_key(|link| load.of(*link)).expect("there is at least one lane")
    }

    /// Latency and bandwidth between two routers, without the hosts' links.
    pub fn idle(&self, from: u32, to: u32, words: Words) -> Idle {
        let mut idle = Idle { latency: Duration::ZERO, bandwidth: Bandwidth::INFINITE };
        let (mut rest, mut rest_to) = (from, to);
        for (number, dimension) in self.grid.dimensions().iter().enumerate() {
            if rest == rest_to {
                break;
            }
            let (above, x) = StrengthReducedU32::div_rem(rest, dimension.size);
            let (above_to, target) = StrengthReducedU32::div_rem(rest_to, dimension.size);
            (rest, rest_to) = (above, above_to);
            if x == target {
                continue;
            }
            let (up, hops) = self.plan(number, dimension, x, target, words);
            let side = usize::from(!up && dimension.shape.connection != Connection::Full);
            let rates = dimension.shape.sides[side].rates;
            idle.latency += rates.latency * u64::from(hops);
            idle.bandwidth = idle.bandwidth.min(rates.bandwidth);
        }
        idle
    }

    /// Latency and bandwidth between two hosts, for the message with key 0.
    pub fn idle_hosts(&self, from: HostId, to: HostId) -> Idle {
        let (start, end) = (self.grid.router_number(from), self.grid.router_number(to));
        self.with_hosts(self.idle(start, end, self.words(Trip::new(from, to, 0))))
    }

    /// Adds the hosts' links to what is known of the way between their routers.
    pub fn with_hosts(&self, idle: Idle) -> Idle {
        let rates = self.grid.host_rates();
        Idle { latency: idle.latency + rates.latency * 2, bandwidth: idle.bandwidth.min(rates.bandwidth) }
    }
}

struct DimensionOrder {
    way: Way,
    dateline: bool,
}

fn build(arguments: &Arguments, topology: &dyn Topology, seed: u64) -> Result<Box<dyn Routing>, BuildError> {
    let way = Way::new(arguments, topology, seed)?;
    let dateline = grid_channels::needs_dateline(&way.grid, |size| size / 2);
    Ok(Box::new(DimensionOrder { way, dateline }))
}

impl Routing for DimensionOrder {
    fn route(&self, topology: &dyn Topology, trip: Trip, load: &dyn Load, path: &mut Vec<LinkId>) {
        let Trip { from, to, .. } = trip;
        let grid = &self.way.grid;
        path.push(topology.up(from));
        let words = self.way.words(trip);
        self.way.walk(grid.router_number(from), grid.router_number(to), words, load, path);
        path.push(topology.down(to));
    }
    fn channels(&self, _topology: &dyn Topology, path: &[LinkId], channels: &mut Vec<u8>) {
        grid_channels::channels(&self.way.grid, self.dateline, path, channels);
    }
    fn channel_count(&self) -> u8 {
        1 + u8::from(self.dateline)
    }
    fn longest(&self, _topology: &dyn Topology) -> u32 {
        self.way.diameter()
    }
    fn is_adaptive(&self) -> bool {
        self.way.parts()
    }
    fn decisions(&self) -> u32 {
        self.way.decisions()
    }
    fn adapt(
        &self,
        _topology: &dyn Topology,
        state: &RoutingState,
        load: &dyn Load,
        _path: &mut Vec<LinkId>,
    ) -> Decision {
        self.way.adapt(state.next, load)
    }
    fn idle(&self, _topology: &dyn Topology, from: HostId, to: HostId) -> Idle {
        self.way.idle_hosts(from, to)
    }
}
