//! The binary interface of the MPI 5.0 standard: what a compiled program sees.
//!
//! Source of all constants and layouts: MPI: A Message-Passing Interface Standard, version 5.0, chapter 20
//! "Application Binary Interface". The same numbers stand in `include/mpi.h`; a test compares them.

pub mod arguments;
pub mod error;
pub mod handle;
pub mod pointers;
pub mod status;

/// MPI_ANY_SOURCE.
pub const ANY_SOURCE: i32 = -1;
/// MPI_ANY_TAG.
pub const ANY_TAG: i32 = -2;
/// MPI_PROC_NULL.
pub const PROC_NULL: i32 = -3;
/// MPI_ROOT.
pub const ROOT: i32 = -4;
/// MPI_UNDEFINED.
pub const UNDEFINED: i32 = -32766;
/// MPI_IN_PLACE.
pub const IN_PLACE: usize = 1;
/// MPI_THREAD_SINGLE, _FUNNELED, _SERIALIZED, _MULTIPLE.
pub const THREAD: [i32; 4] = [0, 1024, 2048, 4096];
/// MPI_MAX_ERROR_STRING.
pub const MAX_ERROR_STRING: usize = 512;
/// MPI_MAX_PROCESSOR_NAME.
pub const MAX_PROCESSOR_NAME: usize = 256;
/// MPI_MAX_LIBRARY_VERSION_STRING.
pub const MAX_LIBRARY_VERSION_STRING: usize = 8192;
/// MPI_MAX_INFO_KEY.
pub const MAX_INFO_KEY: usize = 256;
/// MPI_MAX_INFO_VAL.
pub const MAX_INFO_VAL: usize = 1024;
/// MPI_MAX_OBJECT_NAME.
pub const MAX_OBJECT_NAME: usize = 128;
/// MPI_MAX_PSET_NAME_LEN.
pub const MAX_PSET_NAME: usize = 1024;
/// MPI_ERR_LASTCODE: the last code that is ours.
pub const LAST_CODE: i32 = 0x3fff;
/// MPI_IDENT.
pub const IDENT: i32 = 201;
/// MPI_CONGRUENT.
pub const CONGRUENT: i32 = 202;
/// MPI_SIMILAR.
pub const SIMILAR: i32 = 203;
/// MPI_UNEQUAL.
pub const UNEQUAL: i32 = 204;
/// MPI_COMM_TYPE_SHARED, _HW_UNGUIDED, _HW_GUIDED, _RESOURCE_GUIDED.
pub const COMM_TYPE: [i32; 4] = [221, 222, 223, 224];
