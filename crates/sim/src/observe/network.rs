//! Views of the network: of what it has done, which it reports now and then, and of its packets, each as it goes.

use engine::{Observer, Time};
use network::message::LinkUse;
use network::statistics::Options;
use network::{Fabric, Network, NetworkObserver, NetworkRecord, PacketEvents, Part, observe};

use super::{Build, Detail, LinkNames, Links, OBSERVERS, Summary, restored, saved};
use crate::table::Table;

/// Network that is observed, and what is asked of it.
pub struct NetworkScope<'a> {
    /// Hosts, routers, links and routes.
    pub fabric: &'a Fabric,
    /// Part of them that is observed.
    pub part: &'a Part,
    /// Statistics over time that the platform file asks for.
    pub statistics: Option<Options>,
    /// Amount of detail that the run keeps.
    pub detail: Detail,
}

/// A view of the packets of a network, or of those in one domain.
///
/// A network without packets has none: a run that asks for one on it is refused.
pub trait PacketView: NetworkObserver {
    /// Ends at `now`; nothing is recorded after that.
    fn finish(&mut self, now: Time);

    /// Tables at the end. Their order of rows must not depend on how the run was cut. `totals` is the use of links.
    fn tables(&self, names: &LinkNames, totals: &[LinkUse]) -> Vec<Table>;

    /// Adds its part to `report.json`.
    fn summarize(&self, names: &LinkNames, summary: &mut Summary) {
        let _ = (names, summary);
    }

    /// Adds the contents of a view of the same kind in another domain of the run, which has ended at the same time.
    fn absorb(&mut self, other: Box<dyn PacketView>);

    /// Serialised state, for another process, after the end.
    fn save(&self) -> Vec<u8>;

    /// View of the same kind with the state that another process has saved.
    fn restored(&self, saved: &[u8]) -> Box<dyn PacketView>;
}

/// Makes a view of the network, if the scope includes it.
pub type BuildPacketView = fn(&NetworkScope) -> Option<Box<dyn PacketView>>;

/// All views of packets that a run asks for, as the one observer that a network is given.
#[derive(Default)]
struct PacketViews(Vec<Box<dyn PacketView>>);

impl Observer<NetworkRecord<'_>> for PacketViews {
    fn record(&mut self, now: Time, record: &NetworkRecord) {
        self.0.iter_mut().for_each(|view| view.record(now, record));
    }
}

impl NetworkObserver for PacketViews {
    fn prefetch(&self, from: observe::LinkChannel, to: observe::LinkChannel) {
        self.0.iter().for_each(|view| view.prefetch(from, to));
    }
}

/// All views of the network of one run.
pub struct NetworkViews {
    /// Use of links.
    pub links: Links,
    packets: PacketViews,
}

impl NetworkViews {
    /// Views in `scope`.
    pub fn new(scope: &NetworkScope) -> NetworkViews {
        let packets = OBSERVERS.iter().filter_map(|entry| match entry.build {
            Build::Packets(build) => build(scope),
            Build::Ranks(_) => None,
        });
        let links = Links::new(scope.fabric.topology.links(), scope.detail != Detail::Screen);
        NetworkViews { links, packets: PacketViews(packets.collect()) }
    }

    /// True if the packets of the network are observed.
    pub fn observe_packets(&self) -> bool {
        !self.packets.0.is_empty()
    }

    /// Lets the views observe `packets`, until [`NetworkViews::finish`].
    pub fn observe(&mut self, packets: &mut dyn PacketEvents) {
        packets.observe(Box::new(std::mem::take(&mut self.packets)));
    }

    /// Takes the views of packets back from `network` at `now`, the end of the run.
    pub fn finish(&mut self, now: Time, network: &mut dyn Network) {
        if let Some(packets) = network.as_packets()
            && let Some(observer) = packets.take_observer()
        {
            self.packets = *observe::downcast::<PacketViews>(observer);
        }
        self.packets.0.iter_mut().for_each(|view| view.finish(now));
    }

    /// Adds parts of `report.json`.
    pub fn summarize(&self, names: &LinkNames, summary: &mut Summary) {
        self.packets.0.iter().for_each(|view| view.summarize(names, summary));
    }

    /// Tables of all views.
    pub fn tables(&self, names: &LinkNames) -> Vec<Table> {
        let mut tables = self.links.tables(names);
        tables.extend(self.packets.0.iter().flat_map(|view| view.tables(names, self.links.totals())));
        tables
    }

    /// Adds the views of another domain, which has ended at the same time.
    pub fn and(mut self, other: NetworkViews) -> NetworkViews {
        for (view, other) in self.packets.0.iter_mut().zip(other.packets.0) {
            view.absorb(other);
        }
        NetworkViews { links: self.links.and(other.links), packets: self.packets }
    }

    /// Serialised state of all views, for another process.
    pub fn save(&self) -> Vec<Vec<u8>> {
        let packets = self.packets.0.iter().map(|view| view.save());
        std::iter::once(saved(&self.links)).chain(packets).collect()
    }

    /// Views of the same kinds with the state that another process has saved.
    pub fn restored(&self, saved: &[Vec<u8>]) -> NetworkViews {
        let packets = self.packets.0.iter().zip(&saved[1..]).map(|(view, saved)| view.restored(saved));
        NetworkViews { links: restored(&saved[0]), packets: PacketViews(packets.collect()) }
    }
}
