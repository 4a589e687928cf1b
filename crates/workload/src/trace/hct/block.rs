//! One block of a rank's file: some calls in a row, as bytes.
//!
//! ```text
//! block    "HCTB", length of the payload when unpacked (u32), when packed (u32), CRC-32 of the packed payload (u32);
//!          the payload, packed with Zstandard. Numbers of fixed size are little-endian
//! payload  all numbers LEB128:
//!          the time at which the call before the block returned [ns since the start of the rank's clock]
//!          shapes that are new: how many; each a length and a JSON text. They count on from the blocks before
//!          bodies of loops: how many; each a number of items, and the items
//!          the sequence: a number of items, and the items
//!          the sort of times, 1 if they are tallied, and 2 more if columns follow; then
//!            0: for each call its gap; for each call its length [ns]
//!            1: for each place of the sequence with bodies written out the tally of gaps, and that of lengths
//!          columns: how many; each: its kind; a number for each call, or a tally for each place
//! item     2 x shape, or 2 x body + 1; how many times
//! tally    how many bins; each: bin, count, sum
//! ```

use std::io::Read;

use super::fold::{Folded, Item};
use super::gaps::Columns;
use super::shape::Shape;
use super::times::{Bin, Span, Spread, Tally};

/// Magic of a block.
pub const MAGIC: &[u8; 4] = b"HCTB";
/// Length of the header before the payload \[bytes\].
pub const HEAD: usize = 16;
/// Largest payload, packed or not \[bytes\].
pub const LARGEST: usize = 64 << 20;
/// Largest number of calls of a block.
const MOST_CALLS: u64 = 1 << 32;
/// Largest number of bins of a tally.
const MOST_BINS: usize = 256;
/// Largest depth of loops.
const DEEPEST: usize = 64;

/// Some calls in a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Time at which the call before returned \[ns\].
    pub start_ns: u64,
    /// Shapes that no earlier block has.
    pub shapes: Vec<Shape>,
    /// Numbers of the calls' shapes.
    pub sequence: Folded<()>,
    /// Times of the calls.
    pub times: Times,
}

/// Times of the calls of a block.
#[derive(Debug, Clone, PartialEq)]
pub enum Times {
    /// Exact times of each call, and columns about the gap before it.
    Exact(Vec<Span>, Columns),
    /// Tallied times of each place of the sequence.
    Tallied(Vec<Spread>),
}

impl Times {
    /// True if something besides the length is known of the gaps before calls.
    pub fn know_between(&self) -> bool {
        match self {
            Times::Exact(_, columns) => columns.iter().any(|column| !column.is_empty()),
            Times::Tallied(spreads) => {
                spreads.iter().any(|spread| spread.between.iter().any(|tally| !tally.bins().is_empty()))
            }
        }
    }
}

impl Block {
    /// Encodes the block as the file holds it.
    pub fn encode(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        put(&mut payload, self.start_ns);
        put(&mut payload, self.shapes.len() as u64);
        for shape in &self.shapes {
            let text = serde_json::to_vec(shape).expect("a shape is plain data");
            put(&mut payload, text.len() as u64);
            payload.extend(text);
        }
        put(&mut payload, self.sequence.bodies.len() as u64);
        self.sequence.bodies.iter().for_each(|body| put_items(&mut payload, body));
        put_items(&mut payload, &self.sequence.items);
        match &self.times {
            Times::Exact(spans, columns) => {
                let kinds: Vec<usize> =
                    (0..columns.len()).filter(|kind| !columns[*kind].is_empty()).collect();
                put(&mut payload, if kinds.is_empty() { 0 } else { COLUMNS });
                spans.iter().for_each(|span| put(&mut payload, span.gap_ns));
                spans.iter().for_each(|span| put(&mut payload, span.length_ns));
                put_columns(&mut payload, &kinds, |payload, kind| {
                    columns[kind].iter().for_each(|number| put(payload, *number));
                });
            }
            Times::Tallied(spreads) => {
                let widest = spreads.iter().map(|spread| spread.between.len()).max().unwrap_or(0);
                let kinds: Vec<usize> =
                    (0..widest).filter(|kind| spreads.iter().any(|spread| spread.has(*kind))).collect();
                put(&mut payload, TALLIED + if kinds.is_empty() { 0 } else { COLUMNS });
                for spread in spreads {
                    put_tally(&mut payload, &spread.gap);
                    put_tally(&mut payload, &spread.length);
                }
                put_columns(&mut payload, &kinds, |payload, kind| {
                    let nothing = Tally::default();
                    let of =
                        |spread: &Spread| put_tally(payload, spread.between.get(kind).unwrap_or(&nothing));
                    spreads.iter().for_each(of);
                });
            }
        }
        let packed = zstd::bulk::compress(&payload, 3).expect("memory suffices for a block");
        let mut block = Vec::with_capacity(HEAD + packed.len());
        block.extend(MAGIC);
        block.extend((payload.len() as u32).to_le_bytes());
        block.extend((packed.len() as u32).to_le_bytes());
        block.extend(crc32fast::hash(&packed).to_le_bytes());
        block.extend(packed);
        block
    }

