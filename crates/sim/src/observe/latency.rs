//! How long messages take, from the sender's call to the receiving process.

use engine::{Observer, Time};
use mpi::Record;

use super::View;
use super::histogram::Histogram;
use crate::table::Table;

/// The distribution of message latency.
#[derive(Debug, Default)]
pub struct Latency(Histogram);

impl Observer<Record> for Latency {
    fn record(&mut self, _now: Time, record: &Record) {
        if let Record::Message { sent, received, .. } = record {
            self.0.add(received.since(*sent));
        }
    }
}

impl View for Latency {
    fn tables(&self) -> Vec<Table> {
        vec![Table::new("message_latency", self.0.columns())]
    }
}
