//! Slim Fly: the MMS graphs, of diameter 2 with close to the fewest routers that are possible.
//!
//! q = 4 w + δ is a power of a prime, δ one of -1, 0, 1. Routers are `(s, x, y)` with s of 0, 1 and x, y of the field of
//! q elements, whose primitive element is ξ:
//!
//! ```text
//! (0, x, y) – (0, x, y')   if y - y' is in X      δ = 1:   X = {1, ξ², …, ξ^(q-3)}, X' = ξ X
//! (1, m, c) – (1, m, c')   if c - c' is in X'     δ = 0:   X = {1, ξ², …, ξ^(q-2)}, X' = ξ X
//! (0, x, y) – (1, m, c)    if y = m x + c         δ = -1:  X = {1, ξ², …, ξ^(2w-2), ξ^(2w-1), ξ^(2w+1), …, ξ^(4w-3)}, X' = ξ X
//! ```
//!
//! That makes 2 q² routers, each with `k = (3 q - δ) / 2` links to others, any two of them one or two hops apart. Of the pairs
//! of routers a share `k / (2 q² - 1)` is one hop apart. p hosts hang on each router: with the default, ⌈k / 2⌉, minimal
//! routes carry uniform traffic at about the full rate of the hosts.
//!
//! Racks hold the 2 q routers `(0, x, y)` and `(1, x, c)` of an x; two racks are linked by 2 q cables. These are `global`
//! links, those within a rack `local` ones. Router `2 q x + q s + y` is `(s, x, y)`.
//!
//! Minimal routes are one hop, or two by a random common neighbour; detours go by any router. The n-th hop is on virtual
//! channel n: 2 for minimal routes, 4 for those with a detour.
//!
//! Source: Besta and Hoefler, "Slim Fly: a cost effective low-diameter network topology" (SC 2014); McKay, Miller, Širáň,
//! "A note on large graphs of diameter two and given maximum degree" (J. Combinatorial Theory B 74, 1998); Hafner,
//! "Geometric realisation of the graphs of McKay-Miller-Širáň" (ibid. 90, 2004) for X and X'.

use std::ops::Range;
use std::sync::Arc;

use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter};

use super::global_links::rates;
use super::grouped::{Aside, Grouped, Reach, Walk, other_than};
use super::{
    Build, Formula, HOST_CLASSES, HostId, Link, LinkDefaults, LinkId, Node, Positions, Rates, RouterId,
    Topology,
};
use crate::choice::Choice;

/// The registry's line.
pub const ENTRY: Entry<Build> = Entry {
    name: "slim-fly",
    summary: "any two routers at most two hops apart, with the fewest routers (MMS graphs)",
    source: "Besta and Hoefler 2014; McKay, Miller, Širáň 1998; Hafner 2004",
    parameters: &[
        Parameter {
            name: "q",
            kind: Kind::Integer(3, 127),
            default: None,
            summary: "a power of a prime, but not 2: there are 2 q² routers",
        },
        Parameter {
            name: "hosts_per_router",
            kind: Kind::Integer(1, 1 << 20),
            default: Some(""),
            summary: "p; missing: half of a router's links to others, rounded up",
        },
        Parameter {
            name: "local_bandwidth",
            kind: Kind::Bandwidth,
            default: Some(""),
            summary: "of a link within a rack; missing: [link]'s",
        },
        Parameter {
            name: "local_latency",
            kind: Kind::Time,
            default: Some(""),
            summary: "of a link within a rack and the router behind it; missing: [link]'s",
        },
        Parameter {
            name: "global_bandwidth",
            kind: Kind::Bandwidth,
            default: Some(""),
            summary: "of a link between racks; missing: [link]'s",
        },
        Parameter {
            name: "global_latency",
            kind: Kind::Time,
            default: Some(""),
            summary: "of a link between racks and the router behind it; missing: [link]'s",
        },
    ],
    examples: &[
        "q = 5\nhosts_per_router = 1",
        "q = 3\nglobal_latency = \"500 ns\"\nglobal_bandwidth = \"5 GB/s\"",
        "q = 4\nhosts_per_router = 2",
        "q = 8\nhosts_per_router = 1",
    ],
    build,
};

/// The field of q elements, by tables; elements are numbers below q, 0 and 1 are themselves.
#[derive(Debug)]
struct Field {
    q: u32,
    sums: Vec<u8>,
    /// The powers of ξ, from ξ⁰ on.
    powers: Vec<u8>,
    /// The exponent of each element but 0.
    exponents: Vec<u8>,
    negative: Vec<u8>,
}

