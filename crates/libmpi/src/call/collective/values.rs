//! Blocks of values in the program's memory: what a member gives, and where it wants what it gets.

use std::sync::Arc;

use crate::abi::arguments::Numbers;
use crate::abi::error::Answer;
use crate::abi::handle::Datatype;
use crate::abi::pointers::{Address, InList};
use crate::call::user_buffer::UserBuffer;
use crate::data::meeting::{Cut, Given, Open};
use crate::live::process::Process;

/// A block of values for each of some ranks, or from each.
#[derive(Debug, Clone)]
pub enum Blocks {
    /// Equal ones, one after the other.
    Equal {
        /// The first.
        each: UserBuffer,
        /// Number of them.
        count: usize,
    },
    /// With counts and places of their own.
    Own(Vec<UserBuffer>),
}

impl Blocks {
    /// Equal ones.
    pub fn equal(each: UserBuffer, count: usize) -> Blocks {
        Blocks::Equal { each, count }
    }

    /// With counts and distances of their own \[values\].
    pub fn own(
        me: &Process,
        at: Address,
        counts: Numbers,
        distances: Numbers,
        datatype: Datatype,
        blocks: usize,
    ) -> Answer<Blocks> {
        let origin = UserBuffer::new(me, at, 0, datatype)?;
        let values = (0..blocks).map(|index| {
            let count = counts.get(index);
            origin.layout().bytes(count)?;
            Ok(origin.part(if count == 0 { 0 } else { distances.get(index) }, count))
        });
        Ok(Blocks::Own(values.collect::<Answer<_>>()?))
    }

    /// With counts, distances \[bytes\] and datatypes of their own.
    pub fn typed(
        me: &Process,
        at: Address,
        counts: Numbers,
        distances: Numbers,
        datatypes: InList<Datatype>,
        blocks: usize,
    ) -> Answer<Blocks> {
        let values = (0..blocks).map(|index| {
            let (count, distance, datatype) = (counts.get(index), distances.get(index), datatypes.get(index));
            UserBuffer::new(me, at.offset(distance as isize), count, datatype)
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
    pub fn get(&self, index: usize) -> UserBuffer {
        match self {
            Blocks::Equal { each, .. } => each.part(index as i64 * each.count(), each.count()),
            Blocks::Own(values) => values[index].clone(),
        }
    }

    /// Bytes of all.
    pub fn bytes(&self) -> u64 {
        match self {
            Blocks::Equal { each, count } => each.bytes() * *count as u64,
            Blocks::Own(values) => values.iter().map(UserBuffer::bytes).sum(),
        }
    }

    /// Bytes of each.
    pub fn lengths(&self) -> Arc<[u64]> {
        match self {
            Blocks::Equal { each, count } => vec![each.bytes(); *count].into(),
            Blocks::Own(values) => values.iter().map(UserBuffer::bytes).collect(),
        }
    }

    /// The contents of all.
    pub fn pack(&self) -> Given {
        match self {
            Blocks::Equal { each, count } => {
                let all = each.part(0, each.count() * *count as i64);
                let length = each.packed();
                Given { bytes: all.pack(), cut: Cut::Equal(length) }
            }
            Blocks::Own(values) => {
                let mut starts = Vec::with_capacity(values.len() + 1);
                let mut bytes = Vec::new();
                starts.push(0);
                for block in values {
                    block.append_to(&mut bytes);
                    starts.push(bytes.len());
                }
                Given { bytes: bytes.into(), cut: Cut::At(starts.into()) }
            }
        }
    }

    /// Puts block `index` of each member there, the members having places from `first` on.
    pub fn put(&self, open: &Open, first: usize, index: usize) -> Answer {
        (0..self.len()).try_for_each(|member| self.get(member).put(open.block(first + member, index), member))
    }
}
