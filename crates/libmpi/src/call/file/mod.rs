//! Files: opening and closing, sizes, views, positions.

pub mod position;
pub mod representation;
pub mod timing;
pub mod transfer;

use std::cell::{Cell, RefCell};
use std::ffi::{OsStr, c_int};
use std::fs::OpenOptions;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use mpi::Op;
use mpi::collective::Collective;
use mpi::file_system::{self, Work};
use mpi::operation::{NewComm, Start};

use super::{communicator, creation, error, group, info};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Comm, File, Group, Info, Object};
use crate::abi::pointers::{InOutPtr, InText, OutPtr};
use crate::call::communicator::Communicator;
use crate::data::file::{Opened, View, length, refused};
use crate::data::meeting::{Given, Open, Part};
use crate::data::spread;
use crate::live::process::Process;
pub use crate::objects::file::OpenFile;
use representation::Representation;
use timing::{metadata, wait_for};

/// Modes of opening.
pub mod mode {
    #![allow(missing_docs, reason = "MPI_MODE_ of these names")]
    pub const APPEND: i32 = 1;
    pub const CREATE: i32 = 2;
    pub const DELETE_ON_CLOSE: i32 = 4;
    pub const EXCL: i32 = 8;
    pub const RDONLY: i32 = 16;
    pub const RDWR: i32 = 32;
    pub const SEQUENTIAL: i32 = 64;
    pub const UNIQUE_OPEN: i32 = 128;
    pub const WRONLY: i32 = 256;
    pub const ALL: i32 = 511;
}

/// The file of a handle.
pub fn find(me: &Process, file: File) -> Answer<Rc<OpenFile>> {
    // What is done to it is seen by others.
    me.catch_up();
    let known = me.objects.files.borrow().get(file.0).cloned();
    known.ok_or_else(|| {
        let name =
            if file == File::NULL { "MPI_FILE_NULL".into() } else { format!("{:#x} is not a file", file.0) };
        Error::new(Class::FILE, name).of(File::NULL)
    })
}

/// Does something with a file, whose error handler hears of what goes wrong.
pub fn with<R>(me: &Process, file: File, work: impl FnOnce(&OpenFile) -> Answer<R>) -> Answer<R> {
    let found = find(me, file)?;
    work(&found).map_err(|error| if error.of.is_some() { error } else { error.of(file) })
}

/// All members give some bytes and come together; each takes what one of them makes of it.
pub fn meet<T: 'static>(
    me: &Process,
    comm: &Communicator,
    bytes: Box<[u8]>,
    make: impl FnOnce(&Open) -> T,
) -> Answer<Rc<T>> {
    let key = comm.next_collective();
    let call = Arc::new(Collective::barrier(comm.id));
    let part = Part {
        given: Given::whole(bytes),
        call: call.clone(),
        operator: None,
        between_groups: false,
        imported: false,
    };
    me.shared.meetings.give(key, comm.size as usize, comm.rank as usize, part)?;
    me.perform(Op::Collective(call, Start::Blocking), |_| ());
    Ok(me.shared.meetings.leave(key, |open| open.once(make)))
}

/// All who have opened a file wait for each other.
pub fn together(me: &Process, file: &OpenFile) -> Answer {
    let comm = communicator::find(me, file.comm)?;
    meet(me, &comm, Box::default(), |_| ()).map(|_| ())
}

/// Refuses numbers that are not the same on all ranks.
fn all_the_same(me: &Process, file: &OpenFile, what: &str, value: i64) -> Answer {
    let comm = communicator::find(me, file.comm)?;
    let size = comm.size as usize;
    let equal = meet(me, &comm, Box::new(value.to_le_bytes()), move |open| {
        (1..size).all(|place| open.block(place, 0) == open.block(0, 0))
    })?;
    if *equal { Ok(()) } else { Err(Error::new(Class::NOT_SAME, format!("{what} differs between ranks"))) }
}

/// A path of the program, from the root; names of ROMIO may begin with "ufs:" and the like.
fn path_of(name: InText) -> Answer<PathBuf> {
    let name = name.bytes().ok_or_else(|| Error::new(Class::BAD_FILE, "no name"))?;
    let kinds: [&[u8]; 4] = [b"ufs:", b"nfs:", b"testfs:", b"lustre:"];
    let name = kinds.iter().find_map(|kind| name.strip_prefix(*kind)).unwrap_or(name);
    if name.is_empty() {
        return Err(Error::new(Class::BAD_FILE, "an empty name"));
    }
    std::path::absolute(OsStr::from_bytes(name)).map_err(|error| refused(&error))
}

