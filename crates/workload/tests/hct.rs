//! hopcast's own format: files read back unchanged, loops cost nothing, and damage gives errors.

use crate::common;

use std::sync::Arc;

use common::drive;
use engine::{Duration, EventRate, Time};
use mpi::operation::{Peer, Request, TagMatch, Work};
use mpi::{Op, Rank};
use workload::trace::computing::{Computing, Rate};
use workload::trace::hct::end::Standing;
use workload::trace::hct::gaps::{Count, Gap};
use workload::trace::hct::name::Name;
use workload::trace::hct::rank::{Clock, Head, RankWriter};
use workload::trace::hct::set::HctSet;
use workload::trace::hct::shape::{Begun, Collected, Did, From, Matched, Received, Sent, Shape};
use workload::trace::hct::write::{convert, file_name};
use workload::trace::set::RankCalls;
use workload::trace::slice::{Slice, Window};
use workload::trace::{self, Clocks, Mode, ReplayOptions, TraceFile, TraceSet};

fn shape(call: &'static str, did: Did) -> Shape {
    Shape { call: Name(call), did }
}

fn sent(to: u32, bytes: u64) -> Sent {
    Sent { to: Some(to), tag: 7, comm: 0, bytes, mode: Default::default(), request: Some(Begun::Active(1)) }
}

fn received(from: From) -> Received {
    let request = Some(Begun::Active(0));
    Received { from, tag: Some(7), comm: 0, capacity: 1 << 20, matched: None, request }
}

/// Head of a run of one rank.
fn alone() -> Head {
    let (host, text) = (String::new(), String::new());
    let (program, library) = (text.clone(), text);
    let (clock, counts) = (Clock::Wall, Vec::new());
    Head { rank: 0, ranks: 1, host, start_unix_ns: 0, program, library, tallied: false, clock, counts }
}

/// File of a rank of a ring of three, with `rounds` rounds and wildcard receives.
fn ring(rank: u32, rounds: u64, tallied: bool) -> Vec<u8> {
    counted_ring(rank, rounds, tallied, &[])
}

/// File like that of [`ring`], with counts of these quantities.
fn counted_ring(rank: u32, rounds: u64, tallied: bool, counted: &[&str]) -> Vec<u8> {
    let mut file = Vec::new();
    let host = format!("host{}", rank / 2);
    let (program, library) = ("ring".to_string(), String::new());
    let (clock, count) =
        (Clock::Wall, |name: &&str| Count { name: name.to_string(), unit: name.to_string() });
    let counts = counted.iter().map(count).collect();
    let head = Head { rank, ranks: 3, host, start_unix_ns: 5, program, library, tallied, clock, counts };
    let mut writer = RankWriter::new(&mut file, &head, 1 << 40).unwrap();
    let came = vec![(0, Matched { source: (rank + 2) % 3, tag: 7 })];
    let round = [
        shape("MPI_Irecv", Did::Receive(received(From::Any))),
        shape("MPI_Isend", Did::Send(sent((rank + 1) % 3, 100))),
        shape("MPI_Waitall", Did::Complete { requests: vec![0, 1], matched: came }),
    ];
    let sum = Did::Collective(Collected {
        kind: "allreduce".into(),
        comm: 0,
        root: 0,
        sizes: workload::trace::hct::shape::Amount::Equal(8),
        element: 8,
        commutative: true,
        request: None,
    });
    writer.push(&shape("MPI_Init", Did::Overhead), 0, 0).unwrap();
    let mut now = 10;
    for at in 0..rounds {
        for (call, polls) in round.iter().zip([0, 0, 3 + at % 2]) {
            // Of the gap before MPI_Waitall 400 ns were waiting.
            let waited_ns = if polls > 0 { 400 } else { 0 };
            let counts = std::array::from_fn(|of| if of < counted.len() { 500 + at % 3 } else { 0 });
            let before = Gap { polls, waited_ns, counts };
            writer.push_after(&before, call, now, now + 100 + at % 7).unwrap();
            now += 1000;
        }
        writer.push(&shape("MPI_Allreduce", sum.clone()), now, now + 5).unwrap();
        now += 500;
    }
    writer.push(&shape("MPI_Finalize", Did::Finalize), now, now + 1).unwrap();
    writer.finish().unwrap();
    file
}

