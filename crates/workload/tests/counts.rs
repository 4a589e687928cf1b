//! Counts between calls: each form of a recording keeps them, and a replay may compute by them.

use crate::common;

use std::sync::Arc;

use common::drive;
use engine::{Bytes, Duration, EventRate, Time};
use mpi::operation::Work;
use mpi::{Op, Rank};
use workload::trace::computing::{Computing, Rate};
use workload::trace::hct::gaps::{Count, Gap};
use workload::trace::hct::rank::{Clock, Event, Head, RankWriter};
use workload::trace::hct::set::HctSet;
use workload::trace::hct::shape::{Amount, Collected, Did, From, Received, Sent, Shape};
use workload::trace::hct::write::{convert, file_name, write};
use workload::trace::scale::Scaled;
use workload::trace::slice::{Slice, Window};
use workload::trace::{self, Clocks, Mode, ReplayOptions, SharedSet, TraceFile, TraceSet};

const COUNTED: [&str; 2] = ["instructions", "page_faults"];

fn head(rank: u32, ranks: u32, tallied: bool, counted: &[&str]) -> Head {
    let count = |name: &&str| Count { name: name.to_string(), unit: name.replace('_', " ") };
    Head {
        rank,
        ranks,
        host: String::new(),
        start_unix_ns: 0,
        program: String::new(),
        library: String::new(),
        tallied,
        clock: Clock::Wall,
        counts: counted.iter().map(count).collect(),
    }
}

fn shape(call: &'static str, did: Did) -> Arc<Shape> {
    Arc::new(Shape { call: workload::trace::hct::name::Name(call), did })
}

/// Calls of a rank that passes a message on and takes part in a reduction, `rounds` times. Before each exchange it
/// computes for 1,000 ns: 1,000 instructions and 100 for each round beyond a multiple of four, and in odd rounds
/// three page faults.
fn calls(rank: u32, ranks: u32, rounds: u64) -> Vec<Event> {
    let (to, from) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let send = Sent { to: Some(to), tag: 1, comm: 0, bytes: 8, mode: Default::default(), request: None };
    let (source, tag) = (From::Rank(from), Some(1));
    let receive = Received { from: source, tag, comm: 0, capacity: 8, matched: None, request: None };
    let exchange = shape("MPI_Sendrecv", Did::SendReceive { send, receive });
    let sum = Collected {
        kind: "allreduce".into(),
        comm: 0,
        root: 0,
        sizes: Amount::Equal(8),
        element: 8,
        commutative: true,
        request: None,
    };
    let sum = shape("MPI_Allreduce", Did::Collective(sum));
    let event = |shape: &Arc<Shape>, begin_ns, between| Event {
        shape: shape.clone(),
        begin_ns,
        end_ns: begin_ns + 100,
        between,
    };
    let none = Gap::default();
    let mut all = vec![event(&shape("MPI_Init", Did::Overhead), 0, none)];
    let mut now = 100;
    for round in 0..rounds {
        let counts = [1000 + 100 * (round % 4), 3 * (round % 2), 0, 0, 0, 0, 0, 0];
        all.push(event(&exchange, now + 1000, Gap { counts, ..none }));
        all.push(event(&sum, now + 1100, none));
        now += 1200;
    }
    all.push(event(&shape("MPI_Finalize", Did::Finalize), now, none));
    all
}

fn file(calls: Vec<Event>, head: &Head) -> TraceFile {
    let mut content = Vec::new();
    write(Box::new(calls.into_iter().map(Ok)), None, head, &mut content).unwrap();
    TraceFile::new(file_name(head.rank), content)
}

fn recorded(ranks: u32, rounds: u64, tallied: bool) -> HctSet {
    let of = |rank| file(calls(rank, ranks, rounds), &head(rank, ranks, tallied, &COUNTED));
    HctSet::open((0..ranks).map(of).collect()).unwrap()
}

