//! Asks the processor for memory that will be needed soon: the one place outside `libmpi` with `unsafe`.
//!
//! The reason: large networks do not fit into the caches next to a core, an event touches some five lines
//! of them, and the events of the next nanoseconds are known. A prefetch reads nothing, changes nothing and
//! never faults, whatever the address, yet its intrinsic takes a pointer, so the language calls it unsafe.

/// Brings the element `index` of `all` towards the first-level cache, where there is one and the processor
/// can. Without effect on what the program does.
#[inline(always)]
pub fn prefetch<T>(all: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = all.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        #[expect(unsafe_code, reason = "a prefetch takes a pointer")]
        // SAFETY: a prefetch may be given any address, and this one is that of a live element.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (all, index);
}
