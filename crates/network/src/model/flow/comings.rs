//! Flows come onto their links and leave them.
//!
//! Most messages of most programs meet no other: a flow that is alone on its links gets all that they have, and no rate is
//! computed. One that meets others joins them, and the links where it did are looked at when the instant ends.

use engine::{Bytes, Time};

use super::Sharing;
use super::link::Entry;
use super::lone::LoneShare;
use super::slack::EXACT;
use super::streams::{NONE, Stream, Streams};
use crate::model::rate::{Rate, Work};

/// Beginning of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// No other flow is on its links: it has their rate.
    Alone,
    /// Its rate is to be computed.
    Shared,
}

impl Streams {
    /// Lets the message in slot `flow`, of `size` and `regime`, flow on `stream`, which has none.
    pub fn begin(&mut self, now: Time, stream: u32, flow: u32, (size, regime): (Bytes, u8)) -> Begin {
        let state = &mut self.all[stream as usize];
        assert_eq!(state.flow, NONE, "a connection sends one message after the other");
        (state.flow, state.size, state.regime) = (flow, size, regime);
        state.flowing_at = self.flowing.len() as u32;
        self.flowing.push(stream);
        self.wakes[stream as usize].at = Time::NEVER;
        let (mut is_alone, mut meets_lone, mut is_by_itself) = (true, false, true);
        let (mut meets_slack, mut meets_exact) = (false, false);
        for at in self.path(stream) {
            let link = &self.links.all[*at as usize];
            is_alone &= link.load == 0;
            meets_lone |= link.is_lone;
            // Marks change at ends of instants alone, so that the order within one does not matter.
            is_by_itself &= !link.is_bounded & !(link.was_crowded & (link.slack != EXACT));
            meets_slack |= link.slack != EXACT;
            meets_exact |= link.slack == EXACT;
        }
        if is_alone {
            if self.may_be_lone(stream) {
                self.begin_lone(now, stream, Work::of(size));
            } else {
                self.begin_alone(now, stream, Work::of(size));
            }
            return Begin::Alone;
        }
        if meets_lone {
            self.place_lone_on(stream);
        }
        if meets_slack & meets_exact {
            self.spreading.push(stream);
        }
        if is_by_itself {
            let bundle = self.open_own(stream, Work::of(size));
            self.place(bundle);
        } else {
            self.join(now, stream, Work::of(size));
        }
        self.enter(now, stream);
        Begin::Shared
    }

    /// Lets the message in slot `flow`, of `size` and the same regime, follow the one of `stream` that has just ended. If
    /// it has waited, it flows from the exact end of that one, which may lie a part of a picosecond in the past.
    pub fn follow(&mut self, now: Time, stream: u32, flow: u32, (size, has_waited): (Bytes, bool)) -> Begin {
        if self.all[stream as usize].bundle == NONE {
            self.place_lone(stream);
        }
        let Stream { bundle, due, .. } = self.all[stream as usize];
        let bottleneck = self.bundles.all[bundle as usize].bottleneck;
        let begin = if has_waited { due } else { self.clock(bundle, now) };
        let end = begin.more(Work::of(size));
        self.bundles.replace(bundle, (due, stream), (end, stream));
        let state = &mut self.all[stream as usize];
        (state.flow, state.size, state.due) = (flow, size, end);
        self.follow_first(bundle);
        if self.links.all[bottleneck as usize].keeps == 1 {
            return Begin::Alone;
        }
        self.note(bottleneck);
        Begin::Shared
    }

    /// Gives `stream` a bundle of its own over all its links, which are tracked; it has yet to be placed on them.
    #[inline]
    fn open_own(&mut self, stream: u32, due: Work) -> u32 {
        let Stream { path, regime, own, .. } = self.all[stream as usize];
        let bundle = if own == NONE {
            self.bundles.open(path, regime, (due, stream), None)
        } else {
            self.bundles.open_again(own, regime, (due, stream));
            own
        };
        let state = &mut self.all[stream as usize];
        (state.bundle, state.own, state.due) = (bundle, bundle, due);
        bundle
    }

    /// Counts the flow of `stream`, which is in its bundle, on its links.
    fn enter(&mut self, now: Time, stream: u32) {
        let Stream { bundle, regime, path: (path, length), .. } = self.all[stream as usize];
        let (rate, most) = (self.bundle_rate(bundle), self.bundles.bounds[bundle as usize].most);
        let bottleneck = self.bundles.all[bundle as usize].bottleneck;
        let mut first_out = None;
        for hop in 0..length {
            let entry = Entry { due: Work::ZERO, number: stream, path, length, hop, regime };
            let at = self.hops[entry.place()];
            self.links.count_up(at);
            let link = &mut self.links.all[at as usize];
            let weight = self.classes.weight(link.class, regime);
            let is_first = link.load == 1;
            if link.is_bounded {
                link.spare -= weight.takes(most) as i64;
                self.check(at);
                self.push(entry);
            } else {
                link.keeps += u32::from(at == bottleneck);
                if rate == Rate::INFINITE {
                    link.fresh += 1;
                } else {
                    link.spare -= weight.takes(rate) as i64;
                }
                if at == bottleneck {
                    self.note(at);
                }
                self.change(at);
            }
            if is_first {
                self.links.begin(now, at);
                if let Some((out, process)) = self.ways_out[stream as usize]
                    && out == at
                {
                    first_out = Some(process);
                }
            }
        }
        first_out.into_iter().for_each(|process| self.count_active(now, process, true));
    }

