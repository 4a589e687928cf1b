//! The DUMPI reader compared with the output of sst-dumpi's own tools for the same files.

use crate::common;

use std::collections::BTreeMap;

use workload::trace::TraceFile;
use workload::trace::dumpi::{Datatypes, DumpiFile, text};

/// Buffer so small that records cross its border \[bytes\].
const BUFFER: usize = 256;

/// Whole file in the form of `dumpi2ascii -a`.
fn decoded(file: TraceFile) -> (String, String, String) {
    let file = DumpiFile::open(file).unwrap();
    let (mut header, mut body, mut footer) = (Vec::new(), Vec::new(), Vec::new());
    let (keyvals, addresses) = (file.keyvals().unwrap(), file.addresses().unwrap());
    text::write_header(&file, &mut header).unwrap();
    let mut records = file.records(BUFFER).unwrap();
    while let Some(record) = records.next().unwrap() {
        text::write_record(record, &file, &addresses, &mut body).unwrap();
    }
    text::write_footer(&file, &keyvals, &addresses, &mut footer).unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(header), text(body), text(footer))
}

#[track_caller]
fn assert_same(ours: &str, theirs: &str) {
    for (at, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {}", at + 1);
    }
    assert_eq!(ours.lines().count(), theirs.lines().count());
}

