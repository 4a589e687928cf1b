//! The limits of Open MPI's fixed rules: up to how many ranks, and up to how many bytes, which algorithm.

use crate::collective::selection::{ANY, Band, REST};

pub(super) const LINEAR: &[Band] = &[(ANY, &[(REST, "linear")])];
pub(super) const REDUCE_SCATTERV: &[Band] = &[(ANY, &[(REST, "reduce-scatterv")])];

pub(super) const BARRIER: &[Band] = &[
    (4, &[(REST, "recursive-doubling")]),
    (8, &[(REST, "linear")]),
    (64, &[(REST, "recursive-doubling")]),
    (256, &[(REST, "dissemination")]),
    (512, &[(REST, "tree")]),
    (1024, &[(REST, "dissemination")]),
    (4096, &[(REST, "tree")]),
    (ANY, &[(REST, "dissemination")]),
];

pub(super) const BCAST: &[Band] = &[
    (
        4,
        &[
            (32, "chain"),
            (256, "binary-tree"),
            (512, "chain"),
            (1_024, "knomial"),
            (32_768, "linear"),
            (131_072, "binary-tree"),
            (262_144, "chain"),
            (524_288, "linear"),
            (1_048_576, "binomial"),
            (REST, "binary-tree"),
        ],
    ),
    (
        8,
        &[
            (64, "binary-tree"),
            (128, "binomial"),
            (2_048, "binary-tree"),
            (8_192, "binomial"),
            (1_048_576, "linear"),
            (REST, "chain"),
        ],
    ),
    (
        16,
        &[
            (8, "knomial"),
            (64, "binary-tree"),
            (4_096, "knomial"),
            (16_384, "binary-tree"),
            (32_768, "binomial"),
            (REST, "linear"),
        ],
    ),
    (32, &[(4_096, "knomial"), (1_048_576, "binomial"), (REST, "scatter-recursive-doubling-allgather")]),
    (64, &[(2_048, "binomial"), (REST, "knomial")]),
    (128, &[(REST, "knomial")]),
    (
        256,
        &[
            (2, "binomial"),
            (16_384, "binary-tree"),
            (32_768, "linear"),
            (65_536, "binary-tree"),
            (REST, "knomial"),
        ],
    ),
    (1024, &[(16_384, "knomial"), (32_768, "split-binary-tree"), (REST, "knomial")]),
    (2048, &[(524_288, "knomial"), (REST, "scatter-recursive-doubling-allgather")]),
    (4096, &[(262_144, "knomial"), (REST, "scatter-recursive-doubling-allgather")]),
    (
        ANY,
        &[
            (8_192, "knomial"),
            (16_384, "binary-tree"),
            (262_144, "knomial"),
            (REST, "scatter-recursive-doubling-allgather"),
        ],
    ),
];

pub(super) const REDUCE_ORDERED: &[Band] = &[
    (4, &[(8, "binary-tree"), (REST, "linear")]),
    (8, &[(REST, "linear")]),
    (
        16,
        &[
            (1_024, "binary-tree"),
            (8_192, "linear"),
            (16_384, "binary-tree"),
            (262_144, "linear"),
            (REST, "binary-tree"),
        ],
    ),
    (128, &[(REST, "binary-tree")]),
    (256, &[(512, "binary-tree"), (1_024, "linear"), (REST, "binary-tree")]),
    (ANY, &[(REST, "binary-tree")]),
];

