//! Datatypes that are made of others. A function and its large-count twin are one; contents remember which was called.

use std::ffi::c_int;
use std::rc::Rc;

use super::{Combiner, Contents, Made};
use crate::abi::arguments::{Count, Distance, Numbers};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Datatype, Object};
use crate::abi::pointers::{InList, OutPtr};
use crate::call::attribute;
use crate::data::basic::{Basic, Element};
use crate::data::datatype::Layout;
use crate::data::derived::{self, Run};
use crate::live::process::Process;

/// Gives the datatype that was made to the program.
fn keep(me: &Process, layout: Layout, contents: Contents, new: OutPtr<Datatype>) -> Answer {
    let made = Made::new(layout, contents, false);
    new.set(me.datatypes.keep(Rc::new(made)));
    Ok(())
}

fn counted(count: Count) -> Answer<usize> {
    let refused = || Error::new(Class::COUNT, format!("a count of 0 or more, not {}", count.value));
    usize::try_from(count.value).map_err(|_| refused())
}

fn length(value: i64) -> Answer<usize> {
    usize::try_from(value)
        .map_err(|_| Error::new(Class::COUNT, format!("a length of 0 or more, not {value}")))
}

/// MPI_Type_contiguous
pub fn type_contiguous(me: &Process, count: Count, old: Datatype, new: OutPtr<Datatype>) -> Answer {
    let layout = derived::contiguous(&me.datatypes.layout(old)?, counted(count)?);
    let contents =
        Contents::new(Combiner::Contiguous, count.large).counts([count.value]).of(&me.datatypes, [old])?;
    keep(me, layout, contents, new)
}

/// MPI_Type_vector
pub fn type_vector(
    me: &Process,
    count: Count,
    block: i64,
    stride: i64,
    old: Datatype,
    new: OutPtr<Datatype>,
) -> Answer {
    let of = me.datatypes.layout(old)?;
    let layout = derived::vector(&of, counted(count)?, length(block)?, stride as isize * of.extent);
    let contents = Contents::new(Combiner::Vector, count.large);
    let contents = contents.counts([count.value, block, stride]).of(&me.datatypes, [old])?;
    keep(me, layout, contents, new)
}

/// MPI_Type_create_hvector
pub fn type_create_hvector(
    me: &Process,
    count: Count,
    block: i64,
    stride: Distance,
    old: Datatype,
    new: OutPtr<Datatype>,
) -> Answer {
    let of = me.datatypes.layout(old)?;
    let layout = derived::vector(&of, counted(count)?, length(block)?, stride.0);
    let contents = Contents::new(Combiner::Hvector, count.large);
    let contents =
        contents.counts([count.value, block]).addresses([stride.0 as i64]).of(&me.datatypes, [old])?;
    keep(me, layout, contents, new)
}

/// Runs of `old` at distances of `unit` bytes.
fn indexed(
    of: &Layout,
    lengths: impl Iterator<Item = i64>,
    places: impl Iterator<Item = i64>,
    unit: isize,
) -> Answer<Layout> {
    let mut wrong = Ok(());
    let runs = lengths.zip(places).map(|(block, place)| {
        let count = length(block).unwrap_or_else(|error| {
            wrong = Err(error);
            0
        });
        Run { at: place as isize * unit, count }
    });
    let layout = derived::indexed(of, runs);
    wrong.map(|()| layout)
}

/// MPI_Type_indexed
pub fn type_indexed(
    me: &Process,
    count: Count,
    lengths: Numbers,
    places: Numbers,
    old: Datatype,
    new: OutPtr<Datatype>,
) -> Answer {
    let (of, number) = (me.datatypes.layout(old)?, counted(count)?);
    let (lengths, places) = (lengths.values(number), places.values(number));
    let layout = indexed(&of, lengths.clone(), places.clone(), of.extent)?;
    let contents = Contents::new(Combiner::Indexed, count.large);
    let contents = contents.counts([count.value]).counts(lengths).counts(places).of(&me.datatypes, [old])?;
    keep(me, layout, contents, new)
}

