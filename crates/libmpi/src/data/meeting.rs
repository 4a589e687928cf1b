//! Contents of collectives: members meet here by what collective it is.
//!
//! A member gives its contents when it calls, and takes its result when the simulator says that its call is
//! complete: by then whoever it depends on has called, because a message had to come from there.

use std::any::Any;
use std::cell::{Cell, Ref, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use engine::hash::Map;
use mpi::collective::Collective;
use mpi::operation::CommId;

use super::agreement;
use super::operator::Operator;
use crate::abi::error::Answer;

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

/// How the bytes that a member gives are cut.
#[derive(Debug, Default, Clone)]
pub enum Cut {
    /// One block, for whom it may concern.
    #[default]
    Whole,
    /// Blocks of the same length \[bytes\].
    Equal(usize),
    /// Where each begins, and the end \[bytes\].
    At(Box<[usize]>),
}

/// What one member gives: bytes, cut into a block for each member where it gives several.
#[derive(Debug, Default, Clone)]
pub struct Given {
    /// All blocks, one after the other.
    pub bytes: Box<[u8]>,
    /// Where each begins.
    pub cut: Cut,
}

impl Given {
    /// One block.
    pub fn whole(bytes: Box<[u8]>) -> Given {
        Given { bytes, cut: Cut::Whole }
    }

    /// Block `index`; nothing of contents that mean nothing, which are not given.
    pub fn block(&self, index: usize) -> &[u8] {
        match &self.cut {
            Cut::Whole => &self.bytes,
            Cut::Equal(_) if self.bytes.is_empty() => &[],
            Cut::Equal(each) => &self.bytes[index * each..(index + 1) * each],
            Cut::At(starts) => &self.bytes[starts[index]..starts[index + 1]],
        }
    }
}

/// What a member has put down.
#[derive(Debug)]
pub struct Part {
    /// Its contents.
    pub given: Given,
    /// How it called: by that, members find out that they do not agree.
    pub call: Arc<Collective>,
    /// By what it combines; 0 for a function of the program, `None` where it combines nothing.
    pub operator: Option<usize>,
    /// Whether its communicator has two groups, which give and expect different things.
    pub between_groups: bool,
}

/// One collective.
struct Meeting {
    parts: RefCell<Vec<Option<Part>>>,
    left: Cell<usize>,
    totals: RefCell<Vec<(usize, Rc<[u8]>)>>,
    prefixes: RefCell<Vec<Rc<[u8]>>>,
    made: RefCell<Option<Rc<dyn Any>>>,
}

impl Meeting {
    fn new(places: usize) -> Meeting {
        Meeting {
            parts: RefCell::new((0..places).map(|_| None).collect()),
            left: Cell::new(places),
            totals: RefCell::default(),
            prefixes: RefCell::default(),
            made: RefCell::default(),
        }
    }
}

/// A meeting whose results a member takes. Members have places in it: their ranks in the communicator.
pub struct Open<'a> {
    meeting: &'a Meeting,
    parts: Ref<'a, Vec<Option<Part>>>,
}

