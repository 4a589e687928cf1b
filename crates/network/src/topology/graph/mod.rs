//! Graph: any network, from a file. Two formats, told apart by the file's first character.
//!
//! The edge list has a line for each cable. Names have no white space; `#` begins a comment:
//!
//! ```text
//! # hosts are declared, before or after; all other names are routers
//! host  n0 n1
//! n0 s0  12.5 GB/s  500 ns        both directions; bandwidth and latency in any order, either may
//! n1 s1                           be missing: then [link] and [nic] say
//! s0 s1  100 Gbit/s 1.2 us x2     two parallel cables
//! s0 -> s1  25GB/s                one direction only
//! ```
//!
//! GraphML begins with `<`: nodes have a `type` of `host` or `router`, edges have `bandwidth`, `latency` and
//! `lanes`, as `<key id="b" for="edge" attr.name="bandwidth" attr.type="string"/>` and
//! `<data key="b">12.5 GB/s</data>`; a key's `<default>` counts. A node's `name` (or `label`) is its name,
//! else its id. Edges of a directed graph carry in one direction.
//!
//! Routers are numbered as the file first names them; hosts by their routers, then as the file
//! first names them. Every host hangs on one router, and every host can be reached from every other.
//!
//! Source: Brandes, Eiglsperger, Herman, Himsolt, Marshall, "GraphML progress report" (GD 2001).

mod edge_list;
mod graphml;

use std::ops::Range;

use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter};
use engine::{Bandwidth, Duration};

use super::adjacency::Adjacency;
use super::{
    Build, Formula, HOST_CLASSES, HostId, Link, LinkDefaults, LinkId, Node, Rates, RouterId, Topology,
};

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "graph",
    summary: "any network, from a file: a list of cables, or GraphML",
    source: "the user's file; Brandes et al. 2001 (GraphML)",
    parameters: &[Parameter {
        name: "file",
        kind: Kind::File,
        default: None,
        summary: "lines 'host NAME…' and 'A B [bandwidth] [latency] [xLANES]', or GraphML",
    }],
    examples: &[
        "file = \"\"\"\nhost a b c d\na left 10 GB/s 500 ns\nb left\nc right\nd right\nleft right 100 Gbit/s 1.2 us x2\n\"\"\"",
        "file = \"\"\"\nhost a b c d e\na s\nb t\nc u\nd v\ne v\ns t 1 GB/s\nt u 2 GB/s\nu v 3 GB/s\nv s 90 ns\nu w\nw s x2\nt v 20 ns\n\"\"\"",
        "file = \"\"\"\nhost a b c\na s\nb t\nc u\ns hub 10 GB/s\nt hub 5 GB/s\nu hub\nt far 30 ns\nfar u\n\"\"\"",
    ],
    build,
};

/// Contents of a file, in either format.
#[derive(Debug, Default)]
struct Description {
    /// Name, and whether it is a host.
    nodes: Vec<(String, bool)>,
    cables: Vec<Cable>,
}

/// One line of a file.
#[derive(Debug)]
struct Cable {
    /// Indices of nodes.
    ends: [u32; 2],
    bandwidth: Option<Bandwidth>,
    latency: Option<Duration>,
    lanes: u32,
    /// True if it carries in both directions.
    both: bool,
    /// Place in the file that says so: "line 7".
    place: String,
}

/// An error in the file.
fn wrong(reason: String) -> BuildError {
    BuildError::new("file", reason)
}

/// A network as its file says.
#[derive(Debug, Clone)]
pub struct Graph {
    /// Router of each host.
    routers_of: Vec<RouterId>,
    host_names: Vec<String>,
    router_names: Vec<String>,
    /// First host of each router, and one more.
    first_hosts: Vec<u32>,
    links: Vec<Link>,
    /// Links that leave each router, and where they begin.
    leaving: Vec<LinkId>,
    first_leaving: Vec<u32>,
    classes: Vec<String>,
}