/// MPI_Type_create_hindexed
pub fn type_create_hindexed(
    me: &Process,
    count: Count,
    lengths: Numbers,
    places: Numbers,
    old: Datatype,
    new: OutPtr<Datatype>,
) -> Answer {
    let (of, number) = (me.datatypes.layout(old)?, counted(count)?);
    let (lengths, places) = (lengths.values(number), places.values(number));
    let layout = indexed(&of, lengths.clone(), places.clone(), 1)?;
    let contents = Contents::new(Combiner::Hindexed, count.large);
    let contents =
        contents.counts([count.value]).counts(lengths).addresses(places).of(&me.datatypes, [old])?;
    keep(me, layout, contents, new)
}

/// MPI_Type_create_indexed_block
pub fn type_create_indexed_block(
    me: &Process,
    count: Count,
    block: i64,
    places: Numbers,
    old: Datatype,
    new: OutPtr<Datatype>,
) -> Answer {
    let of = me.datatypes.layout(old)?;
    let places = places.values(counted(count)?);
    let layout = indexed(&of, std::iter::repeat(block), places.clone(), of.extent)?;
    let contents = Contents::new(Combiner::IndexedBlock, count.large);
    let contents = contents.counts([count.value, block]).counts(places).of(&me.datatypes, [old])?;
    keep(me, layout, contents, new)
}

/// MPI_Type_create_hindexed_block
pub fn type_create_hindexed_block(
    me: &Process,
    count: Count,
    block: i64,
    places: Numbers,
    old: Datatype,
    new: OutPtr<Datatype>,
) -> Answer {
    let of = me.datatypes.layout(old)?;
    let places = places.values(counted(count)?);
    let layout = indexed(&of, std::iter::repeat(block), places.clone(), 1)?;
    let contents = Contents::new(Combiner::HindexedBlock, count.large);
    let contents = contents.counts([count.value, block]).addresses(places).of(&me.datatypes, [old])?;
    keep(me, layout, contents, new)
}

/// MPI_Type_create_struct
pub fn type_create_struct(
    me: &Process,
    count: Count,
    lengths: Numbers,
    places: Numbers,
    old: InList<Datatype>,
    new: OutPtr<Datatype>,
) -> Answer {
    let number = counted(count)?;
    let (lengths, places) = (lengths.values(number), places.values(number));
    let olds = (0..number).map(|index| old.get(index));
    // Neighbours of one datatype share its layout.
    let (mut members, mut places_of_members): (Vec<(Datatype, Layout)>, Vec<usize>) = Default::default();
    for old in olds.clone() {
        if members.last().is_none_or(|(last, _)| *last != old) {
            members.push((old, me.datatypes.layout(old)?));
        }
        places_of_members.push(members.len() - 1);
    }
    let members = places_of_members.into_iter().map(|place| &members[place].1);
    let counts = lengths.clone().map(length).collect::<Answer<Vec<_>>>()?;
    let runs = counts.into_iter().zip(places.clone()).map(|(count, at)| Run { at: at as isize, count });
    let is_marker = |layout: &Layout| matches!(layout.basic.map(Basic::element), Some(Element::Marker));
    let layout = derived::structure(runs.zip(members).filter(|(_, of)| !is_marker(of)));
    let marked = |marker| {
        let those = olds.clone().zip(places.clone()).filter(move |(old, _)| *old == marker);
        those.map(|(_, at)| at as isize)
    };
    let lower = marked(Datatype::LB).min().unwrap_or(layout.lower);
    let upper = marked(Datatype::UB).max().unwrap_or(layout.lower + layout.extent);
    let layout = derived::resized(&layout, lower, upper - lower);
    let contents = Contents::new(Combiner::Struct, count.large);
    let contents =
        contents.counts([count.value]).counts(lengths).addresses(places).of(&me.datatypes, olds)?;
    keep(me, layout, contents, new)
}

