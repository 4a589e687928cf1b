//! Traffic over links and in buffers, by period and by group of links.

use engine::Time;
use serde::{Deserialize, Serialize};

use super::periods::{ByPeriod, Periods};

/// Traffic that links sent in a period: the side of their start.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Transmitting, summed over links \[ps\].
    pub busy_ps: u128,
    /// From a packet's first request for the link to its grant, summed over the packets that were granted in
    /// the period \[ps\].
    pub waited_ps: u128,
    /// Idle with requests, none of which had credit, summed over links \[ps\].
    pub stalled_ps: u128,
    /// On the wire, headers included; a transmission over several periods is split by time \[bytes\].
    pub bytes: u64,
    /// Payload among them \[bytes\].
    pub payload: u64,
    /// Packets whose transmission began in the period.
    pub packets: u64,
    /// The longest of the waits \[ps\].
    pub waited_max_ps: u64,
}

/// Bytes in the buffers at the end of links, and in the output buffers at their start.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Bytes times the time for which they were there, summed over buffers \[bytes · ps\].
    pub byte_ps: u128,
    /// The most in one buffer \[bytes\].
    pub max: u64,
    /// Packets that left and had been in their buffer for longer than the threshold.
    pub slow: u64,
}

impl Sent {
    fn add(&mut self, other: &Sent) {
        self.busy_ps += other.busy_ps;
        self.waited_ps += other.waited_ps;
        self.stalled_ps += other.stalled_ps;
        self.bytes += other.bytes;
        self.payload += other.payload;
        self.packets += other.packets;
        self.waited_max_ps = self.waited_max_ps.max(other.waited_max_ps);
    }
}

impl Held {
    fn add(&mut self, other: &Held) {
        self.byte_ps += other.byte_ps;
        self.max = self.max.max(other.max);
        self.slow += other.slow;
    }
}

/// One period of one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The period, from 0.
    pub period: usize,
    /// The group.
    pub group: u32,
    /// By its links.
    pub sent: Sent,
    /// In its buffers.
    pub held: Held,
}

/// Sent and held, by period and then by place of a group.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Table {
    groups: usize,
    sent: Vec<Sent>,
    held: Vec<Held>,
}

impl ByPeriod for Table {
    fn grow(&mut self, periods: usize) {
        self.sent.resize(periods * self.groups, Sent::default());
        self.held.resize(periods * self.groups, Held::default());
    }

    fn halve(&mut self) {
        halve(&mut self.sent, self.groups, Sent::add);
        halve(&mut self.held, self.groups, Held::add);
    }
}

fn halve<C: Copy + Default>(cells: &mut Vec<C>, groups: usize, add: impl Fn(&mut C, &C)) {
    let periods = cells.len() / groups.max(1);
    for period in 0..periods.div_ceil(2) {
        for group in 0..groups {
            let mut sum = cells[2 * period * groups + group];
            if 2 * period + 1 < periods {
                add(&mut sum, &cells[(2 * period + 1) * groups + group]);
            }
            cells[period * groups + group] = sum;
        }
    }
    cells.truncate(periods.div_ceil(2) * groups);
}

/// Bytes that a link sends from `from` to `to` out of the bytes `of` a transmission from `begin` to `end`. The parts of
/// neighbouring periods add up, however they are merged.
fn between((begin, end): (Time, Time), from: Time, to: Time, of: u64) -> u64 {
    if (from, to) == (begin, end) {
        return of;
    }
    let whole = end.since(begin).0;
    let by = |at: Time| -> u64 {
        if at == end {
            return of;
        }
        let part = at.since(begin).0;
        match of.checked_mul(part) {
            Some(product) => product / whole,
            None => (u128::from(of) * u128::from(part) / u128::from(whole)) as u64,
        }
    };
    by(to) - by(from)
}

/// Traffic over time: of links, or groups of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Traffic {
    /// The groups that are kept, ascending: their places in the table.
    groups: Vec<u32>,
    table: Periods<Table>,
}

impl Traffic {
    /// Traffic of `groups`, ascending.
    pub fn new(options: (engine::Duration, u32), groups: Vec<u32>) -> Traffic {
        let (first, most) = options;
        let cells = groups.len() * most as usize;
        // Pages of it that are never written to are never there.
        let (sent, held) = (Vec::with_capacity(cells), Vec::with_capacity(cells));
        let table = Periods::new(first, most, Table { groups: groups.len(), sent, held });
        Traffic { groups, table }
    }

    /// Length of one period.
    pub fn length(&self) -> engine::Duration {
        self.table.length()
    }

