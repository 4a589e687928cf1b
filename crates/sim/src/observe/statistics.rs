//! Statistics over time as tables; [`network::statistics`] explains their columns.

use engine::{Duration, Observer, Time};
use network::message::LinkUse;
use network::observe::{LinkChannel, downcast};
use network::statistics::{Options, Places, Regions, Row, Statistics, StatisticsObserver, Traffic};
use network::{LinkId, NetworkObserver, NetworkRecord, Node, RouterId};
use serde::Serialize;

use super::links::LinkNames;
use super::network::{NetworkScope, PacketView};
use super::{Summary, restored, saved};
use crate::table::{Column, Table};

/// Summary of statistics over time.
#[derive(Debug, Clone, Serialize)]
pub struct StatisticsReport {
    /// Length of a period of the tables by class and of latency \[s\].
    pub period_s: f64,
    /// Length of a period of the table by region \[s\].
    pub region_period_s: f64,
    /// Classes of links, in order.
    pub classes: Vec<String>,
    /// Length of a period of the table by place, if there is one \[s\].
    pub place_period_s: Option<f64>,
    /// Number of virtual channels of a link.
    pub channels: u32,
    /// Kind of place for which traffic is kept: "channels", "links", "routers" or "none".
    pub places: &'static str,
    /// Residence in a buffer beyond which a packet is slow \[s\], if any.
    pub residence_s: Option<f64>,
    /// Number of packets that stayed longer.
    pub slow_packets: u64,
    /// Messages between hosts.
    pub messages: u64,
    /// Median time from injection to delivery \[s\].
    pub latency_p50_s: f64,
    /// 90th percentile of the time from injection to delivery \[s\].
    pub latency_p90_s: f64,
    /// 99th percentile of the time from injection to delivery \[s\].
    pub latency_p99_s: f64,
    /// Longest time from injection to delivery \[s\].
    pub latency_max_s: f64,
}

impl StatisticsReport {
    /// Summarises these statistics.
    pub fn of(statistics: &Statistics, names: &LinkNames) -> StatisticsReport {
        let latencies = statistics.latencies();
        let threshold = statistics.slow.threshold();
        StatisticsReport {
            period_s: statistics.classes.length().seconds(),
            region_period_s: statistics.regions.length().seconds(),
            classes: names.classes.clone(),
            place_period_s: statistics.by_place.as_ref().map(|places| places.length().seconds()),
            channels: statistics.channels,
            places: match statistics.places {
                None => "none",
                Some(Places::Channels) => "channels",
                Some(Places::Links) => "links",
                Some(Places::Routers) => "routers",
            },
            residence_s: (threshold < Duration(u64::MAX)).then(|| threshold.seconds()),
            slow_packets: statistics.slow.count(),
            messages: latencies.count,
            latency_p50_s: latencies.quantile(0.5).seconds(),
            latency_p90_s: latencies.quantile(0.9).seconds(),
            latency_p99_s: latencies.quantile(0.99).seconds(),
            latency_max_s: latencies.max.seconds(),
        }
    }
}

/// Statistics of the packets of a network: being observed, and kept at the end of the run.
pub struct StatisticsView {
    observer: Option<Box<StatisticsObserver>>,
    kept: Option<Statistics>,
}

impl StatisticsView {
    /// View of the network in `scope`.
    pub fn new(options: &Options, scope: &NetworkScope) -> StatisticsView {
        let observer = StatisticsObserver::new(options, scope.fabric, scope.part);
        StatisticsView { observer: Some(Box::new(observer)), kept: None }
    }

    fn kept(&self) -> &Statistics {
        self.kept.as_ref().expect("statistics are read at the end of the run")
    }
}

impl Observer<NetworkRecord<'_>> for StatisticsView {
    fn record(&mut self, now: Time, record: &NetworkRecord) {
        if let Some(observer) = &mut self.observer {
            observer.record(now, record);
        }
    }
}

impl NetworkObserver for StatisticsView {
    fn prefetch(&self, from: LinkChannel, to: LinkChannel) {
        if let Some(observer) = &self.observer {
            observer.prefetch(from, to);
        }
    }
}

impl PacketView for StatisticsView {
    fn finish(&mut self, now: Time) {
        if let Some(observer) = self.observer.take() {
            self.kept = Some(observer.finish(now));
        }
    }

    fn tables(&self, names: &LinkNames, totals: &[LinkUse]) -> Vec<Table> {
        let mut used = vec![false; names.fabric.topology.links() as usize];
        totals.iter().filter(|link| link.transfers > 0).for_each(|link| used[link.link.0 as usize] = true);
        tables(self.kept(), names, &used)
    }

