//! Datatypes: what programs make of them, and what they ask.

use std::ffi::{c_int, c_void};

use crate::abi::UNDEFINED;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::export::{Distance, NumberOut, Numbers};
use crate::abi::handle::{self, Datatype};
use crate::abi::status::Status;
use crate::data::datatype::Layout;
use crate::data::derived::{self, Run};
use crate::live::process::Process;

/// MPI_Type_size
pub unsafe fn type_size(me: &Process, datatype: Datatype, size: NumberOut) -> Answer {
    let layout = me.layout(datatype)?;
    // SAFETY: as the contract of `call` says.
    unsafe { size.set(layout.size as i64) };
    Ok(())
}

/// MPI_Type_get_extent
pub unsafe fn type_get_extent(
    me: &Process,
    datatype: Datatype,
    lower: NumberOut,
    extent: NumberOut,
) -> Answer {
    let layout = me.layout(datatype)?;
    // SAFETY: as the contract of `call` says.
    unsafe {
        lower.set(layout.lower as i64);
        extent.set(layout.extent as i64);
    }
    Ok(())
}

/// MPI_Type_commit: there is nothing to prepare.
pub unsafe fn type_commit(me: &Process, datatype: *mut Datatype) -> Answer {
    // SAFETY: as the contract of `call` says.
    me.layout(unsafe { *datatype }).map(|_| ())
}

/// MPI_Get_count: MPI_UNDEFINED where the message is not a whole number of values.
pub unsafe fn get_count(me: &Process, status: *const Status, datatype: Datatype, count: NumberOut) -> Answer {
    let layout = me.layout(datatype)?;
    // SAFETY: as the contract of `call` says.
    unsafe {
        let bytes = (*status).bytes() as i64;
        let size = layout.size as i64;
        let whole = if size == 0 { bytes == 0 } else { bytes % size == 0 };
        count.set(if whole { bytes / size.max(1) } else { UNDEFINED.into() });
    }
    Ok(())
}

/// MPI_Get_address
pub unsafe fn get_address(_: &Process, location: *const c_void, address: *mut isize) -> Answer {
    if address.is_null() {
        return Err(Error::new(Class::ARG, "no place for the address"));
    }
    // SAFETY: as the contract of `call` says.
    unsafe { *address = location as isize };
    Ok(())
}

/// A flag as C has it.
pub fn truth(flag: bool) -> c_int {
    c_int::from(flag)
}

/// The layout of runs of `old`, each `counts(i)` values at `at(i)` bytes, becomes a datatype.
///
/// # Safety
/// As the contract of `call` says.
unsafe fn runs(
    me: &Process,
    count: i64,
    old: Datatype,
    run: impl Fn(usize, isize) -> (isize, i64),
    new: *mut Datatype,
) -> Answer {
    let of = me.layout(old)?;
    let count = checked(count)?;
    let runs = (0..count).map(|index| {
        let (at, count) = run(index, of.extent);
        Ok(Run { at, count: checked(count)?, of: of.clone() })
    });
    let made = derived::layout(&runs.collect::<Answer<Vec<_>>>()?);
    // SAFETY: the caller says so.
    unsafe { keep(me, made, new) };
    Ok(())
}

unsafe fn keep(me: &Process, layout: Layout, new: *mut Datatype) {
    let place = me.datatypes.borrow_mut().insert(layout);
    // SAFETY: as the contract of `call` says.
    unsafe { *new = Datatype(handle::number(place)) };
}

fn checked(count: i64) -> Answer<usize> {
    usize::try_from(count).map_err(|_| Error::new(Class::COUNT, format!("a count of 0 or more, not {count}")))
}

/// MPI_Type_contiguous
pub unsafe fn type_contiguous(me: &Process, count: i64, old: Datatype, new: *mut Datatype) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe { runs(me, 1, old, |_, _| (0, count), new) }
}

/// MPI_Type_vector
pub unsafe fn type_vector(
    me: &Process,
    count: i64,
    length: i64,
    stride: i64,
    old: Datatype,
    new: *mut Datatype,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe { runs(me, count, old, |index, extent| (index as isize * stride as isize * extent, length), new) }
}

/// MPI_Type_create_hvector
pub unsafe fn type_create_hvector(
    me: &Process,
    count: i64,
    length: i64,
    stride: Distance,
    old: Datatype,
    new: *mut Datatype,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe { runs(me, count, old, |index, _| (index as isize * stride.0, length), new) }
}

/// MPI_Type_indexed
pub unsafe fn type_indexed(
    me: &Process,
    count: i64,
    lengths: Numbers,
    places: Numbers,
    old: Datatype,
    new: *mut Datatype,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    let run = |index, extent| unsafe { (places.get(index) as isize * extent, lengths.get(index)) };
    // SAFETY: as the contract of `call` says.
    unsafe { runs(me, count, old, run, new) }
}

/// MPI_Type_create_hindexed
pub unsafe fn type_create_hindexed(
    me: &Process,
    count: i64,
    lengths: Numbers,
    places: Numbers,
    old: Datatype,
    new: *mut Datatype,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    let run = |index, _| unsafe { (places.get(index) as isize, lengths.get(index)) };
    // SAFETY: as the contract of `call` says.
    unsafe { runs(me, count, old, run, new) }
}

/// MPI_Type_create_indexed_block
pub unsafe fn type_create_indexed_block(
    me: &Process,
    count: i64,
    length: i64,
    places: Numbers,
    old: Datatype,
    new: *mut Datatype,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    let run = |index, extent| unsafe { (places.get(index) as isize * extent, length) };
    // SAFETY: as the contract of `call` says.
    unsafe { runs(me, count, old, run, new) }
}

/// MPI_Type_create_struct
pub unsafe fn type_create_struct(
    me: &Process,
    count: i64,
    lengths: Numbers,
    places: Numbers,
    old: *const Datatype,
    new: *mut Datatype,
) -> Answer {
    let runs = (0..checked(count)?).map(|index| {
        // SAFETY: as the contract of `call` says.
        let (at, count, of) = unsafe { (places.get(index), lengths.get(index), *old.add(index)) };
        Ok(Run { at: at as isize, count: checked(count)?, of: me.layout(of)? })
    });
    let made = derived::structure(&runs.collect::<Answer<Vec<_>>>()?);
    // SAFETY: as the contract of `call` says.
    unsafe { keep(me, made, new) };
    Ok(())
}

/// MPI_Type_create_resized
pub unsafe fn type_create_resized(
    me: &Process,
    old: Datatype,
    lower: Distance,
    extent: Distance,
    new: *mut Datatype,
) -> Answer {
    let made = derived::resized(&me.layout(old)?, lower.0, extent.0);
    // SAFETY: as the contract of `call` says.
    unsafe { keep(me, made, new) };
    Ok(())
}

/// MPI_Type_dup
pub unsafe fn type_dup(me: &Process, old: Datatype, new: *mut Datatype) -> Answer {
    let made = me.layout(old)?;
    // SAFETY: as the contract of `call` says.
    unsafe { keep(me, made, new) };
    Ok(())
}

/// MPI_Type_free: what has been begun with it goes on.
pub unsafe fn type_free(me: &Process, datatype: *mut Datatype) -> Answer {
    // SAFETY: as the contract of `call` says.
    let datatype = unsafe { &mut *datatype };
    match me.datatypes.borrow_mut().remove(datatype.0) {
        Some(_) => {
            *datatype = Datatype::NULL;
            Ok(())
        }
        None => Err(Error::new(Class::TYPE, format!("{:#x} is not a datatype that was made", datatype.0))),
    }
}
