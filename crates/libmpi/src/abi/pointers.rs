//! Pointers of the program: where a function of MPI reads its arguments and writes its results.
//!
//! The program vouches for them once, where an exported function takes its arguments ([`FromProgram`]): a place for
//! a result is writable, a list is as long as the function's other arguments and the standard say, and both stay so until
//! the function returns; or, where the standard says that of an argument, until the operation is complete. Null
//! pointers for results are found here. The functions in `call` read and write through these types, which are named as
//! the standard marks arguments: IN, OUT, INOUT; so that none of them needs `unsafe` for it.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::IN_PLACE;

/// An argument of a function of MPI, made of what the program passes.
pub trait FromProgram<C>: Sized {
    /// Takes the argument.
    ///
    /// # Safety
    /// The program passes it to a function of MPI, and keeps to what the standard says of that argument.
    unsafe fn from_program(value: C) -> Self;
}

/// Numbers, handles and addresses, which promise nothing.
impl<C, T: From<C>> FromProgram<C> for T {
    #[inline]
    unsafe fn from_program(value: C) -> T {
        T::from(value)
    }
}

/// Value of the program that a function reads.
#[derive(Debug)]
pub struct InPtr<'a, T>(*const T, PhantomData<&'a T>);

/// Place of the program for one result.
#[derive(Debug)]
pub struct OutPtr<'a, T>(*mut T, PhantomData<&'a mut T>);

/// Place of the program for a value that is an argument and a result, as the handle of a request.
#[derive(Debug)]
pub struct InOutPtr<'a, T>(*mut T, PhantomData<&'a mut T>);

/// List of values of the program that a function reads.
#[derive(Debug)]
pub struct InList<'a, T>(*const T, PhantomData<&'a T>);

/// List of places of the program for results.
#[derive(Debug)]
pub struct OutList<'a, T>(*mut T, PhantomData<&'a mut T>);

/// List of values of the program that are arguments and results.
#[derive(Debug)]
pub struct InOutList<'a, T>(*mut T, PhantomData<&'a mut T>);

/// Address of a buffer of the program, whose count and datatype are other arguments of the function. The program keeps
/// the buffer until the operation is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address(*mut c_void);

/// Text of the program: zero-terminated, as in C.
#[derive(Debug, Clone, Copy)]
pub struct InText<'a>(*const c_char, PhantomData<&'a CStr>);

/// Place of the program for a text.
#[derive(Debug)]
pub struct OutText<'a>(*mut c_char, PhantomData<&'a mut [u8]>);

macro_rules! taken {
    ($($kind:ident: $($pointer:ty)*;)*) => {$($(
        impl<T> FromProgram<$pointer> for $kind<'_, T> {
            #[inline]
            unsafe fn from_program(pointer: $pointer) -> Self {
                Self(pointer, PhantomData)
            }
        }
    )*)*};
}

taken! {
    InPtr: *const T *mut T;
    OutPtr: *mut T;
    InOutPtr: *mut T;
    InList: *const T *mut T;
    OutList: *mut T;
    InOutList: *mut T;
}

/// Triplets of MPI_Group_range_incl: `int ranges[][3]`.
impl FromProgram<*mut *mut c_int> for InList<'_, [c_int; 3]> {
    #[inline]
    unsafe fn from_program(pointer: *mut *mut c_int) -> Self {
        InList(pointer.cast(), PhantomData)
    }
}

impl FromProgram<*const c_void> for Address {
    #[inline]
    unsafe fn from_program(pointer: *const c_void) -> Self {
        Address(pointer.cast_mut())
    }
}

impl FromProgram<*mut c_void> for Address {
    #[inline]
    unsafe fn from_program(pointer: *mut c_void) -> Self {
        Address(pointer)
    }
}

impl Address {
    /// MPI_BOTTOM, and what is not given.
    pub const NULL: Address = Address(std::ptr::null_mut());

    /// True for a null pointer, which is MPI_BOTTOM, too.
    #[inline]
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// True for MPI_IN_PLACE.
    #[inline]
    pub fn is_in_place(self) -> bool {
        self.0 as usize == IN_PLACE
    }

