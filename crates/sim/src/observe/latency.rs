//! How long messages take, from the sender's call to the receiving process.

use engine::{Observer, Time};
use mpi::Record;
use serde::{Deserialize, Serialize};

use super::histogram::Histogram;
use super::{Hears, View, of_kind, restored, saved};
use crate::table::Table;

/// The distribution of message latency.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Latency(Histogram);

impl Observer<Record> for Latency {
    fn record(&mut self, _now: Time, record: &Record) {
        if let Record::Message { sent, received, .. } = record {
            self.0.add(received.since(*sent));
        }
    }
}

impl View for Latency {
    fn hears(&self) -> Hears {
        Hears::Messages
    }

    fn absorb(&mut self, other: Box<dyn View>) {
        let other: Latency = of_kind(other);
        self.0.absorb(&other.0);
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, saved: &[u8]) {
        *self = restored(saved);
    }

    fn tables(&self) -> Vec<Table> {
        vec![Table::new("message_latency", self.0.columns())]
    }
}