/// Totals of the counts of each rank.
fn sums(set: &dyn TraceSet) -> Vec<Vec<u64>> {
    set.summary(Clocks::Aligned).unwrap().ranks.into_iter().map(|rank| rank.counts).collect()
}

fn converted(of: &dyn TraceSet, tallied: bool) -> HctSet {
    let files = (0..of.ranks()).map(|rank| {
        let mut content = Vec::new();
        convert(of, &Head { tallied, ..of.head(Rank(rank), "") }, &mut content).unwrap();
        TraceFile::new(file_name(rank), content)
    });
    HctSet::open(files.collect()).unwrap()
}

/// In four rounds 4,000 + 100 (0 + 1 + 2 + 3) instructions and 6 page faults: in 40 rounds ten times as many.
#[test]
fn what_is_counted_comes_back() {
    let exact = recorded(3, 40, false);
    let names: Vec<_> = exact.counts().into_iter().map(|Count { name, unit }| (name, unit)).collect();
    assert_eq!(names[1], ("page_faults".to_string(), "page faults".to_string()));
    let whole = vec![vec![46_000, 60]; 3];
    let tallied = converted(&exact, true);
    for set in [&exact, &recorded(3, 40, true), &tallied, &converted(&tallied, false)] {
        assert_eq!(sums(set), whole);
    }
    let betweens = |events: Vec<Event>| events.into_iter().map(|event| event.between).collect::<Vec<_>>();
    let read = exact.events(Rank(1), Clocks::Aligned).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(betweens(read), betweens(calls(1, 3, 40)));
}

/// The counts of a loop's place are tallied: of 1000, 1100, 1200 and 1300 the first two lie in one quarter of an
/// octave (from 896 and 1024 on), so the counts that are read back lie in the same bins, and their sums are exact.
#[test]
fn counts_of_a_loop_cost_next_to_nothing() {
    let size = |rounds, tallied| {
        let mut content = Vec::new();
        let events = Box::new(calls(0, 2, rounds).into_iter().map(Ok));
        write(events, None, &head(0, 2, tallied, &COUNTED), &mut content).unwrap();
        content.len()
    };
    assert!(size(100_000, true) < size(100, true) + 100);
    let tallied = recorded(2, 400, true);
    let events: Vec<Event> =
        tallied.events(Rank(0), Clocks::Aligned).unwrap().collect::<Result<_, _>>().unwrap();
    let exchanges: Vec<[u64; 2]> = events
        .iter()
        .filter(|event| event.shape.call.0 == "MPI_Sendrecv")
        .map(|event| [event.between.counts[0], event.between.counts[1]])
        .collect();
    assert_eq!(exchanges.iter().map(|counts| counts[0]).sum::<u64>(), 460_000);
    assert_eq!(exchanges.iter().filter(|counts| counts[1] == 3).count(), 200);
    assert_eq!(exchanges.iter().filter(|counts| counts[1] == 0).count(), 200);
    assert!(exchanges.iter().all(|counts| (1000..=1300).contains(&counts[0])));
}

/// Readers of version 2 do not know counts: only files with counts have version 3.
#[test]
fn what_counts_nothing_stays_of_version_2() {
    let begin = |counted: &[&str]| {
        let content = file(calls(0, 1, 1), &head(0, 1, false, counted));
        String::from_utf8(common::content(&content)[..4].to_vec()).unwrap()
    };
    assert_eq!((begin(&[]).as_str(), begin(&COUNTED).as_str()), ("HCT2", "HCT3"));
}