impl Field {
    /// `None` if q is no power of a prime.
    ///
    /// An element is a polynomial over the integers modulo p, its coefficients the digits of its number. ξ is x (or a
    /// number, where the polynomials are of degree 0), modulo the first polynomial for which its powers are all elements.
    fn new(q: u32) -> Option<Field> {
        let p = (2..=q).find(|p| q % p == 0)?;
        let degree = (1..8).find(|degree| p.pow(*degree) == q)?;
        let powers = (0..q).find_map(|modulus| primitive_powers(p, degree, q, modulus))?;
        let mut exponents = vec![0; q as usize];
        powers.iter().enumerate().for_each(|(exponent, power)| exponents[*power as usize] = exponent as u8);
        let digits = |number: u32| (0..degree).map(move |place| number / p.pow(place) % p);
        let sum = |a: u32, b: u32| {
            let sums = digits(a).zip(digits(b)).map(|(a, b)| (a + b) % p);
            sums.zip(0..).map(|(digit, place)| digit * p.pow(place)).sum::<u32>()
        };
        let sums: Vec<u8> = (0..q).flat_map(|a| (0..q).map(move |b| sum(a, b) as u8)).collect();
        let negative = (0..q).map(|a| (0..q).find(|b| sum(a, *b) == 0).expect("it is a group") as u8);
        Some(Field { q, negative: negative.collect(), sums, powers, exponents })
    }

    fn add(&self, a: u32, b: u32) -> u32 {
        self.sums[(a * self.q + b) as usize].into()
    }
    fn subtract(&self, a: u32, b: u32) -> u32 {
        self.add(a, self.negative[b as usize].into())
    }
    fn multiply(&self, a: u32, b: u32) -> u32 {
        if a == 0 || b == 0 {
            return 0;
        }
        let exponent = u32::from(self.exponents[a as usize]) + u32::from(self.exponents[b as usize]);
        self.powers[(exponent % (self.q - 1)) as usize].into()
    }
    fn divide(&self, a: u32, b: u32) -> u32 {
        assert_ne!(b, 0, "nothing is divided by 0");
        if a == 0 {
            return 0;
        }
        let exponent =
            u32::from(self.exponents[a as usize]) + self.q - 1 - u32::from(self.exponents[b as usize]);
        self.powers[(exponent % (self.q - 1)) as usize].into()
    }
}

/// The powers of x modulo the monic polynomial of `degree` whose other coefficients are the digits of `modulus`, if they
/// are all elements but 0.
fn primitive_powers(p: u32, degree: u32, q: u32, modulus: u32) -> Option<Vec<u8>> {
    let digit = |number: u32, place: u32| number / p.pow(place) % p;
    let times_x = |element: u32| -> u32 {
        let top = digit(element, degree - 1);
        let shifted = element % p.pow(degree - 1) * p;
        let reduced = |place| (digit(shifted, place) + (p - top) * digit(modulus, place)) % p;
        (0..degree).map(|place| reduced(place) * p.pow(place)).sum()
    };
    let powers: Vec<u32> =
        std::iter::successors(Some(1), |power| Some(times_x(*power))).take(q as usize - 1).collect();
    let mut seen = powers.clone();
    seen.sort_unstable();
    seen.dedup();
    let all = seen.len() == powers.len() && seen[0] != 0;
    all.then(|| powers.into_iter().map(|power| power as u8).collect())
}

/// A Slim Fly.
#[derive(Debug, Clone)]
pub struct SlimFly {
    field: Arc<Field>,
    /// X and X'.
    steps: Arc<[Vec<u32>; 2]>,
    /// Membership of each element in X and X'.
    is_step: Arc<[Vec<bool>; 2]>,
    hosts_per_router: u32,
    local: Rates,
    global: Rates,
    host: Rates,
}

/// A router: s, x, y.
type Place = (u32, u32, u32);

impl SlimFly {
    fn place(&self, router: u32) -> Place {
        let q = self.field.q;
        (router / q % 2, router / (2 * q), router % q)
    }
    fn number(&self, (side, x, y): Place) -> u32 {
        let q = self.field.q;
        2 * q * x + q * side + y
    }
    /// Links to routers of the same side and x.
    fn near_ports(&self) -> u32 {
        self.steps[0].len() as u32
    }
    /// k
    fn degree(&self) -> u32 {
        self.near_ports() + self.field.q
    }
    /// The first link between routers.
    fn first(&self) -> u32 {
        2 * self.hosts()
    }
    /// The link to another rack, or within one.
    fn rates(&self, from: u32, to: u32) -> Rates {
        if self.group_of(from) == self.group_of(to) { self.local } else { self.global }
    }

    /// The router of side 1 - s and `other` that is linked to a router.
    fn across(&self, (side, x, y): Place, other: u32) -> Place {
        let product = self.field.multiply(x, other);
        let last = if side == 0 { self.field.subtract(y, product) } else { self.field.add(product, y) };
        (1 - side, other, last)
    }

