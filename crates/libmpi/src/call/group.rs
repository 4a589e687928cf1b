//! Groups: ordered sets of ranks. Their members are known by their numbers in the world.

use std::ffi::c_int;

use mpi::group::{Comparison, Group};

use super::communicator;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Comm, Group as Handle};
use crate::abi::pointers::{InList, InOutPtr, OutList, OutPtr};
use crate::abi::{CONGRUENT, IDENT, PROC_NULL, SIMILAR, UNDEFINED, UNEQUAL};
use crate::live::process::Process;

/// The group of a handle.
pub fn find(me: &Process, group: Handle) -> Answer<Group> {
    let wrong = |reason: String| Err(Error::new(Class::GROUP, reason));
    match group {
        Handle::EMPTY => Ok(Group::world(0)),
        Handle::NULL => wrong("MPI_GROUP_NULL".into()),
        Handle(number) => match me.objects.groups.borrow().get(number) {
            Some(found) => Ok(found.clone()),
            None => wrong(format!("{number:#x} is not a group")),
        },
    }
}

/// A handle for a group; one without members is MPI_GROUP_EMPTY.
pub fn keep(me: &Process, group: Group) -> Handle {
    if group.size() == 0 {
        return Handle::EMPTY;
    }
    Handle(handle::number(me.objects.groups.borrow_mut().insert(group)))
}

/// MPI_Comm_group
pub fn comm_group(me: &Process, comm: Comm, group: OutPtr<Handle>) -> Answer {
    let found = communicator::find(me, comm)?;
    group.set(keep(me, found.group(me.rank)));
    Ok(())
}

/// MPI_Comm_remote_group
pub fn comm_remote_group(me: &Process, comm: Comm, group: OutPtr<Handle>) -> Answer {
    let remote = communicator::find_inter(me, comm)?.remote();
    group.set(keep(me, remote.expect("it has two groups")));
    Ok(())
}

/// MPI_Group_free
pub fn free(me: &Process, mut group: InOutPtr<Handle>) -> Answer {
    let group = &mut *group;
    find(me, *group)?;
    me.objects.groups.borrow_mut().remove(group.0);
    *group = Handle::NULL;
    Ok(())
}

/// MPI_Group_size
pub fn size(me: &Process, group: Handle, size: OutPtr<c_int>) -> Answer {
    let found = find(me, group)?;
    size.set(found.size() as c_int);
    Ok(())
}

/// MPI_Group_rank
pub fn rank(me: &Process, group: Handle, rank: OutPtr<c_int>) -> Answer {
    let found = find(me, group)?.rank_of(me.rank);
    rank.set(found.map_or(UNDEFINED, |rank| rank as c_int));
    Ok(())
}

/// MPI_Group_compare
pub fn compare(me: &Process, one: Handle, other: Handle, result: OutPtr<c_int>) -> Answer {
    let found = match find(me, one)?.compare(&find(me, other)?) {
        Comparison::Identical => IDENT,
        Comparison::Similar => SIMILAR,
        Comparison::Unequal => UNEQUAL,
    };
    result.set(found);
    Ok(())
}

/// Comparison of communicators whose groups compare so.
pub fn as_communicators(compared: Comparison) -> c_int {
    match compared {
        Comparison::Identical => CONGRUENT,
        Comparison::Similar => SIMILAR,
        Comparison::Unequal => UNEQUAL,
    }
}

/// MPI_Group_translate_ranks
pub fn translate_ranks(
    me: &Process,
    from: Handle,
    count: c_int,
    ranks: InList<c_int>,
    to: Handle,
    result: OutList<c_int>,
) -> Answer {
    let (from, to) = (find(me, from)?, find(me, to)?);
    let count = checked(count)?;
    if count > 0 && (ranks.is_null() || result.is_null()) {
        return Err(Error::new(Class::ARG, "a null pointer for a list of ranks"));
    }
    for index in 0..count {
        let rank = ranks.get(index);
        result.at(index).set(if rank == PROC_NULL {
            PROC_NULL
        } else {
            let member = member(&from, rank)?;
            to.rank_of(member).map_or(UNDEFINED, |rank| rank as c_int)
        });
    }
    Ok(())
}

fn member(group: &Group, rank: c_int) -> Answer<u32> {
    let found = u32::try_from(rank).ok().and_then(|rank| group.member(rank));
    found.ok_or_else(|| {
        let size = group.size();
        Error::new(Class::RANK, format!("a rank of the group from 0, below {size}, not {rank}"))
    })
}

fn checked(count: c_int) -> Answer<usize> {
    usize::try_from(count).map_err(|_| Error::new(Class::ARG, format!("a count of 0 or more, not {count}")))
}

macro_rules! sets {
    ($($(#[$doc:meta])* $name:ident $operation:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(me: &Process, one: Handle, other: Handle, new: OutPtr<Handle>) -> Answer {
            let made = find(me, one)?.$operation(&find(me, other)?);
            new.set(keep(me, made));
            Ok(())
        }
    )*};
}

sets! {
    /// MPI_Group_union
    union union;
    /// MPI_Group_intersection
    intersection intersection;
    /// MPI_Group_difference
    difference difference;
}

macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident $read:ident($kind:ty) $operation:ident;)*) => {$(
        $(#[$doc])*
        pub unsafe fn $name(
            me: &Process, group: Handle, count: c_int, list: $kind, new: OutPtr<Handle>,
        ) -> Answer {
            let group = find(me, group)?;
            let ranks = $read(&group, checked(count)?, list)?;
            let made = group.$operation(&ranks).map_err(|rank| {
                Error::new(Class::RANK, format!("rank {rank} is named twice"))
            })?;
            new.set(keep(me, made));
            Ok(())
        }
    )*};
}

lists! {
    /// MPI_Group_incl
    incl ranks(InList<c_int>) include;
    /// MPI_Group_excl
    excl ranks(InList<c_int>) exclude;
    /// MPI_Group_range_incl
    range_incl ranges(InList<[c_int; 3]>) include_ranges;
    /// MPI_Group_range_excl
    range_excl ranges(InList<[c_int; 3]>) exclude_ranges;
}

fn ranks(group: &Group, count: usize, list: InList<c_int>) -> Answer<Vec<u32>> {
    list.values(count).map(|rank| member(group, rank).map(|_| rank as u32)).collect()
}

fn ranges(group: &Group, count: usize, list: InList<[c_int; 3]>) -> Answer<Vec<(u32, u32, i32)>> {
    list.values(count)
        .map(|[first, last, stride]| {
            if stride == 0 || (i64::from(last) - i64::from(first)) * i64::from(stride) < 0 {
                let reason = format!("from {first} to {last} by {stride} is no range of ranks");
                return Err(Error::new(Class::ARG, reason));
            }
            // The last one need not be met.
            let met = last - (last - first) % stride;
            member(group, first)?;
            member(group, met)?;
            Ok((first as u32, met as u32, stride))
        })
        .collect()
}
