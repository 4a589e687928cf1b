//! Events of the kernel's interface `perf_event_open(2)`, in one group.
//!
//! A group is read by one system call, or, where the kernel allows the thread to read the processor's counters itself
//! (`rdpmc`, on x86), without one:
//!
//! ```text
//! count = offset + the counter of that index, sign-extended from pmc_width bits, while `lock` stays as it is
//! ```
//!
//! Source: perf_event_open(2), on `struct perf_event_mmap_page`.

use std::ffi::c_int;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{Ordering, compiler_fence};

/// Counter of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The processor, with the kernel's name for the event.
    Hardware,
    /// The processor, with its own number for the event.
    Raw,
    /// The kernel.
    Software,
}

/// An event, with its weight in a counted quantity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Counter of the event.
    pub source: Source,
    /// Number of the event at its counter.
    pub config: u64,
    /// Weight of each event in the quantity.
    pub weight: u64,
    /// True if events in the kernel on behalf of the thread count, too.
    pub kernel_too: bool,
}

/// Largest number of events in a group.
pub const MOST_EVENTS: usize = 16;

/// Events that are counted together, for the thread that has added the first.
#[derive(Default)]
pub struct Group {
    events: Vec<File>,
    /// Pages through which the thread may read the counters itself, one for each event.
    pages: Vec<Page>,
}

/// `struct perf_event_attr` in its first version.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    config1: u64,
}

/// Read format with the values of a whole group.
const FORMAT_GROUP: u64 = 1 << 3;
/// Bits of the flags.
const PINNED: u64 = 1 << 2;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// Flag that keeps the file out of programs that the process starts.
const CLOSE_ON_EXEC: u64 = 1 << 3;

impl Group {
    /// Adds an event of the calling thread; the error explains a refusal.
    pub fn add(&mut self, event: &Event) -> Result<(), String> {
        if event.source != Source::Software && Path::new("/sys/bus/event_source/devices/cpu_atom").exists() {
            return Err(
                "this processor has cores of two kinds, and a count would end where a rank moves".into()
            );
        }
        let first = self.events.first().map_or(-1, |first| first.as_raw_fd());
        let kernel = if event.kernel_too { 0 } else { EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR };
        let attributes = Attributes {
            kind: match event.source {
                Source::Hardware => 0,
                Source::Software => 1,
                Source::Raw => 4,
            },
            size: size_of::<Attributes>() as u32,
            config: event.config,
            sample_period: 0,
            sample_type: 0,
            read_format: FORMAT_GROUP,
            flags: kernel | if first < 0 { PINNED } else { 0 },
            wakeup_events: 0,
            bp_type: 0,
            config1: 0,
        };
        let (this_thread, any_processor): (c_int, c_int) = (0, -1);
        // SAFETY: the attributes contain their length; the result is a new file, or -1.
        let file = unsafe {
            let call = libc::SYS_perf_event_open;
            libc::syscall(call, &raw const attributes, this_thread, any_processor, first, CLOSE_ON_EXEC)
        };
        if file < 0 {
            let error = io::Error::last_os_error().raw_os_error().unwrap_or(0);
            return Err(why(error, event, self.events.len(), paranoid().as_deref()));
        }
        // SAFETY: a file that nobody else owns.
        let file = unsafe { File::from_raw_fd(file as c_int) };
        if event.source != Source::Software {
            self.pages.extend(Page::of(&file));
        }
        self.events.push(file);
        Ok(())
    }

    /// Counts of the events so far, in order; `None` if the processor's counters have been taken away.
    pub fn read(&self) -> Option<[u64; MOST_EVENTS]> {
        self.read_here().or_else(|| self.read_by_kernel())
    }

    /// Reads the counters without the kernel, if that is allowed for all of them at the moment.
    fn read_here(&self) -> Option<[u64; MOST_EVENTS]> {
        if self.pages.len() != self.events.len() {
            return None;
        }
        let mut values = [0; MOST_EVENTS];
        for (value, page) in values.iter_mut().zip(&self.pages) {
            *value = page.read()?;
        }
        Some(values)
    }

    fn read_by_kernel(&self) -> Option<[u64; MOST_EVENTS]> {
        let mut bytes = [0_u8; 8 * (MOST_EVENTS + 1)];
        let mut first: &File = self.events.first()?;
        // Reading gives nothing for a group that could not stay on the processor.
        let read = first.read(&mut bytes[..8 * (self.events.len() + 1)]).ok()?;
        let words: [u64; MOST_EVENTS + 1] = std::array::from_fn(|at| {
            u64::from_ne_bytes(bytes[8 * at..8 * at + 8].try_into().expect("eight bytes"))
        });
        (read == 8 * (self.events.len() + 1)).then(|| std::array::from_fn(|at| words[at + 1]))
    }
}

/// The kernel's setting that restricts programs from counting themselves.
fn paranoid() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?;
    Some(text.trim().to_string())
}

/// Reason why an event cannot be added to `others` in its group.
fn why(error: c_int, event: &Event, others: usize, paranoid: Option<&str>) -> String {
    let most = if event.kernel_too { 1 } else { 2 };
    let level = paranoid.and_then(|text| text.parse::<i32>().ok());
    match error {
        libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP if event.source == Source::Software => {
            "this kernel has no such event".into()
        }
        libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP => {
            "this kernel offers no counters of the processor for it, as in most virtual machines".into()
        }
        libc::ENOSYS => "this kernel was built without events that can be counted".into(),
        libc::EACCES | libc::EPERM => match level {
            Some(level) if level > most => {
                format!(
                    "not allowed: /proc/sys/kernel/perf_event_paranoid is {level}, and at most {most} allows \
                     it to every user"
                )
            }
            _ => "not allowed here: perf_event_open is refused, as by the seccomp filter of many containers"
                .into(),
        },
        libc::EINVAL | libc::ENOSPC if others > 0 => {
            "the processor has too few counters to count it beside the others".into()
        }
        libc::EMFILE | libc::ENFILE => "too many files are open".into(),
        other => format!("{}", io::Error::from_raw_os_error(other)),
    }
}

