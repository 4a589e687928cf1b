//! A program loaded once, with the libraries that it brings, from which its copies are made.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::rc::Rc;

use super::elf::{Definition, Elf, Refusal, Tls};
use super::image::{Copies, memory_file};
use super::interface;
use super::libraries::{self, Fate, Library};
use super::linking::{Linker, Part};
use super::program_copy::{CopyOwner, ProgramCopy, Startup};
use super::relocation::{self, Holds};
use super::search_order::{self, SearchOrder};
use super::symbols;
use super::tls::{self, Layout, Pad};
use super::unwind;
use super::valgrind_symbols;
use super::{exceptions, interception, library_calls, opened};
use crate::fiber::stacks::PAGE;

/// A function that stands for the C library's function of that name in the program.
pub struct Hook {
    /// The name in the program's symbol table.
    pub name: &'static str,
    /// Its address.
    pub function: *const c_void,
    /// True if libraries that all ranks share call it too.
    pub in_libraries: bool,
    /// True if a call of it ends a stretch of computing, so that its place is wanted.
    pub ends_computing: bool,
}

impl Hook {
    /// For the program and for all libraries.
    pub fn new(name: &'static str, function: *const c_void) -> Hook {
        Hook { name, function, in_libraries: true, ends_computing: false }
    }

    /// For the program and the libraries that it brings, of which each rank has a copy.
    pub fn own(name: &'static str, function: *const c_void) -> Hook {
        Hook { name, function, in_libraries: false, ends_computing: false }
    }

    /// For the program and for all libraries; a call of it ends a stretch of computing.
    pub fn of_time(name: &'static str, function: *const c_void) -> Hook {
        Hook { ends_computing: true, ..Hook::new(name, function) }
    }
}

/// A program that has been loaded.
pub struct Template {
    /// Its file.
    pub path: PathBuf,
    /// The program, and the libraries of which each rank has a copy.
    pub parts: Vec<Part>,
    /// Report of each library: a line about it.
    pub listing: Vec<String>,
    /// Their relocated image, and where its copies are.
    copies: Option<Copies>,
    /// Address of the first copy, the distance from one to the next \[bytes\], and how many there may be.
    row: (usize, usize, usize),
    /// Words of the image that hold places in the image, relative to its beginning, ascending.
    own: Vec<usize>,
    thread_local: Layout,
    startup: Rc<[Startup]>,
    /// Address of the one copy of all ranks, if they share one and it was made.
    shared: Cell<Option<usize>>,
}

impl Template {
    /// Loads the program at `path`, with `hooks` in the place of what they name, for up to `copies` copies.
    pub fn load(path: &Path, hooks: &[Hook], copies: usize) -> Result<Template, Refusal> {
        let elf = Elf::program(path)?;
        if elf.fixed {
            return Err(
                "not position-independent, so that ranks in one process would share its variables: run it \
                        with --isolation process, or compile it again with -fPIE -pie ('hopcast cc' does)"
                    .into(),
            );
        }
        interface::open(&elf.dynamic.needed)?;
        let mut libraries = libraries::of(path, &elf)?;
        opened::search_for(path, &elf, &libraries);
        search_order::copy_callers(&elf, &mut libraries);
        open_system(&elf, &libraries, hooks);
        let unnamed = unnamed(&libraries);
        let listing = libraries.iter().map(describe).collect();
        let mut bases = Vec::new();
        for library in &libraries {
            bases.push(match library.fate {
                Fate::Copied => load_copy(&library.elf, libc::RTLD_GLOBAL, &unnamed)?,
                Fate::Shared => {
                    let path = library.path.as_os_str().as_encoded_bytes();
                    let base = open(&CString::new(path).unwrap_or_default())?;
                    hook_in_place(&library.elf, base, hooks);
                    base
                }
            });
        }
        let search = SearchOrder::new(libraries.iter().zip(bases.iter().copied()));
        for (library, base) in libraries.iter().zip(&bases).filter(|(one, _)| one.fate == Fate::Shared) {
            let own = own_of_symbolic(&library.elf);
            put_in_place(&library.elf, *base, |name, held| {
                search.earlier(name, held).filter(|_| !own.contains_key(name))
            });
        }
        // The program comes last, for it copies what libraries have.
        let base = load_copy(&elf, libc::RTLD_LOCAL, &unnamed)?;
        let mut parts = vec![Part::of_program(path.to_path_buf(), elf, base)];
        for (library, base) in libraries.into_iter().zip(bases) {
            if library.fate == Fate::Copied {
                let offset = parts.iter().map(|part| part.elf.span()).sum();
                parts.push(Part::of_library(library, offset, base));
            }
        }
        Template::of_parts(path, parts, &search, listing, hooks, copies)
    }

