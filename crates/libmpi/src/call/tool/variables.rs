//! Control variables, performance variables, and their categories.

use std::ffi::{c_int, c_void};

use super::{Code, Told, entry, place_of, ready, tell};
use crate::abi::handle::{self, Datatype};
use crate::abi::pointers::{InOutPtr, InText, OutList, OutPtr, OutText};
use crate::live::process::Process;

/// MPI_T_VERBOSITY_USER_BASIC
const BASIC: c_int = 9;
/// MPI_T_BIND_NO_OBJECT
const NO_OBJECT: c_int = 1;
/// MPI_T_SCOPE_CONSTANT
const CONSTANT: c_int = 1;
/// MPI_T_PVAR_CLASS_SIZE, MPI_T_PVAR_CLASS_LEVEL
const LEVEL: c_int = 2;
/// MPI_T_PVAR_ALL_HANDLES
const ALL: usize = 1;
/// MPI_UINT64_T
const NUMBER: Datatype = Datatype(0x259);

/// A variable: its name, what it is, and its value.
struct Variable {
    name: &'static str,
    text: &'static str,
    value: fn(&Process) -> u64,
}

const CVARS: [Variable; 5] = [
    Variable {
        name: "eager_limit",
        text: "the longest message that is sent to another host without asking [bytes]",
        value: |me| me.shared.protocol.eager_limit.0,
    },
    Variable {
        name: "memory_eager_limit",
        text: "the longest message that is sent within a host without asking [bytes]",
        value: |me| me.shared.protocol.memory_eager_limit.0,
    },
    Variable {
        name: "two_copy_limit",
        text: "the longest message that both ranks copy [bytes]",
        value: |me| me.shared.protocol.two_copy_limit.0,
    },
    Variable {
        name: "call_overhead_ps",
        text: "what every call costs before what it does [ps]",
        value: |me| me.shared.protocol.call_overhead.0,
    },
    Variable {
        name: "poll_ps",
        text: "what a test or probe costs that finds nothing [ps]",
        value: |me| me.shared.protocol.poll.0,
    },
];

const PVARS: [Variable; 3] = [
    Variable {
        name: "requests",
        text: "requests that this rank has now",
        value: |me| me.requests.borrow().count() as u64,
    },
    Variable {
        name: "communicators",
        text: "communicators that this rank has now, beside the predefined ones",
        value: |me| me.communicators.borrow().count() as u64,
    },
    Variable {
        name: "groups",
        text: "groups that this rank has now",
        value: |me| me.objects.groups.borrow().count() as u64,
    },
];

/// The categories: name, what it is, and whether it has the control variables, or else the others.
const CATEGORIES: [(&str, &str, bool); 2] =
    [("protocol", "how the simulated library sends messages", true), ("objects", "what a rank has", false)];

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident $table:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(me: &Process, count: OutPtr<c_int>) -> Told {
            ready(me)?;
            count.set($table.len() as c_int);
            Ok(())
        }
    )*};
}

counts! {
    /// MPI_T_cvar_get_num
    cvar_get_num CVARS;
    /// MPI_T_pvar_get_num
    pvar_get_num PVARS;
    /// MPI_T_category_get_num
    category_get_num CATEGORIES;
}

/// MPI_T_cvar_get_info
pub fn cvar_get_info(
    me: &Process,
    index: c_int,
    name: OutText,
    name_length: InOutPtr<c_int>,
    verbosity: OutPtr<c_int>,
    datatype: OutPtr<Datatype>,
    values: OutPtr<usize>,
    text: OutText,
    text_length: InOutPtr<c_int>,
    bind: OutPtr<c_int>,
    scope: OutPtr<c_int>,
) -> Told {
    ready(me)?;
    let variable = entry(&CVARS, index)?;
    tell(variable.name, name, name_length);
    tell(variable.text, text, text_length);
    verbosity.set(BASIC);
    datatype.set(NUMBER);
    values.set(0);
    bind.set(NO_OBJECT);
    scope.set(CONSTANT);
    Ok(())
}

/// MPI_T_cvar_get_index
pub fn cvar_get_index(me: &Process, name: InText, index: OutPtr<c_int>) -> Told {
    ready(me)?;
    index.set(place_of(CVARS.iter().map(|one| one.name), name)?);
    Ok(())
}