    /// Lets the flow of `stream`, of which `work` is left, begin alone on its links.
    fn begin_alone(&mut self, now: Time, stream: u32, work: Work) {
        self.occupy(now, stream, work);
        let mut first_out = None;
        for hop in self.hop_range(stream) {
            let at = self.hops[hop];
            self.links.count_up(at);
            self.links.begin(now, at);
            if let Some((out, process)) = self.ways_out[stream as usize]
                && out == at
            {
                first_out = Some(process);
            }
        }
        first_out.into_iter().for_each(|process| self.count_active(now, process, true));
    }

    /// Gives the flow of `stream`, of which `work` was left when it began at `since` and which is alone on its links, all
    /// that they have.
    pub fn occupy(&mut self, since: Time, stream: u32, work: Work) {
        let bundle = self.open_own(stream, work);
        let Stream { path: (path, length), regime, .. } = self.all[stream as usize];
        let LoneShare { rate, hop: narrowest, .. } = self.lone_share(stream);
        for hop in 0..length {
            let entry = Entry { due: Work::ZERO, number: bundle, path, length, hop, regime };
            let at = self.hops[entry.place()];
            self.push(entry);
            let link = &mut self.links.all[at as usize];
            let takes = self.classes.weight(link.class, regime).takes(rate);
            link.spare = (self.links.capacities[at as usize] - takes) as i64;
            if self.sharing == Sharing::EqualShare {
                self.links.set_level(at, self.all_of(at, regime), since);
            }
        }
        let at = self.hops[narrowest as usize];
        self.links.set_level(at, rate, since);
        let clock = self.links.clock(at, since);
        let link = &mut self.links.all[at as usize];
        (link.keeps, link.held, link.top) = (1, 1, 0);
        self.links.entries[at as usize][0].due = clock.more(work);
        let own = &mut self.bundles.all[bundle as usize];
        (own.shift, own.bottleneck, own.hop) = (clock, at, narrowest);
        self.bundles.rates[bundle as usize] = rate;
    }
}

impl Streams {
    /// Takes `stream` off its links: its message has ended, and none follows.
    pub fn end(&mut self, now: Time, stream: u32) {
        let bundle = self.all[stream as usize].bundle;
        let last_out = if bundle == NONE {
            self.leave_lone(now, stream);
            None
        } else if self.bundles.all[bundle as usize].is_shared {
            self.leave_shared(now, stream)
        } else {
            self.leave_own(now, stream)
        };
        let state = &mut self.all[stream as usize];
        (state.flow, state.bundle) = (NONE, NONE);
        let at = state.flowing_at as usize;
        self.flowing.swap_remove(at);
        if let Some(moved) = self.flowing.get(at) {
            self.all[*moved as usize].flowing_at = at as u32;
        }
        last_out.into_iter().for_each(|process| self.count_active(now, process, false));
    }

    /// Takes `stream` and its own bundle off its links. Gives its process at a NIC if that sends no more flows.
    fn leave_own(&mut self, now: Time, stream: u32) -> Option<u32> {
        let Stream { bundle, regime, .. } = self.all[stream as usize];
        let rate = self.bundle_rate(bundle);
        let bottleneck = self.bundles.all[bundle as usize].bottleneck;
        let mut last_out = None;
        for hop in self.hop_range(stream) {
            let (at, mut position) = (self.hops[hop], self.positions[hop]);
            if at == bottleneck {
                self.unkeep(at, 1);
                position = self.release(at, position);
            }
            self.remove(at, position);
            last_out = last_out.or(self.count_out(now, stream, at, regime, rate));
        }
        last_out
    }

    /// Takes `stream` off its links and out of its bundle, and that off its links if it was the last.
    fn leave_shared(&mut self, now: Time, stream: u32) -> Option<u32> {
        let Stream { due, bundle, regime, .. } = self.all[stream as usize];
        let (rate, most) = (self.bundle_rate(bundle), self.bundles.bounds[bundle as usize].most);
        let bottleneck = self.bundles.all[bundle as usize].bottleneck;
        let is_last = self.bundles.counts[bundle as usize] == 1;
        if !is_last {
            self.bundles.remove(bundle, (due, stream));
            self.follow_first(bundle);
        }
        let mut tracked = self.bundles.all[bundle as usize].path.0 as usize;
        let mut last_out = None;
        for hop in self.hop_range(stream) {
            let at = self.hops[hop];
            let is_bounded = self.links.all[at as usize].is_bounded;
            if is_bounded {
                self.remove(at, self.positions[hop]);
            } else {
                let position = self.positions[tracked];
                tracked += 1;
                if at == bottleneck {
                    self.unkeep(at, 1);
                }
                if is_last {
                    let position = if at == bottleneck { self.release(at, position) } else { position };
                    self.remove(at, position);
                }
            }
            let takes = if is_bounded { most } else { rate };
            last_out = last_out.or(self.count_out(now, stream, at, regime, takes));
        }
        if is_last {
            self.close_bundle(bundle);
        }
        last_out
    }

    /// The flow of `stream` takes its `rate` of link `at` no longer. Gives its process at a NIC if that sends no more
    /// flows.
    #[inline]
    fn count_out(&mut self, now: Time, stream: u32, at: u32, regime: u8, rate: Rate) -> Option<u32> {
        self.links.count_down(at);
        let link = &mut self.links.all[at as usize];
        link.spare += self.classes.weight(link.class, regime).takes(rate) as i64;
        if link.load > 0 {
            if link.keeps > 0 || self.sharing == Sharing::EqualShare {
                self.change(at);
            }
            return None;
        }
        (link.level, link.is_bounded, link.touched, link.patience) = (0, false, 0, self.links.patience);
        self.links.end(now, at);
        self.ways_out[stream as usize].filter(|(out, _)| *out == at).map(|(_, process)| process)
    }
}
