//! Order in which a dynamic linker looks up symbols: breadth-first, from the program through what it needs.
//!
//! The C library's loader is given one library after the other, those first that others need, and takes the one that
//! it was given first for what several define. Words that it has filled so get the address of the first definition
//! from the program on.
//!
//! Source: System V ABI, generic part, chapter 5, "Shared Object Dependencies".

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use object::elf::DT_VERDEF;

use super::elf::Elf;
use super::libraries::{Fate, Library};
use super::relocation::{self, Holds};

/// The libraries that a program brings, as they were loaded.
pub struct SearchOrder {
    /// Address space of each with its rank.
    places: Vec<(Range<usize>, usize)>,
    /// First definition of each name.
    first: BTreeMap<String, Found>,
}

/// A definition in a library.
struct Found {
    /// Rank of the library.
    rank: usize,
    /// Address at which it was loaded.
    address: usize,
    /// Its length \[bytes\].
    bytes: usize,
    /// True if the library has versions of its symbols.
    versioned: bool,
}

impl SearchOrder {
    /// Order of these libraries, each with the address at which it was loaded.
    pub fn new<'a>(loaded: impl Iterator<Item = (&'a Library, usize)>) -> SearchOrder {
        let mut loaded: Vec<_> = loaded.collect();
        loaded.sort_by_key(|(library, _)| library.rank);
        let (mut places, mut first) = (Vec::new(), BTreeMap::new());
        for (library, base) in loaded {
            let (rank, versioned) = (library.rank, library.elf.dynamic.get(DT_VERDEF).is_some());
            places.push((base..base + library.elf.span(), rank));
            for (name, definition) in library.elf.definitions() {
                if !definition.thread_local {
                    let (address, bytes) = (base + definition.value, definition.bytes);
                    first.entry(name).or_insert(Found { rank, address, bytes, versioned });
                }
            }
        }
        SearchOrder { places, first }
    }

    /// Address of the first definition of `name`, if it comes before the one at `held`, which the C library's loader has
    /// found; 0: none. What the system's libraries define stays, and the MPI library comes after all others. Which version of a
    /// symbol fits is left to that loader.
    pub fn earlier(&self, name: &str, held: usize) -> Option<usize> {
        let found = self.first.get(name)?;
        let holder = self.places.iter().find(|(place, _)| place.contains(&held)).map(|(_, rank)| *rank);
        let is_earlier = match holder {
            Some(rank) => found.rank < rank && !found.versioned,
            None => held == 0 || is_mpi(name),
        };
        is_earlier.then_some(found.address)
    }

    /// Address of the variable `name` and its length \[bytes\].
    pub fn variable(&self, name: &str) -> Option<(usize, usize)> {
        self.first.get(name).map(|found| (found.address, found.bytes))
    }
}

fn is_mpi(name: &str) -> bool {
    ["MPI_", "PMPI_", "mpi_", "pmpi_"].iter().any(|prefix| name.starts_with(prefix))
}

/// Has a copy made for each rank of all libraries that lead to what each rank has for itself, the program or a library that is
/// copied: they need such a library, or use a function or variable of it.
pub fn copy_callers(program: &Elf, libraries: &mut [Library]) {
    let used_by = |one: &Library| if one.fate == Fate::Shared { used(one) } else { BTreeSet::new() };
    let used: Vec<_> = libraries.iter().map(used_by).collect();
    let definers = definers(program, libraries);
    let leads_to_own = |index: usize, libraries: &[Library]| {
        let is_own = |index: usize| libraries[index].fate == Fate::Copied;
        let needed = &libraries[index].elf.dynamic.needed;
        let needs_own = libraries.iter().any(|one| one.fate == Fate::Copied && needed.contains(&one.name));
        let mut definers = used[index].iter().filter_map(|name| definers.get(name));
        needs_own || definers.any(|definer| definer.is_none_or(is_own))
    };
    let next = |libraries: &[Library]| {
        (0..libraries.len())
            .find(|index| libraries[*index].fate == Fate::Shared && leads_to_own(*index, libraries))
    };
    while let Some(index) = next(libraries) {
        libraries[index].fate = Fate::Copied;
    }
}

/// Symbols that a library uses, but for those that are its own whatever others define.
fn used(library: &Library) -> BTreeSet<String> {
    let own = if library.elf.is_symbolic() { library.elf.definitions() } else { BTreeMap::new() };
    let names = relocation::words(&library.elf).into_iter().filter_map(|word| match word.holds {
        Holds::Symbol(name) | Holds::Module(name) | Holds::InModule(name) | Holds::FromThread(name) => {
            Some(name)
        }
        _ => None,
    });
    names.filter(|name| !own.contains_key(name)).collect()
}

/// Index of the library that defines each symbol first; `None`: the program.
fn definers(program: &Elf, libraries: &[Library]) -> BTreeMap<String, Option<usize>> {
    let mut found: BTreeMap<_, _> = program.definitions().into_keys().map(|name| (name, None)).collect();
    for word in relocation::words(program) {
        // What the program copies from the system's libraries is not its own.
        if let Holds::CopyOf(name, _) = &word.holds {
            found.remove(name);
        }
    }
    let mut order: Vec<_> = (0..libraries.len()).collect();
    order.sort_by_key(|index| libraries[*index].rank);
    for index in order {
        for name in libraries[index].elf.definitions().into_keys() {
            found.entry(name).or_insert(Some(index));
        }
    }
    found
}
