//! Ways through what is left of a network: shortest up*/down* paths, as failures become known.
//!
//! Routers have a total order. A link to a router earlier in it is up, else down; a packet goes up any
//! number of links, then down any number, and never up again. So of the links of one virtual channel those
//! up wait only for links up that lead to earlier routers, and for links down; those down only for links down
//! that lead to later ones: nothing waits in a circle.
//!
//! The order is by distance from a root, one for each connected piece of the network. Everybody can go up
//! to the root of its piece and down to everybody else in it as long as each router but one of each piece
//! has a neighbour that is earlier. While failures leave that so, the order stays; when one does not, a new
//! order begins, and packets that are on their way under the old one are dropped, so that those of two
//! orders never wait for each other.
//!
//! Only cables that carry both ways count, so that answers come back. The next link is found at each router
//! anew, by what is known then; among equally short ways a hash chooses.
//!
//! A table of distances is made for a destination when it is first needed after a change: 8 B per router. At
//! most [`TABLES`] are kept.
//!
//! Source: Schroeder et al., "Autonet: a high-speed, self-configuring local area network using
//! point-to-point links" (IEEE JSAC 9(8), 1991).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::Trip;
use super::around::{Arcs, Around};
use crate::choice::Choice;
use crate::faults::{Change, Timeline};
use crate::topology::{HostId, LinkId, Node, RouterId, Topology};

/// Most tables that are kept at a time.
const TABLES: usize = 4096;

/// No way.
const FAR: u32 = u32::MAX;

/// Links and routers that are known to be in service, and the ways through them.
#[derive(Debug)]
pub struct Escape {
    arcs: Arc<Arcs>,
    known: Timeline,
    /// Number of links in service of each arc.
    alive: Vec<u32>,
    /// Place of each router in the order, and the number of that order.
    ranks: Vec<u32>,
    order: u32,
    /// Number of earlier neighbours of each router.
    earlier: Vec<u32>,
    /// The piece of each router, by its root's number, and how many there are.
    pieces: Vec<u32>,
    count: u32,
    /// Distance of each router from the nearest with hosts: roots are far from them, as the top of a tree is.
    levels: Vec<u32>,
    tables: BTreeMap<u32, Table>,
    /// The pieces that will be there when all has returned that ever does, and when they were found.
    lasting: (u32, Vec<u32>),
}

/// Distances to one router.
#[derive(Debug)]
struct Table {
    /// From each router, going only down; [`FAR`] if that does not lead there.
    down: Vec<u32>,
    /// The same, going up first.
    up: Vec<u32>,
}

impl Escape {
    /// At the beginning, when all is in service.
    pub fn new(around: &Around, topology: &dyn Topology) -> Escape {
        let arcs = around.arcs().clone();
        let elements = around.elements().clone();
        let detection = elements.faults().detection;
        let alive: Vec<u32> = (0..arcs.count()).map(|arc| arcs.links(arc).len() as u32).collect();
        let routers = arcs.routers() as usize;
        let with_hosts: Vec<u32> =
            (0..arcs.routers()).filter(|router| !topology.hosts_of(RouterId(*router)).is_empty()).collect();
        let mut escape = Escape {
            known: Timeline::new(elements, detection),
            alive,
            ranks: (0..arcs.routers()).collect(),
            order: 0,
            earlier: vec![0; routers],
            pieces: Vec::new(),
            count: 0,
            levels: vec![0; routers],
            tables: BTreeMap::new(),
            lasting: (u32::MAX, Vec::new()),
            arcs,
        };
        escape.levels = escape.distances(&with_hosts);
        escape.find_pieces();
        escape.put_in_order();
        escape
    }

    /// Time at which the next change becomes known.
    pub fn next(&self) -> engine::Time {
        self.known.next()
    }

    /// Goes on to the next change, if it is known by `now`.
    pub fn advance(&mut self, now: engine::Time) -> Option<Change> {
        let change = self.known.advance(now)?;
        let arcs = self.arcs.clone();
        let mut breaks = false;
        for place in 0..self.known.links_of(&change).len() {
            let link = self.known.links_of(&change)[place];
            let Some(arc) = arcs.of(link).filter(|_| self.known.has_turned(&change, link)) else { continue };
            let before = self.is_edge(arc);
            let alive = &mut self.alive[arc as usize];
            *alive = if change.fails { *alive - 1 } else { *alive + 1 };
            if self.is_edge(arc) != before {
                breaks |= self.edge_turned(arc, change.fails);
                self.tables.clear();
            }
        }
        if breaks {
            self.find_pieces();
            let firsts = self.earlier.iter().filter(|earlier| **earlier == 0).count() as u32;
            if firsts != self.count {
                self.put_in_order();
            }
        }
        Some(change)
    }

