//! Libraries that a program opens itself: the C library loads each once, for all ranks, so that they share its variables,
//! which is said. It does not know the program, in whose folders they may be: these are looked through here.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{env, ptr};

use super::Hook;
use super::elf::Elf;
use super::libraries::{self, Library};

thread_local! {
    /// Those with variables.
    static SHARED: RefCell<BTreeSet<PathBuf>> = RefCell::default();
    /// Folders in which the program, and each library that it brings, finds others, and whether those of `LD_LIBRARY_PATH`
    /// come first.
    static SEARCH: RefCell<Vec<(Vec<PathBuf>, bool)>> = RefCell::default();
}

/// The function of this file, by the name that it stands for.
pub fn hook() -> Hook {
    Hook::new("dlopen", open as *const c_void)
}

/// Sets the program that opens libraries, itself or by those that it brings.
pub fn search_for(path: &Path, program: &Elf, libraries: &[Library]) {
    let of_libraries = libraries.iter().map(|library| (&*library.path, &library.elf));
    let all = [(path, program)].into_iter().chain(of_libraries);
    SEARCH.set(all.map(|(path, elf)| folders(path, elf)).collect());
}

/// Folders in which what is at `path` finds libraries, and whether those of `LD_LIBRARY_PATH` come first.
fn folders(path: &Path, elf: &Elf) -> (Vec<PathBuf>, bool) {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let origin = path.parent().unwrap_or(Path::new("/")).to_string_lossy();
    let (folders, variable_first) = &elf.dynamic.search;
    let folder = |name: &str| PathBuf::from(name.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin));
    (folders.split(':').filter(|name| !name.is_empty()).map(folder).collect(), *variable_first)
}

/// Warning about those that `ranks` ranks have shared.
pub fn warning(ranks: u32) -> Option<String> {
    let names = SHARED.take().iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    (ranks > 1 && !names.is_empty()).then(|| {
        let names = names.join(", ");
        format!(
            "all ranks share the variables of what the program opened with dlopen: {names}; link the program with it, or \
             run with --isolation process"
        )
    })
}

unsafe extern "C" fn open(name: *const c_char, mode: c_int) -> *mut c_void {
    let before = loaded();
    // SAFETY: what the program passes: a text, or nothing for the program itself.
    let found = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }).and_then(in_folders);
    // SAFETY: the text outlives the call.
    let handle = unsafe { libc::dlopen(found.as_ref().map_or(name, |path| path.as_ptr()), mode) };
    let new = loaded().into_iter().filter(|path| !before.contains(path) && keeps_something(path));
    SHARED.with_borrow_mut(|shared| shared.extend(new));
    handle
}

/// Path of the library of that name, if it is in folders of the program or its libraries and none of `LD_LIBRARY_PATH` goes
/// before.
fn in_folders(name: &CStr) -> Option<CString> {
    let name = OsStr::from_bytes(name.to_bytes());
    // A name with a slash is a path, which says where it is.
    if name.is_empty() || name.as_bytes().contains(&b'/') {
        return None;
    }
    let find = |folders: &[PathBuf]| folders.iter().map(|one| one.join(name)).find(|path| path.is_file());
    let variable = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let before: Vec<_> = env::split_paths(&variable).filter(|one| !one.as_os_str().is_empty()).collect();
    let is_before = find(&before).is_some();
    SEARCH.with_borrow(|search| {
        let mut after = search.iter().filter(|(_, variable_first)| !(*variable_first && is_before));
        let path = after.find_map(|(folders, _)| find(folders))?;
        CString::new(path.as_os_str().as_bytes()).ok()
    })
}

fn keeps_something(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !libraries::is_system(&name) && Elf::read(path).is_ok_and(|elf| libraries::state_of(&elf) > 0)
}

/// Files of all that is loaded.
fn loaded() -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    // SAFETY: the function below fits, and gets the set, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add), ptr::from_mut(&mut found).cast()) };
    found
}

unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: what dl_iterate_phdr passes, and what `loaded` gave it.
    unsafe {
        let name = CStr::from_ptr((*info).dlpi_name).to_string_lossy();
        (*found.cast::<BTreeSet<PathBuf>>()).insert(PathBuf::from(name.as_ref()));
    }
    0
}