fn files(rounds: u64, tallied: bool) -> Vec<TraceFile> {
    (0..3).map(|rank| TraceFile::new(file_name(rank), ring(rank, rounds, tallied))).collect()
}

#[test]
fn a_ring_comes_back_and_replays() {
    let set = trace::recognise(files(20, false)).unwrap();
    assert_eq!((set.format(), set.ranks(), set.hosts()[2].as_str()), ("hct", 3, "host1"));
    let summary = set.summary(Clocks::Aligned).unwrap();
    let counts = [("MPI_Allreduce", 60), ("MPI_Finalize", 3), ("MPI_Init", 3), ("MPI_Irecv", 60)];
    assert_eq!(summary.calls[..4], counts);
    assert_eq!((summary.ranks[1].messages, summary.ranks[1].bytes), (20, 2000));
    let calls: Vec<_> = set.recorded_calls(Rank(0), Clocks::Aligned).unwrap().map(Result::unwrap).collect();
    assert_eq!(calls.len(), 82);
    // The third round's MPI_Isend: after two rounds of 3,500 ns, and one call.
    assert_eq!((calls[10].name, calls[10].begin.0, calls[10].end.0), ("MPI_Isend", 8_010_000, 8_112_000));
    let (polls, waited) = (summary.ranks[1].polls, summary.ranks[1].waited);
    assert_eq!((polls, waited), (10 * 3 + 10 * 4, Duration(20 * 400_000)));
    for (name, mode) in Mode::ALL {
        let options = ReplayOptions { mode: *mode, clocks: Clocks::Aligned, ..ReplayOptions::default() };
        let mut source = trace::replay(set.clone(), options).unwrap();
        let run = drive::run(&mut source, 3);
        assert_eq!(source.take_error(), None, "{name}");
        assert!(run.stuck.is_empty() && run.left_over == 0, "{name}: {:?}", run.stuck);
    }
}

/// In the third round calls take 102 ns: between MPI_Isend and MPI_Waitall lie 898 ns, of which 400 were waiting.
#[test]
fn what_was_waited_in_polls_is_no_computing() {
    let mut source =
        trace::replay(trace::recognise(files(5, false)).unwrap(), ReplayOptions::default()).unwrap();
    let ops = drive::run(&mut source, 3).ops;
    let waits: Vec<usize> = (0..ops[1].len()).filter(|at| matches!(ops[1][*at], Op::Wait(..))).collect();
    assert_eq!(waits.len(), 5);
    assert_eq!(ops[1][waits[2] - 1], Op::Compute(Work::Polled(Duration(498_000))));
}

#[test]
fn iterations_cost_next_to_nothing() {
    let sizes = [(100, false), (100, true), (100_000, false), (100_000, true)];
    let [short, _, exact, tallied] = sizes.map(|(rounds, tallied)| ring(0, rounds, tallied).len());
    // 1,000 times as many rounds: their times only, or nothing but larger counts.
    assert!(exact < short + 400_000 * 2, "{exact} bytes, {short} for 100 rounds");
    assert!(tallied < 2_000, "{tallied} bytes");
}

#[test]
fn tallied_times_have_the_same_sums() {
    let of = |tallied| HctSet::open(files(50, tallied)).unwrap().summary(Clocks::Aligned).unwrap();
    assert_eq!(of(false), of(true));
}

