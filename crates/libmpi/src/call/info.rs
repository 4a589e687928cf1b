//! Infos: keys and values, in the order in which they were set.

use std::ffi::{CStr, c_char, c_int};

use super::environment::write_text;
use super::point_to_point::via;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Comm, Info, Object};
use crate::abi::pointers::{InOutPtr, InText, OutPtr, OutText};
use crate::abi::{MAX_INFO_KEY, MAX_INFO_VAL, THREAD};
use crate::live::process::Process;
pub use crate::objects::info::Pairs;

/// Pairs of an info; none in MPI_INFO_NULL, which stands for "no hints" in calls that take it.
pub fn hints(me: &Process, info: Info) -> Answer<Pairs> {
    if info == Info::NULL { Ok(Pairs::default()) } else { read(me, info, Pairs::clone) }
}

/// A new info.
pub fn keep(me: &Process, pairs: Pairs) -> Info {
    Info(handle::number(me.objects.infos.borrow_mut().insert(pairs)))
}

fn wrong(info: Info) -> Error {
    let name = match info {
        Info::NULL => "MPI_INFO_NULL".into(),
        Info::ENV => "MPI_INFO_ENV cannot be changed".into(),
        Info(number) => format!("{number:#x} is not an info"),
    };
    Error::new(Class::INFO, name)
}

fn read<R>(me: &Process, info: Info, look: impl FnOnce(&Pairs) -> R) -> Answer<R> {
    if info == Info::ENV {
        return Ok(look(&environment(me)));
    }
    me.objects.infos.borrow().get(info.0).map(look).ok_or_else(|| wrong(info))
}

fn change<R>(me: &Process, info: Info, change: impl FnOnce(&mut Pairs) -> R) -> Answer<R> {
    me.objects.infos.borrow_mut().get_mut(info.0).map(change).ok_or_else(|| wrong(info))
}

/// MPI_INFO_ENV: how the program was started.
fn environment(me: &Process) -> Pairs {
    let mut pairs = Pairs::default();
    let words = me.shared.arguments.words();
    pairs.set(b"command", words[0]);
    if words.len() > 1 {
        pairs.set(b"argv", &words[1..].join(&b' '));
    }
    pairs.set(b"maxprocs", me.shared.ranks.to_string().as_bytes());
    pairs.set(b"soft", me.shared.ranks.to_string().as_bytes());
    pairs.set(b"host", format!("host{}", me.shared.host_of_rank[me.rank as usize]).as_bytes());
    pairs.set(b"arch", std::env::consts::ARCH.as_bytes());
    if let Ok(folder) = std::env::current_dir() {
        pairs.set(b"wd", folder.as_os_str().as_encoded_bytes());
    }
    pairs.set(b"thread_level", level_name(THREAD[1]).as_bytes());
    pairs
}

/// "MPI_THREAD_FUNNELED".
pub fn level_name(level: c_int) -> &'static str {
    const NAMES: [&str; 4] =
        ["MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"];
    THREAD.iter().position(|one| *one == level).map_or("unknown", |place| NAMES[place])
}

/// A key of the program.
fn key_of(key: InText<'_>) -> Answer<&[u8]> {
    let key = key.bytes().ok_or_else(|| Error::new(Class::INFO_KEY, "no key"))?;
    match key.len() {
        length if (1..MAX_INFO_KEY).contains(&length) => Ok(key),
        length => {
            let most = MAX_INFO_KEY - 1;
            Err(Error::new(Class::INFO_KEY, format!("a key has 1 to {most} characters, not {length}")))
        }
    }
}

/// MPI_Info_create
pub fn create(me: &Process, info: OutPtr<Info>) -> Answer {
    info.set(keep(me, Pairs::default()));
    Ok(())
}

