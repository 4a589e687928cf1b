//! DUMPI: the binary format of SST's MPI tracer, one `.bin` file per rank, with or without a `.meta`.

pub mod calls;
pub mod datatypes;
pub mod file;
pub mod names;
pub mod record;
pub mod text;

pub use datatypes::Datatypes;
pub use file::{DumpiFile, Header};
pub use record::{Record, Records};