/// A persistent wildcard receive takes the recorded message of each start: here first from rank 2, then from rank 1.
#[test]
fn a_persistent_receive_takes_what_came_at_each_start() {
    let receive = Received { request: Some(Begun::Persistent(3)), tag: None, ..received(From::Any) };
    let round = |source| {
        let matched = vec![(3, Matched { source, tag: 7 })];
        [
            shape("MPI_Start", Did::Start { requests: vec![3] }),
            shape("MPI_Wait", Did::Complete { requests: vec![3], matched }),
        ]
    };
    let mut calls =
        vec![shape("MPI_Init", Did::Overhead), shape("MPI_Recv_init", Did::Receive(receive.clone()))];
    calls.extend([2, 1].into_iter().flat_map(round));
    calls.push(shape("MPI_Request_free", Did::Free { request: 3 }));
    // The same request number again, for a receive from a given source.
    calls.push(shape(
        "MPI_Recv_init",
        Did::Receive(Received { from: From::Rank(1), tag: Some(7), ..receive }),
    ));
    calls.extend(round(1));
    let mut file = Vec::new();
    let mut writer = RankWriter::new(&mut file, &alone(), 1 << 40).unwrap();
    (0..).zip(&calls).for_each(|(at, call)| writer.push(call, at, at).unwrap());
    writer.finish().unwrap();
    let set = HctSet::open(vec![TraceFile::new(file_name(0), file)]).unwrap();
    let started = |mut calls: Box<dyn RankCalls>| {
        let steps = std::iter::from_fn(|| calls.next().unwrap());
        let started = steps.filter(|step| step.call.name == "MPI_Start");
        started.map(|step| step.op).collect::<Vec<_>>()
    };
    let request: Arc<[Request]> = Arc::new([Request(3)]);
    let of = |rank| {
        let whose = Some((Peer::Rank(rank), TagMatch::Tag(7)));
        Op::StartAs(request.clone(), Arc::new([whose]))
    };
    let plain = Op::Start(request.clone());
    let recorded = set.calls(Rank(0), Clocks::Aligned).unwrap();
    assert_eq!(started(recorded), [of(2), of(1), plain.clone()]);
    let anew = set.calls_matched_anew(Rank(0), Clocks::Aligned).unwrap();
    assert_eq!(started(anew), [plain.clone(), plain.clone(), plain]);
}

/// The error for an empty file names that file, and not the next one for a wrong rank; so does that for a recording
/// without ranks.
#[test]
fn a_rank_file_without_content_is_named() {
    let mut all = files(20, false);
    all[1] = TraceFile::new(file_name(1), Vec::new());
    let error = HctSet::open(all).err().unwrap().to_string();
    assert!(error.starts_with("rank-000001.hct: is empty: nothing of this rank was recorded"), "{error}");
    let run = b"{\n  \"format\": \"hct\",\n  \"version\": 1\n}".to_vec();
    let error = trace::recognise(vec![TraceFile::new("x.hct/run.json", run)]).err().unwrap().to_string();
    assert!(error.starts_with("x.hct/run.json: is of a recording that has no file of a rank"), "{error}");
}

/// A rank is in the call of a Standing until the next block, or until a Standing of null.
#[test]
fn a_rank_stands_in_a_call_until_it_goes_on() {
    let standing = Standing { call: Name("MPI_Recv"), since_ns: 7, polls: false, message: None };
    let cut_after = |steps: usize| {
        let mut file = Vec::new();
        let mut writer = RankWriter::new(&mut file, &alone(), 1 << 40).unwrap();
        writer.push(&shape("MPI_Init", Did::Overhead), 0, 5).unwrap();
        for step in 0..steps {
            match step {
                0 => writer.stand(Some(&standing)).unwrap(),
                1 => writer.push(&shape("MPI_Recv", Did::Overhead), 7, 9).unwrap(),
                2 => writer.flush().unwrap(),
                _ => writer.stand(None).unwrap(),
            }
        }
        drop(writer);
        let set = HctSet::open(vec![TraceFile::new(file_name(0), file)]).unwrap();
        let calls = set.recorded_calls(Rank(0), Clocks::Aligned).unwrap().map(Result::unwrap).count();
        (calls, set.ends_early(Rank(0)).unwrap().standing)
    };
    let stands = Some(standing.clone());
    assert_eq!(
        [0, 1, 2, 3, 4].map(cut_after),
        [(0, None), (1, stands.clone()), (1, stands), (2, None), (2, None)]
    );
}

