//! The words of a program that hold addresses of its own, and those that hold hooked functions.
//!
//! When the C library has relocated the program once, a copy at distance d is made right by adding d to
//! every word that points into the image. Which words these are is not guessed: the relocation tables list
//! all that can.

use object::elf;

use super::elf::Elf;

const DT_RELRSZ: u32 = 35;
const DT_RELR: u32 = 36;

/// A word that the C library's loader has filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Address, relative to the base.
    pub at: usize,
    /// Meaning of the word.
    pub holds: Holds,
    /// Number that is added to that.
    pub addend: usize,
}

/// Meaning of a relocated word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holds {
    /// An address of the program's own image.
    Own,
    /// The address of this symbol, of the image or of a library.
    Symbol(String),
    /// The address that a function of the program has given (an indirect function).
    Chosen,
    /// The number of the module of a thread-local symbol; empty: of the image's own.
    Module(String),
    /// Place of a thread-local symbol in its module.
    InModule(String),
    /// Place of a thread-local symbol, from the thread pointer.
    FromThread(String),
    /// Descriptor that `-mtls-dialect=gnu2` makes of a thread-local symbol.
    Descriptor,
    /// This many bytes that were copied from a library's variable; it is not a word.
    CopyOf(String, usize),
}

/// Every relocated word.
pub fn words(elf: &Elf) -> Vec<Word> {
    let mut words = Vec::new();
    for (table, size) in [(elf::DT_RELA, elf::DT_RELASZ), (elf::DT_JMPREL, elf::DT_PLTRELSZ)] {
        if let (Some(table), Some(size)) = (elf.dynamic.get(table), elf.dynamic.get(size)) {
            words.extend((0..size / 24).filter_map(|index| with_addend(elf, table + index * 24)));
        }
    }
    if let (Some(table), Some(size)) = (elf.dynamic.get(DT_RELR), elf.dynamic.get(DT_RELRSZ)) {
        words.extend(packed(elf, table, size / 8).into_iter().map(|at| Word {
            at,
            holds: Holds::Own,
            addend: 0,
        }));
    }
    words
}

/// The word of one entry of RELA.
fn with_addend(elf: &Elf, entry: usize) -> Option<Word> {
    let at = elf.word(entry) as usize;
    let info = elf.word(entry + 8);
    let number = (info >> 32) as u32;
    let symbol = || if number == 0 { String::new() } else { elf.symbol(number) };
    // The other kinds have none, whatever stands there.
    let added = [elf::R_X86_64_64, elf::R_X86_64_DTPOFF64, elf::R_X86_64_TPOFF64].contains(&(info as u32));
    let addend = if added { elf.word(entry + 16) as usize } else { 0 };
    let holds = match info as u32 {
        elf::R_X86_64_RELATIVE => Holds::Own,
        elf::R_X86_64_IRELATIVE => Holds::Chosen,
        elf::R_X86_64_64 | elf::R_X86_64_GLOB_DAT | elf::R_X86_64_JUMP_SLOT => Holds::Symbol(symbol()),
        elf::R_X86_64_DTPMOD64 => Holds::Module(symbol()),
        elf::R_X86_64_DTPOFF64 => Holds::InModule(symbol()),
        elf::R_X86_64_TPOFF64 => Holds::FromThread(symbol()),
        elf::R_X86_64_TLSDESC => Holds::Descriptor,
        elf::R_X86_64_COPY => Holds::CopyOf(symbol(), elf.symbol_bytes(number)),
        _ => return None,
    };
    Some(Word { at, holds, addend })
}

/// The places in a RELR table: an even entry is a place; an odd one has a bit for each of the 63 words after
/// the last.
fn packed(elf: &Elf, table: usize, entries: usize) -> Vec<usize> {
    let (mut places, mut next) = (Vec::new(), 0);
    for index in 0..entries {
        let entry = elf.word(table + index * 8);
        if entry & 1 == 0 {
            places.push(entry as usize);
            next = entry as usize + 8;
        } else {
            let marked = (0..63).filter(|bit| entry >> (bit + 1) & 1 == 1);
            places.extend(marked.map(|bit| next + 8 * bit as usize));
            next += 63 * 8;
        }
    }
    places
}

/// Place at which the program keeps its own copy of `variable` of a library (COPY relocations), if it does.
pub fn copy_of(elf: &Elf, variable: &str) -> Option<usize> {
    let copies = words(elf).into_iter();
    let mut copies = copies.filter(|word| matches!(&word.holds, Holds::CopyOf(name, _) if name == variable));
    copies.next().map(|word| word.at)
}
