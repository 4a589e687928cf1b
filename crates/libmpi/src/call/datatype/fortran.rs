//! Datatypes by class and size, by precision and range, and by the parts of a pair.
//!
//! Precisions and ranges are those of gfortran on x86-64 (`selected_real_kind`, `selected_int_kind`).

use std::ffi::c_int;
use std::rc::Rc;

use super::{Combiner, Contents, Made};
use crate::abi::UNDEFINED;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::Datatype;
use crate::abi::pointers::OutPtr;
use crate::data::basic::{self, Basic, Element};
use crate::data::datatype::Layout;
use crate::live::process::Process;

/// Class (MPI_TYPECLASS_INTEGER, _REAL, _COMPLEX), size \[bytes\], handle.
const BY_SIZE: &[(c_int, c_int, usize)] = &[
    (192, 1, 0x2c1),
    (192, 2, 0x2c9),
    (192, 4, 0x2d1),
    (192, 8, 0x2d9),
    (192, 16, 0x2e1),
    (193, 2, 0x2ca),
    (193, 4, 0x2d2),
    (193, 8, 0x2da),
    (193, 16, 0x2e2),
    (194, 4, 0x2d3),
    (194, 8, 0x2db),
    (194, 16, 0x2e3),
    (194, 32, 0x2eb),
];

/// MPI_Type_match_size
pub fn type_match_size(_: &Process, class: c_int, size: c_int, datatype: OutPtr<Datatype>) -> Answer {
    let found = BY_SIZE.iter().find(|row| (row.0, row.1) == (class, size));
    let &(_, _, handle) = found
        .ok_or_else(|| Error::new(Class::ARG, format!("no datatype of class {class} is of {size} bytes")))?;
    datatype.set(Datatype(handle));
    Ok(())
}

/// Decimal digits, greatest decimal exponent, handle of the real and of the complex datatype.
const REALS: &[(c_int, c_int, usize, usize)] =
    &[(6, 37, 0x2d2, 0x2db), (15, 307, 0x2da, 0x2e3), (18, 4931, 0x220, 0x224), (33, 4931, 0x2e2, 0x2eb)];

/// Decimal digits, handle.
const INTEGERS: &[(c_int, usize)] = &[(2, 0x2c1), (4, 0x2c9), (9, 0x2d1), (18, 0x2d9), (38, 0x2e1)];

fn real(precision: c_int, range: c_int) -> Answer<(usize, usize)> {
    if precision == UNDEFINED && range == UNDEFINED {
        return Err(Error::new(Class::ARG, "neither a precision nor a range"));
    }
    let enough = |row: &&(c_int, c_int, usize, usize)| precision <= row.0 && range <= row.1;
    let found = REALS.iter().find(enough).ok_or_else(|| {
        Error::new(Class::ARG, format!("no real number has {precision} digits and a range of {range}"))
    })?;
    Ok((found.2, found.3))
}

/// The one datatype for these parameters.
fn parametrised(
    me: &Process,
    combiner: Combiner,
    parameters: &[c_int],
    handle: usize,
    new: OutPtr<Datatype>,
) -> Answer {
    let mut key = [combiner as c_int, 0, 0];
    key[1..=parameters.len()].copy_from_slice(parameters);
    let known = me.datatypes.parametrised.borrow().get(&key).copied();
    let datatype = match known {
        Some(datatype) => datatype,
        None => {
            let layout = Layout::of_predefined(Datatype(handle))?;
            let contents =
                Contents::new(combiner, false).integers(parameters.iter().map(|value| (*value).into()));
            let made = Made::new(layout, contents, true);
            made.committed.set(true);
            let datatype = me.datatypes.keep(Rc::new(made));
            me.datatypes.parametrised.borrow_mut().insert(key, datatype);
            datatype
        }
    };
    new.set(datatype);
    Ok(())
}

/// MPI_Type_create_f90_real
pub fn type_create_f90_real(me: &Process, precision: c_int, range: c_int, new: OutPtr<Datatype>) -> Answer {
    let (handle, _) = real(precision, range)?;
    parametrised(me, Combiner::Real, &[precision, range], handle, new)
}

/// MPI_Type_create_f90_complex
pub fn type_create_f90_complex(
    me: &Process,
    precision: c_int,
    range: c_int,
    new: OutPtr<Datatype>,
) -> Answer {
    let (_, handle) = real(precision, range)?;
    parametrised(me, Combiner::Complex, &[precision, range], handle, new)
}

/// MPI_Type_create_f90_integer
pub fn type_create_f90_integer(me: &Process, range: c_int, new: OutPtr<Datatype>) -> Answer {
    let found = INTEGERS.iter().find(|row| range <= row.0);
    let &(_, handle) =
        found.ok_or_else(|| Error::new(Class::ARG, format!("no integer has {range} decimal digits")))?;
    parametrised(me, Combiner::Integer, &[range], handle, new)
}

/// MPI_Type_get_value_index: MPI_DATATYPE_NULL where there is no such pair.
pub fn type_get_value_index(
    me: &Process,
    value: Datatype,
    index: Datatype,
    pair: OutPtr<Datatype>,
) -> Answer {
    let basic = |datatype| me.datatypes.layout(datatype).map(|layout| layout.basic);
    let parts = (basic(value)?, basic(index)?);
    let pairs = basic::predefined().filter_map(|(handle, _)| {
        let of = Basic::of(Datatype(handle)).ok().filter(|one| matches!(one.element(), Element::Pair(..)))?;
        // That of Fortran's integers has the same parts as that of C's.
        let [number, place] =
            if handle == 0x232 { [Basic::of(Datatype(0x219)).ok()?; 2] } else { of.parts()? };
        ((Some(number), Some(place)) == parts).then_some(of.handle())
    });
    pair.set({ pairs }.next().unwrap_or(Datatype::NULL));
    Ok(())
}