    /// The rows in which something happened, by period and then by group.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        let Table { groups, sent, held } = self.table.kept();
        let row = move |(at, (sent, held)): (usize, (&Sent, &Held))| Row {
            period: at / groups,
            group: self.groups[at % groups],
            sent: *sent,
            held: *held,
        };
        let idle = |row: &Row| row.sent == Sent::default() && row.held == Held::default();
        sent.iter().zip(held).enumerate().map(row).filter(move |row| !idle(row))
    }

    /// It is `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        self.table.advance(now);
    }

    /// End of the present period.
    pub(crate) fn end(&self) -> Time {
        self.table.end()
    }

    /// Makes periods up to `at`.
    pub(crate) fn reach(&mut self, at: Time) {
        self.table.reach(at);
    }

    /// A packet of `bytes` with `payload` is on a link of the group at `place` from `begin` to `end`, after
    /// it has waited for `waited` \[ps\].
    pub(crate) fn send(
        &mut self,
        place: u32,
        (begin, end): (Time, Time),
        (bytes, payload): (u32, u64),
        waited: u64,
    ) {
        let (table, period) = self.table.at(begin);
        let cell = &mut table.sent[period * table.groups + place as usize];
        cell.packets += 1;
        cell.waited_ps += u128::from(waited);
        cell.waited_max_ps = cell.waited_max_ps.max(waited);
        if begin == end {
            cell.bytes += u64::from(bytes);
            cell.payload += payload;
            return;
        }
        let span = (begin, end);
        self.table.spread(begin, end, |table, period, from, to| {
            let cell = &mut table.sent[period * table.groups + place as usize];
            cell.busy_ps += u128::from(to.since(from).0);
            cell.bytes += between(span, from, to, bytes.into());
            cell.payload += between(span, from, to, payload);
        });
    }

    /// A packet of `size` (bytes, payload) that counts as sent from `begin` to `end` is not sent any further
    /// than up to `until`.
    pub(crate) fn cut_short(
        &mut self,
        place: u32,
        (begin, end): (Time, Time),
        until: Time,
        (bytes, payload): (u32, u32),
    ) {
        let span = (begin, end);
        self.table.spread(begin.max(until), end, |table, period, from, to| {
            let cell = &mut table.sent[period * table.groups + place as usize];
            cell.busy_ps -= u128::from(to.since(from).0);
            cell.bytes -= between(span, from, to, bytes.into());
            cell.payload -= between(span, from, to, payload.into());
        });
    }

    /// A link of the group at `place` lacked credit from `begin` to `end`.
    pub(crate) fn stall(&mut self, place: u32, begin: Time, end: Time) {
        self.table.spread(begin, end, |table, period, from, to| {
            let cell = &mut table.sent[period * table.groups + place as usize];
            cell.stalled_ps += u128::from(to.since(from).0);
        });
    }

    /// A buffer of the group at `place` held `bytes` from `begin` to `end`.
    pub(crate) fn hold(&mut self, place: u32, begin: Time, end: Time, bytes: u64) {
        self.table.spread(begin, end, |table, period, from, to| {
            let cell = &mut table.held[period * table.groups + place as usize];
            cell.byte_ps += u128::from(to.since(from).0) * u128::from(bytes);
            cell.max = cell.max.max(bytes);
        });
    }

    /// Links of the group at `place` have sent that, in the period of `at`.
    pub(crate) fn add_sent(&mut self, place: u32, at: Time, sent: &Sent) {
        let (table, period) = self.table.at(at);
        table.sent[period * table.groups + place as usize].add(sent);
    }

    /// Buffers of the group at `place` have held that, in the period of `at`.
    pub(crate) fn add_held(&mut self, place: u32, at: Time, held: &Held) {
        let (table, period) = self.table.at(at);
        table.held[period * table.groups + place as usize].add(held);
    }

    /// With what was seen elsewhere, of the same groups or others.
    pub(crate) fn absorb(&mut self, other: &Traffic) {
        let mut groups = [&self.groups[..], &other.groups[..]].concat();
        groups.sort_unstable();
        groups.dedup();
        let mut other = other.clone();
        self.table.widen(other.table.length());
        other.table.widen(self.table.length());
        let last = self.table.count().max(other.table.count()) as u64 - 1;
        let last = Time(last * self.table.length().0);
        self.table.reach(last);
        other.table.reach(last);
        *self = self.regrouped(groups.clone(), Some, Some);
        let other = other.regrouped(groups, Some, Some);
        let Table { sent, held, .. } = &mut self.table.kept;
        sent.iter_mut().zip(&other.table.kept().sent).for_each(|(cell, more)| cell.add(more));
        held.iter_mut().zip(&other.table.kept().held).for_each(|(cell, more)| cell.add(more));
    }

    /// The same by other `groups` (ascending): of a present group, what its links sent counts for
    /// `sent_to(group)`, and what its buffers held for `held_to(group)`, where there is one.
    pub fn regrouped(
        &self,
        groups: Vec<u32>,
        sent_to: impl Fn(u32) -> Option<u32>,
        held_to: impl Fn(u32) -> Option<u32>,
    ) -> Traffic {
        let old = self.table.kept();
        let place = |group: u32| groups.binary_search(&group).expect("a group that is kept");
        let places = |to: &dyn Fn(u32) -> Option<u32>| -> Vec<Option<usize>> {
            self.groups.iter().map(|group| to(*group).map(place)).collect()
        };
        let (sent_to, held_to) = (places(&sent_to), places(&held_to));
        let mut table = self.table.with(Table { groups: groups.len(), sent: Vec::new(), held: Vec::new() });
        let new = &mut table.kept;
        for at in 0..old.sent.len() {
            let first = at / old.groups * new.groups;
            if let Some(place) = sent_to[at % old.groups] {
                new.sent[first + place].add(&old.sent[at]);
            }
            if let Some(place) = held_to[at % old.groups] {
                new.held[first + place].add(&old.held[at]);
            }
        }
        Traffic { groups, table }
    }
}
