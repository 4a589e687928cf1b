//! Floating-point numbers that Rust has no type for: `long double` (80 bits), binary128 and binary16.
//!
//! `long double` is computed by the processor's x87 unit, as compilers do; binary128 by the compiler's run-time library
//! (libgcc), as gfortran's REAL(16) is; binary16 as binary32, rounded to the nearest.

use std::arch::asm;
use std::cmp::Ordering;
use std::ffi::c_int;
use std::ops::{Add, Mul, Sub};

use super::number::Stored;

macro_rules! bytes {
    ($($kind:ident, $bytes:expr;)*) => {$(
        impl Stored<$bytes> for $kind {
            #[inline]
            fn load(bytes: &[u8]) -> $kind {
                $kind(bytes[..$bytes].try_into().expect("as long as the number"))
            }
            #[inline]
            fn store(self) -> [u8; $bytes] {
                self.0
            }
        }

        impl PartialEq for $kind {
            fn eq(&self, other: &$kind) -> bool {
                self.partial_cmp(other) == Some(Ordering::Equal)
            }
        }
    )*};
}

bytes! { Half, 2; Extended, 16; Quad, 16; }

/// `long double`: 10 bytes of number, 6 of padding.
#[derive(Debug, Clone, Copy)]
pub struct Extended(pub [u8; 16]);

macro_rules! on_the_stack_of_the_x87 {
    ($name:ident, $method:ident, $instruction:literal) => {
        impl $name for Extended {
            type Output = Extended;
            #[inline]
            fn $method(mut self, other: Extended) -> Extended {
                // SAFETY: reads ten bytes of each and writes ten; leaves the x87 stack as it was.
                unsafe {
                    asm!(
                        "fld tbyte ptr [{a}]",
                        "fld tbyte ptr [{b}]",
                        $instruction,
                        "fstp tbyte ptr [{a}]",
                        a = in(reg) self.0.as_mut_ptr(),
                        b = in(reg) other.0.as_ptr(),
                        out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                        out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                        options(nostack),
                    );
                }
                self
            }
        }
    };
}

on_the_stack_of_the_x87!(Add, add, "faddp st(1), st");
on_the_stack_of_the_x87!(Sub, sub, "fsubp st(1), st");
on_the_stack_of_the_x87!(Mul, mul, "fmulp st(1), st");

