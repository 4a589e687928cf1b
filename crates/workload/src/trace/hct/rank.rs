//! The file of one rank: a head, blocks, an end.
//!
//! ```text
//! head    "HCT2", or "HCT3" where something is counted; the length of a JSON text (u32, little-endian), the text: a Head
//! blocks  as in `block.rs`, in the order of time
//! stand   "HCTS", the length of a JSON text (u32), the text: a Standing, or null. Between blocks, or after the last
//! end     "HCTE", the length of a JSON text (u32), the text: an End. Absent if the program was killed, or ended without
//!         MPI_Finalize
//! ```
//!
//! A rank that has made no call for a while writes its buffered calls and a Standing, the call that it is in; when it
//! goes on, it writes a Standing of null.
//!
//! A reader takes a file up to its last whole block, so a recording that was cut off loses no more than the calls
//! that were still buffered.

use std::io::{self, Write};
use std::sync::Arc;

use engine::hash::Map;
use serde::{Deserialize, Serialize};

use super::block::{self, Block, Times};
pub use super::calls::{Calls, Event, Numbered};
pub use super::end::{Counting, End, Standing};
use super::fold::{Folded, Folding};
use super::gaps::{self, Columns, Count, Gap};
use super::shape::Shape;
use super::times::{Span, Spread};
use crate::trace::error::TraceError;
use crate::trace::input::TraceFile;

/// Magic of a file. The digit is the version of the layout: 3 for files with counts between calls, which readers of
/// version 2 would not understand, and 2 for all others; version 1 is read, too.
const MAGICS: [&[u8; 4]; 3] = [b"HCT1", b"HCT2", b"HCT3"];

/// True if `start` begins like a rank's file.
pub fn is_magic(start: &[u8]) -> bool {
    MAGICS.iter().any(|magic| start.starts_with(*magic))
}

/// Magic of the end, and of a Standing.
const END: &[u8; 4] = b"HCTE";
const STAND: &[u8; 4] = b"HCTS";
/// Largest JSON text of a head or an end \[bytes\].
const LONGEST_TEXT: usize = 1 << 20;

/// Head of a rank's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Rank.
    pub rank: u32,
    /// Number of ranks.
    pub ranks: u32,
    /// Host; empty if unknown.
    pub host: String,
    /// Time at which the rank's clock was 0, in nanoseconds since 1970 on its host.
    pub start_unix_ns: u64,
    /// Program that the rank ran.
    #[serde(default)]
    pub program: String,
    /// MPI library, as MPI_Get_library_version describes it.
    #[serde(default)]
    pub library: String,
    /// True if times are tallied by place; false if each call has its own.
    pub tallied: bool,
    /// Clock of its times.
    #[serde(default)]
    pub clock: Clock,
    /// Quantities that are counted between its calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<Count>,
}

/// Clock of a rank's times.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Wall clock of the host.
    #[default]
    Wall,
    /// Processor time of the thread that called MPI_Init: on processors that ranks share, it covers the computing of
    /// the rank alone and leaves out that of others.
    Cpu,
}

/// Numbers of shapes. Each remembers its last successor, which is mostly right and saves the look-up.
#[derive(Default)]
struct Shapes {
    numbers: Map<Arc<Shape>, u32>,
    all: Vec<Arc<Shape>>,
    after: Vec<u32>,
    last: usize,
}

impl Shapes {
    /// Number of a known shape, which becomes the current one.
    fn number(&mut self, shape: &Shape) -> Option<u32> {
        let after = self.after.get_mut(self.last)?;
        if *self.all[*after as usize] != *shape {
            *after = *self.numbers.get(shape)?;
        }
        self.last = *after as usize;
        Some(*after)
    }

    /// Adds a new shape, which becomes the current one, and returns its number.
    fn add(&mut self, shape: &Shape) -> u32 {
        let (number, shape) = (self.all.len() as u32, Arc::new(shape.clone()));
        self.numbers.insert(shape.clone(), number);
        self.all.push(shape);
        self.after.push(number);
        self.after[self.last] = number;
        self.last = number as usize;
        number
    }
}

/// Writes a rank's file.
pub struct RankWriter<W: Write> {
    to: W,
    tallied: bool,
    /// Number of kinds of numbers about the gap before a call.
    kinds: usize,
    /// Time span after which a block is written \[ns\].
    longest_ns: u64,
    shapes: Shapes,
    new: Vec<Shape>,
    /// Sequence of calls whose times are stored one by one.
    exact: Folding<()>,
    spans: Vec<Span>,
    columns: Columns,
    spreads: Folding<Spread>,
    in_block: u64,
    block_start_ns: u64,
    counting: Counting,
}

/// Number of calls with times of their own after which a block is written.
const MOST_SPANS: usize = 256 << 10;
/// Number of items of the sequence, and number of new shapes, after which a block is written.
const MOST_ITEMS: usize = 64 << 10;
const MOST_SHAPES: usize = 16 << 10;

