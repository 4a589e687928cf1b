//! A reader in Python that follows a run: a function that gets the new rows now and then.

use std::sync::Arc;

use pyo3::prelude::*;
use sim::Progress;
use sim::observe::{Given, LiveRows, Pace};

use crate::tables::columns;

/// Function that is called with `(simulated time [s], events, restarts, [(table, columns)])`.
pub struct Follower {
    /// Rows on their way to it.
    pub rows: Arc<LiveRows>,
    function: Py<PyAny>,
    pace: Pace,
}

impl Follower {
    /// Makes a follower of a run that begins now.
    pub fn new(function: Py<PyAny>) -> Follower {
        Follower { rows: Arc::default(), function, pace: Pace::begin() }
    }

    /// Hands over the rows that have come, if it is time to.
    pub fn poll(&mut self, progress: &Progress) -> PyResult<()> {
        if !self.pace.is_due() {
            return Ok(());
        }
        let Given { restarts, tables } = self.rows.take();
        Python::attach(|py| {
            let tables: Vec<_> =
                tables.iter().map(|table| Ok((table.name, columns(py, table)?))).collect::<PyResult<_>>()?;
            self.function.bind(py).call1((progress.now.seconds(), progress.events, restarts, tables))?;
            Ok(())
        })
    }
}
