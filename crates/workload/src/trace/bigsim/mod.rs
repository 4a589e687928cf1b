//! BigSim's logs of an emulated Charm++ or AMPI program: a file `bgTrace` that says how many processors there are, and
//! `bgTrace0`, `bgTrace1`, … with their events.
//!
//! An event is what a processor does when a message has come or events before it are over: it computes for a time,
//! and sends messages on the way. A message has a number of its sender, and is sent to one processor or to all.
//!
//! ```text
//! bgTrace    machine (16 bytes), processors, x, y, z, 2 numbers of threads, 2 more, files, version, thread's entry
//! bgTraceN   machine, processors here, where each begins; those of file N are N, N + files, N + 2 files, …
//!   at each  events, then each: entry, number, message (processor, number), collective (2 bytes, 4 bytes),
//!            entry (2 bytes), five times [s, 8 bytes] (received, effective, begin, length, end), flag (1), name (20),
//!            object (16), messages sent, marks, events before, events after (a count and as many of each)
//! ```
//! Numbers are little-endian and of 4 bytes where nothing else is said.
//!
//! Assumptions: processors are ranks, and every message is one of MPI, with its number as the tag; one to all is as
//! many messages, each from its sender; the length of an event was recorded where the emulation ran, and is scaled
//! like other recorded computing; events run in the order in which they become ready (`trace/graph/walk.rs`), messages go
//! out at the time within the event at which they went.
//!
//! Source: BigSim of Charm++ 6.10 (`bigsim_logs`, version 6 of the log); TraceR, which reads the same.

mod file;
mod set;

pub use set::{BigsimSet, FORMAT};
