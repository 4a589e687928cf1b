//! The loader: an unmodified position-independent program is loaded once, and each rank gets a private copy.
//!
//! ```text
//!   program, libraries ──copies, nothing to run──► dlopen (once: symbols, versions, copies of variables)
//!                                      │ their images, relocated, nothing of them has run
//!                                      ▼
//!   snapshot (memory file): all images in a row, hooked functions in their words
//!        ├── private mapping + b₀ to every word that points inside ──► rank 0
//!        ├── private mapping + b₁ ──► rank 1                            pages that a rank writes are its own,
//!        └── …                                                          all others are shared
//! ```
//!
//! Assumptions: the program finds its variables relative to its code or through relocated words (what
//! compilers emit for a PIE). Libraries of the system, and those without variables, are shared by all ranks. A copy takes one mapping of
//! the process; where Linux does not allow as many (`vm.max_map_count`), copies are made in full.

pub mod callers;
pub mod elf;
pub mod entry;
pub mod exceptions;
pub mod image;
pub mod interception;
pub mod interface;
pub mod libraries;
mod library_calls;
mod linking;
pub mod opened;
mod program_copy;
mod relocation;
mod search_order;
pub mod symbols;
mod template;
pub mod tls;
pub mod unwind;
pub mod valgrind_symbols;

pub use program_copy::{CopyOwner, ProgramCopy};
pub use template::{Hook, Template};
