//! State of the interface for tools, MPI_T.

use crate::abi::handle::Table;

/// What a rank's tools have.
#[derive(Default)]
pub struct Tools {
    /// How often it was initialised and not yet finalised.
    pub(crate) depth: u32,
    pub(crate) cvars: Table<usize>,
    pub(crate) sessions: Table<()>,
    /// Session and variable.
    pub(crate) pvars: Table<(usize, usize)>,
}
