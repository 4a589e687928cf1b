//! Blocks that a program marks (hopcast.h): each is measured until its mean is known, and skipped from then on.
//!
//!   s = √(Σ (t − m)² / (n − 1)) / (m √n)        the relative standard error of the mean m of n times t
//!
//! A block is known when s is at most the error that the program allows, or after as many samples as it allows.
//! Assumptions: times at one place vary independently, around one mean. Source: SMPI_SAMPLE of Casanova et al. ("Versatile, Scalable, and Accurate
//! Simulation of Distributed Applications and Platforms", JPDC 74(10), 2014).

use crate::process_view::computing_clock as clock;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int};

use engine::Duration;

use super::process::Process;

/// Samples of a block: how often it was measured, its mean time \[s\], the sum of squared differences.
#[derive(Debug, Default, Clone, Copy)]
pub struct Samples {
    count: u32,
    mean: f64,
    squares: f64,
}

/// The fewest samples from which an error follows.
const LEAST: u32 = 2;

impl Samples {
    /// One more time \[s\] (Welford 1962).
    pub fn add(&mut self, time: f64) {
        self.count += 1;
        let before = time - self.mean;
        self.mean += before / f64::from(self.count);
        self.squares += before * (time - self.mean);
    }

    /// Its mean \[s\], if it is known to this relative standard error or from `most` samples.
    pub fn known(&self, most: u32, error: f64) -> Option<f64> {
        let count = f64::from(self.count);
        let enough =
            self.count >= LEAST && (self.squares / (count - 1.0)).sqrt() <= error * self.mean * count.sqrt();
        (enough || self.count > 0 && self.count >= most).then_some(self.mean)
    }
}

/// A marked block: file and line, and the rank if it is by itself.
type Mark = (usize, c_int, Option<u32>);

thread_local! {
    static MARKS: RefCell<BTreeMap<Mark, Samples>> = const { RefCell::new(BTreeMap::new()) };
    static NAMES: RefCell<BTreeMap<String, usize>> = const { RefCell::new(BTreeMap::new()) };
}

/// A block that runs: which, and since when of the thread's time \[ns\].
pub type Sampling = Cell<Option<(Mark, u64)>>;

/// Function of hopcast.h: true if the block is to run; if not, its mean time passes.
///
/// # Safety
/// `file` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopcast_sample(
    file: *const c_char,
    line: c_int,
    of_all_ranks: c_int,
    most: c_int,
    error: f64,
) -> c_int {
    let Some(me) = Process::running() else { return 1 };
    if me.shared.computing.borrow().has_profile() {
        // The block's time is part of the profile.
        return 1;
    }
    // SAFETY: the caller says so.
    let name = unsafe { CStr::from_ptr(file) }.to_string_lossy();
    // Each copy of the program has its own copy of the text.
    let number = NAMES.with_borrow_mut(|names| match names.get(&*name) {
        Some(number) => *number,
        None => {
            names.insert(name.into_owned(), names.len());
            names.len() - 1
        }
    });
    let mark = (number, line, (of_all_ranks == 0).then_some(me.rank));
    let known = MARKS.with_borrow(|marks| marks.get(&mark)?.known(most.max(1) as u32, error));
    match known {
        Some(mean) => {
            me.let_pass(Duration::from_seconds(mean));
            0
        }
        None => {
            me.sampling.set(Some((mark, clock::thread_ns())));
            1
        }
    }
}

/// Function of hopcast.h: the block has run; never again at once.
#[unsafe(no_mangle)]
pub extern "C" fn hopcast_sampled() -> c_int {
    let Some(me) = Process::running() else { return 0 };
    if let Some((mark, since)) = me.sampling.take() {
        let ns = clock::thread_ns().saturating_sub(since);
        let time = me.shared.computing.borrow().scaled(ns as f64 * 1e-9);
        MARKS.with_borrow_mut(|marks| marks.entry(mark).or_default().add(time.seconds()));
        if !clock::runs() {
            me.let_pass(time);
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_known_when_its_error_is_small_enough() {
        let mut samples = Samples::default();
        assert_eq!(samples.known(10, 0.5), None);
        samples.add(1.0);
        assert_eq!((samples.known(10, 0.5), samples.known(1, 0.5)), (None, Some(1.0)));
        // Mean 2, deviation √2, error of the mean 1: half of the mean.
        samples.add(3.0);
        assert_eq!((samples.known(10, 0.5), samples.known(10, 0.49)), (Some(2.0), None));
    }
}