pub(super) const REDUCE: &[Band] = &[
    (4, &[(8, "rabenseifner"), (16, "binary-tree"), (32, "chain"), (262_144, "linear"), (REST, "chain")]),
    (
        8,
        &[
            (4_096, "binary-tree"),
            (65_536, "chain"),
            (262_144, "binomial"),
            (524_288, "linear"),
            (1_048_576, "binomial"),
            (REST, "linear"),
        ],
    ),
    (16, &[(8_192, "binary-tree"), (REST, "binomial")]),
    (32, &[(4_096, "binary-tree"), (REST, "binomial")]),
    (256, &[(REST, "binomial")]),
    (512, &[(8_192, "binomial"), (16_384, "binary-tree"), (REST, "binomial")]),
    (2048, &[(REST, "binomial")]),
    (
        4096,
        &[
            (512, "binomial"),
            (1_024, "binary-tree"),
            (8_192, "binomial"),
            (16_384, "binary-tree"),
            (REST, "binomial"),
        ],
    ),
    (
        ANY,
        &[
            (16, "binomial"),
            (32, "binary-tree"),
            (1_024, "binomial"),
            (2_048, "binary-tree"),
            (8_192, "binomial"),
            (16_384, "binary-tree"),
            (REST, "binomial"),
        ],
    ),
];

pub(super) const ALLREDUCE_ORDERED: &[Band] = &[
    (4, &[(131_072, "recursive-doubling"), (REST, "linear")]),
    (8, &[(REST, "recursive-doubling")]),
    (16, &[(1_048_576, "recursive-doubling"), (REST, "reduce-bcast")]),
    (128, &[(REST, "recursive-doubling")]),
    (256, &[(131_072, "reduce-bcast"), (524_288, "recursive-doubling"), (REST, "reduce-bcast")]),
    (512, &[(4_096, "reduce-bcast"), (524_288, "recursive-doubling"), (REST, "reduce-bcast")]),
    (ANY, &[(2_048, "reduce-bcast"), (REST, "recursive-doubling")]),
];

pub(super) const ALLREDUCE: &[Band] = &[
    (
        4,
        &[
            (8, "ring"),
            (4_096, "recursive-doubling"),
            (8_192, "ring"),
            (16_384, "recursive-doubling"),
            (65_536, "ring"),
            (262_144, "segmented-ring"),
            (REST, "rabenseifner"),
        ],
    ),
    (8, &[(16, "ring"), (8_192, "recursive-doubling"), (REST, "rabenseifner")]),
    (16, &[(8_192, "recursive-doubling"), (REST, "rabenseifner")]),
    (32, &[(64, "segmented-ring"), (4_096, "recursive-doubling"), (REST, "rabenseifner")]),
    (64, &[(128, "segmented-ring"), (REST, "rabenseifner")]),
    (128, &[(262_144, "recursive-doubling"), (REST, "rabenseifner")]),
    (256, &[(131_072, "reduce-bcast"), (262_144, "recursive-doubling"), (REST, "rabenseifner")]),
    (512, &[(4_096, "reduce-bcast"), (REST, "rabenseifner")]),
    (2048, &[(2_048, "reduce-bcast"), (16_384, "recursive-doubling"), (REST, "rabenseifner")]),
    (
        4096,
        &[
            (2_048, "reduce-bcast"),
            (4_096, "segmented-ring"),
            (16_384, "recursive-doubling"),
            (REST, "rabenseifner"),
        ],
    ),
    (
        ANY,
        &[
            (2_048, "reduce-bcast"),
            (16_384, "segmented-ring"),
            (32_768, "recursive-doubling"),
            (REST, "rabenseifner"),
        ],
    ),
];

pub(super) const GATHER: &[Band] = &[
    (4, &[(4, "linear"), (32_768, "binomial"), (65_536, "linear"), (131_072, "binomial"), (REST, "linear")]),
    (8, &[(1_024, "binomial"), (8_192, "linear"), (32_768, "binomial"), (REST, "linear")]),
    (256, &[(REST, "binomial")]),
    (512, &[(2_048, "binomial"), (8_192, "linear"), (REST, "binomial")]),
    (ANY, &[(REST, "binomial")]),
];

pub(super) const SCATTER: &[Band] = &[
    (4, &[(REST, "linear")]),
    (8, &[(2_048, "binomial"), (4_096, "linear"), (8_192, "binomial"), (REST, "linear")]),
    (32, &[(16_384, "binomial"), (REST, "linear")]),
    (64, &[(512, "binomial"), (8_192, "linear"), (16_384, "binomial"), (REST, "linear")]),
    (ANY, &[(512, "binomial"), (REST, "linear")]),
];

