//! Processes that keep the memory of the other cores busy now and then while a profile is measured.
//!
//! The processes are forked before the simulator holds anything. Each copies memory while a shared word says so, and sleeps
//! otherwise. Stretches that begin while they copy are measured separately: the slowdown tells how many bytes they move.

use crate::process_view::computing_clock as clock;
use std::hint::black_box;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// Size of a copy \[bytes\]: more than a core's share of any cache.
pub const BYTES: usize = 64 << 20;
/// Time for which they copy, and then rest \[ns\].
const TURN_NS: u64 = 20_000_000;
/// Time until all of them have seen a change of the word \[us\].
const NOTICE_US: u32 = 1_000;

const REST: u32 = 0;
const COPY: u32 = 1;

/// The processes.
pub struct Neighbours {
    word: &'static AtomicU32,
    processes: Vec<libc::pid_t>,
    /// Time of their next change, on the wall clock \[ns\].
    next_ns: u64,
}

impl Neighbours {
    /// Starts one process for each core but this one; none if there is no other core.
    pub fn start(cores: u32) -> io::Result<Option<Neighbours>> {
        if cores < 2 {
            return Ok(None);
        }
        let word = shared_word()?;
        let mut all = Neighbours { word, processes: Vec::new(), next_ns: 0 };
        for _ in 1..cores {
            // SAFETY: has no conditions; this process has one thread yet.
            let (parent, made) = unsafe { (libc::getpid(), libc::fork()) };
            match made {
                -1 => return Err(io::Error::last_os_error()),
                0 => live(word, parent),
                process => all.processes.push(process),
            }
        }
        Ok(Some(all))
    }

    /// True if they copy now.
    pub fn are_busy(&self) -> bool {
        self.word.load(Ordering::Relaxed) == COPY
    }

    /// Lets them copy, or rest.
    pub fn set(&mut self, busy: bool) {
        self.word.store(if busy { COPY } else { REST }, Ordering::Relaxed);
        // SAFETY: sleeps.
        unsafe { libc::usleep(NOTICE_US) };
    }

    /// Changes what they do, if it is time.
    pub fn take_turns(&mut self) {
        let now = clock::wall_ns();
        if self.next_ns == 0 {
            self.next_ns = now + TURN_NS;
        }
        if now >= self.next_ns {
            self.set(!self.are_busy());
            self.next_ns = clock::wall_ns() + TURN_NS;
        }
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for process in &self.processes {
            // SAFETY: children of this process, which have not been waited for.
            unsafe {
                libc::kill(*process, libc::SIGKILL);
                libc::waitpid(*process, ptr::null_mut(), 0);
            }
        }
    }
}

/// Copies a whole buffer.
pub fn copy(from: &[u64], into: &mut [u64]) {
    into.copy_from_slice(from);
}

/// A word in memory that children share.
fn shared_word() -> io::Result<&'static AtomicU32> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of zeros, which is never given back.
    unsafe {
        let place = libc::mmap(ptr::null_mut(), 4096, access, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0);
        if place == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(&*place.cast()) }
    }
}

/// Runs a neighbour until its parent ends.
fn live(word: &AtomicU32, parent: libc::pid_t) -> ! {
    // SAFETY: has no conditions. A parent that ended before its end was asked for sends no signal.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            libc::_exit(1);
        }
        libc::signal(libc::SIGINT, libc::SIG_IGN);
    }
    let words = BYTES / 8;
    let (from, mut into) = (vec![1_u64; words], vec![0_u64; words]);
    let piece = 1 << 16;
    loop {
        for (from, into) in from.chunks(piece).zip(into.chunks_mut(piece)) {
            while word.load(Ordering::Relaxed) == REST {
                // SAFETY: sleeps.
                unsafe { libc::usleep(200) };
            }
            copy(from, into);
        }
        black_box(&mut into);
    }
}
