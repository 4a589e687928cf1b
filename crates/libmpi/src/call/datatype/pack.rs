//! Contents of messages in the program's own buffers: MPI_Pack and its kin.

use std::ffi::c_void;

use crate::abi::arguments::{Distance, NumberInOut, NumberOut};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Comm, Datatype};
use crate::abi::pointers::InText;
use crate::call::communicator;
use crate::data::datatype::Layout;
use crate::data::external;
use crate::live::process::Process;

/// The place for `bytes` bytes in a buffer of `room`, from `position` on.
fn placed(position: i64, bytes: u64, room: i64) -> Answer<(usize, i64)> {
    let end = i64::try_from(bytes).ok().and_then(|bytes| position.checked_add(bytes));
    match (usize::try_from(position), end) {
        (Ok(begin), Some(end)) if end <= room => Ok((begin, end)),
        _ => {
            let reason = format!("{bytes} bytes at position {position} of a buffer of {room} bytes");
            Err(Error::new(Class::TRUNCATE, reason))
        }
    }
}

fn nowhere(bytes: u64, buffer: *const c_void) -> Answer {
    if bytes > 0 && buffer.is_null() {
        return Err(Error::new(Class::BUFFER, "no buffer for packed data"));
    }
    Ok(())
}

/// MPI_Pack
pub unsafe fn pack(
    me: &Process,
    from: *const c_void,
    count: i64,
    datatype: Datatype,
    into: *mut c_void,
    room: i64,
    position: NumberInOut,
    comm: Comm,
) -> Answer {
    communicator::find(me, comm)?;
    let layout = me.layout(datatype).map_err(|error| error.of(comm))?;
    let bytes = layout.bytes(count).map_err(|error| error.of(comm))?;
    nowhere(bytes, into).map_err(|error| error.of(comm))?;
    // SAFETY: as the contract of `call` says.
    unsafe {
        let (begin, end) = placed(position.get(), bytes, room).map_err(|error| error.of(comm))?;
        layout.pack_into(from, count, into.cast::<u8>().wrapping_add(begin));
        position.set(end);
    }
    Ok(())
}

/// MPI_Unpack
pub unsafe fn unpack(
    me: &Process,
    from: *const c_void,
    room: i64,
    position: NumberInOut,
    into: *mut c_void,
    count: i64,
    datatype: Datatype,
    comm: Comm,
) -> Answer {
    communicator::find(me, comm)?;
    let layout = me.layout(datatype).map_err(|error| error.of(comm))?;
    let bytes = layout.bytes(count).map_err(|error| error.of(comm))?;
    nowhere(bytes, from).map_err(|error| error.of(comm))?;
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: as the contract of `call` says.
    unsafe {
        let (begin, end) = placed(position.get(), bytes, room).map_err(|error| error.of(comm))?;
        let contents = std::slice::from_raw_parts(from.cast::<u8>().add(begin), bytes as usize);
        layout.unpack(contents, into);
        position.set(end);
    }
    Ok(())
}

/// MPI_Pack_size
pub fn pack_size(me: &Process, count: i64, datatype: Datatype, comm: Comm, size: NumberOut) -> Answer {
    communicator::find(me, comm)?;
    let bytes = me.layout(datatype).and_then(|layout| layout.bytes(count)).map_err(|error| error.of(comm))?;
    size.set(bytes as i64);
    Ok(())
}

/// The layout of values in the one representation that the standard has.
fn represented(me: &Process, name: InText, count: i64, datatype: Datatype) -> Answer<(Layout, u64)> {
    let name = String::from_utf8_lossy(name.bytes().unwrap_or_default());
    if name != "external32" {
        let reason = format!("\"external32\", not {name:?}");
        return Err(Error::new(Class::ARG, reason));
    }
    let layout = me.layout(datatype)?;
    layout.bytes(count)?;
    let bytes = external::size(&layout) * count as u64;
    Ok((layout, bytes))
}

/// MPI_Pack_external
pub unsafe fn pack_external(
    me: &Process,
    name: InText,
    from: *const c_void,
    count: i64,
    datatype: Datatype,
    into: *mut c_void,
    room: Distance,
    position: NumberInOut,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe {
        let (layout, bytes) = represented(me, name, count, datatype)?;
        nowhere(bytes, into)?;
        let (begin, end) = placed(position.get(), bytes, room.0 as i64)?;
        external::pack(&layout, from, count as usize, into.cast::<u8>().wrapping_add(begin))?;
        position.set(end);
    }
    Ok(())
}

/// MPI_Unpack_external
pub unsafe fn unpack_external(
    me: &Process,
    name: InText,
    from: *const c_void,
    room: Distance,
    position: NumberInOut,
    into: *mut c_void,
    count: i64,
    datatype: Datatype,
) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe {
        let (layout, bytes) = represented(me, name, count, datatype)?;
        nowhere(bytes, from)?;
        let (begin, end) = placed(position.get(), bytes, room.0 as i64)?;
        external::unpack(&layout, from.cast::<u8>().wrapping_add(begin), into, count as usize);
        position.set(end);
    }
    Ok(())
}

/// MPI_Pack_external_size
pub fn pack_external_size(
    me: &Process,
    name: InText,
    count: i64,
    datatype: Datatype,
    size: NumberOut,
) -> Answer {
    let (_, bytes) = represented(me, name, count, datatype)?;
    size.set(bytes as i64);
    Ok(())
}
