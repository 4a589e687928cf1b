//! Every collective as a pattern of its own: all ranks call it, again and again.

use std::sync::Arc;

use engine::Bytes;
use engine::registry::{Arguments, BuildError, Entry, Kind as Takes, Parameter};
use mpi::Op;
use mpi::collective::{self, Collective, Kind, Sizes};
use mpi::operation::{CommId, Start};

use super::{BYTES, Build, COMPUTE, Common, ITERATIONS, MEMORY, Pattern, Setting};

const PARAMETERS: &[Parameter] = &[
    BYTES,
    ITERATIONS,
    COMPUTE,
    MEMORY,
    Parameter {
        name: "algorithm",
        kind: Takes::Text,
        default: Some(""),
        summary: "algorithm by name (see `hopcast list collectives`); the library's own choice if missing",
    },
    Parameter {
        name: "root",
        kind: Takes::Integer(0, u32::MAX as i64),
        default: Some("0"),
        summary: "the rank that sends or collects, for collectives that have one",
    },
];

macro_rules! entries {
    ($($constant:ident, $name:literal, $kind:ident, $summary:literal;)*) => {
        $(
            pub(super) const $constant: Entry<Build> = Entry {
                name: $name,
                summary: $summary,
                source: "MPI: A Message-Passing Interface Standard, version 4.1, chapter 6",
                parameters: PARAMETERS,
                examples: &[""],
                build: |arguments, setting| build(Kind::$kind, arguments, setting),
            };
        )*
    };
}
entries! {
    BARRIER, "barrier", Barrier, "all ranks wait for each other";
    BCAST, "bcast", Bcast, "the root's buffer goes to all";
    REDUCE, "reduce", Reduce, "all buffers are reduced at the root";
    ALLREDUCE, "allreduce", Allreduce, "all buffers are reduced, everyone gets the result";
    GATHER, "gather", Gather, "a block of each rank goes to the root";
    SCATTER, "scatter", Scatter, "the root's blocks go to one rank each";
    ALLGATHER, "allgather", Allgather, "a block of each rank goes to everyone";
    ALLTOALL, "alltoall", Alltoall, "each rank sends a block to each rank";
    REDUCE_SCATTER, "reduce-scatter", ReduceScatterBlock, "blocks are reduced, one result to each rank";
    SCAN, "scan", Scan, "each rank gets the reduction of the ranks up to itself";
    EXSCAN, "exscan", Exscan, "each rank gets the reduction of the ranks before it";
}

/// A call over the world with one size for every block.
pub(super) fn equal(kind: Kind, bytes: Bytes, algorithm: Option<&'static str>) -> Collective {
    Collective {
        kind,
        comm: CommId::WORLD,
        root: 0,
        sizes: Sizes::Equal(bytes),
        element: 1,
        commutative: true,
        algorithm,
    }
}

struct Repeated {
    common: Common,
    call: Arc<Collective>,
}

fn build(kind: Kind, arguments: &Arguments, setting: Setting) -> Result<Box<dyn Pattern>, BuildError> {
    let common = Common::of(arguments);
    let algorithm = match arguments.text("algorithm") {
        None => None,
        Some(name) => {
            let found =
                collective::find(kind, &name).map_err(|reason| BuildError::new("algorithm", reason))?;
            Some(found.name)
        }
    };
    let mut call = equal(kind, common.bytes, algorithm);
    // Reductions work on doubles where the size allows it.
    call.element = if common.bytes.0 % 8 == 0 && common.bytes.0 > 0 { 8 } else { 1 };
    call.root = arguments.integer("root").expect("root has a default") as u32;
    if call.root >= setting.ranks {
        let reason = format!("rank {} is not below the number of ranks, {}", call.root, setting.ranks);
        return Err(BuildError::new("root", reason));
    }
    if kind == Kind::Barrier {
        call.sizes = Sizes::Equal(Bytes(0));
    }
    Ok(Box::new(Repeated { common, call: Arc::new(call) }))
}

impl Pattern for Repeated {
    fn op(&self, _rank: u32, step: u32) -> Option<Op> {
        let (_, within) = self.common.locate(step, 1)?;
        Some(match within {
            0 => Op::Collective(self.call.clone(), Start::Blocking),
            _ => self.common.work(),
        })
    }
}
