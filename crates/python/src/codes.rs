//! Numbers by which rank programs name operations: the first item of every operation's tuple.

use mpi::collective::Kind;
use mpi::operation::{SendMode, Until};
use pyo3::prelude::*;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: u8 = $value;)*

        /// Puts every code into the module under its name.
        pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add(stringify!($name), $name)?;)*
            for (number, kind) in KINDS.iter().enumerate() {
                module.add(kind.0, number)?;
            }
            Ok(())
        }
    };
}

codes! {
    /// (seconds)
    COMPUTE = 0;
    /// (flops, bytes)
    COMPUTE_FLOPS = 1;
    /// (seconds since the start)
    SLEEP_UNTIL = 2;
    /// (comm, dest, tag, nbytes, mode, payload, via): via is None, or (the NICs of both hosts or None, whether it is
    /// zero-copy or None)
    SEND = 3;
    /// As `SEND`, and (request)
    ISEND = 4;
    /// As `ISEND`
    SEND_INIT = 5;
    /// (comm, source, tag, room or None, whether the status is wanted)
    RECV = 6;
    /// (comm, source, tag, room or None, request)
    IRECV = 7;
    /// As `IRECV`
    RECV_INIT = 8;
    /// (comm, dest, tag, nbytes, payload, source, receive tag, room or None, whether the status is wanted, via)
    SENDRECV = 9;
    /// (comm, source, tag)
    PROBE = 10;
    /// As `PROBE`
    IPROBE = 11;
    /// As `PROBE`
    MPROBE = 12;
    /// As `PROBE`
    IMPROBE = 13;
    /// (message, whether the status is wanted)
    MRECV = 14;
    /// (message, request)
    IMRECV = 15;
    /// (request, whether the status is wanted)
    WAIT = 16;
    /// (requests, until)
    WAIT_SET = 17;
    /// (requests, until)
    TEST_SET = 18;
    /// (requests)
    START = 19;
    /// (request)
    CANCEL = 20;
    /// (request)
    FREE = 21;
    /// (comm, kind, root, lengths, element, commutative, algorithm or None)
    COLLECTIVE = 22;
    /// As `COLLECTIVE`, and (request)
    ICOLLECTIVE = 23;
    /// (comm)
    COMM_DUP = 24;
    /// (comm, colour or None, key)
    COMM_SPLIT = 25;
    /// (comm, key)
    COMM_SPLIT_HOST = 26;
    /// (comm, members)
    COMM_CREATE = 27;
    /// (comm, members, tag)
    COMM_CREATE_GROUP = 28;
    /// (comm, sizes, periodic)
    COMM_CART = 29;
    /// (comm, sources, destinations)
    COMM_GRAPH = 30;
    /// (comm)
    COMM_FREE = 31;
    /// (code)
    ABORT = 32;
    /// (comm, which dimensions remain)
    COMM_SUB = 33;
    /// ()
    WTIME = 34;

    /// Send modes.
    STANDARD = 0;
    /// Send modes.
    BUFFERED = 1;
    /// Send modes.
    SYNCHRONOUS = 2;
    /// Send modes.
    READY = 3;

    /// Number of requests to complete: all, any or some.
    ALL = 0;
    /// Number of requests to complete: all, any or some.
    ANY = 1;
    /// Number of requests to complete: all, any or some.
    SOME = 2;
}

/// Send modes by code.
pub const MODES: [SendMode; 4] =
    [SendMode::Standard, SendMode::Buffered, SendMode::Synchronous, SendMode::Ready];

/// Numbers of requests to complete, by code.
pub const UNTILS: [Until; 3] = [Until::All, Until::Any, Until::Some];

/// Collectives by code.
pub const KINDS: [(&str, Kind); 22] = [
    ("BARRIER", Kind::Barrier),
    ("BCAST", Kind::Bcast),
    ("REDUCE", Kind::Reduce),
    ("ALLREDUCE", Kind::Allreduce),
    ("GATHER", Kind::Gather),
    ("GATHERV", Kind::Gatherv),
    ("SCATTER", Kind::Scatter),
    ("SCATTERV", Kind::Scatterv),
    ("ALLGATHER", Kind::Allgather),
    ("ALLGATHERV", Kind::Allgatherv),
    ("ALLTOALL", Kind::Alltoall),
    ("ALLTOALLV", Kind::Alltoallv),
    ("ALLTOALLW", Kind::Alltoallw),
    ("REDUCE_SCATTER_BLOCK", Kind::ReduceScatterBlock),
    ("REDUCE_SCATTER", Kind::ReduceScatter),
    ("SCAN", Kind::Scan),
    ("EXSCAN", Kind::Exscan),
    ("NEIGHBOR_ALLGATHER", Kind::NeighborAllgather),
    ("NEIGHBOR_ALLGATHERV", Kind::NeighborAllgatherv),
    ("NEIGHBOR_ALLTOALL", Kind::NeighborAlltoall),
    ("NEIGHBOR_ALLTOALLV", Kind::NeighborAlltoallv),
    ("NEIGHBOR_ALLTOALLW", Kind::NeighborAlltoallw),
];
