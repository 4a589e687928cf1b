//! A DUMPI file as text, in the form of sst-dumpi's `dumpi2ascii -a`, so that the two can be compared
//! line by line. Only the start time differs: seconds since 1970, not a local date.

use std::io::{Result, Write};

use super::calls::{Argument, CALLS, Kind, number};
use super::file::DumpiFile;
use super::names::meaning;
use super::record::{Record, Status};

const INIT: u16 = number("MPI_Init");
const INIT_THREAD: u16 = number("MPI_Init_thread");

/// The header, as lines of `name=value`.
pub fn write_header(file: &DumpiFile, out: &mut dyn Write) -> Result<()> {
    let header = &file.header;
    let [major, minor, patch] = header.version;
    writeln!(out, "version={major}.{minor}.{patch}\nstarttime={}", header.start_time_s)?;
    writeln!(out, "hostname={}\nusername={}", header.host, header.user)?;
    writeln!(out, "meshdim={}", header.mesh_coordinates.len())?;
    writeln!(out, "meshsize=[{}]", joined(&header.mesh_sizes))?;
    writeln!(out, "meshcrd=[{}]", joined(&header.mesh_coordinates))
}

/// Everything after the records: counts of calls, names of counters, sizes of datatypes. `keyvals`
/// and `addresses` are the file's own.
pub fn write_footer(
    file: &DumpiFile,
    keyvals: &[(String, String)],
    addresses: &[(u64, String)],
    out: &mut dyn Write,
) -> Result<()> {
    writeln!(out, "Total keyvals: {}", keyvals.len())?;
    for (key, value) in keyvals {
        writeln!(out, "{key}={value}")?;
    }
    for ((call, called), ignored) in CALLS.iter().zip(&file.called).zip(&file.ignored) {
        writeln!(out, "{} called {called} times and ignored {ignored} times", call.name)?;
    }
    writeln!(out, "Performance counters: {}", file.counters.len())?;
    for counter in &file.counters {
        writeln!(out, "    {counter}")?;
    }
    for (address, name) in addresses {
        writeln!(out, "Function address {address} has label {name}")?;
    }
    for (datatype, size) in file.sizes.iter().enumerate() {
        let name = meaning(Kind::Datatype, datatype as i64).unwrap_or_default();
        writeln!(out, "Datatype {datatype} ({name}) has size {size}")?;
    }
    Ok(())
}

/// One call: a line when it is entered, one for each argument, a line when it returns. `addresses`
/// are those of [`DumpiFile::addresses`].
pub fn write_record(
    record: &Record,
    file: &DumpiFile,
    addresses: &[(u64, String)],
    out: &mut dyn Write,
) -> Result<()> {
    write_edge(record, file, "entering", 0, out)?;
    if record.function == INIT || record.function == INIT_THREAD {
        writeln!(out, "int argc={}", record.texts("argv").len())?;
    }
    let mut length = 0;
    for argument in record.call().arguments {
        if record.has(argument.name) {
            match argument.kind {
                Kind::Ints | Kind::Requests | Kind::IoRequests => length = record.ints(argument.name).len(),
                _ => {}
            }
            write_argument(record, argument, length, addresses, out)?;
        } else if matches!(argument.kind, Kind::Status | Kind::Statuses) {
            write_argument(record, argument, length, addresses, out)?;
        }
    }
    write_edge(record, file, "returning", 1, out)
}

fn write_edge(record: &Record, file: &DumpiFile, what: &str, edge: usize, out: &mut dyn Write) -> Result<()> {
    let parts = |ns: i64| (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000));
    let (wall, cpu) = (parts(record.wall_ns[edge]), parts(record.cpu_ns[edge]));
    writeln!(
        out,
        "{} {what} at walltime {}.{:09}, cputime {}.{:09} seconds in thread {}.",
        record.call().name,
        wall.0,
        wall.1,
        cpu.0,
        cpu.1,
        record.thread
    )?;
    if record.counters.is_empty() {
        return Ok(());
    }
    let name = |at: usize| file.counters.get(at).map_or("", |name| name.as_str());
    let counters: Vec<_> =
        record.counters.iter().enumerate().map(|(at, pair)| format!("{}={}", name(at), pair[edge])).collect();
    writeln!(out, "Perfcounters: [{}]", counters.join(", "))
}

