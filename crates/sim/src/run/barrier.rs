//! A barrier for few threads that meet often: it spins for a moment, then yields.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Lets threads go on when all of them have arrived. It can be broken, so that none waits for one that panics.
#[derive(Debug)]
pub struct Barrier {
    threads: u32,
    waiting: AtomicU32,
    /// Number of rounds that are complete.
    round: AtomicU32,
    broken: AtomicBool,
}

/// Another thread has panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken;

/// Number of spins before yielding, about a microsecond: most waits are shorter if each thread has a core.
const SPINS: u32 = 200;
/// Number of yields between two calls of `idly`: about a millisecond if no other thread wants to run.
const IDLY_EVERY: u32 = 1 << 12;

impl Barrier {
    /// Makes a barrier for `threads` threads.
    pub fn new(threads: u32) -> Barrier {
        let (waiting, round, broken) = (AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false));
        Barrier { threads, waiting, round, broken }
    }

    /// Waits until all threads have arrived. Writes of each before the barrier are visible to all after it.
    pub fn wait(&self) -> Result<(), Broken> {
        self.wait_with(&mut || ())
    }

    /// Like [`Barrier::wait`]; calls `idly` now and then in a long wait.
    pub fn wait_with(&self, idly: &mut dyn FnMut()) -> Result<(), Broken> {
        let round = self.round.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return Ok(());
        }
        let mut spins = 0_u32;
        while self.round.load(Ordering::Acquire) == round {
            if self.broken.load(Ordering::Relaxed) {
                return Err(Broken);
            }
            if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
                spins = spins.wrapping_add(1).max(SPINS);
                if spins % IDLY_EVERY == 0 {
                    idly();
                }
            }
        }
        Ok(())
    }

    /// Breaks the barrier when it is dropped in a panic.
    pub fn guard(&self) -> Guard<'_> {
        Guard(self)
    }
}

/// See [`Barrier::guard`].
pub struct Guard<'a>(&'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn nobody_is_a_round_ahead() {
        const THREADS: u32 = 3;
        let (barrier, sum) = (Barrier::new(THREADS), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for round in 0..1_000 {
                        sum.fetch_add(1, Ordering::Relaxed);
                        barrier.wait().unwrap();
                        assert_eq!(sum.load(Ordering::Relaxed), u64::from(THREADS) * (round + 1));
                        barrier.wait().unwrap();
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_lets_the_others_go() {
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            let dies = scope.spawn(|| {
                let _guard = barrier.guard();
                std::panic::resume_unwind(Box::new("on purpose"));
            });
            assert_eq!(barrier.wait(), Err(Broken));
            assert!(dies.join().is_err());
        });
    }
}
