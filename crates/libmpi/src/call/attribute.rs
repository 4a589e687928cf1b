//! Attributes of communicators, datatypes and windows: values under keys, with functions of the program that copy and
//! delete them.

use std::ffi::{c_int, c_void};

use super::{communicator, error, one_sided};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Comm, Object};
use crate::abi::pointers::{InOutPtr, OutPtr};
use crate::live::process::Process;
use crate::objects::attribute::{Attribute, Keyval, Kind};
use crate::translation::callbacks;

type Copy = unsafe extern "C-unwind" fn(
    usize,
    c_int,
    *mut c_void,
    *mut c_void,
    *mut *mut c_void,
    *mut c_int,
) -> c_int;
type Delete = unsafe extern "C-unwind" fn(usize, c_int, *mut c_void, *mut c_void) -> c_int;

/// MPI_KEYVAL_INVALID
const INVALID: c_int = 0;
/// MPI_COMM_DUP_FN and its kin: the value itself.
const DUP: usize = 1;

/// Predefined attributes of communicators: MPI_TAG_UB and so on.
mod keys {
    pub const TAG_UB: i32 = 501;
    pub const IO: i32 = 502;
    pub const HOST: i32 = 503;
    pub const WTIME_IS_GLOBAL: i32 = 504;
    pub const APPNUM: i32 = 505;
    pub const LAST_USED_CODE: i32 = 506;
    pub const UNIVERSE_SIZE: i32 = 507;
    /// All, those of windows too.
    pub const ALL: std::ops::RangeInclusive<i32> = 501..=605;
}

static LARGEST_TAG: c_int = c_int::MAX;
static ANY_RANK: c_int = crate::abi::ANY_SOURCE;
static NO_RANK: c_int = crate::abi::PROC_NULL;
static ONE: c_int = 1;
static ZERO: c_int = 0;

/// Targets of the predefined attributes of a communicator.
fn predefined(me: &Process, key: c_int) -> Option<*const c_int> {
    Some(match key {
        keys::TAG_UB => &raw const LARGEST_TAG,
        keys::IO => &raw const ANY_RANK,
        keys::HOST => &raw const NO_RANK,
        keys::WTIME_IS_GLOBAL => &raw const ONE,
        keys::APPNUM => &raw const ZERO,
        keys::LAST_USED_CODE => me.objects.last_code.as_ptr(),
        keys::UNIVERSE_SIZE => (&raw const me.shared.ranks).cast(),
        _ => return None,
    })
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $create:ident $kind:ident;)*) => {$(
        $(#[$doc])*
        pub unsafe fn $create(
            me: &Process, copy: *mut c_void, delete: *mut c_void, key: OutPtr<c_int>, state: *mut c_void,
        ) -> Answer {
            let keyval = Keyval { kind: Kind::$kind, copy, delete, state, references: 1, freed: false };
            let place = me.objects.keyvals.borrow_mut().insert(keyval);
            key.set(handle::number(place) as c_int);
            Ok(())
        }
    )*};
}

kinds! {
    /// MPI_Comm_create_keyval, MPI_Keyval_create
    comm_create_keyval Comm;
    /// MPI_Type_create_keyval
    type_create_keyval Datatype;
    /// MPI_Win_create_keyval
    win_create_keyval Win;
}

/// MPI_Comm_free_keyval and its kin: attributes keep it alive.
pub fn free_keyval(me: &Process, mut key: InOutPtr<c_int>) -> Answer {
    let key = &mut *key;
    let freed = {
        let mut table = me.objects.keyvals.borrow_mut();
        let keyval = table.get_mut(*key as usize).ok_or_else(|| wrong_key(*key))?;
        std::mem::replace(&mut keyval.freed, true)
    };
    // Programs free a key again while an attribute still has it.
    if !freed {
        release(me, *key);
    }
    *key = INVALID;
    Ok(())
}

fn wrong_key(key: c_int) -> Error {
    Error::new(Class::KEYVAL, format!("{key} is not an attribute key of such objects, or is freed"))
}

/// The key that an attribute of `object` may be set or asked for under.
fn keyval(me: &Process, object: Object, key: c_int) -> Answer<Keyval> {
    let kind = match object {
        Object::Comm(comm) => communicator::find(me, comm).map(|_| Kind::Comm)?,
        Object::Datatype(datatype) => me.datatypes.layout(datatype).map(|_| Kind::Datatype)?,
        Object::Win(win) => one_sided::find(me, win).map(|_| Kind::Win)?,
        _ => Kind::Win,
    };
    let found = me.objects.keyvals.borrow().get(key as usize).copied();
    let found = found.filter(|keyval| keyval.kind == kind);
    found.ok_or_else(|| {
        let error = wrong_key(key);
        if kind == Kind::Datatype { error } else { error.of(object) }
    })
}

fn release(me: &Process, key: c_int) {
    let mut table = me.objects.keyvals.borrow_mut();
    let keyval = table.get_mut(key as usize).expect("an attribute keeps its key");
    keyval.references -= 1;
    if keyval.references == 0 {
        table.remove(key as usize);
    }
}

/// MPI_Comm_set_attr, MPI_Attr_put, MPI_Type_set_attr, MPI_Win_set_attr: what was there is deleted first.
pub unsafe fn set_attr(me: &Process, object: Object, key: c_int, value: *mut c_void) -> Answer {
    if keys::ALL.contains(&key) {
        return Err(Error::new(Class::KEYVAL, "a predefined attribute cannot be set").of(object));
    }
    keyval(me, object, key)?;
    if find(me, object, key).is_some() {
        remove(me, object, key)?;
    }
    if let Some(keyval) = me.objects.keyvals.borrow_mut().get_mut(key as usize) {
        keyval.references += 1;
    }
    me.objects.on(object, |attached| attached.attributes.push(Attribute { key, value }));
    Ok(())
}

