//! Predefined operations on predefined datatypes: a ⊕ b, element by element.
//!
//! Source: MPI 5.0, 6.9.2 (which operation is for which datatype) and 6.9.4 (MINLOC, MAXLOC: of equal values
//! the lower place).

use super::datatype::{Element, Layout, Number};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::Op;

/// A predefined operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operation {
    Sum,
    Min,
    Max,
    Product,
    BitAnd,
    BitOr,
    BitXor,
    And,
    Or,
    Xor,
    MinPlace,
    MaxPlace,
}

use Operation::*;

const PREDEFINED: &[(usize, &str, Operation)] = &[
    (0x21, "MPI_SUM", Sum),
    (0x22, "MPI_MIN", Min),
    (0x23, "MPI_MAX", Max),
    (0x24, "MPI_PROD", Product),
    (0x28, "MPI_BAND", BitAnd),
    (0x29, "MPI_BOR", BitOr),
    (0x2a, "MPI_BXOR", BitXor),
    (0x30, "MPI_LAND", And),
    (0x31, "MPI_LOR", Or),
    (0x32, "MPI_LXOR", Xor),
    (0x38, "MPI_MINLOC", MinPlace),
    (0x39, "MPI_MAXLOC", MaxPlace),
];

/// Handle and name of each predefined operation.
pub fn predefined() -> impl Iterator<Item = (usize, &'static str)> {
    PREDEFINED.iter().map(|row| (row.0, row.1))
}

/// An operation on elements of a known kind.
#[derive(Debug, Clone, Copy)]
pub struct Operator {
    operation: Operation,
    element: Element,
}

impl Operator {
    /// The operation of a handle for values of `layout`.
    pub fn of(op: Op, layout: &Layout) -> Answer<Operator> {
        let known = PREDEFINED.iter().find(|row| row.0 == op.0);
        let &(_, _, operation) = known.ok_or_else(|| {
            Error::new(Class::OP, format!("{:#x} is not an operation for a reduction", op.0))
        })?;
        let element = layout.element;
        if fits(operation, element) {
            return Ok(Operator { operation, element });
        }
        Err(Error::new(Class::OP, format!("{operation:?} is not for elements of kind {element:?}")))
    }

    /// total := total ⊕ next, element by element.
    pub fn combine(self, total: &mut [u8], next: &[u8]) {
        let operation = self.operation;
        match self.element {
            Element::Signed(1) => integers::<i8, 1>(operation, total, next),
            Element::Signed(2) => integers::<i16, 2>(operation, total, next),
            Element::Signed(4) => integers::<i32, 4>(operation, total, next),
            Element::Signed(_) => integers::<i64, 8>(operation, total, next),
            Element::Unsigned(1) | Element::Byte | Element::Logical(1) => {
                integers::<u8, 1>(operation, total, next);
            }
            Element::Unsigned(2) | Element::Logical(2) => integers::<u16, 2>(operation, total, next),
            Element::Unsigned(4) | Element::Logical(4) => integers::<u32, 4>(operation, total, next),
            Element::Unsigned(_) | Element::Logical(_) => integers::<u64, 8>(operation, total, next),
            Element::Float(4) => floats::<f32, 4>(operation, total, next),
            Element::Float(_) => floats::<f64, 8>(operation, total, next),
            Element::Complex(4) => complex::<f32, 4>(operation, total, next),
            Element::Complex(_) => complex::<f64, 8>(operation, total, next),
            Element::Pair(pair) => pairs(operation, pair, total, next),
            Element::Plain => unreachable!("no operation is for such elements"),
        }
    }
}

/// Whether the standard, and this file, have the operation for such elements.
fn fits(operation: Operation, element: Element) -> bool {
    match element {
        Element::Signed(_) | Element::Unsigned(_) => !matches!(operation, MinPlace | MaxPlace),
        Element::Float(4 | 8) => matches!(operation, Sum | Min | Max | Product),
        Element::Complex(4 | 8) => matches!(operation, Sum | Product),
        Element::Logical(_) => matches!(operation, And | Or | Xor),
        Element::Byte => matches!(operation, BitAnd | BitOr | BitXor),
        Element::Pair(Number::LongDoubleInt) => false,
        Element::Pair(_) => matches!(operation, MinPlace | MaxPlace),
        Element::Float(_) | Element::Complex(_) | Element::Plain => false,
    }
}

