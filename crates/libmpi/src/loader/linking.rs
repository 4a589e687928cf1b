//! Words of the image as they are in a copy.
//!
//! The C library's loader has filled the words of each part where it has loaded it. In the image, parts lie one
//! after the other; a word that points into a part becomes a distance from the beginning of the image, to which
//! a copy adds its address. Symbols are looked up as in a process that was started with the program: there
//! first, then in what stands for the C library's functions, then where the loader has found them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::callers;
use super::elf::{Definition, Elf, Refusal};
use super::interception;
use super::libraries::Library;
use super::relocation::{self, Holds, Word};
use super::search_order::SearchOrder;
use super::template::Hook;
use super::tls::{Layout, MARK};

/// A file of which each rank has a copy: the program, which is the first, or a library.
pub struct Part {
    /// Its file.
    pub file: PathBuf,
    /// Its image.
    pub elf: Elf,
    /// Its number in the order in which symbols are looked up.
    pub rank: usize,
    /// Its number in the order in which parts begin.
    pub begins: usize,
    /// Its offset in the image \[bytes\].
    pub offset: usize,
    /// Address at which the C library has loaded it.
    pub base: usize,
    /// Symbols that it defines for others.
    pub definitions: BTreeMap<String, Definition>,
}

impl Part {
    /// The program, loaded at `base`: the first part, which begins last.
    pub fn of_program(file: PathBuf, elf: Elf, base: usize) -> Part {
        let definitions = elf.definitions();
        Part { file, elf, rank: 0, begins: usize::MAX, offset: 0, base, definitions }
    }

    /// A library that was loaded at `base`, whose image begins at `offset`.
    pub fn of_library(library: Library, offset: usize, base: usize) -> Part {
        let Library { path, elf, rank, begins, .. } = library;
        let definitions = elf.definitions();
        Part { file: path, elf, rank, begins, offset, base, definitions }
    }

    /// Offset of the code of that function from the beginning of the image, and its length \[bytes\].
    pub fn code_of(&self, name: &str) -> impl Iterator<Item = (usize, usize)> {
        let offset = self.offset;
        self.elf.code_of(name).into_iter().map(move |(at, bytes)| (offset + at, bytes))
    }
}

/// Value of a word.
enum Value {
    /// A distance from the beginning of the image.
    Inside(usize),
    /// This, in every copy.
    Fixed(usize),
    /// Its value.
    Same,
}

/// The parts of an image, and what they are linked with.
pub struct Linker<'a> {
    parts: &'a [Part],
    search: &'a SearchOrder,
    hooks: BTreeMap<&'static str, usize>,
    thread_local: &'a Layout,
}