    /// The router at the end of a port.
    fn end(&self, from: u32, port: u32) -> u32 {
        let (side, x, y) = self.place(from);
        match port.checked_sub(self.near_ports()) {
            None => self.number((side, x, self.field.add(y, self.steps[side as usize][port as usize]))),
            Some(other) => self.number(self.across((side, x, y), other)),
        }
    }

    /// The link between two routers, if they are neighbours.
    fn link_between(&self, from: u32, to: u32) -> Option<LinkId> {
        let ((side, x, y), (to_side, to_x, to_y)) = (self.place(from), self.place(to));
        let port = if side != to_side {
            (self.across((side, x, y), to_x).2 == to_y).then_some(self.near_ports() + to_x)?
        } else {
            let step = self.field.subtract(to_y, y);
            (x == to_x && self.is_step[side as usize][step as usize]).then_some(())?;
            let steps = &self.steps[side as usize];
            steps.iter().position(|other| *other == step).expect("it is a step") as u32
        };
        Some(LinkId(self.first() + from * self.degree() + port))
    }

    /// Tells `visit` the common neighbours of two routers that are no neighbours.
    fn between(&self, from: u32, to: u32, mut visit: impl FnMut(u32)) {
        let ((side, x, y), (to_side, to_x, to_y)) = (self.place(from), self.place(to));
        if side != to_side {
            // By a router of either row: y' = m x + c is the same step away from y as c is from c'.
            for (place, (end_side, end_x, end_y)) in
                [((side, x, y), (to_side, to_x, to_y)), ((to_side, to_x, to_y), (side, x, y))]
            {
                let last = self.across((end_side, end_x, end_y), place.1).2;
                let step = self.field.subtract(last, place.2);
                if self.is_step[place.0 as usize][step as usize] {
                    visit(self.number((place.0, place.1, last)));
                }
            }
        } else if x != to_x {
            // Of the other side there is one: m = (y - y') / (x - x').
            let rise = self.field.subtract(y, to_y);
            let run = self.field.subtract(x, to_x);
            // From side 1 it is x = (c' - c) / (m - m').
            let slope = self.field.divide(rise, run);
            let other = if side == 0 { slope } else { self.field.negative[slope as usize].into() };
            visit(self.number(self.across((side, x, y), other)));
        } else {
            for step in &self.steps[side as usize] {
                let middle = self.field.add(y, *step);
                if self.is_step[side as usize][self.field.subtract(to_y, middle) as usize] {
                    visit(self.number((side, x, middle)));
                }
            }
        }
    }
}

impl Grouped for SlimFly {
    fn groups(&self) -> u32 {
        self.field.q
    }
    fn group_of(&self, router: u32) -> u32 {
        router / (2 * self.field.q)
    }
    fn router_number(&self, host: HostId) -> u32 {
        host.0 / self.hosts_per_router
    }
    fn host_rates(&self) -> Rates {
        self.host
    }
    fn is_global(&self, link: LinkId) -> bool {
        let from = (link.0 - self.first()) / self.degree();
        self.group_of(from) != self.group_of(self.end_of(link))
    }
    fn end_of(&self, link: LinkId) -> u32 {
        let index = link.0 - self.first();
        self.end(index / self.degree(), index % self.degree())
    }
    fn order_of(&self, _link: LinkId) -> u8 {
        0
    }
    fn reach(&self) -> Reach {
        Reach { hops: [2, 4], channels: [2, 4, 5], later: 1 }
    }
    fn spreads(&self) -> bool {
        true
    }
    fn minimal(&self, at: u32, end: u32, choice: &mut Choice, walk: &mut Walk) {
        if at == end {
            return;
        }
        if let Some(link) = self.link_between(at, end) {
            return walk.link(link, self.rates(at, end));
        }
        let mut count = 0;
        self.between(at, end, |_| count += 1);
        let (chosen, mut number, mut middle) = (choice.below(count), 0, at);
        self.between(at, end, |router| {
            if number == chosen {
                middle = router;
            }
            number += 1;
        });
        for (from, to) in [(at, middle), (middle, end)] {
            let link = self.link_between(from, to).expect("a common neighbour is one");
            walk.link(link, self.rates(from, to));
        }
    }
    fn aside(&self, at: u32, end: u32, _place: Aside, choice: &mut Choice, walk: &mut Walk) -> u32 {
        let router = other_than([at, end], self.routers(), choice);
        self.minimal(at, router, choice, walk);
        router
    }
}

