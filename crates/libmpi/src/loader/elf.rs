//! Parts of a program's file that the loader reads.
//!
//! Source of the formats: System V ABI, AMD64 supplement; the generic ABI's chapters 4 and 5 (RELR: its
//! draft of 2022).

use std::collections::BTreeMap;
use std::path::Path;

use object::LittleEndian as LE;
use object::elf;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader, Sym};
use object::{Object, ObjectSymbol, SymbolKind};

type Header = elf::FileHeader64<LE>;

/// Place of the kind of a file.
const E_TYPE: usize = 16;
const STATIC: &str = "statically linked, so that the MPI library that it was linked with is part of it and no other can \
                      be put in its place: link it dynamically";

/// Bit of a symbol's number of version: it is not the default one.
const OLDER_VERSION: u64 = 0x8000;
const LIBRARY: &str = "a shared library, and no program that could be run: link it into one";

/// Reason for which a program cannot be loaded, a sentence.
pub type Refusal = String;

/// The parts of a program file that matter for loading it many times.
#[derive(Debug)]
pub struct Elf {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// True if it is to be at one place in memory alone: a program that is not position-independent.
    pub fixed: bool,
    /// Loaded segments as `(address, bytes in the file from there, its offset, bytes in memory)`.
    pub segments: Vec<Segment>,
    /// Address at which execution starts, relative to the base.
    pub entry: usize,
    /// The loader that a program asks for.
    pub interpreter: Option<String>,
    /// The initial image of thread-local storage, if there is any.
    pub tls: Option<Tls>,
    /// The header of the unwinding tables, relative to the base.
    pub unwinding: Option<usize>,
    /// The dynamic section.
    pub dynamic: Dynamic,
}

/// A loaded segment. All \[bytes\].
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    /// Its address relative to the base.
    pub address: usize,
    /// Begin in the file.
    pub offset: usize,
    /// Length in the file.
    pub in_file: usize,
    /// Length in memory.
    pub in_memory: usize,
    /// True if it holds code.
    pub executable: bool,
    /// True if it holds variables.
    pub writable: bool,
}

/// Thread-local storage of the program. All \[bytes\].
#[derive(Debug, Clone, Copy)]
pub struct Tls {
    /// Its image, relative to the base.
    pub address: usize,
    /// The length of the image; the rest is zero.
    pub initialised: usize,
    /// Its whole length.
    pub bytes: usize,
    /// Its alignment.
    pub align: usize,
}

/// Content of the dynamic section; addresses are relative to the base, 0 where there is none.
#[derive(Debug, Default)]
pub struct Dynamic {
    offset: usize,
    /// Entries in the file, as `(tag, value)`.
    entries: Vec<(u64, usize)>,
    /// The name by which others need it; empty: none.
    pub name: String,
    /// Libraries that it needs.
    pub needed: Vec<String>,
    /// Folders in which it finds libraries, as it says them, and whether those of `LD_LIBRARY_PATH` come first.
    pub search: (String, bool),
}

impl Dynamic {
    /// The value of `tag`, if it is there.
    pub fn get(&self, tag: u32) -> Option<usize> {
        self.entries.iter().find(|entry| entry.0 == u64::from(tag)).map(|entry| entry.1)
    }
}

