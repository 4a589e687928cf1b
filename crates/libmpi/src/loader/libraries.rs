//! The libraries that a program brings: which there are, and what becomes of each.
//!
//! A library that keeps something in variables is copied for each rank, as the program is; so is one that calls
//! such a library, for a call leads to one copy. One without variables is shared, and so are those of the system,
//! whose state `process_view` takes care of.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Command;

use object::elf::{SHF_WRITE, SectionHeader64};
use object::read::elf::{ElfFile64, FileHeader, SectionHeader, Sym};
use object::{LittleEndian as LE, SectionIndex};

use super::elf::{Elf, Refusal};
use super::interface;

/// Fate of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Each rank has a copy.
    Copied,
    /// It keeps nothing: one for all.
    Shared,
}

/// A library that a program needs, itself or through others.
#[derive(Debug)]
pub struct Library {
    /// As programs name it.
    pub name: String,
    /// Path at which it was found.
    pub path: PathBuf,
    /// Its number, from 1 on, in the order in which symbols are looked up; the program has 0.
    pub rank: usize,
    /// Its number, from 0 on, in the order in which libraries begin; the program is the last.
    pub begins: usize,
    /// Fate of it.
    pub fate: Fate,
    /// Variables that it may write \[bytes\].
    pub state_bytes: usize,
    /// Its content.
    pub elf: Elf,
}

/// The names of libraries that are the system's, up to ".so".
const SYSTEM: [&str; 14] = [
    "ld-linux-x86-64",
    "libc",
    "libm",
    "libmvec",
    "libpthread",
    "libdl",
    "librt",
    "libutil",
    "libresolv",
    "libnsl",
    "libanl",
    "libgcc_s",
    "libstdc++",
    "linux-vdso",
];
/// Variables that the C compiler puts into every library.
const COMPILERS: [&[u8]; 2] = [b"__dso_handle", b"__TMC_END__"];
/// Begin of the name of a flag of the compiler's, which every whole table of symbols has.
const COMPILERS_FLAG: &[u8] = b"completed.";
/// Room for all these \[bytes\].
const COMPILERS_BYTES: usize = 16;
/// Sections that are written while a library is loaded, and then no more.
const LOADING: [&[u8]; 8] = [
    b".got",
    b".got.plt",
    b".dynamic",
    b".preinit_array",
    b".init_array",
    b".fini_array",
    b".data.rel.ro",
    b".tm_clone_table",
];

/// The libraries of `program`, those that others need before these.
pub fn of(path: &Path, program: &Elf) -> Result<Vec<Library>, Refusal> {
    let brought = |name: &&String| !interface::is_ours(name) && !is_system(name);
    let mut wanted: VecDeque<_> = program.dynamic.needed.iter().filter(brought).cloned().collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    // The list has all that a real MPI library needs as well: what counts is needed without it.
    let listed = list(path, program)?;
    let mut found: Vec<Library> = Vec::new();
    // Breadth-first, as the dynamic linker looks symbols up.
    while let Some(name) = wanted.pop_front() {
        if found.iter().any(|one| one.name == name) {
            continue;
        }
        // A library without a name of its own is needed by its path, which is not listed.
        let path = if name.contains('/') { Some(PathBuf::from(&name)) } else { listed.get(&name).cloned() };
        let Some(path) = path else {
            return Err(format!("it needs {name}, which is not found: LD_LIBRARY_PATH says where to look"));
        };
        let elf = Elf::read(&path).map_err(|reason| format!("{}: {reason}", path.display()))?;
        wanted.extend(elf.dynamic.needed.iter().filter(brought).cloned());
        let state_bytes = state_of(&elf);
        let fate = if state_bytes > 0 { Fate::Copied } else { Fate::Shared };
        found.push(Library { name, path, rank: found.len() + 1, begins: 0, fate, state_bytes, elf });
    }
    Ok(in_order(found))
}