    /// Address of another value of the buffer, `bytes` further on.
    #[inline]
    pub fn offset(self, bytes: isize) -> Address {
        Address(self.0.wrapping_byte_offset(bytes))
    }

    /// Pointer for what reads or writes the buffer.
    #[inline]
    pub fn pointer(self) -> *mut c_void {
        self.0
    }
}

impl FromProgram<*const c_char> for InText<'_> {
    #[inline]
    unsafe fn from_program(pointer: *const c_char) -> Self {
        InText(pointer, PhantomData)
    }
}

impl FromProgram<*mut c_char> for OutText<'_> {
    #[inline]
    unsafe fn from_program(pointer: *mut c_char) -> Self {
        OutText(pointer, PhantomData)
    }
}

macro_rules! nullable {
    ($($kind:ident)*) => {$(
        impl<T> $kind<'_, T> {
            /// True if the program passes a null pointer.
            #[inline]
            pub fn is_null(&self) -> bool {
                self.0.is_null()
            }
        }
    )*};
}

nullable! { OutPtr InOutPtr InList OutList }

macro_rules! copied {
    ($($kind:ident)*) => {$(
        impl<T> Clone for $kind<'_, T> {
            #[inline]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $kind<'_, T> {}
    )*};
}

copied! { InPtr OutPtr InList OutList }

impl<T> Deref for InPtr<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the program vouches for the value (`FromProgram`).
        unsafe { &*self.0 }
    }
}

impl<'a, T> OutPtr<'a, T> {
    /// Place for a result of one function of ours that another one takes.
    #[inline]
    pub fn of(value: &'a mut T) -> OutPtr<'a, T> {
        OutPtr(value, PhantomData)
    }

    /// Writes the result; a null pointer wants none.
    #[inline]
    pub fn set(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the program vouches for the place (`FromProgram`), or it is ours (`OutPtr::of`).
            unsafe { self.0.write(value) };
        }
    }

    /// Changes what is there, if anything is.
    #[inline]
    pub fn change(self, change: impl FnOnce(&mut T)) {
        // SAFETY: as in `set`.
        if let Some(value) = unsafe { self.0.as_mut() } {
            change(value);
        }
    }
}

impl<'a> OutPtr<'a, c_void> {
    /// Place of the type that the standard gives the value behind a `void *`.
    #[inline]
    pub fn of_type<T>(self) -> OutPtr<'a, T> {
        OutPtr(self.0.cast(), PhantomData)
    }
}

impl<'a, T> InOutPtr<'a, T> {
    /// Value of ours that stands for one of the program.
    #[inline]
    pub fn of(value: &'a mut T) -> InOutPtr<'a, T> {
        InOutPtr(value, PhantomData)
    }

    /// List of this value alone.
    #[inline]
    pub fn list(&mut self) -> InOutList<'_, T> {
        InOutList(self.0, PhantomData)
    }
}

impl<T> Deref for InOutPtr<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the program vouches for the value (`FromProgram`).
        unsafe { &*self.0 }
    }
}

impl<T> DerefMut for InOutPtr<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the program vouches for the value (`FromProgram`).
        unsafe { &mut *self.0 }
    }
}

impl<'a, T: Copy> InList<'a, T> {
    /// Values of ours that stand for a list of the program.
    #[inline]
    pub fn of(values: &'a [T]) -> InList<'a, T> {
        InList(values.as_ptr(), PhantomData)
    }

    /// Value `index`, below the length that the standard gives the list.
    #[inline]
    pub fn get(self, index: usize) -> T {
        // SAFETY: the program vouches for a list of that length (`FromProgram`).
        unsafe { *self.0.add(index) }
    }

    /// All `count` values: the length that the standard gives the list.
    #[inline]
    pub fn values(self, count: usize) -> impl ExactSizeIterator<Item = T> + Clone + 'a
    where
        T: 'a,
    {
        (0..count).map(move |index| self.get(index))
    }

    /// Address of the list, which the standard gives a meaning of its own for some lists.
    #[inline]
    pub fn address(self) -> usize {
        self.0 as usize
    }
}

impl<'a, T> OutList<'a, T> {
    /// List of nothing, for a function whose caller wants no results.
    pub const NONE: OutList<'a, T> = OutList(std::ptr::null_mut(), PhantomData);