/// Page with the state of one counter: `struct perf_event_mmap_page`.
struct Page(*const u8);

// SAFETY: the page is only read, and stays mapped as long as this value lives.
unsafe impl Send for Page {}

/// Length of the mapping [bytes]; on systems with larger pages, the rest is not mapped.
const PAGE: usize = 4096;
/// Offsets of its fields [bytes].
const LOCK: usize = 8;
const INDEX: usize = 12;
const OFFSET: usize = 16;
const CAPABILITIES: usize = 40;
const WIDTH: usize = 48;
/// Capability: the thread may read the counter itself.
const MAY_READ: u64 = 1 << 2;

impl Page {
    /// Maps the page of an event, on processors that support it.
    fn of(event: &File) -> Option<Page> {
        if !cfg!(target_arch = "x86_64") {
            return None;
        }
        // SAFETY: a new mapping, which the kernel places.
        let page = unsafe {
            libc::mmap(ptr::null_mut(), PAGE, libc::PROT_READ, libc::MAP_SHARED, event.as_raw_fd(), 0)
        };
        (page != libc::MAP_FAILED).then_some(Page(page.cast_const().cast()))
    }

    fn field<T>(&self, at: usize) -> T {
        // SAFETY: the fields lie within the page, aligned; the kernel writes them, so each is read once.
        unsafe { ptr::read_volatile(self.0.add(at).cast::<T>()) }
    }

    /// Count, if the thread may read it itself at the moment.
    fn read(&self) -> Option<u64> {
        loop {
            let lock: u32 = self.field(LOCK);
            compiler_fence(Ordering::SeqCst);
            let (index, offset): (u32, i64) = (self.field(INDEX), self.field(OFFSET));
            let (can, width): (u64, u16) = (self.field(CAPABILITIES), self.field(WIDTH));
            if can & MAY_READ == 0 || index == 0 {
                return None;
            }
            let counter = counter(index - 1);
            compiler_fence(Ordering::SeqCst);
            if lock == self.field::<u32>(LOCK) {
                return Some(offset.wrapping_add(extended(counter, width)) as u64);
            }
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: as it was mapped.
        unsafe { libc::munmap(self.0.cast_mut().cast(), PAGE) };
    }
}

/// Sign-extends a counter of `width` bits.
fn extended(counter: u64, width: u16) -> i64 {
    let unused = 64_u32.saturating_sub(width.into()).min(63);
    (counter << unused) as i64 >> unused
}

/// Value of the processor's counter with this number.
#[cfg(target_arch = "x86_64")]
fn counter(number: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: the kernel has stated that this thread may read that counter.
    unsafe {
        std::arch::asm!("rdpmc", in("ecx") number, out("eax") low, out("edx") high, options(nomem, nostack));
    }
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(not(target_arch = "x86_64"))]
fn counter(_: u32) -> u64 {
    unreachable!("no page was mapped")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_PROGRAM: Event = Event { source: Source::Hardware, config: 1, weight: 1, kernel_too: false };
    const OF_KERNEL: Event = Event { source: Source::Software, config: 3, weight: 1, kernel_too: true };

    #[test]
    fn what_is_not_allowed_says_what_would_be() {
        let refused = |event, paranoid| why(libc::EACCES, event, 0, paranoid);
        assert!(refused(&OF_PROGRAM, Some("3")).contains("perf_event_paranoid is 3, and at most 2"));
        assert!(refused(&OF_KERNEL, Some("2")).contains("perf_event_paranoid is 2, and at most 1"));
        // The level would allow it, or is unknown: something else refuses.
        assert!(refused(&OF_PROGRAM, Some("2")).contains("seccomp"));
        assert!(why(libc::EPERM, &OF_PROGRAM, 0, None).contains("seccomp"));
    }

    #[test]
    fn what_is_not_there_is_told_apart() {
        assert!(why(libc::ENOENT, &OF_PROGRAM, 0, Some("0")).contains("virtual machines"));
        assert!(why(libc::ENOSYS, &OF_PROGRAM, 0, None).contains("built without"));
        assert!(why(libc::EINVAL, &OF_PROGRAM, 4, None).contains("too few counters"));
        assert!(why(libc::EINVAL, &OF_PROGRAM, 0, None).contains("Invalid argument"));
    }

    /// A counter of 48 bits at one below zero, at one above, and at half its range.
    #[test]
    fn counters_have_a_sign() {
        assert_eq!(extended((1 << 48) - 1, 48), -1);
        assert_eq!(extended(1, 48), 1);
        assert_eq!(extended(1 << 47, 48), -(1 << 47));
        assert_eq!(extended(u64::MAX, 64), -1);
    }

    /// A page in the state of an event that is not on the processor, or that may not be read.
    #[test]
    fn what_may_not_be_read_here_is_left_to_the_kernel() {
        #[repr(align(8))]
        struct Bytes([u8; 64]);
        let read = |index: u32, can: u64| {
            let mut bytes = Bytes([0; 64]);
            bytes.0[INDEX..INDEX + 4].copy_from_slice(&index.to_ne_bytes());
            bytes.0[CAPABILITIES..CAPABILITIES + 8].copy_from_slice(&can.to_ne_bytes());
            // The page is not a mapping, so it must not be unmapped.
            std::mem::ManuallyDrop::new(Page(bytes.0.as_ptr())).read()
        };
        assert_eq!(read(0, MAY_READ), None);
        assert_eq!(read(1, 0), None);
    }
}