impl Elf {
    /// Reads the program at `path`, or says why it is none that can be loaded.
    pub fn read(path: &Path) -> Result<Elf, Refusal> {
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        let header = Header::parse(&*bytes).map_err(|_| "not a 64-bit ELF program".to_string())?;
        if header.e_machine.get(LE) != elf::EM_X86_64 {
            return Err("a program for another processor: x86-64 programs can be run".into());
        }
        let fixed = header.e_type.get(LE) == elf::ET_EXEC;
        if !fixed && header.e_type.get(LE) != elf::ET_DYN {
            return Err("an ELF file that is no program".into());
        }
        let (mut segments, mut tls, mut dynamic, mut unwinding) = (Vec::new(), None, None, None);
        let mut interpreter = None;
        for part in header.program_headers(LE, &*bytes).map_err(|error| error.to_string())? {
            let address = part.p_vaddr(LE) as usize;
            let segment = Segment {
                address,
                offset: part.p_offset(LE) as usize,
                in_file: part.p_filesz(LE) as usize,
                in_memory: part.p_memsz(LE) as usize,
                executable: part.p_flags(LE) & elf::PF_X != 0,
                writable: part.p_flags(LE) & elf::PF_W != 0,
            };
            if segment.offset.saturating_add(segment.in_file) > bytes.len() {
                return Err("an ELF program that is cut off: parts of it are not in the file".into());
            }
            match part.p_type(LE) {
                elf::PT_LOAD => segments.push(segment),
                elf::PT_DYNAMIC => dynamic = Some(segment),
                elf::PT_GNU_EH_FRAME => unwinding = Some(address),
                elf::PT_INTERP => interpreter = Some(text(&bytes, segment.offset)),
                elf::PT_TLS if segment.in_memory > 0 => {
                    let align = (part.p_align(LE) as usize).max(1);
                    tls =
                        Some(Tls { address, initialised: segment.in_file, bytes: segment.in_memory, align });
                }
                _ => {}
            }
        }
        let entry = header.e_entry(LE) as usize;
        let Some(place) = dynamic else {
            return Err(STATIC.into());
        };
        let mut elf =
            Elf { bytes, fixed, segments, entry, interpreter, tls, unwinding, dynamic: Dynamic::default() };
        elf.dynamic = elf.read_dynamic(place);
        Ok(elf)
    }

    /// The same of a program, which asks for a loader.
    pub fn program(path: &Path) -> Result<Elf, Refusal> {
        let elf = Elf::read(path)?;
        let flags = elf.dynamic.get(elf::DT_FLAGS_1).unwrap_or(0) as u32;
        match elf.interpreter {
            Some(_) => Ok(elf),
            None if elf.fixed || flags & elf::DF_1_PIE != 0 => Err(STATIC.into()),
            None => Err(LIBRARY.into()),
        }
    }

    fn read_dynamic(&self, place: Segment) -> Dynamic {
        let entries: Vec<_> = (0..place.in_file / 16)
            .map(|index| place.offset + index * 16)
            .map(|at| (word(&self.bytes, at), word(&self.bytes, at + 8) as usize))
            .take_while(|entry| entry.0 != 0)
            .collect();
        let mut dynamic = Dynamic { offset: place.offset, entries, ..Dynamic::default() };
        let names = dynamic.get(elf::DT_STRTAB).unwrap_or(0);
        let needed = dynamic.entries.iter().filter(|entry| entry.0 == u64::from(elf::DT_NEEDED));
        dynamic.name = dynamic.get(elf::DT_SONAME).map_or(String::new(), |at| self.text(names + at));
        dynamic.needed = needed.map(|entry| self.text(names + entry.1)).collect();
        let folders = |tag| dynamic.get(tag).map(|at| self.text(names + at));
        dynamic.search = match folders(elf::DT_RUNPATH) {
            Some(folders) => (folders, true),
            None => (folders(elf::DT_RPATH).unwrap_or_default(), false),
        };
        dynamic
    }

    /// Begin of the function of that name, relative to the base, and the distance to the next one \[bytes\], if
    /// it is in the program and its table of symbols names it.
    pub fn function(&self, name: &str) -> Option<(usize, usize)> {
        let file = object::File::parse(&*self.bytes).ok()?;
        let is_it = |symbol: &object::Symbol| {
            symbol.is_definition() && symbol.kind() == SymbolKind::Text && symbol.name() == Ok(name)
        };
        let at = file.symbols().chain(file.dynamic_symbols()).find(is_it)?.address();
        let all = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
        let next = all.map(|symbol| symbol.address()).filter(|address| *address > at).min();
        Some((at as usize, next.map_or(usize::MAX, |next| (next - at) as usize)))
    }

