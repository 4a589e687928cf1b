//! What programs ask about datatypes.

use std::ffi::{c_int, c_void};

use crate::abi::UNDEFINED;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::export::NumberOut;
use crate::abi::handle::Datatype;
use crate::abi::status::Status;
use crate::data::datatype::Layout;
use crate::live::process::Process;

/// MPI_Type_size
pub unsafe fn type_size(_: &Process, datatype: Datatype, size: NumberOut) -> Answer {
    let layout = Layout::of(datatype)?;
    // SAFETY: as the contract of `call` says.
    unsafe { size.set(layout.size as i64) };
    Ok(())
}

/// MPI_Type_get_extent
pub unsafe fn type_get_extent(
    _: &Process,
    datatype: Datatype,
    lower: NumberOut,
    extent: NumberOut,
) -> Answer {
    let layout = Layout::of(datatype)?;
    // SAFETY: as the contract of `call` says.
    unsafe {
        lower.set(0);
        extent.set(layout.extent as i64);
    }
    Ok(())
}

/// MPI_Type_commit: predefined datatypes are.
pub unsafe fn type_commit(_: &Process, datatype: *mut Datatype) -> Answer {
    // SAFETY: as the contract of `call` says.
    Layout::of(unsafe { *datatype }).map(|_| ())
}

/// MPI_Get_count: MPI_UNDEFINED where the message is not a whole number of values.
pub unsafe fn get_count(_: &Process, status: *const Status, datatype: Datatype, count: NumberOut) -> Answer {
    let layout = Layout::of(datatype)?;
    // SAFETY: as the contract of `call` says.
    unsafe {
        let bytes = (*status).bytes() as i64;
        let size = layout.size as i64;
        count.set(if bytes % size == 0 { bytes / size } else { UNDEFINED.into() });
    }
    Ok(())
}

/// MPI_Get_address
pub unsafe fn get_address(_: &Process, location: *const c_void, address: *mut isize) -> Answer {
    if address.is_null() {
        return Err(Error::new(Class::ARG, "no place for the address"));
    }
    // SAFETY: as the contract of `call` says.
    unsafe { *address = location as isize };
    Ok(())
}

/// A flag as C has it.
pub fn truth(flag: bool) -> c_int {
    c_int::from(flag)
}
