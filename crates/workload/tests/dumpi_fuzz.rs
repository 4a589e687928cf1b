//! Damaged and hostile DUMPI files give errors that name the file, and never a panic.
//!
//! Random mutations of a small set that has a record of every function of the format. The sequence is
//! the same in every run. With `HOPCAST_FUZZ_SECONDS=60` it goes on for a minute (`make fuzz`) from a
//! different start each time, and says which.

use crate::common;

use std::time::{Duration, Instant, SystemTime};

use common::damage::{Random, damage};
use common::fuzz;
use common::writer::{Value, Writer, set, status};
use workload::trace::dumpi::calls::{CALLS, Kind, PCONTROL};
use workload::trace::dumpi::{DumpiFile, text};
use workload::trace::{TraceError, TraceFile};

const RANKS: usize = 2;
const ROUNDS: u64 = 3_000;

/// Calls of a rank of a small program that can be replayed: messages of all kinds, communicators, collectives.
fn program(rank: usize) -> Vec<u8> {
    let n = |number: i64| Value::Number(number);
    let other = 1 - rank as i64;
    let message = |request: i64, source: i64, tag: i64| {
        vec![
            ("count", n(10)),
            ("datatype", n(28)),
            ("dest", n(other)),
            ("source", n(source)),
            ("tag", n(tag)),
            ("comm", n(2)),
            ("request", n(request)),
        ]
    };
    let mut w = Writer::new();
    w.call("MPI_Init", 0, 10, &[("argv", Value::Texts(vec!["app"]))]);
    w.call("MPI_Comm_size", 11, 12, &[("comm", n(2)), ("size", n(RANKS as i64))]);
    w.call("MPI_Comm_rank", 13, 14, &[("comm", n(2)), ("rank", n(rank as i64))]);
    let vector = [("count", n(3)), ("blocklength", n(2)), ("oldtype", n(14)), ("newtype", n(28))];
    w.call("MPI_Type_vector", 15, 16, &vector);
    w.call("MPI_Irecv", 20, 21, &message(5, -1, -1));
    w.call("MPI_Isend", 22, 23, &message(6, 0, 7));
    let both = [status(other as i32, 7), status(0, 0)];
    let requests =
        [("count", n(2)), ("requests", [5, 6].into()), ("statuses", Value::Statuses(both.to_vec()))];
    w.call("MPI_Waitall", 24, 90, &requests);
    w.call("MPI_Send_init", 91, 92, &message(7, 0, 8));
    w.call("MPI_Recv_init", 93, 94, &message(8, other, 8));
    w.call("MPI_Startall", 95, 96, &[("requests", [7, 8].into())]);
    w.call("MPI_Testany", 97, 98, &[("requests", [7, 8].into()), ("index", n(0)), ("flag", n(1))]);
    w.call("MPI_Waitsome", 99, 100, &[("requests", [7, 8].into()), ("indices", [1].into())]);
    w.call("MPI_Request_free", 101, 102, &[("request", n(7))]);
    let exchange =
        [("sendcount", n(1)), ("sendtype", n(9)), ("dest", n(other)), ("source", n(other)), ("comm", n(2))];
    w.call("MPI_Sendrecv", 103, 104, &exchange);
    w.call("MPI_Comm_split", 105, 106, &[("oldcomm", n(2)), ("color", n(1)), ("newcomm", n(4))]);
    w.call("MPI_Comm_group", 107, 108, &[("comm", n(2)), ("group", n(3))]);
    w.call("MPI_Group_incl", 109, 110, &[("group", n(3)), ("ranks", [1, 0].into()), ("newgroup", n(4))]);
    let ranges = Value::Lists(vec![vec![0, 1, 1]]);
    w.call("MPI_Group_range_incl", 109, 110, &[("group", n(4)), ("ranges", ranges), ("newgroup", n(5))]);
    w.call("MPI_Group_union", 109, 110, &[("group1", n(4)), ("group2", n(5)), ("newgroup", n(6))]);
    w.call("MPI_Comm_create", 111, 112, &[("oldcomm", n(2)), ("group", n(6)), ("newcomm", n(5))]);
    let grid = [("oldcomm", n(2)), ("dims", [2, 1].into()), ("periods", [1, 0].into()), ("newcomm", n(6))];
    w.call("MPI_Cart_create", 113, 114, &grid);
    w.call("MPI_Cart_sub", 115, 116, &[("oldcomm", n(6)), ("remain_dims", [1, 0].into()), ("newcomm", n(7))]);
    w.call("MPI_Allreduce", 117, 118, &[("count", n(4)), ("datatype", n(14)), ("op", n(3)), ("comm", n(2))]);
    for comm in 4..8 {
        // Communicator 5 consists of ranks 1 and 0, in this order.
        let own = if comm == 5 { other } else { rank as i64 };
        let sizes = [
            ("commrank", n(own)),
            ("commsize", n(RANKS as i64)),
            ("sendcount", n(3)),
            ("sendtype", n(9)),
            ("recvtype", n(9)),
            ("recvcounts", [3, 3].into()),
            ("sendcounts", [3, 3].into()),
            ("comm", n(comm)),
        ];
        for name in ["MPI_Gatherv", "MPI_Scatterv", "MPI_Allgatherv", "MPI_Alltoallv", "MPI_Reduce_scatter"] {
            w.call(name, 119, 120, &sizes);
        }
        w.call("MPI_Comm_free", 121, 122, &[("comm", n(comm))]);
    }
    w.call("MPI_Finalize", 130, 140, &[]);
    w.finish("host")
}

