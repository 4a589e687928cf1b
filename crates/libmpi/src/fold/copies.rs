//! The copies of vectors of BLAS, in programs that fold memory: those of shared blocks are left out.
//!
//! The contents of a shared block have no meaning, and neither have those of a copy. A row of a matrix touches a page for
//! each of its elements: HPL's pivot search copies one row for each column, a tenth of the processor time of a simulation with
//! N = 100,000 on 256 ranks. All other copies are made, here and not in a rank's own copy of the library, so that the code
//! is in the caches when the next rank calls it.

use std::ffi::c_void;
use std::ptr;

use crate::loader::{Hook, interception};

/// The functions of this file, by the names that they stand for, without those that are kernels by model.
pub fn hooks() -> Vec<Hook> {
    let all: [(&'static str, *const c_void); 8] = [
        ("cblas_scopy", copy::<u32> as *const c_void),
        ("cblas_dcopy", copy::<u64> as *const c_void),
        ("cblas_ccopy", copy::<u64> as *const c_void),
        ("cblas_zcopy", copy::<[u64; 2]> as *const c_void),
        ("scopy_", fortran_copy::<u32> as *const c_void),
        ("dcopy_", fortran_copy::<u64> as *const c_void),
        ("ccopy_", fortran_copy::<u64> as *const c_void),
        ("zcopy_", fortran_copy::<[u64; 2]> as *const c_void),
    ];
    let plain = all.into_iter().filter(|(name, _)| interception::named(name).is_none());
    plain.map(|(name, function)| Hook::own(name, function)).collect()
}

/// `cblas_dcopy` and its like, for elements of the size of `T`.
unsafe extern "C" fn copy<T: Copy>(count: i32, from: *const T, step: i32, to: *mut T, to_step: i32) {
    if count <= 0 || super::is_shared(from as usize) || super::is_shared(to as usize) {
        return;
    }
    if (step, to_step) == (1, 1) {
        let bytes = count as usize * size_of::<T>();
        // SAFETY: as the program called it.
        return unsafe { ptr::copy(from.cast::<u8>(), to.cast(), bytes) };
    }
    let (from, to) = (from.wrapping_offset(first(count, step)), to.wrapping_offset(first(count, to_step)));
    for index in 0..count as isize {
        let (from, to) =
            (from.wrapping_offset(index * step as isize), to.wrapping_offset(index * to_step as isize));
        // SAFETY: as the program called it; BLAS asks for no alignment beyond that of an element's parts.
        unsafe { to.write_unaligned(from.read_unaligned()) };
    }
}

/// Place of the first element: with a step below zero, a vector is passed from its end.
fn first(count: i32, step: i32) -> isize {
    if step < 0 { (1 - count as isize) * step as isize } else { 0 }
}

/// `dcopy_` and its like.
unsafe extern "C" fn fortran_copy<T: Copy>(
    count: *const i32,
    from: *const T,
    step: *const i32,
    to: *mut T,
    to_step: *const i32,
) {
    // SAFETY: as the program called it.
    unsafe { copy(*count, from, *step, to, *to_step) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference BLAS: element i of a vector with step s < 0 is at (1 - n + i) s.
    #[test]
    fn elements_are_where_blas_says() {
        let from = [1_u64, 2, 3, 4, 5, 6];
        for (count, step, to_step, expected) in [
            (3, 1, 1, [1, 2, 3, 0, 0, 0]),
            (3, 2, 1, [1, 3, 5, 0, 0, 0]),
            (3, -1, 1, [3, 2, 1, 0, 0, 0]),
            (3, 1, -2, [3, 0, 2, 0, 1, 0]),
            (2, 0, 1, [1, 1, 0, 0, 0, 0]),
            (0, 1, 1, [0; 6]),
            (-1, 1, 1, [0; 6]),
        ] {
            let (mut one, mut other) = ([0; 6], [0; 6]);
            // SAFETY: the elements lie in the arrays.
            unsafe {
                copy(count, from.as_ptr(), step, one.as_mut_ptr(), to_step);
                fortran_copy(&count, from.as_ptr(), &step, other.as_mut_ptr(), &to_step);
            }
            assert_eq!((one, other), (expected, expected), "{count} {step} {to_step}");
        }
    }
}