    /// Decodes the payload of a block, of `length` bytes when unpacked. Earlier blocks have `known` shapes, and each
    /// call has `kinds` numbers (`gaps::kinds`).
    pub fn decode(packed: &[u8], length: usize, known: usize, kinds: usize) -> Result<Block, String> {
        let mut payload = Vec::with_capacity(length);
        let decoder = zstd::stream::read::Decoder::new(packed).map_err(|error| error.to_string())?;
        decoder
            .take(length as u64 + 1)
            .read_to_end(&mut payload)
            .map_err(|error| format!("cannot be unpacked: {error}"))?;
        if payload.len() != length {
            return Err(format!("unpacks to {} bytes instead of {length}", payload.len()));
        }
        let mut bytes = &payload[..];
        let block = Block::read(&mut bytes, known, kinds)?;
        if bytes.is_empty() { Ok(block) } else { Err(format!("has {} bytes too many", bytes.len())) }
    }

    fn read(bytes: &mut &[u8], known: usize, kinds: usize) -> Result<Block, String> {
        let start_ns = get(bytes, "the start")?;
        let shapes = (0..count(bytes, 2, "shapes")?).map(|_| {
            let length = count(bytes, 1, "a shape")?;
            let (text, rest) = bytes.split_at(length);
            *bytes = rest;
            serde_json::from_slice(text).map_err(|error| format!("a shape is not understood: {error}"))
        });
        let shapes: Vec<Shape> = shapes.collect::<Result<_, _>>()?;
        let shapes_known = known + shapes.len();
        let mut bodies: Vec<Box<[Item]>> = Vec::new();
        let mut sizes: Vec<Size> = Vec::new();
        for _ in 0..count(bytes, 3, "bodies")? {
            let body = get_items(bytes, shapes_known, bodies.len())?;
            sizes.push(Size::of(&body, &sizes)?);
            bodies.push(body.into());
        }
        let items = get_items(bytes, shapes_known, bodies.len())?;
        let size = Size::of(&items, &sizes)?;
        let times = read_times(bytes, size, kinds)?;
        let sequence = Folded { items, bodies, sums: Vec::new() };
        Ok(Block { start_ns, shapes, sequence, times })
    }
}

/// Kind of times: they are tallied; columns follow.
const TALLIED: u64 = 1;
const COLUMNS: u64 = 2;

/// Reads the times of a sequence of this size, with columns of `kinds` kinds.
fn read_times(bytes: &mut &[u8], size: Size, kinds: usize) -> Result<Times, String> {
    let sort = get(bytes, "the sort of times")?;
    let mut times = match sort & !COLUMNS {
        0 => {
            let calls = at_most(size.calls, bytes.len() / 2, "calls")?;
            let gaps: Vec<u64> = (0..calls).map(|_| get(bytes, "a gap")).collect::<Result<_, _>>()?;
            let spans =
                gaps.into_iter().map(|gap_ns| Ok(Span { gap_ns, length_ns: get(bytes, "a length")? }));
            Times::Exact(spans.collect::<Result<_, String>>()?, vec![Vec::new(); kinds])
        }
        TALLIED => {
            let places = at_most(size.places, bytes.len() / 2, "places")?;
            let spread =
                |_| Ok(Spread { gap: get_tally(bytes)?, length: get_tally(bytes)?, ..Spread::default() });
            Times::Tallied((0..places).map(spread).collect::<Result<_, String>>()?)
        }
        _ => return Err(format!("has times of sort {sort}, where 0 to 3 are known")),
    };
    let columns = if sort & COLUMNS == 0 { 0 } else { get(bytes, "the number of columns")? };
    for _ in 0..at_most(columns, kinds, "columns")? {
        let kind = get(bytes, "the kind of a column")?;
        let kind = usize::try_from(kind).ok().filter(|kind| *kind < kinds);
        let kind = kind.ok_or_else(|| format!("has a column of a kind that is not 0 to {}", kinds - 1))?;
        match &mut times {
            Times::Exact(spans, columns) => {
                let calls = at_most(spans.len() as u64, bytes.len(), "numbers in a column")?;
                columns[kind] = (0..calls).map(|_| get(bytes, "a column")).collect::<Result<_, _>>()?;
            }
            Times::Tallied(spreads) => {
                for spread in spreads {
                    spread.between.resize_with(spread.between.len().max(kind + 1), Tally::default);
                    spread.between[kind] = get_tally(bytes)?;
                }
            }
        }
    }
    Ok(times)
}