/// A file with a record of every function, in the order of their numbers.
fn seed_file(rank: usize) -> Vec<u8> {
    let mut writer = Writer::new();
    for (function, call) in CALLS.iter().enumerate() {
        if function == usize::from(PCONTROL)
            || call.name == "MPI_ALL_FUNCTIONS"
            || call.name == "MPI_Finalize"
        {
            continue;
        }
        let arguments: Vec<_> =
            call.arguments.iter().map(|a| (a.name, example(a.name, a.kind, rank))).collect();
        let begin = 10 * function as u64;
        writer.call(call.name, begin, begin + 5, &arguments);
    }
    writer.call("MPI_Finalize", 10_000, 10_010, &[]);
    writer.finish("host")
}

fn example(name: &str, kind: Kind, rank: usize) -> Value {
    use Kind::*;
    match kind {
        Ints if name == "displs" => [0, 1].into(),
        Ints | Datatypes => [9, 2].into(),
        Requests | IoRequests => [2, 3].into(),
        Infos | Distributions => [1, 1].into(),
        IntTable => Value::Lists(vec![vec![0, 1, 1], vec![1, 0, -1]]),
        Text => Value::Texts(vec!["some text"]),
        Texts => Value::Texts(vec!["app", "", "-x"]),
        Status | Statuses => Value::Statuses(vec![status(0, 5), status(1, 6)]),
        Comm if name.starts_with("new") => Value::Number(4),
        Comm => Value::Number(2),
        Datatype if name == "newtype" => Value::Number(28),
        Datatype => Value::Number(9),
        Group if name == "newgroup" => Value::Number(4),
        Group => Value::Number(3),
        Request => Value::Number(2),
        OwnRank => Value::Number(rank as i64),
        Source | Tag => Value::Number(-1),
        Dest => Value::Number(1 - rank as i64),
        Int if name == "size" || name == "commsize" || name == "ndim" => Value::Number(RANKS as i64),
        Int if name == "rank" => Value::Number(rank as i64),
        Int => Value::Number(1),
        _ => Value::Number(0),
    }
}

/// Uses a trace in every way that hopcast offers.
fn use_all(files: Vec<TraceFile>) -> Result<(), TraceError> {
    for file in &files {
        if let Ok(opened) = DumpiFile::open(file.clone()) {
            dump(&opened)?;
        }
    }
    fuzz::use_all(files)
}

