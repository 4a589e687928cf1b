//! Interned names of MPI's functions, which live as long as the process.

use mpi::collective::Kind;

use crate::trace::dumpi::calls::CALLS;

/// Name of functions that no table lists.
const OTHER: &str = "MPI function";

/// Functions newer than DUMPI's, beside the collectives.
const NEWER: &[&str] = &[
    "MPI_Comm_create_group",
    "MPI_Comm_dup_with_info",
    "MPI_Comm_get_info",
    "MPI_Comm_idup",
    "MPI_Comm_set_info",
    "MPI_Comm_split_type",
    "MPI_Compare_and_swap",
    "MPI_Dist_graph_create",
    "MPI_Dist_graph_create_adjacent",
    "MPI_Fetch_and_op",
    "MPI_Get_accumulate",
    "MPI_Get_library_version",
    "MPI_Improbe",
    "MPI_Imrecv",
    "MPI_Isendrecv",
    "MPI_Isendrecv_replace",
    "MPI_Mprobe",
    "MPI_Mrecv",
    "MPI_Raccumulate",
    "MPI_Rget",
    "MPI_Rget_accumulate",
    "MPI_Rput",
    "MPI_Win_allocate",
    "MPI_Win_allocate_shared",
    "MPI_Win_attach",
    "MPI_Win_create_dynamic",
    "MPI_Win_detach",
    "MPI_Win_flush",
    "MPI_Win_flush_all",
    "MPI_Win_flush_local",
    "MPI_Win_flush_local_all",
    "MPI_Win_lock_all",
    "MPI_Win_shared_query",
    "MPI_Win_sync",
    "MPI_Win_unlock_all",
];

/// Name from the tables.
pub(super) fn known(name: &str) -> &'static str {
    if let Some(call) = CALLS.iter().find(|call| call.name == name) {
        return call.name;
    }
    if let Some(newer) = NEWER.iter().find(|newer| **newer == name) {
        return newer;
    }
    let functions = |kind: Kind| [kind.function(), kind.nonblocking_function(), kind.persistent_function()];
    Kind::all().flat_map(functions).find(|function| *function == name).unwrap_or(OTHER)
}