/// Tallied times are drawn at random, so no call has a time of its own that could lie within a window.
#[test]
fn a_window_of_time_needs_times_of_each_call() {
    let slice = |tallied| {
        let set: Arc<dyn TraceSet> = Arc::new(HctSet::open(files(20, tallied)).unwrap());
        Slice::new(set, Window::Times(Time::ZERO, Time(20_000_000)), None).map(|_| ())
    };
    assert!(slice(false).is_ok());
    let error = slice(true).unwrap_err().to_string();
    assert!(error.contains("between --meetings"), "{error}");
}

#[test]
fn what_was_cut_off_is_good_up_to_its_last_block() {
    let mut all = files(20, false);
    let content = common::content(&all[1]);
    all[1] = TraceFile::new(file_name(1), content[..content.len() - 10].to_vec());
    let set = trace::recognise(all).unwrap();
    assert_eq!(set.warnings().len(), 1);
    assert_eq!(set.recorded_calls(Rank(1), Clocks::Aligned).unwrap().count(), 82);
    let mut source = trace::replay(set, ReplayOptions::default()).unwrap();
    assert!(drive::run(&mut source, 3).stuck.is_empty());
}

#[test]
fn missing_and_foreign_ranks_are_refused() {
    let mut all = files(2, false);
    let last = all.pop().unwrap();
    let error = trace::recognise(all.clone()).err().unwrap().to_string();
    assert_eq!(error, "rank-000000.hct: rank 2 of 3 is missing");
    all.extend([last.clone(), last]);
    let error = trace::recognise(all).err().unwrap().to_string();
    assert_eq!(error, "rank-000002.hct: is rank 2 of 3, where rank 3 of 3 was expected");
}

/// A conversion keeps the times of rank 1, whose clock starts 300 ns after that of rank 0 of the same host.
#[test]
fn a_copy_has_the_times_of_the_original() {
    let mut files = files(3, false);
    let content = String::from_utf8_lossy(&common::content(&files[1])).into_owned();
    assert!(content.contains("\"start_unix_ns\":5,"));
    let mut later = common::content(&files[1]);
    let at = content.find("\"start_unix_ns\":5,").unwrap() + "\"start_unix_ns\":".len();
    later.splice(at..=at, b"305".iter().copied());
    let length = u32::from_le_bytes(later[4..8].try_into().unwrap()) + 2;
    later[4..8].copy_from_slice(&length.to_le_bytes());
    files[1] = TraceFile::new(file_name(1), later);
    let original = HctSet::open(files).unwrap();
    let copy = (0..3).map(|rank| {
        let mut content = Vec::new();
        convert(&original, &original.head(Rank(rank), ""), &mut content).unwrap();
        TraceFile::new(file_name(rank), content)
    });
    let copy = HctSet::open(copy.collect()).unwrap();
    for clocks in [Clocks::Aligned, Clocks::Recorded] {
        for rank in 0..3 {
            let of = |set: &HctSet| -> Vec<_> {
                set.recorded_calls(Rank(rank), clocks).unwrap().map(Result::unwrap).collect()
            };
            assert_eq!(of(&original), of(&copy), "rank {rank}");
        }
        let first = original.recorded_calls(Rank(1), clocks).unwrap().next().unwrap().unwrap();
        assert_eq!(first.begin.0, 300_000);
    }
}

