//! Communication between the processes of a run, and its encoding as bytes.

use std::ops::Range;
use std::sync::Arc;

use engine::{Key, Time};
use network::Crossing;

use super::exchange::{NOTE_WORDS, Note};

/// Processes of a run, each with some of its domains. All of them make the same calls in the same order; a process
/// that cannot go on ends all of them.
pub trait Peers {
    /// Number of processes.
    fn count(&self) -> u32;
    /// Number of this process.
    fn rank(&self) -> u32;
    /// Sends each process its bytes, by process, and returns those that each has sent to this one.
    fn exchange(&mut self, to: &[Vec<u8>]) -> Vec<Vec<u8>>;
    /// Sends these bytes to all processes, and returns those of all, by process.
    fn share(&mut self, bytes: Vec<u8>) -> Vec<Vec<u8>>;
}

/// A run in a single process.
pub struct SingleProcess;

impl Peers for SingleProcess {
    fn count(&self) -> u32 {
        1
    }
    fn rank(&self) -> u32 {
        0
    }
    fn exchange(&mut self, to: &[Vec<u8>]) -> Vec<Vec<u8>> {
        to.to_vec()
    }
    fn share(&mut self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        vec![bytes]
    }
}

/// Range of the domains of one process, of `domains` in `processes`: sizes differ by at most one.
pub fn domains_of(process: u32, processes: u32, domains: u32) -> Range<u32> {
    let first = |process: u32| (u64::from(process) * u64::from(domains) / u64::from(processes)) as u32;
    first(process)..first(process + 1)
}

/// Words for another process.
#[derive(Debug, Default, Clone)]
pub struct Parcel(Vec<u8>);

const CROSSING: u64 = 0;
const LETTER: u64 = 1;
const CONTENTS: u64 = 2;

impl Parcel {
    fn word(&mut self, word: u64) {
        self.0.extend_from_slice(&word.to_le_bytes());
    }

    /// Adds a crossing.
    pub fn crossing(&mut self, crossing: &Crossing) {
        self.word(CROSSING << 32 | u64::from(crossing.to));
        self.word(crossing.at.0);
        self.word(crossing.key.word());
        crossing.words.iter().for_each(|word| self.word(*word));
    }

    /// Adds a message of a world for the domain `to`.
    pub fn domain_message(&mut self, to: u32, words: &[u64]) {
        self.word(LETTER << 32 | u64::from(to));
        self.word(words.len() as u64);
        words.iter().for_each(|word| self.word(*word));
    }

    /// Adds contents for the source of the process.
    pub fn contents(&mut self, contents: &[u8]) {
        self.word(CONTENTS << 32);
        self.word(contents.len() as u64);
        self.0.extend_from_slice(contents);
    }

    /// Takes the bytes for the process, with `note` in front, and leaves the parcel empty.
    pub fn seal(&mut self, note: &Note) -> Vec<u8> {
        let mut sealed = Parcel(Vec::with_capacity(self.0.len() + 8 * NOTE_WORDS));
        note.words().into_iter().for_each(|word| sealed.word(word));
        sealed.0.append(&mut self.0);
        sealed.0
    }
}

/// Contents of a sealed parcel, item by item.
pub struct Opened<'a> {
    left: &'a [u8],
}

/// An item of a parcel.
pub enum Item {
    /// Message of the network.
    Crossing(Crossing),
    /// Message of the ranks, for this domain.
    DomainMessage(u32, Arc<[u64]>),
    /// Contents for the source.
    Contents(Box<[u8]>),
}

impl<'a> Opened<'a> {
    /// Splits sealed bytes into the note and the items.
    pub fn new(sealed: &'a [u8]) -> (Note, Opened<'a>) {
        let mut opened = Opened { left: sealed };
        (Note::from_words(std::array::from_fn(|_| opened.word())), opened)
    }

    fn word(&mut self) -> u64 {
        let (word, left) = self.left.split_first_chunk().expect("a parcel is whole");
        self.left = left;
        u64::from_le_bytes(*word)
    }
}

impl Iterator for Opened<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        if self.left.is_empty() {
            return None;
        }
        let head = self.word();
        let to = head as u32;
        Some(match head >> 32 {
            LETTER => {
                let length = self.word();
                Item::DomainMessage(to, (0..length).map(|_| self.word()).collect())
            }
            CONTENTS => {
                let length = self.word() as usize;
                let (contents, left) = self.left.split_at(length);
                self.left = left;
                Item::Contents(contents.into())
            }
            _ => {
                let (at, key) = (Time(self.word()), Key::from_word(self.word()));
                Item::Crossing(Crossing { to, at, key, words: std::array::from_fn(|_| self.word()) })
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Duration;
    use mpi::{Issued, Rank};
    use network::CROSSING_WORDS;

    #[test]
    fn what_is_sealed_is_opened() {
        let crossing = |to| Crossing {
            to,
            at: Time(9),
            key: Key::from_word(u64::MAX - 1),
            words: [to.into(); CROSSING_WORDS],
        };
        for issued in [None, Some(Issued::default()), Some(Issued { given: 0.75, all: 2.0 })] {
            let behind = issued.map(|_| (Time(5), Rank(6)));
            let (ends, looks) = (behind.is_some(), behind.is_none());
            let (next, lookahead, in_flight) = (Time::NEVER, Duration(7), u64::MAX);
            let (announced, moved, unfinished) = (9, 8, u32::MAX);
            let note = Note {
                next,
                lookahead,
                events: 7,
                issued,
                announced,
                moved,
                ends,
                looks,
                unfinished,
                in_flight,
                behind,
            };
            let mut parcel = Parcel::default();
            parcel.crossing(&crossing(3));
            parcel.domain_message(u32::MAX, &[]);
            parcel.domain_message(5, &[1, u64::MAX]);
            parcel.contents(b"odd");
            parcel.crossing(&crossing(4));
            let sealed = parcel.seal(&note);
            let (read, opened) = Opened::new(&sealed);
            let items: Vec<String> = opened
                .map(|item| match item {
                    Item::Crossing(crossing) => format!("{crossing:?}"),
                    Item::DomainMessage(to, words) => format!("{to}: {words:?}"),
                    Item::Contents(contents) => format!("{contents:?}"),
                })
                .collect();
            let expected = [
                format!("{:?}", crossing(3)),
                format!("{}: []", u32::MAX),
                format!("5: [1, {}]", u64::MAX),
                format!("{:?}", b"odd"),
                format!("{:?}", crossing(4)),
            ];
            assert_eq!((read, items), (note, expected.to_vec()));
            assert_eq!(parcel.seal(&note).len(), 8 * NOTE_WORDS);
        }
    }

    #[test]
    fn domains_are_shared_out() {
        for (processes, domains) in [(1, 1), (2, 3), (3, 8), (3, 3)] {
            let all: Vec<u32> =
                (0..processes).flat_map(|process| domains_of(process, processes, domains)).collect();
            assert_eq!(all, (0..domains).collect::<Vec<_>>());
            assert!((0..processes).all(|process| !domains_of(process, processes, domains).is_empty()));
        }
    }
}
