//! `[[compute.kernels]]`: functions of compiled programs whose time a formula gives.

use std::collections::BTreeSet;

use engine::registry::{Kind, Parameter};
use mpi::compute::Kernel;
use mpi::compute::kernel::Noise;
use network::Topology;

use super::error::InputError;
use super::platform::Platform;
use super::read::Checked;
use super::sections::{optional, required};
use crate::host_names::{HostNames, expand};

pub(super) const KERNELS: &[Parameter] = &[
    required(
        "function",
        Kind::List(&Kind::Text),
        "Its name in programs; the name of a routine of BLAS or LAPACK (\"dgemm\") stands for all names by which \
         Fortran and C call it. Of several entries for a function the last one holds",
    ),
    required(
        "time",
        Kind::Text,
        "Its mean time, a formula of its arguments: \"2.6 us + 70 ps * M * N * K\". The names are those of the \
         routine's documentation (M, N, K, lda, side; for trsm, trmm and symm K is the order of the triangle), or \
         those of `arguments`",
    ),
    optional(
        "arguments",
        Kind::Text,
        "",
        "Types and names of the arguments of a function that is no routine of BLAS or LAPACK: \"int n, double x, \
         const int *m\". Default: six of `int`, arg1 to arg6",
    ),
    optional("noise", Kind::Choice(Noise::NAMES), "none", "Distribution of its times over calls"),
    optional("deviation", Kind::Text, "", "Their standard deviation, a formula as `time`, for a noise"),
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
];

impl Platform {
    /// Kernels in order.
    pub fn kernels(&self, topology: &dyn Topology) -> Result<Vec<Kernel>, InputError> {
        let entries = self.all("compute.kernels");
        let mut kernels = Vec::new();
        if entries.is_empty() {
            return Ok(kernels);
        }
        let names = self.host_names(topology)?;
        for entry in entries {
            for function in entry.arguments.texts("function") {
                kernels.push(kernel(entry, &function, &names, topology)?);
            }
        }
        Ok(kernels)
    }
}

fn kernel(
    entry: &Checked,
    function: &str,
    names: &HostNames,
    topology: &dyn Topology,
) -> Result<Kernel, InputError> {
    let keys = &entry.arguments;
    let text = |key| keys.text(key).unwrap_or_default();
    let made = Kernel::new(function, &text("arguments"), &text("time"));
    let mut kernel = made.map_err(|error| entry.build_error(&error))?;
    let noise = keys.text("noise").and_then(|name| Noise::named(&name)).expect("a known choice");
    match (noise, keys.text("deviation")) {
        (Noise::None, None) => {}
        (Noise::None, Some(_)) => return Err(entry.error("deviation", "of a noise, and there is none")),
        (_, None) => return Err(entry.error("deviation", "is missing: how far do the times vary?")),
        (noise, Some(deviation)) => {
            kernel = kernel.with_noise(noise, &deviation).map_err(|error| entry.build_error(&error))?;
        }
    }
    if let Some(value) = keys.text("returns") {
        kernel = kernel.returning(&value).map_err(|error| entry.build_error(&error))?;
    }
    kernel.runs = keys.flag("run").expect("has a default");
    if let Some(pattern) = keys.text("hosts") {
        let found = hosts(&pattern, names, topology).map_err(|reason| entry.error("hosts", reason))?;
        kernel.hosts = Some(found);
    }
    Ok(kernel)
}

fn hosts(pattern: &str, names: &HostNames, topology: &dyn Topology) -> Result<BTreeSet<u32>, String> {
    let number = |word: &str| word.parse().ok().filter(|host| *host < topology.hosts());
    let found = expand(pattern)?.into_iter().map(|word| match number(&word) {
        Some(host) => Ok(host),
        None => names.find(&word).map(|host| host.0),
    });
    found.collect()
}
