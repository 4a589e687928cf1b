//! Algorithms that collectives used: number of calls by kind, members and size.

use std::collections::BTreeMap;

use engine::{Bytes, Observer, Time};
use mpi::Record;
use serde::{Deserialize, Serialize};

use super::names::Name;
use super::{Interest, Summary, View, of_kind, restored, saved};
use crate::table::{Column, Table};

/// Collectives by kind, members of the communicator, doubling of the size, and algorithm.
#[derive(Debug, Default)]
pub struct Algorithms(BTreeMap<Class, Uses>);

/// Collective, number of members, size class (power of two), and algorithm.
type Class = (Name, u32, u32, Name);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Uses {
    count: u64,
    least: Bytes,
    most: Bytes,
}

/// One class, serialised for another process.
#[derive(Serialize, Deserialize)]
struct Saved {
    #[serde(with = "super::names::one")]
    kind: Name,
    members: u32,
    doubling: u32,
    #[serde(with = "super::names::one")]
    algorithm: Name,
    uses: Uses,
}

/// Collectives of one kind, number of members and doubling of size that used one algorithm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AlgorithmUse {
    /// The collective, as in `mpi.collectives`.
    pub collective: Name,
    /// The algorithm.
    pub algorithm: Name,
    /// Members of the communicator.
    pub members: u32,
    /// Smallest size of the calls \[bytes\].
    pub least_bytes: u64,
    /// Largest size of the calls, with no power of two between both \[bytes\].
    pub most_bytes: u64,
    /// Number of calls; a call of all members together counts once.
    pub count: u64,
}

/// Size class: 0 for no byte, 1 for one, then one more for each power of two.
fn doubling(bytes: Bytes) -> u32 {
    bytes.0.checked_ilog2().map_or(0, |order| order + 1)
}

impl Algorithms {
    fn add(&mut self, class: Class, uses: Uses) {
        let entry = self.0.entry(class);
        let known = entry.or_insert(Uses { count: 0, least: uses.least, most: uses.most });
        known.count += uses.count;
        known.least = known.least.min(uses.least);
        known.most = known.most.max(uses.most);
    }

    /// All uses, by collective, members, size and algorithm.
    fn uses(&self) -> Vec<AlgorithmUse> {
        let each = self.0.iter().map(|((collective, members, _, algorithm), uses)| AlgorithmUse {
            collective,
            algorithm,
            members: *members,
            least_bytes: uses.least.0,
            most_bytes: uses.most.0,
            count: uses.count,
        });
        each.collect()
    }
}

impl Observer<Record> for Algorithms {
    fn record(&mut self, _now: Time, record: &Record) {
        if let Record::Collective { kind, algorithm, members, bytes } = *record {
            let class = (kind, members, doubling(bytes), algorithm);
            self.add(class, Uses { count: 1, least: bytes, most: bytes });
        }
    }
}

impl View for Algorithms {
    fn interest(&self) -> Interest {
        Interest::Messages
    }

    fn absorb(&mut self, other: Box<dyn View>) {
        let other: Algorithms = of_kind(other);
        other.0.into_iter().for_each(|(class, uses)| self.add(class, uses));
    }

    fn save(&self) -> Vec<u8> {
        let rows = self.0.iter().map(|((kind, members, doubling, algorithm), uses)| Saved {
            kind,
            members: *members,
            doubling: *doubling,
            algorithm,
            uses: *uses,
        });
        saved(&rows.collect::<Vec<_>>())
    }

    fn restore(&mut self, saved: &[u8]) {
        let rows: Vec<Saved> = restored(saved);
        self.0.clear();
        for Saved { kind, members, doubling, algorithm, uses } in rows {
            self.add((kind, members, doubling, algorithm), uses);
        }
    }

    fn tables(&self) -> Vec<Table> {
        let uses = self.uses();
        if uses.is_empty() {
            return Vec::new();
        }
        let text =
            |of: fn(&AlgorithmUse) -> Name| Column::Text(uses.iter().map(|row| of(row).into()).collect());
        let counts = |of: fn(&AlgorithmUse) -> u64| Column::U64(uses.iter().map(of).collect());
        vec![Table::new(
            "collectives",
            vec![
                ("collective", text(|row| row.collective)),
                ("algorithm", text(|row| row.algorithm)),
                ("members", Column::U32(uses.iter().map(|row| row.members).collect())),
                ("least_bytes", counts(|row| row.least_bytes)),
                ("most_bytes", counts(|row| row.most_bytes)),
                ("count", counts(|row| row.count)),
            ],
        )]
    }

    fn summarize(&self, summary: &mut Summary) {
        summary.collectives = self.uses();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,024 B and 2,047 B lie in one doubling, 2,048 B in the next.
    #[test]
    fn sizes_of_one_doubling_are_one_class_however_the_run_is_cut() {
        let record = |bytes| Record::Collective {
            kind: "bcast",
            algorithm: "binomial",
            members: 8,
            bytes: Bytes(bytes),
        };
        let (mut one, mut other) = (Algorithms::default(), Algorithms::default());
        [1_024, 2_048].iter().for_each(|bytes| one.record(Time::ZERO, &record(*bytes)));
        other.record(Time::ZERO, &record(2_047));
        let mut read = Algorithms::default();
        read.restore(&other.save());
        one.absorb(Box::new(read));
        let rows: Vec<_> =
            one.uses().iter().map(|row| (row.least_bytes, row.most_bytes, row.count)).collect();
        assert_eq!(rows, [(1_024, 2_047, 2), (2_048, 2_048, 1)]);
    }
}
