//! Exceptions of C++ that a rank has caught and not done with: the C++ library keeps them as a list of the thread.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// `__cxa_eh_globals` of the C++ ABI (Itanium, 2.2.2): the exceptions, and how many fly.
pub type Handled = [usize; 2];

/// Place at which the library keeps that of the one thread, if there is one.
static PLACE: AtomicPtr<Handled> = AtomicPtr::new(ptr::null_mut());

/// Looks for the C++ library among those that are loaded: after the program, which may name thread-local variables of that
/// library. Once used, they would be where the C library cannot let it have them.
pub fn find() {
    type Find = unsafe extern "C" fn() -> *mut Handled;
    // SAFETY: the library's own function, which gives a place that stays where it is.
    unsafe {
        let function = libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_get_globals".as_ptr());
        if !function.is_null() {
            PLACE.store(std::mem::transmute::<*mut std::ffi::c_void, Find>(function)(), Ordering::Relaxed);
        }
    }
}

/// The library's and `other` change places.
#[inline]
pub fn exchange(other: &Cell<Handled>) {
    let place = PLACE.load(Ordering::Relaxed);
    if !place.is_null() {
        // SAFETY: as `find` says; no code of C++ runs meanwhile.
        unsafe { *place = other.replace(*place) };
    }
}