/// Every damaged byte gives an error or another recording, never a panic; the checksum detects nearly all.
#[test]
fn damage_is_found() {
    let whole = ring(0, 30, false);
    let mut state = 1_u64;
    let mut found = 0;
    for round in 0..2_000 {
        let mut content = whole.clone();
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at = (state >> 33) as usize % content.len();
        content[at] ^= 1 << (round % 8);
        let all = [content, ring(1, 30, false), ring(2, 30, false)];
        let all = all.into_iter().zip(0..).map(|(content, rank)| TraceFile::new(file_name(rank), content));
        let whole = match HctSet::open(all.collect()) {
            Ok(set) => set.recorded_calls(Rank(0), Clocks::Aligned).unwrap().all(|call| call.is_ok()),
            Err(_) => false,
        };
        found += u32::from(!whole);
    }
    assert!(found > 1_000, "{found} of 2,000");
}

/// Damage within a block, with a corrected checksum, gives an error or a recording that can be used.
#[test]
fn hostile_blocks_give_errors() {
    let mut state = 7_u64;
    let mut refused = 0;
    for round in 0..1_500 {
        let counted: &[&str] = if round % 3 == 0 { &["instructions", "flops"] } else { &[] };
        let of = |rank| counted_ring(rank, 8, round % 2 == 0, counted);
        let whole = of(0);
        let head = 8 + u32::from_le_bytes(whole[4..8].try_into().unwrap()) as usize;
        let packed = u32::from_le_bytes(whole[head + 8..head + 12].try_into().unwrap()) as usize;
        let mut payload = zstd::stream::decode_all(&whole[head + 16..head + 16 + packed]).unwrap();
        for _ in 0..1 + round % 3 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (state >> 33) as usize % payload.len();
            payload[at] = (state >> 24) as u8;
        }
        let packed = zstd::bulk::compress(&payload, 1).unwrap();
        let words = [payload.len() as u32, packed.len() as u32, crc32fast::hash(&packed)];
        let block =
            [b"HCTB".to_vec(), words.iter().flat_map(|word| word.to_le_bytes()).collect(), packed].concat();
        let content = [&whole[..head], &block].concat();
        let all = [content, of(1), of(2)];
        let all = all.into_iter().zip(0..).map(|(content, rank)| TraceFile::new(file_name(rank), content));
        let set = HctSet::open(all.collect()).unwrap();
        let read: Vec<_> = set.events(Rank(0), Clocks::Aligned).unwrap().take(1_000).collect();
        refused += u32::from(read.iter().any(Result::is_err));
        if read.len() < 1_000 {
            // If something was counted, the numbers may have any size: replay at the slowest rate.
            let computing = match counted.first() {
                Some(name) => Computing::Counted(name.to_string(), Rate::Given(EventRate(1))),
                None => Computing::Recorded,
            };
            let options = ReplayOptions { computing, ..ReplayOptions::default() };
            let mut source = trace::replay(std::sync::Arc::new(set), options).unwrap();
            drive::run(&mut source, 3);
        }
    }
    assert!(refused > 500, "{refused} of 1,500");
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn a_dumpi_recording_converts_and_replays_alike() {
    let data = common::data("dumpi/LULESH-64ranks-hopper.tar.xz");
    let dumpi = trace::recognise(common::untar(&data)).unwrap();
    let hosts = dumpi.hosts();
    let mut files = Vec::new();
    for rank in 0..dumpi.ranks() {
        let mut content = Vec::new();
        convert(&*dumpi, &dumpi.head(Rank(rank), &hosts[rank as usize]), &mut content).unwrap();
        files.push(TraceFile::new(file_name(rank), content));
    }
    let converted = trace::recognise(files).unwrap();
    for rank in [0, 1, 63] {
        let of = |set: &dyn TraceSet| {
            set.recorded_calls(Rank(rank), Clocks::Aligned).unwrap().collect::<Result<Vec<_>, _>>().unwrap()
        };
        assert_eq!(of(&*converted), of(&*dumpi), "rank {rank}");
    }
    let replayed = |set| {
        let mut source = trace::replay(set, ReplayOptions::default()).unwrap();
        let run = drive::run(&mut source, 64);
        assert_eq!(source.take_error(), None);
        run.ops
    };
    assert_eq!(replayed(converted), replayed(dumpi));
}
