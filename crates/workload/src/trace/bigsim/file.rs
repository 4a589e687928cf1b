//! One file of a log, decoded.

use engine::Duration;

use crate::trace::error::TraceError;
use crate::trace::input::TraceFile;

/// The first bytes of every file.
pub const MAGIC: [u8; 4] = [0x10, 0xea, 0xbd, 0xf9];
/// The machine that wrote it: sizes of integers, little-endian, sizes of floating-point numbers, IEEE, the rest.
const MACHINE: [u8; 12] = [1, 1, 2, 4, 8, 16, 1, 4, 8, 1, 1, 8];
const MACHINE_BYTES: usize = 16;
/// Version of the log whose events have this layout.
const VERSION: i32 = 6;
/// Smallest sizes of an event and of a message \[bytes\].
const LEAST_EVENT: usize = 127;
const LEAST_MESSAGE: usize = 34;
/// A longer event is a damaged time \[s\]: 100 days.
const LONGEST_S: f64 = 8_640_000.0;

/// Contents of the file `bgTrace`.
#[derive(Debug, Clone, Copy)]
pub struct Overview {
    /// Number of processors.
    pub processors: u32,
    /// Number of files that hold their logs.
    pub files: u32,
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Message that triggers the event: the sending processor, and the message's number there.
    pub message: Option<(u32, u32)>,
    /// Duration of the event.
    pub length: Duration,
    /// Recorded begin and end on the emulating machine \[s\].
    pub times_s: [f64; 2],
    /// Messages that it sends.
    pub sends: Vec<Sent>,
    /// Events that must end before it begins.
    pub before: Vec<u32>,
}

/// A message that an event sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sent {
    /// Number of the message at its sender.
    pub number: u32,
    /// Receivers.
    pub to: Destination,
    /// Time of the send, relative to the begin of the event.
    pub at: Duration,
    /// Length \[bytes\].
    pub bytes: u32,
}

/// Receivers of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// One processor.
    One(u32),
    /// All processors.
    All,
    /// All processors but one.
    AllBut(u32),
}

impl Destination {
    /// Receiving processors, out of `processors`.
    pub fn of(self, processors: u32) -> impl Iterator<Item = u32> {
        let range = match self {
            Destination::One(one) => one..one + 1,
            _ => 0..processors,
        };
        range.filter(move |processor| self != Destination::AllBut(*processor))
    }
}

/// Reads bytes of a file that are in memory, front to back.
struct Reader<'a> {
    file: &'a TraceFile,
    from: u64,
    bytes: Vec<u8>,
    at: usize,
}

impl Reader<'_> {
    fn new(file: &TraceFile, from: u64, to: u64) -> Result<Reader<'_>, TraceError> {
        let length = to.min(file.bytes.size()).saturating_sub(from) as usize;
        Ok(Reader { file, from, bytes: file.peek(from, length)?, at: 0 })
    }

    fn error(&self, reason: impl Into<String>) -> TraceError {
        TraceError::at(&*self.file.name, self.from + self.at as u64, reason)
    }

    fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N], TraceError> {
        let found = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk()).copied();
        let found = found.ok_or_else(|| self.error(format!("the log ends within {what}: it is cut off")))?;
        self.at += N;
        Ok(found)
    }

    fn i32(&mut self, what: &str) -> Result<i32, TraceError> {
        Ok(i32::from_le_bytes(self.take(what)?))
    }

    fn f64(&mut self, what: &str) -> Result<f64, TraceError> {
        let number = f64::from_le_bytes(self.take(what)?);
        if number.abs() <= LONGEST_S {
            Ok(number)
        } else {
            Err(self.error(format!("{what} is {number} s, over 100 days")))
        }
    }

    fn natural(&mut self, what: &str) -> Result<u32, TraceError> {
        let number = self.i32(what)?;
        u32::try_from(number).map_err(|_| self.error(format!("{what} is {number}, below zero")))
    }

    /// Length of a list whose elements take at least `least` bytes each; an error if the file cannot hold it.
    fn count(&mut self, least: usize, what: &str) -> Result<usize, TraceError> {
        let count = self.natural(what)? as usize;
        if count.saturating_mul(least) > self.bytes.len() - self.at {
            return Err(self.error(format!("{what}: {count} of them do not fit into the rest of the log")));
        }
        Ok(count)
    }
}

/// True if the file begins with BigSim's magic.
pub fn recognise(file: &TraceFile) -> Result<bool, TraceError> {
    Ok(file.peek(0, 4)? == MAGIC)
}

/// Reads the description of the writing machine, which must be one whose number formats are known.
fn machine(reader: &mut Reader) -> Result<(), TraceError> {
    let found: [u8; MACHINE_BYTES] = reader.take("the description of the machine")?;
    if found[4..] != MACHINE {
        reader.at = 4;
        return Err(reader.error(format!(
            "written by a machine {:?}; known: {MACHINE:?} (little-endian, IEEE, 64 bits)",
            &found[4..]
        )));
    }
    Ok(())
}

