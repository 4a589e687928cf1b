//! Names of places in the program and its libraries, for reports: file, line and function where the compiler was
//! asked for them (-g), the function and the distance from its beginning otherwise.
//!
//! An address is of one rank's copy; what the files say is relative to the beginning of a part of it, which is the
//! same in all copies.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::ffi::CStr;
use std::path::{Path, PathBuf};

use addr2line::Loader;

/// The copies of the program, as one row of equal pieces of address space.
#[derive(Debug, Clone, Copy)]
pub struct Copies {
    /// Beginning of the first.
    pub start: usize,
    /// From one to the next \[bytes\].
    pub each: usize,
    /// Number of them.
    pub count: usize,
}

/// The program, or a library that it brings.
pub struct Part {
    file: PathBuf,
    /// Its offset in each copy \[bytes\].
    offset: usize,
    bytes: usize,
    loader: OnceCell<Option<Loader>>,
}

impl Part {
    /// Symbols of the file at `path`, `offset` from the beginning of each copy and `bytes` long.
    pub fn new(path: &Path, offset: usize, bytes: usize) -> Part {
        Part { file: path.to_path_buf(), offset, bytes, loader: OnceCell::new() }
    }

    fn loader(&self) -> Option<&Loader> {
        self.loader.get_or_init(|| Loader::new(&self.file).ok()).as_ref()
    }

    /// File, line and function, if the file tells.
    fn line(&self, offset: u64) -> Option<String> {
        let mut frames = self.loader()?.find_frames(offset).ok()?;
        let frame = frames.next().ok()??;
        let (place, line) = (frame.location.as_ref()?.file?, frame.location.as_ref()?.line?);
        let function = frame.function.as_ref().and_then(|function| function.demangle().ok());
        let inside = function.map_or(String::new(), |name| format!(" in {name}"));
        Some(format!("{}:{line}{inside}", shorten(place)))
    }

    /// "solve+0x1c of ./a.out"; "+0x1a2c of …" where no symbol says.
    fn function(&self, offset: u64) -> String {
        let found = self.loader().and_then(|loader| loader.find_symbol_info(offset));
        let (name, from) = found.map_or((Cow::default(), 0), |symbol| {
            (addr2line::demangle_auto(symbol.name().into(), None), symbol.address())
        });
        format!("{name}+{:#x} of {}", offset - from, self.file.display())
    }
}

thread_local! {
    static KNOWN: RefCell<Option<(Copies, Vec<Part>)>> = const { RefCell::new(None) };
}

/// Makes the copies known, and what is in each of them.
pub fn set(copies: Copies, parts: Vec<Part>) {
    KNOWN.set(Some((copies, parts)));
}

/// In a process that was just forked: what was read of the files is the other's.
pub fn begin_anew() {
    let known = KNOWN.take();
    if let Some((copies, parts)) = &known {
        set(*copies, parts.iter().map(|part| Part::new(&part.file, part.offset, part.bytes)).collect());
    }
    // It is in memory that both know.
    std::mem::forget(known);
}

/// An instruction in a copy of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In words, with file and line.
    Line(String),
    /// In words, without them.
    Function(String),
}

impl Place {
    /// The words.
    pub fn words(self) -> String {
        match self {
            Place::Line(words) | Place::Function(words) => words,
        }
    }
}

/// Place of an instruction, if it is in a copy of the program.
pub fn place_of(instruction: usize) -> Option<Place> {
    find(instruction, |part, offset| {
        Some(part.line(offset).map_or_else(|| Place::Function(part.function(offset)), Place::Line))
    })
}

/// The function that begins at `address`, in a copy of the program.
pub fn name_of(address: usize) -> Option<String> {
    find(address, |part, offset| {
        let symbol = part.loader()?.find_symbol_info(offset)?;
        (symbol.address() == offset).then(|| symbol.name().to_string())
    })
}

fn find<R>(address: usize, ask: impl FnOnce(&Part, u64) -> Option<R>) -> Option<R> {
    KNOWN.with_borrow(|known| {
        let (copies, parts) = known.as_ref()?;
        let distance = address.checked_sub(copies.start)?;
        let within = distance % copies.each;
        let holds = |part: &&Part| (part.offset..part.offset + part.bytes).contains(&within);
        let part = parts.iter().find(holds).filter(|_| distance / copies.each < copies.count)?;
        ask(part, (within - part.offset) as u64)
    })
}

/// The files of which a copy of the program consists, and where in it they are.
pub fn files() -> Vec<(PathBuf, usize)> {
    KNOWN.with_borrow(|known| {
        let parts = known.iter().flat_map(|(_, parts)| parts);
        parts.map(|part| (part.file.clone(), part.offset)).collect()
    })
}

/// Places of ranks whose calls are these, the innermost first: the first that has a line, or else the first.
pub fn place_among(instructions: impl Iterator<Item = usize>) -> Option<String> {
    let mut first = None;
    for place in instructions.filter_map(place_of) {
        match place {
            Place::Line(words) => return Some(words),
            Place::Function(words) => first = first.or(Some(words)),
        }
    }
    first
}

/// A function of a library that all ranks share: "strlen of libc.so.6".
pub fn library_function(instruction: usize) -> Option<String> {
    let (library, found) = shared_library(instruction)?;
    if found.dli_sname.is_null() {
        return Some(library);
    }
    // SAFETY: the text is the C library's.
    let name = unsafe { CStr::from_ptr(found.dli_sname) }.to_string_lossy();
    Some(format!("{} of {library}", addr2line::demangle_auto(name, None)))
}

/// The library that contains an instruction, of those that all ranks share, and the offset in it.
pub fn library_offset(instruction: usize) -> Option<(String, usize)> {
    let (library, found) = shared_library(instruction)?;
    Some((library, instruction - found.dli_fbase as usize))
}

/// Name of the library that contains an instruction, with what the C library knows of both.
fn shared_library(instruction: usize) -> Option<(String, libc::Dl_info)> {
    // SAFETY: the structure is filled if the answer is not 0; the text is the C library's.
    unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(instruction as *const _, &raw mut found) == 0 || found.dli_fname.is_null() {
            return None;
        }
        let file = CStr::from_ptr(found.dli_fname).to_string_lossy().into_owned();
        let library = Path::new(&file).file_name()?.to_string_lossy().into_owned();
        Some((library, found))
    }
}

/// A file below the working directory relative to it, any other in full.
fn shorten(file: &str) -> &str {
    let here = std::env::current_dir().unwrap_or_default();
    let relative = Path::new(file).strip_prefix(here).ok().and_then(Path::to_str);
    relative.unwrap_or(file)
}
