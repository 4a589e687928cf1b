//! Reading and writing.
//!
//! The data moves when a rank calls; the call, or the request, is complete when the modelled file system is done with
//! it. A collective access ends for all ranks together.

use std::ffi::c_void;
use std::sync::Arc;

use engine::Bytes;
use mpi::Op;
use mpi::file_system::{Access, Work};

use super::position::sequential;
use super::timing::{Direction, collective, metadata, wait_for};
use super::{OpenFile, mode, negative, together, with, writable};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Datatype, File, Request};
use crate::abi::pointers::{InOutPtr, OutPtr};
use crate::abi::status::Status;
use crate::call::request::Pending;
use crate::call::{communicator, request};
use crate::data::aggregation::Part;
use crate::live::process::Process;

/// Begin of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    /// At this offset \[etypes\].
    At(i64),
    /// At the rank's own pointer.
    Own,
    /// At the shared pointer.
    Shared,
    /// At the shared pointer, one rank after the other.
    Ordered,
}

/// The program's memory.
#[derive(Debug, Clone, Copy)]
enum Memory {
    /// To be filled from the file.
    Read(*mut c_void),
    /// To be written to the file.
    Write(*const c_void),
}

impl Memory {
    fn direction(self) -> Direction {
        match self {
            Memory::Read(_) => Direction::Read,
            Memory::Write(_) => Direction::Write,
        }
    }
}

/// The parts of a file that an access has reached.
type Parts = Arc<[Part]>;

/// First byte of an access in the data of the view. Pointers move on by `etypes`.
fn begin(me: &Process, file: &OpenFile, name: &'static str, from: Where, etypes: i64) -> Answer<i64> {
    let offset = match from {
        Where::At(offset) if offset < 0 => return Err(negative("an offset", offset)),
        Where::At(_) if file.mode & mode::SEQUENTIAL != 0 => return Err(sequential()),
        Where::At(offset) => offset,
        Where::Own if file.mode & mode::SEQUENTIAL != 0 => return Err(sequential()),
        Where::Own => file.at.get(),
        Where::Shared => {
            let offset = file.opened.pointer.replace(file.opened.pointer.get() + etypes);
            metadata(me, name);
            offset
        }
        Where::Ordered => {
            let comm = communicator::find(me, file.comm)?;
            if comm.rank == 0 {
                metadata(me, name);
            }
            let size = comm.size as usize;
            let pointer = &file.opened.pointer;
            let begins = super::meet(me, &comm, Box::new(etypes.to_le_bytes()), |open| {
                let mut at = pointer.get();
                let begins: Vec<i64> = (0..size)
                    .map(|place| {
                        let given = open.block(place, 0).try_into().expect("eight bytes");
                        let next = at + i64::from_le_bytes(given);
                        std::mem::replace(&mut at, next)
                    })
                    .collect();
                pointer.set(at);
                begins
            })?;
            begins[comm.rank as usize]
        }
    };
    Ok(offset * file.view.borrow().unit)
}

/// Bytes of an element in the file, and of all, of an access that may be made.
fn checked(
    me: &Process,
    file: &OpenFile,
    memory: Memory,
    (count, datatype): (i64, Datatype),
) -> Answer<(usize, usize)> {
    let layout = me.layout(datatype)?;
    layout.bytes(count)?;
    match memory {
        Memory::Write(_) => writable(file)?,
        Memory::Read(_) if file.mode & mode::WRONLY != 0 => {
            return Err(Error::new(Class::ACCESS, "it was opened with MPI_MODE_WRONLY"));
        }
        Memory::Read(_) => {}
    }
    let unit = file.view.borrow().unit;
    let each = file.representation.borrow().size(&layout)?;
    let bytes = each * count as usize;
    if bytes as i64 % unit != 0 {
        let reason = format!("a whole number of etypes of {unit} bytes, not {bytes} bytes");
        return Err(Error::new(Class::IO, reason));
    }
    Ok((each, bytes))
}

