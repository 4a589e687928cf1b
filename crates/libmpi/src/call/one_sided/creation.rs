//! Windows are made and freed.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::sync::Arc;

use mpi::collective::Collective;
use mpi::operation::{NewComm, Op, Start};

use super::{Flavour, Window, find};
use crate::abi::PROC_NULL;
use crate::abi::arguments::Distance;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Comm, Info, Object, Win};
use crate::abi::pointers::{InOutPtr, OutPtr};
use crate::call::communicator::{self, Communicator, give_back};
use crate::call::{attribute, creation, info};
use crate::data::spread;
use crate::data::window::{Member, allocate};
use crate::live::process::Process;

/// MPI_WIN_FLAVOR_CREATE; the others follow.
const FLAVOUR: c_int = 311;
/// MPI_WIN_UNIFIED
const UNIFIED: c_int = 321;

/// All members wait for each other.
pub(super) fn barrier(me: &Process, members: &Communicator) {
    let barrier = Arc::new(Collective::barrier(members.id));
    me.perform(Op::Collective(barrier, Start::Blocking), |_| ());
}

fn no_memory(bytes: usize, comm: Comm) -> Error {
    Error::new(Class::NO_MEM, format!("there are no {bytes} bytes for a window")).of(comm)
}

fn make(
    me: &Process,
    flavour: Flavour,
    base: usize,
    (size, unit): (isize, i64),
    (hints, comm): (Info, Comm),
    win: OutPtr<Win>,
) -> Answer<usize> {
    communicator::find_intra(me, comm)?;
    spread::refuse(me.shared.spread.as_ref(), "a window").map_err(|error| error.of(comm))?;
    let bytes = usize::try_from(size)
        .map_err(|_| Error::new(Class::SIZE, format!("a size of 0 or more, not {size}")).of(comm))?;
    if unit <= 0 {
        return Err(Error::new(Class::DISP, format!("a displacement unit above 0, not {unit}")).of(comm));
    }
    if flavour == Flavour::Create && base == 0 && bytes > 0 {
        return Err(Error::new(Class::BASE, format!("{bytes} bytes at a null pointer")).of(comm));
    }
    let own = creation::make(me, comm, NewComm::Dup)?;
    let members = communicator::find(me, own)?;
    let hosts = &me.shared.host_of_rank;
    let mut group = (0..members.size).filter_map(|rank| members.peer(me.rank, rank));
    if flavour == Flavour::Shared && group.any(|rank| hosts[rank as usize] != hosts[me.rank as usize]) {
        give_back(me, own);
        return Err(Error::new(Class::RMA_SHARED, "the ranks of a shared window are on one host").of(comm));
    }
    let (key, mut base) = (members.key(), base);
    let mut member = Member::new(base, bytes, unit);
    if flavour == Flavour::Allocate {
        member.memory = allocate(bytes).ok_or_else(|| no_memory(bytes, comm))?;
        base = member.memory.as_ptr() as usize;
        member.base = base;
    }
    me.shared.windows.borrow_mut().join(key, members.size as usize, members.rank, member);
    barrier(me, &members);
    if flavour == Flavour::Shared {
        let mut windows = me.shared.windows.borrow_mut();
        let all = windows.members(key);
        if all[0].base == 0 {
            let together = all.iter().map(|member| member.size).sum();
            all[0].memory = allocate(together).ok_or_else(|| no_memory(together, comm))?;
            let mut at = all[0].memory.as_ptr() as usize;
            for member in all.iter_mut() {
                member.base = at;
                at += member.size;
            }
        }
        base = all[members.rank as usize].base;
    }
    let window = Window {
        comm: own,
        members,
        flavour,
        base,
        size,
        unit: unit as c_int,
        numbers: [FLAVOUR + flavour as c_int, UNIFIED],
        name: RefCell::default(),
        fence: Cell::new(false),
        started: RefCell::default(),
        posted: RefCell::default(),
        locks: RefCell::default(),
        all: RefCell::default(),
        checked: Cell::new(false),
        under_way: RefCell::default(),
    };
    let made = Win(handle::number(me.windows.borrow_mut().insert(Rc::new(window))));
    info::add_hints(me, Object::Win(made), hints)?;
    win.set(made);
    Ok(base)
}

/// MPI_Win_create
pub unsafe fn create(
    me: &Process,
    base: *mut c_void,
    size: isize,
    unit: Distance,
    hints: Info,
    comm: Comm,
    win: OutPtr<Win>,
) -> Answer {
    make(me, Flavour::Create, base as usize, (size, unit.0 as i64), (hints, comm), win)?;
    Ok(())
}