/// MPI_T_cvar_handle_alloc
pub unsafe fn cvar_handle_alloc(
    me: &Process,
    index: c_int,
    _object: *mut c_void,
    made: OutPtr<usize>,
    count: OutPtr<c_int>,
) -> Told {
    ready(me)?;
    entry(&CVARS, index)?;
    let place = me.objects.tools.borrow_mut().cvars.insert(index as usize);
    made.set(handle::number(place));
    count.set(1);
    Ok(())
}

/// MPI_T_cvar_handle_free
pub fn cvar_handle_free(me: &Process, mut freed: InOutPtr<usize>) -> Told {
    ready(me)?;
    let freed = &mut *freed;
    me.objects.tools.borrow_mut().cvars.remove(*freed).ok_or(Code::INVALID_HANDLE)?;
    *freed = 0;
    Ok(())
}

/// MPI_T_cvar_read
pub fn cvar_read(me: &Process, of: usize, place: OutPtr<c_void>) -> Told {
    ready(me)?;
    let found = me.objects.tools.borrow().cvars.get(of).copied();
    let value = (CVARS[found.ok_or(Code::INVALID_HANDLE)?].value)(me);
    place.of_type::<u64>().set(value);
    Ok(())
}

/// MPI_T_cvar_write: the platform says how messages are sent.
pub unsafe fn cvar_write(me: &Process, of: usize, _: *const c_void) -> Told {
    ready(me)?;
    let known = me.objects.tools.borrow().cvars.get(of).is_some();
    Err(if known { Code::CVAR_SET_NEVER } else { Code::INVALID_HANDLE })
}

/// MPI_T_pvar_get_info
pub fn pvar_get_info(
    me: &Process,
    index: c_int,
    name: OutText,
    name_length: InOutPtr<c_int>,
    verbosity: OutPtr<c_int>,
    class: OutPtr<c_int>,
    datatype: OutPtr<Datatype>,
    values: OutPtr<usize>,
    text: OutText,
    text_length: InOutPtr<c_int>,
    bind: OutPtr<c_int>,
    read_only: OutPtr<c_int>,
    continuous: OutPtr<c_int>,
    atomic: OutPtr<c_int>,
) -> Told {
    ready(me)?;
    let variable = entry(&PVARS, index)?;
    tell(variable.name, name, name_length);
    tell(variable.text, text, text_length);
    verbosity.set(BASIC);
    class.set(LEVEL);
    datatype.set(NUMBER);
    values.set(0);
    bind.set(NO_OBJECT);
    read_only.set(1);
    continuous.set(1);
    atomic.set(0);
    Ok(())
}

/// MPI_T_pvar_get_index
pub fn pvar_get_index(me: &Process, name: InText, class: c_int, index: OutPtr<c_int>) -> Told {
    ready(me)?;
    if class != LEVEL {
        return Err(Code::INVALID_NAME);
    }
    index.set(place_of(PVARS.iter().map(|one| one.name), name)?);
    Ok(())
}

/// MPI_T_pvar_session_create
pub fn pvar_session_create(me: &Process, session: OutPtr<usize>) -> Told {
    ready(me)?;
    let place = me.objects.tools.borrow_mut().sessions.insert(());
    session.set(handle::number(place));
    Ok(())
}

/// MPI_T_pvar_session_free
pub fn pvar_session_free(me: &Process, mut session: InOutPtr<usize>) -> Told {
    ready(me)?;
    let session = &mut *session;
    me.objects.tools.borrow_mut().sessions.remove(*session).ok_or(Code::INVALID_SESSION)?;
    *session = 0;
    Ok(())
}

/// The variable of a handle of that session.
fn pvar(me: &Process, session: usize, of: usize) -> Told<&'static Variable> {
    ready(me)?;
    let tools = me.objects.tools.borrow();
    tools.sessions.get(session).ok_or(Code::INVALID_SESSION)?;
    let found = tools.pvars.get(of).filter(|(one, _)| *one == session);
    found.map(|(_, variable)| &PVARS[*variable]).ok_or(Code::INVALID_HANDLE)
}

/// MPI_T_pvar_handle_alloc
pub unsafe fn pvar_handle_alloc(
    me: &Process,
    session: usize,
    index: c_int,
    _object: *mut c_void,
    made: OutPtr<usize>,
    count: OutPtr<c_int>,
) -> Told {
    ready(me)?;
    entry(&PVARS, index)?;
    let mut tools = me.objects.tools.borrow_mut();
    tools.sessions.get(session).ok_or(Code::INVALID_SESSION)?;
    let place = tools.pvars.insert((session, index as usize));
    made.set(handle::number(place));
    count.set(1);
    Ok(())
}