impl Linker<'_> {
    /// For these parts.
    pub fn new<'a>(
        parts: &'a [Part],
        search: &'a SearchOrder,
        hooks: &[Hook],
        thread_local: &'a Layout,
    ) -> Linker<'a> {
        let function = |hook: &Hook| match hook.function as usize {
            address if hook.ends_computing => callers::stub_for(address).unwrap_or(address),
            address => address,
        };
        let hooks = hooks.iter().map(|hook| (hook.name, function(hook))).collect();
        Linker { parts, search, hooks, thread_local }
    }

    /// Fills the words of `image`, which holds the parts as they were loaded; gives the places of those to which
    /// a copy adds its address, ascending.
    pub fn link(&self, image: &mut [u8]) -> Result<Vec<usize>, Refusal> {
        let mut own = Vec::new();
        let mut copies = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            for word in relocation::words(&part.elf) {
                let at = part.offset + word.at;
                if let Holds::CopyOf(name, bytes) = &word.holds {
                    copies.push((at, name.clone(), *bytes));
                    continue;
                }
                let Some(place) = image.get_mut(at..at + 8) else { continue };
                let held = usize::from_le_bytes((&*place).try_into().expect("eight bytes"));
                match self.value(index, &word, held)? {
                    Value::Inside(distance) => {
                        place.copy_from_slice(&distance.to_le_bytes());
                        own.push(at);
                    }
                    Value::Fixed(value) => place.copy_from_slice(&value.to_le_bytes()),
                    Value::Same => {}
                }
            }
        }
        own.sort_unstable();
        own.dedup();
        for (at, name, bytes) in copies {
            let Some((address, length)) = self.search.variable(&name) else { continue };
            let (Value::Inside(from), bytes) = (self.translated(address), length.min(bytes)) else {
                continue;
            };
            image.copy_within(from..from + bytes, at);
            let moved: Vec<_> = own.iter().filter(|place| (from..from + bytes).contains(place)).collect();
            let moved: Vec<_> = moved.into_iter().map(|place| place - from + at).collect();
            own.extend(moved);
        }
        own.sort_unstable();
        own.dedup();
        Ok(own)
    }

    fn value(&self, index: usize, word: &Word, held: usize) -> Result<Value, Refusal> {
        let part = &self.parts[index];
        Ok(match &word.holds {
            Holds::Own => Value::Inside(held.wrapping_sub(part.base).wrapping_add(part.offset)),
            Holds::Chosen => self.translated(held),
            Holds::Symbol(name) => self.symbol(index, name, word.addend, held),
            Holds::Module(name) => match self.thread_local(index, name) {
                Some((module, _)) => Value::Fixed(MARK + module),
                None => Value::Same,
            },
            Holds::InModule(name) => match self.thread_local(index, name) {
                Some((_, offset)) => Value::Fixed(offset.wrapping_add(word.addend)),
                None => Value::Same,
            },
            Holds::FromThread(name) => match self.thread_local(index, name) {
                Some((module, offset)) => {
                    let below = self.thread_local.below[module].unwrap_or(0);
                    Value::Fixed(offset.wrapping_add(word.addend).wrapping_sub(below))
                }
                None => Value::Same,
            },
            Holds::Descriptor => {
                return Err(format!(
                    "{} was compiled with -mtls-dialect=gnu2, which is not known",
                    part.file.display()
                ));
            }
            Holds::CopyOf(..) => unreachable!("copies are no words"),
        })
    }

    fn symbol(&self, index: usize, name: &str, addend: usize, held: usize) -> Value {
        let at = |part: &Part, definition: &Definition| {
            Value::Inside(part.offset.wrapping_add(definition.value).wrapping_add(addend))
        };
        let (part, program) = (&self.parts[index], &self.parts[0]);
        if let Some(definition) = part.definitions.get(name).filter(|_| part.elf.is_symbolic()) {
            return at(part, definition);
        }
        if let Some(definition) = program.definitions.get(name) {
            return at(program, definition);
        }
        if let Some(function) = self.hooks.get(name) {
            return Value::Fixed(*function);
        }
        let address = if held == 0 { 0 } else { held.wrapping_sub(addend) };
        let earlier = self.search.earlier(name, address).map(|address| address.wrapping_add(addend));
        let found = match self.translated(earlier.unwrap_or(held)) {
            Value::Same => earlier.map_or(Value::Same, Value::Fixed),
            value => value,
        };
        intercepted(name, held, found)
    }

    /// An address where a part was loaded, as a distance in the image.
    fn translated(&self, address: usize) -> Value {
        let holds = |part: &&Part| (part.base..=part.base + part.elf.span()).contains(&address);
        let found = self.parts.iter().find(holds);
        found.map_or(Value::Same, |part| Value::Inside(address - part.base + part.offset))
    }

    /// Part and place in it of a thread-local symbol; the empty name is for the beginning of the part's own.
    fn thread_local(&self, index: usize, name: &str) -> Option<(usize, usize)> {
        if name.is_empty() {
            return Some((index, 0));
        }
        let found = self.parts.iter().enumerate().filter_map(|(index, part)| {
            let definition = part.definitions.get(name).filter(|definition| definition.thread_local)?;
            Some((part.rank, index, definition.value))
        });
        found.min().map(|(_, index, value)| (index, value))
    }
}

/// The stub in front of what `found`, or `held` if that is the same, leads to, if somebody wants one.
fn intercepted(name: &str, held: usize, found: Value) -> Value {
    if matches!(found, Value::Same)
        && let Some(stub) = callers::mpi_stub(name, held)
    {
        return Value::Fixed(stub);
    }
    let Some(own) = interception::named(name) else { return found };
    match found {
        Value::Same if held != 0 => own.replaces(held),
        Value::Inside(offset) => own.replaces_in_copies(offset),
        _ => return found,
    }
    Value::Fixed(own.stub())
}
