//! Envelope and contents of datatypes: what they were made with.

use std::ffi::c_int;
use std::rc::Rc;

use super::Made;
use crate::abi::arguments::NumberOut;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Datatype};
use crate::abi::pointers::{OutList, OutPtr};
use crate::data::basic::Basic;
use crate::live::process::Process;
use crate::objects::datatype::Member;
pub use crate::objects::datatype::{Combiner, Contents};

/// Making of a program's datatype; `None` for a predefined one.
fn made(me: &Process, datatype: Datatype) -> Answer<Option<Rc<Made>>> {
    match handle::place(datatype.0) {
        Some(_) => me.datatypes.find(datatype).map(Some),
        None => Basic::of(datatype).map(|_| None),
    }
}

fn is_large() -> Error {
    Error::new(
        Class::TYPE,
        "the datatype was made by a large-count function: ask with the one that ends in _c",
    )
}

/// MPI_Type_get_envelope
pub fn type_get_envelope(
    me: &Process,
    datatype: Datatype,
    integers: OutPtr<c_int>,
    addresses: OutPtr<c_int>,
    datatypes: OutPtr<c_int>,
    combiner: OutPtr<c_int>,
) -> Answer {
    let made = made(me, datatype)?;
    let contents = made.as_ref().map(|made| &made.contents);
    if contents.is_some_and(|contents| !contents.large.is_empty()) {
        return Err(is_large());
    }
    let lengths = contents.map_or([0; 3], |contents| {
        [contents.integers.len(), contents.addresses.len(), contents.datatypes.len()]
    });
    integers.set(lengths[0] as c_int);
    addresses.set(lengths[1] as c_int);
    datatypes.set(lengths[2] as c_int);
    combiner.set(contents.map_or(Combiner::Named, |contents| contents.combiner) as c_int);
    Ok(())
}

/// MPI_Type_get_envelope_c
pub fn type_get_envelope_c(
    me: &Process,
    datatype: Datatype,
    integers: NumberOut,
    addresses: NumberOut,
    large: NumberOut,
    datatypes: NumberOut,
    combiner: OutPtr<c_int>,
) -> Answer {
    let made = made(me, datatype)?;
    let contents = made.as_ref().map(|made| &made.contents);
    let lengths = contents.map_or([0; 4], |contents| {
        let Contents { integers, addresses, large, datatypes, .. } = contents;
        [integers.len(), addresses.len(), large.len(), datatypes.len()]
    });
    for (place, length) in [integers, addresses, large, datatypes].into_iter().zip(lengths) {
        place.set(length as i64);
    }
    combiner.set(contents.map_or(Combiner::Named, |contents| contents.combiner) as c_int);
    Ok(())
}

/// MPI_Type_get_contents
pub fn type_get_contents(
    me: &Process,
    datatype: Datatype,
    max_integers: i64,
    max_addresses: i64,
    max_datatypes: i64,
    integers: OutList<c_int>,
    addresses: OutList<isize>,
    datatypes: OutList<Datatype>,
) -> Answer {
    let made = made(me, datatype)?;
    if made.as_ref().is_some_and(|made| !made.contents.large.is_empty()) {
        return Err(is_large());
    }
    let (none, maxima) = (OutList::NONE, (max_integers, max_addresses, 0, max_datatypes));
    give(me, made, maxima, integers, addresses, none, datatypes)
}

/// MPI_Type_get_contents_c
pub fn type_get_contents_c(
    me: &Process,
    datatype: Datatype,
    max_integers: i64,
    max_addresses: i64,
    max_large: i64,
    max_datatypes: i64,
    integers: OutList<c_int>,
    addresses: OutList<isize>,
    large: OutList<i64>,
    datatypes: OutList<Datatype>,
) -> Answer {
    let maxima = (max_integers, max_addresses, max_large, max_datatypes);
    give(me, made(me, datatype)?, maxima, integers, addresses, large, datatypes)
}

fn give(
    me: &Process,
    made: Option<Rc<Made>>,
    maxima: (i64, i64, i64, i64),
    integers: OutList<c_int>,
    addresses: OutList<isize>,
    large: OutList<i64>,
    datatypes: OutList<Datatype>,
) -> Answer {
    let Some(made) = made else {
        return Err(Error::new(Class::TYPE, "a predefined datatype has no contents"));
    };
    let contents = &made.contents;
    put(&contents.integers, maxima.0, integers, "integers")?;
    put(&contents.addresses, maxima.1, addresses, "addresses")?;
    put(&contents.large, maxima.2, large, "large counts")?;
    let members: Vec<_> = (contents.datatypes.iter())
        .map(|member| match member {
            Member::Predefined(datatype) => *datatype,
            Member::Made(made) if made.permanent => parametrised(me, made),
            Member::Made(made) => me.datatypes.keep(made.clone()),
        })
        .collect();
    put(&members, maxima.3, datatypes, "datatypes")
}

/// The one handle of a datatype by precision and range.
fn parametrised(me: &Process, made: &Rc<Made>) -> Datatype {
    let known = me.datatypes.parametrised.borrow();
    let is_it = |datatype: &&Datatype| me.datatypes.find(**datatype).is_ok_and(|one| Rc::ptr_eq(&one, made));
    known.values().find(is_it).copied().unwrap_or(Datatype::NULL)
}

fn put<T: Copy>(list: &[T], most: i64, into: OutList<T>, what: &str) -> Answer {
    if (list.len() as i64) > most {
        return Err(Error::new(Class::ARG, format!("room for {} {what}, not {most}", list.len())));
    }
    list.iter().enumerate().for_each(|(index, value)| into.at(index).set(*value));
    Ok(())
}
