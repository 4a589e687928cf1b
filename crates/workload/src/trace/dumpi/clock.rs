//! Clocks of the ranks: their origins, and their alignment at the first synchronising call.

use super::file::DumpiFile;
use super::names::COMM_WORLD;
use super::set::is_mpi;
use crate::trace::clock::{Begin, ClockTable, FARTHEST, SYNCHRONISING};
use crate::trace::error::TraceError;

/// Clocks as recorded, and aligned; with warnings where alignment is impossible.
pub fn read(files: &[DumpiFile], buffer: usize) -> Result<(ClockTable, ClockTable, Vec<String>), TraceError> {
    let begins: Vec<_> = files.iter().map(|file| read_begin(file, buffer)).collect::<Result<_, _>>()?;
    let hosts: Vec<_> = files.iter().map(|file| file.header.host.as_str()).collect();
    Ok(ClockTable::align(&begins, &hosts))
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
