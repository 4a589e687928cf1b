//! The graph of routers as a compact list, for what walks a whole topology: tables, surveys, pictures.

use super::{LinkId, Node, RouterId, Topology};

/// One link between routers, seen from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// The link.
    pub link: LinkId,
    /// The router at its end.
    pub to: u32,
}

/// Links from router to router: 8 B per link and direction, 4 B per router.
#[derive(Debug, Clone)]
pub struct Adjacency {
    leaving: Vec<Port>,
    first_leaving: Vec<u32>,
    /// Routers with a link to each router.
    arriving: Vec<u32>,
    first_arriving: Vec<u32>,
    has_hosts: Vec<bool>,
}

/// Distances towards one router.
#[derive(Debug, Clone)]
pub struct Backwards {
    distances: Vec<u32>,
    order: Vec<u32>,
}

impl Backwards {
    /// Hops from `router`; `u32::MAX` where no way leads.
    pub fn distance(&self, router: u32) -> u32 {
        self.distances[router as usize]
    }
    /// The routers from which a way leads, the destination itself first.
    pub fn nearest_first(&self) -> impl Iterator<Item = u32> + '_ {
        self.order.iter().copied()
    }
}

impl Adjacency {
    /// Adjacency of all routers of `topology`, or of its first plane: no way leads to another.
    pub fn of(topology: &dyn Topology) -> Adjacency {
        let routers = topology.routers() / topology.planes();
        let (mut ports, mut leaving) = (Vec::new(), Vec::new());
        let mut first_leaving = vec![0];
        for router in 0..routers {
            ports.clear();
            topology.ports(RouterId(router), &mut ports);
            leaving.extend(ports.iter().map(|link| match topology.link(*link).to {
                Node::Router(to) => Port { link: *link, to: to.0 },
                Node::Host(_) => unreachable!("ports lead to routers"),
            }));
            first_leaving.push(leaving.len() as u32);
        }
        let mut first_arriving = vec![0u32; routers as usize + 1];
        leaving.iter().for_each(|port| first_arriving[port.to as usize + 1] += 1);
        (1..first_arriving.len()).for_each(|router| first_arriving[router] += first_arriving[router - 1]);
        let (mut arriving, mut next) = (vec![0; leaving.len()], first_arriving.clone());
        for router in 0..routers as usize {
            for port in &leaving[first_leaving[router] as usize..first_leaving[router + 1] as usize] {
                arriving[next[port.to as usize] as usize] = router as u32;
                next[port.to as usize] += 1;
            }
        }
        let has_hosts = (0..routers).map(|router| !topology.hosts_of(RouterId(router)).is_empty()).collect();
        Adjacency { leaving, first_leaving, arriving, first_arriving, has_hosts }
    }

    /// Number of routers.
    pub fn routers(&self) -> u32 {
        self.has_hosts.len() as u32
    }
    /// True if hosts are on `router`.
    pub fn has_hosts(&self, router: u32) -> bool {
        self.has_hosts[router as usize]
    }
    /// The links that leave `router`, in port order.
    pub fn leaving(&self, router: u32) -> &[Port] {
        let router = router as usize;
        &self.leaving[self.first_leaving[router] as usize..self.first_leaving[router + 1] as usize]
    }
    /// The routers with a link to `router`, once for each link.
    pub fn arriving(&self, router: u32) -> &[u32] {
        let router = router as usize;
        &self.arriving[self.first_arriving[router] as usize..self.first_arriving[router + 1] as usize]
    }

    /// Hops to every router from the nearest of `sources`; `u32::MAX` where no way leads.
    pub fn distances(&self, sources: impl IntoIterator<Item = u32>) -> Vec<u32> {
        self.search(sources, |router, visit| self.leaving(router).iter().for_each(|port| visit(port.to)))
            .distances
    }

    /// Distances from every router to `to`.
    pub fn backwards(&self, to: u32) -> Backwards {
        self.search([to], |router, visit| self.arriving(router).iter().for_each(|from| visit(*from)))
    }

    fn search(
        &self,
        sources: impl IntoIterator<Item = u32>,
        neighbours: impl Fn(u32, &mut dyn FnMut(u32)),
    ) -> Backwards {
        let mut distances = vec![u32::MAX; self.has_hosts.len()];
        let mut order = Vec::with_capacity(distances.len());
        for source in sources {
            distances[source as usize] = 0;
            order.push(source);
        }
        let mut next = 0;
        while let Some(router) = order.get(next).copied() {
            next += 1;
            let distance = distances[router as usize] + 1;
            neighbours(router, &mut |neighbour| {
                if distances[neighbour as usize] == u32::MAX {
                    distances[neighbour as usize] = distance;
                    order.push(neighbour);
                }
            });
        }
        Backwards { distances, order }
    }
}
