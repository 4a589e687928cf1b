//! The functions by which a program allocates memory.
//!
//! The names that are hooked note where they are called from, and go on in the functions below.

use std::arch::global_asm;
use std::ffi::{c_int, c_void};
use std::ptr;

use crate::loader::Hook;

macro_rules! with_caller {
    ($($name:literal $register:literal $function:path;)*) => {$(
        global_asm!(
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!($name, ":"),
            concat!("mov ", $register, ", [rsp]"),
            "jmp {function}",
            function = sym $function,
        );
    )*};
}

with_caller! {
    "hopcast_fold_malloc" "rsi" malloc;
    "hopcast_fold_calloc" "rdx" calloc;
    "hopcast_fold_realloc" "rdx" realloc;
    "hopcast_fold_reallocarray" "rcx" reallocarray;
    "hopcast_fold_aligned_alloc" "rdx" aligned_alloc;
    "hopcast_fold_posix_memalign" "rcx" posix_memalign;
}

unsafe extern "C" {
    fn hopcast_fold_malloc();
    fn hopcast_fold_calloc();
    fn hopcast_fold_realloc();
    fn hopcast_fold_reallocarray();
    fn hopcast_fold_aligned_alloc();
    fn hopcast_fold_posix_memalign();
}

/// The functions of this file, by the names that they stand for; `new` and `delete` of C++ are malloc and free.
pub fn hooks() -> Vec<Hook> {
    let of = |name, function: unsafe extern "C" fn()| Hook::own(name, function as *const c_void);
    vec![
        of("malloc", hopcast_fold_malloc),
        of("_Znwm", hopcast_fold_malloc),
        of("_Znam", hopcast_fold_malloc),
        of("calloc", hopcast_fold_calloc),
        of("realloc", hopcast_fold_realloc),
        of("reallocarray", hopcast_fold_reallocarray),
        of("aligned_alloc", hopcast_fold_aligned_alloc),
        of("memalign", hopcast_fold_aligned_alloc),
        of("posix_memalign", hopcast_fold_posix_memalign),
        Hook::own("free", free as *const c_void),
        Hook::own("_ZdlPv", free as *const c_void),
        Hook::own("_ZdaPv", free as *const c_void),
        Hook::own("_ZdlPvm", free as *const c_void),
        Hook::own("_ZdaPvm", free as *const c_void),
        Hook::own("malloc_usable_size", usable_size as *const c_void),
        Hook::own("mmap", mmap as *const c_void),
        Hook::own("mmap64", mmap as *const c_void),
        Hook::own("munmap", munmap as *const c_void),
    ]
}

unsafe extern "C" fn malloc(bytes: usize, caller: usize) -> *mut c_void {
    match super::allocate(bytes, 1, caller) {
        Some(address) => address as *mut c_void,
        // SAFETY: the C library's own.
        None => unsafe { libc::malloc(bytes) },
    }
}

unsafe extern "C" fn calloc(count: usize, each: usize, caller: usize) -> *mut c_void {
    match count.checked_mul(each).and_then(|bytes| super::allocate(bytes, 1, caller)) {
        Some(address) => address as *mut c_void,
        // SAFETY: the C library's own.
        None => unsafe { libc::calloc(count, each) },
    }
}

unsafe extern "C" fn realloc(old: *mut c_void, bytes: usize, caller: usize) -> *mut c_void {
    let folded = super::size(old as usize);
    let new = if folded.is_some() || old.is_null() { super::allocate(bytes, 1, caller) } else { None };
    match (folded, new) {
        // SAFETY: the C library's own memory, or none.
        (None, None) => unsafe { libc::realloc(old, bytes) },
        (None, Some(new)) => new as *mut c_void,
        (Some(before), new) => {
            // SAFETY: the C library's own; what is kept of the old memory fits into the new.
            let new = new.map_or_else(|| unsafe { libc::malloc(bytes) }, |new| new as *mut c_void);
            if !new.is_null() {
                let (start, length) = (old as usize, before.min(bytes));
                super::kept(start..start + length, &mut |part| {
                    let target = new.wrapping_byte_add(part.start - start).cast::<u8>();
                    // SAFETY: as above.
                    unsafe { ptr::copy_nonoverlapping(part.start as *const u8, target, part.len()) };
                });
                super::free(start);
            }
            new
        }
    }
}

unsafe extern "C" fn reallocarray(old: *mut c_void, count: usize, each: usize, caller: usize) -> *mut c_void {
    match count.checked_mul(each) {
        // SAFETY: as the program called it.
        Some(bytes) => unsafe { realloc(old, bytes, caller) },
        None => ptr::null_mut(),
    }
}

unsafe extern "C" fn aligned_alloc(align: usize, bytes: usize, caller: usize) -> *mut c_void {
    match super::allocate(bytes, align, caller) {
        Some(address) => address as *mut c_void,
        // SAFETY: the C library's own.
        None => unsafe { libc::memalign(align, bytes) },
    }
}

unsafe extern "C" fn posix_memalign(
    place: *mut *mut c_void,
    align: usize,
    bytes: usize,
    caller: usize,
) -> c_int {
    match super::allocate(bytes, align, caller) {
        Some(address) => {
            // SAFETY: the program's place for it.
            unsafe { *place = address as *mut c_void };
            0
        }
        // SAFETY: the C library's own.
        None => unsafe { libc::posix_memalign(place, align, bytes) },
    }
}

unsafe extern "C" fn free(memory: *mut c_void) {
    if !super::free(memory as usize) {
        // SAFETY: the C library's own, or none.
        unsafe { libc::free(memory) };
    }
}

unsafe extern "C" fn usable_size(memory: *mut c_void) -> usize {
    // SAFETY: the C library's own, if it is not folded.
    super::size(memory as usize).unwrap_or_else(|| unsafe { libc::malloc_usable_size(memory) })
}

unsafe extern "C" fn mmap(
    place: *mut c_void,
    bytes: usize,
    access: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    let plain = place.is_null() && flags & !libc::MAP_NORESERVE == libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // A mapping has no caller that is asked for: it is folded if all are.
    let folded = if plain { super::allocate(bytes, 1, 0) } else { None };
    // SAFETY: as the program called it.
    folded.map_or_else(
        || unsafe { libc::mmap(place, bytes, access, flags, file, offset) },
        |at| at as *mut c_void,
    )
}

unsafe extern "C" fn munmap(place: *mut c_void, bytes: usize) -> c_int {
    if super::holds(place as usize) {
        // A part of a region stays until all of it goes.
        super::free(place as usize);
        return 0;
    }
    // SAFETY: as the program called it.
    unsafe { libc::munmap(place, bytes) }
}

/// `hopcast_malloc_partial` of hopcast.h: `count` pairs of numbers say from where to where bytes are private.
///
/// # Safety
/// There are that many pairs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopcast_malloc_partial(
    bytes: usize,
    ranges: *const usize,
    count: c_int,
) -> *mut c_void {
    let range = |index: usize| {
        // SAFETY: the caller says so.
        unsafe { *ranges.add(2 * index)..(*ranges.add(2 * index + 1)).min(bytes) }
    };
    let ranges = (0..usize::try_from(count).unwrap_or(0)).map(range).filter(|range| !range.is_empty());
    match super::allocate_in_parts(bytes, ranges.collect()) {
        Some(address) => address as *mut c_void,
        // SAFETY: the C library's own.
        None => unsafe { libc::malloc(bytes) },
    }
}
