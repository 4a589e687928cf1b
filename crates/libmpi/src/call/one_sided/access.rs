//! Puts, gets, accumulates and atomics.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::rc::Rc;

use engine::Bytes;
use mpi::operation::{self, Applied};

use super::synchronisation::ensure_lock;
use super::{Flavour, UnderWay, Window, find, out_of_order};
use crate::abi::PROC_NULL;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Datatype, Op, Request, Win};
use crate::abi::pointers::{Address, FromProgram, OutPtr};
use crate::call::request::{self, Pending};
use crate::data::basic::{Basic, Element};
use crate::data::operator::Accumulation;
use crate::data::parcel::Place;
use crate::data::remote_memory::{Change, Far, Old};
use crate::data::window::Action;
use crate::live::process::Process;

/// MPI_NO_OP
const NO_OP: Op = Op(0x3d);

/// Values of the caller's, as C has them.
type Values = (Address, i64, Datatype);
/// Target of an access: the rank, the displacement, how many, of which datatype.
type Target = (c_int, isize, i64, Datatype);

/// Begins an operation at `target`; `bytes` go there and come back.
pub(super) fn begin(
    me: &Process,
    window: &Window,
    target: u32,
    action: Action,
    bytes: (u64, u64),
) -> Request {
    start(me, window, target, action, bytes, false)
}

fn start(
    me: &Process,
    window: &Window,
    target: u32,
    action: Action,
    (bytes, answer): (u64, u64),
    handed: bool,
) -> Request {
    let applied = match action {
        Action::Update { .. } | Action::Swap { .. } => Applied::ByTarget,
        _ => Applied::ByNic,
    };
    let (action, end) = if me.shared.apart { part(me, window, target, action) } else { (action, None) };
    let data = me.shared.windows.borrow_mut().keep(me.rank, action);
    let (comm, bytes, answer) = (window.members.id, Bytes(bytes), Bytes(answer));
    let access = operation::Access { to: target, comm, bytes, answer, applied, data };
    let done = Rc::new(Cell::new(false));
    let seen = done.clone();
    let finish = Box::new(move |_: &Process| {
        seen.set(true);
        end.map_or(Ok(()), |end| end.take())
    });
    let begun = request::begin(me, Pending::collective(finish), |start| operation::Op::Access(access, start));
    window.under_way.borrow_mut().push(UnderWay { target, request: begun, handed, done });
    begun
}

/// Work of an operation at its origin, when its target is another process.
struct End {
    old: Old,
    result: Option<Place>,
    target: u32,
}

impl End {
    fn take(self) -> Answer {
        let old = self.old.replace(Ok(Box::default())).map_err(|error| {
            let reason = format!("the memory of rank {}'s process is out of reach: {error}", self.target);
            Error::new(Class::OTHER, reason)
        })?;
        if let Some(result) = self.result {
            result.put(&old);
        }
        Ok(())
    }
}

/// The same operation on the memory of another process, with what it needs of this one.
fn part(me: &Process, window: &Window, target: u32, action: Action) -> (Action, Option<End>) {
    // SAFETY: as the contract of `call` says.
    let contents = |place: &Place| unsafe { place.layout.pack(place.at.pointer(), place.count) };
    let (change, result, place) = match action {
        Action::Put(origin, place) => (Change::Put(contents(&origin)), None, place),
        Action::Get(origin, place) => (Change::Get, Some(origin), place),
        Action::Update { origin, result, target, how } => {
            let given = origin.as_ref().map(contents).unwrap_or_default();
            (Change::Update(given, how), result, target)
        }
        Action::Swap { origin, compare, result, target } => {
            (Change::Swap(contents(&origin), contents(&compare)), Some(result), target)
        }
        other @ (Action::Far(_) | Action::Lock(..) | Action::Unlock(..)) => return (other, None),
    };
    let process = me.shared.windows.borrow_mut().members(window.members.key())[target as usize].process;
    let old = Old::new(RefCell::new(Ok(Box::default())));
    let far = Far { change, target: place, process, old: old.clone() };
    (Action::Far(far), Some(End { old, result, target }))
}

/// Change of the target.
enum What {
    Put,
    Get,
    Accumulate(Op),
    Fetch(Op),
}