#[test]
fn heads_that_cannot_be_are_refused() {
    let nine = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let content = common::content(&file(calls(0, 1, 1), &head(0, 1, false, &COUNTED)));
    let length = u32::from_le_bytes(content[4..8].try_into().unwrap()) as usize;
    let with = |counted: &[&str]| {
        let text = serde_json::to_vec(&head(0, 1, false, counted)).unwrap();
        let content =
            [b"HCT3", &(text.len() as u32).to_le_bytes()[..], &text, &content[8 + length..]].concat();
        HctSet::open(vec![TraceFile::new(file_name(0), content)]).err().map(|error| error.to_string())
    };
    assert_eq!(with(&COUNTED), None);
    assert_eq!(with(&nine).unwrap(), "rank-000000.hct: its head counts 9 things, more than 8");
    let twice = with(&["cycles", "cycles"]).unwrap();
    assert_eq!(twice, "rank-000000.hct: its head counts 'cycles' twice, or something without a name");
    let other = [(0, COUNTED), (1, ["page_faults", "instructions"])];
    let other = other.map(|(rank, counted)| file(calls(rank, 2, 1), &head(rank, 2, false, &counted)));
    let error = HctSet::open(other.to_vec()).err().unwrap().to_string();
    assert_eq!(error, "rank-000001.hct: counts other things than rank-000000.hct");
}

/// A column of a quantity that the head does not name is damage.
#[test]
fn a_column_that_the_head_does_not_name_is_refused() {
    let content = common::content(&file(calls(0, 1, 4), &head(0, 1, false, &COUNTED)));
    let length = u32::from_le_bytes(content[4..8].try_into().unwrap()) as usize;
    let text = serde_json::to_vec(&head(0, 1, false, &COUNTED[..1])).unwrap();
    let content = [b"HCT3", &(text.len() as u32).to_le_bytes()[..], &text, &content[8 + length..]].concat();
    let set = HctSet::open(vec![TraceFile::new(file_name(0), content)]).unwrap();
    let error = set.summary(Clocks::Aligned).unwrap_err().to_string();
    assert!(error.ends_with("has a column of a kind that is not 0 to 2"), "{error}");
}

