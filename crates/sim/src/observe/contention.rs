//! Contention: resources at which messages delayed each other, weighted by the time that ranks waited.

use std::collections::BTreeMap;

use engine::{Observer, Time};
use mpi::Record;
use network::{Fabric, Shared};
use serde::{Deserialize, Serialize};

use super::{View, of_kind, restored, saved};
use crate::table::Table;

/// Time of all ranks in MPI that is due to contention, by the shared resource \[ps\].
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Contention(BTreeMap<Shared, u128>);

/// One shared resource in the report.
#[derive(Debug, Clone, Serialize)]
pub struct Contended {
    /// "memory", "NIC", "network", or a class of links.
    pub at: String,
    /// Time lost there, summed over ranks \[s\].
    pub time_s: f64,
}

impl Contention {
    /// Lines of the report, in descending order of time.
    pub fn report(&self, fabric: &Fabric) -> Vec<Contended> {
        let classes = fabric.topology.classes();
        let name = |at: &Shared| match at {
            Shared::Memory => "memory".to_string(),
            Shared::Nic => "NIC".to_string(),
            Shared::Fabric => "network".to_string(),
            Shared::Links(class) => classes[usize::from(*class)].clone(),
        };
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(at, time)| (std::cmp::Reverse(**time), **at));
        all.iter().map(|(at, time)| Contended { at: name(at), time_s: **time as f64 / 1e12 }).collect()
    }
}

impl Observer<Record> for Contention {
    fn record(&mut self, _now: Time, record: &Record) {
        if let Record::Contention { at, time, .. } = record {
            *self.0.entry(*at).or_default() += u128::from(time.0);
        }
    }
}

impl View for Contention {
    fn absorb(&mut self, other: Box<dyn View>) {
        let other: Contention = of_kind(other);
        other.0.into_iter().for_each(|(at, time)| *self.0.entry(at).or_default() += time);
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, saved: &[u8]) {
        *self = restored(saved);
    }

    fn tables(&self) -> Vec<Table> {
        Vec::new()
    }
}
