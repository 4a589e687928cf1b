//! Contents of collectives: members meet here by what collective it is.
//!
//! A member gives its contents when it calls, and takes its result when the simulator says that its call is
//! complete: by then whoever it depends on has called, because a message had to come from there.

use std::rc::Rc;

use engine::hash::Map;
use mpi::operation::CommId;

use super::operator::Operator;

/// Which collective: the communicator, its first member (communicators without a common member may share a
/// number), and how many collectives were called on it before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// The communicator's number.
    pub comm: CommId,
    /// The world rank of its first member.
    pub first: u32,
    /// The collectives on it before this.
    pub number: u64,
}

/// What one member gives: bytes, cut into a block for each member where it gives several.
#[derive(Debug, Default, Clone)]
pub struct Given {
    /// All blocks, one after the other.
    pub bytes: Box<[u8]>,
    /// Where each begins, and the end; empty for one block.
    pub starts: Box<[usize]>,
}

impl Given {
    /// One block.
    pub fn whole(bytes: Box<[u8]>) -> Given {
        Given { bytes, starts: Box::default() }
    }

    /// Block `index`.
    pub fn block(&self, index: usize) -> &[u8] {
        match self.starts.get(index..index + 2) {
            Some(bounds) => &self.bytes[bounds[0]..bounds[1]],
            None => &self.bytes,
        }
    }
}

/// One collective.
#[derive(Debug)]
pub struct Meeting {
    given: Vec<Option<Given>>,
    left: usize,
    total: Option<Rc<[u8]>>,
    prefixes: Vec<Rc<[u8]>>,
}

impl Meeting {
    fn new(size: usize) -> Meeting {
        Meeting { given: vec![None; size], left: size, total: None, prefixes: Vec::new() }
    }

    /// Block `index` of what `member` has given; nothing of a member that has not called, because then
    /// nothing of it was waited for.
    pub fn block(&self, member: usize, index: usize) -> &[u8] {
        self.given[member].as_ref().map_or(&[], |given| given.block(index))
    }

    /// Everything combined in the order of ranks; computed once.
    pub fn fold(&mut self, operator: Operator) -> Rc<[u8]> {
        if self.total.is_none() {
            let mut total = Box::<[u8]>::from(self.block(0, 0));
            for member in 1..self.given.len() {
                operator.combine(&mut total, self.block(member, 0));
            }
            self.total = Some(total.into());
        }
        self.total.clone().expect("it has just been computed")
    }

    /// The first `count` (1 or more) combined in the order of ranks; each computed once.
    pub fn prefix(&mut self, operator: Operator, count: usize) -> Rc<[u8]> {
        while self.prefixes.len() < count {
            let next = Box::<[u8]>::from(self.block(self.prefixes.len(), 0));
            let prefix = match self.prefixes.last() {
                None => next,
                Some(before) => {
                    let mut total: Box<[u8]> = (**before).into();
                    operator.combine(&mut total, &next);
                    total
                }
            };
            self.prefixes.push(prefix.into());
        }
        self.prefixes[count - 1].clone()
    }
}

/// The collectives that are going on.
#[derive(Default)]
pub struct Meetings {
    open: Map<Key, Meeting>,
}

impl Meetings {
    /// Member `member` of `size` gives its part.
    pub fn give(&mut self, key: Key, size: usize, member: usize, given: Given) {
        self.open.entry(key).or_insert_with(|| Meeting::new(size)).given[member] = Some(given);
    }

    /// A member takes its result with `take`; the last one closes the meeting.
    pub fn leave<R>(&mut self, key: Key, take: impl FnOnce(&mut Meeting) -> R) -> R {
        let meeting = self.open.get_mut(&key).expect("a member that leaves has given its part");
        let result = take(meeting);
        meeting.left -= 1;
        if meeting.left == 0 {
            self.open.remove(&key);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::handle::{Datatype, Op};
    use crate::data::datatype::Layout;

    #[test]
    fn a_meeting_is_closed_by_the_last_and_sums_are_in_the_order_of_ranks() {
        let key = Key { comm: CommId::WORLD, first: 0, number: 3 };
        let sum = Operator::of(Op(0x21), &Layout::of_predefined(Datatype(0x209)).unwrap()).unwrap();
        let mut meetings = Meetings::default();
        for member in [2, 0, 1] {
            let bytes = (10_i32.pow(member as u32)).to_le_bytes();
            meetings.give(key, 3, member, Given::whole(Box::new(bytes)));
        }
        for count in 1..4 {
            let expected = [1_i32, 11, 111][count - 1].to_le_bytes();
            let (prefix, total) = meetings.leave(key, |open| (open.prefix(sum, count), open.fold(sum)));
            assert_eq!((&*prefix, &*total), (&expected[..], &111_i32.to_le_bytes()[..]));
        }
        assert!(meetings.open.is_empty());
    }

    #[test]
    fn blocks_lie_one_after_the_other() {
        let given = Given { bytes: Box::new([1, 2, 3]), starts: Box::new([0, 2, 2, 3]) };
        assert_eq!((given.block(0), given.block(1), given.block(2)), (&[1, 2][..], &[][..], &[3][..]));
        assert_eq!(Given::whole(Box::new([7])).block(5), [7]);
    }
}