pub(super) const ALLGATHER: &[Band] = &[
    (32, &[(REST, "recursive-doubling")]),
    (64, &[(1_024, "recursive-doubling"), (65_536, "neighbor-exchange"), (REST, "ring")]),
    (128, &[(512, "recursive-doubling"), (65_536, "neighbor-exchange"), (REST, "ring")]),
    (
        256,
        &[
            (512, "recursive-doubling"),
            (131_072, "neighbor-exchange"),
            (524_288, "ring"),
            (1_048_576, "neighbor-exchange"),
            (REST, "ring"),
        ],
    ),
    (
        512,
        &[
            (32, "recursive-doubling"),
            (128, "bruck"),
            (1_024, "recursive-doubling"),
            (131_072, "neighbor-exchange"),
            (524_288, "ring"),
            (1_048_576, "neighbor-exchange"),
            (REST, "ring"),
        ],
    ),
    (
        1024,
        &[
            (64, "recursive-doubling"),
            (256, "bruck"),
            (2_048, "recursive-doubling"),
            (REST, "neighbor-exchange"),
        ],
    ),
    (
        2048,
        &[
            (4, "recursive-doubling"),
            (8, "bruck"),
            (16, "recursive-doubling"),
            (32, "bruck"),
            (256, "recursive-doubling"),
            (512, "bruck"),
            (4_096, "recursive-doubling"),
            (REST, "neighbor-exchange"),
        ],
    ),
    (
        4096,
        &[
            (32, "bruck"),
            (128, "recursive-doubling"),
            (512, "bruck"),
            (4_096, "recursive-doubling"),
            (REST, "neighbor-exchange"),
        ],
    ),
    (
        ANY,
        &[
            (2, "recursive-doubling"),
            (8, "bruck"),
            (16, "recursive-doubling"),
            (512, "bruck"),
            (4_096, "recursive-doubling"),
            (REST, "neighbor-exchange"),
        ],
    ),
];

pub(super) const ALLGATHERV: &[Band] = &[
    (3, &[(REST, "ring")]),
    (
        8,
        &[
            (256, "gather-bcast"),
            (4_096, "neighbor-exchange"),
            (8_192, "ring"),
            (16_384, "neighbor-exchange"),
            (262_144, "bruck"),
            (REST, "neighbor-exchange"),
        ],
    ),
    (16, &[(1_024, "gather-bcast"), (REST, "bruck")]),
    (32, &[(128, "gather-bcast"), (262_144, "bruck"), (REST, "ring")]),
    (64, &[(256, "gather-bcast"), (8_192, "bruck"), (REST, "ring")]),
    (128, &[(256, "gather-bcast"), (4_096, "bruck"), (REST, "ring")]),
    (256, &[(1_024, "bruck"), (65_536, "neighbor-exchange"), (REST, "ring")]),
    (512, &[(1_024, "bruck"), (REST, "ring")]),
    (
        1024,
        &[
            (512, "bruck"),
            (1_024, "gather-bcast"),
            (4_096, "bruck"),
            (1_048_576, "neighbor-exchange"),
            (REST, "ring"),
        ],
    ),
    (ANY, &[(4_096, "bruck"), (REST, "neighbor-exchange")]),
];

pub(super) const ALLTOALL: &[Band] = &[
    (3, &[(32_768, "pairwise"), (262_144, "linear"), (REST, "pairwise")]),
    (8, &[(524_288, "linear"), (1_048_576, "pairwise"), (REST, "linear")]),
    (16, &[(REST, "linear")]),
    (32, &[(4, "linear"), (512, "bruck"), (REST, "linear")]),
    (64, &[(512, "bruck"), (REST, "linear")]),
    (256, &[(1_024, "bruck"), (262_144, "linear"), (REST, "pairwise")]),
    (512, &[(1_024, "bruck"), (32_768, "linear"), (REST, "pairwise")]),
    (1024, &[(512, "bruck"), (262_144, "linear"), (REST, "pairwise")]),
    (2048, &[(512, "bruck"), (REST, "linear")]),
    (4096, &[(1_024, "bruck"), (REST, "linear")]),
    (ANY, &[(2_048, "bruck"), (REST, "linear")]),
];