impl Topology for SlimFly {
    fn hosts(&self) -> u32 {
        self.routers() * self.hosts_per_router
    }
    fn routers(&self) -> u32 {
        2 * self.field.q * self.field.q
    }
    fn links(&self) -> u32 {
        self.first() + self.routers() * self.degree()
    }
    fn link(&self, id: LinkId) -> Link {
        if let Some(link) = self.host_link(id, self.host) {
            return link;
        }
        let from = (id.0 - self.first()) / self.degree();
        let to = self.end_of(id);
        let Rates { bandwidth, latency } = self.rates(from, to);
        let class = HOST_CLASSES.len() as u16 + u16::from(self.is_global(id));
        let (from, to) = (Node::Router(RouterId(from)), Node::Router(RouterId(to)));
        Link { from, to, bandwidth, latency, class }
    }
    fn classes(&self) -> Vec<String> {
        HOST_CLASSES.iter().chain(&["local", "global"]).map(|name| name.to_string()).collect()
    }
    fn router_of(&self, host: HostId) -> RouterId {
        RouterId(self.router_number(host))
    }
    fn hosts_of(&self, router: RouterId) -> Range<u32> {
        router.0 * self.hosts_per_router..(router.0 + 1) * self.hosts_per_router
    }
    fn ports(&self, router: RouterId, ports: &mut Vec<LinkId>) {
        let first = self.first() + router.0 * self.degree();
        ports.extend((first..first + self.degree()).map(LinkId));
    }
    fn formula(&self) -> Formula {
        let [routers, each] = [self.routers(), self.hosts_per_router].map(u64::from);
        let degree = u64::from(self.degree());
        let hosts = routers * each;
        // Of a host's partners those of k routers are one hop away, those of its own router none, all others two.
        let hops = (each * (degree + 2 * (routers - 1 - degree))) as f64;
        Formula {
            diameter: Some(2),
            mean_hops: Some(hops / (hosts - 1) as f64),
            ..Formula::counts(hosts, routers, 2 * hosts + routers * degree)
        }
    }
    fn router_name(&self, router: RouterId) -> String {
        let (side, x, y) = self.place(router.0);
        format!("({side},{x},{y})")
    }
    fn default_routing(&self) -> &'static str {
        "minimal"
    }
    fn unit(&self) -> u32 {
        2 * self.field.q
    }
    fn positions(&self, _class: u16) -> Positions {
        Positions { of: "rack".to_string(), count: self.groups() }
    }
    fn position(&self, id: LinkId) -> u32 {
        match self.link(id).from {
            Node::Host(host) => self.group_of(self.router_number(host)),
            Node::Router(router) => self.group_of(router.0),
        }
    }
    fn grouped(&self) -> Option<Arc<dyn Grouped>> {
        Some(Arc::new(self.clone()))
    }
}

/// X: see the head of this file.
fn steps(field: &Field) -> Vec<u32> {
    let power = |exponent: u32| u32::from(field.powers[exponent as usize]);
    if field.q % 4 == 3 {
        let w = (field.q + 1) / 4;
        let even = (0..w).map(|i| 2 * i);
        return even.chain((0..w).map(|i| 2 * w - 1 + 2 * i)).map(power).collect();
    }
    (0..field.q - 1).step_by(2).map(power).collect()
}

fn build(arguments: &Arguments, links: &LinkDefaults) -> Result<Box<dyn Topology>, BuildError> {
    let q = arguments.integer("q").expect("a required parameter is there") as u32;
    let field = Field::new(q).filter(|_| q % 4 != 2).ok_or_else(|| {
        let known = (3..=127).filter(|q| q % 4 != 2 && Field::new(*q).is_some());
        let mut near: Vec<u32> = known.collect();
        near.sort_by_key(|other| other.abs_diff(q));
        let reason = format!("{q} is no power of a prime; near it are {} and {}", near[0], near[1]);
        BuildError::new("q", reason)
    })?;
    let near = steps(&field);
    // ξ X
    let far: Vec<u32> = near.iter().map(|step| field.multiply(*step, field.powers[1].into())).collect();
    let degree = near.len() as u32 + q;
    let hosts_per_router = arguments.integer("hosts_per_router").map_or(degree.div_ceil(2), |p| p as u32);
    let total = 2 * u64::from(q * q) * (2 * u64::from(hosts_per_router) + u64::from(degree));
    if u32::try_from(total).is_err() {
        let reason = format!(
            "{hosts_per_router} hosts on each of {} routers need {total} links, at most {}",
            2 * q * q,
            u32::MAX
        );
        return Err(BuildError::new("hosts_per_router", reason));
    }
    let is_step = [&near, &far].map(|steps| (0..q).map(|element| steps.contains(&element)).collect());
    Ok(Box::new(SlimFly {
        field: Arc::new(field),
        steps: Arc::new([near, far]),
        is_step: Arc::new(is_step),
        hosts_per_router,
        local: rates(arguments, "local_bandwidth", "local_latency", links.between())?,
        global: rates(arguments, "global_bandwidth", "global_latency", links.between())?,
        host: links.host(),
    }))
}