fn check_mode(mode: c_int) -> Answer {
    let one_of = [mode::RDONLY, mode::RDWR, mode::WRONLY].iter().filter(|one| mode & **one != 0).count();
    let reason = if mode & !mode::ALL != 0 {
        "a sum of MPI_MODE constants"
    } else if one_of != 1 {
        "one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY"
    } else if mode & mode::RDONLY != 0 && mode & (mode::CREATE | mode::EXCL) != 0 {
        "MPI_MODE_CREATE and MPI_MODE_EXCL with a file that can be written"
    } else if mode & mode::RDWR != 0 && mode & mode::SEQUENTIAL != 0 {
        "MPI_MODE_SEQUENTIAL with MPI_MODE_RDONLY or MPI_MODE_WRONLY"
    } else {
        return Ok(());
    };
    Err(Error::new(Class::AMODE, format!("wanted {reason}, not {mode}")))
}

/// MPI_File_open
pub fn open(me: &Process, comm: Comm, name: InText, mode: c_int, hints: Info, file: OutPtr<File>) -> Answer {
    me.catch_up();
    let result = open_with(me, comm, name, mode, hints);
    file.set(*result.as_ref().unwrap_or(&File::NULL));
    result.map(|_| ()).map_err(|error| if error.of.is_some() { error } else { error.of(File::NULL) })
}

fn open_with(me: &Process, comm: Comm, name: InText, mode: c_int, hints: Info) -> Answer<File> {
    spread::refuse(me.shared.spread.as_ref(), "MPI_File_open")?;
    communicator::find_intra(me, comm).map_err(|error| Error { of: None, ..error })?;
    let hints = info::hints(me, hints)?;
    let path = path_of(name)?;
    check_mode(mode)?;
    let own = creation::make(me, comm, NewComm::Dup)?;
    let members = communicator::find(me, own)?;
    let size = members.size as usize;
    let (striping, choice) = (timing::striping(me, &hints), timing::choice(&hints));
    let path_there = path.clone();
    let outcome = meet(me, &members, Box::new(mode.to_le_bytes()), move |open| {
        if (1..size).any(|place| open.block(place, 0) != open.block(0, 0)) {
            return Err(Error::new(Class::NOT_SAME, "the mode differs between ranks"));
        }
        // Once, before any rank goes on: the first may move the shared pointer before the last has returned.
        let file = open_here(&path_there, mode)?;
        let at = if mode & mode::APPEND != 0 { length(&file)? } else { 0 };
        // A descriptor is one of the process that has opened the file.
        let file = if me.shared.apart { None } else { Some(Rc::new(file)) };
        Ok((file, Rc::new(Cell::new(at)), at, striping))
    })?;
    metadata(me, "MPI_File_open");
    let opened = (*outcome).as_ref().map_err(Error::clone).and_then(|(file, pointer, at, striping)| {
        let file = match file {
            Some(file) => file.clone(),
            None => Rc::new(open_here(&path, mode & !(mode::CREATE | mode::EXCL))?),
        };
        let place = file_system::File { number: number_of(me, &path), striping: *striping };
        Ok((Opened { file, path, pointer: pointer.clone(), place }, *at))
    });
    let (opened, at) = opened.inspect_err(|_| communicator::give_back(me, own))?;
    let made = OpenFile {
        opened,
        comm: own,
        mode,
        view: RefCell::new(View::whole()),
        representation: RefCell::new(Representation::Native),
        at: Cell::new(at),
        atomic: Cell::new(false),
        split: Cell::new(None),
        choice,
    };
    let file = File(handle::number(me.objects.files.borrow_mut().insert(Rc::new(made))));
    error::inherit(me, Object::File(File::NULL), Object::File(file));
    info::keep_hints(me, Object::File(file), hints);
    Ok(file)
}

fn open_here(path: &Path, mode: c_int) -> Answer<std::fs::File> {
    let asked = |bit: c_int| mode & bit != 0;
    OpenOptions::new()
        .read(!asked(mode::WRONLY))
        .write(!asked(mode::RDONLY))
        .create(asked(mode::CREATE) && !asked(mode::EXCL))
        .create_new(asked(mode::CREATE) && asked(mode::EXCL))
        .open(path)
        .map_err(|error| refused(&error))
}

/// By which the model of the file system knows a file.
fn number_of(me: &Process, path: &Path) -> u32 {
    let mut known = me.shared.files.borrow_mut();
    let next = known.len() as u32;
    *known.entry(path.to_path_buf()).or_insert(next)
}

