//! Predefined datatypes: their sizes, and what their elements are for reductions.
//!
//! Source of the numbers: MPI 5.0, chapter 20; sizes are those of C and Fortran on x86-64 Linux.

use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::Datatype;

/// What the elements of a datatype are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// Signed, of so many bytes.
    Signed(u8),
    /// Unsigned, of so many bytes.
    Unsigned(u8),
    /// Floating point, of so many bytes: 4, 8, or the 16 of `long double`.
    Float(u8),
    /// Two floating-point numbers of so many bytes each.
    Complex(u8),
    /// True or false, of so many bytes.
    Logical(u8),
    /// Bits alone.
    Byte,
    /// No arithmetic: characters, packed data.
    Plain,
    /// A number and a place, for MPI_MINLOC and MPI_MAXLOC.
    Pair(Number),
}

/// The kinds of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Number {
    FloatInt,
    DoubleInt,
    LongInt,
    TwoInt,
    ShortInt,
    LongDoubleInt,
    TwoReal,
    TwoDouble,
}

/// How values of a datatype lie in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of data in one.
    pub size: usize,
    /// Where one begins, from its address \[bytes\].
    pub lower: isize,
    /// From one to the next \[bytes\].
    pub extent: isize,
    /// What it is made of.
    pub element: Element,
    /// Where its data is, in the order of messages; `None` where that is all of the extent.
    pub blocks: Option<Rc<[Block]>>,
}

/// Bytes that lie together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Where, from the address of the value \[bytes\].
    pub at: isize,
    /// How long \[bytes\].
    pub bytes: usize,
}

use Element::{Byte, Complex, Float, Logical, Pair, Plain, Signed, Unsigned};

