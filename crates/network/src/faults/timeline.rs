//! State of links and routers, up or down, as time goes on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use engine::{Duration, Time, random};

use super::{Failing, Faults, Rates};
use crate::topology::{LinkId, Node, RouterId, Topology};

/// Everything that can fail, and what it takes with it: never changes.
#[derive(Debug)]
pub struct Elements {
    faults: Faults,
    elements: Vec<Element>,
    /// The links of each element, one list behind the other, and where each begins.
    links: Vec<LinkId>,
    first_link: Vec<u32>,
    /// The elements of each link, in the same way.
    of_link: Vec<u32>,
    first_of_link: Vec<u32>,
    routers: u32,
}

/// One thing that fails by itself.
#[derive(Debug, Clone, Copy)]
struct Element {
    law: Law,
    router: Option<RouterId>,
}

#[derive(Debug, Clone, Copy)]
enum Law {
    Once { fails_at: Time, returns_at: Time },
    Again { rates: Rates, purpose: &'static str, owner: u32 },
}

impl Law {
    /// Time of change `number`, where the one before came at `last`; failures have even numbers.
    fn next(&self, seed: u64, number: u32, last: Time) -> Time {
        match (self, number) {
            (Law::Once { fails_at, .. }, 0) => *fails_at,
            (Law::Once { returns_at, .. }, 1) => *returns_at,
            (Law::Once { .. }, _) => Time::NEVER,
            (Law::Again { rates, purpose, owner }, _) => {
                let mean = if is_up(number) { rates.to_failure } else { rates.to_repair };
                let word = random::at(seed, purpose, (*owner).into(), number.into());
                let uniform = (f64::from(word) + 1.0) * 2f64.powi(-32);
                // A change takes at least a picosecond, so that time goes on.
                let wait = (-uniform.ln() * mean.0 as f64).max(1.0) as u64;
                countable(Time(last.0.saturating_add(wait)))
            }
        }
    }
}

/// Is something up that has changed so often?
fn is_up(changes: u32) -> bool {
    changes % 2 == 0
}

/// `at`, or never if it is later than can be counted.
fn countable(at: Time) -> Time {
    if at < Time::LAST { at } else { Time::NEVER }
}

/// A failure (or return) of one element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Time of the change.
    pub at: Time,
    /// True for a failure, false for a return.
    pub fails: bool,
    /// The router that it is of, if it is of one.
    pub router: Option<RouterId>,
    /// The element, for [`Timeline::links_of`].
    element: u32,
}

/// One failure with its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    /// Element that has failed.
    pub what: Failing,
    /// Time of the failure.
    pub failed_at: Time,
    /// Time at which it was back; `None` if it was not.
    pub returned_at: Option<Time>,
    /// True if the time was given, not drawn.
    pub planned: bool,
}

impl Elements {
    /// Elements of `topology` that can fail according to `faults`.
    pub fn new(topology: &dyn Topology, faults: Faults) -> Elements {
        let mut elements = Vec::new();
        let (mut links, mut first_link) = (Vec::new(), vec![0]);
        let mut add = |element: Element, of: &[LinkId]| {
            elements.push(element);
            links.extend_from_slice(of);
            first_link.push(links.len() as u32);
        };
        let of_router = if faults.has_routers() { links_of_routers(topology) } else { Vec::new() };
        for planned in &faults.planned {
            let law = Law::Once {
                fails_at: countable(planned.fails_at),
                returns_at: countable(planned.returns_at),
            };
            match &planned.what {
                Failing::Links(links) => add(Element { law, router: None }, links),
                Failing::Router(router) => {
                    add(Element { law, router: Some(*router) }, &of_router[router.0 as usize]);
                }
            }
        }
        if let Some(rates) = faults.cables {
            for cable in cables(topology) {
                let law = Law::Again { rates, purpose: "link faults", owner: cable[0].0 };
                add(Element { law, router: None }, &cable);
            }
        }
        if let Some(rates) = faults.routers {
            for (router, links) in of_router.iter().enumerate() {
                let law = Law::Again { rates, purpose: "router faults", owner: router as u32 };
                add(Element { law, router: Some(RouterId(router as u32)) }, links);
            }
        }
        let (of_link, first_of_link) = inverted(&links, &first_link, topology.links());
        let routers = topology.routers();
        Elements { faults, elements, links, first_link, of_link, first_of_link, routers }
    }

