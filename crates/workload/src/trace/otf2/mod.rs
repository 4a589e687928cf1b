//! OTF2, the Open Trace Format 2: what Score-P, Extrae, TAU and others write.
//!
//! An archive is an anchor `NAME.otf2`, definitions for all in `NAME.def`, and in the folder `NAME` a
//! `.def` and an `.evt` for each location (a thread of a process, a stream of an accelerator). Replay
//! takes the locations that are ranks of MPI.
//!
//! Why the format is read here and not by OTF2's own library: that is C, which this crate may not call; it
//! ends the process on damaged files, where an error with its place is wanted; and it would have to be
//! installed by everyone who opens an archive. The tests hold each event read, its time and its numbers,
//! against what the library prints.

mod archive;
mod calls;
mod collective;
pub mod event;
mod location;
mod names;
mod ranks;
mod scout;
pub mod set;
mod stream;
mod sums;
mod translate;

pub use event::{CollectiveCall, Event, Events, Message, Stamp};
pub use set::{FORMAT, Otf2Set};
