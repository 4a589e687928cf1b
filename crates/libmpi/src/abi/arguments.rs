//! Types of arguments that the functions of MPI share, whatever C calls them.
//!
//! The exported functions convert by `From`, so that `int` and `MPI_Count` counts meet the same function.

use std::ffi::{c_int, c_void};

use super::pointers::{FromProgram, InList, InOutPtr, OutPtr};
use super::status::Status;

/// A list of numbers of the program: `const int[]`, or `const MPI_Count[]` in large-count functions.
#[derive(Debug, Clone, Copy)]
pub enum Numbers<'a> {
    /// List of `int`.
    Short(InList<'a, i32>),
    /// List of `MPI_Count`, or `MPI_Aint`.
    Long(InList<'a, i64>),
}

impl<'a> Numbers<'a> {
    /// Number `index`, below the length that the standard gives the list.
    #[inline]
    pub fn get(self, index: usize) -> i64 {
        match self {
            Numbers::Short(list) => i64::from(list.get(index)),
            Numbers::Long(list) => list.get(index),
        }
    }

    /// All `count` numbers: the length that the standard gives the list.
    pub fn values(self, count: usize) -> impl ExactSizeIterator<Item = i64> + Clone + 'a {
        (0..count).map(move |index| self.get(index))
    }
}

/// Place at which the program wants a number: `int *` or `MPI_Count *`.
#[derive(Debug)]
pub enum NumberOut<'a> {
    /// An `int`.
    Short(OutPtr<'a, i32>),
    /// An `MPI_Count`.
    Long(OutPtr<'a, i64>),
}

impl NumberOut<'_> {
    /// Writes it; what does not fit into an `int` is MPI_UNDEFINED.
    #[inline]
    pub fn set(self, value: i64) {
        match self {
            NumberOut::Short(place) => place.set(short(value)),
            NumberOut::Long(place) => place.set(value),
        }
    }
}

/// Number of the program that a function changes: `int *` or `MPI_Count *`.
#[derive(Debug)]
pub enum NumberInOut<'a> {
    /// An `int`.
    Short(InOutPtr<'a, i32>),
    /// An `MPI_Count`.
    Long(InOutPtr<'a, i64>),
}

impl NumberInOut<'_> {
    /// Number that is there.
    #[inline]
    pub fn get(&self) -> i64 {
        match self {
            NumberInOut::Short(place) => i64::from(**place),
            NumberInOut::Long(place) => **place,
        }
    }

    /// Writes it; what does not fit into an `int` is MPI_UNDEFINED.
    #[inline]
    pub fn set(self, value: i64) {
        match self {
            NumberInOut::Short(mut place) => *place = short(value),
            NumberInOut::Long(mut place) => *place = value,
        }
    }
}

fn short(value: i64) -> i32 {
    i32::try_from(value).unwrap_or(super::UNDEFINED)
}

/// A number that a large-count function takes as `MPI_Count`, its twin as `int`.
#[derive(Debug, Clone, Copy)]
pub struct Count {
    /// The number.
    pub value: i64,
    /// True if a large-count function was called.
    pub large: bool,
}

impl From<c_int> for Count {
    fn from(value: c_int) -> Count {
        Count { value: value.into(), large: false }
    }
}

impl From<i64> for Count {
    fn from(value: i64) -> Count {
        Count { value, large: true }
    }
}

/// A distance in memory \[bytes\]: `MPI_Aint`, or `MPI_Count` in large-count functions.
#[derive(Debug, Clone, Copy)]
pub struct Distance(pub isize);

impl From<isize> for Distance {
    fn from(value: isize) -> Distance {
        Distance(value)
    }
}

impl From<i32> for Distance {
    fn from(value: i32) -> Distance {
        Distance(value as isize)
    }
}

impl From<i64> for Distance {
    fn from(value: i64) -> Distance {
        Distance(value as isize)
    }
}

/// Place of a status, in any language: `MPI_Status *`, `MPI_F08_status *`, `MPI_Fint *`.
#[derive(Debug, Clone, Copy)]
pub struct StatusPlace(pub *mut Status);

macro_rules! status_places {
    ($($pointer:ty)*) => {$(
        impl From<$pointer> for StatusPlace {
            fn from(place: $pointer) -> StatusPlace {
                StatusPlace(place.cast_mut().cast())
            }
        }
    )*};
}

status_places! { *const Status *const c_int *const c_void }

impl<T> From<*mut T> for StatusPlace {
    fn from(place: *mut T) -> StatusPlace {
        StatusPlace(place.cast())
    }
}

macro_rules! conversions {
    ($($from:ty => $to:ident :: $variant:ident;)*) => {$(
        impl FromProgram<$from> for $to<'_> {
            #[inline]
            unsafe fn from_program(value: $from) -> Self {
                // SAFETY: the caller says so.
                Self::$variant(unsafe { FromProgram::from_program(value.cast()) })
            }
        }
    )*};
}

conversions! {
    *const i32 => Numbers::Short;
    *const i64 => Numbers::Long;
    *const isize => Numbers::Long;
    *mut i32 => NumberOut::Short;
    *mut i64 => NumberOut::Long;
    *mut isize => NumberOut::Long;
    *mut i32 => NumberInOut::Short;
    *mut i64 => NumberInOut::Long;
    *mut isize => NumberInOut::Long;
}