    fn of_parts(
        path: &Path,
        parts: Vec<Part>,
        search: &SearchOrder,
        listing: Vec<String>,
        hooks: &[Hook],
        copies: usize,
    ) -> Result<Template, Refusal> {
        exceptions::find();
        let mut image = vec![0; parts.iter().map(|part| part.elf.span()).sum()];
        for part in &parts {
            for segment in &part.elf.segments {
                let start = part.offset + segment.address;
                let bytes = &mut image[start..start + segment.in_memory];
                let from = (part.base + segment.address) as *const u8;
                // SAFETY: the C library has mapped this segment readable at its base; nothing of it runs.
                unsafe { ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len()) };
            }
        }
        let thread_local = Layout::new(parts.iter().map(|part| part.elf.tls));
        let own = Linker::new(&parts, search, hooks, &thread_local).link(&mut image)?;
        interception::all().iter().try_for_each(|one| one.place_in(&parts[0].elf, &mut image))?;
        library_calls::intercept(interception::all());
        let copies =
            Copies::new(&image, copies).map_err(|error| format!("no room for {copies} copies: {error}"))?;
        let (start, each, count) = (copies.start, copies.span, copies.count);
        let table = |part: &Part| (part.offset, part.elf.span(), part.elf.unwinding);
        unwind::set(unwind::Copies { start, each, count, tables: parts.iter().map(table).collect() });
        let known = parts.iter().map(|part| symbols::Part::new(&part.file, part.offset, part.elf.span()));
        symbols::set(symbols::Copies { start, each, count }, known.collect());
        let startup = Startup::of_all(&parts);
        Ok(Template {
            path: path.to_path_buf(),
            startup,
            shared: Cell::new(None),
            parts,
            listing,
            copies: Some(copies),
            row: (start, each, count),
            own,
            thread_local,
        })
    }

    /// Loads the program at `path` and its libraries once: for ranks that are processes, each of which has all of it for itself
    /// and runs its initialisation.
    pub fn load_once(path: &Path, hooks: &[Hook]) -> Result<Template, Refusal> {
        let elf = Elf::program(path)?;
        interface::open(&elf.dynamic.needed)?;
        let libraries = libraries::of(path, &elf)?;
        opened::search_for(path, &elf, &libraries);
        open_system(&elf, &libraries, hooks);
        let (unnamed, mut loaded) = (unnamed(&libraries), Vec::new());
        for library in &libraries {
            refuse_variables_of(&elf, library)?;
            loaded.push(load_copy(&library.elf, libc::RTLD_GLOBAL, &unnamed)?);
        }
        let base = load_copy(&elf, libc::RTLD_GLOBAL, &unnamed)?;
        exceptions::find();
        if elf.fixed && base != 0 {
            return Err("the addresses at which it wants to be are taken by something else".into());
        }
        let search = SearchOrder::new(libraries.iter().zip(loaded.iter().copied()));
        let hook = |name: &str| Some(hooks.iter().find(|hook| hook.name == name)?.function as usize);
        put_in_place(&elf, base, |name, held| hook(name).or_else(|| search.earlier(name, held)));
        let definitions = elf.definitions();
        for (library, at) in libraries.iter().zip(&loaded) {
            let own = own_of_symbolic(&library.elf);
            let of_program = |name: &str| definitions.get(name).map(|definition| base + definition.value);
            let in_library = |name: &str, held: usize| {
                let hook = hooks.iter().find(|hook| hook.in_libraries && hook.name == name);
                let hook = hook.map(|hook| hook.function as usize);
                match own.contains_key(name) {
                    true => hook,
                    false => of_program(name).or(hook).or_else(|| search.earlier(name, held)),
                }
            };
            put_in_place(&library.elf, *at, in_library);
        }
        copy_again(&elf, base, &search);
        let shown =
            |library: &Library| format!("{} ({}): in each process", library.name, library.path.display());
        let listing = libraries.iter().map(shown).collect();
        let span = elf.span();
        let thread_local = Layout::new([elf.tls].into_iter());
        let of_libraries = libraries.iter().zip(&loaded);
        let mut begin: Vec<_> = of_libraries.clone().collect();
        begin.sort_unstable_by_key(|(library, _)| library.begins);
        let startup = begin.into_iter().map(|(one, at)| Startup::of(&one.elf, at.wrapping_sub(base)));
        let startup = startup.chain([Startup::of(&elf, 0)]).collect();
        let places =
            of_libraries.map(|(one, at)| (&*one.path, *at, one.elf.span())).chain([(path, base, span)]);
        let places: Vec<_> = places.collect();
        let start = places.iter().map(|(_, at, _)| *at).min().unwrap_or(base);
        let each = places.iter().map(|(_, at, span)| at + span - start).max().unwrap_or(span);
        let places = places.into_iter().map(|(file, at, span)| symbols::Part::new(file, at - start, span));
        symbols::set(symbols::Copies { start, each, count: 1 }, places.collect());
        let parts = vec![Part::of_program(path.to_path_buf(), elf, base)];
        let row = (base, span, 1);
        let (path, shared) = (path.to_path_buf(), Cell::new(None));
        Ok(Template {
            path,
            startup,
            shared,
            parts,
            listing,
            copies: None,
            row,
            own: Vec::new(),
            thread_local,
        })
    }

    /// Copy `index`; each may be made once.
    pub fn copy(&self, index: usize) -> io::Result<ProgramCopy> {
        self.place(index).map(|base| self.clone_at(base, CopyOwner::Own))
    }

    /// The one copy that all ranks share, the first of those that there is room for.
    pub fn shared_copy(&self) -> io::Result<ProgramCopy> {
        if let Some(base) = self.shared.get() {
            return Ok(self.clone_at(base, CopyOwner::Shared));
        }
        let base = self.place(0)?;
        self.shared.set(Some(base));
        Ok(self.clone_at(base, CopyOwner::SharedByFirst))
    }

    fn clone_at(&self, base: usize, owner: CopyOwner) -> ProgramCopy {
        ProgramCopy::new(base, self.row.1, self.startup.clone(), owner)
    }

    fn place(&self, index: usize) -> io::Result<usize> {
        let Some(copies) = &self.copies else { return Ok(self.row.0) };
        let base = copies.place(index)?;
        for at in &self.own {
            let word = (base + at) as *mut usize;
            // SAFETY: the word lies in the copy, and no code of it has run.
            unsafe { word.write_unaligned(word.read_unaligned().wrapping_add(base)) };
        }
        valgrind_symbols::show(&self.parts, base, index)?;
        Ok(base)
    }

    /// The part that holds `address` in some copy, and where in the part.
    pub fn find(&self, address: usize) -> Option<(&Part, usize)> {
        let (start, span, count) = self.row;
        let distance = address.checked_sub(start)?;
        if distance / span >= count {
            return None;
        }
        let distance = distance % span;
        let holds = |part: &&Part| (part.offset..part.offset + part.elf.span()).contains(&distance);
        self.parts.iter().find(holds).map(|part| (part, distance - part.offset))
    }

    /// The addresses of all copies, and how far it is from one to the next \[bytes\].
    pub fn copies(&self) -> (std::ops::Range<usize>, usize) {
        let (start, span, count) = self.row;
        (start..start + span * count, span)
    }

    /// Address of the program's own copy of a library's variable, relative to the base.
    pub fn copy_of(&self, variable: &str) -> Option<usize> {
        relocation::copy_of(&self.parts[0].elf, variable)
    }

    /// Address of the thread-local variables of the rank that runs, if there are any.
    pub fn thread_local(&self, pad: Pad) -> Result<Option<tls::Place>, Refusal> {
        let image = |part: &Part| part.elf.tls.map(|tls| Tls { address: part.offset + tls.address, ..tls });
        tls::Place::new(&self.thread_local, &self.parts.iter().map(image).collect::<Vec<_>>(), pad)
    }
}