    /// The links of a change.
    pub fn links_of(&self, change: &Change) -> &[LinkId] {
        self.known.links_of(change)
    }

    /// The number of the present order.
    pub fn order(&self) -> u32 {
        self.order
    }

    /// Is the link known to be out of service?
    pub fn is_down(&self, link: LinkId) -> bool {
        self.known.is_down(link)
    }

    /// A link in service to where `link` leads: itself, or the next one parallel to it.
    pub fn parallel(&self, link: LinkId) -> Option<LinkId> {
        if !self.is_down(link) {
            return Some(link);
        }
        let links = self.arcs.links(self.arcs.of(link)?);
        let place = links.iter().position(|other| *other == link).expect("a link is in its arc");
        let others = links[place..].iter().chain(&links[..place]);
        others.copied().find(|other| !self.is_down(*other))
    }

    /// Is all of `path` in service, parallel links included?
    pub fn is_open(&self, path: &[LinkId]) -> bool {
        path.iter().all(|link| self.parallel(*link).is_some())
    }

    /// True if there is a way from each of two hosts to the other.
    pub fn joins(&self, topology: &dyn Topology, from: HostId, to: HostId) -> bool {
        let mut cables = [from, to].into_iter().flat_map(|host| [topology.up(host), topology.down(host)]);
        let piece = |host| self.pieces[topology.router_of(host).0 as usize];
        !cables.any(|link| self.is_down(link)) && piece(from) == piece(to)
    }

    /// True if there will be one when all has returned that ever does.
    pub fn will_join(&mut self, topology: &dyn Topology, from: HostId, to: HostId) -> bool {
        let mut cables = [from, to].into_iter().flat_map(|host| [topology.up(host), topology.down(host)]);
        if cables.any(|link| self.known.is_gone(link)) {
            return false;
        }
        if self.lasting.0 != self.known.gone() {
            let lasts = |arc: u32| self.arcs.links(arc).iter().any(|link| !self.known.is_gone(*link));
            let edge = |arc: u32| lasts(arc) && self.arcs.back(arc).is_some_and(lasts);
            let routers = 0..self.arcs.routers();
            self.lasting = (self.known.gone(), pieces(&self.arcs, routers, &edge).0);
        }
        let piece = |host| self.lasting.1[topology.router_of(host).0 as usize];
        piece(from) == piece(to)
    }

    /// The next link of a packet to `to` that is at the end of `last`; `None` without a legal way.
    pub fn next_link(
        &mut self,
        topology: &dyn Topology,
        last: LinkId,
        to: HostId,
        key: u64,
    ) -> Option<LinkId> {
        let link = topology.link(last);
        let Node::Router(RouterId(at)) = link.to else { panic!("a packet at its host goes nowhere") };
        let climbs = match link.from {
            Node::Host(_) => true,
            Node::Router(before) => self.ranks[before.0 as usize] > self.ranks[at as usize],
        };
        let end = topology.router_of(to).0;
        if at == end {
            return Some(topology.down(to)).filter(|link| !self.is_down(*link));
        }
        if !self.tables.contains_key(&end) {
            if self.tables.len() >= TABLES {
                self.tables.clear();
            }
            let table = self.table(end);
            self.tables.insert(end, table);
        }
        let table = &self.tables[&end];
        let left = if climbs { table.up[at as usize] } else { table.down[at as usize] };
        if left == FAR {
            return None;
        }
        let leads = |arc: &u32| {
            let next = self.arcs.end(*arc) as usize;
            let up = self.ranks[next] < self.ranks[at as usize];
            let ahead = if up { table.up[next] } else { table.down[next] };
            self.is_edge(*arc) && (climbs || !up) && ahead == left - 1
        };
        let equals = self.arcs.leaving(at).filter(leads);
        let mut choice = Choice::new(u64::from(at), Trip::new(HostId(at), to, key));
        let chosen = choice.below(equals.clone().count() as u32) as usize;
        let arc = equals.clone().nth(chosen).expect("a router at a distance has a neighbour that is nearer");
        let lanes = self.arcs.links(arc).iter().filter(|link| !self.is_down(**link));
        let lane = choice.below(self.alive[arc as usize]) as usize;
        Some(*lanes.clone().nth(lane).expect("it was counted"))
    }

    /// Does `arc` carry, and the one back?
    fn is_edge(&self, arc: u32) -> bool {
        let carries = |arc: u32| self.alive[arc as usize] > 0;
        carries(arc) && self.arcs.back(arc).is_some_and(carries)
    }

