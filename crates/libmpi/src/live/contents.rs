//! Contents of messages and collectives on their way to ranks in other processes, and from them.

use mpi::operation::{CommId, Data, Rank};

use super::process::{Process, Shared};
use crate::data::meeting::{Given, Key};
use crate::data::spread::{Item, Opened};
use crate::objects::communicator::Communicator;

impl Shared {
    /// Sends the contents of a message to the process of `receiver`; gives their number there.
    pub fn export(&self, data: Data, receiver: Rank) -> Data {
        let spread = self.spread.as_ref().expect("a message leaves a process where there are others");
        let contents = self.parcels.borrow().packed(data);
        self.parcels.borrow_mut().forget(data);
        spread.send(receiver.0, &contents)
    }

    /// Receives what another process has sent.
    pub fn receive_contents(&self, contents: &[u8]) {
        for item in Opened(contents) {
            match item {
                Item::Message(number, contents) => self.parcels.borrow_mut().import(number, contents),
                Item::Given(key, places, place, given) => self.meetings.import(key, places, place, given),
            }
        }
    }
}

impl Process {
    /// Sends what this rank gives to a collective to the members in other processes.
    pub fn give_to_others(&self, comm: &Communicator, key: Key, given: &Given) {
        let Some(spread) = &self.shared.spread else { return };
        let others = comm.others.get_or_init(|| match &comm.group {
            Some(made) => {
                let member =
                    |place| made.at_place(Rank(self.rank), place).expect("a place below their number");
                spread.others((0..comm.everybody).map(|place| member(place).0))
            }
            None if comm.id == CommId::WORLD => spread.others(0..comm.size),
            None => Box::default(),
        });
        spread.give(others, key, (comm.everybody, comm.place), given);
    }
}
