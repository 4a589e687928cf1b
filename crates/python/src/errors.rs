//! Errors of `sim` as exceptions of `hopcast.errors`.

use pyo3::PyErr;

mod exceptions {
    pyo3::import_exception!(hopcast.errors, InputError);
}

/// Bad input, with its place and the known choices.
pub fn input_error(error: sim::InputError) -> PyErr {
    exceptions::InputError::new_err(error.to_string())
}

/// The same, as another process of the run has told of it.
pub fn told_error(text: &[u8]) -> PyErr {
    exceptions::InputError::new_err(String::from_utf8_lossy(text).into_owned())
}
