//! The links that flows share: those of the fabric, and behind them the parts of hosts.
//!
//! Each has a number, as everywhere, and one that crosses a path for the first time gets a place: tables are by place, so
//! that links on which nothing ever moves take no memory, and those that are used lie together.

use engine::{Bandwidth, Bytes, Duration, Time};

use super::bounds::{FEW, PATIENCE};
use super::classes::{Classes, UNIFORM, UNLIMITED};
use super::host_links::{HostLinks, changes};
use super::link::{Entry, Link};
use super::link_use::Carried;
use super::slack::{COSTLY, EXACT, MANY};
use super::streams::NONE;
use crate::memory::SharedMemory;
use crate::message::Endpoint;
use crate::model::alone::Alone;
use crate::model::moved_links::MovedLinks;
use crate::model::process_rates::ProcessRates;
use crate::model::rate::{Rate, Work, fair_share};
use crate::topology::{HostId, LinkId};

/// Work of a flow that the link holds back since the start, had it been there: the flow is done
/// when this has grown by its size, whatever happens to the link's level.
#[derive(Debug, Clone, Copy, Default)]
struct Clock {
    work: Work,
    /// Time at which it showed that.
    since: Time,
    /// Rate at which it runs: that of the flows that the link holds back.
    pace: Rate,
}

/// Links inside hosts of one sort.
#[derive(Debug, Clone, Copy)]
struct Inside {
    first: u32,
    capacity: u64,
    class: u16,
}

/// Number of links on a page of places.
const PAGE: u32 = 1 << 10;

/// All links, numbered: the fabric's, then the hosts' parts as far as they can be a limit. Those that have a place are
/// meant below where no number is spoken of.
pub(super) struct Links {
    pub all: Vec<Link>,
    /// The bundles on each, those that it holds back first; of bounded links the streams. In no other order that
    /// matters.
    pub entries: Vec<Vec<Entry>>,
    /// Capacity of each, in rate steps of flows of weight one.
    pub capacities: Vec<u64>,
    /// First [`Link::patience`] of each.
    pub patience: u8,
    /// Links with fewer flows are tracked.
    pub few: u32,
    /// Fewest flows of a crowded link, see `slack.rs`.
    pub many: u32,
    /// Fewest changes of rates of a crowded link, for each flow that has come, times the flows on it.
    pub costly: u64,
    /// Links that may have become crowded in this instant.
    pub crowded: Vec<u32>,
    /// Links with slack that have become empty in this instant.
    pub emptied: Vec<u32>,
    clocks: Vec<Clock>,
    pub carried: Vec<Carried>,
    /// Places by number, in pages that are there once one of their links has a place.
    places: Vec<Option<Box<[u32; PAGE as usize]>>>,
    /// Number of links of the fabric.
    pub fabric: u32,
    /// Links of the fabric that have flows, or have had some since the last report of changes; by number.
    pub moved: MovedLinks,
    /// Bytes that flows on each have moved, from when they are counted until the report of changes; else none.
    pub under_way: Vec<Bytes>,
    processes: u32,
    nics: u32,
    /// Rates of the links of hosts, and their classes.
    nic_classes: Vec<(Rate, u16)>,
    /// The processes' ways out, their ways in, their copies, the memories of hosts.
    out: Option<Inside>,
    into: Option<Inside>,
    copy: Option<Inside>,
    memory: Option<Inside>,
    /// Capacity and class of each memory of a host.
    memories: Vec<(u64, u16)>,
    /// First number behind all.
    end: u32,
    /// Classes of the ways out by number of active processes, where they change; and those numbers.
    out_classes: Vec<u16>,
    active: Vec<u16>,
    /// Number of kinds of traffic, flows and packets, that each process at each NIC sends, where rates change with the number
    /// of those that send.
    sending: Vec<u8>,
}

impl Links {
    pub fn new(alone: &Alone, classes: &mut Classes) -> Links {
        let fabric = alone.fabric.topology.links();
        let mut links = Links {
            all: Vec::new(),
            entries: Vec::new(),
            capacities: Vec::new(),
            patience: PATIENCE,
            few: FEW,
            many: MANY,
            costly: COSTLY,
            crowded: Vec::new(),
            emptied: Vec::new(),
            clocks: Vec::new(),
            carried: Vec::new(),
            places: Vec::new(),
            fabric,
            moved: MovedLinks::new(fabric as usize),
            under_way: Vec::new(),
            processes: u32::from(alone.hosts.processes.max(1)),
            nics: alone.hosts.nics.count.into(),
            nic_classes: Vec::new(),
            out: None,
            into: None,
            copy: None,
            memory: None,
            memories: Vec::new(),
            end: fabric,
            out_classes: Vec::new(),
            active: Vec::new(),
            sending: Vec::new(),
        };
        let widest = links.add_nics(alone, classes);
        links.add_paths(alone, classes, widest);
        links.add_memory(alone, classes, widest);
        links.places.resize_with(links.end.div_ceil(PAGE) as usize, || None);
        links
    }