    /// Places of the code of that function, with what the compiler has made of it beside ("solve.constprop.0"), as
    /// [`Elf::function`].
    pub fn code_of(&self, name: &str) -> Vec<(usize, usize)> {
        let Ok(file) = object::File::parse(&*self.bytes) else { return Vec::new() };
        let is_it = |symbol: &object::Symbol| {
            let own = symbol.name().unwrap_or_default();
            let text = symbol.is_definition() && symbol.kind() == SymbolKind::Text;
            text && own.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let found = file.symbols().chain(file.dynamic_symbols()).filter(is_it);
        found.map(|symbol| (symbol.address() as usize, symbol.size() as usize)).collect()
    }

    /// Address space that its image spans \[bytes, whole pages\].
    pub fn span(&self) -> usize {
        let end = self.segments.iter().map(|segment| segment.address + segment.in_memory).max();
        end.unwrap_or(0).next_multiple_of(crate::fiber::stacks::PAGE)
    }

    /// Place in the file of `address` of the image.
    fn in_file(&self, address: usize) -> usize {
        let holds =
            |segment: &&Segment| (segment.address..segment.address + segment.in_file).contains(&address);
        self.segments
            .iter()
            .find(holds)
            .map_or(usize::MAX, |segment| address - segment.address + segment.offset)
    }

    /// The word of 8 bytes at `address` of the image, as in the file.
    pub fn word(&self, address: usize) -> u64 {
        word(&self.bytes, self.in_file(address))
    }

    /// The text that begins at `address` of the image.
    pub fn text(&self, address: usize) -> String {
        text(&self.bytes, self.in_file(address))
    }

    /// The length of symbol `index` of the dynamic table \[bytes\].
    pub fn symbol_bytes(&self, index: u32) -> usize {
        self.word(self.dynamic.get(elf::DT_SYMTAB).unwrap_or(0) + index as usize * 24 + 16) as usize
    }

    /// The symbols that it defines for others: their names and values.
    pub fn definitions(&self) -> BTreeMap<String, Definition> {
        let mut found = BTreeMap::new();
        let Ok(file) = ElfFile64::<LE>::parse(&*self.bytes) else { return found };
        let table = file.elf_dynamic_symbol_table();
        let versions = self.dynamic.get(elf::DT_VERSYM);
        for (index, symbol) in table.iter().enumerate() {
            // An older version of a symbol is not what its name alone means.
            let is_older = versions.is_some_and(|at| self.word(at + 2 * index) & OLDER_VERSION != 0);
            let local = symbol.st_bind() == elf::STB_LOCAL || symbol.st_visibility() == elf::STV_HIDDEN;
            let chosen = symbol.st_type() == elf::STT_GNU_IFUNC;
            if symbol.st_shndx(LE) == elf::SHN_UNDEF || local || chosen || is_older {
                continue;
            }
            let Ok(name) = table.symbol_name(LE, symbol) else { continue };
            let value = symbol.st_value(LE) as usize;
            let thread_local = symbol.st_type() == elf::STT_TLS;
            let definition = Definition { value, bytes: symbol.st_size(LE) as usize, thread_local };
            found.entry(String::from_utf8_lossy(name).into_owned()).or_insert(definition);
        }
        found
    }

    /// True if its own definitions come first for itself (`-Bsymbolic`).
    pub fn is_symbolic(&self) -> bool {
        let flags = self.dynamic.get(elf::DT_FLAGS).unwrap_or(0);
        self.dynamic.get(elf::DT_SYMBOLIC).is_some() || flags as u32 & elf::DF_SYMBOLIC != 0
    }

    /// Makes what `bytes`, a copy of this file, needs of others optional: it may be in the program, which is
    /// loaded later.
    fn excuse_missing(&self, bytes: &mut [u8]) {
        let Ok(file) = ElfFile64::<LE>::parse(&*self.bytes) else { return };
        let start = self.in_file(self.dynamic.get(elf::DT_SYMTAB).unwrap_or(0));
        for (index, symbol) in file.elf_dynamic_symbol_table().iter().enumerate() {
            if index > 0 && symbol.st_shndx(LE) == elf::SHN_UNDEF {
                // The byte with binding and type is the fifth of 24.
                if let Some(byte) = bytes.get_mut(start.saturating_add(index * 24 + 4)) {
                    *byte = elf::STB_WEAK << 4 | *byte & 0xf;
                }
            }
        }
    }

    /// Makes the versions that `bytes`, a copy of this file, needs of `dropped` libraries those of no library: the C library's
    /// loader ends the process where it knows none of the name. An empty name is that of the process's own program, and weak
    /// versions may be missing from it.
    fn excuse_versions(&self, bytes: &mut [u8], dropped: impl Fn(&str) -> bool) {
        const WEAK: u16 = elf::VER_FLG_WEAK;
        let names = self.dynamic.get(elf::DT_STRTAB).unwrap_or(0);
        let long = |at: usize| self.word(at) as u32 as usize;
        let mut put = |address: usize, value: &[u8]| {
            let at = self.in_file(address);
            if let Some(place) = bytes.get_mut(at..at.saturating_add(value.len())) {
                place.copy_from_slice(value);
            }
        };
        let files = steps(self.dynamic.get(elf::DT_VERNEED), |at| long(at + 12));
        for file in files.filter(|file| dropped(&self.text(names + long(file + 4)))) {
            put(file + 4, &0u32.to_le_bytes());
            for version in steps(Some(file + long(file + 8)), |at| long(at + 12)) {
                put(version + 4, &WEAK.to_le_bytes());
            }
        }
    }

    /// The name of symbol `index` of the dynamic table.
    pub fn symbol(&self, index: u32) -> String {
        let table = self.dynamic.get(elf::DT_SYMTAB).unwrap_or(0);
        let name = self.word(table + index as usize * 24) as u32;
        self.text(self.dynamic.get(elf::DT_STRTAB).unwrap_or(0) + name as usize)
    }

    /// The file as the C library's loader shall see it: a shared library that runs nothing when it is
    /// loaded, needs no `dropped` library, and is satisfied without what is in none.
    pub fn as_library(&self, dropped: impl Fn(&str) -> bool) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        // Of a library, the place at which it wants to be is a wish.
        bytes[E_TYPE..E_TYPE + 2].copy_from_slice(&elf::ET_DYN.to_le_bytes());
        if self.interpreter.is_none() {
            self.excuse_missing(&mut bytes);
        }
        self.excuse_versions(&mut bytes, &dropped);
        let names = self.dynamic.get(elf::DT_STRTAB).unwrap_or(0);
        for (index, (tag, value)) in self.dynamic.entries.iter().enumerate() {
            let at = self.dynamic.offset + index * 16;
            let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            match *tag as u32 {
                elf::DT_FLAGS_1 => put(at + 8, *value as u64 & !u64::from(elf::DF_1_PIE)),
                elf::DT_NEEDED if dropped(&self.text(names + value)) => put(at, elf::DT_DEBUG.into()),
                elf::DT_INIT
                | elf::DT_FINI
                | elf::DT_INIT_ARRAY
                | elf::DT_INIT_ARRAYSZ
                | elf::DT_FINI_ARRAY
                | elf::DT_FINI_ARRAYSZ
                | elf::DT_PREINIT_ARRAY
                | elf::DT_PREINIT_ARRAYSZ => put(at, elf::DT_DEBUG.into()),
                _ => {}
            }
        }
        bytes
    }
}

/// A symbol that others may use.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// Its address relative to the base, or to the beginning of the thread-local variables.
    pub value: usize,
    /// Its length \[bytes\].
    pub bytes: usize,
    /// True if it is one of those.
    pub thread_local: bool,
}

/// The text that begins at `at`.
fn text(bytes: &[u8], at: usize) -> String {
    let rest = bytes.get(at..).unwrap_or_default();
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(0);
    String::from_utf8_lossy(&rest[..end]).into_owned()
}

/// Entries of a list in which each names the distance to the next, 0 at the end.
fn steps(first: Option<usize>, next: impl Fn(usize) -> usize) -> impl Iterator<Item = usize> {
    std::iter::successors(first, move |at| Some(next(*at)).filter(|far| *far > 0).map(|far| at + far))
}

/// The word of 8 bytes at `at`; 0 beyond the end, which a damaged file may point to.
fn word(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..at.saturating_add(8)).and_then(|word| word.try_into().ok());
    word.map_or(0, u64::from_le_bytes)
}
