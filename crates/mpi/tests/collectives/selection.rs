//! The libraries' rules: their tables are whole, and give what their sources say.

use engine::Bytes;
use mpi::collective::selection::{ANY, LIBRARIES, REST};
use mpi::collective::{Kind, Selection, find};
use proptest::prelude::*;

use super::case::{Case, Parameters, parameters, sweep};

#[test]
fn tables_name_known_algorithms_with_rising_limits_and_no_gap() {
    for library in LIBRARIES {
        for table in library.tables {
            let what = format!("{}, {}", library.name, table.kind.name());
            assert!(table.bands.windows(2).all(|pair| pair[0].0 < pair[1].0), "{what}: bands");
            assert_eq!(table.bands.last().map(|band| band.0), Some(ANY), "{what}: the last band");
            for (_, rows) in table.bands {
                assert!(rows.windows(2).all(|pair| pair[0].0 < pair[1].0), "{what}: rows");
                assert_eq!(rows.last().map(|row| row.0), Some(REST), "{what}: the last row");
                for (_, name) in *rows {
                    find(table.kind, name).unwrap_or_else(|error| panic!("{what}: {error}"));
                }
            }
        }
        for kind in Kind::all() {
            assert!(library.tables.iter().any(|table| table.kind == kind), "{} lacks {kind:?}", library.name);
        }
    }
}

fn always_fits(given: &Parameters) {
    for library in LIBRARIES {
        let selection = Selection::library(library.name).unwrap();
        for kind in Kind::all() {
            let case = Case::new(kind, given);
            let choose = |rank| {
                let choice = selection.choose(&case.shape(rank)).unwrap();
                assert!((choice.entry.build.fits)(&case.shape(rank)), "{kind:?} {}", choice.entry.name);
                choice.entry.name
            };
            let names: Vec<_> = (0..given.size).map(choose).collect();
            assert!(names.iter().all(|name| *name == names[0]), "{kind:?}: ranks differ: {names:?}");
        }
    }
}

#[test]
fn every_library_has_an_algorithm_that_fits_the_same_for_all_ranks() {
    sweep().for_each(|given| always_fits(&given));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn any_call_has_an_algorithm_that_fits(given in parameters()) {
        always_fits(&given);
    }
}

fn call(size: u32, bytes: u64, commutative: bool) -> Parameters {
    Parameters { size, root: 0, bytes, element: 8, commutative, segment: 0, uneven: 0 }
}

fn chosen(library: &str, kind: Kind, given: &Parameters) -> &'static str {
    let case = Case::new(kind, given);
    Selection::library(library).unwrap().choose(&case.shape(0)).unwrap().entry.name
}

/// Thakur, Rabenseifner, Gropp 2005: the switch points of MPICH, on both sides.
#[test]
fn mpich_switches_where_its_authors_say() {
    let mpich = |kind, size, bytes| chosen("mpich", kind, &call(size, bytes, true));
    let ordered = |kind, size, bytes| chosen("mpich", kind, &call(size, bytes, false));
    assert_eq!(mpich(Kind::Bcast, 16, 12_280), "binomial");
    assert_eq!(mpich(Kind::Bcast, 16, 12_288), "scatter-recursive-doubling-allgather");
    assert_eq!(mpich(Kind::Bcast, 15, 12_288), "scatter-ring-allgather");
    assert_eq!(mpich(Kind::Bcast, 16, 524_288), "scatter-ring-allgather");
    assert_eq!(mpich(Kind::Bcast, 7, 1 << 20), "binomial");
    assert_eq!(mpich(Kind::Allreduce, 16, 2_048), "recursive-doubling");
    assert_eq!(mpich(Kind::Allreduce, 16, 2_056), "rabenseifner");
    // Fewer elements than ranks: nothing to scatter.
    assert_eq!(mpich(Kind::Allreduce, 512, 2_056), "recursive-doubling");
    assert_eq!(ordered(Kind::Allreduce, 16, 1 << 20), "recursive-doubling");
    assert_eq!(mpich(Kind::Reduce, 16, 2_048), "binomial");
    assert_eq!(mpich(Kind::Reduce, 16, 4_096), "rabenseifner");
    // Of all blocks together: 32 ranks of 16 KiB make 512 KiB.
    assert_eq!(mpich(Kind::Allgather, 32, 16_376), "recursive-doubling");
    assert_eq!(mpich(Kind::Allgather, 32, 16_384), "ring");
    assert_eq!(mpich(Kind::Allgather, 10, 8_184), "bruck");
    assert_eq!(mpich(Kind::Allgather, 10, 8_192), "ring");
    assert_eq!(mpich(Kind::Alltoall, 8, 256), "bruck");
    assert_eq!(mpich(Kind::Alltoall, 7, 256), "linear");
    assert_eq!(mpich(Kind::Alltoall, 8, 32_768), "linear");
    assert_eq!(mpich(Kind::Alltoall, 8, 32_776), "pairwise");
    assert_eq!(mpich(Kind::ReduceScatterBlock, 8, 65_528), "recursive-halving");
    assert_eq!(mpich(Kind::ReduceScatterBlock, 8, 65_536), "pairwise");
    assert_eq!(ordered(Kind::ReduceScatterBlock, 8, 8), "butterfly");
    assert_eq!(ordered(Kind::ReduceScatterBlock, 9, 8), "recursive-doubling");
    let uneven = Parameters { uneven: 5, ..call(8, 80, false) };
    assert_eq!(chosen("mpich", Kind::ReduceScatter, &uneven), "recursive-doubling");
    for kind in [Kind::Gatherv, Kind::Scatterv, Kind::Alltoallw] {
        assert_eq!((mpich(kind, 64, 8), chosen("openmpi", kind, &call(64, 8, true))), ("linear", "linear"));
    }
}

