//! The beginning and end of MPI, its time, and what it is.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use mpi::Op;
use mpi::collective::Collective;
use mpi::operation::{CommId, Start};
use std::sync::Arc;

use super::attribute;
use super::info::{self, Pairs};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Comm, Info};
use crate::abi::pointers::{InOutPtr, OutPtr, OutText};
use crate::abi::{MAX_LIBRARY_VERSION_STRING, MAX_PROCESSOR_NAME, THREAD};
use crate::live::process::{Phase, Process};
use crate::process_view::computing_clock;
use crate::process_view::identity::host_name;
use crate::process_view::rank::Rank as _;
use crate::translation;

/// MPI_Init: what the rank has computed before it does not count.
pub fn init(me: &Process, _argc: OutPtr<c_int>, _argv: InOutPtr<*mut *mut c_char>) -> Answer {
    if me.phase.get() != Phase::Before {
        return Err(Error::new(Class::OTHER, "MPI has been initialised before"));
    }
    me.phase.set(Phase::Initialised);
    computing_clock::split();
    me.shared.used.set(true);
    Ok(())
}

/// MPI_Init_thread: threads of a rank may compute, its main thread communicates.
pub fn init_thread(
    me: &Process,
    argc: OutPtr<c_int>,
    argv: InOutPtr<*mut *mut c_char>,
    required: c_int,
    provided: OutPtr<c_int>,
) -> Answer {
    if !THREAD.contains(&required) {
        return Err(Error::new(Class::ARG, format!("a level of thread support, not {required}")));
    }
    init(me, argc, argv)?;
    // A rank that is a process of its own may have threads that call one at a time.
    me.level.set(required.min(THREAD[if me.shared.apart { 2 } else { 1 }]));
    query_thread(me, provided)
}

/// MPI_Query_thread
pub fn query_thread(me: &Process, provided: OutPtr<c_int>) -> Answer {
    provided.set(me.level.get());
    Ok(())
}

/// MPI_Is_thread_main
pub fn is_thread_main(_: &Process, flag: OutPtr<c_int>) -> Answer {
    flag.set(1);
    Ok(())
}

/// MPI_Initialized
pub fn initialized(me: &Process, flag: OutPtr<c_int>) -> Answer {
    flag.set(c_int::from(me.phase.get() != Phase::Before));
    Ok(())
}

/// MPI_Finalized
pub fn finalized(me: &Process, flag: OutPtr<c_int>) -> Answer {
    flag.set(c_int::from(me.phase.get() == Phase::Finalised));
    Ok(())
}

/// MPI_Finalize: all ranks wait for each other, as MPI libraries let them.
pub fn finalize(me: &Process) -> Answer {
    if me.phase.get() != Phase::Initialised {
        return Err(Error::new(Class::OTHER, "MPI is not between MPI_Init and MPI_Finalize"));
    }
    attribute::at_finalize(me)?;
    let barrier = Arc::new(Collective::barrier(CommId::WORLD));
    me.world.next_collective();
    me.perform(Op::Collective(barrier, Start::Blocking), |_| ());
    me.phase.set(Phase::Finalised);
    Ok(())
}

/// MPI_Abort
pub fn abort(me: &Process, _comm: Comm, code: c_int) -> Answer {
    me.flush();
    me.end(Op::Abort(code))
}

/// MPI_Wtime: simulated time.
pub fn wtime(me: &Process) -> f64 {
    me.look_at_clock().seconds()
}

/// MPI_Wtick: the simulator counts picoseconds.
pub fn wtick(_: &Process) -> f64 {
    1e-12
}

/// MPI_Get_version
pub fn get_version(_: &Process, version: OutPtr<c_int>, subversion: OutPtr<c_int>) -> Answer {
    version.set(5);
    subversion.set(0);
    Ok(())
}

/// MPI_Get_library_version
pub fn get_library_version(_: &Process, text: OutText, length: OutPtr<c_int>) -> Answer {
    let name = concat!("hopcast ", env!("CARGO_PKG_VERSION"), ", a simulated MPI 5.0");
    write_text(name, MAX_LIBRARY_VERSION_STRING, text, length);
    Ok(())
}

/// MPI_Get_processor_name: the simulated host.
pub fn get_processor_name(me: &Process, text: OutText, length: OutPtr<c_int>) -> Answer {
    let name = host_name(me.host());
    write_text(&name, MAX_PROCESSOR_NAME, text, length);
    Ok(())
}

