//! State of the interface for tools, MPI_T.

use crate::abi::handle::Table;

/// State of a rank's tools.
#[derive(Default)]
pub struct Tools {
    /// Number of times that it was initialised and not yet finalised.
    pub(crate) depth: u32,
    pub(crate) cvars: Table<usize>,
    pub(crate) sessions: Table<()>,
    /// Session and variable.
    pub(crate) pvars: Table<(usize, usize)>,
}
