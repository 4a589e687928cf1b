//! Objects of MPI as a rank has them: state without the functions that work on it.

pub mod attribute;
pub mod communicator;
pub mod datatype;
pub mod error;
pub mod file;
pub mod info;
pub mod message;
pub mod operation;
pub mod request;
pub mod session;
pub mod tool;
pub mod topology;
pub mod window;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

use mpi::group::Group;

use crate::abi::LAST_CODE;
use crate::abi::handle::{Errhandler, Object, Table};
use attribute::{Attribute, Keyval};
use error::{Added, Handler};
use file::{OpenFile, Registered};
use info::Pairs;
use session::Session;
use tool::Tools;

/// Groups, infos, error handlers, attribute keys, sessions.
#[derive(Default)]
pub struct Objects {
    /// Its groups.
    pub groups: RefCell<Table<Group>>,
    /// Its infos.
    pub infos: RefCell<Table<Pairs>>,
    /// Its error handlers.
    pub handlers: RefCell<Table<Handler>>,
    /// Its error classes and codes.
    pub errors: RefCell<Added>,
    /// Its attribute keys.
    pub keyvals: RefCell<Table<Keyval>>,
    /// Its sessions.
    pub sessions: RefCell<Table<Rc<Session>>>,
    /// State of tools.
    pub tools: RefCell<Tools>,
    /// Its files.
    pub files: RefCell<Table<Rc<OpenFile>>>,
    /// The data representations that it has registered.
    pub representations: RefCell<Vec<Rc<Registered>>>,
    /// Attributes, handlers, infos and names by object.
    pub attached: RefCell<BTreeMap<Object, Attached>>,
    /// The last code that is in use, to which an attribute points.
    pub last_code: Cell<c_int>,
}

/// Attributes, handler, info and name of an object.
#[derive(Default)]
pub struct Attached {
    /// In the order in which they were set.
    pub attributes: Vec<Attribute>,
    /// Handler that hears of its errors, if one has been set.
    pub handler: Option<Errhandler>,
    /// Its hints.
    pub info: Pairs,
    /// Its name, if it has been given one.
    pub name: Option<Vec<u8>>,
}

impl Objects {
    /// Those of a rank that has not begun.
    pub fn new() -> Objects {
        Objects { last_code: Cell::new(LAST_CODE), ..Objects::default() }
    }

    /// Changes what hangs on an object.
    pub fn on<R>(&self, object: Object, change: impl FnOnce(&mut Attached) -> R) -> R {
        change(self.attached.borrow_mut().entry(object).or_default())
    }

    /// Reads what hangs on an object, if anything does.
    pub fn look<R>(&self, object: Object, read: impl FnOnce(&Attached) -> R) -> Option<R> {
        self.attached.borrow().get(&object).map(read)
    }
}
