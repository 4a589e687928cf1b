//! Groups: ordered sets of ranks, and the set operations of the MPI standard as pure functions.
//!
//! A group of ranks in arithmetic progression (the world, a row or column of a grid) takes no memory
//! per member. Source: MPI 4.0, section 7.3.

use std::sync::Arc;

use engine::hash::Digest;

/// An ordered set of world ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group(Form);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// `first, first + stride, …`; `stride ≥ 1`.
    Range { first: u32, stride: u32, count: u32 },
    /// Any order; `sorted` holds `(member, rank)` by member, empty where `members` ascends itself.
    List { members: Arc<[u32]>, sorted: Arc<[(u32, u32)]> },
}

/// Relation of two groups (MPI_Group_compare).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The same members in the same order.
    Identical,
    /// The same members in another order.
    Similar,
    /// Other members.
    Unequal,
}

impl Group {
    /// The ranks `0..count`.
    pub fn world(count: u32) -> Group {
        Group(Form::Range { first: 0, stride: 1, count })
    }

    /// The ranks `first..first + count`.
    pub fn consecutive(first: u32, count: u32) -> Group {
        Group(Form::Range { first, stride: 1, count })
    }

    /// These members in this order, or the one that appears twice.
    pub fn new(members: Vec<u32>) -> Result<Group, u32> {
        if let Some(range) = progression(&members) {
            return Ok(Group(range));
        }
        if members.windows(2).all(|pair| pair[0] < pair[1]) {
            return Ok(Group(Form::List { members: members.into(), sorted: Arc::new([]) }));
        }
        let mut sorted: Vec<(u32, u32)> = members.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(pair[0].0),
            None => Ok(Group(Form::List { members: members.into(), sorted: sorted.into() })),
        }
    }

    /// Number of members.
    pub fn size(&self) -> u32 {
        match &self.0 {
            Form::Range { count, .. } => *count,
            Form::List { members, .. } => members.len() as u32,
        }
    }

    /// The world rank of member `rank`, or `None` beyond the last.
    pub fn member(&self, rank: u32) -> Option<u32> {
        match &self.0 {
            Form::Range { first, stride, count } => (rank < *count).then(|| first + rank * stride),
            Form::List { members, .. } => members.get(rank as usize).copied(),
        }
    }

    /// The place of world rank `member` in the group.
    pub fn rank_of(&self, member: u32) -> Option<u32> {
        match &self.0 {
            Form::Range { first, stride, count } => {
                let offset = member.checked_sub(*first)?;
                let fits = offset % stride == 0 && offset / stride < *count;
                fits.then(|| offset / stride)
            }
            Form::List { members, sorted } if sorted.is_empty() => {
                members.binary_search(&member).ok().map(|at| at as u32)
            }
            Form::List { sorted, .. } => {
                sorted.binary_search_by_key(&member, |entry| entry.0).ok().map(|at| sorted[at].1)
            }
        }
    }

    /// The members in order.
    pub fn members(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.size()).map(|rank| self.member(rank).expect("the rank is below the size"))
    }

    /// All of this group, then those of `other` that are not in it (MPI_Group_union).
    pub fn union(&self, other: &Group) -> Group {
        let more = other.members().filter(|member| self.rank_of(*member).is_none());
        collect(self.members().chain(more))
    }

    /// Those of this group that are in `other`, too (MPI_Group_intersection).
    pub fn intersection(&self, other: &Group) -> Group {
        collect(self.members().filter(|member| other.rank_of(*member).is_some()))
    }

    /// Those of this group that are not in `other` (MPI_Group_difference).
    pub fn difference(&self, other: &Group) -> Group {
        collect(self.members().filter(|member| other.rank_of(*member).is_none()))
    }

    /// The members with these ranks, in their order (MPI_Group_incl), or the rank that is wrong.
    pub fn include(&self, ranks: &[u32]) -> Result<Group, u32> {
        let members: Result<Vec<u32>, u32> =
            ranks.iter().map(|rank| self.member(*rank).ok_or(*rank)).collect();
        Group::new(members?).map_err(|twice| self.rank_of(twice).expect("a member of this group"))
    }

    /// All members but those with these ranks (MPI_Group_excl), or the rank that is wrong.
    pub fn exclude(&self, ranks: &[u32]) -> Result<Group, u32> {
        let without = self.include(ranks)?;
        Ok(self.difference(&without))
    }

    /// The members of `(first, last, stride)` triplets of ranks (MPI_Group_range_incl), or the wrong
    /// rank. `last` is included where the stride meets it; the stride is not 0 and may be negative.
    pub fn include_ranges(&self, ranges: &[(u32, u32, i32)]) -> Result<Group, u32> {
        self.include(&expand(ranges)?)
    }

    /// All members but those of the triplets (MPI_Group_range_excl), or the wrong rank.
    pub fn exclude_ranges(&self, ranges: &[(u32, u32, i32)]) -> Result<Group, u32> {
        self.exclude(&expand(ranges)?)
    }

    /// Translates `ranks` of this group to those in `other` (MPI_Group_translate_ranks); `None` for those
    /// that are not in it, or not even in this one.
    pub fn translate(&self, ranks: &[u32], other: &Group) -> Vec<Option<u32>> {
        ranks.iter().map(|rank| self.member(*rank).and_then(|member| other.rank_of(member))).collect()
    }

    /// Folds what it is into a digest.
    pub(crate) fn fold(&self, digest: &mut Digest) {
        digest.fold(u64::from(self.size()));
        match &self.0 {
            Form::Range { first, stride, .. } => {
                digest.fold(u64::from(*first) << 32 | u64::from(*stride));
            }
            Form::List { members, .. } => members.iter().for_each(|member| digest.fold(u64::from(*member))),
        }
    }

    /// Compares this group with `other` (MPI_Group_compare).
    pub fn compare(&self, other: &Group) -> Comparison {
        if self.size() != other.size() || self.members().any(|member| other.rank_of(member).is_none()) {
            Comparison::Unequal
        } else if self.members().eq(other.members()) {
            Comparison::Identical
        } else {
            Comparison::Similar
        }
    }
}

