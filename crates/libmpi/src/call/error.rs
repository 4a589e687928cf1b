//! Error handlers, codes and their texts.

use std::ffi::{c_int, c_void};

use super::environment::write_text;
use super::{communicator, one_sided, session};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Comm, Errhandler, File, Object};
use crate::abi::pointers::{InOutPtr, InText, OutPtr, OutText};
use crate::abi::{LAST_CODE, MAX_ERROR_STRING};
use crate::live::place;
use crate::live::process::{Phase, Process};
use crate::objects::error::{Added, Entry, Handler, Kind};
use crate::translation::callbacks;

/// It has the object's handle and the code; there is no more that it could use.
type Function = unsafe extern "C-unwind" fn(*mut usize, *mut c_int, ...);

/// Takes an error to the error handler of its object. Gives the code for the program.
#[cold]
pub fn raise(me: &Process, function: &str, error: &Error) -> c_int {
    let code = error.class.0;
    handle_error(me, error.of, code, &|| format!("{function}: {error}"))
}

/// Gives what the function in error returns: the code, which a handler of the program may change.
fn handle_error(me: &Process, of: Option<Object>, code: c_int, words: &dyn Fn() -> String) -> c_int {
    let (object, handler) = handler_of(me, of);
    let known = me.objects.handlers.borrow().get(handler.0).map(|known| known.function);
    match known {
        Some(function) => {
            let (mut number, mut code) = (callbacks::object(object), callbacks::error(code));
            // SAFETY: the program has given it as an error handler of such objects.
            unsafe { std::mem::transmute::<*mut c_void, Function>(function)(&raw mut number, &raw mut code) };
            callbacks::heard_error(code)
        }
        None if handler == Errhandler::RETURN => code,
        None => end(me, code, &words()),
    }
}

/// Ends the program.
fn end(me: &Process, code: c_int, words: &str) -> ! {
    me.flush();
    let at = place::here().map_or(String::new(), |place| format!(" (at {place})"));
    eprintln!("hopcast: rank {}: {words}{at}", me.rank);
    me.end(mpi::Op::Abort(code))
}

/// Ends a program that calls `function` before it has initialised MPI, or after the end.
#[cold]
pub fn out_of_time(me: &Process, function: &str) -> ! {
    let when = match me.phase.get() {
        Phase::Finalised => "after MPI_Finalize",
        Phase::Before | Phase::Initialised => "before MPI_Init, and without a session",
    };
    let (class, reason) = (Class::OTHER, format!("called {when}"));
    end(me, class.0, &format!("{function}: {}", Error::new(class, reason)))
}

/// Error handler that hears of an error, and its object. Without one it is MPI_COMM_SELF, as the standard has it since version
/// 4; up to then it was MPI_COMM_WORLD, so that counts where a program has said nothing of the other.
fn handler_of(me: &Process, of: Option<Object>) -> (Object, Errhandler) {
    if let Some(object) = of.filter(|object| exists(me, *object).is_ok()) {
        return (object, effective(me, object));
    }
    let said = |comm| {
        let object = Object::Comm(comm);
        Some((object, me.objects.look(object, |attached| attached.handler)??))
    };
    said(Comm::SELF)
        .or_else(|| said(Comm::WORLD))
        .unwrap_or((Object::Comm(Comm::SELF), Errhandler::ARE_FATAL))
}

/// The error handler of an object.
pub fn effective(me: &Process, object: Object) -> Errhandler {
    let said = |object| me.objects.look(object, |attached| attached.handler).flatten();
    said(object).unwrap_or_else(|| match object {
        Object::File(_) => said(Object::File(File::NULL)).unwrap_or(Errhandler::RETURN),
        _ => Errhandler::ARE_FATAL,
    })
}

/// Refuses an object that is none.
fn exists(me: &Process, object: Object) -> Answer {
    match object {
        Object::Comm(comm) => communicator::find(me, comm).map(|_| ()),
        Object::Session(one) => session::find(me, one).map(|_| ()),
        Object::Datatype(datatype) => me.layout(datatype).map(|_| ()),
        Object::Win(win) => one_sided::find(me, win).map(|_| ()),
        Object::File(_) => Ok(()),
    }
}

fn kind_of(object: Object) -> Option<Kind> {
    match object {
        Object::Comm(_) => Some(Kind::Comm),
        Object::Win(_) => Some(Kind::Win),
        Object::File(_) => Some(Kind::File),
        Object::Session(_) => Some(Kind::Session),
        Object::Datatype(_) => None,
    }
}

