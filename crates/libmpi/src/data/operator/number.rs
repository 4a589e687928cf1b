//! Numbers as they lie in contents, aligned or not.

use super::Operation::{self, BitAnd, BitOr};

/// A number of so many bytes.
pub trait Stored<const N: usize>: Copy + PartialOrd {
    /// From its bytes.
    fn load(bytes: &[u8]) -> Self;
    /// Its bytes.
    fn store(self) -> [u8; N];
}

macro_rules! stored {
    ($($kind:ty, $bytes:expr;)*) => {$(
        impl Stored<$bytes> for $kind {
            #[inline]
            fn load(bytes: &[u8]) -> $kind {
                <$kind>::from_le_bytes(bytes[..$bytes].try_into().expect("as long as the number"))
            }
            #[inline]
            fn store(self) -> [u8; $bytes] {
                self.to_le_bytes()
            }
        }
    )*};
}

stored! {
    i8, 1; i16, 2; i32, 4; i64, 8; i128, 16; u8, 1; u16, 2; u32, 4; u64, 8; u128, 16; f32, 4; f64, 8;
}

/// A whole number.
pub trait Integer<const N: usize>: Stored<N> + From<bool> {
    /// Their sum, without what does not fit.
    fn plus(self, other: Self) -> Self;
    /// Their product, without what does not fit.
    fn times(self, other: Self) -> Self;
    /// Bit by bit.
    fn bits(self, other: Self, operation: Operation) -> Self;
    /// True if it is not 0.
    fn is_true(self) -> bool;
}

macro_rules! integer {
    ($($kind:ty, $bytes:expr;)*) => {$(
        impl Integer<$bytes> for $kind {
            #[inline]
            fn plus(self, other: $kind) -> $kind {
                self.wrapping_add(other)
            }
            #[inline]
            fn times(self, other: $kind) -> $kind {
                self.wrapping_mul(other)
            }
            #[inline]
            fn bits(self, other: $kind, operation: Operation) -> $kind {
                match operation {
                    BitAnd => self & other,
                    BitOr => self | other,
                    _ => self ^ other,
                }
            }
            #[inline]
            fn is_true(self) -> bool {
                self != 0
            }
        }
    )*};
}

integer! { i8, 1; i16, 2; i32, 4; i64, 8; i128, 16; u8, 1; u16, 2; u32, 4; u64, 8; u128, 16; }