macro_rules! allocating {
    ($($(#[$doc:meta])* $name:ident $flavour:ident;)*) => {$(
        $(#[$doc])*
        pub unsafe fn $name(
            me: &Process, size: isize, unit: Distance, hints: Info, comm: Comm, at: *mut c_void, win: OutPtr<Win>,
        ) -> Answer {
            // SAFETY: as the contract of `call` says, `at` is where a pointer is wanted.
            unsafe {
                let base = make(me, Flavour::$flavour, 0, (size, unit.0 as i64), (hints, comm), win)?;
                *at.cast::<usize>() = base;
            }
            Ok(())
        }
    )*};
}

allocating! {
    /// MPI_Win_allocate
    allocate_window Allocate;
    /// MPI_Win_allocate_shared
    allocate_shared Shared;
}

/// MPI_Win_create_dynamic
pub fn create_dynamic(me: &Process, hints: Info, comm: Comm, win: OutPtr<Win>) -> Answer {
    make(me, Flavour::Dynamic, 0, (0, 1), (hints, comm), win)?;
    Ok(())
}

/// The dynamic window of a handle.
fn dynamic(me: &Process, win: Win) -> Answer<Rc<Window>> {
    let window = find(me, win)?;
    if window.flavour == Flavour::Dynamic {
        return Ok(window);
    }
    Err(Error::new(Class::RMA_FLAVOR, "memory is attached to dynamic windows").of(win))
}

/// MPI_Win_attach
pub unsafe fn attach(me: &Process, win: Win, base: *mut c_void, size: isize) -> Answer {
    let window = dynamic(me, win)?;
    let (base, size) = (base as usize, size.max(0) as usize);
    let mut windows = me.shared.windows.borrow_mut();
    let attached = &mut windows.members(window.members.key())[window.members.rank as usize].attached;
    if attached.iter().any(|&(at, bytes)| base < at + bytes && at < base + size) {
        return Err(Error::new(Class::RMA_ATTACH, "memory that overlaps what is attached").of(win));
    }
    attached.push((base, size));
    Ok(())
}

/// MPI_Win_detach
pub unsafe fn detach(me: &Process, win: Win, base: *const c_void) -> Answer {
    let window = dynamic(me, win)?;
    let mut windows = me.shared.windows.borrow_mut();
    let attached = &mut windows.members(window.members.key())[window.members.rank as usize].attached;
    match attached.iter().position(|&(at, _)| at == base as usize) {
        Some(place) => {
            attached.remove(place);
            Ok(())
        }
        None => Err(Error::new(Class::BASE, "memory that is not attached").of(win)),
    }
}

/// MPI_Win_shared_query: what other windows than those of shared memory have is there for ranks of the same host.
pub unsafe fn shared_query(
    me: &Process,
    win: Win,
    rank: c_int,
    size: OutPtr<isize>,
    unit: crate::abi::arguments::NumberOut,
    at: *mut c_void,
) -> Answer {
    let window = find(me, win)?;
    if window.flavour == Flavour::Dynamic {
        return Err(Error::new(Class::RMA_FLAVOR, "a window without memory of its own").of(win));
    }
    let mut windows = me.shared.windows.borrow_mut();
    let members = windows.members(window.members.key());
    let host = |rank: u32| me.shared.host_of_rank[rank as usize];
    let is_here = |index: usize| {
        let world = window.members.peer(me.rank, index as u32);
        // What a program has opened itself is no other process's.
        let is_shared = !me.shared.apart || window.flavour != Flavour::Create || world == Some(me.rank);
        world.is_some_and(|world| host(world) == host(me.rank)) && is_shared
    };
    let index = match rank {
        PROC_NULL => (0..members.len()).find(|index| members[*index].size > 0 && is_here(*index)),
        rank => {
            let index = window.check_rank(rank).map_err(|error| error.of(win))? as usize;
            is_here(index).then_some(index)
        }
    };
    let (bytes, own_unit, base) =
        index.map_or((0, 1, 0), |index| (members[index].size, members[index].unit, members[index].base));
    // SAFETY: as the contract of `call` says.
    unsafe {
        size.set(bytes as isize);
        unit.set(own_unit);
        *at.cast::<usize>() = base;
    }
    Ok(())
}

/// MPI_Win_free
pub fn free(me: &Process, mut win: InOutPtr<Win>) -> Answer {
    let win = &mut *win;
    let window = find(me, *win)?;
    if window.is_busy() {
        return Err(super::out_of_order("a window is freed within an epoch", *win));
    }
    attribute::delete_all(me, Object::Win(*win))?;
    window.flush(me, None)?;
    barrier(me, &window.members);
    // The first one that is here closes it for all: none uses it any more, nor the memory that came with it.
    me.shared.windows.borrow_mut().close(window.members.key());
    give_back(me, window.comm);
    attribute::forget(me, Object::Win(*win))?;
    me.windows.borrow_mut().remove(win.0);
    *win = Win::NULL;
    Ok(())
}
