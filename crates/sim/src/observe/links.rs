//! Traffic of links: in total, and over time in at most 128 periods of equal length.
//!
//! The period starts at one microsecond and doubles whenever the periods run out: neighbouring
//! periods are merged, so memory is bounded for any run length. Networks with more links than
//! [`MOST_LINKS`] are kept by class of link over time. A model that looks at every message under way for a
//! sample (`flow`) has at most 32 periods from [`MOST_LOOKS`] on, so that samples cost less than the run.

use engine::{Bandwidth, Duration, Observer, Time};
use network::message::LinkUse;
use network::{Fabric, LinkId, Network, NetworkRecord, Node};
use serde::{Deserialize, Serialize};

use super::live_links::{LiveLinks, over_time_table};
use crate::table::{Column, Table};

const MOST_PERIODS: usize = 128;
/// Most periods of runs with so many messages under way that samples are costly.
const FEWER_PERIODS: usize = 32;
/// Messages that samples look at before periods become fewer.
const MOST_LOOKS: u64 = 1 << 19;
const MOST_LINKS: usize = 4096;
const FIRST_PERIOD: Duration = Duration(1_000_000);

/// Use of all links.
#[derive(Debug, Serialize, Deserialize)]
pub struct Links {
    /// Totals by link at the last report.
    totals: Vec<LinkUse>,
    /// Bytes that each link had carried when the current period began; links at the end that had not moved are missing.
    carried: Vec<u64>,
    over_time: Option<OverTime>,
    /// Periods that a reader who follows the run has not seen; `None` without a reader.
    #[serde(skip)]
    live: Option<LiveLinks>,
}

#[derive(Debug, Serialize, Deserialize)]
struct OverTime {
    period: Duration,
    /// Traffic by period: `(cell, bytes)`, ascending by cell, which is a link or a class of links.
    periods: Vec<Vec<(u32, u64)>>,
    by_class: bool,
    /// Messages that samples have looked at.
    looks: u64,
}

/// Collects one report of all links.
struct Report<'a>(&'a mut Vec<LinkUse>);

impl Observer<NetworkRecord<'_>> for Report<'_> {
    fn record(&mut self, _now: Time, record: &NetworkRecord) {
        if let NetworkRecord::LinkUse(link) = record {
            self.0.push(**link);
        }
    }
}

/// Collects the traffic since the last report of changes, by cell.
struct Changes<'a> {
    carried: &'a mut Vec<u64>,
    cells: Vec<(u32, u64)>,
    cell: &'a dyn Fn(LinkId) -> u32,
}

impl Observer<NetworkRecord<'_>> for Changes<'_> {
    fn record(&mut self, _now: Time, record: &NetworkRecord) {
        let NetworkRecord::LinkUse(link) = record else { return };
        let at = link.link.0 as usize;
        if at >= self.carried.len() {
            self.carried.resize(at + 1, 0);
        }
        let bytes = link.bytes.0.saturating_sub(self.carried[at]);
        self.carried[at] = link.bytes.0;
        if bytes > 0 {
            self.cells.push(((self.cell)(link.link), bytes));
        }
    }
}

impl Links {
    /// Keeps totals of `links` links, and traffic over time as well if `over_time`.
    pub fn new(links: u32, over_time: bool) -> Links {
        let over_time = over_time.then(|| OverTime {
            period: FIRST_PERIOD,
            periods: Vec::new(),
            by_class: links as usize > MOST_LINKS,
            looks: 0,
        });
        Links { totals: Vec::new(), carried: Vec::new(), over_time, live: None }
    }

    /// Keeps each period that ends from now on for a reader as well, if traffic over time is kept.
    pub fn follow(&mut self) {
        self.live = self.over_time.as_ref().map(|over_time| LiveLinks::new(over_time.by_class));
    }

    /// Rows that are new since the last call, for a reader that follows the run: see [`LiveLinks::new_rows`].
    pub fn new_rows(&mut self, names: &LinkNames) -> Vec<Table> {
        self.live.as_mut().map_or_else(Vec::new, |live| live.new_rows(names))
    }

    /// Time at which the next sample is due; never if only totals are kept.
    pub fn next_sample(&self) -> Time {
        match &self.over_time {
            None => Time::NEVER,
            Some(over_time) => Time::ZERO + over_time.period * (over_time.periods.len() as u64 + 1),
        }
    }

    /// Reads the bytes that links have carried up to `now`, which is [`Links::next_sample`] or the end of the run.
    /// `class` gives the class of a link.
    pub fn sample(&mut self, now: Time, network: &mut dyn Network, class: &dyn Fn(LinkId) -> u16) {
        let Some(over_time) = &mut self.over_time else { return };
        let by_class = over_time.by_class;
        let cell = |link: LinkId| if by_class { class(link).into() } else { link.0 };
        let mut changes = Changes { carried: &mut self.carried, cells: Vec::new(), cell: &cell };
        network.report_changes(now, &mut changes);
        over_time.looks += network.looks();
        let cells = merged(changes.cells);
        if let Some(live) = &mut self.live {
            live.close(now, &cells);
        }
        over_time.close(cells);
    }