/// One reference more to a handler that the program has made.
fn retain(me: &Process, handler: Errhandler) {
    if let Some(known) = me.objects.handlers.borrow_mut().get_mut(handler.0) {
        known.references += 1;
    }
}

/// One less.
pub fn release(me: &Process, handler: Errhandler) {
    let mut table = me.objects.handlers.borrow_mut();
    if let Some(known) = table.get_mut(handler.0) {
        known.references -= 1;
        if known.references == 0 {
            table.remove(handler.0);
        }
    }
}

/// From now on `handler` hears of the errors of `object`.
pub fn attach(me: &Process, object: Object, handler: Errhandler) -> Answer {
    let predefined = matches!(handler, Errhandler::ARE_FATAL | Errhandler::RETURN | Errhandler::ABORT);
    let kind = me.objects.handlers.borrow().get(handler.0).map(|known| known.kind);
    if !predefined && (kind.is_none() || kind != kind_of(object)) {
        let reason = format!("{:#x} is not an error handler for such an object", handler.0);
        return Err(Error::new(Class::ERRHANDLER, reason).of(object));
    }
    retain(me, handler);
    let before = me.objects.on(object, |attached| attached.handler.replace(handler));
    if let Some(before) = before {
        release(me, before);
    }
    Ok(())
}

/// The new object has the error handler of the old one.
pub fn inherit(me: &Process, from: Object, to: Object) {
    let said = me.objects.look(from, |attached| attached.handler).flatten();
    if let Some(handler) = said {
        attach(me, to, handler).expect("it fits the one, and the other is of its kind");
    }
}

