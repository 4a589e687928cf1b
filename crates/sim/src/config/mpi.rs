//! `[mpi]`: the protocol of the MPI library and its algorithms of collectives.

use engine::registry::{Arguments, Kind, Parameter};
use mpi::collective::selection::LIBRARY_NAMES;
use mpi::collective::{ALGORITHMS, Kind as Collective, Selection};
use mpi::{Progress, Protocol};

use super::measured_sizes::{LONGEST_MEASURED, SHORTEST_MEASURED};
use super::platform::Platform;
use super::sections::optional;

pub(super) const MPI: &[Parameter] = &[
    optional(
        "library",
        Kind::Choice(LIBRARY_NAMES),
        "mpich",
        "Whose rules choose the algorithm of a collective",
    ),
    optional(
        "eager_limit",
        Kind::Size,
        "64 KiB",
        "Longest message between hosts that is sent before its receive is known; longer ones wait for it \
         (rendezvous). Default: Open MPI's btl_tcp_eager_limit",
    ),
    optional(
        "memory_eager_limit",
        Kind::Size,
        "4 KiB",
        "The same within a host. Default: Open MPI's btl_sm_eager_limit",
    ),
    optional(
        "detached_limit",
        Kind::Size,
        "0 B",
        "Longest message whose standard send (MPI_Send, MPI_Isend) is done when it has begun, though its data wait for the \
         receive: the library keeps them, as for a buffered send, in no time (SMPI's send-is-detached-thresh)",
    ),
    optional(
        "two_copy_limit",
        Kind::Size,
        "0 B",
        "Longest message between hosts that both processes copy, through MPI's own memory (two-copy); NICs read \
         and write the program's memory for longer ones (zero-copy)",
    ),
    optional(
        "copy_rate",
        Kind::Bandwidth,
        "infinite",
        "Rate at which MPI copies between the program's memory and its own: two-copy messages at both ends, \
         buffered sends, and eager messages that came before their receive",
    ),
    optional(
        "call_overhead",
        Kind::Time,
        "0 ns",
        "Time of the process for each MPI call, beside that for each message; not for calls of recorded runs that \
         do not communicate",
    ),
    optional(
        "block_overhead",
        Kind::Time,
        "0 ns",
        "Time of the process for each block, empty or not, of alltoallv, alltoallw and those of neighbours, whose \
         lengths the library reads before it sends: one block to send and one to receive for each rank. Messages cost \
         their overheads, too",
    ),
    optional(
        "poll",
        Kind::Time,
        "100 ns",
        "Time of the process for a test or probe that finds nothing; above 0",
    ),
    optional(
        "progress",
        Kind::Choice(Progress::NAMES),
        "calls",
        "Times at which a process answers the messages of a rendezvous and goes on with non-blocking collectives: in calls \
         that wait, test or probe, or at any time (a progress thread, or a network interface that does it). \
         Default: as MPICH, Open MPI and Intel MPI are without being told otherwise",
    ),
    optional(
        "unmeasured",
        Kind::Text,
        "",
        "A sentence about the costs of MPI that nobody has measured on this machine: every run warns with it",
    ),
    optional(
        "reduce_rate",
        Kind::Bandwidth,
        "infinite",
        "Rate at which a process combines operands in a reduction, bytes of one operand per second",
    ),
    optional("segment", Kind::Size, "8 KiB", "Segment of the pipelined algorithms of collectives"),
    SHORTEST_MEASURED,
    LONGEST_MEASURED,
];

/// Keys for all collectives, whose choices are their algorithms. Called once.
pub(super) fn collective_keys() -> &'static [Parameter] {
    let key = |kind: Collective| {
        let fitting =
            ALGORITHMS.iter().filter(|entry| entry.build.kinds.contains(&kind)).map(|entry| entry.name);
        let fitting: &'static [&'static str] = fitting.collect::<Vec<_>>().leak();
        optional(kind.name(), Kind::Choice(fitting), "", "The algorithm, whatever the library would choose")
    };
    Collective::all().map(key).collect::<Vec<_>>().leak()
}

impl Platform {
    /// Values of `[mpi]`: library, limits, reduce rate, segment.
    pub fn mpi(&self) -> &Arguments {
        &self.of("mpi").arguments
    }

    /// Protocol of MPI's messages.
    pub fn protocol(&self) -> Protocol {
        let mpi = self.mpi();
        Protocol {
            eager_limit: mpi.size("eager_limit").expect("has a default"),
            memory_eager_limit: mpi.size("memory_eager_limit").expect("has a default"),
            detached_limit: mpi.size("detached_limit").expect("has a default"),
            two_copy_limit: mpi.size("two_copy_limit").expect("has a default"),
            copy_rate: mpi.bandwidth("copy_rate").expect("has a default"),
            call_overhead: mpi.time("call_overhead").expect("has a default"),
            block_overhead: mpi.time("block_overhead").expect("has a default"),
            poll: mpi.time("poll").expect("has a default"),
            progress: mpi.text("progress").and_then(|name| Progress::named(&name)).expect("a known choice"),
        }
    }

    /// Rules of the library for collectives, which `[mpi.collectives]` overrides.
    pub fn selection(&self) -> Selection {
        let library = self.mpi().text("library").expect("has a default");
        let rules = Selection::library(&library).expect("the choices are those of the registry");
        self.collective_algorithms().into_iter().fold(rules, |rules, (kind, name)| {
            rules.with(kind, &name).expect("the choices are those of the registry")
        })
    }

    /// Algorithms of `[mpi.collectives]`, which replace the library's choice.
    pub fn collective_algorithms(&self) -> Vec<(Collective, String)> {
        let written = &self.of("mpi.collectives").arguments;
        Collective::all().filter_map(|kind| Some((kind, written.text(kind.name())?))).collect()
    }
}