/// MPI_Info_create_env: as MPI_INFO_ENV, with this command line.
pub unsafe fn create_env(me: &Process, count: c_int, words: *mut *mut c_char, info: OutPtr<Info>) -> Answer {
    let mut pairs = environment(me);
    // SAFETY: as the contract of `call` says, `words` is a command line.
    unsafe {
        let word = |index: usize| CStr::from_ptr(*words.add(index)).to_bytes();
        if count > 0 && !words.is_null() {
            pairs.set(b"command", word(0));
            pairs.set(b"argv", &(1..count as usize).map(word).collect::<Vec<_>>().join(&b' '));
        }
        info.set(keep(me, pairs));
    }
    Ok(())
}

/// MPI_Info_dup
pub fn dup(me: &Process, info: Info, new: OutPtr<Info>) -> Answer {
    let pairs = read(me, info, Pairs::clone)?;
    new.set(keep(me, pairs));
    Ok(())
}

/// MPI_Info_free
pub fn free(me: &Process, mut info: InOutPtr<Info>) -> Answer {
    let info = &mut *info;
    me.objects.infos.borrow_mut().remove(info.0).ok_or_else(|| wrong(*info))?;
    *info = Info::NULL;
    Ok(())
}

/// MPI_Info_set
pub fn set(me: &Process, info: Info, key: InText, value: InText) -> Answer {
    let key = key_of(key)?;
    let value = value.bytes().ok_or_else(|| Error::new(Class::INFO_VALUE, "no value"))?;
    if value.len() >= MAX_INFO_VAL {
        let (most, length) = (MAX_INFO_VAL - 1, value.len());
        return Err(Error::new(
            Class::INFO_VALUE,
            format!("a value has up to {most} characters, not {length}"),
        ));
    }
    change(me, info, |pairs| pairs.set(key, value))
}

/// MPI_Info_delete
pub fn delete(me: &Process, info: Info, key: InText) -> Answer {
    let key = key_of(key)?;
    let found = change(me, info, |pairs| {
        let before = pairs.0.len();
        pairs.0.retain(|pair| pair.0 != key);
        pairs.0.len() < before
    })?;
    let name = String::from_utf8_lossy(key);
    if found { Ok(()) } else { Err(Error::new(Class::INFO_NOKEY, format!("there is no key '{name}'"))) }
}

/// MPI_Info_get: no more than `room` characters of the value.
pub fn get(
    me: &Process,
    info: Info,
    key: InText,
    room: c_int,
    value: OutText,
    flag: OutPtr<c_int>,
) -> Answer {
    let key = key_of(key)?;
    let room = usize::try_from(room)
        .map_err(|_| Error::new(Class::ARG, format!("a length of 0 or more, not {room}")))?;
    let found = read(me, info, |pairs| pairs.get(key).map(<[u8]>::to_vec))?;
    flag.set(c_int::from(found.is_some()));
    if let Some(found) = found {
        value.set(&found, room + 1);
    }
    Ok(())
}

/// MPI_Info_get_string: `length` says how much room there is, and is told how much is needed, both with a zero.
pub fn get_string(
    me: &Process,
    info: Info,
    key: InText,
    mut length: InOutPtr<c_int>,
    value: OutText,
    flag: OutPtr<c_int>,
) -> Answer {
    let key = key_of(key)?;
    let room = usize::try_from(*length)
        .map_err(|_| Error::new(Class::ARG, format!("a length of 0 or more, not {}", *length)))?;
    let found = read(me, info, |pairs| pairs.get(key).map(<[u8]>::to_vec))?;
    flag.set(c_int::from(found.is_some()));
    if let Some(found) = found {
        value.set(&found, room);
        *length = found.len() as c_int + 1;
    }
    Ok(())
}

/// MPI_Info_get_valuelen
pub fn get_valuelen(
    me: &Process,
    info: Info,
    key: InText,
    length: OutPtr<c_int>,
    flag: OutPtr<c_int>,
) -> Answer {
    let key = key_of(key)?;
    let found = read(me, info, |pairs| pairs.get(key).map(<[u8]>::len))?;
    flag.set(c_int::from(found.is_some()));
    if let Some(found) = found {
        length.set(found as c_int);
    }
    Ok(())
}