/// Moves the data. Gives the status, and what of the file has been read or written.
unsafe fn transfer(
    me: &Process,
    file: &OpenFile,
    (name, from): (&'static str, Where),
    memory: Memory,
    (count, datatype): (i64, Datatype),
) -> Answer<(Status, Parts)> {
    let checked = checked(me, file, memory, (count, datatype));
    if checked.is_err() && from == Where::Ordered {
        // Others wait to hear where they begin.
        begin(me, file, name, from, 0)?;
    }
    let (each, bytes) = checked?;
    let (layout, representation) = (me.layout(datatype)?, file.representation.borrow().clone());
    let unit = file.view.borrow().unit;
    let first = begin(me, file, name, from, bytes as i64 / unit)?;
    let runs = file.view.borrow().runs(first, bytes);
    let moved = match memory {
        Memory::Write(buffer) => {
            // SAFETY: as the contract of `call` says.
            let data = unsafe { representation.outside((datatype, &layout), buffer, count, bytes) }?;
            file.opened.write(&runs, &data)?;
            data.len()
        }
        Memory::Read(buffer) => {
            let data = file.opened.read(&runs)?;
            let moved = data.len();
            // SAFETY: as the contract of `call` says.
            unsafe { representation.inside((datatype, &layout), data, each, buffer) }?;
            moved
        }
    };
    if from == Where::Own {
        file.at.set((first + moved as i64) / unit);
    }
    Ok((Status::new(0, 0, 0, moved as u64, false), reached(&runs, moved)))
}

/// The first `moved` bytes of these runs.
fn reached(runs: &[(i64, usize)], mut moved: usize) -> Parts {
    let parts = runs.iter().map(|(at, length)| {
        let now = moved.min(*length);
        moved -= now;
        (*at as u64, Bytes(now as u64))
    });
    parts.filter(|part| part.1.0 > 0).collect()
}

/// A call that returns when all is done.
unsafe fn blocking(
    me: &Process,
    file: File,
    (name, from, all): (&'static str, Where, bool),
    memory: Memory,
    values: (i64, Datatype),
    status: OutPtr<Status>,
) -> Answer {
    with(me, file, |found| {
        // SAFETY: as the contract of `call` says.
        let moved = unsafe { transfer(me, found, (name, from), memory, values) };
        if all {
            // One that has failed has part in it, too: the others wait for it.
            let parts = moved.as_ref().map_or_else(|_| Parts::default(), |(_, parts)| parts.clone());
            collective(me, found, name, memory.direction(), parts)?;
        } else if let Ok((_, parts)) = &moved {
            wait_for(me, name, Work::Transfer(found.opened.place, parts.clone()));
        }
        moved?.0.write(status);
        Ok(())
    })
}

/// Begins an access.
unsafe fn start(
    me: &Process,
    file: &OpenFile,
    (name, from): (&'static str, Where),
    memory: Memory,
    values: (i64, Datatype),
) -> Answer<Request> {
    // SAFETY: as the contract of `call` says.
    let (told, parts) = unsafe { transfer(me, file, (name, from), memory, values) }?;
    let access = Arc::new(Access { name, work: Work::Transfer(file.opened.place, parts) });
    Ok(request::begin(me, Pending::file(told), |start| Op::File(access, start)))
}

/// A call that gives a request.
unsafe fn nonblocking(
    me: &Process,
    file: File,
    what: (&'static str, Where),
    memory: Memory,
    values: (i64, Datatype),
    request: OutPtr<Request>,
) -> Answer {
    with(me, file, |found| {
        // SAFETY: as the contract of `call` says.
        unsafe { request.set(start(me, found, what, memory, values)?) };
        Ok(())
    })
}

/// A collective access that another call ends; `ended` names it without "begin" or "end".
unsafe fn split_begin(
    me: &Process,
    file: File,
    (name, ended, from): (&'static str, &'static str, Where),
    memory: Memory,
    values: (i64, Datatype),
) -> Answer {
    with(me, file, |found| {
        if let Some((other, _)) = found.split.get() {
            return Err(Error::new(Class::OTHER, format!("MPI_File_{other} has not ended")));
        }
        // SAFETY: as the contract of `call` says.
        let begun = unsafe { start(me, found, (name, from), memory, values) };
        if begun.is_err() {
            // It ends with the others here, for it may not be ended.
            together(me, found)?;
        }
        found.split.set(Some((ended, begun?)));
        Ok(())
    })
}

fn split_end(me: &Process, file: File, which: &'static str, status: OutPtr<Status>) -> Answer {
    with(me, file, |found| match found.split.get() {
        Some((begun, mut request)) if begun == which => {
            found.split.set(None);
            request::wait(me, InOutPtr::of(&mut request), status)?;
            together(me, found)
        }
        _ => Err(Error::new(Class::OTHER, "nothing is under way that it ends")),
    })
}

/// The functions for one direction: the C functions of these names.
macro_rules! functions {
    ($kind:ident $buffer:ty;
     at: $at:ident $at_all:ident $iat:ident $iat_all:ident $at_begin:ident $at_end:ident;
     own: $own:ident $own_all:ident $iown:ident $iown_all:ident $own_begin:ident $own_end:ident;
     shared: $shared:ident $ishared:ident $ordered:ident $ordered_begin:ident $ordered_end:ident) => {
        functions!(@blocking_at $kind $buffer; $at false; $at_all true);
        functions!(@nonblocking_at $kind $buffer; $iat; $iat_all);
        functions!(@blocking $kind $buffer; $own Own false; $own_all Own true; $shared Shared false; $ordered Ordered true);
        functions!(@nonblocking $kind $buffer; $iown Own; $iown_all Own; $ishared Shared);
        functions!(@split $kind $buffer; $own_begin $own_end Own; $ordered_begin $ordered_end Ordered);

        /// Begins what the function of the name with `end` ends.
        pub unsafe fn $at_begin(me: &Process, file: File, offset: i64, buffer: $buffer, count: i64, of: Datatype) -> Answer {
            let what = (concat!("MPI_File_", stringify!($at_begin)), stringify!($at_all), Where::At(offset));
            // SAFETY: as the contract of `call` says.
            unsafe { split_begin(me, file, what, Memory::$kind(buffer), (count, of)) }
        }
        /// Ends it.
        pub unsafe fn $at_end(me: &Process, file: File, _: $buffer, status: OutPtr<Status>) -> Answer {
            split_end(me, file, stringify!($at_all), status)
        }
    };
    (@blocking_at $kind:ident $buffer:ty; $($name:ident $all:literal);*) => {$(
        /// MPI_File_ of this name.
        pub unsafe fn $name(
            me: &Process, file: File, offset: i64, buffer: $buffer, count: i64, of: Datatype, status: OutPtr<Status>,
        ) -> Answer {
            // SAFETY: as the contract of `call` says.
            unsafe { blocking(me, file, (concat!("MPI_File_", stringify!($name)), Where::At(offset), $all), Memory::$kind(buffer), (count, of), status) }
        }
    )*};
    (@nonblocking_at $kind:ident $buffer:ty; $($name:ident);*) => {$(
        /// MPI_File_ of this name.
        pub unsafe fn $name(
            me: &Process, file: File, offset: i64, buffer: $buffer, count: i64, of: Datatype, request: OutPtr<Request>,
        ) -> Answer {
            // SAFETY: as the contract of `call` says.
            unsafe { nonblocking(me, file, (concat!("MPI_File_", stringify!($name)), Where::At(offset)), Memory::$kind(buffer), (count, of), request) }
        }
    )*};
    (@blocking $kind:ident $buffer:ty; $($name:ident $where:ident $all:literal);*) => {$(
        /// MPI_File_ of this name.
        pub unsafe fn $name(
            me: &Process, file: File, buffer: $buffer, count: i64, of: Datatype, status: OutPtr<Status>,
        ) -> Answer {
            // SAFETY: as the contract of `call` says.
            unsafe { blocking(me, file, (concat!("MPI_File_", stringify!($name)), Where::$where, $all), Memory::$kind(buffer), (count, of), status) }
        }
    )*};
    (@nonblocking $kind:ident $buffer:ty; $($name:ident $where:ident);*) => {$(
        /// MPI_File_ of this name.
        pub unsafe fn $name(
            me: &Process, file: File, buffer: $buffer, count: i64, of: Datatype, request: OutPtr<Request>,
        ) -> Answer {
            // SAFETY: as the contract of `call` says.
            unsafe { nonblocking(me, file, (concat!("MPI_File_", stringify!($name)), Where::$where), Memory::$kind(buffer), (count, of), request) }
        }
    )*};
    (@split $kind:ident $buffer:ty; $($begin:ident $end:ident $where:ident);*) => {$(
        /// Begins what the function of the name with `end` ends.
        pub unsafe fn $begin(me: &Process, file: File, buffer: $buffer, count: i64, of: Datatype) -> Answer {
            // SAFETY: as the contract of `call` says.
            unsafe { split_begin(me, file, (concat!("MPI_File_", stringify!($begin)), stringify!($end), Where::$where), Memory::$kind(buffer), (count, of)) }
        }
        /// Ends it.
        pub unsafe fn $end(me: &Process, file: File, _: $buffer, status: OutPtr<Status>) -> Answer {
            split_end(me, file, stringify!($end), status)
        }
    )*};
}

functions! { Read *mut c_void;
at: read_at read_at_all iread_at iread_at_all read_at_all_begin read_at_all_end;
own: read read_all iread iread_all read_all_begin read_all_end;
shared: read_shared iread_shared read_ordered read_ordered_begin read_ordered_end }

functions! { Write *const c_void;
at: write_at write_at_all iwrite_at iwrite_at_all write_at_all_begin write_at_all_end;
own: write write_all iwrite iwrite_all write_all_begin write_all_end;
shared: write_shared iwrite_shared write_ordered write_ordered_begin write_ordered_end }