impl<W: Write> RankWriter<W> {
    /// Begins a file; writes a block at the latest after `longest_ns` of the rank's time.
    pub fn new(mut to: W, head: &Head, longest_ns: u64) -> io::Result<RankWriter<W>> {
        let text = serde_json::to_vec(head).expect("a head is plain data");
        gaps::check(&head.counts).expect("what is counted has names");
        let magic = if head.counts.is_empty() { MAGICS[1] } else { MAGICS[2] };
        let kinds = gaps::kinds(head.counts.len());
        to.write_all(&[&magic[..], &(text.len() as u32).to_le_bytes(), &text].concat())?;
        Ok(RankWriter {
            to,
            tallied: head.tallied,
            kinds,
            longest_ns,
            shapes: Shapes::default(),
            new: Vec::new(),
            exact: Folding::default(),
            spans: Vec::new(),
            columns: vec![Vec::new(); kinds],
            spreads: Folding::default(),
            in_block: 0,
            block_start_ns: 0,
            counting: Counting::of(head.counts.len()),
        })
    }

    /// Appends a call. Times are on the rank's clock and never decrease.
    pub fn push(&mut self, shape: &Shape, begin_ns: u64, end_ns: u64) -> io::Result<()> {
        self.push_after(&Gap::default(), shape, begin_ns, end_ns)
    }

    /// Appends a call, like `push`, with the gap before it.
    pub fn push_after(&mut self, between: &Gap, shape: &Shape, begin_ns: u64, end_ns: u64) -> io::Result<()> {
        let number = self.shapes.number(shape).unwrap_or_else(|| {
            self.new.push(shape.clone());
            self.shapes.add(shape)
        });
        let before = self.counting.end.last_ns;
        let begin_ns = begin_ns.max(before);
        let end_ns = end_ns.max(begin_ns);
        if self.in_block == 0 {
            self.block_start_ns = before;
        }
        let between = Gap { waited_ns: between.waited_ns.min(begin_ns - before), ..*between };
        let span = Span { gap_ns: begin_ns - before - between.waited_ns, length_ns: end_ns - begin_ns };
        if self.tallied {
            self.spreads.push(number, Spread::of(span, &between, self.kinds));
        } else {
            self.exact.push(number, ());
            gaps::push(&mut self.columns, self.spans.len(), &between);
            self.spans.push(span);
        }
        self.in_block += 1;
        self.counting.count(shape, begin_ns, end_ns, &between);
        let held = if self.tallied { self.spreads.held() } else { self.exact.held() };
        let full = held > MOST_ITEMS || self.spans.len() >= MOST_SPANS || self.new.len() >= MOST_SHAPES;
        if full || end_ns - self.block_start_ns > self.longest_ns {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the calls that are still buffered.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.in_block == 0 {
            return Ok(());
        }
        let (sequence, times) = if self.tallied {
            let Folded { items, bodies, sums } = std::mem::take(&mut self.spreads).finish();
            (Folded { items, bodies, sums: Vec::new() }, Times::Tallied(sums))
        } else {
            let Folded { items, bodies, .. } = std::mem::take(&mut self.exact).finish();
            let columns = std::mem::replace(&mut self.columns, vec![Vec::new(); self.kinds]);
            let spans = std::mem::take(&mut self.spans);
            (Folded { items, bodies, sums: Vec::new() }, Times::Exact(spans, columns))
        };
        let shapes = std::mem::take(&mut self.new);
        let block = Block { start_ns: self.block_start_ns, shapes, sequence, times };
        self.in_block = 0;
        self.to.write_all(&block.encode())?;
        self.to.flush()
    }

    /// Totals of the calls so far.
    pub fn so_far(&self) -> &End {
        &self.counting.end
    }

    /// Writes the calls that are still buffered, and the call that the rank is in now, if any.
    pub fn stand(&mut self, standing: Option<&Standing>) -> io::Result<()> {
        self.flush()?;
        self.section(STAND, &serde_json::to_vec(&standing).expect("where it stands is plain data"))
    }

    /// Ends the file of a rank that may have made further calls.
    pub fn leave(mut self, standing: Option<&Standing>) -> io::Result<End> {
        self.stand(standing)?;
        Ok(self.counting.end)
    }

    /// Ends the file.
    pub fn finish(mut self) -> io::Result<End> {
        self.flush()?;
        self.section(END, &serde_json::to_vec(&self.counting.end).expect("an end is plain data"))?;
        Ok(self.counting.end)
    }

    fn section(&mut self, magic: &[u8; 4], text: &[u8]) -> io::Result<()> {
        self.to.write_all(&[&magic[..], &(text.len() as u32).to_le_bytes(), text].concat())?;
        self.to.flush()
    }
}

/// Reads a rank's file block by block.
#[derive(Clone)]
pub struct Blocks {
    file: TraceFile,
    /// Offset of the next block.
    at: u64,
    shapes: usize,
    /// Number of kinds of numbers about the gap before a call.
    kinds: usize,
    /// Call that the rank was in after the blocks that have been read.
    standing: Option<Standing>,
}

/// End of a rank's file.
#[derive(Debug, Clone)]
pub struct Ending {
    /// Totals of its calls; `None` if the rank may have made further calls.
    pub end: Option<End>,
    /// Call that it was in at the end, if any.
    pub standing: Option<Standing>,
}

/// Next item in a rank's file.
pub enum Next {
    /// A block.
    Block(Block),
    /// The end that the rank wrote.
    End(End),
    /// The file was cut off after the last whole block.
    Cut,
}

/// Opens a file: its head, and its blocks.
pub fn open(file: &TraceFile) -> Result<(Head, Blocks), TraceError> {
    let error = |reason: String| TraceError::new(&*file.name, reason);
    let start = file.peek(0, 8)?;
    if start.is_empty() {
        let reason = "is empty: nothing of this rank was recorded, as the program ended in MPI_Init or the disk was full";
        return Err(error(reason.into()));
    }
    if start.len() < 8 || !is_magic(&start) {
        return Err(error("begins with none of \"HCT1\", \"HCT2\", \"HCT3\": no file of a rank".into()));
    }
    let length = word(&start[4..]);
    let text = file.peek(8, length.min(LONGEST_TEXT))?;
    if text.len() < length {
        return Err(error(format!("its head has {length} bytes, and {} are there", text.len())));
    }
    let head: Head = serde_json::from_slice(&text)
        .map_err(|reason| error(format!("its head is not understood: {reason}")))?;
    gaps::check(&head.counts).map_err(|reason| error(format!("its head {reason}")))?;
    let kinds = gaps::kinds(head.counts.len());
    let at = 8 + length as u64;
    Ok((head, Blocks { file: file.clone(), at, shapes: 0, kinds, standing: None }))
}

fn word(bytes: &[u8]) -> usize {
    u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")) as usize
}

impl Blocks {
    /// Reads the next block and adds its new shapes.
    pub fn read(&mut self) -> Result<Next, TraceError> {
        self.stood()?;
        let at = self.at;
        let error = |reason: String| TraceError::at(&*self.file.name, at, reason);
        if let Some(text) = self.section(END)? {
            let end = serde_json::from_slice(&text);
            return end
                .map(Next::End)
                .map_err(|reason| error(format!("the end is not understood: {reason}")));
        }
        let head = self.file.peek(at, block::HEAD)?;
        if head.len() < block::HEAD || head.starts_with(END) || head.starts_with(STAND) {
            return Ok(Next::Cut);
        }
        if !head.starts_with(block::MAGIC) {
            return Err(error("neither a block nor the end begins here: the file is damaged".into()));
        }
        let [length, packed, sum] = [4, 8, 12].map(|from| word(&head[from..]));
        if length > block::LARGEST || packed > block::LARGEST {
            let largest = block::LARGEST;
            return Err(error(format!(
                "a block of {packed} bytes that unpack to {length}; the most is {largest}"
            )));
        }
        let content = self.file.peek(at + block::HEAD as u64, packed)?;
        if content.len() < packed {
            return Ok(Next::Cut);
        }
        if crc32fast::hash(&content) as usize != sum {
            return Err(error("the block's checksum is wrong: the file is damaged".into()));
        }
        let block = Block::decode(&content, length, self.shapes, self.kinds)
            .map_err(|reason| error(format!("the block {reason}")))?;
        self.shapes += block.shapes.len();
        self.at = at + (block::HEAD + packed) as u64;
        // A block ends the call that the rank was in before.
        self.standing = None;
        Ok(Next::Block(block))
    }

