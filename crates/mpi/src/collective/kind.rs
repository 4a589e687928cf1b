//! The kinds of collectives and their names.

/// Collective operation, by MPI's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Kind {
    Barrier,
    Bcast,
    Reduce,
    Allreduce,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    ReduceScatterBlock,
    ReduceScatter,
    Scan,
    Exscan,
    NeighborAllgather,
    NeighborAllgatherv,
    NeighborAlltoall,
    NeighborAlltoallv,
    NeighborAlltoallw,
}

/// Kind, short name, MPI function, its non-blocking and its persistent twin.
const NAMES: &[(Kind, &str, &str, &str, &str)] = &[
    (Kind::Barrier, "barrier", "MPI_Barrier", "MPI_Ibarrier", "MPI_Barrier_init"),
    (Kind::Bcast, "bcast", "MPI_Bcast", "MPI_Ibcast", "MPI_Bcast_init"),
    (Kind::Reduce, "reduce", "MPI_Reduce", "MPI_Ireduce", "MPI_Reduce_init"),
    (Kind::Allreduce, "allreduce", "MPI_Allreduce", "MPI_Iallreduce", "MPI_Allreduce_init"),
    (Kind::Gather, "gather", "MPI_Gather", "MPI_Igather", "MPI_Gather_init"),
    (Kind::Gatherv, "gatherv", "MPI_Gatherv", "MPI_Igatherv", "MPI_Gatherv_init"),
    (Kind::Scatter, "scatter", "MPI_Scatter", "MPI_Iscatter", "MPI_Scatter_init"),
    (Kind::Scatterv, "scatterv", "MPI_Scatterv", "MPI_Iscatterv", "MPI_Scatterv_init"),
    (Kind::Allgather, "allgather", "MPI_Allgather", "MPI_Iallgather", "MPI_Allgather_init"),
    (Kind::Allgatherv, "allgatherv", "MPI_Allgatherv", "MPI_Iallgatherv", "MPI_Allgatherv_init"),
    (Kind::Alltoall, "alltoall", "MPI_Alltoall", "MPI_Ialltoall", "MPI_Alltoall_init"),
    (Kind::Alltoallv, "alltoallv", "MPI_Alltoallv", "MPI_Ialltoallv", "MPI_Alltoallv_init"),
    (Kind::Alltoallw, "alltoallw", "MPI_Alltoallw", "MPI_Ialltoallw", "MPI_Alltoallw_init"),
    (
        Kind::ReduceScatterBlock,
        "reduce_scatter_block",
        "MPI_Reduce_scatter_block",
        "MPI_Ireduce_scatter_block",
        "MPI_Reduce_scatter_block_init",
    ),
    (
        Kind::ReduceScatter,
        "reduce_scatter",
        "MPI_Reduce_scatter",
        "MPI_Ireduce_scatter",
        "MPI_Reduce_scatter_init",
    ),
    (Kind::Scan, "scan", "MPI_Scan", "MPI_Iscan", "MPI_Scan_init"),
    (Kind::Exscan, "exscan", "MPI_Exscan", "MPI_Iexscan", "MPI_Exscan_init"),
    (
        Kind::NeighborAllgather,
        "neighbor_allgather",
        "MPI_Neighbor_allgather",
        "MPI_Ineighbor_allgather",
        "MPI_Neighbor_allgather_init",
    ),
    (
        Kind::NeighborAllgatherv,
        "neighbor_allgatherv",
        "MPI_Neighbor_allgatherv",
        "MPI_Ineighbor_allgatherv",
        "MPI_Neighbor_allgatherv_init",
    ),
    (
        Kind::NeighborAlltoall,
        "neighbor_alltoall",
        "MPI_Neighbor_alltoall",
        "MPI_Ineighbor_alltoall",
        "MPI_Neighbor_alltoall_init",
    ),
    (
        Kind::NeighborAlltoallv,
        "neighbor_alltoallv",
        "MPI_Neighbor_alltoallv",
        "MPI_Ineighbor_alltoallv",
        "MPI_Neighbor_alltoallv_init",
    ),
    (
        Kind::NeighborAlltoallw,
        "neighbor_alltoallw",
        "MPI_Neighbor_alltoallw",
        "MPI_Ineighbor_alltoallw",
        "MPI_Neighbor_alltoallw_init",
    ),
];

impl Kind {
    /// Every kind, in the order of the enum.
    pub fn all() -> impl Iterator<Item = Kind> {
        NAMES.iter().map(|row| row.0)
    }

    /// As in platform files and on the command line: "allreduce", "reduce_scatter_block".
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The blocking MPI function: "MPI_Allreduce".
    pub fn function(self) -> &'static str {
        NAMES[self as usize].2
    }

    /// The non-blocking MPI function: "MPI_Iallreduce".
    pub fn nonblocking_function(self) -> &'static str {
        NAMES[self as usize].3
    }

    /// The function that makes a persistent request: "MPI_Allreduce_init".
    pub fn persistent_function(self) -> &'static str {
        NAMES[self as usize].4
    }

    /// The kind called `name`: "allreduce", "MPI_Allreduce" or "MPI_Iallreduce". The error lists the choices.
    pub fn named(name: &str) -> Result<Kind, String> {
        NAMES.iter().find(|row| [row.1, row.2, row.3, row.4].contains(&name)).map(|row| row.0).ok_or_else(
            || {
                let known: Vec<_> = Kind::all().map(Kind::name).collect();
                format!("unknown collective '{name}'; known: {}", known.join(", "))
            },
        )
    }

    /// True if it reduces, so that the order of operands can matter.
    pub fn reduces(self) -> bool {
        matches!(
            self,
            Kind::Reduce
                | Kind::Allreduce
                | Kind::ReduceScatterBlock
                | Kind::ReduceScatter
                | Kind::Scan
                | Kind::Exscan
        )
    }

    /// True if it is among the neighbours of a topology.
    pub fn among_neighbours(self) -> bool {
        matches!(
            self,
            Kind::NeighborAllgather
                | Kind::NeighborAllgatherv
                | Kind::NeighborAlltoall
                | Kind::NeighborAlltoallv
                | Kind::NeighborAlltoallw
        )
    }

    /// True if it has a root.
    pub fn rooted(self) -> bool {
        matches!(
            self,
            Kind::Bcast | Kind::Reduce | Kind::Gather | Kind::Gatherv | Kind::Scatter | Kind::Scatterv
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_stands_in_the_order_of_the_enum_and_names_lead_back() {
        for (index, kind) in Kind::all().enumerate() {
            assert_eq!(kind as usize, index);
            let functions = [kind.function(), kind.nonblocking_function(), kind.persistent_function()];
            for name in [kind.name()].into_iter().chain(functions) {
                assert_eq!(Kind::named(name), Ok(kind));
            }
        }
        assert_eq!(Kind::NeighborAlltoallw as usize + 1, Kind::all().count());
    }

    #[test]
    fn an_unknown_collective_is_answered_with_the_known_ones() {
        let error = Kind::named("alreduce").unwrap_err();
        assert!(error.starts_with("unknown collective 'alreduce'; known: barrier, bcast"), "{error}");
    }
}
