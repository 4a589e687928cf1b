//! Links whose use is bounded instead of tracked, since they are far from full and hold nobody back.
//!
//! A tracked link knows exactly what its flows leave of it, so each change of a rate costs a step for each tracked link
//! of the flow. Most links of a busy network are never full: for them it is enough to know that
//!
//! ```text
//! sum over its flows of most(bundle of the flow) ≤ capacity,      rate ≤ most ≤ 5/2 rate
//! ```
//!
//! While a bundle's rate stays within its bounds, nothing moves on bounded links; when it leaves them, the bounds and
//! the sums are made anew. Should a sum exceed the capacity, the link is tracked again before the instant ends. So a
//! bounded link is in order (see `max_min.rs`) whatever its exact use is, and where no link has slack, rates are those of a
//! computation over all links. Links start tracked, and are bounded when tracking them has cost more than that; each time that this was
//! wrong, the next attempt comes after twice the cost.

use engine::Time;

use super::bundles::{Bound, Bundle};
use super::classes::UNLIMITED;
use super::link::Entry;
use super::streams::{NONE, Stream, Streams};
use crate::model::rate::{Rate, Work};

/// A link is left untracked when the computation of shares has touched each of its flows 2⁴ times to no purpose. To
/// bound it costs some 1,200 instructions for each flow, a touch some 20.
pub(super) const PATIENCE: u8 = 4;

/// A link with fewer flows is tracked in any case: bounds come and go with its flows, and cost more than they save.
pub(super) const FEW: u32 = 64;

impl Streams {
    /// Lets the flow of `stream`, of which `work` is left, join the bundle of its tracked links: some of its links are
    /// bounded or crowded.
    pub fn join(&mut self, now: Time, stream: u32, work: Work) {
        self.track_one(stream, now);
        let regime = self.find_key(stream);
        let bundle = match self.bundles.find(&self.key) {
            Some(known) => {
                let due = self.clock(known, now).more(work);
                self.bundles.insert(known, (due, stream));
                self.all[stream as usize].due = due;
                self.follow_first(known);
                known
            }
            None => {
                self.all[stream as usize].due = work;
                let bundle = self.open_shared((work, stream), regime);
                self.place(bundle);
                bundle
            }
        };
        self.all[stream as usize].bundle = bundle;
    }

    /// Tracks the narrowest link of `stream`, if no tracked one limits it.
    fn track_one(&mut self, stream: u32, now: Time) {
        let regime = self.all[stream as usize].regime;
        let share = |at: u32| {
            let class = self.links.all[at as usize].class;
            self.links.equal_share(at, self.classes.weight(class, regime).0)
        };
        let limits = self.path(stream).iter().filter(|at| share(**at) < Rate(UNLIMITED));
        if limits.clone().all(|at| self.links.all[*at as usize].is_bounded)
            && let Some(narrowest) = limits.min_by_key(|at| share(**at))
        {
            self.track(*narrowest, now);
        }
    }

    /// Writes the tracked links of `stream` and its regime, which it gives, into `key`.
    fn find_key(&mut self, stream: u32) -> u8 {
        let hops = self.hop_range(stream);
        let regime = self.all[stream as usize].regime;
        self.key.clear();
        let tracked = self.hops[hops].iter().filter(|at| !self.links.all[**at as usize].is_bounded);
        self.key.extend(tracked);
        self.key.push(regime.into());
        regime
    }

    /// Makes a bundle of one flow on the links of `key`, on which it is not placed yet.
    fn open_shared(&mut self, first: (Work, u32), regime: u8) -> u32 {
        let path = self.copy_key();
        self.bundles.open(path, regime, first, Some(&self.key))
    }

    /// The links of `key` as hops.
    fn copy_key(&mut self) -> (u32, u16) {
        let length = self.key.len() - 1;
        let first = self.reserve(length);
        self.hops[first as usize..first as usize + length].copy_from_slice(&self.key[..length]);
        (first, length as u16)
    }

