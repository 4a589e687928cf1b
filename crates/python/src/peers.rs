//! Communication between the processes of a run, through a Python object that wraps a real MPI.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use sim::Peers;

/// Python object with `rank`, `count`, `exchange(list of bytes) -> list of bytes` and `share(bytes) -> list of
/// bytes`.
pub struct Talker {
    object: Py<PyAny>,
    rank: u32,
    count: u32,
}

impl Talker {
    /// Wraps `object` and reads its rank and the number of processes.
    pub fn new(object: Bound<'_, PyAny>) -> PyResult<Talker> {
        let (rank, count) = (object.getattr("rank")?.extract()?, object.getattr("count")?.extract()?);
        Ok(Talker { object: object.unbind(), rank, count })
    }

    fn call<'py>(&self, method: &str, argument: Bound<'py, PyAny>) -> Vec<Vec<u8>> {
        let object = self.object.bind(argument.py());
        let given = object.call_method1(method, (&argument,)).and_then(|given| given.extract());
        given.unwrap_or_else(|error| panic!("the processes of the run cannot talk: {error}"))
    }
}

impl Peers for Talker {
    fn count(&self) -> u32 {
        self.count
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn exchange(&mut self, to: &[Vec<u8>]) -> Vec<Vec<u8>> {
        Python::attach(|py| {
            let list = PyList::new(py, to.iter().map(|bytes| PyBytes::new(py, bytes)));
            self.call("exchange", list.expect("bytes make a list").into_any())
        })
    }

    fn share(&mut self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        Python::attach(|py| self.call("share", PyBytes::new(py, &bytes).into_any()))
    }
}