impl Topology for Graph {
    fn hosts(&self) -> u32 {
        self.host_names.len() as u32
    }
    fn routers(&self) -> u32 {
        self.router_names.len() as u32
    }
    fn links(&self) -> u32 {
        self.links.len() as u32
    }
    fn link(&self, id: LinkId) -> Link {
        self.links[id.0 as usize]
    }
    fn classes(&self) -> Vec<String> {
        self.classes.clone()
    }
    fn router_of(&self, host: HostId) -> RouterId {
        self.routers_of[host.0 as usize]
    }
    fn hosts_of(&self, router: RouterId) -> Range<u32> {
        self.first_hosts[router.0 as usize]..self.first_hosts[router.0 as usize + 1]
    }
    fn ports(&self, router: RouterId, ports: &mut Vec<LinkId>) {
        let router = router.0 as usize;
        let range = self.first_leaving[router] as usize..self.first_leaving[router + 1] as usize;
        ports.extend(&self.leaving[range]);
    }
    fn formula(&self) -> Formula {
        let [hosts, routers, links] = [self.hosts(), self.routers(), self.links()].map(u64::from);
        Formula::counts(hosts, routers, links)
    }
    fn router_name(&self, router: RouterId) -> String {
        self.router_names[router.0 as usize].clone()
    }
    fn host_name(&self, host: HostId) -> String {
        self.host_names[host.0 as usize].clone()
    }
    fn default_routing(&self) -> &'static str {
        "shortest-path"
    }
}

fn build(arguments: &Arguments, defaults: &LinkDefaults) -> Result<Box<dyn Topology>, BuildError> {
    let text = arguments.text("file").expect("a required parameter is there");
    let description =
        if text.trim_start().starts_with('<') { graphml::read(&text)? } else { edge_list::read(&text)? };
    let graph = number(&description, defaults)?;
    connected(&graph)?;
    Ok(Box::new(graph))
}

/// The two links of a host, once they are known.
type HostLinks = [Option<(u32, Rates)>; 2];

/// Numbers hosts, routers and links of a description.
fn number(description: &Description, defaults: &LinkDefaults) -> Result<Graph, BuildError> {
    let is_host = |node: u32| description.nodes[node as usize].1;
    let name = |node: u32| &description.nodes[node as usize].0;
    let (mut router_names, mut numbers) = (Vec::new(), Vec::new());
    for (name, host) in &description.nodes {
        numbers.push(router_names.len() as u32);
        if !host {
            router_names.push(name.clone());
        }
    }
    let mut host_links: Vec<HostLinks> = vec![[None; 2]; description.nodes.len()];
    let mut between: Vec<(u32, u32, Rates)> = Vec::new();
    for cable in &description.cables {
        let Cable { ends: [from, to], place, .. } = cable;
        let (from, to) = (*from, *to);
        if from == to || (is_host(from) && is_host(to)) {
            let reason =
                format!("{place}: {} - {}: a cable joins a router and another node", name(from), name(to));
            return Err(wrong(reason));
        }
        let default = if is_host(from) || is_host(to) { defaults.host() } else { defaults.between() };
        let rates = Rates {
            bandwidth: cable.bandwidth.unwrap_or(default.bandwidth),
            latency: cable.latency.unwrap_or(default.latency),
        };
        if rates.bandwidth.0 == 0 {
            return Err(wrong(format!("{place}: 0 B/s carries nothing; write more, or leave it out")));
        }
        for (from, to) in [(from, to), (to, from)].into_iter().take(1 + usize::from(cable.both)) {
            if is_host(from) || is_host(to) {
                let (host, router, side) = if is_host(from) { (from, to, 0) } else { (to, from, 1) };
                let slot = &mut host_links[host as usize][side];
                if slot.is_some() || cable.lanes > 1 {
                    return Err(wrong(format!("{place}: host {} has one cable, to one router", name(host))));
                }
                *slot = Some((numbers[router as usize], rates));
            } else {
                let link = (numbers[from as usize], numbers[to as usize], rates);
                between.extend(std::iter::repeat_n(link, cable.lanes as usize));
            }
        }
    }
    let mut hosts = Vec::new();
    for (node, links) in host_links.iter().enumerate().filter(|(node, _)| is_host(*node as u32)) {
        match links {
            [Some((up, up_rates)), Some((down, down_rates))] if up == down => {
                hosts.push((*up, name(node as u32).clone(), [*up_rates, *down_rates]));
            }
            [Some(_), Some(_)] => {
                return Err(wrong(format!("host {} has one router, not two", name(node as u32))));
            }
            _ => {
                let reason =
                    format!("host {} has no cable to and from a router; add a line", name(node as u32));
                return Err(wrong(reason));
            }
        }
    }
    if hosts.is_empty() {
        return Err(wrong("no node is a host; write 'host NAME', or in GraphML a node's type 'host'".into()));
    }
    // Stable: hosts of one router stay as the file names them.
    hosts.sort_by_key(|host| host.0);
    Ok(assemble(hosts, router_names, between))
}