    /// The cables along `arc` have just failed, or returned. May the order not hold any more?
    fn edge_turned(&mut self, arc: u32, fails: bool) -> bool {
        let start = self.arcs.end(self.arcs.back(arc).expect("an edge has two arcs"));
        let (one, other) = (start as usize, self.arcs.end(arc) as usize);
        let later = if self.ranks[one] > self.ranks[other] { one } else { other };
        let earlier = &mut self.earlier[later];
        *earlier = if fails { *earlier - 1 } else { *earlier + 1 };
        // The later end still climbs to where it did, and so does all that climbs by way of it.
        if fails { *earlier == 0 } else { self.count > 1 }
    }

    fn find_pieces(&mut self) {
        let (pieces, roots) = pieces(&self.arcs, 0..self.arcs.routers(), &|arc| self.is_edge(arc));
        self.pieces = pieces;
        self.count = roots.len() as u32;
    }

    /// Begins a new order: by piece, by distance from its root.
    fn put_in_order(&mut self) {
        let mut roots: BTreeMap<u32, u32> = BTreeMap::new();
        for (router, piece) in self.pieces.iter().enumerate() {
            let root = roots.entry(*piece).or_insert(router as u32);
            if self.levels[router] > self.levels[*root as usize] {
                *root = router as u32;
            }
        }
        let depths = self.distances(&roots.into_values().collect::<Vec<_>>());
        let mut order: Vec<u32> = (0..self.arcs.routers()).collect();
        order.sort_by_key(|router| (depths[*router as usize], *router));
        for (rank, router) in order.into_iter().enumerate() {
            self.ranks[router as usize] = rank as u32;
        }
        for router in 0..self.arcs.routers() {
            let is_earlier = |arc: &u32| {
                let neighbour = self.arcs.end(*arc) as usize;
                self.is_edge(*arc) && self.ranks[neighbour] < self.ranks[router as usize]
            };
            self.earlier[router as usize] = self.arcs.leaving(router).filter(is_earlier).count() as u32;
        }
        self.order += 1;
        self.tables.clear();
    }

    /// Hops from the nearest of `sources` over cables that carry both ways; [`FAR`] if there is no way.
    fn distances(&self, sources: &[u32]) -> Vec<u32> {
        let mut distances = vec![FAR; self.arcs.routers() as usize];
        sources.iter().for_each(|router| distances[*router as usize] = 0);
        let mut queue: VecDeque<u32> = sources.iter().copied().collect();
        while let Some(router) = queue.pop_front() {
            for arc in self.arcs.leaving(router).filter(|arc| self.is_edge(*arc)) {
                let next = self.arcs.end(arc);
                if distances[next as usize] == FAR {
                    distances[next as usize] = distances[router as usize] + 1;
                    queue.push_back(next);
                }
            }
        }
        distances
    }

    /// Distances to router `to`.
    fn table(&self, to: u32) -> Table {
        let routers = self.arcs.routers() as usize;
        let mut down = vec![FAR; routers];
        down[to as usize] = 0;
        let mut queue = VecDeque::from([to]);
        while let Some(router) = queue.pop_front() {
            for arc in self.arcs.leaving(router).filter(|arc| self.is_edge(*arc)) {
                let before = self.arcs.end(arc) as usize;
                if self.ranks[before] < self.ranks[router as usize] && down[before] == FAR {
                    down[before] = down[router as usize] + 1;
                    queue.push_back(before as u32);
                }
            }
        }
        // Those who go up first lead to earlier routers, whose distances are known then.
        let mut order: Vec<u32> = (0..self.arcs.routers()).collect();
        order.sort_unstable_by_key(|router| self.ranks[*router as usize]);
        let mut up = down.clone();
        for router in order {
            for arc in self.arcs.leaving(router).filter(|arc| self.is_edge(*arc)) {
                let next = self.arcs.end(arc) as usize;
                if self.ranks[next] < self.ranks[router as usize] && up[next] != FAR {
                    up[router as usize] = up[router as usize].min(up[next] + 1);
                }
            }
        }
        Table { down, up }
    }
}

/// The piece of each router, by its lowest number, and these.
fn pieces(arcs: &Arcs, routers: std::ops::Range<u32>, edge: &dyn Fn(u32) -> bool) -> (Vec<u32>, Vec<u32>) {
    let (mut pieces, mut roots) = (vec![FAR; routers.len()], Vec::new());
    let mut open = Vec::new();
    for root in routers {
        if pieces[root as usize] != FAR {
            continue;
        }
        pieces[root as usize] = root;
        roots.push(root);
        open.push(root);
        while let Some(router) = open.pop() {
            for arc in arcs.leaving(router).filter(|arc| edge(*arc)) {
                let next = arcs.end(arc);
                if pieces[next as usize] == FAR {
                    pieces[next as usize] = root;
                    open.push(next);
                }
            }
        }
    }
    (pieces, roots)
}
