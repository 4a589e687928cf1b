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

/// Name of a collective: the communicator, its first member (communicators without a common member may share a
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

/// Cut of the bytes that a member gives.
#[derive(Debug, Default, Clone)]
pub enum Cut {
    /// One block, for whom it may concern.
    #[default]
    Whole,
    /// Blocks of the same length \[bytes\].
    Equal(usize),
    /// Begin of each, and the end \[bytes\].
    At(Box<[usize]>),
}

/// Contribution of one member: bytes, cut into a block for each member where it gives several.
#[derive(Debug, Default, Clone)]
pub struct Given {
    /// All blocks, one after the other.
    pub bytes: Box<[u8]>,
    /// Begin of each.
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

/// Part that a member has put down.
#[derive(Debug)]
pub struct Part {
    /// Its contents.
    pub given: Given,
    /// Its call, by which members find out that they do not agree.
    pub call: Arc<Collective>,
    /// By what it combines; 0 for a function of the program, `None` where it combines nothing.
    pub operator: Option<usize>,
    /// True if its communicator has two groups, which give and expect different things.
    pub between_groups: bool,
    /// True if it came from another process: its call is not known here.
    pub imported: bool,
}

/// One collective.
struct Meeting {
    parts: RefCell<Vec<Option<Part>>>,
    /// Call of the first to give, if others have called with other lengths.
    first: RefCell<Option<Arc<Collective>>>,
    unlike: Cell<bool>,
    left: Cell<usize>,
    totals: RefCell<Vec<(usize, Rc<[u8]>)>>,
    prefixes: RefCell<Vec<Rc<[u8]>>>,
    halves: RefCell<Map<Range<usize>, Rc<[u8]>>>,
    made: RefCell<Option<Rc<dyn Any>>>,
}

impl Meeting {
    fn new(places: usize) -> Meeting {
        Meeting {
            parts: RefCell::new((0..places).map(|_| None).collect()),
            first: RefCell::default(),
            unlike: Cell::new(false),
            left: Cell::new(places),
            totals: RefCell::default(),
            prefixes: RefCell::default(),
            halves: RefCell::default(),
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

    /// Everything of these members combined in the order of ranks for the member at place `own`: computed once, or by
    /// each with its own function of the program.
    pub fn fold(&self, operator: &Operator, members: Range<usize>, own: usize) -> Rc<[u8]> {
        if let Operator::User(..) = operator {
            return self.halves(operator, members, own, true);
        }
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

    /// These combined as two halves, which are combined so. A member combines what it is part of with its own function,
    /// as in recursive doubling; the rest only if nobody has yet. So each calls its function about log2 P times.
    fn halves(&self, operator: &Operator, members: Range<usize>, own: usize, itself: bool) -> Rc<[u8]> {
        if members.len() == 1 {
            return self.whole(members.start).into();
        }
        let (known, itself) = (members.clone(), itself || members.contains(&own));
        let found = self.meeting.halves.borrow().get(&known).filter(|_| !itself).cloned();
        if let Some(found) = found {
            return found;
        }
        let middle = members.start + members.len().next_power_of_two() / 2;
        let first = self.halves(operator, members.start..middle, own, false);
        let mut total: Box<[u8]> = (*first).into();
        operator.combine(&mut total, &self.halves(operator, middle..members.end, own, false));
        let total = Rc::<[u8]>::from(total);
        self.meeting.halves.borrow_mut().insert(known, total.clone());
        total
    }

    /// The first `count` (1 or more) combined in the order of ranks; each computed once, or the last one by each member
    /// with its own function of the program.
    pub fn prefix(&self, operator: &Operator, count: usize) -> Rc<[u8]> {
        let known = self.meeting.prefixes.borrow().len();
        if known >= count && matches!(operator, Operator::User(..)) {
            return self.next_prefix(operator, count - 1);
        }
        for member in known..count {
            let next = self.next_prefix(operator, member);
            self.meeting.prefixes.borrow_mut().push(next);
        }
        self.meeting.prefixes.borrow()[count - 1].clone()
    }

    /// Prefix up to the member at `member`, which is known, combined with its part.
    fn next_prefix(&self, operator: &Operator, member: usize) -> Rc<[u8]> {
        let Some(before) = member.checked_sub(1) else { return self.whole(member).into() };
        let before = self.meeting.prefixes.borrow()[before].clone();
        let mut total: Box<[u8]> = (*before).into();
        operator.combine(&mut total, self.whole(member));
        total.into()
    }

    /// Refuses what the member at `place` would take, if it has called with another length than others.
    pub fn agree(&self, place: usize) -> Answer {
        if self.meeting.unlike.get() { agreement::lengths(&self.parts, place) } else { Ok(()) }
    }

    /// Product of `make` from all parts, made once.
    pub fn once<T: 'static>(&self, make: impl FnOnce(&Open) -> T) -> Rc<T> {
        let known = self.meeting.made.borrow().clone();
        let made = known.unwrap_or_else(|| {
            let made: Rc<dyn Any> = Rc::new(make(self));
            *self.meeting.made.borrow_mut() = Some(made.clone());
            made
        });
        made.downcast().expect("members of one collective make the same of it")
    }

    /// Contribution of a member to be combined: who combines has waited for it.
    fn whole(&self, place: usize) -> &[u8] {
        &self.parts[place].as_ref().expect("a member has called before its part is combined").given.bytes
    }
}

/// The collectives that are going on.
#[derive(Default)]
pub struct Meetings {
    open: RefCell<Map<Key, Rc<Meeting>>>,
    /// Persistent ones that not all members have made: how the first has, and how many are missing.
    prepared: RefCell<Map<Key, (Arc<Collective>, usize)>>,
}

impl Meetings {
    /// The member at `place` of so many gives its part; refused, if it does not fit to what others gave. If only its
    /// length does not: how the first has called.
    pub fn give(&self, key: Key, places: usize, place: usize, part: Part) -> Answer<Option<Arc<Collective>>> {
        let mut open = self.open.borrow_mut();
        let meeting = open.entry(key).or_insert_with(|| Rc::new(Meeting::new(places)));
        let mut parts = meeting.parts.borrow_mut();
        agreement::check(&parts, place, &part)?;
        let mut first = meeting.first.borrow_mut();
        let first = first.get_or_insert_with(|| part.call.clone());
        let unlike = !part.between_groups && agreement::differ_in_length(first, &part.call);
        parts[place] = Some(part);
        meeting.unlike.set(unlike || meeting.unlike.get());
        Ok(unlike.then(|| first.clone()))
    }

    /// The member at `place` of so many, in another process, has given this.
    pub fn import(&self, key: Key, places: usize, place: usize, given: Given) {
        let mut open = self.open.borrow_mut();
        let meeting = open.entry(key).or_insert_with(|| Rc::new(Meeting::new(places)));
        let call = Arc::new(Collective::barrier(key.comm));
        let part = Part { given, call, operator: None, between_groups: false, imported: true };
        meeting.parts.borrow_mut()[place] = Some(part);
        // It takes its result in its own process.
        meeting.left.set(meeting.left.get() - 1);
        if meeting.left.get() == 0 {
            open.remove(&key);
        }
    }

    /// One of so many members makes a persistent collective. If the first has made it with another length: how.
    pub fn prepare(&self, key: Key, places: usize, call: &Arc<Collective>) -> Option<Arc<Collective>> {
        let mut prepared = self.prepared.borrow_mut();
        let (first, missing) = prepared.entry(key).or_insert_with(|| (call.clone(), places));
        *missing -= 1;
        let unlike = agreement::differ_in_length(first, call).then(|| first.clone());
        if *missing == 0 {
            prepared.remove(&key);
        }
        unlike
    }

    /// A member takes its result with `take`; the last one closes the meeting.
    pub fn leave<R>(&self, key: Key, take: impl FnOnce(&Open) -> R) -> R {
        let meeting = self.open.borrow().get(&key).cloned();
        let meeting = meeting.expect("a member that leaves has given its part");
        let _leaves = Leaves { meetings: self, meeting: &meeting, key };
        take(&Open { meeting: &meeting, parts: meeting.parts.borrow() })
    }
}

/// A member that takes its result: it has left when that is over, if by an exception of the program's operation, too.
struct Leaves<'a> {
    meetings: &'a Meetings,
    meeting: &'a Meeting,
    key: Key,
}

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.meeting.left.set(self.meeting.left.get() - 1);
        if self.meeting.left.get() == 0 {
            self.meetings.open.borrow_mut().remove(&self.key);
        }
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
                imported: false,
            };
            meetings.give(key, 3, member, part).unwrap();
        }
        for count in 1..4 {
            let expected = [1_i32, 11, 111][count - 1].to_le_bytes();
            let (prefix, total) =
                meetings.leave(key, |open| (open.prefix(&sum, count), open.fold(&sum, 0..3, count - 1)));
            assert_eq!((&*prefix, &*total), (&expected[..], &111_i32.to_le_bytes()[..]));
        }
        assert!(meetings.open.borrow().is_empty());
    }

    /// A member combines with its own function what it is part of, and what nobody has combined.
    #[test]
    fn each_member_combines_with_its_own_function() {
        let key = Key { comm: CommId::WORLD, first: 0, number: 0 };
        let meetings = Meetings::default();
        for member in 0..5 {
            let call = Arc::new(Collective::barrier(CommId::WORLD));
            let given = Given::whole(Box::new([b'a' + member as u8]));
            let part = Part { given, call, operator: Some(0), between_groups: false, imported: false };
            meetings.give(key, 5, member, part).unwrap();
        }
        let calls = Rc::new(Cell::new(0));
        let mut own = Vec::new();
        for member in [3, 0, 4, 2, 1] {
            let counted = calls.clone();
            let function = move |total: &mut [u8], next: &[u8]| {
                counted.set(counted.get() + 1);
                total[0] = total[0].wrapping_mul(31).wrapping_add(next[0]);
            };
            let operator = Operator::User(Rc::new(function), false);
            calls.set(0);
            let total = meetings.leave(key, |open| open.fold(&operator, 0..5, member));
            own.push((calls.get(), total));
        }
        // The first has everything to do: 4; the others the 3 levels of the tree that they are in, or 1.
        assert_eq!(own.iter().map(|one| one.0).collect::<Vec<_>>(), [4, 3, 1, 3, 3]);
        assert!(own.iter().all(|one| one.1 == own[0].1));
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