/// Reads `bgTrace`.
pub fn overview(file: &TraceFile) -> Result<Overview, TraceError> {
    let mut reader = Reader::new(file, 0, 128)?;
    machine(&mut reader)?;
    let processors = reader.natural("the number of processors")?;
    for _ in 0..3 {
        reader.i32("the machine's grid")?;
    }
    reader.i32("the number of communication threads")?;
    let threads = reader.i32("the number of worker threads")?;
    if threads != 1 {
        return Err(reader.error(format!("nodes of {threads} worker threads cannot be replayed; only of 1")));
    }
    for _ in 0..2 {
        reader.i32("the machine's network")?;
    }
    let files = reader.natural("the number of files")?;
    let version = reader.i32("the version")?;
    if version != VERSION {
        return Err(reader.error(format!("version {version} of the log; known: {VERSION}")));
    }
    Ok(Overview { processors, files })
}

/// Byte ranges of the processors' logs within a file \[bytes\]: begin, and an upper bound of the end.
pub fn places(file: &TraceFile) -> Result<Vec<(u64, u64)>, TraceError> {
    let mut reader = Reader::new(file, 0, u64::from(u32::MAX).min(file.bytes.size()))?;
    machine(&mut reader)?;
    let count = reader.count(4, "the processors of the file")?;
    let begins: Vec<u64> = (0..count)
        .map(|_| Ok(reader.natural("where a processor begins")?.into()))
        .collect::<Result<_, TraceError>>()?;
    let end =
        |from: &u64| begins.iter().copied().filter(|other| other > from).min().unwrap_or(file.bytes.size());
    Ok(begins.iter().map(|from| (*from, end(from))).collect())
}

/// The events of one of `processors` processors.
pub fn events(file: &TraceFile, (from, to): (u64, u64), processors: u32) -> Result<Vec<Event>, TraceError> {
    let mut reader = Reader::new(file, from, to)?;
    let count = reader.count(LEAST_EVENT, "the events")?;
    let mut events = Vec::with_capacity(count);
    for _ in 0..count {
        let event = event(&mut reader, count, processors)?;
        events.push(event);
    }
    Ok(events)
}

fn event(reader: &mut Reader, count: usize, processors: u32) -> Result<Event, TraceError> {
    for _ in 0..2 {
        reader.i32("an event's number")?;
    }
    let sender = [reader.i32("the message of an event")?, reader.i32("the message of an event")?];
    let message = match sender {
        [..0, _] => None,
        [processor, number] if (processor as u32) < processors && number >= 0 => {
            Some((processor as u32, number as u32))
        }
        [processor, number] => {
            return Err(reader
                .error(format!("message {number} of processor {processor}, of {processors} processors")));
        }
    };
    let collective = u16::from_le_bytes(reader.take("an event's collective")?);
    if collective != 0 {
        return Err(reader.error(format!(
            "an event is the MPI collective {collective} itself; only its messages can be replayed"
        )));
    }
    reader.i32("an event's collective")?;
    reader.take::<2>("an event's entry")?;
    let mut times = [0.0; 5];
    for time in &mut times {
        *time = reader.f64("a time of an event")?;
    }
    let [_, _, begin, length, end] = times;
    reader.take::<37>("an event's name")?;
    // An event that was not over when the log was written has a length below zero.
    let length = Duration::from_seconds(length.max(0.0));
    let sends = reader.count(LEAST_MESSAGE, "the messages of an event")?;
    let sends = (0..sends).map(|_| sent(reader, begin, length, processors)).collect::<Result<_, _>>()?;
    marks(reader)?;
    let before = numbers(reader, count)?;
    numbers(reader, count)?;
    Ok(Event { message, length, times_s: [begin, end], sends, before })
}

fn sent(reader: &mut Reader, begin: f64, longest: Duration, processors: u32) -> Result<Sent, TraceError> {
    let number = reader.natural("the number of a message")?;
    let to = match reader.i32("the destination of a message")? {
        -1 => Destination::All,
        to if to <= -100 && to > -100 - processors as i32 => Destination::AllBut((-100 - to) as u32),
        to if to >= 0 && (to as u32) < processors => Destination::One(to as u32),
        to => return Err(reader.error(format!("a message goes to {to}, of {processors} processors"))),
    };
    let at = reader.f64("the time of a message")?;
    reader.f64("the arrival of a message")?;
    reader.take::<2>("the thread of a message")?;
    let bytes = reader.natural("the length of a message")?;
    reader.i32("the group of a message")?;
    let at = Duration::from_seconds((at - begin).max(0.0)).min(longest);
    Ok(Sent { number, to, at, bytes })
}

/// Skips the marks and prints of the program within an event.
fn marks(reader: &mut Reader) -> Result<(), TraceError> {
    for _ in 0..reader.count(13, "the marks of an event")? {
        let [kind] = reader.take("the kind of a mark")?;
        reader.f64("the time of a mark")?;
        // A mark of Projections is a number, all others are texts.
        let length = reader.natural("a mark")? as usize;
        if kind != 1 {
            if length > reader.bytes.len() - reader.at {
                return Err(
                    reader.error(format!("a mark of {length} bytes is longer than the rest of the log"))
                );
            }
            reader.at += length;
        }
    }
    Ok(())
}

/// Numbers of events, of which there are `count`.
fn numbers(reader: &mut Reader, count: usize) -> Result<Vec<u32>, TraceError> {
    let length = reader.count(4, "the events before or after an event")?;
    let mut numbers = Vec::with_capacity(length);
    for _ in 0..length {
        let number = reader.natural("the number of an event")?;
        if number as usize >= count {
            return Err(reader.error(format!("names event {number} of {count}")));
        }
        numbers.push(number);
    }
    Ok(numbers)
}