    fn summarize(&self, names: &LinkNames, summary: &mut Summary) {
        summary.statistics = Some(StatisticsReport::of(self.kept(), names));
    }

    fn absorb(&mut self, other: Box<dyn PacketView>) {
        let other: Box<StatisticsView> = downcast(other);
        self.kept = self.kept.take().zip(other.kept).map(|(kept, other)| kept.and(other));
    }

    fn save(&self) -> Vec<u8> {
        saved(self.kept())
    }

    fn restored(&self, saved: &[u8]) -> Box<dyn PacketView> {
        Box::new(StatisticsView { observer: None, kept: Some(restored(saved)) })
    }
}

/// Capacity of a group of links. Means are over the links that the run used, so that idle ones do not dilute them.
#[derive(Debug, Default, Clone, Copy)]
struct Extent {
    links: u32,
    used: u32,
    /// Bandwidth of the used links \[B/s\]; infinite if one of them is.
    bandwidth: f64,
    /// Number of buffers at the ends of the used links, and at their starts.
    buffers: u32,
}

/// All tables. `used` is true for each link that the run used.
fn tables(statistics: &Statistics, names: &LinkNames, used: &[bool]) -> Vec<Table> {
    let mut tables = vec![class_periods(statistics, names, used), region_periods(statistics, names, used)];
    tables.extend(link_periods(statistics, names));
    tables.extend(router_periods(statistics, names, used));
    tables.push(latency_periods(statistics));
    tables.push(network_latency(statistics));
    if statistics.slow.threshold() < Duration(u64::MAX) {
        tables.push(slow_packets(statistics, names));
    }
    tables
}

/// Number of buffers of each virtual channel of `link` at its start, where outputs of routers have buffers, and at its end.
fn buffers(statistics: &Statistics, names: &LinkNames, link: LinkId) -> [u32; 2] {
    let link = names.fabric.topology.link(link);
    let has_output = statistics.output_buffers && matches!(link.from, Node::Router(_));
    [u32::from(has_output), u32::from(matches!(link.to, Node::Router(_)))]
}

/// Extents of `groups` groups; `of` gives the group that a link sends in, and the group that the buffers at its end are in.
fn extents(
    statistics: &Statistics,
    names: &LinkNames,
    used: &[bool],
    groups: u32,
    of: impl Fn(LinkId) -> [u32; 2],
) -> Vec<Extent> {
    let topology = &*names.fabric.topology;
    let mut extents = vec![Extent::default(); groups as usize];
    for id in (0..topology.links()).map(LinkId) {
        let [sent, held] = of(id).map(|group| group as usize);
        extents[sent].links += 1;
        if !used[id.0 as usize] {
            continue;
        }
        extents[sent].used += 1;
        extents[sent].bandwidth += names.bandwidth(id);
        let [at_start, at_end] = buffers(statistics, names, id);
        extents[sent].buffers += at_start;
        extents[held].buffers += at_end;
    }
    extents
}