/// Handle, name, size \[bytes\], element.
const PREDEFINED: &[(usize, &str, usize, Element)] = &[
    (0x201, "MPI_AINT", 8, Signed(8)),
    (0x202, "MPI_COUNT", 8, Signed(8)),
    (0x203, "MPI_OFFSET", 8, Signed(8)),
    (0x207, "MPI_PACKED", 1, Plain),
    (0x208, "MPI_SHORT", 2, Signed(2)),
    (0x209, "MPI_INT", 4, Signed(4)),
    (0x20a, "MPI_LONG", 8, Signed(8)),
    (0x20b, "MPI_LONG_LONG", 8, Signed(8)),
    (0x20c, "MPI_UNSIGNED_SHORT", 2, Unsigned(2)),
    (0x20d, "MPI_UNSIGNED", 4, Unsigned(4)),
    (0x20e, "MPI_UNSIGNED_LONG", 8, Unsigned(8)),
    (0x20f, "MPI_UNSIGNED_LONG_LONG", 8, Unsigned(8)),
    (0x210, "MPI_FLOAT", 4, Float(4)),
    (0x212, "MPI_C_FLOAT_COMPLEX", 8, Complex(4)),
    (0x213, "MPI_CXX_FLOAT_COMPLEX", 8, Complex(4)),
    (0x214, "MPI_DOUBLE", 8, Float(8)),
    (0x216, "MPI_C_DOUBLE_COMPLEX", 16, Complex(8)),
    (0x217, "MPI_CXX_DOUBLE_COMPLEX", 16, Complex(8)),
    (0x218, "MPI_LOGICAL", 4, Logical(4)),
    (0x219, "MPI_INTEGER", 4, Signed(4)),
    (0x21a, "MPI_REAL", 4, Float(4)),
    (0x21b, "MPI_COMPLEX", 8, Complex(4)),
    (0x21c, "MPI_DOUBLE_PRECISION", 8, Float(8)),
    (0x21d, "MPI_DOUBLE_COMPLEX", 16, Complex(8)),
    (0x220, "MPI_LONG_DOUBLE", 16, Float(16)),
    (0x224, "MPI_C_LONG_DOUBLE_COMPLEX", 32, Complex(16)),
    (0x225, "MPI_CXX_LONG_DOUBLE_COMPLEX", 32, Complex(16)),
    (0x228, "MPI_FLOAT_INT", 8, Pair(Number::FloatInt)),
    (0x229, "MPI_DOUBLE_INT", 12, Pair(Number::DoubleInt)),
    (0x22a, "MPI_LONG_INT", 12, Pair(Number::LongInt)),
    (0x22b, "MPI_2INT", 8, Pair(Number::TwoInt)),
    (0x22c, "MPI_SHORT_INT", 6, Pair(Number::ShortInt)),
    (0x22d, "MPI_LONG_DOUBLE_INT", 20, Pair(Number::LongDoubleInt)),
    (0x230, "MPI_2REAL", 8, Pair(Number::TwoReal)),
    (0x231, "MPI_2DOUBLE_PRECISION", 16, Pair(Number::TwoDouble)),
    (0x232, "MPI_2INTEGER", 8, Pair(Number::TwoInt)),
    (0x238, "MPI_C_BOOL", 1, Logical(1)),
    (0x239, "MPI_CXX_BOOL", 1, Logical(1)),
    (0x23c, "MPI_WCHAR", 4, Plain),
    (0x240, "MPI_INT8_T", 1, Signed(1)),
    (0x241, "MPI_UINT8_T", 1, Unsigned(1)),
    (0x243, "MPI_CHAR", 1, Plain),
    (0x21e, "MPI_CHARACTER", 1, Plain),
    (0x244, "MPI_SIGNED_CHAR", 1, Signed(1)),
    (0x245, "MPI_UNSIGNED_CHAR", 1, Unsigned(1)),
    (0x247, "MPI_BYTE", 1, Byte),
    (0x248, "MPI_INT16_T", 2, Signed(2)),
    (0x249, "MPI_UINT16_T", 2, Unsigned(2)),
    (0x250, "MPI_INT32_T", 4, Signed(4)),
    (0x251, "MPI_UINT32_T", 4, Unsigned(4)),
    (0x258, "MPI_INT64_T", 8, Signed(8)),
    (0x259, "MPI_UINT64_T", 8, Unsigned(8)),
    (0x2c0, "MPI_LOGICAL1", 1, Logical(1)),
    (0x2c1, "MPI_INTEGER1", 1, Signed(1)),
    (0x2c8, "MPI_LOGICAL2", 2, Logical(2)),
    (0x2c9, "MPI_INTEGER2", 2, Signed(2)),
    (0x2d0, "MPI_LOGICAL4", 4, Logical(4)),
    (0x2d1, "MPI_INTEGER4", 4, Signed(4)),
    (0x2d2, "MPI_REAL4", 4, Float(4)),
    (0x2d8, "MPI_LOGICAL8", 8, Logical(8)),
    (0x2d9, "MPI_INTEGER8", 8, Signed(8)),
    (0x2da, "MPI_REAL8", 8, Float(8)),
    (0x2db, "MPI_COMPLEX8", 8, Complex(4)),
    (0x2e3, "MPI_COMPLEX16", 16, Complex(8)),
];

/// Handles of predefined datatypes begin here, and there are fewer than 256.
const FIRST: usize = 0x200;

/// Size and element of each by its handle: every call looks for one.
const KINDS: [Option<(usize, Element)>; 256] = {
    let mut kinds = [None; 256];
    let mut row = 0;
    while row < PREDEFINED.len() {
        let (handle, _, size, element) = PREDEFINED[row];
        kinds[handle - FIRST] = Some((size, element));
        row += 1;
    }
    kinds
};

/// Handle and name of each predefined datatype.
pub fn predefined() -> impl Iterator<Item = (usize, &'static str)> {
    PREDEFINED.iter().map(|row| (row.0, row.1))
}

#[cold]
fn unknown(datatype: Datatype) -> Error {
    match datatype {
        Datatype::NULL => Error::new(Class::TYPE, "MPI_DATATYPE_NULL"),
        Datatype(other) => Error::new(Class::TYPE, format!("{other:#x} is not a datatype")),
    }
}

impl Layout {
    /// Of a predefined datatype.
    #[inline]
    pub fn of_predefined(datatype: Datatype) -> Answer<Layout> {
        static TABLE: [Option<(usize, Element)>; 256] = KINDS;
        match datatype.0.checked_sub(FIRST).and_then(|place| *TABLE.get(place)?) {
            Some((size, element)) => {
                Ok(Layout { size, lower: 0, extent: extent(size, element), element, blocks: None })
            }
            None => Err(unknown(datatype)),
        }
    }

