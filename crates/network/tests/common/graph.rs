//! A network that a test draws by hand: named routers, links between them, routes over them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use engine::{Bandwidth, Duration};
use network::routing::{Load, Routing, Trip};
use network::topology::Formula;
use network::topology::Idle;
use network::topology::planes::with_planes;
use network::topology::several_nics::with_nics;
use network::{Fabric, HostId, Link, LinkId, Nics, Node, RouterId, Topology};

/// Routers with the same number of hosts on each; edges become two directed links.
#[derive(Debug, Clone)]
pub struct Graph {
    pub routers: u32,
    pub hosts_per_router: u32,
    pub host_link: (Bandwidth, Duration),
    pub edges: Vec<(u32, u32, Bandwidth, Duration)>,
    /// Routers from the first to the last, where the shortest route is not wanted.
    pub routes: BTreeMap<(u32, u32), Vec<u32>>,
}

impl Graph {
    pub fn fabric(self) -> Arc<Fabric> {
        self.fabric_with(Nics::ONE)
    }

    /// With so many NICs on each host.
    pub fn fabric_with(self, nics: Nics) -> Arc<Fabric> {
        let routing = Box::new(Fixed(self.clone()));
        let attach = if nics.in_planes { with_planes } else { with_nics };
        Arc::new(Fabric { topology: attach(Box::new(self), nics.count), routing })
    }

    fn edge(&self, from: u32, to: u32) -> LinkId {
        let (at, forward) = self
            .edges
            .iter()
            .enumerate()
            .find_map(|(at, edge)| match (edge.0, edge.1) {
                ends if ends == (from, to) => Some((at, true)),
                ends if ends == (to, from) => Some((at, false)),
                _ => None,
            })
            .unwrap_or_else(|| panic!("no edge {from}-{to}"));
        LinkId(2 * self.hosts() + 2 * at as u32 + u32::from(!forward))
    }

    fn shortest(&self, from: u32, to: u32) -> Vec<u32> {
        let mut before = vec![u32::MAX; self.routers as usize];
        let mut queue = VecDeque::from([from]);
        before[from as usize] = from;
        while let Some(here) = queue.pop_front() {
            for edge in &self.edges {
                for (a, b) in [(edge.0, edge.1), (edge.1, edge.0)] {
                    if a == here && before[b as usize] == u32::MAX {
                        before[b as usize] = here;
                        queue.push_back(b);
                    }
                }
            }
        }
        let mut path = vec![to];
        while *path.last().unwrap() != from {
            path.push(before[*path.last().unwrap() as usize]);
        }
        path.reverse();
        path
    }
}

impl Topology for Graph {
    fn hosts(&self) -> u32 {
        self.routers * self.hosts_per_router
    }
    fn routers(&self) -> u32 {
        self.routers
    }
    fn links(&self) -> u32 {
        2 * self.hosts() + 2 * self.edges.len() as u32
    }
    fn link(&self, id: LinkId) -> Link {
        let hosts = self.hosts();
        let (bandwidth, latency) = self.host_link;
        let ends = |from, to, bandwidth, latency| Link { from, to, bandwidth, latency, class: 0 };
        if id.0 < hosts {
            let host = HostId(id.0);
            return ends(Node::Host(host), Node::Router(self.router_of(host)), bandwidth, latency);
        }
        if id.0 < 2 * hosts {
            let host = HostId(id.0 - hosts);
            return ends(Node::Router(self.router_of(host)), Node::Host(host), bandwidth, latency);
        }
        let at = id.0 - 2 * hosts;
        let (a, b, bandwidth, latency) = self.edges[at as usize / 2];
        let (a, b) = if at % 2 == 0 { (a, b) } else { (b, a) };
        ends(Node::Router(RouterId(a)), Node::Router(RouterId(b)), bandwidth, latency)
    }
    fn classes(&self) -> Vec<String> {
        vec!["edge".into()]
    }
    fn router_of(&self, host: HostId) -> RouterId {
        RouterId(host.0 / self.hosts_per_router)
    }
    fn hosts_of(&self, router: RouterId) -> Range<u32> {
        router.0 * self.hosts_per_router..(router.0 + 1) * self.hosts_per_router
    }
    fn ports(&self, router: RouterId, ports: &mut Vec<LinkId>) {
        for id in 2 * self.hosts()..self.links() {
            if self.link(LinkId(id)).from == Node::Router(router) {
                ports.push(LinkId(id));
            }
        }
    }
    fn formula(&self) -> Formula {
        Formula::counts(self.hosts().into(), self.routers.into(), self.links().into())
    }
    fn router_name(&self, router: RouterId) -> String {
        router.0.to_string()
    }
    fn default_routing(&self) -> &'static str {
        "shortest_path"
    }
}

/// The routes of a [`Graph`].
struct Fixed(Graph);

impl Routing for Fixed {
    fn route(&self, topology: &dyn Topology, trip: Trip, _load: &dyn Load, path: &mut Vec<LinkId>) {
        let Trip { from, to, .. } = trip;
        let (a, b) = (topology.router_of(from).0, topology.router_of(to).0);
        let routers = self.0.routes.get(&(a, b)).cloned().unwrap_or_else(|| self.0.shortest(a, b));
        path.push(topology.up(from));
        path.extend(routers.windows(2).map(|ends| self.0.edge(ends[0], ends[1])));
        path.push(topology.down(to));
    }
    fn channels(&self, _topology: &dyn Topology, path: &[LinkId], channels: &mut Vec<u8>) {
        channels.extend(path.iter().map(|_| 0));
    }
    fn channel_count(&self) -> u8 {
        1
    }
    fn longest(&self, _topology: &dyn Topology) -> u32 {
        self.0.routers
    }
    fn is_adaptive(&self) -> bool {
        false
    }
    fn idle(&self, topology: &dyn Topology, from: HostId, to: HostId) -> Idle {
        let mut path = Vec::new();
        self.route(topology, Trip::new(from, to, 0), &network::routing::Unloaded, &mut path);
        let links: Vec<_> = path.iter().map(|id| topology.whole_link(*id)).collect();
        Idle {
            latency: links.iter().map(|link| link.latency).sum(),
            bandwidth: links.iter().map(|link| link.bandwidth).min().unwrap(),
        }
    }
}