    /// Classes of the links of hosts, which are one with their NICs: the same flows pass them. Gives the widest.
    fn add_nics(&mut self, alone: &Alone, classes: &mut Classes) -> Rate {
        let topology = &*alone.fabric.topology;
        let hosts = || (0..topology.hosts()).map(HostId);
        let ups = hosts().map(|host| topology.up(host));
        for id in ups.chain(hosts().map(|host| topology.down(host))) {
            let rate = Rate::of(alone.payload_bandwidth(topology.link(id).bandwidth));
            if !self.nic_classes.iter().any(|(known, _)| *known == rate) {
                self.nic_classes.push((rate, nic_class(alone, classes, rate)));
            }
        }
        self.nic_classes.iter().map(|(rate, _)| *rate).max().unwrap_or(Rate(0))
    }

    /// The processes' own paths to and from the NICs, unless the NIC is always narrower.
    fn add_paths(&mut self, alone: &Alone, classes: &mut Classes, widest: Rate) {
        let (hosts, regimes) = (alone.fabric.topology.hosts(), alone.hosts.regimes.len());
        let rates = ProcessRates::new(&alone.hosts, Bandwidth::INFINITE);
        let path = |active: usize| (0..regimes).map(|regime| rates.path(regime, active)).collect::<Vec<_>>();
        let most = if changes(&alone.hosts) { self.processes as usize } else { 1 };
        let nics = hosts * self.nics;
        let mut add = |active| classes.add(&path(active));
        let HostLinks { ways_out, ways_in, .. } = HostLinks::beside(&alone.hosts, widest);
        if ways_out > 0 {
            self.out_classes = (1..=most).map(&mut add).collect();
            self.active = vec![0; if most > 1 { nics as usize } else { 0 }];
            self.sending = vec![0; self.active.len() * self.processes as usize];
            let class = self.out_classes[0];
            self.out = Some(self.add_hosts(hosts * ways_out, classes.capacity(class), class));
        }
        if ways_in > 0 {
            let class = classes.add(&path(1));
            self.into = Some(self.add_hosts(hosts * ways_in, classes.capacity(class), class));
        }
    }

    /// The processes' copies, and the memories that they share.
    fn add_memory(&mut self, alone: &Alone, classes: &mut Classes, widest: Rate) {
        let (hosts, regimes) = (alone.fabric.topology.hosts(), &alone.hosts.memory.regimes);
        let copies: Vec<Rate> = regimes.iter().map(|regime| Rate::of(regime.bandwidth)).collect();
        let totals: Vec<Rate> = regimes.iter().map(|regime| Rate::of(regime.total_bandwidth)).collect();
        // Copies of other levels never pass a memory, at whatever rate.
        let at = |regime: usize, kind: &SharedMemory| match kind.regimes.contains(&regime) {
            true => totals[regime],
            false => totals[kind.regimes.start],
        };
        let each = HostLinks::beside(&alone.hosts, widest);
        if each.copies > 0 {
            let (capacity, class) = by_regime(&copies, classes);
            self.copy = Some(self.add_hosts(hosts * each.copies, capacity, class));
        }
        if each.memories > 0 {
            for kind in alone.hosts.memory.shared() {
                let own: Vec<Rate> = (0..totals.len()).map(|regime| at(regime, &kind)).collect();
                self.memories.extend(std::iter::repeat_n(by_regime(&own, classes), kind.groups as usize));
            }
            let (capacity, class) = self.memories[0];
            self.memory = Some(self.add_hosts(hosts * self.memories.len() as u32, capacity, class));
        }
    }

    fn add_hosts(&mut self, count: u32, capacity: u64, class: u16) -> Inside {
        let first = self.end;
        self.end = first.checked_add(count).expect("all links can be numbered");
        Inside { first, capacity, class }
    }

