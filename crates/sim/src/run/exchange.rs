//! What domains hand each other at the end of a window: mail, and a note of where each stands.
//!
//! Mail and notes of two windows are kept apart, so that one barrier for each window is enough: who is
//! already in the next window writes where nobody reads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use engine::Time;
use network::Crossing;

use super::peers::Parcel;

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

/// The mail and notes of the domains of this process.
#[derive(Debug)]
pub struct Exchange {
    domains: usize,
    /// By window's parity, then sender and receiver; one more sender stands for all other processes. Locks
    /// are never contended: windows keep users apart.
    mail: [Vec<Mutex<Mail>>; 2],
    notes: [Vec<Pinned>; 2],
    /// What all processes have noted, if there are others.
    total: [Pinned; 2],
    /// By window's parity and process: what is to go there.
    parcels: [Vec<Mutex<Parcel>>; 2],
}

const UNKNOWN: u64 = u64::MAX;

impl Pinned {
    fn set(&self, note: Note) {
        self.next.store(note.next.0, Ordering::Relaxed);
        self.events.store(note.events, Ordering::Relaxed);
        self.share_done.store(note.share_done.map_or(UNKNOWN, f64::to_bits), Ordering::Relaxed);
        self.ends.store(note.ends.into(), Ordering::Relaxed);
    }

    fn get(&self) -> Note {
        let share = self.share_done.load(Ordering::Relaxed);
        Note {
            next: Time(self.next.load(Ordering::Relaxed)),
            events: self.events.load(Ordering::Relaxed),
            share_done: (share != UNKNOWN).then(|| f64::from_bits(share)),
            ends: self.ends.load(Ordering::Relaxed) != 0,
        }
    }
}

impl Note {
    const NOTHING: Note = Note { next: Time::NEVER, events: 0, share_done: None, ends: false };

    /// Both as one: the first event, the sum of events, the largest share, whether either ends.
    fn and(self, other: Note) -> Note {
        Note {
            next: self.next.min(other.next),
            events: self.events + other.events,
            // Those that do not have the rank by which a source tells stand at the beginning.
            share_done: match (self.share_done, other.share_done) {
                (Some(one), Some(other)) => Some(one.max(other)),
                (one, other) => one.or(other),
            },
            ends: self.ends || other.ends,
        }
    }
}

impl Exchange {
    /// For so many domains in this process, of so many.
    pub fn new(domains: usize, processes: usize) -> Exchange {
        let mail = || (0..(domains + 1) * domains).map(|_| Mutex::default()).collect();
        let notes = || (0..domains).map(|_| Pinned::default()).collect();
        let parcels = || (0..processes).map(|_| Mutex::default()).collect();
        Exchange {
            domains,
            mail: [mail(), mail()],
            notes: [notes(), notes()],
            total: Default::default(),
            parcels: [parcels(), parcels()],
        }
    }

    /// Lets `use_it` fill or empty the mail of one pair; `from` is the number of domains for other processes.
    pub fn mail<R>(&self, parity: usize, from: usize, to: usize, use_it: impl FnOnce(&mut Mail) -> R) -> R {
        let mail = &self.mail[parity][from * self.domains + to];
        use_it(&mut mail.lock().expect("nobody panics with the mail in hand"))
    }

    /// Lets `use_it` fill or empty the parcel for another process.
    pub fn parcel<R>(&self, parity: usize, process: usize, use_it: impl FnOnce(&mut Parcel) -> R) -> R {
        use_it(&mut self.parcels[parity][process].lock().expect("nobody panics with a parcel in hand"))
    }

    /// Leaves the note of `domain`.
    pub fn post(&self, parity: usize, domain: usize, note: Note) {
        self.notes[parity][domain].set(note);
    }

    /// All notes of this process as one.
    pub fn here(&self, parity: usize) -> Note {
        self.notes[parity].iter().map(Pinned::get).fold(Note::NOTHING, Note::and)
    }

    /// Leaves what the notes of all processes come to.
    pub fn post_total(&self, parity: usize, notes: impl Iterator<Item = Note>) {
        self.total[parity].set(notes.fold(Note::NOTHING, Note::and));
    }

    /// What [`Exchange::post_total`] has left.
    pub fn total(&self, parity: usize) -> Note {
        self.total[parity].get()
    }
}