    /// Reads a Standing and moves on behind it.
    fn stood(&mut self) -> Result<(), TraceError> {
        while let Some(text) = self.section(STAND)? {
            self.standing = serde_json::from_slice(&text).map_err(|reason| {
                let reason = format!("where the rank stood is not understood: {reason}");
                TraceError::at(&*self.file.name, self.at, reason)
            })?;
            self.at += 8 + text.len() as u64;
        }
        Ok(())
    }

    /// JSON text of the section that begins here with `magic`; `None` for another section, or one that was cut off.
    fn section(&self, magic: &[u8; 4]) -> Result<Option<Vec<u8>>, TraceError> {
        let head = self.file.peek(self.at, 8)?;
        if head.len() < 8 || !head.starts_with(magic) {
            return Ok(None);
        }
        let length = word(&head[4..]);
        let text = self.file.peek(self.at + 8, length.min(LONGEST_TEXT))?;
        Ok((text.len() == length).then_some(text))
    }

    /// End of the file, found by skipping from block to block without decoding them.
    pub fn ending(&self) -> Result<Ending, TraceError> {
        let mut ahead = self.clone();
        loop {
            ahead.stood()?;
            let head = self.file.peek(ahead.at, block::HEAD)?;
            if head.len() < block::HEAD || !head.starts_with(block::MAGIC) {
                break;
            }
            ahead.at += (block::HEAD + word(&head[8..])) as u64;
            ahead.standing = None;
        }
        let end = match ahead.read()? {
            Next::End(end) => Some(end),
            Next::Block(_) | Next::Cut => None,
        };
        Ok(Ending { end, standing: ahead.standing })
    }

    /// Fraction of the file that has been read \[0..1\].
    pub fn share_read(&self) -> f64 {
        self.at as f64 / self.file.bytes.size().max(1) as f64
    }
}
