//! Ranks in several processes: what they tell each other beside the simulator's messages.
//!
//! A message with contents for a rank in another process, and what a member gives to a collective that has members there,
//! go there with the next exchange of the simulator: what completes after that depends on nothing that was given later.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use mpi::operation::{CommId, Data};

use super::meeting::{Cut, Given, Key};
use crate::abi::error::{Answer, Class, Error};

/// Bit of the numbers of contents that came from another process.
pub const EXPORTED: Data = 1 << 63;

/// Exchange with the ranks of other processes.
pub struct Spread {
    me: u32,
    process_of_rank: Vec<u32>,
    sent: Cell<u64>,
    outgoing: RefCell<BTreeMap<u32, Vec<u8>>>,
}

/// Item from another process.
pub enum Item {
    /// Contents of a message, by its number.
    Message(Data, Box<[u8]>),
    /// Contribution of a member to a collective: which, how many places it has, at which place.
    Given(Key, usize, usize, Given),
}

const MESSAGE: u64 = 0;
const GIVEN: u64 = 1;

impl Spread {
    /// Exchange of the process `me`.
    pub fn new(me: u32, process_of_rank: Vec<u32>) -> Spread {
        Spread { me, process_of_rank, sent: Cell::new(0), outgoing: RefCell::default() }
    }

    /// Sends the contents of a message to the process of `receiver`; gives their number there.
    pub fn send(&self, receiver: u32, contents: &[u8]) -> Data {
        self.sent.set(self.sent.get() + 1);
        let number = EXPORTED | u64::from(self.me) << 44 | self.sent.get();
        let mut outgoing = self.outgoing.borrow_mut();
        let to = outgoing.entry(self.process_of_rank[receiver as usize]).or_default();
        words(to, &[MESSAGE, number]);
        block(to, contents);
        number
    }

    /// Sends the contribution of the member at `place` of so many to these processes.
    pub fn give(&self, to: &[u32], key: Key, (places, place): (u32, u32), given: &Given) {
        let mut outgoing = self.outgoing.borrow_mut();
        for process in to {
            let to = outgoing.entry(*process).or_default();
            let Key { comm, first, number } = key;
            words(to, &[GIVEN, comm.0.into(), first.into(), number, places.into(), place.into()]);
            match &given.cut {
                Cut::Whole => words(to, &[0]),
                Cut::Equal(each) => words(to, &[1, *each as u64]),
                Cut::At(starts) => {
                    words(to, &[2, starts.len() as u64]);
                    starts.iter().for_each(|start| words(to, &[*start as u64]));
                }
            }
            block(to, &given.bytes);
        }
    }

    /// The other processes that have some of these ranks, ascending.
    pub fn others(&self, ranks: impl Iterator<Item = u32>) -> Box<[u32]> {
        let processes = ranks.map(|rank| self.process_of_rank[rank as usize]);
        let others: BTreeSet<u32> = processes.filter(|process| *process != self.me).collect();
        others.into_iter().collect()
    }

    /// Takes what goes to other processes.
    pub fn take(&self) -> Vec<(u32, Vec<u8>)> {
        std::mem::take(&mut *self.outgoing.borrow_mut()).into_iter().collect()
    }
}

/// Refuses what needs one memory, where ranks are in several processes.
pub fn refuse(spread: Option<&Spread>, what: &str) -> Answer {
    if spread.is_none() {
        return Ok(());
    }
    let reason = format!("{what} needs all ranks in one process: start hopcast without mpiexec");
    Err(Error::new(Class::UNSUPPORTED_OPERATION, reason))
}

fn words(to: &mut Vec<u8>, words: &[u64]) {
    words.iter().for_each(|word| to.extend_from_slice(&word.to_le_bytes()));
}

fn block(to: &mut Vec<u8>, bytes: &[u8]) {
    words(to, &[bytes.len() as u64]);
    to.extend_from_slice(bytes);
}

/// Items that another process has sent.
pub struct Opened<'a>(pub &'a [u8]);

impl Opened<'_> {
    fn word(&mut self) -> u64 {
        let (word, left) = self.0.split_first_chunk().expect("what was sent is whole");
        self.0 = left;
        u64::from_le_bytes(*word)
    }

    fn block(&mut self) -> Box<[u8]> {
        let length = self.word() as usize;
        let (block, left) = self.0.split_at(length);
        self.0 = left;
        block.into()
    }

    fn cut(&mut self) -> Cut {
        match self.word() {
            0 => Cut::Whole,
            1 => Cut::Equal(self.word() as usize),
            _ => {
                let starts = self.word();
                Cut::At((0..starts).map(|_| self.word() as usize).collect())
            }
        }
    }
}

impl Iterator for Opened<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        if self.0.is_empty() {
            return None;
        }
        if self.word() == MESSAGE {
            return Some(Item::Message(self.word(), self.block()));
        }
        let key = Key { comm: CommId(self.word() as u32), first: self.word() as u32, number: self.word() };
        let (places, place, cut) = (self.word() as usize, self.word() as usize, self.cut());
        Some(Item::Given(key, places, place, Given { bytes: self.block(), cut }))
    }
}