    /// Writes the key of a bundle into `key`.
    fn copy_links(&mut self, bundle: u32) {
        let Bundle { regime, .. } = self.bundles.all[bundle as usize];
        let hops = self.bundles.all[bundle as usize].hops();
        self.key.clear();
        self.key.extend_from_slice(&self.hops[hops]);
        self.key.push(regime.into());
    }

    /// Forgets a shared bundle without flows, which is on no link. A stream keeps its own.
    pub fn close_bundle(&mut self, bundle: u32) {
        let Bundle { is_shared, path, .. } = self.bundles.all[bundle as usize];
        if is_shared {
            self.copy_links(bundle);
            self.give_back(path);
            self.bundles.close(bundle, Some(&self.key));
        }
    }

    /// Notes that bounded link `at` may be full.
    pub fn check(&mut self, at: u32) {
        let link = &self.links.all[at as usize];
        if link.is_bounded && link.spare < i64::from(link.load) {
            self.overfull.push(at);
        }
    }

    /// Makes the bounds hold for the rates as they are. If links have to be tracked for that, they are among those that
    /// have changed, and rates are to be computed again; else bounds links that need not be tracked.
    pub fn keep_bounds(&mut self, now: Time) {
        let mut outgrown = std::mem::take(&mut self.outgrown);
        for bundle in outgrown.drain(..) {
            let rate = self.bundle_rate(bundle);
            if !self.bundles.bounds[bundle as usize].holds(rate) {
                self.set_bound(bundle, Bound::around(rate));
            }
        }
        self.outgrown = outgrown;
        while let Some(at) = self.overfull.pop() {
            let link = &self.links.all[at as usize];
            if link.is_bounded && link.spare < i64::from(link.load) {
                self.track(at, now);
            }
        }
        if !self.changed.is_empty() {
            return;
        }
        while let Some(at) = self.idle.pop() {
            let link = &self.links.all[at as usize];
            let is_wide = link.spare >= (self.links.capacities[at as usize] / 4) as i64;
            if !link.is_bounded && link.keeps == 0 && link.fresh == 0 && link.load > 0 && is_wide {
                self.bound(at, now);
            }
        }
    }

    /// Bounded links reckon with another rate of the flows of a bundle.
    fn set_bound(&mut self, bundle: u32, bound: Bound) {
        let before = std::mem::replace(&mut self.bundles.bounds[bundle as usize], bound);
        let streams: Vec<u32> = self.bundles.all[bundle as usize].streams().collect();
        streams.into_iter().for_each(|stream| self.reckon(stream, before.most, bound.most));
    }

    /// The bounded links of `stream` reckon with `rate` instead of `before`.
    fn reckon(&mut self, stream: u32, before: Rate, rate: Rate) {
        if before == rate {
            return;
        }
        let regime = self.all[stream as usize].regime;
        for hop in self.hop_range(stream) {
            let at = self.hops[hop];
            let link = &mut self.links.all[at as usize];
            if link.is_bounded {
                let weight = self.classes.weight(link.class, regime);
                link.spare += weight.takes(before) as i64 - weight.takes(rate) as i64;
                self.check(at);
            }
        }
    }

    /// Tracks link `at` no longer: its bundles go on without it, or become one with others over the same links.
    fn bound(&mut self, at: u32, now: Time) {
        let bundles = std::mem::take(&mut self.links.entries[at as usize]);
        self.links.all[at as usize].spare = self.links.capacities[at as usize] as i64;
        for entry in bundles {
            let before = self.bundles.bounds[entry.number as usize].most;
            let streams: Vec<u32> = self.bundles.all[entry.number as usize].streams().collect();
            let bundle = self.leave_out(entry.number, at, now);
            let most = self.bundles.bounds[bundle as usize].most;
            for stream in streams {
                self.reckon(stream, before, most);
                self.reckon_on(stream, at, most);
            }
        }
        self.links.all[at as usize].is_bounded = true;
        self.check(at);
    }