    /// Reads what all links have done up to `now`, the end of the run.
    pub fn finish(&mut self, now: Time, network: &mut dyn Network, class: &dyn Fn(LinkId) -> u16) {
        self.sample(now, network, class);
        self.totals.clear();
        network.report(now, &mut Report(&mut self.totals));
    }

    /// Adds the traffic of the links of another domain, up to the same time.
    pub fn and(mut self, other: Links) -> Links {
        self.totals.extend(other.totals);
        self.totals.sort_unstable_by_key(|link| link.link);
        self.totals.dedup_by(|later, first| {
            let same = later.link == first.link;
            if same {
                first.bytes += later.bytes;
                first.transfers += later.transfers;
                first.busy = first.busy.max(later.busy);
            }
            same
        });
        if let (Some(over_time), Some(theirs)) = (&mut self.over_time, other.over_time) {
            assert_eq!(over_time.periods.len(), theirs.periods.len(), "domains end at the same time");
            for (cells, more) in over_time.periods.iter_mut().zip(theirs.periods) {
                *cells = merged([std::mem::take(cells), more].concat());
            }
        }
        self
    }

    /// Totals of the links at the last sample.
    pub fn totals(&self) -> &[LinkUse] {
        &self.totals
    }

    /// Tables `links` (only those used) and `links_over_time`.
    pub fn tables(&self, names: &LinkNames) -> Vec<Table> {
        let used: Vec<_> = self.totals.iter().filter(|link| link.transfers > 0).collect();
        let parallel = names.parallel(used.iter().map(|link| link.link));
        let text =
            |of: &dyn Fn(LinkId) -> String| Column::Text(used.iter().map(|link| of(link.link)).collect());
        let mut tables = vec![Table::new(
            "links",
            vec![
                ("link", Column::U32(used.iter().map(|link| link.link.0).collect())),
                ("from", text(&|link| names.ends(link).0)),
                ("to", text(&|link| names.ends(link).1)),
                ("class", text(&|link| names.class(link))),
                ("parallel", Column::U32(parallel.iter().map(|place| place.number).collect())),
                ("parallel_of", Column::U32(parallel.iter().map(|place| place.of).collect())),
                ("bandwidth_Bps", Column::F64(used.iter().map(|link| names.bandwidth(link.link)).collect())),
                ("bytes", Column::U64(used.iter().map(|link| link.bytes.0).collect())),
                ("transfers", Column::U64(used.iter().map(|link| link.transfers).collect())),
                ("busy_s", Column::F64(used.iter().map(|link| link.busy.seconds()).collect())),
            ],
        )];
        tables.extend(self.over_time.as_ref().map(|over_time| over_time.table(names)));
        tables
    }
}

impl OverTime {
    /// Ends the current period with its traffic.
    fn close(&mut self, cells: Vec<(u32, u64)>) {
        self.periods.push(cells);
        self.fold();
    }

    /// Merges neighbouring periods once there are too many.
    fn fold(&mut self) {
        let most = if self.looks < MOST_LOOKS { MOST_PERIODS } else { FEWER_PERIODS };
        while self.periods.len() >= most && self.periods.len() % 2 == 0 {
            self.period = self.period * 2;
            let pairs = std::mem::take(&mut self.periods);
            self.periods = pairs.chunks(2).map(|pair| merged(pair.concat())).collect();
        }
    }

    fn table(&self, names: &LinkNames) -> Table {
        let rows: Vec<_> = (self.periods.iter().enumerate())
            .flat_map(|(index, cells)| cells.iter().map(move |cell| (index as f64, cell.0, cell.1)))
            .collect();
        let period = self.period.seconds();
        let time = |index: f64| index * period;
        let rows: Vec<_> =
            rows.into_iter().map(|(at, cell, bytes)| (time(at), time(at + 1.0), cell, bytes)).collect();
        over_time_table(&rows, self.by_class, names)
    }
}

/// Sums the bytes of equal cells, ascending.
fn merged(mut cells: Vec<(u32, u64)>) -> Vec<(u32, u64)> {
    // Stable, as that merges lists that are sorted, one behind the other, in one pass.
    cells.sort_by_key(|cell| cell.0);
    cells.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 += later.1;
        }
        same
    });
    cells
}

/// Names of links.
pub struct LinkNames<'a> {
    pub(super) fabric: &'a Fabric,
    pub(super) classes: Vec<String>,
}

/// Position of a link among the parallel ones from one router to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parallel {
    /// Number, from 1.
    pub number: u32,
    /// Number of parallel links.
    pub of: u32,
}

