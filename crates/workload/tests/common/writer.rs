//! Writes small DUMPI files for tests. The layout of records comes from the reader's table, which the reference
//! decodings check against the format; the rest of the file is written out here.

use workload::trace::TraceFile;
use workload::trace::dumpi::calls::{CALLS, COUNTED, END_OF_STREAM, Kind, number};
use workload::trace::dumpi::record::Status;

/// Value of an argument; arguments that are not given are 0 or empty.
#[derive(Clone)]
pub enum Value {
    Number(i64),
    Ints(Vec<i32>),
    Texts(Vec<&'static str>),
    Statuses(Vec<Status>),
    Lists(Vec<Vec<i32>>),
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Number(number)
    }
}
impl<const N: usize> From<[i32; N]> for Value {
    fn from(ints: [i32; N]) -> Value {
        Value::Ints(ints.to_vec())
    }
}

/// Status with this source and tag.
pub fn status(source: i32, tag: i32) -> Status {
    Status { bytes: 8, source, tag, cancelled: 0, error: 0 }
}

/// File of one rank.
pub struct Writer {
    bytes: Vec<u8>,
    called: Vec<u32>,
}

/// Sizes of datatypes: number 9 (MPI_INT) has 4 bytes, 14 (MPI_DOUBLE) 8; as on Hopper.
const SIZES: [u32; 28] =
    [0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 0, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20];
const MAGIC: u64 = 0xffaa_dd44_554d_5049;

impl Writer {
    /// Begins a file without calls. Its wall clock starts at 1000 s.
    pub fn new() -> Writer {
        let mut writer = Writer { bytes: Vec::new(), called: vec![0; COUNTED] };
        writer.bytes.extend(MAGIC.to_be_bytes());
        writer.int(0);
        writer.int(1000);
        writer
    }

    fn int(&mut self, value: i64) {
        self.bytes.extend((value as u32).to_be_bytes());
    }
    fn short(&mut self, value: i64) {
        self.bytes.extend((value as u16).to_be_bytes());
    }
    fn string(&mut self, text: &str) {
        self.short(text.len() as i64);
        self.bytes.extend(text.as_bytes());
    }

    /// Adds a call from `begin` to `end` [µs after the start of the clock].
    pub fn call(&mut self, name: &str, begin: u64, end: u64, arguments: &[(&str, Value)]) -> &mut Writer {
        let function = number(name);
        if usize::from(function) < COUNTED {
            self.called[usize::from(function)] += 1;
            self.called[COUNTED - 1] += 1;
        }
        self.short(i64::from(function));
        self.bytes.push(0b0100_1111); // statuses, both clocks, threads
        self.short(0);
        for time in [begin, end, begin, end] {
            self.short((time / 1_000_000) as i64);
            self.int((time % 1_000_000) as i64 * 1000);
        }
        let given =
            |name: &str| arguments.iter().find(|(other, _)| *other == name).map(|(_, value)| value.clone());
        let (mut own, mut root) = (0, 0);
        for argument in CALLS[usize::from(function)].arguments {
            let value = given(argument.name).unwrap_or(Value::Number(0));
            if let Value::Number(number) = value {
                match argument.kind {
                    Kind::OwnRank => own = number,
                    Kind::Root => root = number,
                    _ => {}
                }
            }
            if !argument.at_root || own == root {
                self.argument(argument.kind, value);
            }
        }
        self
    }

    fn argument(&mut self, kind: Kind, value: Value) {
        use Kind::*;
        match (kind, value) {
            (Int | Dest | Source | Tag | Request | IoRequest | OwnRank | Root, Value::Number(n)) => {
                self.int(n)
            }
            (Int64 | Address, Value::Number(n)) => self.bytes.extend((n as u64).to_be_bytes()),
            (Comm | Datatype | Group | Win | File | Info | Errhandler | Keyval, Value::Number(n)) => {
                self.short(n)
            }
            // An empty list, text or status array of any kind.
            (
                Ints | Requests | IoRequests | Datatypes | Infos | Distributions | Text | Texts | IntTable
                | TextTable | Status | Statuses,
                Value::Number(_),
            ) => self.int(0),
            (_, Value::Number(n)) => self.bytes.push(n as u8),
            (_, Value::Ints(list)) => {
                self.int(list.len() as i64);
                for n in list {
                    match kind {
                        Datatypes | Infos => self.short(n.into()),
                        Distributions => self.bytes.push(n as u8),
                        _ => self.int(n.into()),
                    }
                }
            }
            (_, Value::Texts(texts)) => {
                if kind == Texts {
                    self.int(texts.len() as i64);
                }
                for text in texts {
                    self.int(text.len() as i64);
                    self.bytes.extend(text.as_bytes());
                }
            }
            (_, Value::Lists(lists)) => {
                self.int(lists.len() as i64);
                for list in lists {
                    self.argument(Ints, Value::Ints(list));
                }
            }
            (_, Value::Statuses(statuses)) => {
                self.int(statuses.len() as i64);
                for status in statuses {
                    self.int(status.bytes.into());
                    self.int(status.source.into());
                    self.bytes.extend([status.cancelled as u8, status.error as u8]);
                    self.int(status.tag.into());
                }
            }
        }
    }

    /// Finishes the file of a rank on `host`.
    pub fn finish(mut self, host: &str) -> Vec<u8> {
        self.short(i64::from(END_OF_STREAM));
        let header = self.bytes.len() as u64;
        self.bytes.extend([1, 1, 0]);
        self.bytes.extend(1_300_000_000_u64.to_be_bytes());
        self.string(host);
        self.string("user");
        self.int(0);
        self.int(0);
        let footer = self.bytes.len() as u64;
        self.bytes.extend(0xf007_fee7_u64.to_be_bytes());
        for at in 0..2 * COUNTED {
            let count = self.called.get(at).copied().unwrap_or(0);
            self.int(count.into());
        }
        let counters = self.bytes.len() as u64;
        self.int(0);
        let sizes = self.bytes.len() as u64;
        self.int(SIZES.len() as i64);
        SIZES.iter().for_each(|&size| self.int(size.into()));
        for word in [MAGIC, sizes, 0, counters, header, 8, footer, 0] {
            self.bytes.extend(word.to_be_bytes());
        }
        self.bytes
    }
}

/// Set of files, one for each rank, named as the tracer names them.
pub fn set(ranks: Vec<Vec<u8>>) -> Vec<TraceFile> {
    ranks
        .into_iter()
        .enumerate()
        .map(|(rank, bytes)| TraceFile::new(format!("run/made-{rank:04}.bin"), bytes))
        .collect()
}
