//! Views of files and positions in them.

use std::cell::Ref;
use std::ffi::c_int;

use super::representation::{LONGEST, named};
use super::timing::metadata;
use super::{OpenFile, find, meet, mode, negative, together, with, writable};
use crate::abi::arguments::NumberOut;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Datatype, File, Info, Object};
use crate::abi::pointers::{InOutPtr, InText, OutPtr, OutText};
use crate::call::environment::write_text;
use crate::call::{communicator, datatype, info};
use crate::data::datatype::Layout;
use crate::data::file::{Block, View, blocks};
use crate::live::process::Process;

/// MPI_SEEK_CUR, _END, _SET.
const SEEK: [c_int; 3] = [401, 402, 403];
/// MPI_DISPLACEMENT_CURRENT
const CURRENT: i64 = -1;

/// MPI_File_set_view
pub fn set_view(
    me: &Process,
    file: File,
    start: i64,
    etype: Datatype,
    filetype: Datatype,
    representation: InText,
    hints: Info,
) -> Answer {
    with(me, file, |found| {
        let hints = info::hints(me, hints)?;
        let representation = named(me, representation)?;
        let (unit, layout) = (me.layout(etype)?, me.layout(filetype)?);
        let start = match start {
            CURRENT if found.mode & mode::SEQUENTIAL != 0 => place(found, found.opened.pointer.get()),
            0.. => start,
            _ => return Err(negative("a displacement", start)),
        };
        if unit.size == 0 || layout.size % unit.size != 0 {
            let reason = format!(
                "a filetype of whole etypes, not {} bytes of data for etypes of {}",
                layout.size, unit.size
            );
            return Err(Error::new(Class::ARG, reason));
        }
        for (what, checked) in [("etype", &unit), ("filetype", &layout)] {
            if !in_order(checked, writable(found).is_ok()) {
                let reason = format!(
                    "the displacements of the {what} are 0 or more and do not decrease; nor overlap, where one writes"
                );
                return Err(Error::new(Class::IO, reason));
            }
        }
        let sizes = (representation.size(&unit)?, representation.size(&layout)?);
        let native = sizes == (unit.size, layout.size);
        let dense = unit.is_dense() && layout.is_dense() && sizes.0 > 0;
        if !native && !dense {
            let reason = "a representation that changes lengths, of datatypes with holes";
            return Err(Error::new(Class::UNSUPPORTED_DATAREP, reason));
        }
        // The program may free its datatypes: these are ours.
        let kept = |datatype: Datatype| -> Answer<Datatype> {
            let mut copy = datatype;
            if !predefined(datatype) {
                datatype::type_dup(me, datatype, OutPtr::of(&mut copy))?;
            }
            Ok(copy)
        };
        let (etype, filetype) = (kept(etype)?, kept(filetype)?);
        let view = if native {
            View::new(start, (etype, &unit), (filetype, &layout))
        } else {
            View::dense(start, (etype, sizes.0), (filetype, sizes.1))
        };
        found.representation.replace(representation);
        let before = found.view.replace(view);
        for mut datatype in [before.etype, before.filetype] {
            if !predefined(datatype) {
                datatype::type_free(me, InOutPtr::of(&mut datatype))?;
            }
        }
        found.at.set(0);
        info::keep_hints(me, Object::File(file), hints);
        together(me, found)?;
        found.opened.pointer.set(0);
        together(me, found)
    })
}

/// Checks what the standard asks of datatypes in views.
fn in_order(layout: &Layout, apart: bool) -> bool {
    let blocks = blocks(layout);
    let ends = |block: &Block| if apart { block.at + block.bytes as i64 } else { block.at };
    blocks.iter().all(|block| block.at >= 0) && blocks.windows(2).all(|pair| ends(&pair[0]) <= pair[1].at)
}

fn predefined(datatype: Datatype) -> bool {
    datatype.0 < 4096
}

/// MPI_File_get_view: derived datatypes are copies, which the program frees.
pub fn get_view(
    me: &Process,
    file: File,
    start: OutPtr<i64>,
    etype: OutPtr<Datatype>,
    filetype: OutPtr<Datatype>,
    representation: OutText,
) -> Answer {
    with(me, file, |found| {
        let view = found.view.borrow().clone();
        let mut length = 0;
        start.set(view.start);
        for (place, known) in [(etype, view.etype), (filetype, view.filetype)] {
            place.set(known);
            if !predefined(known) {
                datatype::type_dup(me, known, place)?;
            }
        }
        write_text(found.representation.borrow().name(), LONGEST, representation, OutPtr::of(&mut length));
        Ok(())
    })
}

