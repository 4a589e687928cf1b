//! `[[mpi.functions]]`: times of MPI's functions by name.

use engine::Duration;
use engine::registry::{Kind, Parameter};
use mpi::function_times::known;
use mpi::{FunctionTime, FunctionTimes};

use super::error::{InputError, unknown_in};
use super::message_noise::time_modes;
use super::read::Checked;
use super::sections::{optional, required};

pub(super) const FUNCTIONS: &[Parameter] = &[
    required("function", Kind::Text, "Its name, such as MPI_Iprobe"),
    required(
        "time",
        Kind::Time,
        "Time of the process for each call, beside mpi.call_overhead; for one that tests or probes and finds nothing, instead of \
         mpi.poll. Above 0. Recorded runs have what they recorded of calls that do not communicate",
    ),
    optional(
        "modes",
        Kind::Modes,
        "",
        "Modes of what noise adds to the time, not below zero. Default: no noise",
    ),
];

/// Times of the functions that `[[mpi.functions]]` names, under the seed 0.
pub(super) fn function_times(read: &[Checked]) -> Result<FunctionTimes, InputError> {
    let mut times = FunctionTimes::default();
    for checked in read.iter().filter(|checked| checked.name == "mpi.functions") {
        let function = checked.arguments.text("function").expect("required");
        if !known().any(|name| name == function) {
            let names: Vec<_> = known().collect();
            let hint = "names are those of the MPI standard;";
            let message = unknown_in("function", &function, "", &names, Some(hint));
            // There are 700: the message names the nearest alone.
            let (message, _) = message.split_once(" known:").unwrap_or((&message, ""));
            return Err(checked.error("function", message.trim_end_matches(';')));
        }
        if times.of(&function).is_some() {
            return Err(checked.error("function", format!("{function} has a time already")));
        }
        let time = checked.arguments.time("time").expect("required");
        if time == Duration::ZERO {
            return Err(checked.error("time", "0 s: a loop of such calls would never end; such as \"10 ns\""));
        }
        let modes = checked.arguments.modes("modes").map(time_modes).transpose();
        let modes = modes.map_err(|reason| checked.error("modes", reason))?;
        times.all.push(FunctionTime { function, time, modes });
    }
    Ok(times)
}