fn find(me: &Process, object: Object, key: c_int) -> Option<*mut c_void> {
    let found = |attributes: &[Attribute]| attributes.iter().find(|one| one.key == key).map(|one| one.value);
    me.objects.look(object, |attached| found(&attached.attributes)).flatten()
}

/// MPI_Comm_get_attr, MPI_Attr_get, MPI_Type_get_attr, MPI_Win_get_attr
pub unsafe fn get_attr(
    me: &Process,
    object: Object,
    key: c_int,
    value: *mut c_void,
    flag: OutPtr<c_int>,
) -> Answer {
    let found = match object {
        Object::Comm(comm) if keys::ALL.contains(&key) => {
            communicator::find(me, comm)?;
            predefined(me, key).map(|place| place.cast_mut().cast())
        }
        Object::Win(win) if (601..=605).contains(&key) => one_sided::attribute(me, win, key)?,
        _ => {
            keyval(me, object, key)?;
            find(me, object, key)
        }
    };
    // SAFETY: as the contract of `call` says, `value` is where a pointer is wanted.
    unsafe {
        flag.set(c_int::from(found.is_some()));
        if let Some(found) = found {
            value.cast::<*mut c_void>().write(found);
        }
    }
    Ok(())
}

/// MPI_Comm_delete_attr, MPI_Attr_delete, MPI_Type_delete_attr, MPI_Win_delete_attr
pub fn delete_attr(me: &Process, object: Object, key: c_int) -> Answer {
    if keys::ALL.contains(&key) {
        return Err(Error::new(Class::KEYVAL, "a predefined attribute cannot be deleted").of(object));
    }
    keyval(me, object, key)?;
    if find(me, object, key).is_none() {
        return Err(Error::new(Class::OTHER, format!("there is no attribute under {key}")).of(object));
    }
    remove(me, object, key)
}

/// Deletes an attribute that is there, unless the program's function refuses.
fn remove(me: &Process, object: Object, key: c_int) -> Answer {
    let value = find(me, object, key).expect("it has just been seen");
    let keyval = *me.objects.keyvals.borrow().get(key as usize).expect("an attribute keeps its key");
    if !keyval.delete.is_null() {
        // SAFETY: the program has given it as the function that deletes such attributes.
        let code = unsafe {
            let delete = std::mem::transmute::<*mut c_void, Delete>(keyval.delete);
            delete(callbacks::object(object), key, value, keyval.state)
        };
        refused(object, "deletes", code)?;
    }
    me.objects.on(object, |attached| attached.attributes.retain(|one| one.key != key));
    release(me, key);
    Ok(())
}

/// Result of a function of the program that copies or deletes attributes.
fn refused(object: Object, what: &str, code: c_int) -> Answer {
    if code == 0 {
        return Ok(());
    }
    let code = callbacks::heard_error(code);
    let error = Error::new(Class(code), format!("the function that {what} an attribute answered {code}"));
    Err(if let Object::Datatype(_) = object { error } else { error.of(object) })
}

/// Copies the attributes of an object to one that is made of it, as their keys say.
pub fn copy_all(me: &Process, from: Object, to: Object) -> Answer {
    let attributes = me.objects.look(from, |attached| attached.attributes.clone()).unwrap_or_default();
    for Attribute { key, value } in attributes {
        let keyval = *me.objects.keyvals.borrow().get(key as usize).expect("an attribute keeps its key");
        let (mut copied, mut flag) = (value, 1);
        match keyval.copy as usize {
            0 => continue,
            DUP => {}
            _ => {
                flag = 0;
                // SAFETY: the program has given it as the function that copies such attributes.
                let code = unsafe {
                    let copy = std::mem::transmute::<*mut c_void, Copy>(keyval.copy);
                    copy(callbacks::object(from), key, keyval.state, value, &raw mut copied, &raw mut flag)
                };
                refused(from, "copies", code)?;
            }
        }
        if flag != 0 {
            if let Some(keyval) = me.objects.keyvals.borrow_mut().get_mut(key as usize) {
                keyval.references += 1;
            }
            me.objects.on(to, |attached| attached.attributes.push(Attribute { key, value: copied }));
        }
    }
    Ok(())
}

/// Deletes the attributes of an object that is about to be freed, the last one first; the first function of the
/// program that refuses keeps the rest.
pub fn delete_all(me: &Process, object: Object) -> Answer {
    loop {
        let last = me.objects.look(object, |attached| attached.attributes.last().map(|last| last.key));
        match last.flatten() {
            Some(key) => remove(me, object, key)?,
            None => return Ok(()),
        }
    }
}

/// Takes down all that hangs on an object that is freed: attributes first, unless the program's function refuses.
pub fn forget(me: &Process, object: Object) -> Answer {
    delete_all(me, object)?;
    let attached = me.objects.attached.borrow_mut().remove(&object);
    if let Some(handler) = attached.and_then(|attached| attached.handler) {
        error::release(me, handler);
    }
    Ok(())
}

/// MPI_COMM_SELF's attributes are deleted before anything else of MPI_Finalize.
pub fn at_finalize(me: &Process) -> Answer {
    delete_all(me, Object::Comm(Comm::SELF))
}
