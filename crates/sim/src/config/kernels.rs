//! `[[compute.kernels]]`: functions of compiled programs whose time a formula gives.

use std::collections::BTreeSet;

use engine::random::Shape;
use engine::registry::{Kind, Parameter};
use mpi::compute::Kernel;
use network::Topology;

use super::error::InputError;
use super::kernel_table::{self, Row};
use super::platform::Platform;
use super::read::Checked;
use super::sections::{optional, required};
use crate::host_names::{HostNames, expand};

/// Names of noises: none, or a shape.
const NOISES: &[&str] = &["none", Shape::NAMES[0], Shape::NAMES[1]];

pub(super) const KERNELS: &[Parameter] = &[
    required(
        "function",
        Kind::List(&Kind::Text),
        "Its name in programs; the name of a routine of BLAS or LAPACK (\"dgemm\") stands for all names by which \
         Fortran and C call it. Of several entries for a function the last one holds",
    ),
    optional(
        "time",
        Kind::Text,
        "",
        "Its mean time, a formula of its arguments: \"2.6 us + 70 ps * M * N * K\"; in pieces \"1 us * M if M < 4000 \
         else 3 us * M\". The names are those of the routine's documentation (M, N, K, lda, side; for trsm, trmm and \
         symm K is the order of the triangle), or those of `arguments`. Needed, unless there is `table` or `modes`",
    ),
    optional(
        "arguments",
        Kind::Text,
        "",
        "Types and names of the arguments of a function that is no routine of BLAS or LAPACK: \"int n, double x, \
         const int *m\". Default: six of `int`, arg1 to arg6",
    ),
    optional("noise", Kind::Choice(NOISES), "none", "Distribution of its times over calls"),
    optional("deviation", Kind::Text, "", "Their standard deviation, a formula as `time`, for a noise"),
    optional(
        "modes",
        Kind::Modes,
        "",
        "Modes of its times instead of `time`, each with formulas of mean and deviation; one is drawn for each call",
    ),
    optional(
        "table",
        Kind::File,
        "",
        "File of coefficients instead of `time`, for each host and socket, as CSV: columns `host`, `socket` (empty: \
         all), and terms of the formula (`1`, `M*N*K`) and of the deviation (`deviation M*N*K`), in seconds",
    ),
    optional(
        "range",
        Kind::Text,
        "",
        "Calls to which it was fitted: \"M <= 15500, M*N*K <= 1e10\". A run warns of the share of calls and time beyond",
    ),
    optional(
        "resolution",
        Kind::Time,
        "0 ns",
        "Its times are cut down to whole multiples of this, as by a program that waits by usleep (1 us); 0: not cut",
    ),
    optional(
        "run",
        Kind::Flag,
        "false",
        "True if the function also runs, so that its results are right; its own time does not count",
    ),
    optional(
        "returns",
        Kind::Text,
        "",
        "Value that it returns if it does not run, a formula of its arguments and of `random`, a number in [0, 1). \
         Default: nothing; an index drawn at random for idamax and its like",
    ),
    optional(
        "hosts",
        Kind::Text,
        "",
        "The hosts on which this holds, by name or number, ranges in braces: \"dahu-{13..16}\". Default: all",
    ),
    optional(
        "sockets",
        Kind::List(&Kind::Integer(0, 1023)),
        "",
        "The sockets of these hosts on which this holds, as host.socket_order numbers them. Default: all",
    ),
];

impl Platform {
    /// Kernels in order.
    pub fn kernels(&self, topology: &dyn Topology) -> Result<Vec<Kernel>, InputError> {
        let entries = self.all("compute.kernels");
        let mut kernels = Vec::new();
        if entries.is_empty() {
            return Ok(kernels);
        }
        let machine = Machine {
            names: self.host_names(topology)?,
            hosts: topology.hosts(),
            sockets: self.processor().sockets.count,
        };
        for entry in entries {
            for function in entry.arguments.texts("function") {
                kernels.extend(machine.kernels(entry, &function)?);
            }
        }
        Ok(kernels)
    }
}

/// Hosts and sockets that entries can name.
struct Machine {
    names: HostNames,
    hosts: u32,
    sockets: u16,
}