pub(super) const ALLTOALLV: &[Band] = &[
    (4, &[(REST, "pairwise")]),
    (64, &[(REST, "linear")]),
    (128, &[(REST, "pairwise")]),
    (256, &[(REST, "linear")]),
    (1024, &[(REST, "pairwise")]),
    (ANY, &[(REST, "linear")]),
];

pub(super) const REDUCE_SCATTER_BLOCK: &[Band] = &[
    (
        4,
        &[
            (4, "recursive-doubling"),
            (8, "butterfly"),
            (16, "recursive-halving"),
            (128, "butterfly"),
            (256, "recursive-halving"),
            (4_096, "butterfly"),
            (8_192, "recursive-halving"),
            (131_072, "butterfly"),
            (REST, "reduce-scatterv"),
        ],
    ),
    (
        8,
        &[
            (8, "recursive-halving"),
            (32, "recursive-doubling"),
            (256, "butterfly"),
            (8_192, "recursive-halving"),
            (16_384, "butterfly"),
            (1_048_576, "recursive-halving"),
            (REST, "reduce-scatterv"),
        ],
    ),
    (
        16,
        &[
            (4, "reduce-scatterv"),
            (32, "recursive-halving"),
            (128, "butterfly"),
            (524_288, "recursive-halving"),
            (4_194_304, "reduce-scatterv"),
            (REST, "butterfly"),
        ],
    ),
    (
        32,
        &[
            (32, "reduce-scatterv"),
            (524_288, "recursive-halving"),
            (2_097_152, "reduce-scatterv"),
            (4_194_304, "recursive-halving"),
            (REST, "butterfly"),
        ],
    ),
    (
        ANY,
        &[
            (4, "recursive-halving"),
            (16, "reduce-scatterv"),
            (65_536, "butterfly"),
            (262_144, "reduce-scatterv"),
            (REST, "butterfly"),
        ],
    ),
];

pub(super) const REDUCE_SCATTER: &[Band] = &[
    (4, &[(65_536, "ring"), (131_072, "butterfly"), (REST, "ring")]),
    (8, &[(8, "reduce-scatterv"), (262_144, "recursive-halving"), (REST, "ring")]),
    (32, &[(262_144, "recursive-halving"), (REST, "ring")]),
    (64, &[(64, "reduce-scatterv"), (2_048, "recursive-halving"), (524_288, "butterfly"), (REST, "ring")]),
    (
        128,
        &[
            (256, "reduce-scatterv"),
            (512, "recursive-halving"),
            (2_048, "butterfly"),
            (4_096, "recursive-halving"),
            (REST, "butterfly"),
        ],
    ),
    (256, &[(256, "reduce-scatterv"), (512, "recursive-halving"), (REST, "butterfly")]),
    (512, &[(256, "reduce-scatterv"), (1_024, "recursive-halving"), (REST, "butterfly")]),
    (
        1024,
        &[
            (512, "reduce-scatterv"),
            (2_048, "recursive-halving"),
            (8_192, "butterfly"),
            (16_384, "recursive-halving"),
            (REST, "butterfly"),
        ],
    ),
    (
        2048,
        &[
            (512, "reduce-scatterv"),
            (4_096, "recursive-halving"),
            (16_384, "butterfly"),
            (32_768, "recursive-halving"),
            (REST, "butterfly"),
        ],
    ),
    (4096, &[(512, "reduce-scatterv"), (4_096, "recursive-halving"), (REST, "butterfly")]),
    (ANY, &[(1_024, "reduce-scatterv"), (8_192, "recursive-halving"), (REST, "butterfly")]),
];
