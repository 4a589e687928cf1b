//! Sessions: MPI without MPI_Init.

use super::info::Pairs;

/// A session.
#[derive(Debug)]
pub struct Session {
    pub(crate) hints: Pairs,
}