    /// Place `index`, below the length that the standard gives the list; a null pointer has no places.
    #[inline]
    pub fn at(self, index: usize) -> OutPtr<'a, T> {
        let place = if self.0.is_null() { self.0 } else { self.0.wrapping_add(index) };
        OutPtr(place, PhantomData)
    }

    /// Address of the list, which the standard gives a meaning of its own for some lists.
    #[inline]
    pub fn address(self) -> usize {
        self.0 as usize
    }
}

impl<'a, T> InOutList<'a, T> {
    /// Values of ours that stand for a list of the program.
    #[inline]
    pub fn of(values: &'a mut [T]) -> InOutList<'a, T> {
        InOutList(values.as_mut_ptr(), PhantomData)
    }

    /// All `count` values: the length that the standard gives the list. An empty list may be anywhere.
    #[inline]
    pub fn values(self, count: usize) -> &'a mut [T] {
        if count == 0 {
            return &mut [];
        }
        // SAFETY: the program vouches for a list of that length (`FromProgram`).
        unsafe { std::slice::from_raw_parts_mut(self.0, count) }
    }
}

impl<'a> InText<'a> {
    /// The text without its end; `None` for a null pointer.
    pub fn bytes(self) -> Option<&'a [u8]> {
        // SAFETY: not null, and the program vouches for its end (`FromProgram`).
        (!self.0.is_null()).then(|| unsafe { CStr::from_ptr(self.0) }.to_bytes())
    }
}

impl OutText<'_> {
    /// True if the program passes a null pointer.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Writes as much of a text as there is `room` for with its end, and gives its length without it.
    /// `room`: what the program says, or else what the standard names.
    pub fn set(self, text: &[u8], room: usize) -> usize {
        let count = text.len().min(room.saturating_sub(1));
        if room > 0 {
            // SAFETY: the program vouches for that much room (`FromProgram`).
            unsafe {
                self.0.copy_from_nonoverlapping(text.as_ptr().cast(), count);
                *self.0.add(count) = 0;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place as the program passes it.
    fn passed<C, T: FromProgram<C>>(pointer: C) -> T {
        // SAFETY: the tests pass pointers to variables that outlive their use, or null.
        unsafe { T::from_program(pointer) }
    }

    #[test]
    fn a_null_pointer_wants_no_result() {
        passed::<_, OutPtr<i32>>(std::ptr::null_mut::<i32>()).set(7);
        passed::<_, OutList<i32>>(std::ptr::null_mut::<i32>()).at(3).set(7);
        assert_eq!(passed::<_, InText>(std::ptr::null::<c_char>()).bytes(), None);
    }

    #[test]
    fn results_stand_where_the_program_wants_them() {
        let mut list = [1, 2, 3];
        passed::<_, OutList<i32>>(list.as_mut_ptr()).at(2).set(9);
        passed::<_, InOutList<i32>>(list.as_mut_ptr()).values(2)[0] += 4;
        assert_eq!(list, [5, 2, 9]);
        assert_eq!(InList::of(&list).values(3).sum::<i32>(), 16);
    }

    /// A text has its end within the room, and room of nothing is not written.
    #[test]
    fn a_text_is_cut_to_its_room() {
        for (room, length, written) in [(0, 0, "....."), (1, 0, "\0...."), (3, 2, "ab\0.."), (9, 3, "abc\0.")]
        {
            let mut place = *b".....";
            let text: OutText = passed(place.as_mut_ptr().cast::<c_char>());
            assert_eq!(text.set(b"abc", room), length, "{room}");
            assert_eq!(place, written.as_bytes(), "{room}");
        }
    }
}
