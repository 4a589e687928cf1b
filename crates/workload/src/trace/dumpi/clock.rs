//! The clocks of a run's hosts, brought together.
//!
//! Times in a trace come from each host's own clock, often the time since its boot. In the recorded run
//! of LULESH on Hopper four hosts differ by up to 0.68 s. The first call that lets nobody go before all
//! have come (a barrier, an allreduce, an allgather, an all-to-all on all ranks) ends at nearly the same
//! moment everywhere; each host's earliest return from it is taken as that moment.
//! Validity: the error is the spread of those returns (microseconds) plus the drift after it (there
//! 1 ms in 54 s).

use std::collections::BTreeMap;

use super::file::DumpiFile;
use super::names::COMM_WORLD;
use super::set::{Times, is_mpi};
use crate::trace::error::TraceError;

/// Calls that return on no rank before all ranks have called.
const SYNCHRONISING: &[&str] = &[
    "MPI_Barrier",
    "MPI_Allreduce",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Reduce_scatter",
    "MPI_Finalize",
];
/// How far to look for one \[records\]: reading a whole trace twice would cost more than it gives.
const FARTHEST: usize = 100_000;

/// When the run began, on each rank's clock.
pub struct ClockTable {
    origins_ns: Vec<i64>,
}

/// The begin of one rank's trace.
struct Begin {
    first_ns: i64,
    /// The first call that synchronises, and its return.
    together: Option<(&'static str, i64)>,
}

impl ClockTable {
    /// The clocks as recorded, and aligned; with warnings about what could not be done.
    pub fn read(
        files: &[DumpiFile],
        buffer: usize,
    ) -> Result<(ClockTable, ClockTable, Vec<String>), TraceError> {
        let begins: Vec<_> = files.iter().map(|file| read_begin(file, buffer)).collect::<Result<_, _>>()?;
        let mut hosts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (rank, file) in files.iter().enumerate() {
            hosts.entry(&file.header.host).or_default().push(rank);
        }
        let mut warnings = Vec::new();
        if begins.iter().all(|begin| begin.first_ns == 0) {
            warnings.push("the trace has no wall-clock times: nothing is computed between calls".to_string());
        }
        let first = begins.iter().map(|begin| begin.first_ns).min().unwrap_or(0);
        let recorded = ClockTable { origins_ns: vec![first; files.len()] };
        if hosts.len() < 2 {
            return Ok((ClockTable { origins_ns: recorded.origins_ns.clone() }, recorded, warnings));
        }
        // The moment that each host's clock shares with the others.
        let same = begins.windows(2).all(|pair| {
            pair[0].together.is_some()
                && pair[0].together.map(|(name, _)| name) == pair[1].together.map(|(name, _)| name)
        });
        if !same {
            warnings.push(
                "no call in which all ranks wait for each other was found near the begin of the trace: \
                 the hosts' clocks are aligned by their first calls"
                    .to_string(),
            );
        }
        let mut moments = vec![0; files.len()];
        for ranks in hosts.values() {
            let moment = |&rank: &usize| match begins[rank].together {
                Some((_, end)) if same => end,
                _ => begins[rank].first_ns,
            };
            let host_moment = ranks.iter().map(moment).min().unwrap_or(0);
            ranks.iter().for_each(|&rank| moments[rank] = host_moment);
        }
        // The run begins with the first call, as far before the shared moment as on its own host.
        let lead =
            begins.iter().zip(&moments).map(|(begin, moment)| moment.saturating_sub(begin.first_ns)).max();
        let lead = lead.unwrap_or(0);
        let aligned =
            ClockTable { origins_ns: moments.iter().map(|moment| moment.saturating_sub(lead)).collect() };
        Ok((recorded, aligned, warnings))
    }

    /// The clock of `rank`.
    pub(super) fn of_rank(&self, rank: u32) -> Times {
        Times { origin_ns: self.origins_ns[rank as usize] }
    }
}

fn read_begin(file: &DumpiFile, buffer: usize) -> Result<Begin, TraceError> {
    let mut records = file.records(buffer)?;
    let mut first_ns = None;
    for _ in 0..FARTHEST {
        let Some(record) = records.next()? else { break };
        if !is_mpi(record) {
            continue;
        }
        let first = *first_ns.get_or_insert(record.wall_ns[0]);
        let name = record.call().name;
        let of_all = record.number("comm").is_none_or(|comm| comm == COMM_WORLD);
        if of_all && SYNCHRONISING.contains(&name) {
            return Ok(Begin { first_ns: first, together: Some((name, record.wall_ns[1])) });
        }
    }
    Ok(Begin { first_ns: first_ns.unwrap_or(0), together: None })
}