    /// The faults that they were made from.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    fn of(&self, link: LinkId) -> &[u32] {
        let link = link.0 as usize;
        &self.of_link[self.first_of_link[link] as usize..self.first_of_link[link + 1] as usize]
    }

    /// Every failure up to `end`, in order of time.
    pub fn outages(self: &Arc<Elements>, end: Time) -> Vec<Outage> {
        let mut timeline = Timeline::new(self.clone(), Duration::ZERO);
        let mut open = vec![usize::MAX; self.elements.len()];
        let mut outages: Vec<Outage> = Vec::new();
        while let Some(change) = timeline.advance(end) {
            let element = change.element as usize;
            if !change.fails {
                outages[open[element]].returned_at = Some(change.at);
                continue;
            }
            open[element] = outages.len();
            outages.push(Outage {
                what: match change.router {
                    Some(router) => Failing::Router(router),
                    None => Failing::Links(timeline.links_of(&change).to_vec()),
                },
                failed_at: change.at,
                returned_at: None,
                planned: matches!(self.elements[element].law, Law::Once { .. }),
            });
        }
        outages
    }
}

impl Faults {
    fn has_routers(&self) -> bool {
        let is_router = |planned: &super::Planned| matches!(planned.what, Failing::Router(_));
        self.routers.is_some() || self.planned.iter().any(is_router)
    }
}

/// The links from and to each router.
fn links_of_routers(topology: &dyn Topology) -> Vec<Vec<LinkId>> {
    let mut of_router = vec![Vec::new(); topology.routers() as usize];
    for id in (0..topology.links()).map(LinkId) {
        let link = topology.link(id);
        for node in [link.from, link.to] {
            if let Node::Router(router) = node {
                of_router[router.0 as usize].push(id);
            }
        }
    }
    of_router
}

/// The links between routers by cable: the n-th from A to B and the n-th from B to A, the lower first; one
/// alone where there is no other.
fn cables(topology: &dyn Topology) -> Vec<Vec<LinkId>> {
    let mut links: Vec<(u32, u32, bool, LinkId)> = Vec::new();
    for id in (2 * topology.hosts()..topology.links()).map(LinkId) {
        let link = topology.link(id);
        if let (Node::Router(from), Node::Router(to)) = (link.from, link.to) {
            links.push((from.0.min(to.0), from.0.max(to.0), from > to, id));
        }
    }
    links.sort_unstable();
    let mut cables = Vec::new();
    for pair in links.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
        let (there, back) = pair.split_at(pair.partition_point(|link| !link.2));
        for number in 0..there.len().max(back.len()) {
            let ends = [there.get(number), back.get(number)];
            let mut cable: Vec<LinkId> = ends.into_iter().flatten().map(|link| link.3).collect();
            cable.sort_unstable();
            cables.push(cable);
        }
    }
    cables
}

/// The elements of each link, and where its list begins.
fn inverted(links: &[LinkId], first_link: &[u32], count: u32) -> (Vec<u32>, Vec<u32>) {
    let mut first = vec![0u32; count as usize + 1];
    links.iter().for_each(|link| first[link.0 as usize + 1] += 1);
    (1..first.len()).for_each(|link| first[link] += first[link - 1]);
    let (mut of_link, mut next) = (vec![0; links.len()], first.clone());
    for element in 0..first_link.len() - 1 {
        for link in &links[first_link[element] as usize..first_link[element + 1] as usize] {
            let place = &mut next[link.0 as usize];
            of_link[*place as usize] = element as u32;
            *place += 1;
        }
    }
    (of_link, first)
}