/// A number as it lies in memory, aligned or not.
trait Stored<const N: usize>: Copy + PartialOrd {
    fn load(bytes: &[u8]) -> Self;
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

stored! { i8, 1; i16, 2; i32, 4; i64, 8; u8, 1; u16, 2; u32, 4; u64, 8; f32, 4; f64, 8; }

#[inline]
fn each<T: Stored<N>, const N: usize>(total: &mut [u8], next: &[u8], combine: impl Fn(T, T) -> T) {
    for (total, next) in total.chunks_exact_mut(N).zip(next.chunks_exact(N)) {
        total.copy_from_slice(&combine(T::load(total), T::load(next)).store());
    }
}

trait Integer<const N: usize>: Stored<N> + From<bool> {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn bits(self, other: Self, operation: Operation) -> Self;
    fn is_true(self) -> bool;
}

macro_rules! integer {
    ($($kind:ty, $bytes:expr;)*) => {$(
        impl Integer<$bytes> for $kind {
            fn plus(self, other: $kind) -> $kind {
                self.wrapping_add(other)
            }
            fn times(self, other: $kind) -> $kind {
                self.wrapping_mul(other)
            }
            fn bits(self, other: $kind, operation: Operation) -> $kind {
                match operation {
                    BitAnd => self & other,
                    BitOr => self | other,
                    _ => self ^ other,
                }
            }
            fn is_true(self) -> bool {
                self != 0
            }
        }
    )*};
}

integer! { i8, 1; i16, 2; i32, 4; i64, 8; u8, 1; u16, 2; u32, 4; u64, 8; }

fn integers<T: Integer<N>, const N: usize>(operation: Operation, total: &mut [u8], next: &[u8]) {
    match operation {
        Sum => each::<T, N>(total, next, T::plus),
        Product => each::<T, N>(total, next, T::times),
        Min => each::<T, N>(total, next, |a, b| if b < a { b } else { a }),
        Max => each::<T, N>(total, next, |a, b| if b > a { b } else { a }),
        And => each::<T, N>(total, next, |a, b| T::from(a.is_true() && b.is_true())),
        Or => each::<T, N>(total, next, |a, b| T::from(a.is_true() || b.is_true())),
        Xor => each::<T, N>(total, next, |a, b| T::from(a.is_true() != b.is_true())),
        BitAnd | BitOr | BitXor => each::<T, N>(total, next, |a, b| a.bits(b, operation)),
        MinPlace | MaxPlace => unreachable!("for pairs"),
    }
}

fn floats<T, const N: usize>(operation: Operation, total: &mut [u8], next: &[u8])
where
    T: Stored<N> + std::ops::Add<Output = T> + std::ops::Mul<Output = T>,
{
    match operation {
        Sum => each::<T, N>(total, next, |a, b| a + b),
        Product => each::<T, N>(total, next, |a, b| a * b),
        Min => each::<T, N>(total, next, |a, b| if b < a { b } else { a }),
        _ => each::<T, N>(total, next, |a, b| if b > a { b } else { a }),
    }
}

fn complex<T, const N: usize>(operation: Operation, total: &mut [u8], next: &[u8])
where
    T: Stored<N> + std::ops::Add<Output = T> + std::ops::Mul<Output = T> + std::ops::Sub<Output = T>,
{
    if operation == Sum {
        return each::<T, N>(total, next, |a, b| a + b);
    }
    for (total, next) in total.chunks_exact_mut(2 * N).zip(next.chunks_exact(2 * N)) {
        let (a, b) = (T::load(total), T::load(&total[N..]));
        let (c, d) = (T::load(next), T::load(&next[N..]));
        total[..N].copy_from_slice(&(a * c - b * d).store());
        total[N..].copy_from_slice(&(a * d + b * c).store());
    }
}

fn pairs(operation: Operation, pair: Number, total: &mut [u8], next: &[u8]) {
    match pair {
        Number::FloatInt => places::<f32, 4, i32, 4>(operation, 8, total, next),
        Number::DoubleInt => places::<f64, 8, i32, 4>(operation, 16, total, next),
        Number::LongInt => places::<i64, 8, i32, 4>(operation, 16, total, next),
        Number::TwoInt => places::<i32, 4, i32, 4>(operation, 8, total, next),
        Number::ShortInt => places::<i16, 4, i32, 4>(operation, 8, total, next),
        Number::TwoReal => places::<f32, 4, f32, 4>(operation, 8, total, next),
        Number::TwoDouble => places::<f64, 8, f64, 8>(operation, 16, total, next),
        Number::LongDoubleInt => unreachable!("no operation is for such pairs"),
    }
}

/// Pairs of a value and a place, which begins `AT` bytes on; `extent` bytes from one to the next.
fn places<V, const AT: usize, P, const N: usize>(
    operation: Operation,
    extent: usize,
    total: &mut [u8],
    next: &[u8],
) where
    V: Loaded,
    P: Stored<N>,
{
    for (total, next) in total.chunks_exact_mut(extent).zip(next.chunks_exact(extent)) {
        let (mine, other) = (V::load(total), V::load(next));
        let better = if operation == MinPlace { other < mine } else { other > mine };
        if better || (other == mine && P::load(&next[AT..]) < P::load(&total[AT..])) {
            total.copy_from_slice(next);
        }
    }
}

/// A number to be compared only.
trait Loaded: Copy + PartialOrd {
    fn load(bytes: &[u8]) -> Self;
}

macro_rules! loaded {
    ($($kind:ty, $bytes:expr;)*) => {$(
        impl Loaded for $kind {
            fn load(bytes: &[u8]) -> $kind {
                <$kind as Stored<$bytes>>::load(bytes)
            }
        }
    )*};
}

loaded! { i16, 2; i32, 4; i64, 8; f32, 4; f64, 8; }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::handle::Datatype;