/// A few of the switch points of Open MPI's fixed rules.
#[test]
fn openmpi_switches_as_its_fixed_rules_say() {
    let openmpi = |kind, size, bytes| chosen("openmpi", kind, &call(size, bytes, true));
    assert_eq!(openmpi(Kind::Allreduce, 64, 262_136), "recursive-doubling");
    assert_eq!(openmpi(Kind::Allreduce, 64, 262_144), "rabenseifner");
    assert_eq!(openmpi(Kind::Allreduce, 1_024, 8), "reduce-bcast");
    assert_eq!(chosen("openmpi", Kind::Allreduce, &call(64, 1 << 20, false)), "recursive-doubling");
    assert_eq!(openmpi(Kind::Bcast, 64, 8), "knomial");
    assert_eq!(openmpi(Kind::Bcast, 2_047, 1 << 20), "scatter-ring-allgather");
    assert_eq!(openmpi(Kind::Allgather, 16, 1_024), "recursive-doubling");
    assert_eq!(openmpi(Kind::Allgather, 17, 1_024), "bruck");
    assert_eq!(openmpi(Kind::Allgather, 48, 4_096), "neighbor-exchange");
    assert_eq!(openmpi(Kind::Allgather, 49, 4_096), "ring");
    assert_eq!(openmpi(Kind::Alltoall, 1_500, 511), "bruck");
    assert_eq!(openmpi(Kind::Barrier, 100, 0), "dissemination");
    assert_eq!(openmpi(Kind::Gather, 300, 4_096), "linear");
    assert_eq!(openmpi(Kind::ReduceScatterBlock, 16, 96), "recursive-halving");
    assert_eq!(openmpi(Kind::ReduceScatterBlock, 32, 16), "butterfly");
    assert_eq!(openmpi(Kind::ReduceScatterBlock, 33, 16), "recursive-halving");
    // Of all blocks together: 64 ranks of 64 bytes make 4 KiB.
    assert_eq!(openmpi(Kind::ReduceScatter, 64, 63), "recursive-halving");
    assert_eq!(openmpi(Kind::ReduceScatter, 64, 64), "butterfly");
}

#[test]
fn a_users_choice_replaces_the_librarys_where_it_fits() {
    let selection = Selection::library("openmpi").unwrap().with(Kind::Allreduce, "ring").unwrap();
    let choose =
        |case: &Case| selection.choose(&case.shape(0)).map(|choice| (choice.entry.name, choice.segment));
    assert_eq!(choose(&Case::new(Kind::Allreduce, &call(16, 64, true))), Ok(("ring", None)));
    // A ring is no choice for an operation that does not commute.
    let mut case = Case::new(Kind::Allreduce, &call(16, 64, false));
    assert_eq!(choose(&case), Ok(("recursive-doubling", Some(Bytes(0)))));
    // What the call itself names must do.
    case.calls[0].algorithm = Some("ring");
    assert_eq!(
        choose(&case).unwrap_err(),
        "the algorithm 'ring' cannot do allreduce on 16 ranks with an operation that does not commute; \
         those that can: recursive-doubling, rabenseifner, reduce-bcast, linear"
    );
}

#[test]
fn unknown_names_are_answered_with_the_known_ones() {
    let error = Selection::library("lam").unwrap_err();
    assert_eq!(error, "unknown MPI library 'lam'; known: mpich, openmpi");
    let error = Selection::default().with(Kind::Scan, "ring").unwrap_err();
    assert_eq!(error, "unknown algorithm 'ring' for scan; known: recursive-doubling, linear");
}
