//! The working directory of a rank.
//!
//! While a rank runs, the process is in the rank's directory: every relative path of the program and of any
//! library is found from there, at the cost of one system call for a switch between ranks in different ones.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicBool, Ordering};

use super::rank::running;
use crate::loader::Hook;

/// Folder of a rank; `None` where all began.
pub type Folder = RefCell<Option<Rc<OwnedFd>>>;

#[derive(Default)]
struct Known {
    /// Folder in which all began, once a rank has left it.
    first: Option<OwnedFd>,
    /// Folder of the process; `None` where all began.
    now: Option<Rc<OwnedFd>>,
    /// By device and file number.
    folders: BTreeMap<(u64, u64), Weak<OwnedFd>>,
}

/// True if any rank has left the folder where all began.
static PARTED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
}

/// The functions of this file, by the names that they stand for.
pub fn hooks() -> Vec<Hook> {
    vec![Hook::new("chdir", change as *const c_void), Hook::new("fchdir", change_to_open as *const c_void)]
}

fn is(one: Option<&Rc<OwnedFd>>, other: Option<&Rc<OwnedFd>>) -> bool {
    one.map(Rc::as_ptr) == other.map(Rc::as_ptr)
}

/// The rank whose folder this is runs from now on; `None`: nobody does, where all began.
#[inline]
pub fn enter(folder: Option<&Folder>) {
    if PARTED.load(Ordering::Relaxed) {
        enter_another(folder);
    }
}

fn enter_another(folder: Option<&Folder>) {
    KNOWN.with_borrow_mut(|known| {
        let borrowed = folder.map(|folder| folder.borrow());
        let wanted = borrowed.as_deref().and_then(Option::as_ref);
        if is(wanted, known.now.as_ref()) {
            return;
        }
        let descriptor = match (wanted, &known.first) {
            (Some(folder), _) => folder.as_raw_fd(),
            (None, Some(first)) => first.as_raw_fd(),
            (None, None) => return,
        };
        // SAFETY: an open directory. One that was deleted since is entered all the same.
        unsafe { libc::fchdir(descriptor) };
        known.now = wanted.cloned();
    });
}

/// Changes the directory of the rank that runs, as `change` does for the process.
fn change_with(change: impl FnOnce() -> c_int) -> c_int {
    let Some(me) = running() else { return change() };
    PARTED.store(true, Ordering::Relaxed);
    KNOWN.with_borrow_mut(|known| {
        if known.first.is_none() {
            known.first = open_here();
        }
        let result = change();
        if result == 0 {
            let place = open_here().and_then(|place| share(known, place));
            known.now.clone_from(&place);
            *me.view().folder.borrow_mut() = place;
        }
        result
    })
}

fn open_here() -> Option<OwnedFd> {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: a new descriptor, which is owned by the value alone.
    unsafe {
        let descriptor = libc::open(c".".as_ptr(), flags);
        (descriptor >= 0).then(|| OwnedFd::from_raw_fd(descriptor))
    }
}

/// One descriptor for all ranks in one folder.
fn share(known: &mut Known, place: OwnedFd) -> Option<Rc<OwnedFd>> {
    // SAFETY: fills the structure.
    let status = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        (libc::fstat(place.as_raw_fd(), &raw mut status) == 0).then_some(status)?
    };
    let held = known.folders.entry((status.st_dev, status.st_ino)).or_default();
    Some(held.upgrade().unwrap_or_else(|| {
        let place = Rc::new(place);
        *held = Rc::downgrade(&place);
        place
    }))
}

unsafe extern "C" fn change(path: *const c_char) -> c_int {
    // SAFETY: a text of the program.
    change_with(|| unsafe { libc::chdir(path) })
}

unsafe extern "C" fn change_to_open(descriptor: c_int) -> c_int {
    // SAFETY: descriptors are numbers; a bad one is an error.
    change_with(|| unsafe { libc::fchdir(descriptor) })
}
