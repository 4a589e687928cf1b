//! Elements of a datatype in a message.

use crate::abi::UNDEFINED;
use crate::abi::arguments::NumberOut;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::Datatype;
use crate::abi::pointers::{InOutPtr, InPtr};
use crate::abi::status::Status;
use crate::live::process::Process;

/// MPI_Get_count: MPI_UNDEFINED where the message is not a whole number of values.
pub fn get_count(me: &Process, status: InPtr<Status>, datatype: Datatype, count: NumberOut) -> Answer {
    let size = me.datatypes.layout(datatype)?.size as i64;
    let bytes = status.bytes() as i64;
    let whole = if size == 0 { bytes == 0 } else { bytes % size == 0 };
    count.set(if whole { bytes / size.max(1) } else { UNDEFINED.into() });
    Ok(())
}

/// MPI_Get_elements: MPI_UNDEFINED where the message ends within a predefined value.
pub fn get_elements(me: &Process, status: InPtr<Status>, datatype: Datatype, count: NumberOut) -> Answer {
    let layout = me.datatypes.layout(datatype)?;
    let elements = layout.elements_in(status.bytes());
    count.set(elements.map_or(UNDEFINED.into(), |elements| elements as i64));
    Ok(())
}

/// MPI_Status_set_elements
pub fn status_set_elements(
    me: &Process,
    mut status: InOutPtr<Status>,
    datatype: Datatype,
    count: i64,
) -> Answer {
    let layout = me.datatypes.layout(datatype)?;
    let count = u64::try_from(count)
        .map_err(|_| Error::new(Class::COUNT, format!("a count of 0 or more, not {count}")))?;
    status.set_bytes(layout.bytes_of(count));
    Ok(())
}