/// The state of all elements at a time, which only goes on.
#[derive(Debug)]
pub struct Timeline {
    elements: Arc<Elements>,
    /// Changes are told so much later.
    delay: Duration,
    /// Next change of each element, and how often it has changed.
    next: Vec<(Time, u32)>,
    heap: BinaryHeap<Reverse<(Time, u32)>>,
    /// Number of elements that are down, by link.
    down: Vec<u16>,
    /// The same of each router by itself.
    routers_down: Vec<u16>,
    /// Number of elements that are down and never return.
    gone: u32,
}

impl Timeline {
    /// At the beginning, when all is up; each change will be told `delay` after it happens.
    pub fn new(elements: Arc<Elements>, delay: Duration) -> Timeline {
        let seed = elements.faults.seed;
        let next: Vec<_> =
            elements.elements.iter().map(|element| (element.law.next(seed, 0, Time::ZERO), 0)).collect();
        let heap = next.iter().zip(0..).filter(|((at, _), _)| *at < Time::NEVER);
        Timeline {
            heap: heap.map(|((at, _), element)| Reverse((*at, element))).collect(),
            next,
            delay,
            down: vec![0; elements.first_of_link.len() - 1],
            routers_down: vec![0; elements.routers as usize],
            gone: 0,
            elements,
        }
    }

    /// Time at which the next change is told; [`Time::NEVER`] if none is.
    pub fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse((at, _))| countable(*at + self.delay))
    }

    /// Goes on to the next change, if it is told by `now`.
    pub fn advance(&mut self, now: Time) -> Option<Change> {
        if self.next() > now {
            return None;
        }
        let Reverse((at, element)) = self.heap.pop()?;
        let elements = self.elements.clone();
        let Element { law, router } = elements.elements[element as usize];
        let (next, changes) = &mut self.next[element as usize];
        *changes += 1;
        let fails = !is_up(*changes);
        *next = law.next(elements.faults.seed, *changes, at);
        if *next < Time::NEVER {
            self.heap.push(Reverse((*next, element)));
        } else {
            self.gone += u32::from(fails);
        }
        let count = |count: &mut u16| *count = if fails { *count + 1 } else { *count - 1 };
        let change = Change { at, fails, router, element };
        for link in elements.links_of(element) {
            count(&mut self.down[link.0 as usize]);
        }
        if let Some(router) = router {
            count(&mut self.routers_down[router.0 as usize]);
        }
        Some(change)
    }

    /// The links of what has changed.
    pub fn links_of(&self, change: &Change) -> &[LinkId] {
        self.elements.links_of(change.element)
    }

    /// Has `change` put `link`, one of its own, out of service, or back into it? Other elements may keep it
    /// down.
    pub fn has_turned(&self, change: &Change, link: LinkId) -> bool {
        self.down[link.0 as usize] == u16::from(change.fails)
    }

    /// Is the link down?
    pub fn is_down(&self, link: LinkId) -> bool {
        self.down[link.0 as usize] > 0
    }

    /// Has the router itself failed?
    pub fn is_router_down(&self, router: RouterId) -> bool {
        self.routers_down[router.0 as usize] > 0
    }

    /// Time at which a link that is up fails next, as far as is known now; [`Time::NEVER`] if it does not.
    pub fn fails_at(&self, link: LinkId) -> Time {
        let times = self.elements.of(link).iter().map(|element| self.next[*element as usize]);
        times.filter(|(_, changes)| is_up(*changes)).map(|(at, _)| at).min().unwrap_or(Time::NEVER)
    }

    /// Is the link down for ever?
    pub fn is_gone(&self, link: LinkId) -> bool {
        let is_gone = |element: &u32| {
            let (at, changes) = self.next[*element as usize];
            at == Time::NEVER && !is_up(changes)
        };
        self.elements.of(link).iter().any(is_gone)
    }

    /// Number of elements that are down for ever; only grows.
    pub fn gone(&self) -> u32 {
        self.gone
    }
}

impl Elements {
    fn links_of(&self, element: u32) -> &[LinkId] {
        let element = element as usize;
        &self.links[self.first_link[element] as usize..self.first_link[element + 1] as usize]
    }
}
