//! Times of kernels as the formulas of a platform have them, without a run.

use std::collections::BTreeMap;

use crate::config::{InputError, Platform};

/// Values of an argument, one for each call, by its name in formulas.
pub type Arguments = BTreeMap<String, Vec<f64>>;

/// Mean times \[s\] of `calls` calls of `function` on a socket of a host, by the last kernel that holds there; `file`
/// is for errors. A host is a name or a number.
pub fn kernel_times(
    platform: &Platform,
    file: &str,
    function: &str,
    (host, socket): (&str, u16),
    calls: usize,
    arguments: &Arguments,
) -> Result<Vec<f64>, InputError> {
    let wrong = |reason: String| InputError::whole(file, reason);
    let topology = platform.fabric(0)?.topology;
    let kernels = platform.kernels(&*topology)?;
    let place = match host.parse() {
        Ok(number) if number < topology.hosts() => number,
        _ => platform.host_names(&*topology)?.find(host).map_err(wrong)?.0,
    };
    let known = |name: &str| kernels.iter().any(|kernel| kernel.function == name);
    if !known(function) {
        let mut names: Vec<_> = kernels.iter().map(|kernel| kernel.function.as_str()).collect();
        names.dedup();
        let names = if names.is_empty() { "none".to_string() } else { names.join(", ") };
        return Err(wrong(format!("no kernel '{function}'; [[compute.kernels]] has: {names}")));
    }
    let of_function =
        |kernel: &&mpi::compute::Kernel| kernel.function == function && kernel.holds(place, socket);
    let Some(kernel) = kernels.iter().rfind(of_function) else {
        return Err(wrong(format!("no kernel '{function}' holds on host {host}, socket {socket}")));
    };
    let names = kernel.modes.iter().flat_map(|mode| mode.time.variables());
    if let Some(name) = names.into_iter().find(|name| !arguments.contains_key(*name)) {
        let given: Vec<_> = arguments.keys().map(String::as_str).collect();
        return Err(wrong(format!(
            "the time of '{function}' needs {name}; calls have: {}",
            given.join(", ")
        )));
    }
    Ok((0..calls).map(|call| kernel.mean(|name| arguments[name][call])).collect())
}
