//! Rows that observers hand out while a run goes on, so that a reader can follow it.
//!
//! The reader asks now and then; each domain hands out its new rows with its next poll. Nothing of it touches
//! the simulation, and the tables of the report are the same whether a reader follows or not.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::table::Table;

/// Rows on their way from the domains of a process to the reader.
#[derive(Debug, Default)]
pub struct LiveRows {
    /// Number of requests for rows.
    asked: AtomicU64,
    given: Mutex<Given>,
}

/// Times at which a reader asks: more rarely the longer a run takes, so that a run of days leaves some hundred parts.
#[derive(Debug)]
pub struct Pace {
    begun: Instant,
    next: Instant,
}

/// Least real time between two requests.
const LEAST: Duration = Duration::from_millis(250);

/// Number of requests in the real time that a run has taken so far.
const REQUESTS: u32 = 64;

impl Pace {
    /// Begins now.
    #[expect(clippy::disallowed_methods, reason = "how often a reader asks is no part of the simulation")]
    pub fn begin() -> Pace {
        let begun = Instant::now();
        Pace { begun, next: begun }
    }

    /// True if it is time to ask, which is then done.
    #[expect(clippy::disallowed_methods, reason = "as above")]
    pub fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let due = now >= self.next;
        if due {
            self.next = now + LEAST.max((now - self.begun) / REQUESTS);
        }
        due
    }
}

/// Rows that were handed out since the last call.
#[derive(Debug, Default)]
pub struct Given {
    /// Number of times that the run has begun again: rows of an earlier beginning are to be forgotten.
    pub restarts: u32,
    /// Tables with new rows, several of a name from several domains.
    pub tables: Vec<Table>,
}

impl LiveRows {
    /// Takes the rows that have been handed out, and asks for the next.
    pub fn take(&self) -> Given {
        let mut given = self.lock();
        let tables = std::mem::take(&mut given.tables);
        self.asked.fetch_add(1, Ordering::Relaxed);
        Given { restarts: given.restarts, tables }
    }

    /// Number of requests for rows so far.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Hands out rows.
    pub(crate) fn give(&self, tables: Vec<Table>) {
        let new = tables.into_iter().filter(|table| !table.is_empty());
        self.lock().tables.extend(new);
    }

    /// Forgets the rows of a run that begins again.
    pub(crate) fn restart(&self) {
        let mut given = self.lock();
        given.tables.clear();
        given.restarts += 1;
    }

    fn lock(&self) -> MutexGuard<'_, Given> {
        self.given.lock().expect("no domain panics while it hands out rows")
    }
}