    fn combined(op: usize, datatype: usize, total: &[u8], next: &[u8]) -> Vec<u8> {
        let operator = Operator::of(Op(op), &Layout::of_predefined(Datatype(datatype)).unwrap()).unwrap();
        let mut total = total.to_vec();
        operator.combine(&mut total, next);
        total
    }

    #[test]
    fn sums_and_products_of_doubles_and_complex_numbers() {
        let bytes = |values: &[f64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
        let (a, b) = (bytes(&[1.5, -2.0]), bytes(&[3.0, 4.0]));
        assert_eq!(combined(0x21, 0x214, &a, &b), bytes(&[4.5, 2.0]));
        // (1.5 - 2i) (3 + 4i) = 4.5 + 8 + (6 - 6) i
        assert_eq!(combined(0x24, 0x216, &a, &b), bytes(&[12.5, 0.0]));
    }

    #[test]
    fn of_equal_values_the_lower_place_wins() {
        let pair =
            |value: f64, place: i32| [&value.to_le_bytes()[..], &place.to_le_bytes(), &[0; 4]].concat();
        assert_eq!(combined(0x39, 0x229, &pair(2.0, 5), &pair(2.0, 3)), pair(2.0, 3));
        assert_eq!(combined(0x39, 0x229, &pair(2.0, 3), &pair(2.0, 5)), pair(2.0, 3));
        assert_eq!(combined(0x38, 0x229, &pair(2.0, 3), &pair(1.0, 5)), pair(1.0, 5));
    }

    #[test]
    fn logic_makes_ones_and_bits_stay_bits() {
        assert_eq!(combined(0x30, 0x241, &[2, 2, 0], &[4, 0, 0]), [1, 0, 0]);
        assert_eq!(combined(0x2a, 0x247, &[0b1100], &[0b1010]), [0b0110]);
    }

    #[test]
    fn an_operation_that_is_not_for_a_datatype_is_refused() {
        let error = Operator::of(Op(0x28), &Layout::of_predefined(Datatype(0x214)).unwrap()).unwrap_err();
        assert_eq!(error.class, Class::OP);
    }
}
