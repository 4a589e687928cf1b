//! Use of links: what has passed them, and for how long they were busy.

use engine::{Bytes, Duration, Time};

use super::link::Link;
use super::links::Links;
use crate::interface::Report;
use crate::message::LinkUse;
use crate::observe::NetworkRecord;
use crate::topology::LinkId;

/// Traffic of a link, and how often its flows have changed their rates.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Carried {
    pub latency: Duration,
    bytes: Bytes,
    pub messages: u64,
    /// Number of bundles that it held back when its level changed, added up over all changes.
    pub changes: u64,
    busy: Duration,
    /// Since when there are flows on it.
    since: Time,
}

impl Links {
    /// Counts bytes on the wire that have passed `link`, the last of their message if `is_done`.
    pub fn carry(&mut self, link: u32, bytes: Bytes, is_done: bool) {
        let carried = &mut self.carried[link as usize];
        carried.bytes += bytes;
        carried.messages += u64::from(is_done);
    }

    /// Counts a packet that passes `link` in `time`, the last of its message if `is_last`. Beside flows the link is busy anyway.
    pub fn carry_packet(&mut self, link: u32, bytes: Bytes, is_last: bool, time: Duration) {
        let carried = &mut self.carried[link as usize];
        carried.bytes += bytes;
        carried.messages += u64::from(is_last);
        if self.all[link as usize].load == 0 {
            carried.busy += time;
        }
        self.note_moved(link);
    }

    /// The first flow is on `link`.
    pub fn begin(&mut self, now: Time, link: u32) {
        self.carried[link as usize].since = now;
        self.note_moved(link);
    }

    /// Something moves over `link`, or has.
    pub fn note_moved(&mut self, link: u32) {
        let id = LinkId(self.all[link as usize].id);
        if id.0 < self.fabric {
            self.moved.note(id);
        }
    }

    /// The last flow has left `link`.
    pub fn end(&mut self, now: Time, link: u32) {
        let carried = &mut self.carried[link as usize];
        carried.busy += now.since(carried.since);
    }

    /// A flow on `link`, its first, waits for packets `until` then: so long they make it busy.
    pub fn begin_behind(&mut self, link: u32, until: Time) {
        let since = &mut self.carried[link as usize].since;
        if self.all[link as usize].load == 1 {
            *since = until.max(*since);
        }
    }

    /// Reports all links of the fabric; `on_the_way` gives what flows that are not done have moved over one, and `to_pass`
    /// which packets have yet to pass it: bytes on the wire, and time.
    pub fn report(
        &self,
        now: Time,
        on_the_way: impl Fn(u32) -> Bytes,
        to_pass: impl Fn(u32) -> (Bytes, Duration),
        observer: &mut Report<'_>,
    ) {
        for id in (0..self.fabric).map(LinkId) {
            let idle = LinkUse { link: id, bytes: Bytes(0), transfers: 0, busy: Duration::ZERO };
            let link_use = self.find(id).map_or(idle, |at| self.use_of(now, at, on_the_way(at), to_pass(at)));
            observer.record(now, &NetworkRecord::LinkUse(&link_use));
        }
    }

    /// Links of the fabric that have flows, or have had some since the last report of changes, by number.
    pub fn moved(&self) -> impl Iterator<Item = u32> + '_ {
        self.moved.all().filter_map(|id| self.find(id))
    }

    /// A flow that is not done has moved `bytes` over `path`: they count in the next report of changes.
    pub fn count_under_way(&mut self, path: &[u32], bytes: Bytes) {
        path.iter().for_each(|at| self.under_way[*at as usize] += bytes);
    }

    /// Reports the links of the fabric that have flows or packets, or have had some since the last such report.
    pub fn report_changes(
        &mut self,
        now: Time,
        to_pass: impl Fn(&Links, u32) -> (Bytes, Duration),
        observer: &mut Report<'_>,
    ) {
        for at in self.moved() {
            let link_use = self.use_of(now, at, self.under_way[at as usize], to_pass(self, at));
            observer.record(now, &NetworkRecord::LinkUse(&link_use));
        }
        self.under_way.fill(Bytes(0));
        let mut moved = std::mem::take(&mut self.moved);
        let is_used = |at| self.all[at as usize].load > 0 || to_pass(self, at).1 > Duration::ZERO;
        moved.keep(|id| self.find(id).is_some_and(is_used));
        self.moved = moved;
    }

    /// Use of a link of the fabric, whose flows have moved `on_the_way`, and which packets that count already have yet to pass.
    fn use_of(&self, now: Time, link: u32, on_the_way: Bytes, to_pass: (Bytes, Duration)) -> LinkUse {
        let carried = &self.carried[link as usize];
        let Link { load, id, .. } = self.all[link as usize];
        let flows = u64::from(load);
        let mut busy = carried.busy;
        if flows > 0 {
            busy += now.since(carried.since);
        }
        let ahead = if flows > 0 { carried.since.since(now) } else { to_pass.1 };
        busy.0 = busy.0.saturating_sub(ahead.0);
        let passed = Bytes(carried.bytes.0.saturating_sub(to_pass.0.0));
        let (bytes, transfers) = (passed + on_the_way, carried.messages + flows);
        LinkUse { link: LinkId(id), bytes, transfers, busy }
    }
}
