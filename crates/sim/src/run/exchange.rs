//! What domains hand each other at the end of a window: mail, and a note of where each stands.
//!
//! Mail and notes of two windows are kept apart, so that one barrier for each window is enough: who is
//! already in the next window writes where nobody reads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use engine::Time;
use network::Crossing;

/// From one domain to another.
#[derive(Debug, Default)]
pub struct Mail {
    /// Of the network.
    pub crossings: Vec<Crossing>,
    /// Of the ranks.
    pub letters: Vec<Arc<[u64]>>,
}

/// Where a domain stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Note {
    /// When its first event is due, or the first that it has sent to another domain.
    pub next: Time,
    /// Events handled.
    pub events: u64,
    /// See [`mpi::Source::share_done`].
    pub share_done: Option<f64>,
    /// Whether it can or may not go on.
    pub ends: bool,
}

/// A note that another thread reads; in a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Pinned {
    next: AtomicU64,
    events: AtomicU64,
    /// Bits of a number; all set where it cannot be told.
    share_done: AtomicU64,
    ends: AtomicU64,
}

/// The mail and notes of all domains.
#[derive(Debug)]
pub struct Exchange {
    domains: usize,
    /// By window's parity, sender, receiver. Locks are never contended: windows keep users apart.
    mail: [Vec<Mutex<Mail>>; 2],
    notes: [Vec<Pinned>; 2],
}

const UNKNOWN: u64 = u64::MAX;

impl Exchange {
    /// For so many domains.
    pub fn new(domains: usize) -> Exchange {
        let mail = || (0..domains * domains).map(|_| Mutex::default()).collect();
        let notes = || (0..domains).map(|_| Pinned::default()).collect();
        Exchange { domains, mail: [mail(), mail()], notes: [notes(), notes()] }
    }

    /// Lets `use_it` fill or empty the mail of one pair.
    pub fn mail<R>(&self, parity: usize, from: usize, to: usize, use_it: impl FnOnce(&mut Mail) -> R) -> R {
        let mail = &self.mail[parity][from * self.domains + to];
        use_it(&mut mail.lock().expect("nobody panics with the mail in hand"))
    }

    /// Leaves the note of `domain`.
    pub fn post(&self, parity: usize, domain: usize, note: Note) {
        let pinned = &self.notes[parity][domain];
        pinned.next.store(note.next.0, Ordering::Relaxed);
        pinned.events.store(note.events, Ordering::Relaxed);
        pinned.share_done.store(note.share_done.map_or(UNKNOWN, f64::to_bits), Ordering::Relaxed);
        pinned.ends.store(note.ends.into(), Ordering::Relaxed);
    }

    /// All notes as one: the first event, the sum of events, the largest share, whether any ends.
    pub fn all(&self, parity: usize) -> Note {
        let mut all = Note { next: Time::NEVER, events: 0, share_done: None, ends: false };
        for pinned in &self.notes[parity] {
            let share = pinned.share_done.load(Ordering::Relaxed);
            let share = (share != UNKNOWN).then(|| f64::from_bits(share));
            all.next = all.next.min(Time(pinned.next.load(Ordering::Relaxed)));
            all.events += pinned.events.load(Ordering::Relaxed);
            all.ends |= pinned.ends.load(Ordering::Relaxed) != 0;
            // Those that do not have the rank by which a source tells stand at the beginning.
            all.share_done = match (all.share_done, share) {
                (Some(one), Some(other)) => Some(one.max(other)),
                (one, other) => one.or(other),
            };
        }
        all
    }
}
