//! Prefetches memory that will be needed soon: the one place outside `libmpi` and `recorder` with `unsafe`.
//!
//! The reason: large networks do not fit into the caches next to a core, an event touches some five lines of them,
//! and the events of the next nanoseconds are known. A prefetch reads nothing, changes nothing and never faults,
//! whatever the address, yet its intrinsic takes a pointer, so the language calls it unsafe.

/// Prefetches the element `index` of `all` into the first-level cache, on processors that can. Has no effect on
/// results.
#[inline(always)]
pub fn prefetch<T>(all: &[T], index: usize) {
    if let Some(element) = all.get(index) {
        prefetch_line(element, 0);
    }
}

/// Prefetches the first `bytes` of `value`, or all of it if it is smaller.
#[inline(always)]
pub fn prefetch_start<T>(value: &T, bytes: usize) {
    const LINE: usize = 64;
    for offset in (0..bytes.min(size_of::<T>())).step_by(LINE) {
        prefetch_line(value, offset);
    }
}

/// Prefetches the cache line at `offset` \[bytes\] into `value`.
#[inline(always)]
fn prefetch_line<T>(value: &T, offset: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = std::ptr::from_ref(value).cast::<i8>().wrapping_add(offset);
        #[expect(unsafe_code, reason = "a prefetch takes a pointer")]
        // SAFETY: a prefetch may be given any address, and this one is within a live value.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(line);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (value, offset);
}