/// The place in the file of an offset in the view.
fn place(file: &OpenFile, offset: i64) -> i64 {
    let view: Ref<View> = file.view.borrow();
    view.place(offset * view.unit)
}

/// The offset behind the last etype of the file.
fn end(file: &OpenFile) -> Answer<i64> {
    let view = file.view.borrow();
    let data = view.before(file.opened.size()?);
    Ok((data + view.unit - 1) / view.unit)
}

fn sought(file: &OpenFile, now: i64, offset: i64, whence: c_int) -> Answer<i64> {
    if file.mode & mode::SEQUENTIAL != 0 {
        return Err(sequential());
    }
    let from = match SEEK.iter().position(|one| *one == whence) {
        Some(0) => now,
        Some(1) => end(file)?,
        Some(_) => 0,
        None => return Err(Error::new(Class::ARG, format!("one of MPI_SEEK_SET, _CUR, _END, not {whence}"))),
    };
    match from + offset {
        place @ 0.. => Ok(place),
        place => Err(negative("a position", place)),
    }
}

/// Refusal of a file that is read or written in order.
pub fn sequential() -> Error {
    let reason = "not with MPI_MODE_SEQUENTIAL, with which a file is read or written in order";
    Error::new(Class::UNSUPPORTED_OPERATION, reason)
}

/// MPI_File_seek
pub fn seek(me: &Process, file: File, offset: i64, whence: c_int) -> Answer {
    with(me, file, |found| {
        found.at.set(sought(found, found.at.get(), offset, whence)?);
        if whence == SEEK[1] {
            metadata(me, "MPI_File_seek");
        }
        Ok(())
    })
}

/// MPI_File_seek_shared
pub fn seek_shared(me: &Process, file: File, offset: i64, whence: c_int) -> Answer {
    with(me, file, |found| {
        let comm = communicator::find(me, found.comm)?;
        if comm.rank == 0 {
            metadata(me, "MPI_File_seek_shared");
        }
        let size = comm.size as usize;
        let given = [offset.to_le_bytes(), i64::from(whence).to_le_bytes()].concat().into_boxed_slice();
        let outcome = meet(me, &comm, given, |open| {
            if (1..size).any(|place| open.block(place, 0) != open.block(0, 0)) {
                return Err(Error::new(Class::NOT_SAME, "offset or whence differ between ranks"));
            }
            found.opened.pointer.set(sought(found, found.opened.pointer.get(), offset, whence)?);
            Ok(())
        })?;
        (*outcome).clone()
    })
}

/// MPI_File_get_position
pub fn get_position(me: &Process, file: File, offset: OutPtr<i64>) -> Answer {
    let found = with(me, file, |found| match found.mode & mode::SEQUENTIAL {
        0 => Ok(found.at.get()),
        _ => Err(sequential()),
    })?;
    offset.set(found);
    Ok(())
}

/// MPI_File_get_position_shared
pub fn get_position_shared(me: &Process, file: File, offset: OutPtr<i64>) -> Answer {
    let found = with(me, file, |found| match found.mode & mode::SEQUENTIAL {
        0 => Ok(found.opened.pointer.get()),
        _ => Err(sequential()),
    })?;
    offset.set(found);
    Ok(())
}

/// MPI_File_get_byte_offset
pub fn get_byte_offset(me: &Process, file: File, offset: i64, at: OutPtr<i64>) -> Answer {
    let found = with(me, file, |found| match offset {
        0.. => Ok(place(found, offset)),
        _ => Err(negative("an offset", offset)),
    })?;
    at.set(found);
    Ok(())
}

/// MPI_File_get_type_extent: in files as in memory, where the representation leaves lengths as they are.
pub fn get_type_extent(me: &Process, file: File, datatype: Datatype, extent: NumberOut) -> Answer {
    find(me, file)?;
    let found = with(me, file, |found| {
        let layout = me.layout(datatype)?;
        let size = found.representation.borrow().size(&layout)?;
        Ok(if size != layout.size && layout.is_dense() { size as i64 } else { layout.extent as i64 })
    })?;
    extent.set(found);
    Ok(())
}
