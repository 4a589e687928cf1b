//! Contents of messages on their way: the simulator carries numbers, the bytes wait here.
//!
//! Short contents are packed at the send. Long ones are **lent**: they stay in the sender's memory until its
//! operation is complete. If the message has met its receive by then, as a rendezvous has, its bytes have gone from
//! the one memory to the other, in one copy; else they are packed then.

use engine::hash::Map;
use mpi::operation::Data;

use super::datatype::Layout;
use super::folded;
use super::spread::EXPORTED;
use super::touched::{Memory, Role, touching};
use crate::abi::pointers::Address;
use crate::fold;

/// From here on contents are lent \[bytes\]: below, packing costs less than keeping the books.
pub const LENT_FROM: u64 = 2048;

/// Most bytes that are kept without memory of their own: they take no more room than what is lent.
const SHORT: usize = 48;

/// Values in a program's memory.
#[derive(Debug, Clone)]
pub struct Place {
    /// Address.
    pub at: Address,
    /// Number of them.
    pub count: i64,
    /// Kind of each.
    pub layout: Layout,
}

impl Place {
    /// Is it folded memory whose contents mean nothing?
    #[inline]
    pub fn is_lost(&self) -> bool {
        fold::active() && folded::is_lost(&self.layout, self.at.pointer(), self.count)
    }

    /// Puts contents there, as far as there is room.
    pub fn put(&self, contents: &[u8]) {
        if self.is_lost() {
            return;
        }
        let room = self.layout.packed() * self.count.max(0) as usize;
        // SAFETY: the program vouches for that many values there (`Address`), and no more are written.
        unsafe { self.layout.unpack(&contents[..contents.len().min(room)], self.at.pointer()) };
    }

    /// Copies the values to another place, as far as there is room.
    pub fn copy(&self, to: &Place) {
        if to.is_lost() || self.is_lost() {
            return;
        }
        let bytes = self.layout.size * self.count.max(0) as usize;
        let room = to.layout.size * to.count.max(0) as usize;
        let from = self.at.pointer();
        // SAFETY: the program vouches for that many values at both (`Address`).
        unsafe {
            if self.layout.is_dense() {
                to.put(std::slice::from_raw_parts(from.cast_const().cast(), bytes));
            } else if to.layout.is_dense() && bytes <= room {
                self.layout.pack_into(from, self.count, to.at.pointer().cast());
            } else {
                to.put(&self.layout.pack(from, self.count));
            }
        }
    }
}

impl Place {
    /// The same for a message of `sender` to `receiver`.
    fn hand_over(&self, sender: u32, to: &Place, receiver: u32) {
        let memory = Memory::of;
        let both = [memory(sender, Role::Send, self), memory(receiver, Role::Receive, to)].map(Some);
        touching([both[0], both[1], None, None], || self.copy(to));
    }
}

/// Knowledge of contents.
enum Contents {
    /// Here they are.
    Own(Box<[u8]>),
    /// The same, of so many bytes: no memory is asked for.
    Short([u8; SHORT], u8),
    /// Kept part of folded memory, of a message of so many bytes (`fold::transfer`).
    Pieces(Box<[u8]>, u64),
    /// In the memory of this rank, the sender.
    Lent(Place, u32),
    /// In the receiver's memory already.
    Landed,
}

struct Held {
    contents: Contents,
    /// Number of those who still know it: the receiver, and the sender of what is lent.
    holders: u8,
}

/// Contents by number; 0 is none.
#[derive(Default)]
pub struct Parcels {
    held: Vec<Held>,
    free: Vec<Data>,
    /// Contents from other processes.
    imported: Map<Data, Box<[u8]>>,
}