fn assemble(
    hosts: Vec<(u32, String, [Rates; 2])>,
    router_names: Vec<String>,
    between: Vec<(u32, u32, Rates)>,
) -> Graph {
    let routers = router_names.len();
    let mut classes: Vec<String> = HOST_CLASSES.map(String::from).to_vec();
    let mut kinds: Vec<Rates> = Vec::new();
    let mut links = Vec::with_capacity(2 * hosts.len() + between.len());
    for class in [0, 1] {
        for (number, (router, _, rates)) in hosts.iter().enumerate() {
            let ends = [Node::Host(HostId(number as u32)), Node::Router(RouterId(*router))];
            let Rates { bandwidth, latency } = rates[class];
            let (from, to) = (ends[class], ends[1 - class]);
            links.push(Link { from, to, bandwidth, latency, class: class as u16 });
        }
    }
    let mut first_leaving = vec![0u32; routers + 1];
    for (from, to, rates) in &between {
        let kind = kinds.iter().position(|kind| kind == rates).unwrap_or_else(|| {
            // So many different kinds of cables share the last class.
            if kinds.len() < 1000 {
                kinds.push(*rates);
                classes.push(format!("{}, {}", rates.bandwidth, rates.latency));
            }
            kinds.len() - 1
        });
        let (from_node, to_node) = (Node::Router(RouterId(*from)), Node::Router(RouterId(*to)));
        let class = (HOST_CLASSES.len() + kind) as u16;
        let Rates { bandwidth, latency } = *rates;
        links.push(Link { from: from_node, to: to_node, bandwidth, latency, class });
        first_leaving[*from as usize + 1] += 1;
    }
    (0..routers).for_each(|router| first_leaving[router + 1] += first_leaving[router]);
    let (mut leaving, mut next) = (vec![LinkId(0); between.len()], first_leaving.clone());
    for (number, (from, _, _)) in between.iter().enumerate() {
        let slot = &mut next[*from as usize];
        leaving[*slot as usize] = LinkId((2 * hosts.len() + number) as u32);
        *slot += 1;
    }
    let mut first_hosts = vec![0u32; routers + 1];
    hosts.iter().for_each(|(router, _, _)| first_hosts[*router as usize + 1] += 1);
    (0..routers).for_each(|router| first_hosts[router + 1] += first_hosts[router]);
    Graph {
        routers_of: hosts.iter().map(|host| RouterId(host.0)).collect(),
        host_names: hosts.into_iter().map(|host| host.1).collect(),
        router_names,
        first_hosts,
        links,
        leaving,
        first_leaving,
        classes,
    }
}

/// Can every router be reached from the first host, and back?
fn connected(graph: &Graph) -> Result<(), BuildError> {
    let adjacency = Adjacency::of(graph);
    let start = graph.router_of(HostId(0));
    let (there, back) = (adjacency.distances([start.0]), adjacency.backwards(start.0));
    for router in 0..graph.routers() {
        let (from, to) = (graph.router_name(start), graph.router_name(RouterId(router)));
        if there[router as usize] == u32::MAX {
            return Err(wrong(format!("no way leads from {from} to {to}; add the cables between them")));
        }
        if back.distance(router) == u32::MAX {
            return Err(wrong(format!("no way leads from {to} back to {from}; add the cables between them")));
        }
    }
    Ok(())
}
