//! The Python module `hopcast._core`: conversion between Python and `sim`, and nothing else.

mod catalogue;
mod errors;

use pyo3::prelude::*;

/// The compiled part of hopcast.
#[pymodule]
mod _core {
    /// The version of hopcast.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use super::catalogue::{catalogue, platform_reference, platform_schema, platform_text};
}
