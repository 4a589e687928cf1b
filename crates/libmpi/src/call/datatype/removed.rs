//! Functions of MPI 1 that later versions have removed, where none of today's is the same.

use crate::abi::error::Answer;
use crate::abi::handle::Datatype;
use crate::abi::pointers::OutPtr;
use crate::live::process::Process;

/// MPI_Type_extent
pub fn type_extent(me: &Process, datatype: Datatype, extent: OutPtr<isize>) -> Answer {
    let layout = me.datatypes.layout(datatype)?;
    extent.set(layout.extent);
    Ok(())
}

/// MPI_Type_lb
pub fn type_lb(me: &Process, datatype: Datatype, displacement: OutPtr<isize>) -> Answer {
    let layout = me.datatypes.layout(datatype)?;
    displacement.set(layout.lower);
    Ok(())
}

/// MPI_Type_ub
pub fn type_ub(me: &Process, datatype: Datatype, displacement: OutPtr<isize>) -> Answer {
    let layout = me.datatypes.layout(datatype)?;
    displacement.set(layout.lower + layout.extent);
    Ok(())
}
