//! Both ends of a virtual channel in the present period.

use engine::{Bytes, Duration, Time};

use super::super::{Held, Sent};
use super::{Size, Span, Tables};
use crate::observe::LinkChannel;

/// The start: what has been sent since the tables took it last, all in the period that ends at `until`.
#[derive(Debug, Default, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Output {
    until: Time,
    /// Meaningful while the recorder knows that it is stalled.
    pub stalled_since: Time,
    stalled: Duration,
    busy: Duration,
    waited: Duration,
    waited_max: Duration,
    bytes: u32,
    payload: u32,
    packets: u32,
}

/// With so many bytes the tables take what is here, before a sum of them is too large,
const MOST_BYTES: u32 = 1 << 31;
/// and with so much waiting.
const MOST_WAITING: Duration = Duration(1 << 62);

impl Output {
    /// A packet of `size` is on its way in `span`, after it has waited.
    #[inline]
    pub fn send(&mut self, span: Span, size: Size, waited: Duration, at: LinkChannel, tables: &mut Tables) {
        let end = tables.classes.end();
        if span.end > end || size.wire >= MOST_BYTES || waited >= MOST_WAITING {
            let (span, size) = ((span.begin, span.end), (size.wire, size.payload.into()));
            return tables.of_output(at, |table, place| table.send(place, span, size, waited.0));
        }
        if self.until < end || self.bytes >= MOST_BYTES || self.waited >= MOST_WAITING {
            self.give(at, tables);
            self.until = end;
        }
        self.bytes += size.wire;
        self.payload += size.payload;
        self.packets += 1;
        self.busy += span.end.since(span.begin);
        self.waited += waited;
        self.waited_max = self.waited_max.max(waited);
    }

    /// The link does not lack credit any more.
    pub fn go_on(&mut self, now: Time, at: LinkChannel, tables: &mut Tables) {
        let since = self.stalled_since;
        if self.until < now || since + tables.classes.length() < self.until {
            return tables.of_output(at, |table, place| table.stall(place, since, now));
        }
        self.stalled += now.since(since);
    }

    /// The tables take what is here.
    pub fn give(&mut self, at: LinkChannel, tables: &mut Tables) {
        let Output { until, stalled_since, stalled, busy, waited, waited_max, bytes, payload, packets } =
            *self;
        *self = Output { until, stalled_since, ..Output::default() };
        if packets == 0 && stalled == Duration::ZERO {
            return;
        }
        let sent = Sent {
            busy_ps: busy.0.into(),
            waited_ps: waited.0.into(),
            stalled_ps: stalled.0.into(),
            bytes: bytes.into(),
            payload: payload.into(),
            packets: packets.into(),
            waited_max_ps: waited_max.0,
        };
        tables.of_output(at, |table, place| table.add_sent(place, Time(until.0 - 1), &sent));
    }
}

/// Contents of a buffer, at the start or at the end of the channel: now, and over time since the tables took it last.
#[derive(Debug, Default, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Contents<const AT_START: bool> {
    byte_ps: u128,
    until: Time,
    /// Up to when that is noted.
    since: Time,
    /// Time at which the packet that is being sent will have left.
    leaves_at: Time,
    /// Bytes of that packet; 0 if there is none.
    leaving: u32,
    /// Packets that stayed too long.
    pub slow: u32,
    held: u64,
    max: u64,
}

impl<const AT_START: bool> Contents<AT_START> {
    /// A packet of `size` comes.
    #[inline]
    pub fn arrive(&mut self, now: Time, size: Bytes, at: LinkChannel, tables: &mut Tables) {
        self.settle(now, at, tables);
        self.held += size.0;
    }

    /// A packet of `size` bytes leaves in `span`.
    #[inline]
    pub fn leave(&mut self, span: Span, size: u32, at: LinkChannel, tables: &mut Tables) {
        if self.leaving > 0 || self.until < tables.classes.end() {
            self.settle(span.begin, at, tables);
        }
        (self.leaving, self.leaves_at) = (size, span.end);
    }

    /// Notes what has been here up to `now`, which is in the present period.
    #[inline]
    pub fn settle(&mut self, now: Time, at: LinkChannel, tables: &mut Tables) {
        let end = tables.classes.end();
        if self.until < end {
            self.settle_late(now, at, tables);
            self.until = end;
            return;
        }
        while let Some((from, to, held)) = self.next_stretch(now) {
            self.byte_ps += u128::from(held) * u128::from(to.since(from).0);
            if from < to {
                self.max = self.max.max(held);
            }
        }
    }

    /// The same where a period has ended since.
    #[cold]
    fn settle_late(&mut self, now: Time, at: LinkChannel, tables: &mut Tables) {
        self.give(at, tables);
        while let Some((from, to, held)) = self.next_stretch(now) {
            tables.of_buffer::<AT_START>(at, |table, place| table.hold(place, from, to, held));
        }
    }

    /// The next stretch of time, up to `now`, for which the buffer held the same; none if it was empty.
    #[inline]
    fn next_stretch(&mut self, now: Time) -> Option<(Time, Time, u64)> {
        let (from, held) = (self.since, self.held);
        if held == 0 || from >= now {
            // A packet that was here for no time at all has left, too.
            self.since = now;
            if self.leaving > 0 && self.leaves_at <= now {
                self.held -= u64::from(std::mem::take(&mut self.leaving));
            }
            return None;
        }
        let mut to = now;
        if self.leaving > 0 && self.leaves_at <= now {
            to = self.leaves_at;
            self.held -= u64::from(std::mem::take(&mut self.leaving));
        }
        self.since = to;
        Some((from, to, held))
    }

    /// The tables take what is here.
    pub fn give(&mut self, at: LinkChannel, tables: &mut Tables) {
        let held = Held {
            byte_ps: std::mem::take(&mut self.byte_ps),
            max: std::mem::take(&mut self.max),
            slow: std::mem::take(&mut self.slow).into(),
        };
        if held != Held::default() {
            tables.of_buffer::<AT_START>(at, |table, place| {
                table.add_held(place, Time(self.until.0 - 1), &held)
            });
        }
    }
}
