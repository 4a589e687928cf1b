//! ScalaTrace 2: the three kinds of its traces give the same run, and errors name the line.

use crate::common;

use common::{drive, samples};
use engine::{Bytes, Duration, Time};
use mpi::operation::{Op, Peer, TagMatch, Work};
use workload::trace::{self, Mode, ReplayOptions, TraceFile};

/// Number of a function, text behind it, and its arguments.
type Call<'a> = (u32, &'a str, Vec<(&'a str, i64)>);

/// One call of a rank, as the library writes it without folding.
fn event(rank: u32, number: usize, function: u32, comp: &str, parameters: &[(&str, i64)]) -> String {
    let mut text =
        format!("RANKS: 1 -1 {rank} 1 0\nEVENT{number}: {function} {}\n", samples::stack(function));
    if let Some((after, us)) = comp.split_once(' ') {
        let stack = samples::stack(after.parse().unwrap());
        text += &format!("COMP 4b-0: {stack} (1 {us} 0 {us} 0 {us}){{0.00 {us} {us} {us} 90.00 1}}\n");
    }
    parameters.iter().for_each(|(key, value)| text += &format!("{key} {value} \n"));
    text + "\n"
}

/// The run of `samples::scalatrace`, one file for each rank, without loops.
fn unfolded(rank: u32) -> String {
    let comm = ("10", 2);
    let message = |count, datatype, key| [comm, ("12", count), ("14", datatype), ("1b", 0), (key, 1)];
    let mut calls: Vec<Call> = vec![(1084, "", vec![])];
    for (turn, count) in [100, 200, 100].into_iter().enumerate() {
        let comp = if turn == 0 { "1084 10.00" } else { "1113 5.00" };
        match rank {
            0 => calls.push((1113, comp, message(count, 12, "1a").to_vec())),
            _ => calls.push((1102, "", message(200, 12, "2b").to_vec())),
        }
    }
    calls.push((1090, "", message(25, 10, "2b").to_vec()));
    calls.push((1092, "", message(25, 10, "1a").to_vec()));
    calls.push((1149, "", vec![("12", 2), ("c", 9998)]));
    calls.push((1004, "", vec![comm, ("12", 1), ("14", 3), ("18", 3)]));
    calls.push((1027, "", vec![comm]));
    calls.push((1010, "", vec![("10", 1000)]));
    calls.push((1045, "", vec![]));
    let texts = calls.iter().enumerate();
    let text: String = texts
        .map(|(number, (function, comp, parameters))| event(rank, number, *function, comp, parameters))
        .collect();
    text.replace("c 9998 ", "c 9998 9999 ")
}

fn ops(files: Vec<TraceFile>) -> Vec<Vec<Op>> {
    let set = trace::recognise(files).unwrap();
    assert_eq!((set.format(), set.ranks()), ("scalatrace", 2));
    let options = ReplayOptions { mode: Mode::Dependencies, ..ReplayOptions::default() };
    let mut source = trace::replay(set, options).unwrap();
    let run = drive::run(&mut source, 2);
    assert_eq!(source.take_error(), None);
    assert!(run.stuck.is_empty());
    run.ops
}

#[test]
fn all_kinds_of_traces_are_the_same_run() {
    let folded = ops(samples::files(&samples::scalatrace()));
    let file = |rank: u32| TraceFile::new(format!("trace_2/{rank}"), unfolded(rank).into_bytes());
    assert_eq!(ops(vec![file(0), file(1)]), folded);
    let sent = folded[0].iter().filter_map(|op| match op {
        Op::Send(send, _) => Some((send.to, send.bytes.0)),
        _ => None,
    });
    let to = |bytes| (Peer::Rank(1), bytes);
    // Bytes of MPI_BYTE in turn, and 25 doubles.
    assert_eq!(sent.collect::<Vec<_>>(), [to(100), to(200), to(100), to(200)]);
    let computed = folded[0].iter().filter_map(|op| match op {
        Op::Compute(Work::Time(time)) => Some(*time),
        _ => None,
    });
    // 10 µs after MPI_Init, 5 µs after each MPI_Send before another one.
    assert_eq!(computed.collect::<Vec<_>>(), [10, 5, 5].map(|us| Duration(us * 1_000_000)));
    let waits = folded[1].iter().filter(|op| matches!(op, Op::Wait(requests, _) if requests.len() == 2));
    assert_eq!(waits.count(), 1);
}

#[test]
fn a_receive_from_any_source_takes_any() {
    let text = unfolded(1).replacen("2b 1 ", "2b 2147483647 ", 1);
    let [zero, one] = [unfolded(0), text].map(String::into_bytes);
    let ops = ops(vec![TraceFile::new("t/0", zero), TraceFile::new("t/1", one)]);
    let first = ops[1].iter().find_map(|op| match op {
        Op::Receive(receive, _) => Some(*receive),
        _ => None,
    });
    let first = first.unwrap();
    assert_eq!((first.from, first.tag, first.capacity), (Peer::Any, TagMatch::Tag(0), Bytes(u64::MAX)));
}

#[test]
fn loops_within_loops_are_run() {
    // Twice: a barrier, then three times two allreduces; then the end.
    let loops = |lines: &str| lines.to_string();
    let one = |number, function, more: &str, loops: String| {
        format!("RANKS: 1 -1 0 1 0\nEVENT{number}: {function} s{number}\n{loops}10 2 \n{more}\n")
    };
    let of = |iterations: &str, events: u32, level: u32| {
        format!("LOOP{level}: iter: ( {iterations} )[ 1 -1 0 1 0 ] mem: ( {events} )[ 1 -1 0 1 0 ]\n")
    };
    let text = [
        one(0, 1010, "", of("2", 3, 0)),
        one(1, 1004, "12 1 \n14 3 \n", of("3 1", 2, 0)),
        one(2, 1004, "12 2 \n14 3 \n", loops("")),
        "RANKS: 1 -1 0 1 0\nEVENT3: 1045 s3\n\n".to_string(),
    ];
    let set = trace::recognise(vec![TraceFile::new("t/0", text.concat().into_bytes())]).unwrap();
    let mut calls = set.recorded_calls(mpi::Rank(0), trace::Clocks::Aligned).unwrap();
    let names: Vec<_> = calls.by_ref().map(|call| call.unwrap().name).collect();
    // In the second round of the outer loop the inner one runs once.
    let of = |name, count| std::iter::repeat_n(name, count);
    let expected = of("MPI_Barrier", 1).chain(of("MPI_Allreduce", 6)).chain(of("MPI_Barrier", 1));
    let expected: Vec<_> = expected.chain(of("MPI_Allreduce", 2)).chain(of("MPI_Finalize", 1)).collect();
    assert_eq!(names, expected);
}

#[test]
fn ranks_of_a_lossy_trace_and_unknown_calls_are_refused() {
    let refusal = |text: String| {
        let file = TraceFile::new("t/0", text.replace("RANKS: 1 -1 0 2 1", "RANKS: 1 -1 0 1 0").into_bytes());
        match trace::recognise(vec![file]) {
            Err(error) => error.to_string(),
            Ok(set) => set.summary(trace::Clocks::Aligned).unwrap_err().to_string(),
        }
    };
    let call = |function: u32, more: &str| format!("RANKS: 1 -1 0 1 0\nEVENT0: {function} s\n{more}\n");
    assert!(refusal(call(1151, "")).starts_with("t/0: line 2: function 1151 cannot be replayed"));
    let histogram = "1a (2 1.00 0 0.00 0 2.00){0.00 0.00 1.00 2.00 3.00 2}\n12 1 \n14 12 \n";
    assert_eq!(
        refusal(call(1113, histogram)),
        "t/0: line 2: MPI_Send: parameter 1a is known by a histogram only, and cannot be replayed"
    );
    assert_eq!(
        refusal(call(1010, "10 1000 \n")),
        "t/0: line 2: MPI_Barrier: uses communicator 1000, which no call before it has made"
    );
    assert_eq!(
        refusal(call(1113, "12 1 \n14 30 \n")),
        "t/0: line 2: MPI_Send: datatype 30 has a size that is not recorded"
    );
    let endless = "10 2 \nLOOP0: iter: ( 2000000000 )[ 1 -1 0 1 0 ] mem: ( 1 )[ 1 -1 0 1 0 ]\n";
    assert!(refusal(call(1010, endless)).contains("makes rank 0 call more than 16777216 times"));
    let beyond = "10 2 \nLOOP0: iter: ( 2 )[ 1 -1 0 1 0 ] mem: ( 2 )[ 1 -1 0 1 0 ]\n";
    assert!(refusal(call(1010, beyond)).contains("begins a loop that ends outside of the one around it"));
    assert!(refusal(call(1010, "RANKS: 1 -1 0 9000000 1\n")).contains("has more than 1048576 ranks"));
}

/// A mean number of elements stands for all calls, with a warning.
#[test]
fn mean_lengths_are_told() {
    let text = unfolded(0).replacen(
        "12 100 ",
        "12 (2 150.00 0 100.00 0 200.00){0.00 100.00 150.00 200.00 300.00 2}",
        1,
    );
    let files = [text, unfolded(1)].map(String::into_bytes).into_iter().enumerate();
    let files = files.map(|(rank, text)| TraceFile::new(format!("t/{rank}"), text));
    let mut source =
        trace::replay(trace::recognise(files.collect()).unwrap(), ReplayOptions::default()).unwrap();
    let run = drive::run(&mut source, 2);
    let first = run.ops[0].iter().find_map(|op| match op {
        Op::Send(send, _) => Some(send.bytes),
        _ => None,
    });
    assert_eq!(first, Some(Bytes(150)));
    let [(rank, text)] = source.warnings() else { panic!("one warning: {:?}", source.warnings()) };
    assert!(rank.0 == 0 && text.contains("only a histogram is known"));
    assert!(run.ends[0] > Time::ZERO);
}