/// Columns that identify the groups of rows.
type Keys = Vec<(&'static str, Column)>;

/// Table of traffic: its periods, the `keys` of its rows, and the counters.
fn periods(
    name: &'static str,
    (traffic, until): (&Traffic, Time),
    rows: &[Row],
    keys: Keys,
    extent: impl Fn(&Row) -> Extent,
) -> Table {
    let spans: Vec<(f64, f64)> = rows.iter().map(|row| span(row.period, traffic.length(), until)).collect();
    let numbers = |of: &dyn Fn(&Row, &Extent, f64) -> f64| {
        let each = rows.iter().zip(&spans).map(|(row, (begin, end))| of(row, &extent(row), end - begin));
        Column::F64(each.collect())
    };
    let counts = |of: fn(&Row) -> u64| Column::U64(rows.iter().map(of).collect());
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let mut columns = vec![
        ("begin_s", Column::F64(spans.iter().map(|span| span.0).collect())),
        ("end_s", Column::F64(spans.iter().map(|span| span.1).collect())),
    ];
    columns.extend(keys);
    columns.extend([
        ("bytes", counts(|row| row.sent.bytes)),
        ("payload_bytes", counts(|row| row.sent.payload)),
        ("packets", counts(|row| row.sent.packets)),
        (
            "throughput_Bps",
            numbers(&|row, extent, length| ratio(row.sent.bytes as f64, length * f64::from(extent.used))),
        ),
        (
            "efficiency",
            numbers(&|row, extent, length| ratio(row.sent.payload as f64, length * extent.bandwidth)),
        ),
        ("busy_s", numbers(&|row, _, _| seconds(row.sent.busy_ps))),
        ("waiting_mean_s", numbers(&|row, _, _| ratio(seconds(row.sent.waited_ps), row.sent.packets as f64))),
        ("waiting_max_s", numbers(&|row, _, _| seconds(row.sent.waited_max_ps.into()))),
        ("stall_s", numbers(&|row, _, _| seconds(row.sent.stalled_ps))),
        (
            "occupancy_mean_B",
            numbers(&|row, extent, length| {
                ratio(row.held.byte_ps as f64 * 1e-12, length * f64::from(extent.buffers))
            }),
        ),
        ("occupancy_max_B", counts(|row| row.held.max)),
        ("slow_packets", counts(|row| row.held.slow)),
    ]);
    Table::new(name, columns)
}

fn seconds(ps: u128) -> f64 {
    ps as f64 * 1e-12
}

/// Begin and end of a period \[s\]; the last ends with the run.
fn span(period: usize, length: Duration, until: Time) -> (f64, f64) {
    let begin = period as u64 * length.0;
    let end = begin + length.0;
    let end = if (begin..end).contains(&until.0) && until.0 > begin { until.0 } else { end };
    (Duration(begin).seconds(), Duration(end).seconds())
}

fn class_periods(statistics: &Statistics, names: &LinkNames, used: &[bool]) -> Table {
    let (topology, channels) = (&*names.fabric.topology, statistics.channels);
    let classes = names.classes.len() as u32;
    let extents = extents(statistics, names, used, classes, |link| [topology.link(link).class.into(); 2]);
    let rows: Vec<Row> = statistics.classes.rows().collect();
    let class = |row: &Row| (row.group / channels) as usize;
    let keys = vec![
        ("class", Column::Text(rows.iter().map(|row| names.classes[class(row)].clone()).collect())),
        ("channel", Column::U32(rows.iter().map(|row| row.group % channels).collect())),
        ("links", Column::U32(rows.iter().map(|row| extents[class(row)].links).collect())),
        ("links_used", Column::U32(rows.iter().map(|row| extents[class(row)].used).collect())),
    ];
    let traffic = (&statistics.classes, statistics.until);
    periods("class_periods", traffic, &rows, keys, |row| extents[class(row)])
}

fn region_periods(statistics: &Statistics, names: &LinkNames, used: &[bool]) -> Table {
    let topology = &*names.fabric.topology;
    let regions = Regions::of(topology, statistics.rows);
    let mut extents =
        extents(statistics, names, used, regions.count(), |link| [regions.of_link(topology, link); 2]);
    extents.iter_mut().for_each(|extent| extent.buffers *= statistics.channels);
    let rows: Vec<Row> = statistics.regions.rows().collect();
    let each: Vec<_> = (0..regions.count()).map(|number| regions.get(number)).collect();
    let region = |row: &Row| &each[row.group as usize];
    let class = |row: &Row| names.classes[usize::from(region(row).class)].clone();
    let keys = vec![
        ("class", Column::Text(rows.iter().map(class).collect())),
        ("along", Column::Text(rows.iter().map(|row| region(row).positions_of.clone()).collect())),
        ("first", Column::U32(rows.iter().map(|row| region(row).first).collect())),
        ("last", Column::U32(rows.iter().map(|row| region(row).last).collect())),
        ("links", Column::U32(rows.iter().map(|row| extents[row.group as usize].links).collect())),
        ("links_used", Column::U32(rows.iter().map(|row| extents[row.group as usize].used).collect())),
    ];
    let traffic = (&statistics.regions, statistics.until);
    periods("region_periods", traffic, &rows, keys, |row| extents[row.group as usize])
}

fn link_periods(statistics: &Statistics, names: &LinkNames) -> Option<Table> {
    let traffic = statistics.by_place.as_ref()?;
    let channels = match statistics.places? {
        Places::Channels => statistics.channels,
        Places::Links => 1,
        Places::Routers => return None,
    };
    let rows: Vec<Row> = traffic.rows().collect();
    let link = |row: &Row| LinkId(row.group / channels);
    let mut keys = vec![
        ("link", Column::U32(rows.iter().map(|row| link(row).0).collect())),
        ("class", Column::Text(rows.iter().map(|row| names.class(link(row))).collect())),
    ];
    if statistics.places == Some(Places::Channels) {
        keys.push(("channel", Column::U32(rows.iter().map(|row| row.group % channels).collect())));
    }
    // A link without separate virtual channels has a buffer for each of them.
    let each = if channels == 1 { statistics.channels } else { 1 };
    let extent = |row: &Row| {
        let buffers = buffers(statistics, names, link(row)).into_iter().sum::<u32>() * each;
        Extent { links: 1, used: 1, bandwidth: names.bandwidth(link(row)), buffers }
    };
    Some(periods("link_periods", (traffic, statistics.until), &rows, keys, extent))
}

fn router_periods(statistics: &Statistics, names: &LinkNames, used: &[bool]) -> Option<Table> {
    let topology = &*names.fabric.topology;
    let kept = statistics.by_place.as_ref()?;
    let channels = match statistics.places? {
        Places::Channels => Some(statistics.channels),
        Places::Links => Some(1),
        Places::Routers => None,
    };
    let ends = |link: LinkId| topology.routers_of(link).map(|router| router.0);
    let regrouped = channels.map(|channels| {
        let end = |number: usize| move |group: u32| Some(ends(LinkId(group / channels))[number]);
        kept.regrouped((0..topology.routers()).collect(), end(0), end(1))
    });
    let traffic = regrouped.as_ref().unwrap_or(kept);
    let mut extents = extents(statistics, names, used, topology.routers(), ends);
    extents.iter_mut().for_each(|extent| extent.buffers *= statistics.channels);
    let rows: Vec<Row> = traffic.rows().collect();
    let name = |row: &Row| topology.router_name(RouterId(row.group));
    let keys = vec![
        ("router", Column::U32(rows.iter().map(|row| row.group).collect())),
        ("name", Column::Text(rows.iter().map(name).collect())),
        ("links", Column::U32(rows.iter().map(|row| extents[row.group as usize].links).collect())),
        ("links_used", Column::U32(rows.iter().map(|row| extents[row.group as usize].used).collect())),
    ];
    let extent = |row: &Row| extents[row.group as usize];
    Some(periods("router_periods", (traffic, statistics.until), &rows, keys, extent))
}

fn latency_periods(statistics: &Statistics) -> Table {
    let length = statistics.latency.length();
    let kept = statistics.latency.kept().iter().enumerate();
    let rows: Vec<_> = kept.filter(|(_, latencies)| latencies.count > 0).collect();
    let times = |of: &dyn Fn(usize, &network::statistics::Latencies) -> f64| {
        Column::F64(rows.iter().map(|(period, latencies)| of(*period, latencies)).collect())
    };
    let quantile = |share: f64| times(&|_, latencies| latencies.quantile(share).seconds());
    Table::new(
        "latency_periods",
        vec![
            ("begin_s", times(&|period, _| span(period, length, statistics.until).0)),
            ("end_s", times(&|period, _| span(period, length, statistics.until).1)),
            ("messages", Column::U64(rows.iter().map(|(_, latencies)| latencies.count).collect())),
            ("mean_s", times(&|_, latencies| seconds(latencies.total_ps) / latencies.count as f64)),
            ("p50_s", quantile(0.5)),
            ("p90_s", quantile(0.9)),
            ("p99_s", quantile(0.99)),
            ("max_s", times(&|_, latencies| latencies.max.seconds())),
        ],
    )
}

fn network_latency(statistics: &Statistics) -> Table {
    Table::new("network_latency", super::latency::columns(&statistics.latencies()))
}

fn slow_packets(statistics: &Statistics, names: &LinkNames) -> Table {
    let packets = statistics.slow.slowest();
    let times =
        |of: fn(&network::statistics::SlowPacket) -> f64| Column::F64(packets.iter().map(of).collect());
    let numbers =
        |of: fn(&network::statistics::SlowPacket) -> u32| Column::U32(packets.iter().map(of).collect());
    Table::new(
        "slow_packets",
        vec![
            ("residence_s", times(|packet| packet.residence.seconds())),
            ("waited_s", times(|packet| packet.waited.seconds())),
            ("ready_s", times(|packet| packet.ready.since(Time::ZERO).seconds())),
            ("router", Column::Text(packets.iter().map(|packet| names.ends(packet.link).1).collect())),
            ("link", numbers(|packet| packet.link.0)),
            ("channel", numbers(|packet| packet.channel.into())),
            ("next_link", numbers(|packet| packet.next.0)),
            ("next_class", Column::Text(packets.iter().map(|packet| names.class(packet.next)).collect())),
            ("source_host", numbers(|packet| packet.from.0)),
            ("destination_host", numbers(|packet| packet.to.0)),
            ("packet", numbers(|packet| packet.number)),
        ],
    )
}
