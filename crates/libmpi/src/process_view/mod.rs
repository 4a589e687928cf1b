//! The C library as a rank sees it: as if the rank were a process of its own.

pub mod exit;
pub mod stdio;

use crate::loader::{Hook, entry, tls};

/// Everything that is hooked in a program.
pub fn hooks() -> Vec<Hook> {
    let mut hooks = vec![entry::hook(), tls::hook()];
    hooks.extend(exit::hooks());
    hooks
}
