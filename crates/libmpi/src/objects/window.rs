//! Windows of one-sided communication as one of their members has them.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::rc::Rc;

use super::communicator::Communicator;
use crate::abi::handle::{Comm, Request};

/// Making of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Flavour {
    Create,
    Allocate,
    Dynamic,
    Shared,
}

/// A window as one of its members has it.
pub struct Window {
    /// Its own communicator.
    pub(crate) comm: Comm,
    pub(crate) members: Rc<Communicator>,
    pub(crate) flavour: Flavour,
    /// For its attributes: base, size, unit, flavour, model.
    pub(crate) base: usize,
    pub(crate) size: isize,
    pub(crate) unit: c_int,
    pub(crate) numbers: [c_int; 2],
    pub(crate) name: RefCell<Vec<u8>>,
    pub(crate) fence: Cell<bool>,
    /// The targets of MPI_Win_start.
    pub(crate) started: RefCell<Option<Vec<u32>>>,
    /// Requests for which MPI_Win_wait waits.
    pub(crate) posted: RefCell<Option<Vec<Request>>>,
    /// The targets that are locked, each alone.
    pub(crate) locks: RefCell<Vec<u32>>,
    /// Within MPI_Win_lock_all, and the targets that it has locked so far.
    pub(crate) all: RefCell<Option<Vec<u32>>>,
    /// True if MPI_Win_lock_all takes locks at all.
    pub(crate) checked: Cell<bool>,
    pub(crate) under_way: RefCell<Vec<UnderWay>>,
}

/// An operation that is not known to be complete.
pub(crate) struct UnderWay {
    pub(crate) target: u32,
    pub(crate) request: Request,
    /// True if the program has its request, too.
    pub(crate) handed: bool,
    pub(crate) done: Rc<Cell<bool>>,
}