impl LinkNames<'_> {
    /// Makes the names of a network's links.
    pub fn new(fabric: &Fabric) -> LinkNames<'_> {
        LinkNames { fabric, classes: fabric.topology.classes() }
    }

    /// Names of both ends.
    pub fn ends(&self, link: LinkId) -> (String, String) {
        let topology = &self.fabric.topology;
        let nic = topology.nic_of(link);
        let name = |node| match node {
            Node::Host(host) if topology.nics() > 1 => format!("host {} NIC {nic}", host.0),
            Node::Host(host) => format!("host {}", host.0),
            Node::Router(router) => topology.router_name(router),
        };
        let link = topology.link(link);
        (name(link.from), name(link.to))
    }

    /// Positions of `links` among the links parallel to them, from one router to another.
    pub fn parallel(&self, links: impl Iterator<Item = LinkId>) -> Vec<Parallel> {
        let topology = &self.fabric.topology;
        let (mut router, mut ports) = (None, Vec::new());
        let place = |id: LinkId| {
            let link = topology.link(id);
            let (Node::Router(from), true) = (link.from, link.is_between_routers()) else {
                let (first, of) = (topology.first_nic_link(id), topology.nic_links());
                let before = (0..of).take_while(|number| topology.nic_link(first, *number) != id).count();
                return Parallel { number: 1 + before as u32, of: of.into() };
            };
            if router != Some(from) {
                ports.clear();
                topology.ports(from, &mut ports);
                router = Some(from);
            }
            let beside = ports.iter().filter(|port| topology.link(**port).to == link.to);
            let (number, of) =
                beside.fold((1, 0), |(number, of), port| (number + u32::from(*port < id), of + 1));
            Parallel { number, of }
        };
        links.map(place).collect()
    }

    /// Class of the link.
    pub fn class(&self, link: LinkId) -> String {
        self.classes[self.fabric.topology.link(link).class as usize].clone()
    }

    /// Bandwidth \[B/s\]; infinite for a link that never limits.
    pub fn bandwidth(&self, link: LinkId) -> f64 {
        match self.rate(link) {
            Bandwidth::INFINITE => f64::INFINITY,
            bandwidth => bandwidth.0 as f64,
        }
    }

    /// Bandwidth of the link.
    pub fn rate(&self, link: LinkId) -> Bandwidth {
        self.fabric.topology.link(link).bandwidth
    }
}

/// Busiest links, at most `most`: by the time that their bytes take at their `rate`, then busy time, bytes, and
/// number.
pub fn busiest(totals: &[LinkUse], rate: impl Fn(LinkId) -> Bandwidth, most: usize) -> Vec<LinkUse> {
    let mut used: Vec<_> = totals.iter().filter(|link| link.transfers > 0).copied().collect();
    used.sort_by_cached_key(|link| {
        let full = rate(link.link).transfer(link.bytes);
        (std::cmp::Reverse((full, link.busy, link.bytes)), link.link)
    });
    used.truncate(most);
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Bytes;

    /// Periods stay bounded in any run, and no byte is lost.
    #[test]
    fn periods_double_and_keep_every_byte() {
        let mut over_time = OverTime { period: FIRST_PERIOD, periods: Vec::new(), by_class: false, looks: 0 };
        let mut total = 0;
        for step in 0..2_000u64 {
            over_time.close(vec![(step as u32 % 3, step)]);
            total += step;
            assert!(over_time.periods.len() <= MOST_PERIODS);
        }
        let kept: u64 = over_time.periods.iter().flatten().map(|cell| cell.1).sum();
        assert_eq!(kept, total);
        assert_eq!(merged(vec![(2, 1), (1, 5), (2, 3)]), [(1, 5), (2, 4)]);
    }

    /// Periods are fewer where samples are costly, and end at multiples of their length.
    #[test]
    fn costly_samples_are_fewer() {
        let mut over_time = OverTime { period: FIRST_PERIOD, periods: Vec::new(), by_class: false, looks: 0 };
        let (mut now, mut total) = (0, 0);
        for step in 0..400u64 {
            now += over_time.period.0;
            over_time.looks += if step < 100 { 0 } else { 50_000 };
            over_time.close(vec![(0, step)]);
            total += step;
            assert_eq!(now, over_time.period.0 * over_time.periods.len() as u64);
        }
        assert!(over_time.periods.len() < FEWER_PERIODS);
        assert_eq!(over_time.periods.iter().flatten().map(|cell| cell.1).sum::<u64>(), total);
    }

    #[test]
    fn the_busiest_link_is_first() {
        let link = |number, busy, bytes| LinkUse {
            link: LinkId(number),
            bytes: Bytes(bytes),
            transfers: 1,
            busy: Duration(busy),
        };
        let links = [link(0, 1, 9), link(1, 5, 1), link(2, 5, 2)];
        let order = |rate: fn(LinkId) -> Bandwidth| -> Vec<u32> {
            busiest(&links, rate, 2).iter().map(|used| used.link.0).collect()
        };
        assert_eq!(order(|_| Bandwidth::INFINITE), [2, 1]);
        assert_eq!(order(|link| Bandwidth(if link.0 == 1 { 1 } else { 9 })), [1, 0]);
    }
}