impl PartialOrd for Extended {
    fn partial_cmp(&self, other: &Extended) -> Option<Ordering> {
        let (above, below, unordered): (u8, u8, u8);
        // SAFETY: reads ten bytes of each; leaves the x87 stack as it was.
        unsafe {
            asm!(
                "fld tbyte ptr [{b}]",
                "fld tbyte ptr [{a}]",
                "fucomip st, st(1)",
                "seta {above}",
                "setb {below}",
                "setp {unordered}",
                "fstp st(0)",
                a = in(reg) self.0.as_ptr(),
                b = in(reg) other.0.as_ptr(),
                above = out(reg_byte) above,
                below = out(reg_byte) below,
                unordered = out(reg_byte) unordered,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
        (unordered == 0).then(|| above.cmp(&below))
    }
}

/// IEEE binary128.
#[derive(Debug, Clone, Copy)]
pub struct Quad(pub [u8; 16]);

// Their arguments and results are in xmm0 and xmm1, which no type of Rust stands for.
#[link(name = "gcc_s")]
unsafe extern "C" {
    fn __addtf3();
    fn __subtf3();
    fn __multf3();
    fn __lttf2();
    fn __unordtf2();
}

impl Quad {
    /// Results of a function of two numbers: as a number, and in eax.
    fn call(self, function: unsafe extern "C" fn(), other: Quad) -> (Quad, c_int) {
        let (mut result, mut whole) = (self, 0_i64);
        // SAFETY: such a function reads xmm0 and xmm1 and follows the convention of C; the stack is aligned for a call.
        unsafe {
            asm!(
                "movdqu xmm0, [r12]",
                "movdqu xmm1, [{b}]",
                "call {function}",
                "movdqu [r12], xmm0",
                in("r12") result.0.as_mut_ptr(),
                b = in(reg) other.0.as_ptr(),
                function = in(reg) function,
                inout("rax") whole,
                clobber_abi("C"),
            );
        }
        (result, whole as c_int)
    }
}

macro_rules! by_the_library {
    ($name:ident, $method:ident, $function:ident) => {
        impl $name for Quad {
            type Output = Quad;
            fn $method(self, other: Quad) -> Quad {
                self.call($function, other).0
            }
        }
    };
}

by_the_library!(Add, add, __addtf3);
by_the_library!(Sub, sub, __subtf3);
by_the_library!(Mul, mul, __multf3);

impl PartialOrd for Quad {
    fn partial_cmp(&self, other: &Quad) -> Option<Ordering> {
        // The library's comparison gives a number below, at or above 0 as the first is below, at or above the second.
        (self.call(__unordtf2, *other).1 == 0).then(|| self.call(__lttf2, *other).1.cmp(&0))
    }
}

/// IEEE binary16.
#[derive(Debug, Clone, Copy)]
pub struct Half(pub [u8; 2]);

impl Half {
    /// The same number.
    pub fn single(self) -> f32 {
        let bits = u32::from(u16::from_le_bytes(self.0));
        let (sign, exponent, fraction) = (bits >> 15 << 31, bits >> 10 & 0x1f, bits & 0x3ff);
        match exponent {
            // A fraction of 2⁻²⁴: exact.
            0 => f32::from_bits((fraction as f32 * 2_f32.powi(-24)).to_bits() | sign),
            0x1f => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
            _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
        }
    }

    /// The nearest; of two, the even one.
    pub fn nearest(value: f32) -> Half {
        let bits = value.to_bits();
        let sign = (bits >> 16 & 0x8000) as u16;
        let magnitude = value.abs();
        let rounded = if value.is_nan() {
            0x7e00
        } else if magnitude >= 65_520.0 {
            0x7c00
        } else if magnitude < 2_f32.powi(-14) {
            (magnitude * 2_f32.powi(24)).round_ties_even() as u16
        } else {
            let whole = bits & 0x7fff_ffff;
            let half = 0xfff + (whole >> 13 & 1);
            (((whole + half) >> 13) - (112 << 10)) as u16
        };
        Half((sign | rounded).to_le_bytes())
    }
}

macro_rules! as_singles {
    ($($name:ident, $method:ident;)*) => {$(
        impl $name for Half {
            type Output = Half;
            fn $method(self, other: Half) -> Half {
                Half::nearest(self.single().$method(other.single()))
            }
        }
    )*};
}

as_singles! { Add, add; Sub, sub; Mul, mul; }

impl PartialOrd for Half {
    fn partial_cmp(&self, other: &Half) -> Option<Ordering> {
        self.single().partial_cmp(&other.single())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A whole number as `long double`: sign and exponent above 64 bits with the leading one.
    fn extended(value: i64) -> Extended {
        let magnitude = value.unsigned_abs();
        let shift = magnitude.leading_zeros();
        let (mut bytes, high) = ([0; 16], if magnitude == 0 { 0 } else { 16383 + 63 - shift as u16 });
        bytes[..8].copy_from_slice(&magnitude.checked_shl(shift).unwrap_or(0).to_le_bytes());
        bytes[8..10].copy_from_slice(&(high | u16::from(value < 0) << 15).to_le_bytes());
        Extended(bytes)
    }

    #[test]
    fn long_doubles_are_computed_in_all_their_bits() {
        // 2⁶² + 1 needs 63 bits: more than a double has.
        let large = 1 << 62;
        assert_eq!((extended(large) + extended(1)).0[..10], extended(large + 1).0[..10]);
        assert_eq!((extended(3) - extended(5)).0[..10], extended(-2).0[..10]);
        assert_eq!((extended(-7) * extended(6)).0[..10], extended(-42).0[..10]);
        assert!(extended(large) < extended(large + 1) && extended(-1) > extended(-2));
        assert_eq!(extended(5).partial_cmp(&extended(5)), Some(Ordering::Equal));
        let nan = Extended([0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0x7f, 0, 0, 0, 0, 0, 0]);
        assert_eq!(nan.partial_cmp(&extended(0)), None);
    }

    /// A whole number as binary128: 112 bits without the leading one.
    fn quad(value: i64) -> Quad {
        let magnitude = u128::from(value.unsigned_abs());
        let top = 127 - magnitude.leading_zeros();
        let fraction = magnitude << (112 - top) & ((1 << 112) - 1);
        Quad((fraction | u128::from(16383 + top) << 112 | u128::from(value < 0) << 127).to_le_bytes())
    }

    #[test]
    fn quads_are_computed_by_the_library() {
        let large = 1 << 62;
        assert_eq!((quad(large) + quad(1)).0, quad(large + 1).0);
        assert_eq!((quad(3) - quad(5)).0, quad(-2).0);
        assert_eq!((quad(-7) * quad(6)).0, quad(-42).0);
        assert!(quad(large) < quad(large + 1) && quad(-1) > quad(-2) && quad(4) == quad(4));
    }

    #[test]
    fn every_half_is_itself_as_a_single_and_back() {
        for bits in 0..=u16::MAX {
            let half = Half(bits.to_le_bytes());
            if !half.single().is_nan() {
                assert_eq!(Half::nearest(half.single()).0, half.0, "{bits:#x}");
            }
        }
        assert_eq!(Half(0x3c00_u16.to_le_bytes()).single(), 1.0);
        // Between 2048 and 2050, the even one; 65519 is the last below infinity.
        assert_eq!(Half::nearest(2049.0).single(), 2048.0);
        assert_eq!(Half::nearest(65519.0).single(), 65504.0);
    }
}
