//! One DUMPI file: the calls of one rank, and the tables at its end.
//!
//! ```text
//! magic ff aa dd 44 "UMPI"                                        8 bytes
//! body      cpu and wall clock offsets [s, 4 bytes each], records, the end-of-stream number
//! header    version (3 bytes), start time, host, user, mesh
//! footer    magic, calls made (by function number), calls left out
//! counters, addresses, sizes (of datatypes), keyvals
//! index     magic, then the offsets of sizes, addresses, counters, header, body, footer, keyvals
//! ```
//! All numbers are big-endian; a missing section has offset 0. Source: sst-dumpi 1.1.

use engine::Duration;

use super::calls::{CALLS, COUNTED};
use super::record::Records;
use crate::trace::error::TraceError;
use crate::trace::input::{Cursor, TraceFile};

/// Magic of the file, and of the index.
pub const MAGIC: u64 = 0xffaa_dd44_554d_5049;
const FOOTER_MAGIC: u64 = 0xf007_fee7;
const INDEX_BYTES: u64 = 64;
/// Oldest version whose records have the current layout.
const OLDEST: [u8; 3] = [0, 6, 9];
/// Buffer that suffices for the sections around the records \[bytes\].
const SMALL_BUFFER: usize = 4096;

/// Content of the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Version of the tracer.
    pub version: [u8; 3],
    /// Begin of the run \[s since 1970\].
    pub start_time_s: u64,
    /// Host of the rank.
    pub host: String,
    /// User who ran it.
    pub user: String,
    /// Coordinates of the rank in the machine's mesh, if the tracer knew them.
    pub mesh_coordinates: Vec<i32>,
    /// Sizes of the mesh.
    pub mesh_sizes: Vec<i32>,
}

/// One opened file: everything but the records, which [`DumpiFile::records`] streams.
#[derive(Clone)]
pub struct DumpiFile {
    /// The file on disk or in memory.
    pub file: TraceFile,
    /// Content of the header.
    pub header: Header,
    /// Number of calls of each function, by function number; the last entry is the sum.
    pub called: Vec<u32>,
    /// Number of calls of each function that were made but not recorded, by function number.
    pub ignored: Vec<u32>,
    /// Size by MPI_Type_size of each datatype, by the trace's number \[bytes\].
    pub sizes: Vec<i32>,
    /// Names of the hardware counters in the records.
    pub counters: Vec<String>,
    index: Index,
}

/// Offsets of the sections; 0 is "missing".
#[derive(Debug, Clone, Copy)]
struct Index {
    sizes: u64,
    addresses: u64,
    counters: u64,
    header: u64,
    body: u64,
    footer: u64,
    keyvals: u64,
    /// Offset of the index itself.
    end: u64,
}

impl DumpiFile {
    /// True if the file begins as a DUMPI file does.
    pub fn recognise(file: &TraceFile) -> Result<bool, TraceError> {
        Ok(file.peek(0, 8)? == MAGIC.to_be_bytes())
    }

    /// Reads everything but the records.
    pub fn open(file: TraceFile) -> Result<DumpiFile, TraceError> {
        if !DumpiFile::recognise(&file)? {
            return Err(TraceError::at(
                &*file.name,
                0,
                "not a DUMPI file: it does not begin with ff aa dd 44 UMPI",
            ));
        }
        let index = Index::read(&file)?;
        let header = read_header(&file, index)?;
        if header.version < OLDEST {
            let [a, b, c] = header.version;
            let reason = format!("written by DUMPI {a}.{b}.{c}; versions from 0.6.9 can be read");
            return Err(TraceError::at(&*file.name, index.header, reason));
        }
        let mut opened = DumpiFile {
            called: vec![0; COUNTED],
            ignored: vec![0; COUNTED],
            sizes: Vec::new(),
            counters: Vec::new(),
            file,
            header,
            index,
        };
        opened.read_footer()?;
        if let Some(mut cursor) = opened.section(index.sizes) {
            let count = cursor.count(4, "the table of datatype sizes")?;
            opened.sizes = (0..count).map(|_| cursor.i32("a datatype's size")).collect::<Result<_, _>>()?;
        }
        if let Some(mut cursor) = opened.section(index.counters) {
            let count = cursor.count(2, "the list of hardware counters")?;
            opened.counters =
                (0..count).map(|_| string(&mut cursor, "a counter's name")).collect::<Result<_, _>>()?;
        }
        Ok(opened)
    }