fn place(me: &Process, (at, count, datatype): Values) -> Answer<Place> {
    let layout = me.layout(datatype)?;
    layout.bytes(count)?;
    Ok(Place { at, count, layout })
}

/// Place of values in the memory of a member.
fn within(
    me: &Process,
    window: &Window,
    target: u32,
    (_, distance, count, datatype): Target,
) -> Answer<Place> {
    let wanted = place(me, (Address::NULL, count, datatype))?;
    let mut windows = me.shared.windows.borrow_mut();
    let member = &windows.members(window.members.key())[target as usize];
    let dynamic = window.flavour == Flavour::Dynamic;
    if distance < 0 && !dynamic {
        return Err(Error::new(Class::DISP, format!("a displacement of 0 or more, not {distance}")));
    }
    let at = match dynamic {
        true => distance as usize,
        false => member.base.wrapping_add_signed(distance * member.unit as isize),
    };
    let (begin, bytes) = wanted.layout.span(count.max(0) as usize);
    let bytes = if wanted.layout.bytes(count)? == 0 { 0 } else { bytes };
    let first = at.wrapping_add_signed(begin);
    let inside = |base: usize, size: usize| first >= base && first + bytes <= base + size;
    let fits = match dynamic {
        true => member.has_attached(first, bytes),
        false => inside(member.base, member.size),
    };
    if bytes > 0 && !fits {
        let reason = format!(
            "{bytes} bytes at displacement {distance} are not in the memory of rank {target}, {} bytes",
            member.size
        );
        return Err(Error::new(Class::RMA_RANGE, reason));
    }
    // SAFETY: the owner of the window has given its memory to accesses, and the values are within.
    let at: Address = unsafe { FromProgram::from_program(at as *mut c_void) };
    Ok(Place { at, ..wanted })
}

/// Begins one of the four; gives the request, if there is a target.
fn access(
    me: &Process,
    what: What,
    origin: Values,
    result: Option<Values>,
    target: Target,
    win: Win,
    handed: bool,
) -> Answer<Option<Request>> {
    let window = find(me, win)?;
    let begin = || -> Answer<Option<Request>> {
        let fetches = matches!(what, What::Fetch(NO_OP));
        let own = if fetches { None } else { Some(place(me, origin)?) };
        let result = result.map(|result| place(me, result)).transpose()?;
        if target.0 == PROC_NULL {
            return Ok(None);
        }
        let rank = window.check_rank(target.0)?;
        if !window.is_open(rank) {
            return Err(out_of_order(format!("no access epoch to rank {rank} is open"), win));
        }
        let there = within(me, &window, rank, target)?;
        let length = |place: &Place| place.layout.bytes(place.count);
        let bytes = length(&there)?;
        if let Some(own) = &own
            && length(own)? != bytes
        {
            let reason = format!("{} bytes at the origin, {bytes} at the target", length(own)?);
            return Err(Error::new(Class::TYPE, reason));
        }
        // Of no values there are none that an operation does not fit.
        if bytes == 0 && matches!(what, What::Accumulate(_) | What::Fetch(_)) {
            return Ok(None);
        }
        let (action, bytes) = match (what, own) {
            (What::Put, Some(own)) => (Action::Put(own, there), (bytes, 0)),
            (What::Get, Some(own)) => (Action::Get(own, there), (0, bytes)),
            (What::Accumulate(op) | What::Fetch(op), origin) => {
                let how = Accumulation::of(op, &there.layout)?;
                let back = if result.is_some() { bytes } else { 0 };
                let sent = if origin.is_some() { bytes } else { 0 };
                (Action::Update { origin, result, target: there, how }, (sent, back))
            }
            (_, None) => return Ok(None),
        };
        ensure_lock(me, &window, rank)?;
        Ok(Some(start(me, &window, rank, action, bytes, handed)))
    };
    begin().map_err(|error| error.of(win))
}

/// A request that is complete: of an operation on nobody's memory.
fn nothing(me: &Process) -> Request {
    request::keep(me, Pending::group())
}

