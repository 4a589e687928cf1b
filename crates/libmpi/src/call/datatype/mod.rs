//! Datatypes: what programs make of them, and what they ask.
//!
//! A datatype that was made lives as long as anything that uses it: its handle, an operation under way (which has its
//! layout), a datatype that was made of it (whose contents name it).

mod construct;
mod contents;
mod element;
mod fortran;
mod pack;
mod removed;

pub use construct::*;
pub use contents::*;
pub use element::*;
pub use fortran::*;
pub use pack::*;
pub use removed::*;

use std::ffi::c_int;

use crate::abi::MAX_OBJECT_NAME;
use crate::abi::arguments::NumberOut;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Datatype, Object};
use crate::abi::pointers::{Address, InOutPtr, InText, OutPtr, OutText};
use crate::call::attribute;
use crate::data::basic::Basic;
use crate::live::process::Process;
pub use crate::objects::datatype::{Datatypes, Made};

/// A flag as C has it.
pub fn truth(flag: bool) -> c_int {
    c_int::from(flag)
}

/// MPI_Type_size
pub fn type_size(me: &Process, datatype: Datatype, size: NumberOut) -> Answer {
    let layout = me.datatypes.layout(datatype)?;
    size.set(layout.size as i64);
    Ok(())
}

/// MPI_Type_get_extent
pub fn type_get_extent(me: &Process, datatype: Datatype, lower: NumberOut, extent: NumberOut) -> Answer {
    let layout = me.datatypes.layout(datatype)?;
    lower.set(layout.lower as i64);
    extent.set(layout.extent as i64);
    Ok(())
}

/// MPI_Type_get_true_extent
pub fn type_get_true_extent(me: &Process, datatype: Datatype, lower: NumberOut, extent: NumberOut) -> Answer {
    let (low, high) = me.datatypes.layout(datatype)?.true_bounds();
    lower.set(low as i64);
    extent.set((high - low) as i64);
    Ok(())
}

/// MPI_Type_commit: what there is to prepare has been prepared.
pub fn type_commit(me: &Process, datatype: InOutPtr<Datatype>) -> Answer {
    let datatype = *datatype;
    if handle::place(datatype.0).is_none() {
        return Basic::of(datatype).map(|_| ());
    }
    me.datatypes.find(datatype)?.committed.set(true);
    Ok(())
}

/// MPI_Type_free: what has been begun with it goes on.
pub fn type_free(me: &Process, mut datatype: InOutPtr<Datatype>) -> Answer {
    let datatype = &mut *datatype;
    if handle::place(datatype.0).is_none() {
        let basic = Basic::of(*datatype)?;
        return Err(Error::new(Class::TYPE, format!("{} cannot be freed", basic.name())));
    }
    if me.datatypes.find(*datatype)?.permanent {
        return Err(Error::new(Class::TYPE, "a datatype by precision and range cannot be freed"));
    }
    attribute::forget(me, Object::Datatype(*datatype))?;
    me.datatypes.forget(*datatype);
    *datatype = Datatype::NULL;
    Ok(())
}

/// MPI_Type_set_name
pub fn type_set_name(me: &Process, datatype: Datatype, name: InText) -> Answer {
    let name = name.bytes().ok_or_else(|| Error::new(Class::ARG, "no name"))?;
    let name = name[..name.len().min(MAX_OBJECT_NAME - 1)].to_vec();
    if handle::place(datatype.0).is_none() {
        Basic::of(datatype)?;
        me.datatypes.names.borrow_mut().insert(datatype.0, name);
    } else {
        *me.datatypes.find(datatype)?.name.borrow_mut() = name;
    }
    Ok(())
}

/// MPI_Type_get_name
pub fn type_get_name(me: &Process, datatype: Datatype, name: OutText, length: OutPtr<c_int>) -> Answer {
    let text = match handle::place(datatype.0) {
        Some(_) => me.datatypes.find(datatype)?.name.borrow().clone(),
        None if datatype == Datatype::NULL => b"MPI_DATATYPE_NULL".to_vec(),
        None => {
            // The one of two names that the standard lists first.
            let standard = match Basic::of(datatype)?.name() {
                "MPI_LONG_LONG" => "MPI_LONG_LONG_INT",
                "MPI_C_FLOAT_COMPLEX" => "MPI_C_COMPLEX",
                name => name,
            };
            me.datatypes.names.borrow().get(&datatype.0).cloned().unwrap_or_else(|| standard.into())
        }
    };
    length.set(name.set(&text, MAX_OBJECT_NAME) as c_int);
    Ok(())
}

/// MPI_Get_address
pub fn get_address(_: &Process, location: Address, address: OutPtr<isize>) -> Answer {
    if address.is_null() {
        return Err(Error::new(Class::ARG, "no place for the address"));
    }
    address.set(location.pointer() as isize);
    Ok(())
}
