//! Completion of recorded requests, and matches of wildcard receives.

use engine::hash::Map;

use super::file::DumpiFile;
use super::names::{ANY_SOURCE, ANY_TAG};
use super::record::{Record, Records, Status};
use crate::trace::error::TraceError;

/// Requests, as the trace numbers them, that this wait or test completed, each with its status where one was
/// recorded. `None` for a test without completions, and for other calls.
pub fn completed(record: &Record) -> Option<Vec<(i64, Option<Status>)>> {
    let flag = || record.number("flag") != Some(0);
    let first = || record.statuses("status").first().copied();
    let requests = record.ints("requests");
    let at = |index: i64, status: Option<Status>| {
        let request = requests.get(usize::try_from(index).ok()?)?;
        Some((i64::from(*request), status))
    };
    let statuses = record.statuses("statuses");
    match record.call().name {
        "MPI_Wait" | "MPI_Test" => {
            flag().then(|| record.number("request").map(|request| (request, first())).into_iter().collect())
        }
        // A call without an index returned MPI_UNDEFINED: there was no active request.
        "MPI_Waitany" | "MPI_Testany" => {
            flag().then(|| record.number("index").and_then(|index| at(index, first())).into_iter().collect())
        }
        "MPI_Waitall" | "MPI_Testall" => {
            let all = requests.iter().enumerate();
            flag().then(|| all.map(|(n, &request)| (i64::from(request), statuses.get(n).copied())).collect())
        }
        "MPI_Waitsome" | "MPI_Testsome" => {
            let done = record.ints("indices").iter().enumerate();
            let done: Vec<_> =
                done.filter_map(|(n, &index)| at(index.into(), statuses.get(n).copied())).collect();
            (!done.is_empty() || record.call().name == "MPI_Waitsome").then_some(done)
        }
        _ => None,
    }
}

/// True for a receive or probe from any source or with any tag.
pub fn is_wildcard(record: &Record) -> bool {
    record.number("source") == Some(ANY_SOURCE) || record.number("tag") == Some(ANY_TAG)
}

/// Reads ahead of the replay to find the matches of non-blocking wildcard receives, whose status is in the wait that
/// completed them. Reads no farther than that wait, and nothing in traces without such receives.
pub struct Scout {
    records: Records,
    /// Receives that are still open: request in the trace → number of the receive.
    open: Map<i64, u64>,
    /// Completed receives that the replay has not asked for yet.
    known: Map<u64, Option<Status>>,
    seen: u64,
    asked: u64,
    ended: bool,
}

impl Scout {
    /// Starts at the file's first record.
    pub fn new(file: &DumpiFile, buffer: usize) -> Result<Scout, TraceError> {
        Ok(Scout {
            records: file.records(buffer)?,
            open: Map::default(),
            known: Map::default(),
            seen: 0,
            asked: 0,
            ended: false,
        })
    }

    /// Status of the next wildcard MPI_Irecv of the file; `None` if the trace does not have it.
    pub fn next(&mut self) -> Result<Option<Status>, TraceError> {
        let wanted = self.asked;
        self.asked += 1;
        loop {
            if let Some(status) = self.known.remove(&wanted) {
                return Ok(status);
            }
            if self.ended {
                return Ok(None);
            }
            self.advance()?;
        }
    }

    fn advance(&mut self) -> Result<(), TraceError> {
        let Some(record) = self.records.next()? else {
            self.ended = true;
            return Ok(());
        };
        if let (Some(request), true) = (record.number("request"), record.has("comm")) {
            // The request's number is used again: the trace does not have the completion of its previous receive.
            if let Some(lost) = self.open.remove(&request) {
                self.known.insert(lost, None);
            }
            if record.call().name == "MPI_Irecv" && is_wildcard(record) {
                self.open.insert(request, self.seen);
                self.seen += 1;
            }
            return Ok(());
        }
        for (request, status) in completed(record).unwrap_or_default() {
            if let Some(receive) = self.open.remove(&request) {
                self.known.insert(receive, status.filter(|status| status.cancelled == 0));
            }
        }
        Ok(())
    }
}
