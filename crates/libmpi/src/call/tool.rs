//! The interface for tools, MPI_T: what the simulated library is set to, and what a rank has done.
//!
//! Control variables say how messages are sent on the platform; they are read only. Performance variables count
//! what is there. Errors of these functions are their answers, and go to no error handler.

mod variables;

pub use variables::*;

use std::ffi::{c_char, c_int, c_void};

use super::export::Outcome;
use crate::abi::THREAD;
use crate::abi::handle::{Datatype, Info};
use crate::abi::pointers::{InOutPtr, InText, OutPtr, OutText};
use crate::live::process::Process;
use crate::objects::tool::Tools;

/// An answer: `MPI_SUCCESS`, or an error of the interface for tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub c_int);

impl Code {
    const DONE: Code = Code(0);
    const NOT_INITIALIZED: Code = Code(1003);
    const INVALID: Code = Code(1006);
    const INVALID_INDEX: Code = Code(1007);
    const INVALID_ITEM: Code = Code(1008);
    const INVALID_SESSION: Code = Code(1009);
    const INVALID_HANDLE: Code = Code(1010);
    const INVALID_NAME: Code = Code(1011);
    const CVAR_SET_NEVER: Code = Code(1015);
    const PVAR_NO_WRITE: Code = Code(1016);
    const PVAR_NO_STARTSTOP: Code = Code(1017);
    const PVAR_NO_ATOMIC: Code = Code(1018);
}

impl Outcome for Result<(), Code> {
    type C = c_int;
    fn answer(self, _: &Process, _: &str) -> c_int {
        self.err().unwrap_or(Code::DONE).0
    }
}

/// Result of a function of this chapter.
type Told<T = ()> = Result<T, Code>;

fn ready(me: &Process) -> Told {
    if me.objects.tools.borrow().depth > 0 { Ok(()) } else { Err(Code::NOT_INITIALIZED) }
}

/// The entry of a table of ours.
fn entry<T>(table: &[T], index: c_int) -> Told<&T> {
    usize::try_from(index).ok().and_then(|index| table.get(index)).ok_or(Code::INVALID_INDEX)
}

/// A text for a tool: `length` says how much room there is, and is told how much is needed, both with a zero. Either
/// may be a null pointer.
fn tell(text: &str, place: OutText, mut length: InOutPtr<c_int>) {
    if length.is_null() {
        return;
    }
    if !place.is_null() {
        place.set(text.as_bytes(), usize::try_from(*length).unwrap_or(0));
    }
    *length = text.len() as c_int + 1;
}

/// The place of a name in a list.
fn place_of<'a>(mut names: impl Iterator<Item = &'a str>, name: InText) -> Told<c_int> {
    let name = name.bytes().ok_or(Code::INVALID)?;
    names.position(|one| one.as_bytes() == name).map(|place| place as c_int).ok_or(Code::INVALID_NAME)
}

/// MPI_T_init_thread
pub fn init_thread(me: &Process, required: c_int, provided: OutPtr<c_int>) -> Told {
    me.objects.tools.borrow_mut().depth += 1;
    provided.set(required.min(THREAD[1]));
    Ok(())
}

/// MPI_T_finalize
pub fn finalize(me: &Process) -> Told {
    ready(me)?;
    let mut tools = me.objects.tools.borrow_mut();
    tools.depth -= 1;
    if tools.depth == 0 {
        *tools = Tools::default();
    }
    Ok(())
}

/// MPI_T_enum_get_info: no variable is one of several values.
pub fn enum_get_info(
    me: &Process,
    _: usize,
    _count: OutPtr<c_int>,
    _name: OutText,
    _length: OutPtr<c_int>,
) -> Told {
    ready(me)?;
    Err(Code::INVALID)
}