fn describe(library: &Library) -> String {
    let Library { name, path, state_bytes, .. } = library;
    let path = path.display();
    match library.fate {
        Fate::Copied => format!("{name} ({path}): a copy for each rank, {state_bytes} bytes of variables"),
        Fate::Shared => format!("{name} ({path}): shared, without variables"),
    }
}

/// Loads the libraries of the system before all others: what is copied of their variables (of std::cout, for
/// one) is what they have made of them by then.
fn open_system(program: &Elf, libraries: &[Library], hooks: &[Hook]) {
    let needed =
        libraries.iter().flat_map(|library| &library.elf.dynamic.needed).chain(&program.dynamic.needed);
    let brought = |name: &String| libraries.iter().any(|library| library.name == *name);
    for name in needed.filter(|name| !interface::is_ours(name) && !brought(name)) {
        let Ok(text) = CString::new(name.as_str()) else { continue };
        let base = open(&text);
        if let (true, Ok(base)) = (name.starts_with("libstdc++.so"), base)
            && let Some(elf) = path_of(base).and_then(|path| Elf::read(&path).ok())
        {
            hook_in_place(&elf, base, hooks);
        }
    }
    // The streams of C++ are made by the first file that uses them, which would be the program.
    type Make = unsafe extern "C" fn(*mut c_void);
    // SAFETY: the constructor of std::ios_base::Init, whose object has one byte, which is never read.
    unsafe {
        let make = libc::dlsym(libc::RTLD_DEFAULT, c"_ZNSt8ios_base4InitC1Ev".as_ptr());
        if !make.is_null() {
            std::mem::transmute::<*mut c_void, Make>(make)(
                Box::leak(Box::new(0_u64)) as *mut u64 as *mut c_void
            );
        }
    }
}