/// Text without the start time, which is a local date in the reference.
fn without_start_time(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with("starttime=")).map(|line| format!("{line}\n")).collect()
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn a_whole_file_reads_as_the_reference_decoding() {
    let data = common::data("dumpi-sst");
    let (header, body, footer) = decoded(common::file(&data.join("testtrace-0000.bin")));
    assert!(header.contains("starttime=1296777956\n"), "{header}"); // of testtrace.meta
    let theirs = std::fs::read_to_string(data.join("testtrace-0000.txt")).unwrap();
    let ours = without_start_time(&header) + &body + &footer;
    assert_same(&ours, &without_start_time(&theirs));
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn records_of_applications_read_as_the_reference_decodings() {
    let data = common::data("dumpi-cortex");
    let headers = std::fs::read_to_string(data.join("headers.txt")).unwrap();
    for name in ["AMG", "BigFFT", "MiniDFT"] {
        let (header, body, _) = decoded(common::file(&data.join(format!("{name}.bin"))));
        assert_same(&body, &common::unxz(&data.join(format!("{name}.dumpi2ascii.txt.xz"))));
        let theirs = headers.split("## ").find(|part| part.starts_with(name)).unwrap();
        let theirs: String = theirs.lines().skip(1).map(|line| format!("{line}\n")).collect();
        assert_same(&without_start_time(&header), &without_start_time(&theirs));
    }
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn every_small_set_reads_to_its_end() {
    let data = common::data("dumpi-sst");
    let mut files = common::folder(&data);
    for run in ["run_0", "run_1"] {
        files.extend(common::folder(
            &data.join("../dumpi-to-graph/synthetic/naive_all_to_all/procs4").join(run),
        ));
    }
    let mut read = 0;
    for file in files.into_iter().filter(|file| file.name.ends_with(".bin")) {
        let file = DumpiFile::open(file).unwrap();
        let mut records = file.records(BUFFER).unwrap();
        let (mut calls, mut finalized) = (0, false);
        while let Some(record) = records.next().unwrap() {
            calls += 1;
            finalized = record.call().name == "MPI_Finalize";
        }
        assert!(finalized, "{}", file.file.name);
        assert_eq!(calls, file.count_of("MPI_ALL_FUNCTIONS"), "{}", file.file.name);
        read += 1;
    }
    assert_eq!(read, 4 + 7 + 4 + 4);
}

/// Results of `dumpi2ascii` for one set, from the tables beside it.
struct Totals {
    calls: BTreeMap<String, u64>,
    /// Messages and bytes by sender and receiver.
    matrix: BTreeMap<(u32, u32), (u64, u64)>,
    /// For each rank: host, first call, end of MPI_Init, begin of MPI_Finalize, last return, all \[s\], number of
    /// calls.
    ranks: Vec<(String, [i64; 4], u64)>,
}

fn totals(files: Vec<TraceFile>) -> Totals {
    let mut totals = Totals { calls: BTreeMap::new(), matrix: BTreeMap::new(), ranks: Vec::new() };
    for (rank, file) in files.into_iter().enumerate() {
        let file = DumpiFile::open(file).unwrap();
        let mut types = Datatypes::new(&file.sizes);
        let (mut times, mut calls) = ([i64::MAX, 0, 0, 0], 0);
        let mut records = file.records(1 << 16).unwrap();
        while let Some(record) = records.next().unwrap() {
            types.observe(record);
            let name = record.call().name;
            *totals.calls.entry(name.to_string()).or_default() += 1;
            calls += 1;
            times[0] = times[0].min(record.wall_ns[0]);
            times[3] = times[3].max(record.wall_ns[1]);
            match name {
                "MPI_Init" => times[1] = record.wall_ns[1],
                "MPI_Finalize" => times[2] = record.wall_ns[0],
                _ => {}
            }
            if let Some(to) = record.number("dest") {
                let sendrecv = name == "MPI_Sendrecv";
                let count = record.number(if sendrecv { "sendcount" } else { "count" }).unwrap();
                let datatype = record.number(if sendrecv { "sendtype" } else { "datatype" }).unwrap();
                let sent = totals.matrix.entry((rank as u32, u32::try_from(to).unwrap())).or_default();
                sent.0 += 1;
                sent.1 += count as u64 * types.size(datatype).unwrap();
            }
        }
        totals.ranks.push((file.header.host.clone(), times, calls));
    }
    totals
}

/// Parses seconds with nine digits, as in the tables.
fn ns(text: &str) -> i64 {
    let (seconds, fraction) = text.split_once('.').unwrap();
    seconds.parse::<i64>().unwrap() * 1_000_000_000 + fraction.parse::<i64>().unwrap()
}

#[track_caller]
fn agrees_with_tables(name: &str) {
    let data = common::data("dumpi");
    let totals = totals(common::untar(&data.join(format!("{name}.tar.xz"))));
    let calls = common::csv(&data.join(format!("{name}-calls.csv")));
    let calls: BTreeMap<_, u64> = calls.iter().map(|row| (row[0].clone(), row[1].parse().unwrap())).collect();
    assert_eq!(totals.calls, calls);
    let matrix = common::csv(&data.join(format!("{name}-p2p-matrix.csv")));
    let number = |text: &String| text.parse::<u64>().unwrap();
    let matrix: BTreeMap<_, _> = matrix
        .iter()
        .map(|row| ((number(&row[0]) as u32, number(&row[1]) as u32), (number(&row[2]), number(&row[3]))))
        .collect();
    assert_eq!(totals.matrix, matrix);
    let ranks = common::csv(&data.join(format!("{name}-ranks.csv")));
    assert_eq!(totals.ranks.len(), ranks.len());
    for ((host, times, calls), row) in totals.ranks.iter().zip(&ranks) {
        assert_eq!((host, calls), (&row[1], &number(&row[12])));
        for (ours, theirs) in times.iter().zip(&row[6..10]) {
            // The table went through 53-bit numbers of seconds: half a unit in the last place of
            // 2^25 s (over a year of uptime) is 3.7 ns.
            assert!((ours - ns(theirs)).abs() <= 4, "{host}: {ours} ns beside {theirs} s");
        }
    }
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn lulesh_agrees_with_its_tables() {
    agrees_with_tables("LULESH-64ranks-hopper");
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn hpcg_agrees_with_its_tables() {
    agrees_with_tables("HPCG-16ranks-fudan");
}

#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn imb_agrees_with_its_tables() {
    agrees_with_tables("IMB-pingpong-16ranks-fudan");
}