    /// The records from the first, with a buffer of at most `buffer` bytes.
    pub fn records(&self, buffer: usize) -> Result<Records, TraceError> {
        let end = self.index.after(self.index.body);
        Records::new(Cursor::new(self.file.clone(), self.index.body, end, buffer))
    }

    /// Time of the rank in MPI_Finalize, if the records end with it and have wall times. The call has no arguments, so
    /// its record, and the mark after it, can have only a few lengths.
    pub fn finalize_time(&self) -> Result<Option<Duration>, TraceError> {
        let end = self.index.after(self.index.body);
        let length = (end - self.index.body).min(64);
        let tail = self.file.peek(end - length, length as usize)?;
        for mark in [2, 0] {
            let Some(tail) = tail.len().checked_sub(mark).map(|at| &tail[..at]) else { continue };
            for length in FINALIZE_LENGTHS {
                let Some(record) = tail.len().checked_sub(length).map(|at| &tail[at..]) else { continue };
                if let Some(ns) = finalize_ns(record) {
                    return Ok(Some(Duration(ns.saturating_mul(1000))));
                }
            }
        }
        Ok(None)
    }

    /// The names of the program's own functions that were recorded: `(address, name)`.
    pub fn addresses(&self) -> Result<Vec<(u64, String)>, TraceError> {
        let Some(mut cursor) = self.section(self.index.addresses) else { return Ok(Vec::new()) };
        let count = cursor.count(10, "the list of function addresses")?;
        (0..count)
            .map(|_| Ok((cursor.u64("an address")?, string(&mut cursor, "a function's name")?)))
            .collect()
    }

    /// Notes of the program: `(key, value)`.
    pub fn keyvals(&self) -> Result<Vec<(String, String)>, TraceError> {
        let Some(mut cursor) = self.section(self.index.keyvals) else { return Ok(Vec::new()) };
        let count = cursor.count(4, "the list of keyvals")?;
        (0..count).map(|_| Ok((string(&mut cursor, "a key")?, string(&mut cursor, "a value")?))).collect()
    }

    /// The length of the part that holds the records \[bytes\].
    pub fn body_bytes(&self) -> u64 {
        self.index.after(self.index.body) - self.index.body
    }

    fn section(&self, at: u64) -> Option<Cursor> {
        (at > 0).then(|| Cursor::new(self.file.clone(), at, self.index.end, SMALL_BUFFER))
    }

    fn read_footer(&mut self) -> Result<(), TraceError> {
        let Some(mut cursor) = self.section(self.index.footer) else { return Ok(()) };
        let magic = cursor.u64("the footer")?;
        if magic != FOOTER_MAGIC {
            let reason = format!(
                "the footer begins with {magic:#x} instead of {FOOTER_MAGIC:#x}: the file is damaged"
            );
            return Err(TraceError::at(&*self.file.name, self.index.footer, reason));
        }
        for count in self.called.iter_mut().chain(&mut self.ignored) {
            *count = cursor.u32("the footer's counts of calls")?;
        }
        Ok(())
    }

    /// Number of recorded calls of the function `name`, according to the footer.
    pub fn count_of(&self, name: &str) -> u32 {
        CALLS
            .iter()
            .zip(&self.called)
            .zip(&self.ignored)
            .find(|((call, _), _)| call.name == name)
            .map_or(0, |((_, called), ignored)| called.saturating_sub(*ignored))
    }
}

