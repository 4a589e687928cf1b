//! Values in the program's memory: what a member gives, and where it wants what it gets.

use std::ffi::c_void;
use std::sync::Arc;

use crate::abi::arguments::Numbers;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::Datatype;
use crate::data::datatype::Layout;
use crate::data::folded;
use crate::data::meeting::{Cut, Given, Open};
use crate::live::process::Process;

/// Some values in the program's memory.
#[derive(Debug, Clone)]
pub struct Values {
    /// Address.
    pub at: *mut c_void,
    /// Number of them.
    pub count: i64,
    /// Kind of each.
    pub layout: Layout,
}

impl Values {
    /// `count` values of a datatype.
    pub fn new(me: &Process, at: *const c_void, count: i64, datatype: Datatype) -> Answer<Values> {
        let values = Values { at: at.cast_mut(), count, layout: me.layout(datatype)? };
        values.layout.bytes(count)?;
        Ok(values)
    }

    /// Length as a message \[bytes\].
    pub fn bytes(&self) -> u64 {
        self.count as u64 * self.layout.size as u64
    }

    /// The `count` values that begin `first` values on.
    pub fn part(&self, first: i64, count: i64) -> Values {
        let at = self.at.wrapping_byte_offset(first as isize * self.layout.extent);
        Values { at, count, layout: self.layout.clone() }
    }

    /// Their contents; nothing of folded memory that is shared.
    ///
    /// # Safety
    /// As the contract of `call` says.
    pub unsafe fn pack(&self) -> Box<[u8]> {
        if self.is_lost() {
            return Box::default();
        }
        // SAFETY: the caller says so.
        unsafe { self.layout.pack(self.at, self.count) }
    }

    fn is_lost(&self) -> bool {
        folded::is_lost(&self.layout, self.at, self.count)
    }

    /// Puts contents there, which come from `sender`.
    ///
    /// # Safety
    /// As the contract of `call` says.
    pub unsafe fn put(&self, contents: &[u8], sender: usize) -> Answer {
        let room = self.layout.packed() * self.count as usize;
        if contents.len() > room {
            let sent = contents.len();
            let reason = format!("rank {sender} sends {sent} bytes, but there is room for {room} bytes");
            return Err(Error::new(Class::TRUNCATE, reason));
        }
        if contents.is_empty() || self.is_lost() {
            return Ok(());
        }
        // SAFETY: the caller says so; no more than there is room for.
        unsafe { self.layout.unpack(contents, self.at) };
        Ok(())
    }
}

/// A block of values for each of some ranks, or from each.
#[derive(Debug, Clone)]
pub enum Blocks {
    /// Equal ones, one after the other.
    Equal {
        /// The first.
        each: Values,
        /// Number of them.
        count: usize,
    },
    /// With counts and places of their own.
    Own(Vec<Values>),
}

impl Blocks {
    /// Equal ones.
    pub fn equal(each: Values, count: usize) -> Blocks {
        Blocks::Equal { each, count }
    }

    /// With counts and distances of their own \[values\].
    ///
    /// # Safety
    /// As the contract of `call` says.
    pub unsafe fn own(
        me: &Process,
        at: *const c_void,
        counts: Numbers,
        distances: Numbers,
        datatype: Datatype,
        blocks: usize,
    ) -> Answer<Blocks> {
        let origin = Values::new(me, at, 0, datatype)?;
        let values = (0..blocks).map(|index| {
            // SAFETY: the caller says so.
            let count = unsafe { counts.get(index) };
            origin.layout.bytes(count)?;
            // SAFETY: the caller says so; the distance of nothing does not matter.
            Ok(origin.part(if count == 0 { 0 } else { unsafe { distances.get(index) } }, count))
        });
        Ok(Blocks::Own(values.collect::<Answer<_>>()?))
    }

    /// With counts, distances \[bytes\] and datatypes of their own.
    ///
    /// # Safety
    /// As the contract of `call` says.
    pub unsafe fn typed(
        me: &Process,
        at: *const c_void,
        counts: Numbers,
        distances: Numbers,
        datatypes: *const Datatype,
        blocks: usize,
    ) -> Answer<Blocks> {
        let values = (0..blocks).map(|index| {
            // SAFETY: the caller says so.
            let (count, distance, datatype) =
                unsafe { (counts.get(index), distances.get(index), *datatypes.add(index)) };
            Values::new(me, at.wrapping_byte_offset(distance as isize), count, datatype)
        });
        Ok(Blocks::Own(values.collect::<Answer<_>>()?))
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        match self {
            Blocks::Equal { count, .. } => *count,
            Blocks::Own(values) => values.len(),
        }
    }

    /// One of them.
    pub fn get(&self, index: usize) -> Values {
        match self {
            Blocks::Equal { each, .. } => each.part(index as i64 * each.count, each.count),
            Blocks::Own(values) => values[index].clone(),
        }
    }

    /// Bytes of all.
    pub fn bytes(&self) -> u64 {
        match self {
            Blocks::Equal { each, count } => each.bytes() * *count as u64,
            Blocks::Own(values) => values.iter().map(Values::bytes).sum(),
        }
    }

    /// Bytes of each.
    pub fn lengths(&self) -> Arc<[u64]> {
        match self {
            Blocks::Equal { each, count } => vec![each.bytes(); *count].into(),
            Blocks::Own(values) => values.iter().map(Values::bytes).collect(),
        }
    }

    /// The contents of all.
    ///
    /// # Safety
    /// As the contract of `call` says.
    pub unsafe fn pack(&self) -> Given {
        match self {
            Blocks::Equal { each, count } => {
                let all = Values { count: each.count * *count as i64, ..each.clone() };
                let length = each.layout.packed() * each.count as usize;
                // SAFETY: the caller says so: they lie one after the other.
                Given { bytes: unsafe { all.pack() }, cut: Cut::Equal(length) }
            }
            Blocks::Own(values) => {
                let mut starts = Vec::with_capacity(values.len() + 1);
                let mut bytes = Vec::new();
                starts.push(0);
                for block in values {
                    if !block.is_lost() {
                        // SAFETY: the caller says so.
                        unsafe { block.layout.append(block.at, block.count, &mut bytes) };
                    }
                    starts.push(bytes.len());
                }
                Given { bytes: bytes.into(), cut: Cut::At(starts.into()) }
            }
        }
    }

    /// Puts block `index` of each member there, the members having places from `first` on.
    ///
    /// # Safety
    /// As the contract of `call` says.
    pub unsafe fn put(&self, open: &Open, first: usize, index: usize) -> Answer {
        (0..self.len()).try_for_each(|member| {
            // SAFETY: the caller says so.
            unsafe { self.get(member).put(open.block(first + member, index), member) }
        })
    }
}