impl Open<'_> {
    /// Block `index` of what the member at `place` has given; nothing of one that has not called, because
    /// then nothing of it was waited for.
    pub fn block(&self, place: usize, index: usize) -> &[u8] {
        self.parts[place].as_ref().map_or(&[], |part| part.given.block(index))
    }

    /// Everything of these members combined in the order of ranks; computed once.
    pub fn fold(&self, operator: &Operator, members: Range<usize>) -> Rc<[u8]> {
        let known = self.meeting.totals.borrow().iter().find(|total| total.0 == members.start).cloned();
        if let Some((_, total)) = known {
            return total;
        }
        let mut total = Box::<[u8]>::from(self.whole(members.start));
        for member in members.start + 1..members.end {
            operator.combine(&mut total, self.whole(member));
        }
        let total = Rc::<[u8]>::from(total);
        self.meeting.totals.borrow_mut().push((members.start, total.clone()));
        total
    }

    /// The first `count` (1 or more) combined in the order of ranks; each computed once.
    pub fn prefix(&self, operator: &Operator, count: usize) -> Rc<[u8]> {
        let known = self.meeting.prefixes.borrow().len();
        for member in known..count {
            let before = self.meeting.prefixes.borrow().last().cloned();
            let prefix = match before {
                None => self.whole(member).into(),
                Some(before) => {
                    let mut total: Box<[u8]> = (*before).into();
                    operator.combine(&mut total, self.whole(member));
                    total.into()
                }
            };
            self.meeting.prefixes.borrow_mut().push(prefix);
        }
        self.meeting.prefixes.borrow()[count - 1].clone()
    }

    /// What `make` makes of all parts, made once.
    pub fn once<T: 'static>(&self, make: impl FnOnce(&Open) -> T) -> Rc<T> {
        let known = self.meeting.made.borrow().clone();
        let made = known.unwrap_or_else(|| {
            let made: Rc<dyn Any> = Rc::new(make(self));
            *self.meeting.made.borrow_mut() = Some(made.clone());
            made
        });
        made.downcast().expect("members of one collective make the same of it")
    }

    /// What a member gives to be combined: who combines has waited for it.
    fn whole(&self, place: usize) -> &[u8] {
        &self.parts[place].as_ref().expect("a member has called before its part is combined").given.bytes
    }
}

/// The collectives that are going on.
#[derive(Default)]
pub struct Meetings {
    open: RefCell<Map<Key, Rc<Meeting>>>,
}

impl Meetings {
    /// The member at `place` of so many gives its part; refused, if it does not fit to what others gave.
    pub fn give(&self, key: Key, places: usize, place: usize, part: Part) -> Answer {
        let mut open = self.open.borrow_mut();
        let mut parts = open.entry(key).or_insert_with(|| Rc::new(Meeting::new(places))).parts.borrow_mut();
        agreement::check(&parts, place, &part)?;
        parts[place] = Some(part);
        Ok(())
    }

    /// A member takes its result with `take`; the last one closes the meeting.
    pub fn leave<R>(&self, key: Key, take: impl FnOnce(&Open) -> R) -> R {
        let meeting = self.open.borrow().get(&key).cloned();
        let meeting = meeting.expect("a member that leaves has given its part");
        let result = take(&Open { meeting: &meeting, parts: meeting.parts.borrow() });
        meeting.left.set(meeting.left.get() - 1);
        if meeting.left.get() == 0 {
            self.open.borrow_mut().remove(&key);
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
        let meetings = Meetings::default();
        for member in [2, 0, 1] {
            let bytes = (10_i32.pow(member as u32)).to_le_bytes();
            let call = Arc::new(Collective::barrier(CommId::WORLD));
            let part = Part {
                given: Given::whole(Box::new(bytes)),
                call,
                operator: Some(0x21),
                between_groups: false,
            };
            meetings.give(key, 3, member, part).unwrap();
        }
        for count in 1..4 {
            let expected = [1_i32, 11, 111][count - 1].to_le_bytes();
            let (prefix, total) =
                meetings.leave(key, |open| (open.prefix(&sum, count), open.fold(&sum, 0..3)));
            assert_eq!((&*prefix, &*total), (&expected[..], &111_i32.to_le_bytes()[..]));
        }
        assert!(meetings.open.borrow().is_empty());
    }

    #[test]
    fn blocks_lie_one_after_the_other() {
        let given = Given { bytes: Box::new([1, 2, 3]), cut: Cut::At(Box::new([0, 2, 2, 3])) };
        assert_eq!((given.block(0), given.block(1), given.block(2)), (&[1, 2][..], &[][..], &[3][..]));
        let given = Given { bytes: Box::new([1, 2, 3, 4]), cut: Cut::Equal(2) };
        assert_eq!((given.block(0), given.block(1)), (&[1, 2][..], &[3, 4][..]));
        assert_eq!(Given::whole(Box::new([7])).block(5), [7]);
    }
}
