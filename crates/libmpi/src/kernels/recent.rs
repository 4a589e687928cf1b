//! The last calls of a kernel: programs that poll make the same one again and again.

use std::cell::RefCell;

/// Number of calls that are kept of each kernel, by a hash of their arguments.
const KEPT: usize = 8;
/// Most arguments that a kernel's formulas may depend on.
const MOST: usize = 4;

/// Values of a kernel's formulas for a call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Evaluated {
    /// Mean of its time \[s\].
    pub mean: f64,
    /// Deviation of its time \[s\].
    pub deviation: f64,
    /// True if the formulas were not fitted for such calls.
    pub is_beyond: bool,
}

/// A call that is kept: the arguments that the formulas depend on, and their values.
type Kept = Option<([u64; MOST], Evaluated)>;

/// Values of a kernel's formulas for its last calls.
pub struct Recent {
    /// Places of the arguments that they depend on.
    places: Vec<usize>,
    calls: RefCell<[Kept; KEPT]>,
}

impl Recent {
    /// For formulas that depend on the arguments at these places; `None` if these are too many.
    pub fn of(places: Vec<usize>) -> Option<Recent> {
        (places.len() <= MOST).then(|| Recent { places, calls: RefCell::default() })
    }

    /// Values for a call with these arguments: those that are kept, or the ones of `evaluate`.
    #[inline]
    pub fn or_evaluate(&self, arguments: &[f64], evaluate: impl FnOnce() -> Evaluated) -> Evaluated {
        let mut key = [0; MOST];
        key.iter_mut().zip(&self.places).for_each(|(word, place)| *word = arguments[*place].to_bits());
        let hash = key.iter().fold(0_u64, |hash, word| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let kept = &mut self.calls.borrow_mut()[(hash >> 61) as usize % KEPT];
        match kept {
            Some((known, values)) if *known == key => *values,
            _ => kept.insert((key, evaluate())).1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of 30 different calls, more than are kept, gets its own values; the same one again is not evaluated.
    #[test]
    fn a_call_has_the_values_of_its_own_arguments() {
        let recent = Recent::of(vec![0, 2]).unwrap();
        let ask = |first: f64, third: f64, evaluated: &mut u32| {
            let evaluate = || {
                *evaluated += 1;
                Evaluated { mean: first, deviation: third, is_beyond: first > third }
            };
            recent.or_evaluate(&[first, f64::NAN, third], evaluate)
        };
        let mut evaluated = 0;
        for _ in 0..2 {
            for (first, third) in (0..30).map(|call| (f64::from(call % 6), f64::from(call % 5))) {
                for _ in 0..2 {
                    let found = ask(first, third, &mut evaluated);
                    let expected = (first, third, first > third);
                    assert_eq!((found.mean, found.deviation, found.is_beyond), expected);
                }
            }
        }
        assert!((30..=60).contains(&evaluated), "{evaluated}");
    }

    #[test]
    fn formulas_of_many_arguments_are_not_kept() {
        assert!(Recent::of(vec![0, 1, 2, 3, 4]).is_none());
    }
}
