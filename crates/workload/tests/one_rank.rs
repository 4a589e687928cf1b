//! The file of one rank of several, without the files of the others.

use crate::common;

use common::writer::{Value, Writer};
use mpi::Rank;
use workload::trace::{self, Clocks, ReplayOptions, TraceFile};

const DOUBLE: i64 = 14;
const WORLD: i64 = 2;

fn n(number: i64) -> Value {
    Value::Number(number)
}

/// The file of one rank of a larger run: it does not name its rank, and knows the size of the run.
#[test]
fn one_file_of_several_is_known_and_not_replayed() {
    let mut writer = Writer::new();
    writer.call("MPI_Init", 0, 10, &[("argv", Value::Texts(vec!["app"]))]);
    writer.call("MPI_Comm_size", 20, 21, &[("comm", n(WORLD)), ("size", n(4))]);
    writer.call("MPI_Comm_rank", 22, 23, &[("comm", n(WORLD)), ("rank", n(2))]);
    let message =
        [("count", n(10)), ("datatype", n(DOUBLE)), ("dest", n(3)), ("tag", n(1)), ("comm", n(WORLD))];
    writer.call("MPI_Send", 30, 31, &message);
    writer.call("MPI_Finalize", 900, 950, &[]);
    let file = writer.finish("nid00001");
    let one = trace::recognise(vec![TraceFile::new("run/AMG.bin", file)]).unwrap();
    assert_eq!(one.alone(), Some(trace::Alone { rank: 2, ranks: 4 }));
    assert!(
        one.replayable().unwrap_err().reason.contains("is rank 2 of 4, and the files of the other ranks")
    );
    let calls = one.events(Rank(0), Clocks::Aligned).unwrap().map(|event| event.unwrap().shape.call.0);
    assert_eq!(
        calls.collect::<Vec<_>>(),
        ["MPI_Init", "MPI_Comm_size", "MPI_Comm_rank", "MPI_Send", "MPI_Finalize"]
    );
    assert!(trace::replay(one, ReplayOptions::default()).is_err());
}
