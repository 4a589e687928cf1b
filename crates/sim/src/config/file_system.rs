//! `[filesystem]`: the file system under the files of compiled programs.

use engine::Bytes;
use engine::registry::{Kind, Parameter};
use mpi::file_system::{FileSystem, Striping};

use super::error::InputError;
use super::read::Checked;
use super::sections::optional;

pub(super) const FILE_SYSTEM: &[Parameter] = &[
    optional(
        "servers",
        Kind::Integer(1, 1_000_000),
        "1",
        "Storage servers over which files are striped: the object storage targets of Lustre",
    ),
    optional("bandwidth", Kind::Bandwidth, "infinite", "Bandwidth of one server, reading and writing"),
    optional(
        "request_time",
        Kind::Time,
        "0 ns",
        "Time of a server for each request, besides its bytes: one contiguous access to one stripe is one request",
    ),
    optional(
        "latency",
        Kind::Time,
        "0 ns",
        "Round trip of each access and of each metadata operation, which occupies no server",
    ),
    optional("stripe_size", Kind::Size, "1 MiB", "Bytes of a stripe; the hint striping_unit replaces it"),
    optional(
        "stripe_count",
        Kind::Integer(1, 1_000_000),
        "1",
        "Servers that share a file, each next file the next ones; the hint striping_factor replaces it",
    ),
    optional(
        "host_bandwidth",
        Kind::Bandwidth,
        "infinite",
        "Between one host and the servers, all of its processes together",
    ),
    optional("process_bandwidth", Kind::Bandwidth, "infinite", "Between one process and the servers"),
    optional(
        "metadata_time",
        Kind::Time,
        "0 ns",
        "Time of the metadata server, for each process that opens or closes a file, asks for its size or moves a shared \
         pointer, and for each deletion and change of a size: one after the other",
    ),
];

/// File system of the section; checks constraints between keys.
pub(super) fn file_system(section: &Checked) -> Result<FileSystem, InputError> {
    let keys = &section.arguments;
    let whole = |key| keys.integer(key).expect("has a default") as u32;
    let rate = |key| keys.bandwidth(key).expect("has a default");
    let time = |key| keys.time(key).expect("has a default");
    let (servers, count) = (whole("servers"), whole("stripe_count"));
    let size = keys.size("stripe_size").expect("has a default");
    if count > servers {
        let reason = format!("{count}: a file has no more servers than there are, {servers}");
        return Err(section.error("stripe_count", reason));
    }
    if size == Bytes(0) {
        return Err(section.error("stripe_size", "0 B: a stripe holds something; such as \"1 MiB\""));
    }
    Ok(FileSystem {
        servers,
        bandwidth: rate("bandwidth"),
        request_time: time("request_time"),
        latency: time("latency"),
        striping: Striping { size, count },
        host_bandwidth: rate("host_bandwidth"),
        process_bandwidth: rate("process_bandwidth"),
        metadata_time: time("metadata_time"),
    })
}