/// Names of libraries that the C library's loader would not know again by them.
fn unnamed(libraries: &[Library]) -> Vec<String> {
    let unnamed = libraries.iter().filter(|library| library.elf.dynamic.name != library.name);
    unnamed.map(|library| library.name.clone()).collect()
}

/// Lets the C library load a library as it is, for all ranks; gives the base address.
fn open(name: &CStr) -> Result<usize, Refusal> {
    // SAFETY: the library runs its initialisation, as it would in any process that needs it.
    unsafe { base_of(libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL), name) }
}

/// Lets the C library load a copy of a file, of which nothing runs; gives the base address. It stays loaded.
fn load_copy(elf: &Elf, scope: i32, unnamed: &[String]) -> Result<usize, Refusal> {
    let dropped = |name: &str| interface::is_ours(name) || unnamed.iter().any(|other| other == name);
    let library = memory_file(c"hopcast-program", &elf.as_library(dropped))
        .map_err(|error| format!("no memory for its copy: {error}"))?;
    let base = open_library(&library, scope);
    // Its number stays taken: a library of the same name would be taken for this one.
    std::mem::forget(library);
    base
}

fn open_library(file: &File, scope: i32) -> Result<usize, Refusal> {
    // By the number of the process: a debugger opens it, too.
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let path = CString::new(path).expect("no zero in a number");
    // SAFETY: a file made of a program whose own initialisation is taken out; the libraries that it needs
    // run theirs, as they would in any process.
    unsafe { base_of(libc::dlopen(path.as_ptr(), libc::RTLD_NOW | scope), &path) }
}

