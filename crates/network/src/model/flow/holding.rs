//! Bundles and the links that hold them back: each link has those first among its entries.

use engine::Time;

use super::slack::EXACT;
use super::streams::{NONE, Streams};
use crate::model::rate::Work;

impl Streams {
    /// Link `at` holds its bundle at `position` back instead of the one that did so far, or from the start.
    pub fn hold_back(&mut self, at: u32, position: u32, now: Time) {
        let entry = self.links.entries[at as usize][position as usize];
        let count = self.bundles.counts[entry.number as usize];
        let (clock, own) = (self.links.clock(at, now), self.clock(entry.number, now));
        let bundle = &self.bundles.all[entry.number as usize];
        let (bottleneck, hop) = (bundle.bottleneck, bundle.hop);
        // A single flow that has ended a part of a picosecond ago ends now.
        let first = bundle.on_own(bundle.first_due());
        let passed = if count == 1 { Work(own.0.min(first.0)) } else { own };
        if bottleneck == NONE {
            self.hops[entry.hops()].iter().for_each(|at| self.links.all[*at as usize].fresh -= count);
        } else {
            self.unkeep(bottleneck, count);
            self.release(bottleneck, self.positions[hop as usize]);
        }
        let bundle = &mut self.bundles.all[entry.number as usize];
        bundle.shift = clock.shifted_back(passed);
        (bundle.bottleneck, bundle.hop) = (at, entry.place() as u32);
        self.links.entries[at as usize][position as usize].due = bundle.first_due();
        let link = &mut self.links.all[at as usize];
        link.keeps += count;
        link.held += 1;
        let last = link.held - 1;
        self.swap(at, position, last);
    }

    /// The bottleneck of a bundle learns its first end.
    pub fn follow_first(&mut self, bundle: u32) {
        let bundle = &self.bundles.all[bundle as usize];
        if bundle.bottleneck != NONE {
            let position = self.positions[bundle.hop as usize];
            self.links.entries[bundle.bottleneck as usize][position as usize].due = bundle.first_due();
        }
    }

    /// Link `at` holds `count` flows less back. One with slack may not be put in order for that, and then looks for the
    /// next end.
    pub fn unkeep(&mut self, at: u32, count: u32) {
        self.links.all[at as usize].keeps -= count;
        if self.links.all[at as usize].slack != EXACT {
            self.note(at);
        }
    }

    /// Link `at` no longer holds its bundle at `position` back. Gives its new position; the flows are the caller's to
    /// count.
    pub fn release(&mut self, at: u32, position: u32) -> u32 {
        let link = &mut self.links.all[at as usize];
        link.held -= 1;
        let last = link.held;
        self.swap(at, position, last);
        last
    }

    /// Swaps two entries of link `at`.
    pub fn swap(&mut self, at: u32, one: u32, other: u32) {
        let entries = &mut self.links.entries[at as usize];
        entries.swap(one as usize, other as usize);
        self.positions[entries[one as usize].place()] = one;
        self.positions[entries[other as usize].place()] = other;
    }

    /// The position of a stream or a bundle on the link of its hop `hop`.
    pub fn position(&self, hop: usize) -> u32 {
        self.positions[hop]
    }

    /// Notes that among the streams that link `at` holds back another may end first.
    pub fn note(&mut self, at: u32) {
        let link = &mut self.links.all[at as usize];
        if !link.noted {
            link.noted = true;
            self.noted.push(at);
        }
    }
}
