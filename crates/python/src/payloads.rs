//! Payloads of messages in flight: the simulator carries numbers, the objects are kept here.

use mpi::operation::Data;
use pyo3::prelude::*;

/// Python objects by number; 0 is a phantom.
#[derive(Default)]
pub struct Payloads<'py> {
    held: Vec<Option<Bound<'py, PyAny>>>,
    free: Vec<Data>,
}

impl<'py> Payloads<'py> {
    /// Keeps an object until its message has been received; None is a phantom.
    pub fn keep(&mut self, object: Bound<'py, PyAny>) -> Data {
        if object.is_none() {
            return 0;
        }
        if let Some(number) = self.free.pop() {
            self.held[number as usize - 1] = Some(object);
            return number;
        }
        self.held.push(Some(object));
        self.held.len() as Data
    }

    /// Returns the object of a message that has been received.
    pub fn take(&mut self, py: Python<'py>, number: Data) -> Bound<'py, PyAny> {
        if number == 0 {
            return py.None().into_bound(py);
        }
        self.free.push(number);
        self.held[number as usize - 1].take().expect("a message is received once")
    }
}