/// # Safety
/// `handle` is what `dlopen` of `path` has just given.
unsafe fn base_of(handle: *mut c_void, path: &CStr) -> Result<usize, Refusal> {
    // SAFETY: the caller says so; the structure is the C library's.
    unsafe {
        if handle.is_null() {
            let reason = CStr::from_ptr(libc::dlerror()).to_string_lossy().into_owned();
            return Err(reason.trim_start_matches(&*path.to_string_lossy()).trim_start_matches(": ").into());
        }
        let mut map: *const LinkMap = ptr::null();
        if libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) != 0 {
            return Err("the C library does not say where it was loaded".into());
        }
        Ok((*map).base)
    }
}

/// The file of the library that was loaded at `base`.
fn path_of(base: usize) -> Option<PathBuf> {
    // SAFETY: the structure is filled if the answer is not 0; the text is the C library's.
    unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        let known = libc::dladdr(base as *const c_void, &raw mut found) != 0 && !found.dli_fname.is_null();
        known.then(|| OsStr::from_bytes(CStr::from_ptr(found.dli_fname).to_bytes()).into())
    }
}

/// The public beginning of the C library's `struct link_map` (dlinfo(3)).
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
}

/// A library that is loaded before the program does not find its thread-local variables.
fn refuse_variables_of(program: &Elf, library: &Library) -> Result<(), Refusal> {
    let (offered, own) = (program.definitions(), library.elf.definitions());
    for word in relocation::words(&library.elf) {
        let (Holds::Module(name) | Holds::InModule(name) | Holds::FromThread(name)) = &word.holds else {
            continue;
        };
        if offered.contains_key(name) && !own.contains_key(name) {
            return Err(format!(
                "{} uses the thread-local variable {name} of the program, which it does not find where ranks are processes: \
                 run it with --isolation globals",
                library.name
            ));
        }
    }
    Ok(())
}

/// Copies once more what the program at `base` copies from variables of libraries (COPY relocations): the addresses that these
/// hold have been put in place since. Nothing of the libraries has run.
fn copy_again(elf: &Elf, base: usize, search: &SearchOrder) {
    for word in relocation::words(elf) {
        let Holds::CopyOf(name, bytes) = &word.holds else { continue };
        let Some((from, length)) = search.variable(name) else { continue };
        let (to, bytes) = ((base + word.at) as *mut u8, length.min(*bytes));
        // SAFETY: both variables are loaded, and neither is shorter than this; nothing runs meanwhile.
        unsafe { ptr::copy_nonoverlapping(from as *const u8, to, bytes) };
    }
}

/// Definitions that come first for the file itself: those of `-Bsymbolic`.
fn own_of_symbolic(elf: &Elf) -> BTreeMap<String, Definition> {
    if elf.is_symbolic() { elf.definitions() } else { BTreeMap::new() }
}

/// Hooks what a library calls that all ranks share.
fn hook_in_place(elf: &Elf, base: usize, hooks: &[Hook]) {
    let hook = |name: &str| hooks.iter().find(|hook| hook.in_libraries && hook.name == name);
    put_in_place(elf, base, |name, _| Some(hook(name)?.function as usize));
}

/// Puts other addresses into the words of a file that was loaded, by the symbol and its address there.
fn put_in_place(elf: &Elf, base: usize, value: impl Fn(&str, usize) -> Option<usize>) {
    for word in relocation::words(elf) {
        let Holds::Symbol(name) = &word.holds else { continue };
        let place = base + word.at;
        // SAFETY: a word of a library that was loaded, which its relocation table names.
        let held = unsafe { (place as *const usize).read_unaligned() };
        let held = if held == 0 { 0 } else { held.wrapping_sub(word.addend) };
        let Some(value) = value(name, held) else { continue };
        let page = place & !(PAGE - 1);
        // SAFETY: a word of a library that was loaded, which its relocation table names; it lies within one
        // page, as all of its kind. Nothing runs meanwhile.
        unsafe {
            if libc::mprotect(page as *mut c_void, PAGE, libc::PROT_READ | libc::PROT_WRITE) == 0 {
                *(place as *mut usize) = value.wrapping_add(word.addend);
            }
        }
    }
}