impl Parcels {
    /// A copy of the contents of a message that goes to another process.
    pub fn packed(&self, number: Data) -> Box<[u8]> {
        match &self.held[number as usize - 1].contents {
            Contents::Own(contents) => contents.clone(),
            Contents::Short(contents, bytes) => contents[..usize::from(*bytes)].into(),
            Contents::Lent(place, sender) => {
                let (memory, mut packed) = (Memory::of(*sender, Role::Send, place), Box::default());
                touching([Some(memory), None, None, None], || {
                    // SAFETY: the program vouches for that many values there until its operation is complete (`Address`).
                    packed = unsafe { place.layout.pack(place.at.pointer(), place.count) };
                });
                packed
            }
            Contents::Pieces(..) | Contents::Landed => {
                unreachable!("memory is not folded in several processes")
            }
        }
    }

    /// Keeps contents from another process.
    pub fn import(&mut self, number: Data, contents: Box<[u8]>) {
        self.imported.insert(number, contents);
    }

    /// Keeps contents until their message has been received.
    pub fn keep(&mut self, contents: Box<[u8]>) -> Data {
        if contents.is_empty() {
            return 0;
        }
        self.hold(Held { contents: Contents::Own(contents), holders: 1 })
    }

    /// Keeps the contents of `count` values at `buffer` until their message has been received.
    pub fn pack(&mut self, layout: &Layout, buffer: Address, count: i64) -> Data {
        let bytes = layout.size * count.max(0) as usize;
        if bytes == 0 || bytes > SHORT {
            // SAFETY: the program vouches for that many values there (`Address`).
            return self.keep(unsafe { layout.pack(buffer.pointer(), count) });
        }
        let mut short = [0; SHORT];
        // SAFETY: there is room, and the program vouches for that many values there (`Address`).
        unsafe { layout.pack_into(buffer.pointer(), count, short.as_mut_ptr()) };
        self.hold(Held { contents: Contents::Short(short, bytes as u8), holders: 1 })
    }

    /// Keeps what is kept of folded memory, of a message of so many bytes.
    pub fn keep_pieces(&mut self, pieces: Box<[u8]>, bytes: u64) -> Data {
        if pieces.is_empty() {
            return 0;
        }
        self.hold(Held { contents: Contents::Pieces(pieces, bytes), holders: 1 })
    }

    /// Takes note of contents in the memory of `sender`, which stay there until [`Parcels::settle`].
    pub fn lend(&mut self, from: Place, sender: u32) -> Data {
        self.hold(Held { contents: Contents::Lent(from, sender), holders: 2 })
    }

    fn hold(&mut self, held: Held) -> Data {
        match self.free.pop() {
            Some(number) => {
                self.held[number as usize - 1] = held;
                number
            }
            None => {
                self.held.push(held);
                self.held.len() as Data
            }
        }
    }

    /// The sender may use the memory again that it has lent: until now its operation has not been complete.
    pub fn settle(&mut self, number: Data) {
        let held = &mut self.held[number as usize - 1];
        if let (Contents::Lent(place, _), 2) = (&held.contents, held.holders) {
            // SAFETY: the program vouches for that many values there until now (`Address`).
            held.contents = Contents::Own(unsafe { place.layout.pack(place.at.pointer(), place.count) });
        }
        self.let_go(number);
    }

    /// Are they in the sender's memory still?
    #[inline]
    pub fn is_lent(&self, number: Data) -> bool {
        let held = (number as usize).checked_sub(1).and_then(|index| self.held.get(index));
        held.is_some_and(|held| matches!(held.contents, Contents::Lent(..)))
    }

    /// The message goes to that place of `receiver` for certain: if its contents are lent, they go there now.
    pub fn land(&mut self, number: Data, to: &Place, receiver: u32) {
        let Some(held) = (number as usize).checked_sub(1).and_then(|index| self.held.get_mut(index)) else {
            return;
        };
        if let Contents::Lent(place, sender) = &held.contents {
            place.hand_over(*sender, to, receiver);
            held.contents = Contents::Landed;
        }
    }

