//! Events that a recorder counts between calls, besides time: those that the kernel counts for a thread, on the processor's
//! counters or its own.
//!
//! Each thing is one event or a weighted sum of several ([`COUNTABLE`]). All events of a recording are one *pinned* group:
//! the kernel counts all of them all the time, or says that it cannot; it never counts some for a while and others for
//! another, which would be an estimate. They are of one thread, the one that called MPI_Init, and of no other that it starts.

mod counting;
mod event;
mod flops;

pub use counting::Counting;

use workload::trace::hct::gaps::{Count, MOST_COUNTS};

use event::{Event, Group, Source};

/// A quantity that can be counted.
struct Countable {
    /// Name, as the user writes it and the recording's head stores it.
    name: &'static str,
    /// Unit, in the plural.
    unit: &'static str,
    /// Events whose weighted sum it is, or the reason why this machine has none.
    events: fn() -> Result<Vec<Event>, String>,
}

/// All quantities that can be counted.
const COUNTABLE: [Countable; 5] = [
    Countable { name: "instructions", unit: "instructions", events: || of_program(Source::Hardware, 1) },
    Countable { name: "cycles", unit: "cycles", events: || of_program(Source::Hardware, 0) },
    Countable { name: "flops", unit: "flop", events: flops::events },
    Countable { name: "page_faults", unit: "page faults", events: || of_program(Source::Software, 2) },
    Countable {
        name: "context_switches",
        unit: "context switches",
        // They occur in the kernel, on behalf of the thread.
        events: || Ok(vec![Event { source: Source::Software, config: 3, weight: 1, kernel_too: true }]),
    },
];

/// One event, counted while the program runs, but not while the kernel works for it.
fn of_program(source: Source, config: u64) -> Result<Vec<Event>, String> {
    Ok(vec![Event { source, config, weight: 1, kernel_too: false }])
}

/// The counters of one thread.
pub struct Counters {
    /// Quantities that they count, in order.
    pub counts: Vec<Count>,
    group: Group,
    /// Index of the quantity that each event of the group belongs to, and the event's weight in it.
    parts: Vec<(usize, u64)>,
}

impl Counters {
    /// Opens counters of the calling thread for the quantities `names`, separated by commas; the error names one that
    /// cannot be counted here, and the reason.
    pub fn open(names: &str) -> Result<Counters, String> {
        let (mut counts, mut events) = (Vec::new(), Vec::new());
        for name in names.split(',').map(str::trim) {
            let Some(of) = COUNTABLE.iter().find(|of| of.name == name) else {
                let known = COUNTABLE.map(|of| of.name).join(", ");
                return Err(format!("'{name}' cannot be counted; known: {known}"));
            };
            if counts.iter().any(|count: &Count| count.name == name) {
                return Err(format!("{name} is named twice"));
            }
            let found = (of.events)().map_err(|reason| format!("{name}: {reason}"))?;
            events.extend(found.into_iter().map(|event| (name, counts.len(), event)));
            counts.push(Count { name: of.name.into(), unit: of.unit.into() });
        }
        // The kernel's own events fit into a group of the processor's, but not vice versa.
        events.sort_by_key(|(_, _, event)| event.source == Source::Software);
        let mut group = Group::default();
        for (name, _, event) in &events {
            group.add(event).map_err(|reason| format!("{name}: {reason}"))?;
        }
        let parts: Vec<(usize, u64)> = events.iter().map(|(_, of, event)| (*of, event.weight)).collect();
        let counters = Counters { counts, group, parts };
        match counters.read() {
            None => Err(format!("{names}: {TAKEN}")),
            Some(_) => flops::check(&counters).map(|()| counters),
        }
    }

    /// Totals of each quantity so far; `None` if others have taken the processor's counters.
    pub fn read(&self) -> Option<[u64; MOST_COUNTS]> {
        let values = self.group.read()?;
        let mut counts = [0_u64; MOST_COUNTS];
        for ((of, weight), value) in self.parts.iter().zip(values) {
            counts[*of] = counts[*of].saturating_add(value.saturating_mul(*weight));
        }
        Some(counts)
    }
}

/// Reason why a group that was opened does not count.
pub const TAKEN: &str = "others use the processor's counters, so that the kernel has too few of them left";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        let error = |names: &str| Counters::open(names).err().unwrap();
        assert_eq!(
            error("cycels"),
            "'cycels' cannot be counted; known: instructions, cycles, flops, page_faults, context_switches"
        );
        assert_eq!(error("page_faults,page_faults"), "page_faults is named twice");
    }

    #[test]
    fn a_recording_may_count_everything_at_once() {
        assert!(COUNTABLE.len() <= MOST_COUNTS);
    }

    /// Each fresh page of memory that is written to causes a fault, unless pages are huge, so pages of 4 KiB are
    /// requested.
    #[test]
    fn fresh_pages_are_faults() {
        const PAGE: usize = 4096;
        const PAGES: usize = 50;
        let counters = match Counters::open("page_faults") {
            Ok(counters) => counters,
            Err(reason) if reason.contains("not allowed") => return println!("not tested: {reason}"),
            Err(reason) => panic!("{reason}"),
        };
        // SAFETY: new memory of this length, unknown to anyone else, and written within its bounds.
        let faults = unsafe {
            let all = libc::PROT_READ | libc::PROT_WRITE;
            let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let memory = libc::mmap(std::ptr::null_mut(), PAGES * PAGE, all, private, -1, 0);
            assert_ne!(memory, libc::MAP_FAILED);
            libc::madvise(memory, PAGES * PAGE, libc::MADV_NOHUGEPAGE);
            let before = counters.read().unwrap();
            for page in 0..PAGES {
                memory.cast::<u8>().add(page * PAGE).write_volatile(1);
            }
            let faults = counters.read().unwrap()[0] - before[0];
            libc::munmap(memory, PAGES * PAGE);
            faults
        };
        assert_eq!(faults, PAGES as u64);
    }
}
