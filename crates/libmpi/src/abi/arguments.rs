//! Types of arguments that the functions of MPI share, whatever C calls them.
//!
//! The exported functions convert by `From`, so that `int` and `MPI_Count` counts meet the same function.

use std::ffi::{c_int, c_void};

use super::status::Status;

/// A list of numbers of the program: `const int[]`, or `const MPI_Count[]` in large-count functions.
#[derive(Debug, Clone, Copy)]
pub enum Numbers {
    /// List of `int`.
    Short(*const i32),
    /// List of `MPI_Count`, or `MPI_Aint`.
    Long(*const i64),
}

impl Numbers {
    /// Number `index`.
    ///
    /// # Safety
    /// The program's list has more than `index` numbers.
    pub unsafe fn get(self, index: usize) -> i64 {
        // SAFETY: the caller says so.
        unsafe {
            match self {
                Numbers::Short(list) => i64::from(*list.add(index)),
                Numbers::Long(list) => *list.add(index),
            }
        }
    }
}

/// Place at which the program wants a number: `int *` or `MPI_Count *`.
#[derive(Debug, Clone, Copy)]
pub enum NumberOut {
    /// An `int`.
    Short(*mut i32),
    /// An `MPI_Count`.
    Long(*mut i64),
}

impl NumberOut {
    /// Number that is there.
    ///
    /// # Safety
    /// The pointer is the program's place for it.
    pub unsafe fn get(self) -> i64 {
        // SAFETY: the caller says so.
        unsafe {
            match self {
                NumberOut::Short(place) => i64::from(*place),
                NumberOut::Long(place) => *place,
            }
        }
    }

    /// Writes it; what does not fit into an `int` is MPI_UNDEFINED.
    ///
    /// # Safety
    /// The pointer is the program's place for it.
    pub unsafe fn set(self, value: i64) {
        // SAFETY: the caller says so.
        unsafe {
            match self {
                NumberOut::Short(place) => *place = i32::try_from(value).unwrap_or(super::UNDEFINED),
                NumberOut::Long(place) => *place = value,
            }
        }
    }
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
        impl From<$from> for $to {
            fn from(value: $from) -> $to {
                $to::$variant(value.cast())
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
}