/// MPI_T_enum_get_item
pub fn enum_get_item(
    me: &Process,
    _: usize,
    _item: c_int,
    _value: OutPtr<c_int>,
    _name: OutText,
    _length: OutPtr<c_int>,
) -> Told {
    ready(me)?;
    Err(Code::INVALID_ITEM)
}

macro_rules! none {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(me: &Process, count: OutPtr<c_int>) -> Told {
            ready(me)?;
            count.set(0);
            Ok(())
        }
    )*};
}

none! {
    /// MPI_T_event_get_num: there are no events.
    event_get_num;
    /// MPI_T_source_get_num: nor sources of them.
    source_get_num;
    /// MPI_T_category_changed: categories never change.
    category_changed;
}

/// MPI_T_event_get_index
pub fn event_get_index(me: &Process, name: InText, _: OutPtr<c_int>) -> Told {
    ready(me)?;
    Err(if name.bytes().is_none() { Code::INVALID } else { Code::INVALID_NAME })
}

/// MPI_T_event_get_info
pub fn event_get_info(
    me: &Process,
    _index: c_int,
    _name: OutText,
    _name_length: OutPtr<c_int>,
    _verbosity: OutPtr<c_int>,
    _types: OutPtr<Datatype>,
    _places: OutPtr<isize>,
    _elements: OutPtr<c_int>,
    _of: OutPtr<usize>,
    _info: OutPtr<Info>,
    _text: OutText,
    _text_length: OutPtr<c_int>,
    _bind: OutPtr<c_int>,
) -> Told {
    ready(me)?;
    Err(Code::INVALID_INDEX)
}

/// MPI_T_event_handle_alloc
pub unsafe fn event_handle_alloc(
    me: &Process,
    _index: c_int,
    _object: *mut c_void,
    _info: Info,
    _handle: OutPtr<usize>,
) -> Told {
    ready(me)?;
    Err(Code::INVALID_INDEX)
}

macro_rules! no_handles {
    ($($(#[$doc:meta])* $name:ident($($kind:ty),*) $error:ident;)*) => {$(
        $(#[$doc])*
        pub unsafe fn $name(me: &Process, $(_: $kind),*) -> Told {
            ready(me)?;
            Err(Code::$error)
        }
    )*};
}

no_handles! {
    /// MPI_T_event_handle_free: there are no events, so no handles of them.
    event_handle_free(usize, *mut c_void, *mut c_void) INVALID_HANDLE;
    /// MPI_T_event_handle_get_info
    event_handle_get_info(usize, *mut Info) INVALID_HANDLE;
    /// MPI_T_event_handle_set_info
    event_handle_set_info(usize, Info) INVALID_HANDLE;
    /// MPI_T_event_callback_get_info
    event_callback_get_info(usize, c_int, *mut Info) INVALID_HANDLE;
    /// MPI_T_event_callback_set_info
    event_callback_set_info(usize, c_int, Info) INVALID_HANDLE;
    /// MPI_T_event_register_callback
    event_register_callback(usize, c_int, Info, *mut c_void, *mut c_void) INVALID_HANDLE;
    /// MPI_T_event_set_dropped_handler
    event_set_dropped_handler(usize, *mut c_void) INVALID_HANDLE;
    /// MPI_T_event_read
    event_read(usize, c_int, *mut c_void) INVALID_HANDLE;
    /// MPI_T_event_copy
    event_copy(usize, *mut c_void) INVALID_HANDLE;
    /// MPI_T_event_get_timestamp
    event_get_timestamp(usize, *mut i64) INVALID_HANDLE;
    /// MPI_T_event_get_source
    event_get_source(usize, *mut c_int) INVALID_HANDLE;
    /// MPI_T_source_get_timestamp
    source_get_timestamp(c_int, *mut i64) INVALID_INDEX;
    /// MPI_T_source_get_info
    source_get_info(
        c_int, *mut c_char, *mut c_int, *mut c_char, *mut c_int, *mut c_int, *mut i64, *mut i64, *mut Info
    ) INVALID_INDEX;
}
