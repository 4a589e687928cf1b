//! A rank's environment and command line.
//!
//! The C library's `environ` is the rank's while it runs, so `getenv` of everything finds the rank's variables.
//! All ranks begin with one list; who changes it gets a list of its own.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use super::rank::{Rank, running};
use crate::loader::Hook;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// The variables of one rank.
pub struct Environment {
    list: Cell<*mut *mut c_char>,
    own: RefCell<Vec<*mut c_char>>,
}

impl Environment {
    /// As all ranks begin: `list` ends with null.
    pub fn new(list: *const *const c_char) -> Environment {
        Environment { list: Cell::new(list.cast_mut().cast()), own: RefCell::default() }
    }

    /// The rank is about to run.
    pub fn enter(&self) {
        // SAFETY: one thread; the list lives as long as the rank.
        unsafe { environ = self.list.get() };
    }

    /// It has stopped. A program may have set the variable itself.
    pub fn leave(&self) {
        // SAFETY: as above.
        self.list.set(unsafe { environ });
    }

    /// Changes the list, which is the rank's own by then.
    fn change(&self, me: &dyn Rank, change: impl FnOnce(&mut Vec<*mut c_char>)) {
        let mut own = self.own.borrow_mut();
        // SAFETY: the C library's list, which ends with null.
        unsafe {
            if own.is_empty() || own.as_mut_ptr() != environ {
                own.clear();
                let mut place = environ;
                while !place.is_null() && !(*place).is_null() {
                    own.push(*place);
                    place = place.add(1);
                }
                own.push(ptr::null_mut());
            }
            own.pop();
            change(&mut own);
            own.push(ptr::null_mut());
            environ = own.as_mut_ptr();
            if let Some(at) = me.own_environ() {
                *((me.program().base() + at) as *mut *mut *mut c_char) = environ;
            }
        }
    }
}

/// The functions of this file, by the names that they stand for.
pub fn hooks() -> Vec<Hook> {
    vec![
        Hook::new("setenv", set as *const c_void),
        Hook::new("putenv", put as *const c_void),
        Hook::new("unsetenv", unset as *const c_void),
        Hook::new("clearenv", clear as *const c_void),
    ]
}

/// True if `entry` ("NAME=value") is of the variable `name`.
fn is_of(entry: *const c_char, name: &[u8]) -> bool {
    // SAFETY: entries of an environment are texts.
    let entry = unsafe { CStr::from_ptr(entry) }.to_bytes();
    entry.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&b'='))
}

fn put_entry(me: &dyn Rank, name: &[u8], entry: *mut c_char) {
    me.view().environment.change(me, |list| match list.iter_mut().find(|known| is_of(**known, name)) {
        Some(known) => *known = entry,
        None => list.push(entry),
    });
}

fn remove(me: &dyn Rank, name: &[u8]) {
    me.view().environment.change(me, |list| list.retain(|entry| !is_of(*entry, name)));
}

/// The name in `text`, if it may be one.
///
/// # Safety
/// Null, or a text of the program.
unsafe fn name_in<'a>(text: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: the caller says so.
    let name = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_bytes());
    name.filter(|name| !name.is_empty() && !name.contains(&b'='))
}

fn invalid() -> c_int {
    // SAFETY: the place of this thread's error number.
    unsafe { *libc::__errno_location() = libc::EINVAL };
    -1
}

unsafe extern "C" fn set(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int {
    let Some(me) = running() else {
        // SAFETY: the program's own call.
        return unsafe { libc::setenv(name, value, overwrite) };
    };
    // SAFETY: texts of the program.
    unsafe {
        let Some(name_bytes) = name_in(name) else { return invalid() };
        if overwrite == 0 && !libc::getenv(name).is_null() {
            return 0;
        }
        let text = [name_bytes, b"=", CStr::from_ptr(value).to_bytes()].concat();
        // As in the C library, entries that are replaced are not freed: the program may hold them.
        put_entry(me, name_bytes, CString::new(text).expect("made of texts").into_raw());
    }
    0
}

unsafe extern "C" fn put(entry: *mut c_char) -> c_int {
    let Some(me) = running() else {
        // SAFETY: the program's own call.
        return unsafe { libc::putenv(entry) };
    };
    // SAFETY: a text of the program, which becomes part of the environment.
    let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
    match text.iter().position(|byte| *byte == b'=') {
        Some(0) => return invalid(),
        Some(at) => put_entry(me, &text[..at], entry),
        None => remove(me, text),
    }
    0
}

unsafe extern "C" fn unset(name: *const c_char) -> c_int {
    let Some(me) = running() else {
        // SAFETY: the program's own call.
        return unsafe { libc::unsetenv(name) };
    };
    // SAFETY: a text of the program.
    let Some(name) = (unsafe { name_in(name) }) else { return invalid() };
    remove(me, name);
    0
}

extern "C" fn clear() -> c_int {
    let Some(me) = running() else {
        // SAFETY: the program's own call.
        return unsafe { libc::clearenv() };
    };
    me.view().environment.change(me, Vec::clear);
    0
}
