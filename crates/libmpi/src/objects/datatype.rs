//! Datatypes that programs have made, and what they were made of.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Datatype, Table};
use crate::data::datatype::Layout;

/// A datatype that a program has made.
#[derive(Debug)]
pub struct Made {
    /// Layout of its values in memory.
    pub layout: Layout,
    pub(crate) contents: Contents,
    pub(crate) committed: Cell<bool>,
    /// The library's: it cannot be freed.
    pub(crate) permanent: bool,
    pub(crate) name: RefCell<Vec<u8>>,
}

impl Made {
    pub(crate) fn new(layout: Layout, contents: Contents, permanent: bool) -> Made {
        Made { layout, contents, committed: Cell::new(false), permanent, name: RefCell::default() }
    }
}

/// The datatypes of a rank, beside the predefined ones.
#[derive(Default)]
pub struct Datatypes {
    pub(crate) made: RefCell<Table<Rc<Made>>>,
    /// Names that the program gave to predefined ones.
    pub(crate) names: RefCell<BTreeMap<usize, Vec<u8>>>,
    /// Those by precision and range, by what they were asked with.
    pub(crate) parametrised: RefCell<BTreeMap<[c_int; 3], Datatype>>,
}

impl Datatypes {
    /// The layout of a datatype that is used for data.
    #[inline]
    pub fn committed(&self, datatype: Datatype) -> Answer<Layout> {
        if handle::place(datatype.0).is_none() {
            return Layout::of_predefined(datatype);
        }
        let made = self.find(datatype)?;
        if made.committed.get() {
            return Ok(made.layout.clone());
        }
        Err(Error::new(Class::TYPE, format!("{:#x} is a datatype that has not been committed", datatype.0)))
    }

    /// The layout of any datatype.
    pub fn layout(&self, datatype: Datatype) -> Answer<Layout> {
        match handle::place(datatype.0) {
            None => Layout::of_predefined(datatype),
            Some(_) => Ok(self.find(datatype)?.layout.clone()),
        }
    }

    /// A datatype that was made.
    pub fn find(&self, datatype: Datatype) -> Answer<Rc<Made>> {
        self.made.borrow().get(datatype.0).cloned().ok_or_else(|| {
            Error::new(Class::TYPE, format!("{:#x} is not a datatype, or has been freed", datatype.0))
        })
    }

    /// Gives a datatype a handle.
    pub fn keep(&self, made: Rc<Made>) -> Datatype {
        Datatype(handle::number(self.made.borrow_mut().insert(made)))
    }

    /// Takes a handle away.
    pub fn forget(&self, datatype: Datatype) {
        self.made.borrow_mut().remove(datatype.0);
    }
}

/// Making of a datatype: MPI_COMBINER_…
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(i32)]
pub enum Combiner {
    Named = 101,
    Dup = 102,
    Contiguous = 103,
    Vector = 104,
    Hvector = 105,
    Indexed = 106,
    Hindexed = 107,
    IndexedBlock = 108,
    HindexedBlock = 109,
    Struct = 110,
    Subarray = 111,
    Darray = 112,
    Real = 113,
    Complex = 114,
    Integer = 115,
    Resized = 116,
}

/// The arguments that a datatype was made with.
#[derive(Debug)]
pub struct Contents {
    pub(crate) combiner: Combiner,
    /// True if a large-count function made it: then counts and distances are in `large`.
    pub(crate) is_large: bool,
    pub(crate) integers: Vec<i32>,
    pub(crate) addresses: Vec<isize>,
    pub(crate) large: Vec<i64>,
    pub(crate) datatypes: Vec<Member>,
}

/// A datatype that another was made of.
#[derive(Debug, Clone)]
pub(crate) enum Member {
    Predefined(Datatype),
    Made(Rc<Made>),
}

impl Contents {
    /// Contents of a datatype that is made now.
    pub fn new(combiner: Combiner, is_large: bool) -> Contents {
        let (integers, addresses, large, datatypes) = Default::default();
        Contents { combiner, is_large, integers, addresses, large, datatypes }
    }

    /// Numbers that are `int` in any case.
    pub fn integers(mut self, list: impl IntoIterator<Item = i64>) -> Contents {
        self.integers.extend(list.into_iter().map(|value| value as i32));
        self
    }

    /// Numbers that are `int`, or `MPI_Count` in a large-count function.
    pub fn counts(mut self, list: impl IntoIterator<Item = i64>) -> Contents {
        if self.is_large {
            self.large.extend(list);
            return self;
        }
        self.integers(list)
    }

    /// Numbers that are `MPI_Aint`, or `MPI_Count` in a large-count function.
    pub fn addresses(mut self, list: impl IntoIterator<Item = i64>) -> Contents {
        if self.is_large {
            self.large.extend(list);
        } else {
            self.addresses.extend(list.into_iter().map(|value| value as isize));
        }
        self
    }

    /// The datatypes it is made of.
    pub fn of(mut self, datatypes: &Datatypes, list: impl IntoIterator<Item = Datatype>) -> Answer<Contents> {
        for datatype in list {
            self.datatypes.push(match handle::place(datatype.0) {
                None => Member::Predefined(datatype),
                Some(_) => Member::Made(datatypes.find(datatype)?),
            });
        }
        Ok(self)
    }
}
