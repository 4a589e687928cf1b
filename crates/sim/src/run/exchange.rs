//! Exchange between domains at the end of a window: mail, and a note with the progress of each.
//!
//! Mail and notes of two windows are separate, so that one barrier for each window is enough: a domain that is
//! already in the next window writes where nobody reads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use engine::{Duration, Time};
use mpi::{Issued, Rank};
use network::Crossing;

use super::peers::Parcel;
use super::progress::{Look, Progress, share_done};

/// Words of a note.
pub const NOTE_WORDS: usize = 11;

/// Mail from one domain to another.
#[derive(Debug, Default)]
pub struct Mail {
    /// Messages of the network.
    pub crossings: Vec<Crossing>,
    /// Messages of the ranks.
    pub domain_messages: Vec<Arc<[u64]>>,
    /// Contents for the source, from other processes.
    pub contents: Vec<Box<[u8]>>,
}

/// Word that stands for an unknown number, or for no rank.
const UNKNOWN: u64 = u64::MAX;
const NOBODY: (Time, Rank) = (Time::NEVER, Rank(u32::MAX));
/// Bits of the flags.
const ENDS: u64 = 1;
const LOOKS: u64 = 2;

/// Progress of a domain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Note {
    /// Time of its first event, or of the first message that it has sent to another domain.
    pub next: Time,
    /// See [`network::NetworkPart::current_lookahead`].
    pub lookahead: Duration,
    /// Events handled.
    pub events: u64,
    /// See [`mpi::Source::issued`].
    pub issued: Option<Issued>,
    /// See [`mpi::world::World::announced`].
    pub announced: u64,
    /// See [`mpi::world::World::moved`].
    pub moved: u64,
    /// True if it cannot or must not go on.
    pub ends: bool,
    /// True if a monitor wants a closer look at all domains.
    pub looks: bool,
    /// Number of ranks that have not finished.
    pub unfinished: u32,
    /// Messages sent minus those received, modulo 2⁶⁴: the sum over all domains is the number in flight.
    pub in_flight: u64,
    /// Rank that is furthest behind, and the time that it has reached, if requested.
    pub behind: Option<(Time, Rank)>,
}

/// A note that another thread reads; in a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Pinned([AtomicU64; NOTE_WORDS]);

/// Mail and notes of the domains of this process.
#[derive(Debug)]
pub struct Exchange {
    domains: usize,
    /// Mail by parity of the window, then sender and receiver; one more sender stands for all other processes. Locks
    /// are never contended: windows separate their users.
    mail: [Vec<Mutex<Mail>>; 2],
    notes: [Vec<Pinned>; 2],
    /// Sum of the notes of all processes, if there are others.
    total: [Pinned; 2],
    /// Outgoing bytes, by parity of the window and process.
    parcels: [Vec<Mutex<Parcel>>; 2],
}

impl Pinned {
    fn set(&self, note: Note) {
        let words = self.0.iter().zip(note.words());
        words.for_each(|(pinned, word)| pinned.store(word, Ordering::Relaxed));
    }

    fn get(&self) -> Note {
        Note::from_words(std::array::from_fn(|word| self.0[word].load(Ordering::Relaxed)))
    }
}

impl Note {
    /// Neutral note, of no domain.
    pub const NOTHING: Note = Note {
        next: Time::NEVER,
        lookahead: Duration(u64::MAX),
        events: 0,
        issued: Some(Issued { given: 0.0, all: 0.0 }),
        announced: 0,
        moved: 0,
        ends: false,
        looks: false,
        unfinished: 0,
        in_flight: 0,
        behind: None,
    };

    fn flags(&self) -> u64 {
        (ENDS * u64::from(self.ends)) | (LOOKS * u64::from(self.looks))
    }