/// A group of members that are known to differ.
fn collect(members: impl Iterator<Item = u32>) -> Group {
    Group::new(members.collect()).expect("set operations keep members apart")
}

/// `members` as an ascending arithmetic progression, if it is one.
fn progression(members: &[u32]) -> Option<Form> {
    let count = members.len() as u32;
    match members {
        [] => Some(Form::Range { first: 0, stride: 1, count }),
        [first] => Some(Form::Range { first: *first, stride: 1, count }),
        [first, second, ..] => {
            let stride = second.checked_sub(*first).filter(|stride| *stride > 0)?;
            let regular = members.windows(2).all(|pair| pair[0].checked_add(stride) == Some(pair[1]));
            regular.then_some(Form::Range { first: *first, stride, count })
        }
    }
}

/// The ranks of triplets, or the first rank of one that is empty or has no stride.
fn expand(ranges: &[(u32, u32, i32)]) -> Result<Vec<u32>, u32> {
    let mut ranks = Vec::new();
    for (first, last, stride) in ranges {
        let (from, to, step) = (i64::from(*first), i64::from(*last), i64::from(*stride));
        if step == 0 || (to - from) * step < 0 {
            return Err(*first);
        }
        ranks.extend((0..=(to - from) / step).map(|index| (from + index * step) as u32));
    }
    Ok(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(members: &[u32]) -> Group {
        Group::new(members.to_vec()).unwrap()
    }

    #[test]
    fn ranks_and_members_are_inverse_in_every_form() {
        for members in [&[0, 1, 2][..], &[4, 7, 10], &[1, 2, 5], &[9, 3, 5], &[8], &[]] {
            let group = group(members);
            assert_eq!(group.members().collect::<Vec<_>>(), members);
            for candidate in 0..12 {
                let expected = members.iter().position(|member| *member == candidate);
                assert_eq!(group.rank_of(candidate), expected.map(|rank| rank as u32));
            }
            assert_eq!(group.member(members.len() as u32), None);
        }
        assert_eq!(Group::new(vec![3, 1, 3]), Err(3));
    }

    #[test]
    fn progressions_are_compact() {
        assert_eq!(std::mem::size_of::<Group>(), 32);
        assert!(matches!(group(&[2, 5, 8]).0, Form::Range { first: 2, stride: 3, count: 3 }));
    }

    /// The examples of the standard's text: order comes from the first group, then the second.
    #[test]
    fn set_operations_keep_the_standard_s_order() {
        let (a, b) = (group(&[0, 3, 1, 2]), group(&[5, 2, 0]));
        assert_eq!(a.union(&b), group(&[0, 3, 1, 2, 5]));
        assert_eq!(a.intersection(&b), group(&[0, 2]));
        assert_eq!(a.difference(&b), group(&[3, 1]));
        assert_eq!(a.include(&[3, 0]), Ok(group(&[2, 0])));
        assert_eq!(a.include(&[4]), Err(4));
        assert_eq!(a.include(&[1, 1]), Err(1));
        assert_eq!(a.exclude(&[1]), Ok(group(&[0, 1, 2])));
        assert_eq!(a.translate(&[0, 1, 3, 9], &b), [Some(2), None, Some(1), None]);
    }

    /// MPI 4.0, 7.3.2: (1,9,2), (15,20,3), (21,30,2) becomes 1 3 5 7 9 15 18 21 23 25 27 29.
    #[test]
    fn triplets_are_those_of_the_standard() {
        let world = Group::world(40);
        let ranges = [(1, 9, 2), (15, 20, 3), (21, 30, 2)];
        let expected = group(&[1, 3, 5, 7, 9, 15, 18, 21, 23, 25, 27, 29]);
        assert_eq!(world.include_ranges(&ranges), Ok(expected));
        assert_eq!(world.include_ranges(&[(6, 1, -2)]), Ok(group(&[6, 4, 2])));
        assert_eq!(world.include_ranges(&[(1, 3, 0)]), Err(1));
        assert_eq!(world.include_ranges(&[(3, 1, 1)]), Err(3));
        assert_eq!(Group::world(5).exclude_ranges(&[(0, 4, 2)]), Ok(group(&[1, 3])));
    }

    #[test]
    fn comparing_sees_order_and_members() {
        assert_eq!(group(&[0, 1]).compare(&Group::world(2)), Comparison::Identical);
        assert_eq!(group(&[1, 0]).compare(&Group::world(2)), Comparison::Similar);
        assert_eq!(group(&[0, 2]).compare(&Group::world(2)), Comparison::Unequal);
    }
}