    /// The place of the link with a number; it gets one if it has none.
    pub fn place(&mut self, id: LinkId, alone: &Alone, classes: &Classes) -> u32 {
        let page = self.places[(id.0 / PAGE) as usize].get_or_insert_with(|| Box::new([NONE; PAGE as usize]));
        let place = &mut page[(id.0 % PAGE) as usize];
        if *place == NONE {
            *place = self.all.len() as u32;
            self.add(id, alone, classes);
        }
        self.find(id).expect("it has a place now")
    }

    /// The place of the link with a number, if it has one.
    pub fn find(&self, id: LinkId) -> Option<u32> {
        let page = self.places[(id.0 / PAGE) as usize].as_ref()?;
        Some(page[(id.0 % PAGE) as usize]).filter(|place| *place != NONE)
    }

    /// Capacity and class of link `id`, which is inside a host.
    fn inside(&self, id: LinkId, classes: &Classes) -> (u64, u16) {
        let sorts = [self.memory, self.copy, self.into, self.out].into_iter().flatten();
        let before = sorts.filter(|inside| inside.first <= id.0);
        let inside = before.max_by_key(|inside| inside.first).expect("a link is of some sort");
        let number = id.0 - inside.first;
        if self.memory.is_some_and(|memory| memory.first == inside.first) {
            return self.memories[number as usize % self.memories.len()];
        }
        if self.out.is_some_and(|out| out.first == inside.first) && !self.active.is_empty() {
            let class = self.out_class(number / self.processes);
            return (classes.capacity(class), class);
        }
        (inside.capacity, inside.class)
    }

    /// Gives link `id` the next place.
    fn add(&mut self, id: LinkId, alone: &Alone, classes: &Classes) {
        let mut carried = Carried::default();
        let (capacity, class) = if id.0 < self.fabric {
            let link = alone.fabric.topology.link(id);
            carried.latency = link.latency;
            let rate = Rate::of(alone.payload_bandwidth(link.bandwidth));
            let nic = self.nic_classes.iter().find(|(known, _)| *known == rate);
            let class = nic.filter(|_| !link.is_between_routers()).map_or(UNIFORM, |(_, class)| *class);
            (if class == UNIFORM { rate.0.min(UNLIMITED) } else { classes.capacity(class) }, class)
        } else {
            self.inside(id, classes)
        };
        let link = Link {
            spare: capacity as i64,
            slack: EXACT,
            id: id.0,
            class,
            patience: self.patience,
            ..Link::default()
        };
        self.all.push(link);
        self.entries.push(Vec::new());
        self.capacities.push(capacity);
        self.clocks.push(Clock::default());
        self.carried.push(carried);
        self.under_way.push(Bytes(0));
    }
}

impl Links {
    /// The links of a copy by `from` in `memory` among those of all hosts.
    pub fn memory_path(&self, from: Endpoint, memory: u32, path: &mut Vec<LinkId>) {
        let process = from.host.0 * self.processes + u32::from(from.process);
        path.extend(self.copy.map(|copy| LinkId(copy.first + process)));
        path.extend(self.memory.map(|first| LinkId(first.first + memory)));
    }

    /// The place of a NIC among all.
    pub fn nic(&self, host: HostId, nic: u8) -> u32 {
        host.0 * self.nics + u32::from(nic)
    }

    /// The way out of a process to a NIC of its host, if it can be a limit.
    pub fn way_out(&self, from: Endpoint, nic: u8) -> Option<LinkId> {
        self.out.map(|out| LinkId(out.first + self.process_at(from, nic)))
    }

    /// The way from a NIC into a process, if it can be a limit.
    pub fn way_in(&self, to: Endpoint, nic: u8) -> Option<LinkId> {
        self.into.map(|into| LinkId(into.first + self.process_at(to, nic)))
    }

    /// Number of a process at a NIC of its host, among all processes at all NICs.
    pub fn process_at(&self, end: Endpoint, nic: u8) -> u32 {
        self.nic(end.host, nic) * self.processes + u32::from(end.process)
    }

    /// The latency of a link; those inside hosts have none.
    pub fn latency(&self, link: u32) -> Duration {
        self.carried[link as usize].latency
    }

    /// True if the rate of a process depends on the number of those that send.
    pub fn rate_depends_on_senders(&self) -> bool {
        !self.active.is_empty()
    }

