//! Predefined datatypes: their names, sizes, and what their elements are.
//!
//! Source of the numbers: MPI 5.0, chapter 20; sizes and alignments are those of C and Fortran (gfortran) on x86-64 Linux.

use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::Datatype;

/// Kind of the elements of a datatype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// Signed, of so many bytes.
    Signed(u8),
    /// Unsigned, of so many bytes.
    Unsigned(u8),
    /// Floating point.
    Float(Width),
    /// Two floating-point numbers.
    Complex(Width),
    /// True or false, of so many bytes.
    Logical(u8),
    /// Bits alone.
    Byte,
    /// A character of so many bytes.
    Character(u8),
    /// Packed data.
    Packed,
    /// A number and a place, for MPI_MINLOC and MPI_MAXLOC: where the place begins in memory \[bytes\].
    Pair(Number, u8),
    /// Nothing: a bound of a structure, of MPI 1.
    Marker,
}

/// Formats of floating-point numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// IEEE binary16: 2 bytes.
    Half,
    /// IEEE binary32: 4 bytes.
    Single,
    /// IEEE binary64: 8 bytes.
    Double,
    /// `long double`: 80 bits in 16 bytes.
    Extended,
    /// IEEE binary128: 16 bytes.
    Quad,
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

/// A predefined datatype: its row in the table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Basic(u8);

impl std::fmt::Debug for Basic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

use Element::{Byte, Character, Complex, Float, Logical, Marker, Packed, Pair, Signed, Unsigned};
use Width::{Double, Extended, Half, Quad, Single};

/// Handle, name, size \[bytes\], element.
const PREDEFINED: &[(usize, &str, usize, Element)] = &[
    (0x201, "MPI_AINT", 8, Signed(8)),
    (0x202, "MPI_COUNT", 8, Signed(8)),
    (0x203, "MPI_OFFSET", 8, Signed(8)),
    (0x207, "MPI_PACKED", 1, Packed),
    (0x208, "MPI_SHORT", 2, Signed(2)),
    (0x209, "MPI_INT", 4, Signed(4)),
    (0x20a, "MPI_LONG", 8, Signed(8)),
    (0x20b, "MPI_LONG_LONG", 8, Signed(8)),
    (0x20c, "MPI_UNSIGNED_SHORT", 2, Unsigned(2)),
    (0x20d, "MPI_UNSIGNED", 4, Unsigned(4)),
    (0x20e, "MPI_UNSIGNED_LONG", 8, Unsigned(8)),
    (0x20f, "MPI_UNSIGNED_LONG_LONG", 8, Unsigned(8)),
    (0x210, "MPI_FLOAT", 4, Float(Single)),
    (0x212, "MPI_C_FLOAT_COMPLEX", 8, Complex(Single)),
    (0x213, "MPI_CXX_FLOAT_COMPLEX", 8, Complex(Single)),
    (0x214, "MPI_DOUBLE", 8, Float(Double)),
    (0x216, "MPI_C_DOUBLE_COMPLEX", 16, Complex(Double)),
    (0x217, "MPI_CXX_DOUBLE_COMPLEX", 16, Complex(Double)),
    (0x218, "MPI_LOGICAL", 4, Logical(4)),
    (0x219, "MPI_INTEGER", 4, Signed(4)),
    (0x21a, "MPI_REAL", 4, Float(Single)),
    (0x21b, "MPI_COMPLEX", 8, Complex(Single)),
    (0x21c, "MPI_DOUBLE_PRECISION", 8, Float(Double)),
    (0x21d, "MPI_DOUBLE_COMPLEX", 16, Complex(Double)),
    (0x21e, "MPI_CHARACTER", 1, Character(1)),
    (0x220, "MPI_LONG_DOUBLE", 16, Float(Extended)),
    (0x224, "MPI_C_LONG_DOUBLE_COMPLEX", 32, Complex(Extended)),
    (0x225, "MPI_CXX_LONG_DOUBLE_COMPLEX", 32, Complex(Extended)),
    (0x228, "MPI_FLOAT_INT", 8, Pair(Number::FloatInt, 4)),
    (0x229, "MPI_DOUBLE_INT", 12, Pair(Number::DoubleInt, 8)),
    (0x22a, "MPI_LONG_INT", 12, Pair(Number::LongInt, 8)),
    (0x22b, "MPI_2INT", 8, Pair(Number::TwoInt, 4)),
    (0x22c, "MPI_SHORT_INT", 6, Pair(Number::ShortInt, 4)),
    (0x22d, "MPI_LONG_DOUBLE_INT", 20, Pair(Number::LongDoubleInt, 16)),
    (0x230, "MPI_2REAL", 8, Pair(Number::TwoReal, 4)),
    (0x231, "MPI_2DOUBLE_PRECISION", 16, Pair(Number::TwoDouble, 8)),
    (0x232, "MPI_2INTEGER", 8, Pair(Number::TwoInt, 4)),
    (0x238, "MPI_C_BOOL", 1, Logical(1)),
    (0x239, "MPI_CXX_BOOL", 1, Logical(1)),
    (0x23c, "MPI_WCHAR", 4, Character(4)),
    (0x240, "MPI_INT8_T", 1, Signed(1)),
    (0x241, "MPI_UINT8_T", 1, Unsigned(1)),
    (0x243, "MPI_CHAR", 1, Character(1)),
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
    (0x2ca, "MPI_REAL2", 2, Float(Half)),
    (0x2d0, "MPI_LOGICAL4", 4, Logical(4)),
    (0x2d1, "MPI_INTEGER4", 4, Signed(4)),
    (0x2d2, "MPI_REAL4", 4, Float(Single)),
    (0x2d3, "MPI_COMPLEX4", 4, Complex(Half)),
    (0x2d8, "MPI_LOGICAL8", 8, Logical(8)),
    (0x2d9, "MPI_INTEGER8", 8, Signed(8)),
    (0x2da, "MPI_REAL8", 8, Float(Double)),
    (0x2db, "MPI_COMPLEX8", 8, Complex(Single)),
    (0x2e0, "MPI_LOGICAL16", 16, Logical(16)),
    (0x2e1, "MPI_INTEGER16", 16, Signed(16)),
    (0x2e2, "MPI_REAL16", 16, Float(Quad)),
    (0x2e3, "MPI_COMPLEX16", 16, Complex(Double)),
    (0x2eb, "MPI_COMPLEX32", 32, Complex(Quad)),
    // Removed by MPI 3.0: the numbers are our own.
    (0x2fe, "MPI_LB", 0, Marker),
    (0x2ff, "MPI_UB", 0, Marker),
];

