//! Bundles: flows that cross the same tracked links, and therefore have the same rate.
//!
//! The computation of shares looks at bundles, not at flows, and only at tracked links (see `bounds.rs`): its cost does
//! not grow with the number of flows that meet the same limits. A stream whose links are all tracked, and of which none has been
//! crowded and still has slack (see `slack.rs`), has a bundle of its own.
//!
//! A bundle has a clock, which shows the work that each of its flows would have moved since the bundle got its first
//! rate: a flow ends when the clock has grown by its size. On the clock of the bottleneck this is shifted by a constant,
//! so neither a new rate nor a new bottleneck touches the flows.

use std::collections::BTreeSet;
use std::ops::Range;

use engine::hash::Map;

use super::streams::NONE;
use crate::model::rate::{Rate, Work};

/// End of a flow on the bundle's clock, and its stream.
type End = (Work, u32);

/// Flows of one regime over the same tracked links.
#[derive(Debug)]
pub(super) struct Bundle {
    /// The flow that ends first.
    first: End,
    /// All others.
    rest: BTreeSet<End>,
    /// Difference from the bundle's clock to that of its bottleneck; it may wrap around.
    pub shift: Work,
    /// The link that holds it back: its level is the bundle's rate. `NONE` until it is computed first.
    pub bottleneck: u32,
    /// The hop on the bottleneck; the first one until there is one.
    pub hop: u32,
    /// Its hops over tracked links: where they begin, and how many.
    pub path: (u32, u16),
    pub regime: u8,
    /// True if its hops are its own and streams are looked up by them; else they are those of its only stream.
    pub is_shared: bool,
}

impl Bundle {
    /// The hops, as a range of [`super::streams::Streams::hops`].
    pub fn hops(&self) -> Range<usize> {
        self.path.0 as usize..self.path.0 as usize + usize::from(self.path.1)
    }

    /// End of the first flow on the clock of the bottleneck.
    pub fn first_due(&self) -> Work {
        self.on_bottleneck(self.first.0)
    }

    /// Reading of the bottleneck's clock when that of the bundle shows `due`.
    pub fn on_bottleneck(&self, due: Work) -> Work {
        due.shifted(self.shift)
    }

    /// The opposite of [`Bundle::on_bottleneck`].
    pub fn on_own(&self, due: Work) -> Work {
        due.shifted_back(self.shift)
    }

    /// Streams of the flows, that of the first end first.
    pub fn streams(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::once(self.first.1).chain(self.rest.iter().map(|(_, stream)| *stream))
    }

    /// Streams whose flows end when the bottleneck's clock shows `reached` or before.
    pub fn ending(&self, reached: Work) -> impl Iterator<Item = u32> + '_ {
        let ends = std::iter::once(&self.first).chain(&self.rest);
        ends.take_while(move |(due, _)| self.on_bottleneck(*due) <= reached).map(|(_, stream)| *stream)
    }
}

/// Rates for which what bounded links reckon with need not change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    least: Rate,
    /// Rate that bounded links reckon with.
    pub most: Rate,
}

impl Bound {
    /// Bound of a bundle whose streams cross no bounded link.
    const ANY: Bound = Bound { least: Rate(0), most: Rate::INFINITE };
    /// Bound of a bundle without a rate.
    const NONE: Bound = Bound { least: Rate(0), most: Rate(0) };

    /// Bound with room around `rate`: a rate that changes little by little moves it now and then.
    pub fn around(rate: Rate) -> Bound {
        Bound { least: Rate(rate.0 / 2), most: Rate(rate.0 + rate.0 / 4) }
    }

    pub fn holds(self, rate: Rate) -> bool {
        self.least <= rate && rate <= self.most
    }
}

/// All bundles.
#[derive(Debug, Default)]
pub(super) struct Bundles {
    pub all: Vec<Bundle>,
    /// max-min: rate of each, infinite until it is computed first.
    pub rates: Vec<Rate>,
    /// Number of flows of each.
    pub counts: Vec<u32>,
    pub bounds: Vec<Bound>,
    unused: Vec<u32>,
    /// Shared bundles by the links of their hops and, last, their regime.
    numbers: Map<Box<[u32]>, u32>,
}

impl Bundles {
    /// The shared bundle of `key`, if there is one.
    pub fn find(&self, key: &[u32]) -> Option<u32> {
        self.numbers.get(key).copied()
    }

    /// Makes a bundle of one flow, without a rate; shared if there is a `key`.
    pub fn open(&mut self, path: (u32, u16), regime: u8, first: End, key: Option<&[u32]>) -> u32 {
        let is_shared = key.is_some();
        let bound = if is_shared { Bound::NONE } else { Bound::ANY };
        let (shift, bottleneck, hop) = (Work::ZERO, NONE, path.0);
        let number = if let Some(number) = self.unused.pop() {
            let rest = std::mem::take(&mut self.all[number as usize].rest);
            self.all[number as usize] =
                Bundle { first, rest, shift, bottleneck, hop, path, regime, is_shared };
            self.rates[number as usize] = Rate::INFINITE;
            self.counts[number as usize] = 1;
            self.bounds[number as usize] = bound;
            number
        } else {
            let rest = BTreeSet::new();
            self.all.push(Bundle { first, rest, shift, bottleneck, hop, path, regime, is_shared });
            self.rates.push(Rate::INFINITE);
            self.counts.push(1);
            self.bounds.push(bound);
            self.all.len() as u32 - 1
        };
        if let Some(key) = key {
            self.numbers.insert(key.into(), number);
        }
        number
    }

    /// The bundle that a stream has had to itself before is that of its next flow, without a rate.
    pub fn open_again(&mut self, number: u32, regime: u8, first: End) {
        let bundle = &mut self.all[number as usize];
        (bundle.first, bundle.regime, bundle.shift) = (first, regime, Work::ZERO);
        (bundle.bottleneck, bundle.hop) = (NONE, bundle.path.0);
        self.rates[number as usize] = Rate::INFINITE;
    }

    /// Forgets a bundle whose flows have all gone; `key` if it is shared.
    pub fn close(&mut self, number: u32, key: Option<&[u32]>) {
        if let Some(key) = key {
            self.numbers.remove(key);
        }
        self.all[number as usize].rest.clear();
        self.unused.push(number);
    }

    /// A private bundle becomes a shared one, or a shared one crosses other links from now on.
    pub fn rename(&mut self, number: u32, before: Option<&[u32]>, key: &[u32]) {
        if let Some(before) = before {
            self.numbers.remove(before);
        }
        self.numbers.insert(key.into(), number);
        self.all[number as usize].is_shared = true;
    }

    /// Adds a flow that ends at `end`.
    pub fn insert(&mut self, number: u32, mut end: End) {
        let bundle = &mut self.all[number as usize];
        if end < bundle.first {
            std::mem::swap(&mut end, &mut bundle.first);
        }
        bundle.rest.insert(end);
        self.counts[number as usize] += 1;
    }

    /// Removes a flow that is not the only one.
    pub fn remove(&mut self, number: u32, end: End) {
        let bundle = &mut self.all[number as usize];
        if end == bundle.first {
            bundle.first = bundle.rest.pop_first().expect("another flow");
        } else {
            assert!(bundle.rest.remove(&end), "a flow is in its bundle");
        }
        self.counts[number as usize] -= 1;
    }

    /// A flow of bundle `number` that ends at `before` ends at `end` instead.
    pub fn replace(&mut self, number: u32, before: End, end: End) {
        if self.counts[number as usize] == 1 {
            self.all[number as usize].first = end;
            return;
        }
        self.remove(number, before);
        self.insert(number, end);
    }
}