impl Machine {
    /// Kernels of one function: one, or one for each row of its table.
    fn kernels(&self, entry: &Checked, function: &str) -> Result<Vec<Kernel>, InputError> {
        let keys = &entry.arguments;
        let given = ["time", "modes", "table"].into_iter().filter(|key| keys.0.contains_key(key));
        let [way] = given.collect::<Vec<_>>()[..] else {
            let reason = "a kernel has one of time, modes and table, not none and not several";
            return Err(entry.error("time", reason));
        };
        let (shape, deviation) = noise(entry, way)?;
        let wrong = |error| entry.build_error(&error);
        let empty = || Kernel::new(function, &keys.text("arguments").unwrap_or_default());
        let made = match way {
            "time" => vec![(Row::default(), keys.text("time").unwrap_or_default(), deviation)],
            "table" => {
                let text = keys.text("table").unwrap_or_default();
                let rows = kernel_table::rows(&text).map_err(|reason| entry.error("table", reason))?;
                rows.into_iter().map(|row| (row.clone(), row.time, row.deviation)).collect()
            }
            _ => {
                let modes = keys.modes("modes").expect("it was given");
                let kernel = empty().and_then(|kernel| kernel.with_modes(modes)).map_err(wrong)?;
                return Ok(vec![self.placed(kernel, &Row::default(), entry)?]);
            }
        };
        let kernel = |(row, time, deviation): (Row, String, Option<String>)| {
            let mut kernel = empty().and_then(|kernel| kernel.taking(&time)).map_err(wrong)?;
            match (shape, deviation) {
                (Some(shape), Some(deviation)) => {
                    kernel = kernel.with_noise(shape, &deviation).map_err(wrong)?;
                }
                (None, None) => {}
                (None, Some(_)) => return Err(entry.error("deviation", "of a noise, and there is none")),
                (Some(_), None) => {
                    return Err(entry.error("deviation", "is missing: how far do the times vary?"));
                }
            }
            self.placed(kernel, &row, entry)
        };
        made.into_iter().map(kernel).collect()
    }

    /// The kernel with what all ways have in common, on the hosts and sockets of the entry and of the table's row.
    fn placed(&self, mut kernel: Kernel, row: &Row, entry: &Checked) -> Result<Kernel, InputError> {
        let keys = &entry.arguments;
        let wrong = |error| entry.build_error(&error);
        if let Some(range) = keys.text("range") {
            kernel = kernel.within(&range).map_err(wrong)?;
        }
        if let Some(value) = keys.text("returns") {
            kernel = kernel.returning(&value).map_err(wrong)?;
        }
        kernel.resolution = keys.time("resolution").expect("has a default").seconds();
        kernel.runs = keys.flag("run").expect("has a default");
        let hosts = |key, pattern: &str| self.hosts(pattern).map_err(|reason| entry.error(key, reason));
        kernel.hosts = match (keys.text("hosts"), &row.host) {
            (None, None) => None,
            (Some(pattern), None) => Some(hosts("hosts", &pattern)?),
            (None, Some(host)) => Some(hosts("table", host)?),
            (Some(_), Some(_)) => return Err(entry.error("hosts", "the table has a column of hosts")),
        };
        let written = keys.integers("sockets").into_iter().map(|socket| socket as u16);
        let sockets: BTreeSet<u16> = written.chain(row.socket).collect();
        if let Some(socket) = sockets.iter().find(|socket| **socket >= self.sockets) {
            let reason =
                format!("hosts have {} sockets (host.sockets), and no socket {socket}", self.sockets);
            return Err(entry.error(if row.socket.is_some() { "table" } else { "sockets" }, reason));
        }
        kernel.sockets = (!sockets.is_empty()).then_some(sockets);
        Ok(kernel)
    }

    fn hosts(&self, pattern: &str) -> Result<BTreeSet<u32>, String> {
        let number = |word: &str| word.parse().ok().filter(|host| *host < self.hosts);
        let found = expand(pattern)?.into_iter().map(|word| match number(&word) {
            Some(host) => Ok(host),
            None => self.names.find(&word).map(|host| host.0),
        });
        found.collect()
    }
}

/// Shape of the noise, and its deviation where the entry itself has it.
fn noise(entry: &Checked, way: &str) -> Result<(Option<Shape>, Option<String>), InputError> {
    let keys = &entry.arguments;
    let shape = keys.text("noise").and_then(|name| Shape::named(&name));
    let deviation = keys.text("deviation");
    if way != "time" && deviation.is_some() {
        return Err(entry.error("deviation", format!("{way} has deviations of its own")));
    }
    if way == "modes" && shape.is_some() {
        return Err(entry.error("noise", "modes have shapes of their own"));
    }
    Ok((shape, deviation))
}