/// MPI_Type_create_resized
pub fn type_create_resized(
    me: &Process,
    old: Datatype,
    lower: Distance,
    extent: Distance,
    new: OutPtr<Datatype>,
) -> Answer {
    resized(me, old, lower, extent, false, new)
}

/// MPI_Type_create_resized_c
pub fn type_create_resized_c(
    me: &Process,
    old: Datatype,
    lower: Distance,
    extent: Distance,
    new: OutPtr<Datatype>,
) -> Answer {
    resized(me, old, lower, extent, true, new)
}

fn resized(
    me: &Process,
    old: Datatype,
    lower: Distance,
    extent: Distance,
    large: bool,
    new: OutPtr<Datatype>,
) -> Answer {
    let layout = derived::resized(&me.datatypes.layout(old)?, lower.0, extent.0);
    let contents = Contents::new(Combiner::Resized, large);
    let contents = contents.addresses([lower.0 as i64, extent.0 as i64]).of(&me.datatypes, [old])?;
    keep(me, layout, contents, new)
}

/// MPI_Type_dup
pub fn type_dup(me: &Process, old: Datatype, new: OutPtr<Datatype>) -> Answer {
    let of = me.datatypes.layout(old)?;
    let committed = me.datatypes.committed(old).is_ok();
    let contents = Contents::new(Combiner::Dup, false).of(&me.datatypes, [old])?;
    let made = Made::new(derived::resized(&of, of.lower, of.extent), contents, false);
    made.committed.set(committed);
    let kept = me.datatypes.keep(Rc::new(made));
    if let Err(error) = attribute::copy_all(me, Object::Datatype(old), Object::Datatype(kept)) {
        let _ = attribute::delete_all(me, Object::Datatype(kept));
        me.datatypes.forget(kept);
        return Err(error);
    }
    new.set(kept);
    Ok(())
}

/// True if the neighbours of the last dimension lie together, not those of the first: MPI_ORDER_C, MPI_ORDER_FORTRAN.
fn last_first(order: c_int) -> Answer<bool> {
    match order {
        0xC => Ok(true),
        0xF => Ok(false),
        other => Err(Error::new(Class::ARG, format!("MPI_ORDER_C or MPI_ORDER_FORTRAN, not {other}"))),
    }
}

fn ordered<T>(mut dimensions: Vec<T>, last_first: bool) -> Vec<T> {
    if last_first {
        dimensions.reverse();
    }
    dimensions
}

/// Number of dimensions: one or more.
fn rank_of(dimensions: c_int) -> Answer<usize> {
    match usize::try_from(dimensions) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(Error::new(Class::ARG, format!("one dimension or more, not {dimensions}"))),
    }
}

/// MPI_Type_create_subarray
pub fn type_create_subarray(
    me: &Process,
    dimensions: c_int,
    sizes: Numbers,
    parts: Numbers,
    starts: Numbers,
    order: c_int,
    old: Datatype,
    new: OutPtr<Datatype>,
) -> Answer {
    let count = rank_of(dimensions)?;
    let of = me.datatypes.layout(old)?;
    let [sizes_of, parts_of, starts_of] = [sizes, parts, starts].map(|list| list.values(count));
    let each = sizes_of.clone().zip(parts_of.clone()).zip(starts_of.clone()).map(|((size, part), start)| {
        if size < 1 || part < 1 || start < 0 || part > size - start {
            let reason = format!("{part} from {start} on of a dimension of {size}");
            return Err(Error::new(Class::ARG, reason));
        }
        let share = derived::Share::Range(start as usize, part as usize);
        Ok(derived::Dimension { whole: size as usize, share })
    });
    let shares = ordered(each.collect::<Answer<Vec<_>>>()?, last_first(order)?);
    let layout = derived::array(&of, shares.into_iter());
    let large = matches!(sizes, Numbers::Long(_));
    let contents = Contents::new(Combiner::Subarray, large).integers([dimensions.into()]);
    let contents = contents.counts(sizes_of).counts(parts_of).counts(starts_of);
    let contents = contents.integers([order.into()]).of(&me.datatypes, [old])?;
    keep(me, layout, contents, new)
}