impl Index {
    fn read(file: &TraceFile) -> Result<Index, TraceError> {
        let size = file.bytes.size();
        let cut_off = |at: u64, found: &str| {
            let reason =
                format!("the index at the end of the file is missing ({found}): the trace is cut off");
            TraceError::at(&*file.name, at, reason)
        };
        if size < INDEX_BYTES + 16 {
            return Err(cut_off(size, &format!("only {size} bytes")));
        }
        let end = size - INDEX_BYTES;
        let mut cursor = Cursor::new(file.clone(), end, size, INDEX_BYTES as usize);
        let magic = cursor.u64("the index")?;
        if magic != MAGIC {
            return Err(cut_off(end, &format!("found {magic:#018x}")));
        }
        let mut position = |name: &'static str| {
            let at = cursor.position();
            let position = cursor.u64(name)?;
            if position != 0 && (position < 8 || position >= end) {
                let reason = format!("{name} is said to begin at byte {position}, outside 8..{end}");
                return Err(cursor.error_at(at, reason));
            }
            Ok(position)
        };
        let index = Index {
            sizes: position("the table of datatype sizes")?,
            addresses: position("the list of addresses")?,
            counters: position("the list of counters")?,
            header: position("the header")?,
            body: position("the body")?,
            footer: position("the footer")?,
            keyvals: position("the list of keyvals")?,
            end,
        };
        if index.header == 0 || index.body == 0 {
            return Err(TraceError::at(&*file.name, end, "the index names no header or no body"));
        }
        Ok(index)
    }

    /// Offset of the section that follows the one at `at`.
    fn after(&self, at: u64) -> u64 {
        [self.sizes, self.addresses, self.counters, self.header, self.body, self.footer, self.keyvals]
            .into_iter()
            .filter(|&other| other > at)
            .min()
            .unwrap_or(self.end)
    }
}

/// Lengths of a record of MPI_Finalize with wall times: with a thread or not, with processor times or not \[bytes\].
const FINALIZE_LENGTHS: [usize; 4] = [15, 17, 27, 29];

/// Time of the call \[ns\], if `record` is a record of MPI_Finalize of exactly this length.
fn finalize_ns(record: &[u8]) -> Option<u64> {
    let number = u16::from_be_bytes([record[0], record[1]]);
    let is_finalize = CALLS.get(usize::from(number)).is_some_and(|call| call.name == "MPI_Finalize");
    let mask = record[2];
    let times = 3 + if mask & 1 << 6 != 0 { 2 } else { 0 } + if mask & 1 << 2 != 0 { 12 } else { 0 };
    let has_wall = mask & 1 << 3 != 0 && mask >> 7 == 0;
    if !is_finalize || !has_wall || record.len() != times + 12 {
        return None;
    }
    let ns = |at: usize| {
        let seconds = u16::from_be_bytes([record[at], record[at + 1]]);
        let ns = u32::from_be_bytes([record[at + 2], record[at + 3], record[at + 4], record[at + 5]]);
        (ns < 1_000_000_000).then_some(u64::from(seconds) * 1_000_000_000 + u64::from(ns))
    };
    // Seconds are stored in 16 bits: a call during which they wrap seems to end before it begins.
    let (begin, end) = (ns(times)?, ns(times + 6)?);
    Some(if end < begin { end + (1 << 16) * 1_000_000_000 - begin } else { end - begin })
}

fn read_header(file: &TraceFile, index: Index) -> Result<Header, TraceError> {
    let mut cursor = Cursor::new(file.clone(), index.header, index.end, SMALL_BUFFER);
    let version = [cursor.u8("the version")?, cursor.u8("the version")?, cursor.u8("the version")?];
    let start_time_s = cursor.u64("the start time")?;
    let host = string(&mut cursor, "the host name")?;
    let user = string(&mut cursor, "the user name")?;
    let mut numbers = |what| {
        let count = cursor.count(4, what)?;
        (0..count).map(|_| cursor.i32(what)).collect::<Result<Vec<_>, _>>()
    };
    let mesh_coordinates = numbers("the mesh coordinates")?;
    // A mesh of no dimensions has no sizes to read, and needs none.
    let mesh_sizes = if mesh_coordinates.is_empty() { Vec::new() } else { numbers("the mesh sizes")? };
    Ok(Header { version, start_time_s, host, user, mesh_coordinates, mesh_sizes })
}

fn string(cursor: &mut Cursor, what: &'static str) -> Result<String, TraceError> {
    let length = cursor.u16(what)?;
    let mut bytes = Vec::new();
    cursor.bytes(usize::from(length), &mut bytes, what)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
