//! Messages between ranks of one host, which go through the node's memory and cross no link.

use std::sync::Arc;

use engine::{Observer, Time};
use mpi::Record;
use network::Endpoint;
use serde::{Deserialize, Serialize};

use super::{Interest, Summary, View, of_kind, restored, saved};
use crate::table::{Column, Table};

const MOST_BUSIEST: usize = 10;

/// Messages and bytes within each host.
#[derive(Debug)]
pub struct NodeMemory {
    placement: Arc<[Endpoint]>,
    /// `[messages, bytes]` by host, up to the last host that has any.
    hosts: Vec<[u64; 2]>,
}

/// Summary of the traffic within nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NodeMemoryReport {
    /// Hosts whose ranks sent messages to each other.
    pub hosts: u64,
    /// Messages between ranks of one host.
    pub messages: u64,
    /// Payload of those messages \[bytes\].
    pub bytes: u64,
    /// Hosts with the most bytes, in descending order.
    pub busiest: Vec<BusyMemory>,
}

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

impl NodeMemory {
    /// Makes empty totals of ranks in these places.
    pub fn new(placement: &Arc<[Endpoint]>) -> NodeMemory {
        NodeMemory { placement: placement.clone(), hosts: Vec::new() }
    }

    fn add(&mut self, host: usize, messages: u64, bytes: u64) {
        if host >= self.hosts.len() {
            self.hosts.resize(host + 1, [0; 2]);
        }
        let cell = &mut self.hosts[host];
        cell[0] += messages;
        cell[1] = cell[1].saturating_add(bytes);
    }

    fn used(&self) -> Vec<BusyMemory> {
        let busy = |(host, cell): (u32, &[u64; 2])| {
            (cell[0] > 0).then_some(BusyMemory { host, messages: cell[0], bytes: cell[1] })
        };
        (0..).zip(&self.hosts).filter_map(busy).collect()
    }
}

impl Observer<Record> for NodeMemory {
    fn record(&mut self, _now: Time, record: &Record) {
        if let Record::Message { from, to, bytes, .. } = record {
            let host = self.placement[to.0 as usize].host;
            if self.placement[from.0 as usize].host == host {
                self.add(host.0 as usize, 1, bytes.0);
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
        other.used().iter().for_each(|busy| self.add(busy.host as usize, busy.messages, busy.bytes));
    }

    fn save(&self) -> Vec<u8> {
        saved(&self.hosts)
    }

    fn restore(&mut self, saved: &[u8]) {
        self.hosts = restored(saved);
    }

    fn tables(&self) -> Vec<Table> {
        let used = self.used();
        if used.is_empty() {
            return Vec::new();
        }
        vec![Table::new(
            "node_memory",
            vec![
                ("host", Column::U32(used.iter().map(|busy| busy.host).collect())),
                ("messages", Column::U64(used.iter().map(|busy| busy.messages).collect())),
                ("bytes", Column::U64(used.iter().map(|busy| busy.bytes).collect())),
            ],
        )]
    }

    fn summarize(&self, summary: &mut Summary) {
        let mut busiest = self.used();
        summary.node_memory = NodeMemoryReport {
            hosts: busiest.len() as u64,
            messages: busiest.iter().map(|busy| busy.messages).sum(),
            bytes: busiest.iter().fold(0, |sum: u64, busy| sum.saturating_add(busy.bytes)),
            busiest: Vec::new(),
        };
        busiest.sort_by_key(|busy| (std::cmp::Reverse(busy.bytes), busy.host));
        busiest.truncate(MOST_BUSIEST);
        summary.node_memory.busiest = busiest;
    }
}
