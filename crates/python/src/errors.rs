//! Errors of `sim` as exceptions of `hopcast.errors`.

use pyo3::PyErr;

mod exceptions {
    pyo3::import_exception!(hopcast.errors, InputError);
}

/// Bad input, with its place and the known choices.
pub fn input_error(error: sim::InputError) -> PyErr {
    exceptions::InputError::new_err(error.to_string())
}