/// A slice that begins 300 ns before an exchange has 300 of the 1,000 ns of computing before it: 300 of the 1,000
/// instructions of round 4. Round 5 is complete: 1,100 instructions and 3 page faults.
#[test]
fn a_part_has_its_part_of_the_counts() {
    let set: SharedSet = Arc::new(recorded(2, 40, false));
    let fourth_ns = 100 + 4 * 1200 + 1000;
    let window = Window::Times(Time((fourth_ns - 300) * 1000), Time((fourth_ns + 1300) * 1000));
    let slice = Slice::new(set, window, None).unwrap();
    let events: Vec<Event> = slice.events(Rank(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let of = |name: &str| -> Vec<[u64; 2]> {
        let named = events.iter().filter(|event| event.shape.call.0 == name);
        named.map(|event| [event.between.counts[0], event.between.counts[1]]).collect()
    };
    assert_eq!(of("MPI_Sendrecv"), [[300, 0], [1100, 3]]);
    assert_eq!(of("MPI_Init"), [[0, 0]]);
}

/// Each of twice as many ranks has the counts of a recorded one.
#[test]
fn more_ranks_count_as_much_each() {
    let set: SharedSet = Arc::new(recorded(4, 8, false));
    let scaled = Scaled::new(set.clone(), None, &[8]).unwrap();
    let files = (0..scaled.ranks()).map(|rank| {
        let of = set.head(scaled.repeats(Rank(rank)), "");
        let head = Head { rank, ranks: scaled.ranks(), ..of };
        let mut content = Vec::new();
        write(scaled.events(Rank(rank)).unwrap(), None, &head, &mut content).unwrap();
        TraceFile::new(file_name(rank), content)
    });
    assert_eq!(sums(&HctSet::open(files.collect()).unwrap()), vec![vec![9_200, 12]; 8]);
}

/// Calls that are pushed without a gap have no counts.
#[test]
fn a_call_without_counts_has_none() {
    let mut content = Vec::new();
    let mut writer = RankWriter::new(&mut content, &head(0, 1, false, &COUNTED), 1 << 40).unwrap();
    let [init, finalize] = [("MPI_Init", Did::Overhead), ("MPI_Finalize", Did::Finalize)];
    writer.push(&shape(init.0, init.1), 0, 0).unwrap();
    writer.push(&shape(finalize.0, finalize.1), 10, 20).unwrap();
    assert_eq!(writer.finish().unwrap().counts, [0, 0]);
    let set = HctSet::open(vec![TraceFile::new(file_name(0), content)]).unwrap();
    assert_eq!(sums(&set), [[0, 0]]);
}

fn by(name: &str, rate: Rate, mode: Mode) -> ReplayOptions {
    ReplayOptions { mode, computing: Computing::Counted(name.to_string(), rate), ..ReplayOptions::default() }
}

/// Computing of rank 0 in a replay.
fn computed(set: SharedSet, options: ReplayOptions) -> Vec<Work> {
    let ranks = set.ranks();
    let mut source = trace::replay(set, options).unwrap();
    let run = drive::run(&mut source, ranks);
    assert_eq!(source.take_error(), None);
    assert!(run.stuck.is_empty());
    let work = |op: &Op| if let Op::Compute(work) = op { Some(*work) } else { None };
    run.ops[0].iter().filter_map(work).collect()
}

/// 1,000, 1,100, 1,200 and 1,300 instructions at four per nanosecond, whatever time was recorded; before
/// MPI_Allreduce, which has no count, nothing is computed. Faults have another rate, and there are none in even
/// rounds.
#[test]
fn a_gap_is_its_count_over_the_rate() {
    let set: SharedSet = Arc::new(recorded(2, 4, false));
    let rate = Rate::Given(EventRate(4_000_000_000));
    let time = |ps| Work::Time(Duration(ps));
    let instructions = [250_000, 275_000, 300_000, 325_000].map(time);
    assert_eq!(computed(set.clone(), by("instructions", rate, Mode::Dependencies)), instructions);
    assert_eq!(computed(set.clone(), by("page_faults", rate, Mode::Dependencies)), [time(750), time(750)]);
    // Without dependencies everything before a message is computed.
    assert_eq!(computed(set.clone(), by("instructions", rate, Mode::NoDependencies)), instructions);
    assert_eq!(computed(set, ReplayOptions::default()), [time(1_000_000); 4]);
}

/// Rates that the platform knows are left to it. Among polls the rank makes progress meanwhile; polls that only
/// waited have counted nothing, so nothing is computed.
#[test]
fn operations_are_left_to_the_platform() {
    let counted = |polls, flops| {
        let mut events = calls(0, 1, 1);
        events[1].between = Gap { polls, waited_ns: 0, counts: [flops, 0, 0, 0, 0, 0, 0, 0] };
        let set = HctSet::open(vec![file(events, &head(0, 1, false, &["flops"]))]).unwrap();
        let work = |mode| computed(Arc::new(set), by("flops", Rate::Platform, mode));
        work(Mode::Dependencies)
    };
    assert_eq!(counted(0, 5000), [Work::Flops { flops: 5000.0, bytes: Bytes(0) }]);
    assert_eq!(counted(3, 5000), [Work::PolledFlops(5000.0)]);
    assert_eq!(counted(3, 0), []);
}

#[test]
fn what_was_not_counted_is_no_computing() {
    let set: SharedSet = Arc::new(recorded(2, 4, false));
    let rate = Rate::Given(EventRate(1));
    let error = |set: &SharedSet, name, mode| trace::replay(set.clone(), by(name, rate, mode)).err().unwrap();
    let unknown = error(&set, "cycles", Mode::Dependencies).to_string();
    assert!(
        unknown.starts_with("--compute-by: ") && unknown.ends_with("it counts instructions, page_faults")
    );
    for mode in [Mode::Timestamps, Mode::ShiftedTimestamps, Mode::NoCompute, Mode::None] {
        let refused = error(&set, "instructions", mode).to_string();
        assert!(refused.ends_with("is for the mode dependencies, with computing"), "{refused}");
    }
}