/// MPI_Abi_get_version
pub fn abi_get_version(_: &Process, major: OutPtr<c_int>, minor: OutPtr<c_int>) -> Answer {
    major.set(1);
    minor.set(0);
    Ok(())
}

/// MPI_Abi_get_fortran_info: types of Fortran as GNU Fortran has them.
pub fn abi_get_fortran_info(me: &Process, info: OutPtr<Info>) -> Answer {
    const SIZES: [(&str, u32); 4] = [
        ("mpi_logical_size", 4),
        ("mpi_integer_size", 4),
        ("mpi_real_size", 4),
        ("mpi_double_precision_size", 8),
    ];
    /// With whether MPICH has them too.
    const SUPPORTED: [(&str, bool); 19] = [
        ("logical1", false),
        ("logical2", false),
        ("logical4", false),
        ("logical8", false),
        ("logical16", false),
        ("integer1", true),
        ("integer2", true),
        ("integer4", true),
        ("integer8", true),
        ("integer16", false),
        ("real2", false),
        ("real4", true),
        ("real8", true),
        ("real16", true),
        ("complex4", false),
        ("complex8", true),
        ("complex16", true),
        ("complex32", true),
        ("double_complex", true),
    ];
    let mut pairs = Pairs::default();
    for (key, bytes) in SIZES {
        pairs.set(key.as_bytes(), bytes.to_string().as_bytes());
    }
    for (kind, everywhere) in SUPPORTED {
        let is: &[u8] = if everywhere || !translation::is_spoken() { b"true" } else { b"false" };
        pairs.set(format!("mpi_{kind}_supported").as_bytes(), is);
    }
    info.set(info::keep(me, pairs));
    Ok(())
}

/// MPI_Abi_get_fortran_booleans: 1 and 0.
pub unsafe fn abi_get_fortran_booleans(
    _: &Process,
    bytes: c_int,
    yes: *mut c_void,
    no: *mut c_void,
    is_set: OutPtr<c_int>,
) -> Answer {
    let bytes = usize::try_from(bytes).ok().filter(|bytes| [1, 2, 4, 8, 16].contains(bytes));
    let bytes = bytes.ok_or_else(|| Error::new(Class::ARG, "not the size of a logical of Fortran"))?;
    // SAFETY: as the contract of `call` says, both have so many bytes.
    unsafe {
        ptr::write_bytes(yes.cast::<u8>(), 0, bytes);
        ptr::write_bytes(no.cast::<u8>(), 0, bytes);
        *yes.cast::<u8>() = 1;
        is_set.set(1);
    }
    Ok(())
}

/// MPI_Abi_set_fortran_info: they are set already.
pub fn abi_set_fortran_info(_: &Process, _: Info) -> Answer {
    Err(Error::new(Class::ABI, "the types of Fortran are set"))
}

/// MPI_Abi_set_fortran_booleans: they are set already.
pub unsafe fn abi_set_fortran_booleans(_: &Process, _: c_int, _: *mut c_void, _: *mut c_void) -> Answer {
    Err(Error::new(Class::ABI, "the logical values of Fortran are set"))
}

/// MPI_Alloc_mem
pub unsafe fn alloc_mem(_: &Process, size: isize, _info: Info, place: *mut c_void) -> Answer {
    let bytes = usize::try_from(size).map_err(|_| Error::new(Class::ARG, format!("a size, not {size}")))?;
    // SAFETY: as the contract of `call` says, `place` is where a pointer is wanted.
    unsafe {
        let memory = libc::malloc(bytes.max(1));
        if memory.is_null() {
            return Err(Error::new(Class::NO_MEM, format!("no {bytes} bytes of memory")));
        }
        *place.cast::<*mut c_void>() = memory;
    }
    Ok(())
}

/// MPI_Free_mem
pub unsafe fn free_mem(_: &Process, memory: *mut c_void) -> Answer {
    // SAFETY: as the contract of `call` says, it came from MPI_Alloc_mem.
    unsafe { libc::free(memory) };
    Ok(())
}

/// MPI_Pcontrol: for tools, which hear it by their own function of this name.
pub fn pcontrol(_: &Process, _level: c_int) -> Answer {
    Ok(())
}

/// Writes a text with its end, no longer than `room` with it, and its length.
pub fn write_text(name: &str, room: usize, text: OutText, length: OutPtr<c_int>) {
    length.set(text.set(name.as_bytes(), room) as c_int);
}