/// MPI_Info_get_nkeys
pub fn get_nkeys(me: &Process, info: Info, count: OutPtr<c_int>) -> Answer {
    let found = read(me, info, |pairs| pairs.0.len())?;
    count.set(found as c_int);
    Ok(())
}

/// MPI_Info_get_nthkey
pub fn get_nthkey(me: &Process, info: Info, index: c_int, key: OutText) -> Answer {
    let pairs = read(me, info, Pairs::clone)?;
    let found = usize::try_from(index).ok().and_then(|index| pairs.0.get(index));
    let found = found.ok_or_else(|| {
        Error::new(Class::ARG, format!("the number of a key from 0, below {}, not {index}", pairs.0.len()))
    })?;
    key.set(&found.0, MAX_INFO_KEY);
    Ok(())
}

/// MPI_Comm_set_info
pub fn comm_set_info(me: &Process, comm: Comm, info: Info) -> Answer {
    super::communicator::find(me, comm)?;
    if info == Info::NULL {
        return Err(wrong(info).of(comm));
    }
    add_hints_of_comm(me, comm, info).map_err(|error| error.of(comm))
}

/// The hints of an info are now those of a communicator, too, whose messages go as they say.
pub fn add_hints_of_comm(me: &Process, comm: Comm, info: Info) -> Answer {
    let communicator = super::communicator::find(me, comm)?;
    let new = hints(me, info)?;
    let mut all = me.objects.look(comm.into(), |attached| attached.info.clone()).unwrap_or_default();
    new.0.iter().for_each(|(key, value)| all.set(key, value));
    communicator.via.set(via::of_hints(&all)?);
    keep_hints(me, comm.into(), new);
    Ok(())
}

/// MPI_Comm_get_info
pub fn comm_get_info(me: &Process, comm: Comm, info: OutPtr<Info>) -> Answer {
    super::communicator::find(me, comm)?;
    info.set(hints_of(me, comm.into()));
    Ok(())
}

/// The hints of an info are now those of an object, too.
pub fn add_hints(me: &Process, object: Object, info: Info) -> Answer {
    keep_hints(me, object, hints(me, info)?);
    Ok(())
}

/// The same for hints that have been read before.
pub fn keep_hints(me: &Process, object: Object, hints: Pairs) {
    if !hints.0.is_empty() {
        me.objects.on(object, |attached| {
            hints.0.iter().for_each(|(key, value)| attached.info.set(key, value));
        });
    }
}

/// The hints of an object, in a new info.
pub fn hints_of(me: &Process, object: Object) -> Info {
    keep(me, me.objects.look(object, |attached| attached.info.clone()).unwrap_or_default())
}

/// MPI_Get_hw_resource_info: every rank is on one host, and in one group of each of its levels.
pub fn get_hw_resource_info(me: &Process, info: OutPtr<Info>) -> Answer {
    let mut pairs = Pairs::default();
    pairs.set(super::communicator::HOST_RESOURCE, b"true");
    me.shared.hardware_levels.iter().for_each(|level| pairs.set(&level.name, b"true"));
    info.set(keep(me, pairs));
    Ok(())
}

/// MPI_Abi_get_info: the sizes of what the interface leaves open.
pub fn abi_get_info(me: &Process, info: OutPtr<Info>) -> Answer {
    let mut pairs = Pairs::default();
    for (key, bytes) in [("mpi_aint_size", 8), ("mpi_count_size", 8), ("mpi_offset_size", 8)] {
        pairs.set(key.as_bytes(), i32::to_string(&bytes).as_bytes());
    }
    info.set(keep(me, pairs));
    Ok(())
}

/// A name for an object, as the program reads it.
pub fn write_name(name: &[u8], text: OutText, length: OutPtr<c_int>) {
    write_text(&String::from_utf8_lossy(name), crate::abi::MAX_OBJECT_NAME, text, length);
}
