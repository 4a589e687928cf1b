//! Messages of sizes to which the platform was not fitted, as a share of all messages and of their time.
//!
//! Exists only where the platform says which sizes were measured, so that other runs do no work for it. The time of a
//! message is that from its sender's call to its receiver's buffer. A message without payload counts as one of a byte,
//! since no campaign measures it.

use std::sync::Arc;

use ::network::Endpoint;
use engine::{Bytes, Duration, Observer, Time};
use mpi::Record;
use serde::{Deserialize, Serialize};

use super::{Interest, RankScope, View, of_kind, restored, saved};
use crate::config::MeasuredSizes;

/// Counts of messages between hosts, and within them.
pub struct Extrapolation {
    placement: Arc<[Endpoint]>,
    measured: MeasuredSizes,
    counts: Counts,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Counts {
    between_hosts: Count,
    within_hosts: Count,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Count {
    messages: u64,
    time_ps: u128,
    messages_beyond: u64,
    time_beyond_ps: u128,
    /// Longest message \[B\].
    longest: u64,
}

impl Extrapolation {
    /// View, if the platform says which sizes were measured.
    pub fn new(scope: &RankScope) -> Option<Extrapolation> {
        let measured = scope.measured.clone();
        let (placement, counts) = (scope.placement.clone(), Counts::default());
        (measured != MeasuredSizes::default()).then_some(Extrapolation { placement, measured, counts })
    }
}

impl Observer<Record> for Extrapolation {
    fn record(&mut self, _now: Time, record: &Record) {
        let Record::Message { from, to, bytes, sent, received, .. } = record else { return };
        let host = |rank: &mpi::Rank| self.placement[rank.0 as usize].host;
        let (range, count) = if host(from) == host(to) {
            (&self.measured.within_hosts, &mut self.counts.within_hosts)
        } else {
            (&self.measured.between_hosts, &mut self.counts.between_hosts)
        };
        if let Some(range) = range {
            count.add(*bytes, received.since(*sent), range.contains(&bytes.0.max(1)));
        }
    }
}

impl View for Extrapolation {
    fn interest(&self) -> Interest {
        Interest::Messages
    }

    fn absorb(&mut self, other: Box<dyn View>) {
        let other: Extrapolation = of_kind(other);
        self.counts.between_hosts.absorb(&other.counts.between_hosts);
        self.counts.within_hosts.absorb(&other.counts.within_hosts);
    }

    fn save(&self) -> Vec<u8> {
        saved(&self.counts)
    }

    fn restore(&mut self, saved: &[u8]) {
        self.counts = restored(saved);
    }

    fn tables(&self) -> Vec<crate::table::Table> {
        Vec::new()
    }

    fn warning(&self) -> Option<String> {
        let kinds = [
            ("between hosts", &self.measured.between_hosts, &self.counts.between_hosts),
            ("within hosts", &self.measured.within_hosts, &self.counts.within_hosts),
        ];
        let words = kinds.into_iter().filter_map(|(place, range, count)| {
            let range = range.as_ref().filter(|_| count.messages_beyond > 0)?;
            let percent = |part: f64, whole: f64| if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
            let messages = percent(count.messages_beyond as f64, count.messages as f64);
            let time = percent(count.time_beyond_ps as f64, count.time_ps as f64);
            let (shortest, longest) = (range.start(), range.end());
            Some(format!(
                "{place} {messages:.1} % of the messages, {time:.1} % of their time (measured: {shortest} B to \
                 {longest} B; longest message: {} B)",
                count.longest
            ))
        });
        let words: Vec<String> = words.collect();
        (!words.is_empty()).then(|| {
            format!("messages were of sizes to which the platform was not fitted: {}", words.join("; "))
        })
    }
}

impl Count {
    fn add(&mut self, bytes: Bytes, time: Duration, is_measured: bool) {
        self.messages += 1;
        self.time_ps += u128::from(time.0);
        self.longest = self.longest.max(bytes.0);
        if !is_measured {
            self.messages_beyond += 1;
            self.time_beyond_ps += u128::from(time.0);
        }
    }

    fn absorb(&mut self, other: &Count) {
        self.messages += other.messages;
        self.time_ps += other.time_ps;
        self.messages_beyond += other.messages_beyond;
        self.time_beyond_ps += other.time_beyond_ps;
        self.longest = self.longest.max(other.longest);
    }
}
