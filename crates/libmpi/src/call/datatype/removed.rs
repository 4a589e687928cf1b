//! Functions of MPI 1 that later versions have removed, where none of today's is the same.

use crate::abi::error::Answer;
use crate::abi::handle::Datatype;
use crate::live::process::Process;

/// MPI_Type_extent
pub unsafe fn type_extent(me: &Process, datatype: Datatype, extent: *mut isize) -> Answer {
    let layout = me.datatypes.layout(datatype)?;
    // SAFETY: as the contract of `call` says.
    unsafe { *extent = layout.extent };
    Ok(())
}

/// MPI_Type_lb
pub unsafe fn type_lb(me: &Process, datatype: Datatype, displacement: *mut isize) -> Answer {
    let layout = me.datatypes.layout(datatype)?;
    // SAFETY: as the contract of `call` says.
    unsafe { *displacement = layout.lower };
    Ok(())
}

/// MPI_Type_ub
pub unsafe fn type_ub(me: &Process, datatype: Datatype, displacement: *mut isize) -> Answer {
    let layout = me.datatypes.layout(datatype)?;
    // SAFETY: as the contract of `call` says.
    unsafe { *displacement = layout.lower + layout.extent };
    Ok(())
}