    /// Link `at`, which becomes bounded, reckons with `most` for the flow of `stream`.
    fn reckon_on(&mut self, stream: u32, at: u32, most: Rate) {
        let Stream { path: (path, length), regime, .. } = self.all[stream as usize];
        let hop =
            self.path(stream).iter().position(|hop| *hop == at).expect("the link is on its path") as u16;
        self.push(Entry { due: Work::ZERO, number: stream, path, length, hop, regime });
        let link = &mut self.links.all[at as usize];
        link.spare -= self.classes.weight(link.class, regime).takes(most) as i64;
    }

    /// Bundle `number` crosses all its links but `at`, where it is no entry any more. Gives the bundle that it has become
    /// a part of, or itself.
    fn leave_out(&mut self, number: u32, at: u32, now: Time) -> u32 {
        let Bundle { is_shared, path, .. } = self.bundles.all[number as usize];
        self.copy_links(number);
        let before = self.key.clone();
        let place = self.key[..self.key.len() - 1].iter().position(|link| *link == at);
        self.key.remove(place.expect("a bundle is on its links"));
        if let Some(known) = self.bundles.find(&self.key) {
            self.merge(number, at, known, now);
            return known;
        }
        let renamed = self.copy_key();
        let mut hop = 0;
        for place in path.0..path.0 + u32::from(path.1) {
            let link = self.hops[place as usize];
            if link == at {
                continue;
            }
            let position = self.positions[place as usize];
            let entry = &mut self.links.entries[link as usize][position as usize];
            (entry.path, entry.length, entry.hop) = (renamed.0, renamed.1, hop);
            self.positions[entry.place()] = position;
            if self.bundles.all[number as usize].hop == place {
                self.bundles.all[number as usize].hop = entry.place() as u32;
            }
            hop += 1;
        }
        self.bundles.all[number as usize].path = renamed;
        self.bundles.rename(number, is_shared.then_some(&before), &self.key);
        if is_shared {
            self.give_back(path);
        } else {
            self.bundles.bounds[number as usize] = Bound::around(self.bundle_rate(number));
            let stream = self.bundles.all[number as usize].streams().next().expect("a bundle has a flow");
            self.all[stream as usize].own = NONE;
        }
        number
    }

    /// The flows of bundle `number`, which is no entry of link `at` any more, go over to bundle `to`.
    fn merge(&mut self, number: u32, at: u32, to: u32, now: Time) {
        let rates = [number, to].map(|bundle| self.bundle_rate(bundle));
        let count = self.bundles.counts[number as usize];
        let bottlenecks = [number, to].map(|bundle| self.bundles.all[bundle as usize].bottleneck);
        for place in self.bundles.all[number as usize].hops() {
            let link = self.hops[place];
            if link == at {
                continue;
            }
            self.take_instead(link, self.bundles.all[number as usize].regime, rates, count);
            let mut position = self.positions[place];
            if link == bottlenecks[0] {
                position = self.release(link, position);
            }
            self.remove(link, position);
        }
        self.links.all[bottlenecks[0] as usize].keeps -= count;
        self.links.all[bottlenecks[1] as usize].keeps += count;
        let streams: Vec<u32> = self.bundles.all[number as usize].streams().collect();
        for stream in streams {
            self.hand_over(stream, to, now);
        }
        self.follow_first(to);
        bottlenecks.into_iter().for_each(|at| self.note(at));
        self.close_bundle(number);
    }

    /// `count` flows on link `at` have the second of `rates` instead of the first: with slack, bundles over the same
    /// links may differ.
    fn take_instead(&mut self, at: u32, regime: u8, rates: [Rate; 2], count: u32) {
        if rates[0] == rates[1] {
            return;
        }
        let link = &mut self.links.all[at as usize];
        let [before, after] = rates.map(|rate| self.classes.weight(link.class, regime).takes(rate) as i64);
        link.spare += (before - after) * i64::from(count);
        link.top = link.top.max(rates[1].0);
        self.change(at);
    }