/// Writes one argument. `length` is the length of the last list before, which is the number of its statuses.
fn write_argument(
    record: &Record,
    argument: &Argument,
    length: usize,
    addresses: &[(u64, String)],
    out: &mut dyn Write,
) -> Result<()> {
    let kind = argument.kind;
    let name = match argument.name {
        "position_in" => "position.in",
        "position_out" => "position.out",
        "dims_in" => "dims.in",
        "dims_out" => "dims.out",
        "fn_address" => "fn",
        name => name,
    };
    let c_type = c_type(kind);
    if let Some(number) = record.number(argument.name) {
        return match (kind, meaning(kind, number)) {
            (Kind::Address, _) => {
                let known = addresses.iter().find(|(address, _)| *address == number as u64);
                writeln!(out, "int {name}={number} (\"{}\")", known.map_or("(null)", |(_, label)| label))
            }
            (Kind::Request | Kind::IoRequest, _) => writeln!(out, "{c_type} {name}=[{number}]"),
            (_, Some(meaning)) => writeln!(out, "{c_type} {name}={number} ({meaning})"),
            (_, None) => writeln!(out, "{c_type} {name}={number}"),
        };
    }
    match kind {
        Kind::Status => writeln!(out, "{c_type} {name}={}", statuses(record.statuses(argument.name))),
        Kind::Statuses => {
            writeln!(out, "{c_type} {name}[{length}]={}", statuses(record.statuses(argument.name)))
        }
        Kind::Text => {
            let text = record.texts(argument.name).concat();
            writeln!(out, "string {name}=\"{}\"", String::from_utf8_lossy(&text))
        }
        Kind::Texts => {
            let texts = record.texts(argument.name);
            writeln!(out, "string {name}[{}]={}", texts.len(), or_ignored(&quoted(&texts)))
        }
        Kind::TextTable => {
            let lists = record.text_lists(argument.name);
            let shown: Vec<_> = lists.iter().map(|list| format!("[{}]", quoted(list))).collect();
            writeln!(out, "string {name}[{}][]={}", lists.len(), or_ignored(&shown.join(", ")))
        }
        Kind::IntTable => {
            let lists = record.int_lists(argument.name);
            let shown: Vec<_> = lists.iter().map(|list| format!("[{}]", joined(list))).collect();
            writeln!(out, "int {name}[{}][3]={}", lists.len(), or_ignored(&shown.join(", ")))
        }
        _ => {
            let ints = record.ints(argument.name);
            writeln!(out, "{c_type} {name}[{}]={}", ints.len(), or_ignored(&joined(ints)))
        }
    }
}

fn c_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Comm => "MPI_Comm",
        Kind::Datatype | Kind::Datatypes => "MPI_Datatype",
        Kind::Group => "MPI_Group",
        Kind::Reduction => "MPI_Op",
        Kind::File => "MPI_File",
        Kind::Info | Kind::Infos => "MPI_Info",
        Kind::Request | Kind::Requests => "MPI_Request",
        Kind::IoRequest | Kind::IoRequests => "MPIO_Request",
        Kind::Status | Kind::Statuses => "MPI_Status",
        Kind::Int64 => "int64_t",
        _ => "int",
    }
}

fn joined(numbers: &[i32]) -> String {
    numbers.iter().map(i32::to_string).collect::<Vec<_>>().join(", ")
}

fn quoted(texts: &[&[u8]]) -> String {
    texts.iter().map(|text| format!("\"{}\"", String::from_utf8_lossy(text))).collect::<Vec<_>>().join(", ")
}

fn or_ignored(list: &str) -> String {
    if list.is_empty() { "<IGNORED>".into() } else { format!("[{list}]") }
}

fn statuses(statuses: &[Status]) -> String {
    let one = |status: &Status| {
        format!(
            "{{bytes={}, cancelled={}, source={}, tag={}, error={}}}",
            status.bytes, status.cancelled, status.source, status.tag, status.error
        )
    };
    or_ignored(&statuses.iter().map(one).collect::<Vec<_>>().join(", "))
}
