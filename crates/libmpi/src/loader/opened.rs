//! Libraries that a program opens itself: the C library loads each once, for all ranks, so that they share its variables,
//! which is said.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use super::elf::Elf;
use super::{Hook, libraries};

thread_local! {
    /// Those with variables.
    static SHARED: RefCell<BTreeSet<PathBuf>> = RefCell::default();
}

/// The function of this file, by the name that it stands for.
pub fn hook() -> Hook {
    Hook::new("dlopen", open as *const c_void)
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
    // SAFETY: what the program passes.
    let handle = unsafe { libc::dlopen(name, mode) };
    let new = loaded().into_iter().filter(|path| !before.contains(path) && keeps_something(path));
    SHARED.with_borrow_mut(|shared| shared.extend(new));
    handle
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