/// MPI_File_close
pub fn close(me: &Process, mut file: InOutPtr<File>) -> Answer {
    let file = &mut *file;
    let found = find(me, *file)?;
    if let Some((which, _)) = found.split.get() {
        return Err(Error::new(Class::OTHER, format!("MPI_File_{which} has not ended")).of(*file));
    }
    together(me, &found)?;
    metadata(me, "MPI_File_close");
    me.objects.files.borrow_mut().remove(file.0);
    super::attribute::forget(me, Object::File(*file))?;
    let first = communicator::find(me, found.comm)?.rank == 0;
    if first && found.mode & mode::DELETE_ON_CLOSE != 0 {
        std::fs::remove_file(&found.opened.path).map_err(|error| refused(&error).of(File::NULL))?;
    }
    communicator::give_back(me, found.comm);
    *file = File::NULL;
    Ok(())
}

/// MPI_File_delete
pub fn delete(me: &Process, name: InText, _: Info) -> Answer {
    let removed = path_of(name).and_then(|path| std::fs::remove_file(path).map_err(|error| refused(&error)));
    metadata(me, "MPI_File_delete");
    removed.map_err(|error| error.of(File::NULL))
}

/// Refuses to write to a file that is open for reading.
pub fn writable(file: &OpenFile) -> Answer {
    match file.mode & mode::RDONLY {
        0 => Ok(()),
        _ => Err(Error::new(Class::READ_ONLY, "it was opened with MPI_MODE_RDONLY")),
    }
}

/// MPI_File_set_size
pub fn set_size(me: &Process, file: File, size: i64) -> Answer {
    with(me, file, |found| {
        writable(found)?;
        all_the_same(me, found, "the size", size)?;
        let length = u64::try_from(size).map_err(|_| negative("a size", size))?;
        found.opened.file.set_len(length).map_err(|error| refused(&error))?;
        by_one(me, found, "MPI_File_set_size")
    })
}

/// MPI_File_preallocate: it is at least so long then.
pub fn preallocate(me: &Process, file: File, size: i64) -> Answer {
    with(me, file, |found| {
        writable(found)?;
        all_the_same(me, found, "the size", size)?;
        let length = u64::try_from(size).map_err(|_| negative("a size", size))?;
        if found.opened.size()? < size {
            found.opened.file.set_len(length).map_err(|error| refused(&error))?;
        }
        by_one(me, found, "MPI_File_preallocate")
    })
}

/// One rank asks the metadata server for all, and all wait for it.
fn by_one(me: &Process, file: &OpenFile, name: &'static str) -> Answer {
    if communicator::find(me, file.comm)?.rank == 0 {
        metadata(me, name);
    }
    together(me, file)
}

/// An argument that must not be negative.
pub fn negative(what: &str, value: i64) -> Error {
    Error::new(Class::ARG, format!("{what} of 0 or more, not {value}"))
}

/// MPI_File_get_size
pub fn get_size(me: &Process, file: File, size: OutPtr<i64>) -> Answer {
    let found = with(me, file, |found| found.opened.size())?;
    metadata(me, "MPI_File_get_size");
    size.set(found);
    Ok(())
}

/// MPI_File_get_amode
pub fn get_amode(me: &Process, file: File, mode: OutPtr<c_int>) -> Answer {
    let found = find(me, file)?.mode;
    mode.set(found);
    Ok(())
}

/// MPI_File_get_group
pub fn get_group(me: &Process, file: File, group: OutPtr<Group>) -> Answer {
    let comm = find(me, file)?.comm;
    group::comm_group(me, comm, group)
}

/// MPI_File_set_info
pub fn set_info(me: &Process, file: File, info: Info) -> Answer {
    with(me, file, |found| {
        info::add_hints(me, Object::File(file), info)?;
        together(me, found)
    })
}

/// MPI_File_get_info
pub fn get_info(me: &Process, file: File, info: OutPtr<Info>) -> Answer {
    find(me, file)?;
    info.set(info::hints_of(me, Object::File(file)));
    Ok(())
}

/// MPI_File_set_atomicity
pub fn set_atomicity(me: &Process, file: File, flag: c_int) -> Answer {
    with(me, file, |found| {
        all_the_same(me, found, "atomicity", i64::from(flag != 0))?;
        found.atomic.set(flag != 0);
        Ok(())
    })
}

/// MPI_File_get_atomicity
pub fn get_atomicity(me: &Process, file: File, flag: OutPtr<c_int>) -> Answer {
    let found = find(me, file)?.atomic.get();
    flag.set(c_int::from(found));
    Ok(())
}

/// MPI_File_sync: what was written is seen by all at once; all wait for each other.
pub fn sync(me: &Process, file: File) -> Answer {
    with(me, file, |found| {
        wait_for(me, "MPI_File_sync", Work::Sync(found.opened.place));
        together(me, found)
    })
}
