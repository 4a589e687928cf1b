//! Stream of records: decodes one call of the traced rank at a time, into storage that the next one reuses.

use super::calls::{Argument, CALLS, Call, END_OF_STREAM, Kind, PCONTROL, number};
use crate::trace::error::TraceError;
use crate::trace::input::Cursor;

/// Status of a message, as MPI returned it to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Length \[bytes\].
    pub bytes: i32,
    /// Source, a rank of the communicator.
    pub source: i32,
    /// Tag.
    pub tag: i32,
    /// Nonzero if the message was cancelled.
    pub cancelled: i8,
    /// Error code.
    pub error: i8,
}

/// Location of an argument's value in the record's storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    /// Not in this record.
    Absent,
    Number(i64),
    Ints(usize, usize),
    Statuses(usize, usize),
    /// Texts, each ended in `text_ends`.
    Texts(usize, usize),
    /// Lists, each ended in `list_ends`: of integers or texts.
    Lists(usize, usize),
}

/// One call.
#[derive(Debug, Clone)]
pub struct Record {
    /// Number of the function.
    pub function: u16,
    /// Thread that called.
    pub thread: u16,
    /// Begin and end of the call on the rank's wall clock \[ns\]; 0 if not recorded.
    pub wall_ns: [i64; 2],
    /// Begin and end of the call on the processor clock \[ns\]; 0 if not recorded.
    pub cpu_ns: [i64; 2],
    /// Hardware counters at the begin and at the end of the call.
    pub counters: Vec<[i64; 2]>,
    /// Offset of the record \[bytes from the start of the file\].
    pub offset: u64,
    values: Vec<Value>,
    ints: Vec<i32>,
    statuses: Vec<Status>,
    text: Vec<u8>,
    text_ends: Vec<usize>,
    list_ends: Vec<usize>,
}