    /// Hands the contents of a message that `receiver` has received to that place.
    pub fn take(&mut self, number: Data, to: &Place, receiver: u32) {
        if number == 0 {
            return;
        }
        if number & EXPORTED != 0 {
            return to.put(&self.imported.remove(&number).expect("contents come before their message"));
        }
        match &self.held[number as usize - 1].contents {
            Contents::Own(contents) => to.put(contents),
            Contents::Short(contents, bytes) => to.put(&contents[..usize::from(*bytes)]),
            Contents::Pieces(pieces, bytes) => {
                let room = to.layout.size as u64 * to.count.max(0) as u64;
                // SAFETY: the program vouches for that many values there (`Address`), and no more are written.
                unsafe { folded::unpack(&to.layout, pieces, to.at.pointer(), room.min(*bytes)) };
            }
            Contents::Lent(place, sender) => place.hand_over(*sender, to, receiver),
            Contents::Landed => {}
        }
        self.let_go(number);
    }

    /// The message has been taken back: nobody will receive it.
    pub fn forget(&mut self, number: Data) {
        if number & EXPORTED != 0 {
            self.imported.remove(&number);
        } else if number != 0 {
            self.held[number as usize - 1].contents = Contents::Landed;
            self.let_go(number);
        }
    }

    /// Hands over contents that were kept.
    pub fn open(&mut self, number: Data) -> Box<[u8]> {
        if number == 0 {
            return Box::default();
        }
        if number & EXPORTED != 0 {
            return self.imported.remove(&number).expect("contents come before their message");
        }
        let held = &mut self.held[number as usize - 1];
        let contents = match std::mem::replace(&mut held.contents, Contents::Landed) {
            Contents::Own(contents) => contents,
            Contents::Short(contents, bytes) => contents[..usize::from(bytes)].into(),
            Contents::Pieces(..) | Contents::Lent(..) | Contents::Landed => {
                unreachable!("only what is kept is opened")
            }
        };
        self.let_go(number);
        contents
    }

    fn let_go(&mut self, number: Data) {
        let held = &mut self.held[number as usize - 1];
        held.holders -= 1;
        if held.holders == 0 {
            held.contents = Contents::Landed;
            self.free.push(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;

    use super::*;
    use crate::abi::handle::Datatype;
    use crate::abi::pointers::FromProgram;

    fn place(bytes: &mut [u8]) -> Place {
        let layout = Layout::of_predefined(Datatype::BYTE).unwrap();
        // SAFETY: the test keeps the bytes until all is done.
        let at = unsafe { Address::from_program(bytes.as_mut_ptr().cast::<c_void>()) };
        Place { at, count: bytes.len() as i64, layout }
    }

    #[test]
    fn numbers_are_used_again_and_nothing_is_number_zero() {
        let mut parcels = Parcels::default();
        let first = parcels.keep(Box::new([1, 2]));
        assert_eq!(parcels.keep(Box::new([])), 0);
        assert_eq!(&*parcels.open(first), [1, 2]);
        assert_eq!(parcels.keep(Box::new([3])), first);
        assert!(parcels.open(0).is_empty());
    }

    /// The sender's end and the receiver's come in any order, and with more or less room.
    #[test]
    fn what_is_lent_arrives_as_it_was_when_its_sender_went_on() {
        for order in 0..3 {
            let (mut from, mut to) = ([1, 2, 3], [0; 2]);
            let mut parcels = Parcels::default();
            let number = parcels.lend(place(&mut from), 0);
            if order == 0 {
                parcels.land(number, &place(&mut to), 1);
            }
            if order == 1 {
                parcels.take(number, &place(&mut to), 1);
            }
            parcels.settle(number);
            from = [9; 3];
            if order != 1 {
                parcels.take(number, &place(&mut to), 1);
            }
            assert_eq!((to, from), ([1, 2], [9; 3]), "{order}");
            assert_eq!(parcels.keep(Box::new([7])), number);
        }
    }
}