/// Is it the C library's, or one that comes with the compiler?
pub(super) fn is_system(name: &str) -> bool {
    name.split(".so").next().is_some_and(|stem| SYSTEM.contains(&stem))
}

/// Names and paths, as the C library's loader finds them: it is asked to list them and to run nothing.
fn list(path: &Path, program: &Elf) -> Result<BTreeMap<String, PathBuf>, Refusal> {
    let loader = program.interpreter.as_deref().unwrap_or("/lib64/ld-linux-x86-64.so.2");
    let mut command = Command::new(loader);
    command.arg(path).env("LD_TRACE_LOADED_OBJECTS", "1");
    let listed = command.output().map_err(|error| format!("{loader}: {error}"))?;
    let text = String::from_utf8_lossy(&listed.stdout);
    let found = text.lines().filter_map(|line| line.trim().split_once(" => "));
    let found = found.filter(|(_, place)| *place != "not found");
    let path = |place: &str| PathBuf::from(place.rsplit_once(" (").map_or(place, |(path, _)| path));
    Ok(found.map(|(name, place)| (name.to_string(), path(place))).collect())
}

/// Variables that a library may write, beside what its loading needs and the compiler's \[bytes\]. Where these take a few bytes,
/// its table of symbols says whether others are among them; if it was stripped of that, there may be.
pub(super) fn state_of(elf: &Elf) -> usize {
    let Ok(file) = ElfFile64::<LE>::parse(&*elf.bytes) else { return usize::MAX };
    // Without a table of sections it may be anything.
    if file.elf_header().e_shnum(LE) == 0 {
        return usize::MAX;
    }
    let sections = file.elf_section_table();
    let holds_state = |section: &SectionHeader64<LE>| {
        let is_written = section.sh_flags(LE) & u64::from(SHF_WRITE) != 0;
        is_written && sections.section_name(LE, section).is_ok_and(|name| !LOADING.contains(&name))
    };
    let state = sections.iter().filter(|section| holds_state(section));
    let bytes = state.map(|section| section.sh_size(LE) as usize).sum();
    let (symbols, mut own, mut has_flag) = (file.elf_symbol_table(), 0, false);
    if bytes > COMPILERS_BYTES {
        return bytes;
    }
    for symbol in symbols.iter() {
        let section = sections.section(SectionIndex(symbol.st_shndx(LE).into()));
        let name = symbol.name(LE, symbols.strings()).unwrap_or_default();
        let size = symbol.st_size(LE) as usize;
        if !section.is_ok_and(holds_state) || COMPILERS.contains(&name) {
            continue;
        }
        match size == 1 && name.starts_with(COMPILERS_FLAG) && !has_flag {
            true => has_flag = true,
            false => own += size,
        }
    }
    if has_flag { own } else { bytes }
}

/// Orders libraries for loading, and says when each begins: in both, what others need comes before these. Of others, the first
/// is loaded first, and the last begins first, as the dynamic linker has it.
fn in_order(mut found: Vec<Library>) -> Vec<Library> {
    for (number, index) in needed_first(&found, (0..found.len()).rev()).into_iter().enumerate() {
        found[index].begins = number;
    }
    let order = needed_first(&found, 0..found.len());
    let mut found: Vec<_> = found.into_iter().map(Some).collect();
    order.into_iter().map(|index| found[index].take().expect("each is visited once")).collect()
}

/// Indices of all libraries: in this order, but each behind what it needs.
fn needed_first(found: &[Library], order: impl Iterator<Item = usize>) -> Vec<usize> {
    fn visit(index: usize, found: &[Library], seen: &mut [bool], order: &mut Vec<usize>) {
        if std::mem::replace(&mut seen[index], true) {
            return;
        }
        for name in &found[index].elf.dynamic.needed {
            if let Some(next) = found.iter().position(|one| one.name == *name) {
                visit(next, found, seen, order);
            }
        }
        order.push(index);
    }
    let (mut seen, mut all) = (vec![false; found.len()], Vec::new());
    order.for_each(|index| visit(index, found, &mut seen, &mut all));
    all
}
