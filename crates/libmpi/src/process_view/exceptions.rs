//! Exceptions of C++ that a rank has caught and not done with: the C++ library keeps them as a list of the thread.

use std::cell::Cell;
use std::ptr;

/// `__cxa_eh_globals` of the C++ ABI (Itanium, 2.2.2): the exceptions, and how many fly.
pub type Handled = [usize; 2];

thread_local! {
    /// Where the library keeps it, if there is one.
    static PLACE: Cell<*mut Handled> = const { Cell::new(ptr::null_mut()) };
}

/// Looks for the C++ library among those that are loaded.
pub fn find() {
    type Find = unsafe extern "C" fn() -> *mut Handled;
    // SAFETY: the library's own function, which gives a place that stays where it is.
    unsafe {
        let function = libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_get_globals".as_ptr());
        if !function.is_null() {
            PLACE.set(std::mem::transmute::<*mut std::ffi::c_void, Find>(function)());
        }
    }
}

/// The library's and `other` change places.
#[inline]
pub fn exchange(other: &Cell<Handled>) {
    let place = PLACE.get();
    if !place.is_null() {
        // SAFETY: as `find` says; no code of C++ runs meanwhile.
        unsafe { *place = other.replace(*place) };
    }
}