    /// A process at a NIC has begun to send flows, or packets, or has ended. Where the rate of each changes with the number of
    /// those that send, and that has changed, gives the links for which it does.
    pub fn count_active(&mut self, process: u32, begins: bool) -> Vec<u32> {
        let (Some(kinds), Some(out)) = (self.sending.get_mut(process as usize), self.out) else {
            return Vec::new();
        };
        *kinds = if begins { *kinds + 1 } else { *kinds - 1 };
        if *kinds > 1 || (*kinds == 1 && !begins) {
            return Vec::new();
        }
        let nic = process / self.processes;
        let active = &mut self.active[nic as usize];
        *active = if begins { *active + 1 } else { *active - 1 };
        let first = out.first + nic * self.processes;
        (first..first + self.processes).filter_map(|id| self.find(LinkId(id))).collect()
    }

    /// The class of the way out of a process at a NIC as it is now.
    pub fn out_class_of(&self, process: u32) -> u16 {
        self.out_class(process / self.processes)
    }

    /// The class of the ways out to `nic` as it is now.
    fn out_class(&self, nic: u32) -> u16 {
        self.out_classes[usize::from(self.active[nic as usize].max(1)) - 1]
    }

    /// The share of each flow on `link` if all were equal.
    pub fn equal_share(&self, link: u32, weight: u64) -> Rate {
        fair_share(self.capacities[link as usize], weight)
    }

    /// Work on the clock of `link`.
    pub fn clock(&self, link: u32, now: Time) -> Work {
        let clock = &self.clocks[link as usize];
        clock.work.more(clock.pace.during(now.since(clock.since)))
    }

    /// From `now` on, `link` has another level.
    pub fn set_level(&mut self, link: u32, level: Rate, now: Time) {
        self.set_pace(link, level, now);
        self.all[link as usize].level = level.0;
    }

    /// Rate of the flows that `link` holds back: its level, or with slack a little more or less (see `slack.rs`).
    pub fn pace(&self, link: u32) -> Rate {
        self.clocks[link as usize].pace
    }

    /// From `now` on, the flows that `link` holds back have rate `pace`, while other links reckon with its level.
    pub fn set_pace(&mut self, link: u32, pace: Rate, now: Time) {
        let work = self.clock(link, now);
        self.clocks[link as usize] = Clock { work, since: now, pace };
    }

    /// The bundles that `link` holds back.
    pub fn held(&self, link: u32) -> &[Entry] {
        &self.entries[link as usize][..self.all[link as usize].held as usize]
    }

    /// Those that others hold back, or that have no rate yet.
    pub fn others(&self, link: u32) -> &[Entry] {
        &self.entries[link as usize][self.all[link as usize].held as usize..]
    }

    /// Time at which the first of the messages that `link` holds back ends, if there are any, and what its clock shows
    /// then: those that are due by then end with it.
    pub fn first_end(&self, link: u32, now: Time) -> Option<(Time, Work)> {
        let first = self.held(link).iter().map(|entry| entry.due).min()?;
        let (pace, clock) = (self.pace(link), self.clock(link, now));
        let time = first.less(clock).time(pace);
        Some((now + time, clock.more(pace.during(time))))
    }

    /// One more flow is on `link`.
    pub fn count_up(&mut self, link: u32) {
        let state = &mut self.all[link as usize];
        state.load += 1;
        if state.slack == EXACT && state.load >= self.many {
            self.note_crowd(link);
        }
    }

    /// The opposite of [`Links::count_up`].
    pub fn count_down(&mut self, link: u32) {
        self.all[link as usize].load -= 1;
        self.note_empty(link);
    }

    /// Notes that `link` may lose its slack, if it is empty.
    pub fn note_empty(&mut self, link: u32) {
        let state = &self.all[link as usize];
        if (state.load == 0) & (state.slack != EXACT) {
            self.emptied.push(link);
        }
    }
}

/// The capacity and the class of links that carry a lone flow of each regime at these rates.
fn by_regime(alone: &[Rate], classes: &mut Classes) -> (u64, u16) {
    if alone.iter().all(|rate| *rate == alone[0]) {
        return (alone[0].0.min(UNLIMITED), UNIFORM);
    }
    let class = classes.add(alone);
    (classes.capacity(class), class)
}

/// The class of a NIC with a host link of `rate`; uniform where the NIC is the same for all regimes.
fn nic_class(alone: &Alone, classes: &mut Classes, rate: Rate) -> u16 {
    let rates: Vec<Rate> =
        alone.hosts.regimes.iter().map(|regime| Rate::of(regime.nic_rate).min(rate)).collect();
    if rates.iter().all(|own| *own == rate) { UNIFORM } else { classes.add(&rates) }
}
