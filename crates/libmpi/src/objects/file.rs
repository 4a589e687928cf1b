//! Files as one rank has them, and data representations.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::fmt;
use std::rc::Rc;

use crate::abi::handle::{Comm, Request};
use crate::data::aggregation::Choice;
use crate::data::file::{Opened, View};

/// A file as one rank has it.
pub struct OpenFile {
    /// State that all share.
    pub opened: Opened,
    /// A communicator of its own, of those who have opened it.
    pub comm: Comm,
    /// Mode in which it was opened.
    pub mode: c_int,
    /// View of the rank.
    pub view: RefCell<View>,
    /// Representation of values in it.
    pub representation: RefCell<Representation>,
    /// The rank's own pointer \[etypes of the view\].
    pub at: Cell<i64>,
    /// True if accesses are atomic: they are in any case, because each takes place at one time.
    pub atomic: Cell<bool>,
    /// A collective access that has begun and not ended: which, and the request for it.
    pub split: Cell<Option<(&'static str, Request)>>,
    /// Choices for collective accesses: reading, writing.
    pub choice: [Choice; 2],
}

/// `MPI_Datarep_extent_function`
pub(crate) type Extent = unsafe extern "C-unwind" fn(usize, *mut isize, *mut c_void) -> c_int;

/// `MPI_Datarep_conversion_function`
pub(crate) type Short =
    unsafe extern "C-unwind" fn(*mut c_void, usize, c_int, *mut c_void, i64, *mut c_void) -> c_int;

/// `MPI_Datarep_conversion_function_c`
pub(crate) type Long =
    unsafe extern "C-unwind" fn(*mut c_void, usize, i64, *mut c_void, i64, *mut c_void) -> c_int;

#[derive(Clone, Copy)]
pub(crate) enum Conversion {
    Short(Short),
    Long(Long),
}

/// A representation that the program has registered.
pub struct Registered {
    pub(crate) name: String,
    pub(crate) read: Option<Conversion>,
    pub(crate) write: Option<Conversion>,
    pub(crate) extent: Extent,
    pub(crate) state: *mut c_void,
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Representation of values in a file.
#[derive(Debug, Clone)]
pub enum Representation {
    /// As in memory.
    Native,
    /// As the library likes: as in memory.
    Internal,
    /// Big-endian, with lengths of its own.
    External32,
    /// As functions of the program say.
    Own(Rc<Registered>),
}
