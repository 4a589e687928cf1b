//! Buffers of the program: an address with a count and a datatype, as nearly every function of MPI takes them.

use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::Datatype;
use crate::abi::pointers::Address;
use crate::data::datatype::Layout;
use crate::data::folded;
use crate::live::process::Process;

/// Values in the program's memory, which the program vouches for with their [`Address`].
#[derive(Debug, Clone)]
pub struct UserBuffer {
    at: Address,
    count: i64,
    layout: Layout,
}

impl UserBuffer {
    /// `count` values of a datatype.
    pub fn new(me: &Process, at: Address, count: i64, datatype: Datatype) -> Answer<UserBuffer> {
        let layout = me.layout(datatype)?;
        layout.bytes(count)?;
        Ok(UserBuffer { at, count, layout })
    }

    /// As many values of the same datatype at another address.
    pub fn moved(&self, at: Address) -> UserBuffer {
        UserBuffer { at, ..self.clone() }
    }

    /// The `count` values that begin `first` values on.
    pub fn part(&self, first: i64, count: i64) -> UserBuffer {
        let at = self.at.offset(first as isize * self.layout.extent);
        UserBuffer { at, count, layout: self.layout.clone() }
    }

    /// Address of the first value.
    pub fn at(&self) -> Address {
        self.at
    }

    /// Number of values.
    pub fn count(&self) -> i64 {
        self.count
    }

    /// Layout of each value.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Length as a message \[bytes\].
    pub fn bytes(&self) -> u64 {
        self.count as u64 * self.layout.size as u64
    }

    /// Length of the contents as they are packed \[bytes\].
    pub fn packed(&self) -> usize {
        self.layout.packed() * self.count as usize
    }

    /// True for folded memory that is shared, whose contents mean nothing.
    fn is_lost(&self) -> bool {
        folded::is_lost(&self.layout, self.at.pointer(), self.count)
    }

    /// Contents of the values; nothing of folded memory that is shared.
    pub fn pack(&self) -> Box<[u8]> {
        if self.is_lost() {
            return Box::default();
        }
        // SAFETY: the program vouches for that many values there (`Address`).
        unsafe { self.layout.pack(self.at.pointer(), self.count) }
    }

    /// Adds the same contents to others.
    pub fn append_to(&self, contents: &mut Vec<u8>) {
        if !self.is_lost() {
            // SAFETY: as in `pack`.
            unsafe { self.layout.append(self.at.pointer(), self.count, contents) };
        }
    }

    /// Puts contents there, which come from `sender`.
    pub fn put(&self, contents: &[u8], sender: usize) -> Answer {
        let room = self.packed();
        if contents.len() > room {
            let sent = contents.len();
            let reason = format!("rank {sender} sends {sent} bytes, but there is room for {room} bytes");
            return Err(Error::new(Class::TRUNCATE, reason));
        }
        if contents.is_empty() || self.is_lost() {
            return Ok(());
        }
        // SAFETY: the program vouches for that many values there (`Address`), and no more are written.
        unsafe { self.layout.unpack(contents, self.at.pointer()) };
        Ok(())
    }
}