    /// Encodes the note as words that [`Note::from_words`] reads.
    pub fn words(&self) -> [u64; NOTE_WORDS] {
        let (reached, behind) = self.behind.unwrap_or(NOBODY);
        let [given, all] = self.issued.map_or([UNKNOWN; 2], |of| [of.given.to_bits(), of.all.to_bits()]);
        let ranks = u64::from(self.unfinished) << 32 | u64::from(behind.0);
        let (next, lookahead, in_flight) = (self.next.0, self.lookahead.0, self.in_flight);
        let (announced, moved) = (self.announced, self.moved);
        [
            next,
            lookahead,
            self.events,
            given,
            all,
            announced,
            moved,
            self.flags(),
            in_flight,
            reached.0,
            ranks,
        ]
    }

    /// Decodes the words of [`Note::words`].
    pub fn from_words(words: [u64; NOTE_WORDS]) -> Note {
        let [next, lookahead, events, given, all, announced, moved, flags, in_flight, reached, ranks] = words;
        let behind = (Time(reached), Rank(ranks as u32));
        Note {
            next: Time(next),
            lookahead: Duration(lookahead),
            events,
            issued: (all != UNKNOWN)
                .then(|| Issued { given: f64::from_bits(given), all: f64::from_bits(all) }),
            announced,
            moved,
            ends: flags & ENDS != 0,
            looks: flags & LOOKS != 0,
            unfinished: (ranks >> 32) as u32,
            in_flight,
            behind: (behind != NOBODY).then_some(behind),
        }
    }

    /// Merges two notes: the earlier first event, the shorter lookahead, the sums of the counts, and the wishes of both.
    fn and(self, other: Note) -> Note {
        Note {
            next: self.next.min(other.next),
            lookahead: self.lookahead.min(other.lookahead),
            events: self.events + other.events,
            issued: self.issued.zip(other.issued).map(|(one, other)| one.and(other)),
            announced: self.announced + other.announced,
            moved: self.moved + other.moved,
            ends: self.ends || other.ends,
            looks: self.looks || other.looks,
            unfinished: self.unfinished + other.unfinished,
            in_flight: self.in_flight.wrapping_add(other.in_flight),
            behind: self.behind.into_iter().chain(other.behind).min(),
        }
    }

    /// Progress of the run at `now`, if this is the sum over all of its domains; with a closer look if one was
    /// requested.
    pub fn progress(&self, now: Time, looked: bool) -> Progress {
        let Note { events, issued, announced, moved, unfinished, in_flight, behind, .. } = *self;
        let look = looked.then_some(Look { unfinished, in_flight, behind });
        Progress { now, events, share_done: share_done(issued, announced, moved), look }
    }
}

impl Exchange {
    /// Makes the exchange of `domains` domains in this process, one of `processes`.
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

    /// Calls `use_it` with the mail of a pair, to fill or empty it; `from` is the number of domains for other
    /// processes.
    pub fn mail<R>(&self, parity: usize, from: usize, to: usize, use_it: impl FnOnce(&mut Mail) -> R) -> R {
        let mail = &self.mail[parity][from * self.domains + to];
        use_it(&mut mail.lock().expect("nobody panics with the mail in hand"))
    }

    /// Calls `use_it` with the parcel for another process, to fill or empty it.
    pub fn parcel<R>(&self, parity: usize, process: usize, use_it: impl FnOnce(&mut Parcel) -> R) -> R {
        use_it(&mut self.parcels[parity][process].lock().expect("nobody panics with a parcel in hand"))
    }

    /// Stores the note of `domain`.
    pub fn post(&self, parity: usize, domain: usize, note: Note) {
        self.notes[parity][domain].set(note);
    }

    /// Sum of all notes of this process.
    pub fn here(&self, parity: usize) -> Note {
        self.notes[parity].iter().map(Pinned::get).fold(Note::NOTHING, Note::and)
    }

    /// Stores the sum of the notes of all processes.
    pub fn post_total(&self, parity: usize, notes: impl Iterator<Item = Note>) {
        self.total[parity].set(notes.fold(Note::NOTHING, Note::and));
    }

    /// Sum that [`Exchange::post_total`] has stored.
    pub fn total(&self, parity: usize) -> Note {
        self.total[parity].get()
    }
}
