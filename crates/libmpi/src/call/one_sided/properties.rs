//! Name, group and hints of a window.

use std::ffi::{c_int, c_void};

use super::find;
use crate::abi::MAX_OBJECT_NAME;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Group, Info, Object, Win};
use crate::abi::pointers::{InText, OutPtr, OutText};
use crate::call::group;
use crate::call::info::{add_hints, hints_of, write_name};
use crate::live::process::Process;

/// MPI_Win_get_group
pub fn get_group(me: &Process, win: Win, place: OutPtr<Group>) -> Answer {
    let kept = group::keep(me, find(me, win)?.members.group(me.rank));
    place.set(kept);
    Ok(())
}

/// MPI_Win_set_info
pub fn set_info(me: &Process, win: Win, info: Info) -> Answer {
    find(me, win)?;
    add_hints(me, Object::Win(win), info)
}

/// MPI_Win_get_info
pub fn get_info(me: &Process, win: Win, info: OutPtr<Info>) -> Answer {
    find(me, win)?;
    info.set(hints_of(me, Object::Win(win)));
    Ok(())
}

/// MPI_Win_set_name
pub fn set_name(me: &Process, win: Win, name: InText) -> Answer {
    let window = find(me, win)?;
    let text = name.bytes().ok_or_else(|| Error::new(Class::ARG, "no name").of(win))?;
    *window.name.borrow_mut() = text[..text.len().min(MAX_OBJECT_NAME - 1)].to_vec();
    Ok(())
}

/// MPI_Win_get_name
pub fn get_name(me: &Process, win: Win, text: OutText, length: OutPtr<c_int>) -> Answer {
    let window = (win != Win::NULL).then(|| find(me, win)).transpose()?;
    let name = window.map_or_else(|| b"MPI_WIN_NULL".to_vec(), |window| window.name.borrow().clone());
    write_name(&name, text, length);
    Ok(())
}

/// Predefined attribute of a window: its base, or a pointer to a number.
pub fn attribute(me: &Process, win: Win, key: c_int) -> Answer<Option<*mut c_void>> {
    let window = find(me, win)?;
    Ok(Some(match key {
        601 => window.base as *mut c_void,
        602 => (&raw const window.unit).cast_mut().cast(),
        603 => (&raw const window.size).cast_mut().cast(),
        604 => (&raw const window.numbers[0]).cast_mut().cast(),
        605 => (&raw const window.numbers[1]).cast_mut().cast(),
        _ => return Ok(None),
    }))
}
