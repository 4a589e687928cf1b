//! Error handlers, codes and their texts.

use std::ffi::{c_char, c_int};

use super::communicator::find;
use super::environment::write_text;
use crate::abi::MAX_ERROR_STRING;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Comm, Errhandler};
use crate::live::process::Process;

/// MPI_Error_string
pub unsafe fn error_string(_: &Process, code: c_int, text: *mut c_char, length: *mut c_int) -> Answer {
    // SAFETY: as the contract of `call` says, there is room for as much as the standard names.
    unsafe { write_text(&Class(code).sentence(), MAX_ERROR_STRING, text, length) };
    Ok(())
}

/// MPI_Error_class: codes are classes.
pub unsafe fn error_class(_: &Process, code: c_int, class: *mut c_int) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe { *class = code };
    Ok(())
}

/// MPI_Comm_set_errhandler
pub unsafe fn comm_set_errhandler(me: &Process, comm: Comm, handler: Errhandler) -> Answer {
    if !matches!(handler, Errhandler::ARE_FATAL | Errhandler::RETURN | Errhandler::ABORT) {
        let reason = format!("{:#x} is not a predefined error handler", handler.0);
        return Err(Error::new(Class::ERRHANDLER, reason).of(comm));
    }
    find(me, comm)?.handler.set(handler);
    Ok(())
}

/// MPI_Comm_get_errhandler
pub unsafe fn comm_get_errhandler(me: &Process, comm: Comm, handler: *mut Errhandler) -> Answer {
    let found = find(me, comm)?;
    // SAFETY: as the contract of `call` says.
    unsafe { *handler = found.handler.get() };
    Ok(())
}

/// MPI_Errhandler_free: the predefined ones stay.
pub unsafe fn errhandler_free(_: &Process, handler: *mut Errhandler) -> Answer {
    // SAFETY: as the contract of `call` says.
    unsafe { *handler = Errhandler::NULL };
    Ok(())
}
