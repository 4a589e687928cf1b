//! The predefined operations on contents, one loop for each kind of number.

use std::ops::{Add, Mul, Sub};

use super::Operation::{self, *};
use super::number::{Integer, Stored};
use super::wide::{Extended, Half, Quad};
use crate::data::basic::{Element, Number, Width};

/// total := total ⊕ next, value by value; the operation is one for such elements.
pub fn combine(operation: Operation, element: Element, total: &mut [u8], next: &[u8]) {
    match operation {
        Nothing => return,
        Replace => {
            let bytes = total.len().min(next.len());
            return total[..bytes].copy_from_slice(&next[..bytes]);
        }
        _ => {}
    }
    match element {
        Element::Signed(1) => integers::<i8, 1>(operation, total, next),
        Element::Signed(2) => integers::<i16, 2>(operation, total, next),
        Element::Signed(4) => integers::<i32, 4>(operation, total, next),
        Element::Signed(8) => integers::<i64, 8>(operation, total, next),
        Element::Signed(_) => integers::<i128, 16>(operation, total, next),
        Element::Unsigned(1) | Element::Byte | Element::Logical(1) => {
            integers::<u8, 1>(operation, total, next);
        }
        Element::Unsigned(2) | Element::Logical(2) => integers::<u16, 2>(operation, total, next),
        Element::Unsigned(4) | Element::Logical(4) => integers::<u32, 4>(operation, total, next),
        Element::Unsigned(8) | Element::Logical(8) => integers::<u64, 8>(operation, total, next),
        Element::Unsigned(_) | Element::Logical(_) => integers::<u128, 16>(operation, total, next),
        Element::Float(Width::Half) => floats::<Half, 2>(operation, total, next),
        Element::Float(Width::Single) => floats::<f32, 4>(operation, total, next),
        Element::Float(Width::Double) => floats::<f64, 8>(operation, total, next),
        Element::Float(Width::Extended) => floats::<Extended, 16>(operation, total, next),
        Element::Float(Width::Quad) => floats::<Quad, 16>(operation, total, next),
        Element::Complex(Width::Half) => complex::<Half, 2>(operation, total, next),
        Element::Complex(Width::Single) => complex::<f32, 4>(operation, total, next),
        Element::Complex(Width::Double) => complex::<f64, 8>(operation, total, next),
        Element::Complex(Width::Extended) => complex::<Extended, 16>(operation, total, next),
        Element::Complex(Width::Quad) => complex::<Quad, 16>(operation, total, next),
        Element::Pair(pair, _) => pairs(operation, pair, total, next),
        Element::Character(_) | Element::Packed | Element::Marker => {
            unreachable!("no operation is for such elements")
        }
    }
}

#[inline]
fn each<T: Stored<N>, const N: usize>(total: &mut [u8], next: &[u8], combine: impl Fn(T, T) -> T) {
    for (total, next) in total.chunks_exact_mut(N).zip(next.chunks_exact(N)) {
        total.copy_from_slice(&combine(T::load(total), T::load(next)).store());
    }
}

fn integers<T: Integer<N>, const N: usize>(operation: Operation, total: &mut [u8], next: &[u8]) {
    match operation {
        Sum => each::<T, N>(total, next, T::plus),
        Product => each::<T, N>(total, next, T::times),
        Min => each::<T, N>(total, next, |a, b| if b < a { b } else { a }),
        Max => each::<T, N>(total, next, |a, b| if b > a { b } else { a }),
        And => each::<T, N>(total, next, |a, b| T::from(a.is_true() && b.is_true())),
        Or => each::<T, N>(total, next, |a, b| T::from(a.is_true() || b.is_true())),
        Xor => each::<T, N>(total, next, |a, b| T::from(a.is_true() != b.is_true())),
        BitAnd => each::<T, N>(total, next, |a, b| a.bits(b, BitAnd)),
        BitOr => each::<T, N>(total, next, |a, b| a.bits(b, BitOr)),
        BitXor => each::<T, N>(total, next, |a, b| a.bits(b, BitXor)),
        MinPlace | MaxPlace | Replace | Nothing => unreachable!("not for integers, or done before"),
    }
}

fn floats<T, const N: usize>(operation: Operation, total: &mut [u8], next: &[u8])
where
    T: Stored<N> + Add<Output = T> + Mul<Output = T>,
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
    T: Stored<N> + Add<Output = T> + Mul<Output = T> + Sub<Output = T>,
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
        Number::FloatInt => places::<f32, 4, i32, 4>(operation, total, next),
        Number::DoubleInt => places::<f64, 8, i32, 4>(operation, total, next),
        Number::LongInt => places::<i64, 8, i32, 4>(operation, total, next),
        Number::TwoInt => places::<i32, 4, i32, 4>(operation, total, next),
        Number::ShortInt => places::<i16, 2, i32, 4>(operation, total, next),
        Number::LongDoubleInt => places::<Extended, 16, i32, 4>(operation, total, next),
        Number::TwoReal => places::<f32, 4, f32, 4>(operation, total, next),
        Number::TwoDouble => places::<f64, 8, f64, 8>(operation, total, next),
    }
}

/// Pairs of a value and a place, without what may lie between them in memory.
fn places<V, const N: usize, P, const M: usize>(operation: Operation, total: &mut [u8], next: &[u8])
where
    V: Stored<N>,
    P: Stored<M>,
{
    for (total, next) in total.chunks_exact_mut(N + M).zip(next.chunks_exact(N + M)) {
        let (mine, other) = (V::load(total), V::load(next));
        let better = if operation == MinPlace { other < mine } else { other > mine };
        if better || (other == mine && P::load(&next[N..]) < P::load(&total[N..])) {
            total.copy_from_slice(next);
        }
    }
}