impl Record {
    /// Name and arguments of its function.
    pub fn call(&self) -> &'static Call {
        &CALLS[usize::from(self.function)]
    }

    /// Value of the argument `name`; `None` if this record does not have it.
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.value(name) {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// List `name`; empty if this record does not have it.
    pub fn ints(&self, name: &str) -> &[i32] {
        match self.value(name) {
            Value::Ints(from, to) => &self.ints[from..to],
            _ => &[],
        }
    }

    /// Statuses `name`; empty if they were ignored or not recorded.
    pub fn statuses(&self, name: &str) -> &[Status] {
        match self.value(name) {
            Value::Statuses(from, to) => &self.statuses[from..to],
            _ => &[],
        }
    }

    /// Texts `name`; a single text is a list of one.
    pub fn texts(&self, name: &str) -> Vec<&[u8]> {
        match self.value(name) {
            Value::Texts(from, to) => (from..to).map(|at| self.text_at(at)).collect(),
            _ => Vec::new(),
        }
    }

    /// Lists of integers `name`.
    pub fn int_lists(&self, name: &str) -> Vec<&[i32]> {
        self.lists(name).into_iter().map(|(from, to)| &self.ints[from..to]).collect()
    }

    /// Lists of texts `name`.
    pub fn text_lists(&self, name: &str) -> Vec<Vec<&[u8]>> {
        self.lists(name)
            .into_iter()
            .map(|(from, to)| (from..to).map(|at| self.text_at(at)).collect())
            .collect()
    }

    /// True if the record has the argument `name`.
    pub fn has(&self, name: &str) -> bool {
        self.value(name) != Value::Absent
    }

    fn value(&self, name: &str) -> Value {
        let at = self.call().arguments.iter().position(|argument| argument.name == name);
        at.map_or(Value::Absent, |at| self.values[at])
    }

    fn text_at(&self, at: usize) -> &[u8] {
        let from = if at == 0 { 0 } else { self.text_ends[at - 1] };
        &self.text[from..self.text_ends[at]]
    }

    /// Bounds `(from, to)` of each list of the argument `name`.
    fn lists(&self, name: &str) -> Vec<(usize, usize)> {
        match self.value(name) {
            Value::Lists(from, to) => {
                self.list_ends[from..to].windows(2).map(|pair| (pair[0], pair[1])).collect()
            }
            _ => Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.counters.clear();
        self.values.clear();
        self.ints.clear();
        self.statuses.clear();
        self.text.clear();
        self.text_ends.clear();
        self.list_ends.clear();
    }
}

const STATUS_MASK: u8 = 0b11;
const CPU_TIME_MASK: u8 = 1 << 2;
const WALL_TIME_MASK: u8 = 1 << 3;
const THREAD_MASK: u8 = 1 << 6;
const COUNTERS_MASK: u8 = 1 << 7;
const FINALIZE: u16 = number("MPI_Finalize");
const SEND: u16 = number("MPI_Send");
const NS_PER_S: i64 = 1_000_000_000;
/// Seconds are stored in 16 bits.
const WRAP_S: i64 = 1 << 16;
/// A longer run is taken for a damaged clock \[s\].
const LONGEST_S: i64 = 100 * 24 * 3600;

/// The calls of one rank, in order.
pub struct Records {
    cursor: Cursor,
    record: Record,
    cpu_offset_s: i64,
    wall_offset_s: i64,
    /// Second of the last call as stored, and the sum of the wraps before it.
    last_s: i64,
    wrapped_s: i64,
    finalized: bool,
    ended: bool,
    /// Bytes of the whole body, at least 1.
    length: u64,
}

impl Records {
    /// Begins at the body, which `cursor` covers.
    pub(super) fn new(mut cursor: Cursor) -> Result<Records, TraceError> {
        let cpu_offset_s = i64::from(cursor.i32("the offset of the processor clock")?);
        let wall_offset_s = i64::from(cursor.i32("the offset of the wall clock")?);
        let record = Record {
            function: 0,
            thread: 0,
            wall_ns: [0; 2],
            cpu_ns: [0; 2],
            counters: Vec::new(),
            offset: 0,
            values: Vec::new(),
            ints: Vec::new(),
            statuses: Vec::new(),
            text: Vec::new(),
            text_ends: Vec::new(),
            list_ends: Vec::new(),
        };
        let length = cursor.left().max(1);
        Ok(Records {
            cursor,
            record,
            cpu_offset_s,
            wall_offset_s,
            last_s: 0,
            wrapped_s: 0,
            finalized: false,
            ended: false,
            length,
        })
    }

    /// Fraction of the body that has been read \[0..1\].
    pub fn share_read(&self) -> f64 {
        1.0 - self.cursor.left() as f64 / self.length as f64
    }

    /// Next call; `None` at the end of the stream, and after an error.
    #[allow(clippy::should_implement_trait)] // it lends its storage, which an Iterator cannot
    pub fn next(&mut self) -> Result<Option<&Record>, TraceError> {
        if self.ended {
            return Ok(None);
        }
        self.ended = true;
        let offset = self.cursor.position();
        let function = self.cursor.u16("the function number of a record")?;
        // Old traces end with a number 0 after MPI_Finalize.
        if function == END_OF_STREAM || (self.finalized && function == SEND) {
            return Ok(None);
        }
        if usize::from(function) >= CALLS.len() || function == PCONTROL {
            let reason =
                format!("unknown function number {function}; a record begins with one below {END_OF_STREAM}");
            return Err(self.cursor.error_at(offset, reason));
        }
        self.record.clear();
        self.record.offset = offset;
        self.record.function = function;
        self.read_record().map_err(|mut error| {
            let name = CALLS[usize::from(function)].name;
            error.reason = format!("in the record of {name} that begins at byte {offset}: {}", error.reason);
            error
        })?;
        self.finalized |= function == FINALIZE;
        self.ended = self.cursor.left() == 0;
        Ok(Some(&self.record))
    }

    /// Call that [`Records::next`] returned last.
    pub fn current(&self) -> &Record {
        &self.record
    }

    /// Name of the file.
    pub(super) fn file_name(&self) -> std::sync::Arc<str> {
        self.cursor.file_name()
    }

    fn read_record(&mut self) -> Result<(), TraceError> {
        let mask = self.cursor.u8("the mask")?;
        self.record.thread = if mask & THREAD_MASK != 0 { self.cursor.u16("the thread")? } else { 0 };
        self.record.cpu_ns = [0; 2];
        if mask & CPU_TIME_MASK != 0 {
            for time in &mut self.record.cpu_ns {
                let seconds = i64::from(self.cursor.u16("the processor time")?) + self.cpu_offset_s;
                *time = seconds * NS_PER_S + i64::from(self.cursor.i32("the processor time")?);
            }
        }
        self.record.wall_ns = [0; 2];
        if mask & WALL_TIME_MASK != 0 {
            self.record.wall_ns = [self.wall_time()?, self.wall_time()?];
        }
        if mask & COUNTERS_MASK != 0 {
            for _ in 0..self.cursor.u8("the number of counters")? {
                let pair = [self.cursor.u64("a counter")? as i64, self.cursor.u64("a counter")? as i64];
                self.record.counters.push(pair);
            }
        }
        self.read_arguments(mask)
    }

    /// Reads a wall time \[ns\]. A run of more than 18 hours wraps around the 16 bits of its seconds: times of one
    /// rank increase, so a step back of more than half of that is a wrap.
    fn wall_time(&mut self) -> Result<i64, TraceError> {
        let at = self.cursor.position();
        let seconds = i64::from(self.cursor.u16("the wall time")?);
        let ns = i64::from(self.cursor.u32("the wall time")?);
        if ns >= NS_PER_S {
            return Err(self.cursor.error_at(at, format!("the wall time has {ns} ns beside its seconds")));
        }
        if self.last_s - seconds > WRAP_S / 2 {
            self.wrapped_s += WRAP_S;
            if self.wrapped_s > LONGEST_S {
                return Err(self.cursor.error_at(at, "the wall clock runs for more than 100 days"));
            }
        }
        self.last_s = seconds;
        Ok((seconds + self.wrapped_s + self.wall_offset_s) * NS_PER_S + ns)
    }

    fn read_arguments(&mut self, mask: u8) -> Result<(), TraceError> {
        let (mut own, mut root) = (i64::MIN, i64::MAX);
        for argument in self.record.call().arguments {
            let value = if argument.at_root && own != root {
                Value::Absent
            } else {
                self.read_value(argument, mask)?
            };
            match (argument.kind, value) {
                (Kind::OwnRank, Value::Number(number)) => own = number,
                (Kind::Root, Value::Number(number)) => root = number,
                _ => {}
            }
            self.record.values.push(value);
        }
        Ok(())
    }

    #[inline]
    fn read_value(&mut self, argument: &Argument, mask: u8) -> Result<Value, TraceError> {
        use Kind::*;
        let (cursor, what) = (&mut self.cursor, argument.name);
        Ok(match argument.kind {
            Int | Dest | Source | Tag | Request | IoRequest | OwnRank | Root => {
                Value::Number(i64::from(cursor.i32(what)?))
            }
            Comm | Datatype | Group | Win | File | Info | Errhandler | Keyval => {
                Value::Number(i64::from(cursor.u16(what)? as i16))
            }
            Reduction | Topology | Combiner | FileMode | LockType | ThreadLevel | TypeClass | Whence
            | WinAssert => Value::Number(i64::from(cursor.u8(what)?)),
            Comparison | Ordering => Value::Number(i64::from(cursor.u8(what)? as i8)),
            Int64 | Address => Value::Number(cursor.u64(what)? as i64),
            Ints | Requests | IoRequests => self.read_ints(what, 4)?,
            Datatypes | Infos => self.read_ints(what, 2)?,
            Distributions => self.read_ints(what, 1)?,
            Text => self.read_texts(what, 1)?,
            Texts => {
                let count = cursor.count(4, what)?;
                self.read_texts(what, count)?
            }
            IntTable | TextTable => self.read_lists(argument)?,
            Status | Statuses if mask & STATUS_MASK == 0 => Value::Absent,
            Status | Statuses => self.read_statuses(what)?,
        })
    }

    fn read_ints(&mut self, what: &'static str, element: u64) -> Result<Value, TraceError> {
        let count = self.cursor.count(element, what)?;
        let from = self.record.ints.len();
        for _ in 0..count {
            self.record.ints.push(match element {
                4 => self.cursor.i32(what)?,
                2 => i32::from(self.cursor.u16(what)? as i16),
                _ => i32::from(self.cursor.u8(what)?),
            });
        }
        Ok(Value::Ints(from, from + count))
    }

    fn read_texts(&mut self, what: &'static str, count: usize) -> Result<Value, TraceError> {
        let from = self.record.text_ends.len();
        for _ in 0..count {
            let length = self.cursor.count(1, what)?;
            self.cursor.bytes(length, &mut self.record.text, what)?;
            self.record.text_ends.push(self.record.text.len());
        }
        Ok(Value::Texts(from, from + count))
    }

    fn read_lists(&mut self, argument: &Argument) -> Result<Value, TraceError> {
        let count = self.cursor.count(4, argument.name)?;
        let from = self.record.list_ends.len();
        let texts = argument.kind == Kind::TextTable;
        let begin = if texts { self.record.text_ends.len() } else { self.record.ints.len() };
        self.record.list_ends.push(begin);
        for _ in 0..count {
            let list = if texts {
                let count = self.cursor.count(4, argument.name)?;
                self.read_texts(argument.name, count)?
            } else {
                self.read_ints(argument.name, 4)?
            };
            let (Value::Ints(_, end) | Value::Texts(_, end)) = list else {
                unreachable!("a list of integers or texts")
            };
            self.record.list_ends.push(end);
        }
        Ok(Value::Lists(from, from + count + 1))
    }

    fn read_statuses(&mut self, what: &'static str) -> Result<Value, TraceError> {
        let count = self.cursor.count(14, what)?;
        let from = self.record.statuses.len();
        for _ in 0..count {
            self.record.statuses.push(Status {
                bytes: self.cursor.i32(what)?,
                source: self.cursor.i32(what)?,
                cancelled: self.cursor.u8(what)? as i8,
                error: self.cursor.u8(what)? as i8,
                tag: self.cursor.i32(what)?,
            });
        }
        Ok(Value::Statuses(from, from + count))
    }
}