/// MPI_DISTRIBUTE_NONE, _BLOCK, _CYCLIC, _DFLT_DARG.
const DISTRIBUTE: [i64; 4] = [16, 17, 18, 19];

/// Share of member `member` of `members` in a dimension of `size`.
fn dealt(size: i64, how: i64, argument: i64, members: i64, member: i64) -> Answer<derived::Share> {
    let [none, block, cyclic, default] = DISTRIBUTE;
    let refused = |reason: String| Err(Error::new(Class::ARG, reason));
    if size < 1 || members < 1 {
        return refused(format!("a dimension of {size} for {members} processes"));
    }
    let length = match how {
        _ if how == none && members == 1 => return Ok(derived::Share::Range(0, size as usize)),
        _ if how == none => return refused(format!("a dimension that is not dealt, to {members} processes")),
        _ if how == block && argument == default => (size + members - 1) / members,
        _ if how == cyclic && argument == default => 1,
        _ if (how == block || how == cyclic) && argument > 0 => argument,
        _ => return refused(format!("a dimension dealt by {how} with argument {argument}")),
    };
    if how == block {
        if length * members < size {
            return refused(format!("{members} blocks of {length} for a dimension of {size}"));
        }
        let first = (length * member).min(size);
        return Ok(derived::Share::Range(first as usize, length.min(size - first) as usize));
    }
    let [length, of, member] = [length, members, member].map(|value| value as usize);
    Ok(derived::Share::Cyclic { length, of, member })
}

/// MPI_Type_create_darray
pub fn type_create_darray(
    me: &Process,
    size: c_int,
    rank: c_int,
    dimensions: c_int,
    sizes: Numbers,
    ways: Numbers,
    arguments: Numbers,
    grid: Numbers,
    order: c_int,
    old: Datatype,
    new: OutPtr<Datatype>,
) -> Answer {
    let count = rank_of(dimensions)?;
    let of = me.datatypes.layout(old)?;
    let [sizes_of, ways, arguments, grid] = [sizes, ways, arguments, grid].map(|list| list.values(count));
    if grid.clone().product::<i64>() != i64::from(size) || !(0..size).contains(&rank) {
        return Err(Error::new(Class::ARG, format!("rank {rank} of {size} processes in another grid")));
    }
    // The grid's last coordinate runs fastest, whatever the order of the array.
    let (mut left, mut coordinates) = (i64::from(rank), vec![0; count]);
    for (place, members) in grid.clone().enumerate().collect::<Vec<_>>().into_iter().rev() {
        coordinates[place] = left % members;
        left /= members;
    }
    let each = (sizes_of.clone().zip(ways.clone()).zip(arguments.clone()).zip(grid.clone()).zip(coordinates))
        .map(|((((whole, how), argument), members), member)| {
            let share = dealt(whole, how, argument, members, member)?;
            Ok(derived::Dimension { whole: whole as usize, share })
        });
    let shares = ordered(each.collect::<Answer<Vec<_>>>()?, last_first(order)?);
    let layout = derived::array(&of, shares.into_iter());
    let large = matches!(sizes, Numbers::Long(_));
    let contents = Contents::new(Combiner::Darray, large);
    let contents = contents.integers([size, rank, dimensions].map(i64::from)).counts(sizes_of);
    let contents = contents.integers(ways).integers(arguments).integers(grid);
    let contents = contents.integers([order.into()]).of(&me.datatypes, [old])?;
    keep(me, layout, contents, new)
}