    /// The flow of `stream` is in bundle `to` from now on; its old bundle is the caller's to correct.
    fn hand_over(&mut self, stream: u32, to: u32, now: Time) {
        let due = self.clock(to, now).more(self.left(stream, now));
        self.bundles.insert(to, (due, stream));
        (self.all[stream as usize].due, self.all[stream as usize].bundle) = (due, to);
    }

    /// Tracks link `at` again.
    pub fn track(&mut self, at: u32, now: Time) {
        let streams = std::mem::take(&mut self.links.entries[at as usize]);
        let capacity = self.links.capacities[at as usize];
        let link = &mut self.links.all[at as usize];
        (link.is_bounded, link.spare, link.touched) = (false, capacity as i64, 0);
        (link.keeps, link.held, link.fresh, link.top) = (0, 0, 0, 0);
        link.patience = (link.patience + 1).min(31);
        for entry in streams {
            self.split(entry.number, now);
            let rate = self.bundle_rate(self.all[entry.number as usize].bundle);
            let link = &mut self.links.all[at as usize];
            if rate == Rate::INFINITE {
                link.fresh += 1;
            } else {
                link.spare -= self.classes.weight(link.class, entry.regime).takes(rate) as i64;
                link.top = link.top.max(rate.0);
            }
        }
        self.change(at);
    }

    /// The flow of `stream`, which crosses one more tracked link, leaves its bundle for one over that link, too.
    fn split(&mut self, stream: u32, now: Time) {
        let Stream { due, bundle: before, .. } = self.all[stream as usize];
        let regime = self.find_key(stream);
        let Bundle { bottleneck, shift, .. } = self.bundles.all[before as usize];
        let to = match self.bundles.find(&self.key) {
            Some(known) => {
                let most = [before, known].map(|bundle| self.bundles.bounds[bundle as usize].most);
                let rates = [before, known].map(|bundle| self.bundle_rate(bundle));
                for hop in self.bundles.all[before as usize].hops() {
                    self.take_instead(self.hops[hop], regime, rates, 1);
                }
                self.hand_over(stream, known, now);
                self.reckon(stream, most[0], most[1]);
                known
            }
            None => {
                let bundle = self.open_shared((due, stream), regime);
                self.place(bundle);
                self.bundles.all[bundle as usize].shift = shift;
                self.bundles.rates[bundle as usize] = self.bundles.rates[before as usize];
                self.bundles.bounds[bundle as usize] = self.bundles.bounds[before as usize];
                self.all[stream as usize].bundle = bundle;
                if bottleneck != NONE {
                    self.put_behind(bundle, bottleneck);
                }
                bundle
            }
        };
        if bottleneck != NONE {
            self.links.all[bottleneck as usize].keeps -= 1;
            self.links.all[self.bundles.all[to as usize].bottleneck as usize].keeps += 1;
            self.note(bottleneck);
        }
        self.follow_first(to);
        if self.bundles.counts[before as usize] > 1 {
            self.bundles.remove(before, (due, stream));
            self.follow_first(before);
            return;
        }
        for place in self.bundles.all[before as usize].hops() {
            let (link, mut position) = (self.hops[place], self.positions[place]);
            if link == bottleneck {
                position = self.release(link, position);
            }
            self.remove(link, position);
        }
        self.close_bundle(before);
    }

    /// A new bundle on its links is held back by `bottleneck`; its flows are the caller's to count.
    fn put_behind(&mut self, bundle: u32, bottleneck: u32) {
        let hops = self.bundles.all[bundle as usize].hops();
        let hop = hops.clone().find(|hop| self.hops[*hop] == bottleneck).expect("its bottleneck is tracked");
        let own = &mut self.bundles.all[bundle as usize];
        (own.bottleneck, own.hop) = (bottleneck, hop as u32);
        let link = &mut self.links.all[bottleneck as usize];
        link.held += 1;
        let last = link.held - 1;
        self.swap(bottleneck, self.positions[hop], last);
    }
}