    /// Length of `count` values as a message \[bytes\].
    pub fn bytes(&self, count: i64) -> Answer<u64> {
        match u64::try_from(count) {
            Ok(count) => Ok(count * self.size as u64),
            Err(_) => Err(Error::new(Class::COUNT, format!("a count of 0 or more, not {count}"))),
        }
    }

    /// Length of one value as its contents travel \[bytes\]: pairs travel with the room at their end.
    pub fn packed(&self) -> usize {
        match &self.blocks {
            Some(blocks) => blocks.iter().map(|block| block.bytes).sum(),
            None => self.extent as usize,
        }
    }

    /// The contents of `count` values at `buffer`, as a message carries them.
    ///
    /// # Safety
    /// There are that many at `buffer`, which the program gives as one to send from.
    #[inline]
    pub unsafe fn pack(&self, buffer: *const c_void, count: i64) -> Box<[u8]> {
        let mut contents = Vec::with_capacity(self.packed() * count.max(0) as usize);
        // SAFETY: the caller says so.
        unsafe { self.append(buffer, count, &mut contents) };
        contents.into_boxed_slice()
    }

    /// Appends the contents of `count` values at `buffer`.
    ///
    /// # Safety
    /// As for `pack`.
    pub unsafe fn append(&self, buffer: *const c_void, count: i64, contents: &mut Vec<u8>) {
        let count = usize::try_from(count).unwrap_or(0);
        let mut take = |at: isize, bytes: usize| {
            let from = buffer.wrapping_byte_offset(at).cast::<u8>();
            // SAFETY: the caller says so; nothing is read where there are no bytes.
            contents.extend_from_slice(unsafe { std::slice::from_raw_parts(from, bytes) });
        };
        match &self.blocks {
            None if count * self.packed() > 0 => take(0, count * self.packed()),
            None => {}
            Some(blocks) => {
                for index in 0..count as isize {
                    blocks.iter().for_each(|block| take(index * self.extent + block.at, block.bytes));
                }
            }
        }
    }

    /// Puts the contents of a message into values at `buffer`.
    ///
    /// # Safety
    /// There is room for them at `buffer`, which the program gives as one to receive into.
    pub unsafe fn unpack(&self, mut contents: &[u8], buffer: *mut c_void) {
        let mut put = |at: isize, bytes: usize| {
            let (now, rest) = contents.split_at(bytes.min(contents.len()));
            // SAFETY: the caller says so. The program may have sent from the same memory.
            unsafe { ptr::copy(now.as_ptr(), buffer.wrapping_byte_offset(at).cast(), now.len()) };
            contents = rest;
            !contents.is_empty()
        };
        match &self.blocks {
            None => {
                put(0, usize::MAX);
            }
            Some(blocks) if self.packed() > 0 => {
                let mut index = 0;
                while blocks.iter().all(|block| put(index * self.extent + block.at, block.bytes)) {
                    index += 1;
                }
            }
            Some(_) => {}
        }
    }
}

/// From one value to the next: pairs are structures of C, with room at their end.
fn extent(size: usize, element: Element) -> isize {
    match element {
        Pair(Number::DoubleInt | Number::LongInt) => 16,
        Pair(Number::ShortInt) => 8,
        Pair(Number::LongDoubleInt) => 32,
        _ => size as isize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The structures of C that MPI's pairs stand for.
    #[test]
    fn pairs_have_the_extent_of_their_structure() {
        let extent = |handle| Layout::of_predefined(Datatype(handle)).unwrap().extent;
        #[repr(C)]
        struct OfDouble(f64, i32);
        #[repr(C)]
        struct OfShort(i16, i32);
        assert_eq!(extent(0x229), size_of::<OfDouble>() as isize);
        assert_eq!(extent(0x22c), size_of::<OfShort>() as isize);
        assert_eq!(extent(0x22b), 8);
    }

    #[test]
    fn what_is_none_is_named() {
        assert_eq!(Layout::of_predefined(Datatype::NULL).unwrap_err().class, Class::TYPE);
        assert!(Layout::of_predefined(Datatype(0x1000)).unwrap_err().reason.contains("0x1000"));
        assert_eq!(Layout::of_predefined(Datatype::BYTE).unwrap().bytes(-1).unwrap_err().class, Class::COUNT);
    }
}