macro_rules! creations {
    ($($(#[$doc:meta])* $name:ident $kind:ident;)*) => {$(
        $(#[$doc])*
        pub unsafe fn $name(me: &Process, function: *mut c_void, handler: OutPtr<Errhandler>) -> Answer {
            // SAFETY: as the contract of `call` says.
            unsafe { create(me, Kind::$kind, function, handler) }
        }
    )*};
}

creations! {
    /// MPI_Comm_create_errhandler
    comm_create_errhandler Comm;
    /// MPI_Win_create_errhandler
    win_create_errhandler Win;
    /// MPI_File_create_errhandler
    file_create_errhandler File;
    /// MPI_Session_create_errhandler
    session_create_errhandler Session;
}

unsafe fn create(me: &Process, kind: Kind, function: *mut c_void, handler: OutPtr<Errhandler>) -> Answer {
    if function.is_null() {
        return Err(Error::new(Class::ARG, "no function that handles errors"));
    }
    let place = me.objects.handlers.borrow_mut().insert(Handler { kind, function, references: 1 });
    handler.set(Errhandler(handle::number(place)));
    Ok(())
}

/// MPI_Comm_set_errhandler, and those of windows, files and sessions.
pub fn set_errhandler(me: &Process, object: Object, handler: Errhandler) -> Answer {
    exists(me, object)?;
    attach(me, object, handler)
}

/// MPI_Comm_get_errhandler, and those of windows, files and sessions.
pub fn get_errhandler(me: &Process, object: Object, handler: OutPtr<Errhandler>) -> Answer {
    exists(me, object)?;
    let found = effective(me, object);
    retain(me, found);
    handler.set(found);
    Ok(())
}

/// MPI_Comm_call_errhandler, and those of windows, files and sessions.
pub fn call_errhandler(me: &Process, object: Object, code: c_int) -> Answer {
    exists(me, object)?;
    handle_error(me, Some(object), code, &|| {
        format!("the program has raised an error: {}", text_of(me, code))
    });
    Ok(())
}

/// MPI_Errhandler_free: the predefined ones stay, and others for as long as an object has them.
pub fn errhandler_free(me: &Process, mut handler: InOutPtr<Errhandler>) -> Answer {
    let handler = &mut *handler;
    let predefined = matches!(*handler, Errhandler::ARE_FATAL | Errhandler::RETURN | Errhandler::ABORT);
    if !predefined && me.objects.handlers.borrow().get(handler.0).is_none() {
        return Err(Error::new(Class::ERRHANDLER, format!("{:#x} is not an error handler", handler.0)));
    }
    release(me, *handler);
    *handler = Errhandler::NULL;
    Ok(())
}

impl Added {
    fn entry(&mut self, code: c_int) -> Answer<&mut Option<Entry>> {
        let place = usize::try_from(i64::from(code) - i64::from(LAST_CODE) - 1).ok();
        let entry = place.and_then(|place| self.0.get_mut(place)).filter(|entry| entry.is_some());
        entry.ok_or_else(|| {
            Error::new(Class::ARG, format!("{code} is not an error class or code that the program has added"))
        })
    }

    fn add(&mut self, class: Option<c_int>) -> c_int {
        self.0.push(Some(Entry { class, text: None }));
        LAST_CODE + self.0.len() as c_int
    }
}

/// The class of a code; `None` for what is neither.
fn class_of(me: &Process, code: c_int) -> Option<c_int> {
    if Class(code).is_known() {
        return Some(code);
    }
    let mut added = me.objects.errors.borrow_mut();
    let entry = added.entry(code).ok()?.as_ref()?;
    Some(entry.class.unwrap_or(code))
}

fn text_of(me: &Process, code: c_int) -> String {
    match me.objects.errors.borrow_mut().entry(code) {
        Ok(Some(entry)) => entry.text.clone().unwrap_or_default(),
        _ => Class(code).sentence(),
    }
}

/// MPI_Error_string
pub fn error_string(me: &Process, code: c_int, text: OutText, length: OutPtr<c_int>) -> Answer {
    if class_of(me, code).is_none() {
        return Err(Error::new(Class::ARG, format!("{code} is not an error code")));
    }
    write_text(&text_of(me, code), MAX_ERROR_STRING, text, length);
    Ok(())
}

/// MPI_Error_class: codes are classes, but for those that the program has added.
pub fn error_class(me: &Process, code: c_int, class: OutPtr<c_int>) -> Answer {
    let found = class_of(me, code);
    let found = found.ok_or_else(|| Error::new(Class::ARG, format!("{code} is not an error code")))?;
    class.set(found);
    Ok(())
}

/// MPI_Add_error_class
pub fn add_error_class(me: &Process, class: OutPtr<c_int>) -> Answer {
    add(me, None, class);
    Ok(())
}

/// MPI_Add_error_code
pub fn add_error_code(me: &Process, class: c_int, code: OutPtr<c_int>) -> Answer {
    if class_of(me, class) != Some(class) {
        return Err(Error::new(Class::ARG, format!("{class} is not an error class")));
    }
    add(me, Some(class), code);
    Ok(())
}

fn add(me: &Process, class: Option<c_int>, code: OutPtr<c_int>) {
    let added = me.objects.errors.borrow_mut().add(class);
    me.objects.last_code.set(added);
    code.set(added);
}

/// MPI_Add_error_string
pub fn add_error_string(me: &Process, code: c_int, text: InText) -> Answer {
    let text = text.bytes().ok_or_else(|| Error::new(Class::ARG, "no text"))?;
    set_text(me, code, Some(String::from_utf8_lossy(text).into_owned()))
}

/// MPI_Remove_error_string
pub fn remove_error_string(me: &Process, code: c_int) -> Answer {
    set_text(me, code, None)
}

fn set_text(me: &Process, code: c_int, text: Option<String>) -> Answer {
    let mut added = me.objects.errors.borrow_mut();
    if let Some(entry) = added.entry(code)? {
        entry.text = text;
    }
    Ok(())
}

/// MPI_Remove_error_class
pub fn remove_error_class(me: &Process, class: c_int) -> Answer {
    remove(me, class, false)
}

/// MPI_Remove_error_code
pub fn remove_error_code(me: &Process, code: c_int) -> Answer {
    remove(me, code, true)
}

/// Its number is not given again: the program may still have it.
fn remove(me: &Process, code: c_int, is_code: bool) -> Answer {
    let mut added = me.objects.errors.borrow_mut();
    let users = added.0.iter().flatten().filter(|entry| entry.class == Some(code)).count();
    let found = added.entry(code)?;
    let refuse = |reason: String| Err(Error::new(Class::ARG, reason));
    match found {
        Some(entry) if entry.class.is_some() != is_code => refuse(format!("{code} is a class, or a code")),
        Some(entry) if entry.text.is_some() => refuse(format!("{code} still has a text")),
        _ if users > 0 => refuse(format!("class {code} still has {users} codes")),
        _ => {
            *found = None;
            Ok(())
        }
    }
}