/// Totals of a stretch of items.
#[derive(Clone, Copy)]
struct Size {
    calls: u64,
    places: u64,
    depth: usize,
}

impl Size {
    fn of(items: &[Item], bodies: &[Size]) -> Result<Size, String> {
        let mut size = Size { calls: 0, places: 0, depth: 0 };
        for item in items {
            let (calls, places, depth) = match *item {
                Item::One(_, count) => (Some(count), 1, 0),
                Item::Loop(body, count) => {
                    let body = bodies[body as usize];
                    (body.calls.checked_mul(count), body.places, body.depth + 1)
                }
            };
            let calls =
                calls.and_then(|calls| calls.checked_add(size.calls)).filter(|&calls| calls <= MOST_CALLS);
            size.calls = calls.ok_or_else(|| format!("has loops of more than {MOST_CALLS} calls"))?;
            size.places = size.places.saturating_add(places);
            size.depth = size.depth.max(depth);
        }
        if size.depth > DEEPEST {
            return Err(format!("has loops of depth {}; no more than {DEEPEST} are understood", size.depth));
        }
        Ok(size)
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_items(bytes: &mut Vec<u8>, items: &[Item]) {
    put(bytes, items.len() as u64);
    for item in items {
        let (number, count) = match *item {
            Item::One(shape, count) => (u64::from(shape) << 1, count),
            Item::Loop(body, count) => (u64::from(body) << 1 | 1, count),
        };
        put(bytes, number);
        put(bytes, count);
    }
}

fn put_columns(bytes: &mut Vec<u8>, kinds: &[usize], column: impl Fn(&mut Vec<u8>, usize)) {
    if !kinds.is_empty() {
        put(bytes, kinds.len() as u64);
    }
    for kind in kinds {
        put(bytes, *kind as u64);
        column(bytes, *kind);
    }
}

fn put_tally(bytes: &mut Vec<u8>, tally: &Tally) {
    put(bytes, tally.bins().len() as u64);
    for bin in tally.bins() {
        put(bytes, bin.bin.into());
        put(bytes, bin.count);
        put(bytes, bin.sum);
    }
}

fn get(bytes: &mut &[u8], what: &str) -> Result<u64, String> {
    let (mut number, mut shift) = (0_u64, 0);
    loop {
        let (&byte, rest) = bytes.split_first().ok_or_else(|| format!("ends within {what}"))?;
        *bytes = rest;
        if shift == 63 && byte > 1 {
            return Err(format!("{what} is larger than 64 bits"));
        }
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
        shift += 7;
    }
}

/// Reads a count of things of at least `each` bytes; fails if the bytes that are left cannot hold them.
fn count(bytes: &mut &[u8], each: usize, what: &str) -> Result<usize, String> {
    let count = get(bytes, what)?;
    at_most(count, bytes.len() / each, what)
}

fn at_most(count: u64, most: usize, what: &str) -> Result<usize, String> {
    usize::try_from(count)
        .ok()
        .filter(|&count| count <= most)
        .ok_or_else(|| format!("has {count} {what}, but room for {most}"))
}

fn get_items(bytes: &mut &[u8], shapes: usize, bodies: usize) -> Result<Vec<Item>, String> {
    let items = (0..count(bytes, 2, "items")?).map(|_| {
        let (number, rounds) = (get(bytes, "an item")?, get(bytes, "how often an item comes")?);
        let known = if number & 1 == 0 { shapes } else { bodies };
        if number >> 1 >= known as u64 {
            return Err(format!("names shape or body {}, but {known} are known", number >> 1));
        }
        match (number & 1, rounds) {
            (_, 0) => Err("has an item that comes 0 times".to_string()),
            (0, _) => Ok(Item::One((number >> 1) as u32, rounds)),
            _ => Ok(Item::Loop((number >> 1) as u32, rounds)),
        }
    });
    items.collect()
}

fn get_tally(bytes: &mut &[u8]) -> Result<Tally, String> {
    let count = at_most(get(bytes, "bins")?, MOST_BINS, "bins")?;
    // Recordings have many tallies, which stay in memory: none has room for more than its bins.
    let mut bins = Vec::with_capacity(count);
    for _ in 0..count {
        let bin = u8::try_from(get(bytes, "a bin")?).map_err(|_| "has a bin above 255".to_string())?;
        let (count, sum) = (get(bytes, "a count")?, get(bytes, "a sum")?);
        if count > MOST_CALLS {
            return Err(format!("counts {count} times in a bin, more than {MOST_CALLS}"));
        }
        bins.push(Bin { bin, count, sum });
    }
    Ok(Tally::of_bins(bins))
}
