//! Messages between ranks of one host, which go through the node's memory and cross no link.

use std::sync::Arc;

use engine::{Observer, Time};
use mpi::Record;
use network::{Endpoint, HostParameters};
use serde::{Deserialize, Serialize};

use super::{Interest, Summary, View, of_kind, restored, saved};
use crate::table::{Column, Table};

const MOST_BUSIEST: usize = 10;

/// Messages and bytes within each host.
#[derive(Debug)]
pub struct NodeMemory {
    placement: Arc<[Endpoint]>,
    host: Arc<HostParameters>,
    /// `[messages, bytes]` by host and, within it, by memory: its own, then one for each group of each level. Up to the
    /// last that has any.
    memories: Vec<[u64; 2]>,
    /// `[messages, bytes]` between all ranks, on one host or on two.
    all: [u64; 2],
}

/// Summary of the traffic within nodes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NodeMemoryReport {
    /// Hosts whose ranks sent messages to each other.
    pub hosts: u64,
    /// Messages between ranks of one host.
    pub messages: u64,
    /// Payload of those messages \[bytes\].
    pub bytes: u64,
    /// Share of these messages among all that were received \[0..1\].
    pub messages_share: f64,
    /// Share of their payload in that of all messages \[0..1\].
    pub bytes_share: f64,
    /// Hosts with the most bytes, in descending order.
    pub busiest: Vec<BusyMemory>,
    /// Traffic by level, from the innermost outwards, and last of those messages that no level holds; empty where hosts
    /// have no levels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<LevelTraffic>,
    /// For each kind of memory, in the order of [`network::Memory::shared`], the one with the most bytes.
    #[serde(skip)]
    pub fullest: Vec<BusyMemory>,
}

/// Messages of one level within hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LevelTraffic {
    /// Name of the level, or `host`.
    pub level: String,
    /// Messages of the level.
    pub messages: u64,
    /// Payload of these messages \[bytes\].
    pub bytes: u64,
}

/// Name of what no level holds.
const HOST: &str = "host";

/// Messages within one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyMemory {
    /// Host.
    pub host: u32,
    /// Messages between its ranks.
    pub messages: u64,
    /// Payload of these messages \[bytes\].
    pub bytes: u64,
}

/// A memory of a host that messages have gone through.
struct UsedMemory {
    host: u32,
    /// Kind, in the order of [`network::Memory::shared`].
    kind: usize,
    /// Number among those of its kind in the host.
    group: u32,
    messages: u64,
    bytes: u64,
}

impl NodeMemory {
    /// Makes empty totals of ranks in these places, on hosts like `host`.
    pub fn new(placement: &Arc<[Endpoint]>, host: &Arc<HostParameters>) -> NodeMemory {
        NodeMemory { placement: placement.clone(), host: host.clone(), memories: Vec::new(), all: [0; 2] }
    }

    fn add_to_memory(&mut self, memory: usize, messages: u64, bytes: u64) {
        if memory >= self.memories.len() {
            self.memories.resize(memory + 1, [0; 2]);
        }
        add(&mut self.memories[memory], messages, bytes);
    }

    /// Names of the kinds of memories in the order of [`network::Memory::shared`].
    fn names(&self) -> Vec<String> {
        let levels = self.host.memory.levels().iter().map(|level| level.name.clone());
        std::iter::once(HOST.to_string()).chain(levels).collect()
    }

    /// Memories that have been used, by host, kind and group.
    fn used(&self) -> Vec<UsedMemory> {
        let each = self.host.memory.groups() as usize;
        let kinds = self.host.memory.shared().enumerate();
        let places: Vec<_> =
            kinds.flat_map(|(kind, shared)| (0..shared.groups).map(move |group| (kind, group))).collect();
        let used = self.memories.iter().enumerate().filter(|(_, cell)| cell[0] > 0);
        used.map(|(at, [messages, bytes])| {
            let (kind, group) = places[at % each];
            UsedMemory { host: (at / each) as u32, kind, group, messages: *messages, bytes: *bytes }
        })
        .collect()
    }

    fn by_host(&self) -> Vec<BusyMemory> {
        let mut hosts: Vec<BusyMemory> = Vec::new();
        for UsedMemory { host, messages, bytes, .. } in self.used() {
            match hosts.last_mut().filter(|last| last.host == host) {
                Some(last) => {
                    last.messages += messages;
                    last.bytes = last.bytes.saturating_add(bytes);
                }
                None => hosts.push(BusyMemory { host, messages, bytes }),
            }
        }
        hosts
    }

