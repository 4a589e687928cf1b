//! DUMPI: the binary format of SST's MPI tracer, one `.bin` file per rank, with or without a `.meta`.

pub mod calls;
mod clock;
mod collective;
mod comms;
mod communicator;
mod completion;
pub mod datatypes;
pub mod file;
pub mod names;
mod naming;
pub mod record;
pub mod set;
pub mod text;
mod translate;

pub use datatypes::Datatypes;
pub use file::{DumpiFile, Header};
pub use record::{Record, Records};
pub use set::{DumpiSet, FORMAT};