/// MPI_T_pvar_handle_free
pub fn pvar_handle_free(me: &Process, session: usize, mut freed: InOutPtr<usize>) -> Told {
    let freed = &mut *freed;
    pvar(me, session, *freed)?;
    me.objects.tools.borrow_mut().pvars.remove(*freed);
    *freed = 0;
    Ok(())
}

/// MPI_T_pvar_read
pub fn pvar_read(me: &Process, session: usize, of: usize, place: OutPtr<c_void>) -> Told {
    let variable = pvar(me, session, of)?;
    place.of_type::<u64>().set((variable.value)(me));
    Ok(())
}

/// Error of what cannot be done to a variable; to all of a session it is no error, for there is nothing to do.
fn refused(me: &Process, session: usize, of: usize, error: Code) -> Told {
    if of != ALL {
        pvar(me, session, of)?;
        return Err(error);
    }
    ready(me)?;
    let known = me.objects.tools.borrow().sessions.get(session).is_some();
    if known { Ok(()) } else { Err(Code::INVALID_SESSION) }
}

/// MPI_T_pvar_start, MPI_T_pvar_stop: they are continuous.
pub fn pvar_start_or_stop(me: &Process, session: usize, of: usize) -> Told {
    refused(me, session, of, Code::PVAR_NO_STARTSTOP)
}

/// MPI_T_pvar_reset
pub fn pvar_reset(me: &Process, session: usize, of: usize) -> Told {
    refused(me, session, of, Code::PVAR_NO_WRITE)
}

/// MPI_T_pvar_write
pub unsafe fn pvar_write(me: &Process, session: usize, of: usize, _: *const c_void) -> Told {
    pvar(me, session, of)?;
    Err(Code::PVAR_NO_WRITE)
}

/// MPI_T_pvar_readreset
pub unsafe fn pvar_readreset(me: &Process, session: usize, of: usize, _: *mut c_void) -> Told {
    pvar(me, session, of)?;
    Err(Code::PVAR_NO_ATOMIC)
}

/// MPI_T_category_get_info
pub fn category_get_info(
    me: &Process,
    index: c_int,
    name: OutText,
    name_length: InOutPtr<c_int>,
    text: OutText,
    text_length: InOutPtr<c_int>,
    cvars: OutPtr<c_int>,
    pvars: OutPtr<c_int>,
    categories: OutPtr<c_int>,
) -> Told {
    ready(me)?;
    let (title, meaning, has_cvars) = entry(&CATEGORIES, index)?;
    tell(title, name, name_length);
    tell(meaning, text, text_length);
    cvars.set(if *has_cvars { CVARS.len() as c_int } else { 0 });
    pvars.set(if *has_cvars { 0 } else { PVARS.len() as c_int });
    categories.set(0);
    Ok(())
}

/// MPI_T_category_get_index
pub fn category_get_index(me: &Process, name: InText, index: OutPtr<c_int>) -> Told {
    ready(me)?;
    index.set(place_of(CATEGORIES.iter().map(|one| one.0), name)?);
    Ok(())
}

/// The first `room` numbers below `count`.
fn list(count: usize, room: c_int, indices: OutList<c_int>) {
    for index in 0..count.min(usize::try_from(room).unwrap_or(0)) {
        indices.at(index).set(index as c_int);
    }
}

/// MPI_T_category_get_cvars
pub fn category_get_cvars(me: &Process, index: c_int, room: c_int, indices: OutList<c_int>) -> Told {
    ready(me)?;
    let (.., has_cvars) = entry(&CATEGORIES, index)?;
    list(if *has_cvars { CVARS.len() } else { 0 }, room, indices);
    Ok(())
}

/// MPI_T_category_get_pvars
pub fn category_get_pvars(me: &Process, index: c_int, room: c_int, indices: OutList<c_int>) -> Told {
    ready(me)?;
    let (.., has_cvars) = entry(&CATEGORIES, index)?;
    list(if *has_cvars { 0 } else { PVARS.len() }, room, indices);
    Ok(())
}

/// MPI_T_category_get_categories, MPI_T_category_get_events: none has any.
pub fn category_get_none(me: &Process, index: c_int, _: c_int, _: OutPtr<c_int>) -> Told {
    ready(me)?;
    entry(&CATEGORIES, index).map(|_| ())
}

/// MPI_T_category_get_num_events
pub fn category_get_num_events(me: &Process, index: c_int, count: OutPtr<c_int>) -> Told {
    ready(me)?;
    entry(&CATEGORIES, index)?;
    count.set(0);
    Ok(())
}