/// Handles of predefined datatypes begin here, and there are fewer than 256.
const FIRST: usize = 0x200;

/// The row of each by its handle, from 1 on; 0 is none.
static ROWS: [u8; 256] = {
    let mut rows = [0; 256];
    let mut row = 0;
    while row < PREDEFINED.len() {
        rows[PREDEFINED[row].0 - FIRST] = row as u8 + 1;
        row += 1;
    }
    rows
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

impl Basic {
    /// The predefined datatype of a handle.
    #[inline]
    pub fn of(datatype: Datatype) -> Answer<Basic> {
        match datatype.0.checked_sub(FIRST).and_then(|place| ROWS.get(place)) {
            Some(row) if *row > 0 => Ok(Basic(row - 1)),
            _ => Err(unknown(datatype)),
        }
    }

    fn row(self) -> &'static (usize, &'static str, usize, Element) {
        &PREDEFINED[usize::from(self.0)]
    }

    /// Its handle.
    pub fn handle(self) -> Datatype {
        Datatype(self.row().0)
    }

    /// "MPI_DOUBLE".
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Bytes of data in one.
    #[inline]
    pub fn size(self) -> usize {
        self.row().2
    }

    /// Kind of its elements.
    #[inline]
    pub fn element(self) -> Element {
        self.row().3
    }

    /// From one to the next \[bytes\]: pairs are structures of C, with room between their parts and at their end.
    #[inline]
    pub fn extent(self) -> usize {
        match self.element() {
            Pair(..) => self.size().next_multiple_of(self.alignment()),
            _ => self.size(),
        }
    }

    /// In structures of C \[bytes\].
    pub fn alignment(self) -> usize {
        match self.element() {
            Complex(_) => self.size() / 2,
            Pair(_, place) => place.into(),
            Marker => 1,
            _ => self.size(),
        }
    }

    /// The number and the place of a pair.
    pub fn parts(self) -> Option<[Basic; 2]> {
        let Pair(number, _) = self.element() else { return None };
        let parts = match number {
            Number::FloatInt => [0x210, 0x209],
            Number::DoubleInt => [0x214, 0x209],
            Number::LongInt => [0x20a, 0x209],
            Number::TwoInt => [0x209, 0x209],
            Number::ShortInt => [0x208, 0x209],
            Number::LongDoubleInt => [0x220, 0x209],
            Number::TwoReal => [0x21a, 0x21a],
            Number::TwoDouble => [0x21c, 0x21c],
        };
        Some(parts.map(|handle| Basic(ROWS[handle - FIRST] - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The structures of C that MPI's pairs stand for.
    #[test]
    fn pairs_have_the_extent_of_their_structure() {
        #[repr(C)]
        struct OfDouble(f64, i32);
        #[repr(C)]
        struct OfShort(i16, i32);
        let of = |handle| Basic::of(Datatype(handle)).unwrap();
        assert_eq!(of(0x229).extent(), size_of::<OfDouble>());
        assert_eq!(of(0x22c).extent(), size_of::<OfShort>());
        assert_eq!(of(0x22d).extent(), 32);
        assert_eq!(of(0x22b).extent(), 8);
    }

    #[test]
    fn a_pair_is_as_long_as_its_parts() {
        for (handle, name) in predefined() {
            let basic = Basic::of(Datatype(handle)).unwrap();
            if let Some(parts) = basic.parts() {
                assert_eq!(basic.size(), parts[0].size() + parts[1].size(), "{name}");
            }
        }
    }

    #[test]
    fn what_is_none_is_named() {
        assert_eq!(Basic::of(Datatype::NULL).unwrap_err().class, Class::TYPE);
        assert!(Basic::of(Datatype(0x1000)).unwrap_err().reason.contains("0x1000"));
    }
}
