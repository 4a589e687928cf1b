//! Answers of functions that do not run.

use engine::random::{Stream, uniform};
use mpi::compute::kernel::Style;

use super::table::{Arguments, Choice, Interception};
use super::trampoline::Frame;

/// Answers for a function that does not run: its result, and in its arguments what lets the program go on:
/// an index of a largest element is drawn at random, and its element gets the magnitude that the largest of as
/// many numbers has whose magnitudes are uniform in [0, 1), u^(1/n), so that the largest over several ranks is
/// fair, too; a factorisation has succeeded, without exchanges.
///
/// # Safety
/// As for [`Arguments::read`].
pub unsafe fn answer(
    of: &Interception,
    choice: &Choice,
    arguments: &Arguments,
    random: &mut Stream,
    frame: &mut Frame,
) {
    let value = match &choice.returns {
        Some(returns) => arguments.value(returns, random),
        None if !of.answers() => return,
        // SAFETY: the caller says so.
        None => match unsafe { routine(of, arguments, random) } {
            Some(value) => value,
            None => return,
        },
    };
    let single = of.symbol.style != Style::Own && of.function.starts_with('s');
    frame.result = value as i64 as u64;
    frame.real[0][0] = if single { u64::from((value as f32).to_bits()) } else { value.to_bits() };
}

/// Writes an element of a vector, after a read: of folded memory, in which columns of a matrix are touched once, the
/// kernel maps 16 pages around a page that is read, and one where it is written first.
///
/// # Safety
/// It is an element that the program may write.
unsafe fn put<T: Copy>(element: *mut T, value: T) {
    // SAFETY: the caller says so.
    unsafe {
        element.read_volatile();
        element.write(value);
    }
}

/// True if a routine of BLAS returns something.
pub fn gives_value(function: &str) -> bool {
    ["amax", "dot", "nrm2", "asum"].iter().any(|name| function.ends_with(name))
}

/// The same for a routine of BLAS or LAPACK.
///
/// # Safety
/// As for [`Arguments::read`].
unsafe fn routine(of: &Interception, arguments: &Arguments, random: &mut Stream) -> Option<f64> {
    let place = |name: &str| of.symbol.arguments.iter().position(|argument| argument.name == name);
    let address = |name: &str| place(name).map_or(0, |at| arguments.words[at]) as usize;
    let count = |name: &str| place(name).map_or(0.0, |at| arguments.values[at]);
    // SAFETY: the caller says so: info and ipiv are what LAPACK says, and X has N elements.
    unsafe {
        if let info @ 1.. = address("info") {
            *(info as *mut i32) = 0;
            let pivots = address("ipiv") as *mut i32;
            if !pivots.is_null() && of.function.ends_with("getrf") {
                (0..count("M").min(count("N")) as usize).for_each(|at| *pivots.add(at) = at as i32 + 1);
            }
        }
        let (elements, step) = (count("N"), count("incX"));
        if !of.function.ends_with("amax") || elements < 1.0 || step < 1.0 {
            return gives_value(&of.function).then_some(0.0);
        }
        let index = (uniform(random) * elements).floor();
        let largest = uniform(random).powf(1.0 / elements);
        let (at, precision) = ((index * step) as usize, of.function.as_bytes()[1]);
        let words = if precision == b'c' || precision == b'z' { 2 } else { 1 };
        match precision {
            b's' | b'c' => put((address("X") as *mut f32).add(at * words), largest as f32),
            _ => put((address("X") as *mut f64).add(at * words), largest),
        }
        Some(if of.symbol.style == Style::C { index } else { index + 1.0 })
    }
}