fn dump(file: &DumpiFile) -> Result<(), TraceError> {
    let (keyvals, addresses) = (file.keyvals()?, file.addresses()?);
    let mut out = Vec::new();
    text::write_header(file, &mut out).unwrap();
    text::write_footer(file, &keyvals, &addresses, &mut out).unwrap();
    let mut records = file.records(64)?;
    while let Some(record) = records.next()? {
        out.clear();
        text::write_record(record, file, &addresses, &mut out).unwrap();
    }
    Ok(())
}

fn fuzz(rounds: impl Iterator<Item = u64>) -> (u64, u64) {
    let seeds = [(0..RANKS).map(seed_file).collect::<Vec<_>>(), (0..RANKS).map(program).collect()];
    let (mut whole, mut refused) = (0, 0);
    for round in rounds {
        let mut random = Random::of(round);
        let mut files = seeds[(round % 2) as usize].clone();
        damage(&mut files[random.below(RANKS)], &mut random);
        match use_all(set(files)) {
            Ok(()) => whole += 1,
            Err(error) => {
                assert!(error.file.contains("made-"), "round {round}: no file in '{error}'");
                assert!(!error.reason.is_empty(), "round {round}");
                refused += 1;
            }
        }
    }
    (whole, refused)
}

#[test]
fn the_seed_is_read_whole() {
    for rank in 0..RANKS {
        let file = DumpiFile::open(TraceFile::new("seed", seed_file(rank))).unwrap();
        dump(&file).unwrap();
        let mut records = file.records(64).unwrap();
        let mut read = Vec::new();
        while let Some(record) = records.next().unwrap() {
            read.push(record.call().name);
        }
        assert_eq!(read.len(), CALLS.len() - 2); // all but MPI_Pcontrol and the sum
    }
}

#[test]
fn the_program_is_replayed_whole() {
    use_all(set((0..RANKS).map(program).collect())).unwrap();
}

#[test]
#[allow(clippy::disallowed_methods)] // asked for seconds, a test needs a clock
fn damaged_files_are_refused_or_read() {
    let Ok(seconds) = std::env::var("HOPCAST_FUZZ_SECONDS") else {
        let (whole, refused) = fuzz(0..ROUNDS);
        // Damage to a count of bytes or a time leaves a trace that can be replayed.
        assert!(whole > ROUNDS / 50 && refused > ROUNDS / 2, "{whole} read, {refused} refused");
        return;
    };
    let seconds = seconds.parse().expect("HOPCAST_FUZZ_SECONDS is a number of seconds");
    let start = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() << 24;
    println!("fuzzing for {seconds} s from round {start}");
    let end = Instant::now() + Duration::from_secs(seconds);
    let (whole, refused) = fuzz((start..).take_while(|_| Instant::now() < end));
    println!("{whole} read, {refused} refused");
}

#[test]
fn a_trace_cut_anywhere_says_so() {
    let whole = seed_file(0);
    for length in 0..whole.len() {
        let cut = TraceFile::new("run/made-0000.bin", whole[..length].to_vec());
        let error =
            DumpiFile::open(cut).err().unwrap_or_else(|| panic!("{length} bytes were read as a trace"));
        assert!(error.to_string().starts_with("run/made-0000.bin: byte "), "{error}");
    }
}

#[test]
fn an_unknown_function_is_named_with_its_place() {
    let mut bytes = seed_file(0);
    bytes[16..18].copy_from_slice(&400_u16.to_be_bytes());
    let file = DumpiFile::open(TraceFile::new("x.bin", bytes)).unwrap();
    let error = file.records(4096).unwrap().next().unwrap_err();
    assert_eq!(
        error.to_string(),
        "x.bin: byte 16: unknown function number 400; a record begins with one below 293"
    );
}
