//! Folded memory: large allocations of a program whose contents mean nothing share a few pages.
//!
//! ```text
//!   rank 0: ├─ block ┼─ block ┼─ block ┼ … ┤     every block of a shared allocation is the same memory (a file in
//!   rank 1: ├─ block ┼─ block ┼ … ┤              memory, mapped again and again), at the same addresses in all ranks
//!   rank 2: ├─ own pages, none before they are written … ┤      "private" allocations keep what their rank writes
//! ```
//!
//! A message carries what is kept of its buffer, and nothing of what is shared. An allocation takes a mapping for
//! each block; where Linux does not allow as many (vm.max_map_count), its blocks are larger. Source: Cornebize's
//! thesis (see `mpi::compute::kernel`), 3.2.

mod arena;
pub mod copies;
pub mod hooks;
pub mod pages;

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::OnceLock;

use crate::loader::Template;
use crate::process_view::rank::running;
use arena::Arena;

/// Settings of folding. Sizes in \[bytes\].
#[derive(Debug, Default)]
pub struct Settings {
    /// The block; 0: nothing is folded.
    pub block: usize,
    /// The smallest allocation.
    pub above: usize,
    /// The functions whose allocations are folded; all if there are none.
    pub sites: Vec<String>,
    /// The functions of whose allocations each rank keeps what it writes.
    pub private: Vec<String>,
}

/// Kind of folding of an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// All of it is the block.
    Shared,
    /// The rank keeps the pages that it writes.
    Written,
    /// It is the block but for these bytes, whole pages.
    Parts(Vec<Range<usize>>),
}

struct Folding {
    settings: Settings,
    sites: Vec<Range<usize>>,
    private: Vec<Range<usize>>,
    copies: Range<usize>,
    span: usize,
    arena: RefCell<Arena>,
    /// Value of [`counted_twice`] when the first rank ended \[bytes\].
    twice: Cell<Option<u64>>,
}

// SAFETY: there is one thread.
unsafe impl Sync for Folding {}
// SAFETY: as above.
unsafe impl Send for Folding {}

static FOLDING: OnceLock<Folding> = OnceLock::new();

fn folding() -> Option<&'static Folding> {
    FOLDING.get()
}

/// Number of the rank whose code runs.
fn rank() -> Option<u32> {
    running().map(|rank| rank.number())
}

/// Folds from now on what `settings` say of the program, for so many ranks.
pub fn start(settings: Settings, program: &Template, ranks: usize) -> Result<(), String> {
    let find = |names: &[String]| -> Result<Vec<Range<usize>>, String> {
        let mut places = Vec::new();
        for name in names {
            let code: Vec<_> = program.parts.iter().flat_map(|part| part.code_of(name)).collect();
            if code.is_empty() {
                return Err(format!(
                    "the program has no function '{name}' whose allocations could be folded"
                ));
            }
            places.extend(code.into_iter().map(|(at, bytes)| at..at + bytes.max(1)));
        }
        Ok(places)
    };
    let (sites, private) = (find(&settings.sites)?, find(&settings.private)?);
    let arena =
        Arena::new(settings.block, ranks).map_err(|error| format!("no room to fold memory: {error}"))?;
    let (copies, span) = program.copies();
    let folding = Folding {
        settings,
        sites,
        private,
        copies,
        span,
        arena: RefCell::new(arena),
        twice: Cell::new(None),
    };
    FOLDING.set(folding).map_err(|_| "a process runs one job".to_string())
}

/// Folded memory for an allocation of so many bytes by the code at `caller`; `None` if it is not to be folded.
pub fn allocate(bytes: usize, align: usize, caller: usize) -> Option<usize> {
    let folding = folding().filter(|folding| bytes >= folding.settings.above)?;
    let offset = folding.copies.contains(&caller).then(|| (caller - folding.copies.start) % folding.span);
    let is_in =
        |places: &[Range<usize>]| offset.is_some_and(|at| places.iter().any(|place| place.contains(&at)));
    let kind = if is_in(&folding.private) {
        Kind::Written
    } else if folding.sites.is_empty() || is_in(&folding.sites) {
        Kind::Shared
    } else {
        return None;
    };
    folding.arena.borrow_mut().take(bytes, align, kind, rank())
}

/// The same with the bytes of `parts` private.
pub fn allocate_in_parts(bytes: usize, parts: Vec<Range<usize>>) -> Option<usize> {
    let folding = folding().filter(|folding| bytes >= folding.settings.above)?;
    folding.arena.borrow_mut().take(bytes, 1, Kind::Parts(parts), rank())
}

/// Gives back what begins at `address`; false if that is no folded memory.
pub fn free(address: usize) -> bool {
    folding().is_some_and(|folding| folding.arena.borrow_mut().give(address, rank()))
}

/// Length of the allocation that begins at `address`, if it is folded \[bytes\].
pub fn size(address: usize) -> Option<usize> {
    folding()?.arena.borrow().size(address, rank())
}

/// True if `address` is folded memory.
#[inline]
pub fn holds(address: usize) -> bool {
    folding().is_some_and(|folding| folding.arena.borrow().range().contains(&address))
}

/// True if anything is folded.
#[inline]
pub fn active() -> bool {
    FOLDING.get().is_some()
}

/// Notes that a rank ends, whose pages of the program go with it: those of all ranks are counted before the first does.
pub fn a_rank_ends() {
    if let Some(folding) = folding().filter(|folding| folding.twice.get().is_none()) {
        folding.twice.set(Some(folding.mapped_again()));
    }
}

/// Part of this process's resident memory that is memory of files, folded memory and the ranks' copies of the program,
/// which counts once for each place where it is mapped \[bytes\].
pub fn counted_twice() -> u64 {
    folding().map_or(0, |folding| folding.twice.get().unwrap_or(0).max(folding.mapped_again()))
}

impl Folding {
    fn mapped_again(&self) -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("RssShmem:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        (kilobytes.unwrap_or(0) * 1024).saturating_sub(self.arena.borrow().file_bytes() as u64)
    }
}

/// True if the byte at `address` is shared by all.
#[inline]
pub fn is_shared(address: usize) -> bool {
    folding().is_some_and(|folding| folding.arena.borrow().is_shared(address))
}

/// True if any of these bytes may be folded memory.
pub fn touches(bytes: Range<usize>) -> bool {
    folding().is_some_and(|folding| {
        let all = folding.arena.borrow().range();
        bytes.start < all.end && all.start < bytes.end
    })
}

/// Calls `keep` with the parts of these bytes that are a rank's own, in order: all that is not folded.
pub fn kept(bytes: Range<usize>, keep: &mut dyn FnMut(Range<usize>)) {
    match folding() {
        Some(folding) if holds(bytes.start) => folding.arena.borrow().kept(bytes, keep),
        _ => keep(bytes),
    }
}
