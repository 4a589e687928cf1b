//! Maps errors of `sim` to exceptions of `hopcast.errors`.

use pyo3::PyErr;

mod exceptions {
    pyo3::import_exception!(hopcast.errors, InputError);
}

/// Bad input, with its place and the known choices.
pub fn input_error(error: sim::InputError) -> PyErr {
    exceptions::InputError::new_err(error.to_string())
}

/// Bad input that another process of the run has reported.
pub fn told_error(text: &[u8]) -> PyErr {
    exceptions::InputError::new_err(String::from_utf8_lossy(text).into_owned())
}