    /// Traffic by level, from the innermost outwards; empty without levels.
    fn by_level(&self) -> Vec<LevelTraffic> {
        let mut levels: Vec<LevelTraffic> =
            self.names().into_iter().map(|level| LevelTraffic { level, messages: 0, bytes: 0 }).collect();
        if levels.len() == 1 {
            return Vec::new();
        }
        for UsedMemory { kind, messages, bytes, .. } in self.used() {
            levels[kind].messages += messages;
            levels[kind].bytes = levels[kind].bytes.saturating_add(bytes);
        }
        levels.rotate_left(1);
        levels
    }

    /// For each kind, the memory with the most bytes.
    fn fullest(&self) -> Vec<BusyMemory> {
        let nothing = BusyMemory { host: 0, messages: 0, bytes: 0 };
        let mut fullest = vec![nothing; self.names().len()];
        for UsedMemory { host, kind, messages, bytes, .. } in self.used() {
            if bytes > fullest[kind].bytes {
                fullest[kind] = BusyMemory { host, messages, bytes };
            }
        }
        fullest
    }
}

/// Adds messages and bytes to `cell`.
fn add(cell: &mut [u64; 2], messages: u64, bytes: u64) {
    cell[0] += messages;
    cell[1] = cell[1].saturating_add(bytes);
}

impl Observer<Record> for NodeMemory {
    fn record(&mut self, _now: Time, record: &Record) {
        if let Record::Message { from, to, bytes, .. } = record {
            add(&mut self.all, 1, bytes.0);
            let [from, to] = [from, to].map(|rank| self.placement[rank.0 as usize]);
            if from.host == to.host {
                let memory = &self.host.memory;
                let regime = memory.regime_between(from.process, to.process, *bytes) as u8;
                let at = to.host.0 * memory.groups() + memory.group_of(regime, from.process);
                self.add_to_memory(at as usize, 1, bytes.0);
            }
        }
    }
}

impl View for NodeMemory {
    fn interest(&self) -> Interest {
        Interest::Messages
    }

    fn absorb(&mut self, other: Box<dyn View>) {
        let other: NodeMemory = of_kind(other);
        add(&mut self.all, other.all[0], other.all[1]);
        for (at, [messages, bytes]) in other.memories.iter().enumerate().filter(|(_, cell)| cell[0] > 0) {
            self.add_to_memory(at, *messages, *bytes);
        }
    }

    fn save(&self) -> Vec<u8> {
        saved(&(&self.memories, self.all))
    }

    fn restore(&mut self, saved: &[u8]) {
        (self.memories, self.all) = restored(saved);
    }

    fn tables(&self) -> Vec<Table> {
        let hosts = self.by_host();
        if hosts.is_empty() {
            return Vec::new();
        }
        let mut tables = vec![Table::new(
            "node_memory",
            vec![
                ("host", Column::U32(hosts.iter().map(|busy| busy.host).collect())),
                ("messages", Column::U64(hosts.iter().map(|busy| busy.messages).collect())),
                ("bytes", Column::U64(hosts.iter().map(|busy| busy.bytes).collect())),
            ],
        )];
        if !self.host.memory.levels().is_empty() {
            let (used, names) = (self.used(), self.names());
            let columns = vec![
                ("host", Column::U32(used.iter().map(|one| one.host).collect())),
                ("level", Column::Text(used.iter().map(|one| names[one.kind].clone()).collect())),
                ("group", Column::U32(used.iter().map(|one| one.group).collect())),
                ("messages", Column::U64(used.iter().map(|one| one.messages).collect())),
                ("bytes", Column::U64(used.iter().map(|one| one.bytes).collect())),
            ];
            tables.push(Table::new("memory_levels", columns));
        }
        tables
    }

    fn summarize(&self, summary: &mut Summary) {
        let mut busiest = self.by_host();
        let messages = busiest.iter().map(|busy| busy.messages).sum();
        let bytes = busiest.iter().fold(0, |sum: u64, busy| sum.saturating_add(busy.bytes));
        let share = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
        summary.node_memory = NodeMemoryReport {
            hosts: busiest.len() as u64,
            messages,
            bytes,
            messages_share: share(messages, self.all[0]),
            bytes_share: share(bytes, self.all[1]),
            busiest: Vec::new(),
            levels: self.by_level(),
            fullest: self.fullest(),
        };
        busiest.sort_by_key(|busy| (std::cmp::Reverse(busy.bytes), busy.host));
        busiest.truncate(MOST_BUSIEST);
        summary.node_memory.busiest = busiest;
    }
}
