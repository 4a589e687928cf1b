//! Message latency: from the sender's call to the message in the receiver's buffer.

use engine::{Duration, Observer, Time};
use mpi::Record;
use network::statistics::Latencies;
use serde::{Deserialize, Serialize};

use super::{Interest, Summary, View, of_kind, restored, saved};
use crate::table::{Column, Table};

/// Distribution of message latency.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Latency(Latencies);

/// Summary of message latency.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LatencyReport {
    /// Messages received, those of collectives included.
    pub messages: u64,
    /// Mean latency \[s\].
    pub mean_s: f64,
    /// Median \[s\].
    pub p50_s: f64,
    /// 90th percentile \[s\].
    pub p90_s: f64,
    /// 99th percentile \[s\].
    pub p99_s: f64,
    /// Longest latency \[s\].
    pub max_s: f64,
}

impl Observer<Record> for Latency {
    fn record(&mut self, _now: Time, record: &Record) {
        if let Record::Message { sent, received, .. } = record {
            self.0.note(received.since(*sent));
        }
    }
}

/// Columns `low_s`, `high_s`, `count` of a histogram; no bin ends above the longest duration.
pub(super) fn columns(latencies: &Latencies) -> Vec<(&'static str, Column)> {
    let bins: Vec<_> = latencies.bins().collect();
    let high = |high: Duration| high.min(latencies.max).seconds();
    vec![
        ("low_s", Column::F64(bins.iter().map(|bin| bin.0.seconds()).collect())),
        ("high_s", Column::F64(bins.iter().map(|bin| high(bin.1)).collect())),
        ("count", Column::U64(bins.iter().map(|bin| bin.2).collect())),
    ]
}

impl View for Latency {
    fn interest(&self) -> Interest {
        Interest::Messages
    }

    fn absorb(&mut self, other: Box<dyn View>) {
        let other: Latency = of_kind(other);
        self.0.add(&other.0);
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, saved: &[u8]) {
        *self = restored(saved);
    }

    fn tables(&self) -> Vec<Table> {
        vec![Table::new("message_latency", columns(&self.0))]
    }

    fn summarize(&self, summary: &mut Summary) {
        let Latency(all) = self;
        let quantile = |share| all.quantile(share).seconds();
        summary.message_latency = (all.count > 0).then(|| LatencyReport {
            messages: all.count,
            mean_s: all.mean_s(),
            p50_s: quantile(0.5),
            p90_s: quantile(0.9),
            p99_s: quantile(0.99),
            max_s: all.max.seconds(),
        });
    }
}