macro_rules! accesses {
    ($($(#[$doc:meta])* $plain:ident $with:ident($($name:ident: $kind:ty),* $(,)?)
        $what:expr, $origin:expr, $result:expr, $target:expr;)*) => {$(
        $(#[$doc])*
        pub unsafe fn $plain(me: &Process, $($name: $kind,)* win: Win) -> Answer {
            access(me, $what, $origin, $result, $target, win, false)?;
            Ok(())
        }

        $(#[$doc])*
        pub unsafe fn $with(me: &Process, $($name: $kind,)* win: Win, request: OutPtr<Request>) -> Answer {
            let begun = access(me, $what, $origin, $result, $target, win, true)?;
            request.set(begun.unwrap_or_else(|| nothing(me)));
            Ok(())
        }
    )*};
}

accesses! {
    /// MPI_Put, MPI_Rput
    put rput(at: Address, count: i64, datatype: Datatype, rank: c_int, distance: isize, many: i64, of: Datatype)
        What::Put, (at, count, datatype), None, (rank, distance, many, of);
    /// MPI_Get, MPI_Rget
    get rget(at: Address, count: i64, datatype: Datatype, rank: c_int, distance: isize, many: i64, of: Datatype)
        What::Get, (at, count, datatype), None, (rank, distance, many, of);
    /// MPI_Accumulate, MPI_Raccumulate
    accumulate raccumulate(
        at: Address, count: i64, datatype: Datatype, rank: c_int, distance: isize, many: i64, of: Datatype,
        op: Op,
    ) What::Accumulate(op), (at, count, datatype), None, (rank, distance, many, of);
    /// MPI_Get_accumulate, MPI_Rget_accumulate
    get_accumulate rget_accumulate(
        at: Address, count: i64, datatype: Datatype, into: Address, results: i64, result: Datatype,
        rank: c_int, distance: isize, many: i64, of: Datatype, op: Op,
    ) What::Fetch(op), (at, count, datatype), Some((into, results, result)), (rank, distance, many, of);
}

/// MPI_Fetch_and_op
pub fn fetch_and_op(
    me: &Process,
    at: Address,
    into: Address,
    datatype: Datatype,
    rank: c_int,
    distance: isize,
    op: Op,
    win: Win,
) -> Answer {
    let result = Some((into, 1, datatype));
    let target = (rank, distance, 1, datatype);
    access(me, What::Fetch(op), (at, 1, datatype), result, target, win, false)?;
    Ok(())
}

/// Refuses what cannot be compared and swapped: all but predefined integers, logicals, characters and bytes.
fn check_swapped(datatype: Datatype) -> Answer {
    use Element::{Byte, Character, Logical, Signed, Unsigned};
    let basic = match handle::place(datatype.0) {
        Some(_) => return Err(Error::new(Class::TYPE, "a predefined datatype, not one that was made")),
        None => Basic::of(datatype)?,
    };
    match basic.element() {
        Signed(_) | Unsigned(_) | Logical(_) | Character(_) | Byte => Ok(()),
        _ => Err(Error::new(Class::TYPE, format!("integers, logicals or bytes, not {}", basic.name()))),
    }
}

/// MPI_Compare_and_swap
pub fn compare_and_swap(
    me: &Process,
    at: Address,
    compare: Address,
    into: Address,
    datatype: Datatype,
    rank: c_int,
    distance: isize,
    win: Win,
) -> Answer {
    let window = find(me, win)?;
    let swap = || -> Answer {
        check_swapped(datatype)?;
        let value = |at: Address| place(me, (at, 1, datatype));
        let (origin, compare, result) = (value(at)?, value(compare)?, value(into)?);
        if rank == PROC_NULL {
            return Ok(());
        }
        let rank = window.check_rank(rank)?;
        if !window.is_open(rank) {
            return Err(out_of_order(format!("no access epoch to rank {rank} is open"), win));
        }
        let target = within(me, &window, rank, (0, distance, 1, datatype))?;
        let bytes = target.layout.bytes(1)?;
        ensure_lock(me, &window, rank)?;
        let action = Action::Swap { origin, compare, result, target };
        begin(me, &window, rank, action, (2 * bytes, bytes));
        Ok(())
    };
    swap().map_err(|error| error.of(win))
}
