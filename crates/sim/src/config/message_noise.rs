//! Modes of `[[mpi.regimes]]`, `[host.memory]` and `[[host.levels]]`: the noise of messages.

use engine::registry::{Kind, Mode, Parameter};
use mpi::compute::formula::Formula;
use mpi::message_noise::{MessageNoise, RegimeNoise, TimeMode, TimeModes};

use super::error::InputError;
use super::memory::{Costs, costs};
use super::read::Checked;
use super::sections::optional;

/// Key of modes, and the key of the time around which they are.
const KEYS: [(&str, &str); 4] = [
    ("send_modes", "send_overhead"),
    ("isend_modes", "isend_overhead"),
    ("receive_modes", "receive_overhead"),
    ("latency_modes", "latency"),
];

pub(super) const SEND_MODES: Parameter = optional(
    "send_modes",
    Kind::Modes,
    "",
    "Modes of what noise adds to send_overhead for each message, such as [{ weight = 0.8, mean = \"0 ns\", deviation = \"60 ns\" }, …]; \
     the sum is not below zero. Default: no noise",
);
pub(super) const ISEND_MODES: Parameter =
    optional("isend_modes", Kind::Modes, "", "Modes of what noise adds to isend_overhead. Default: no noise");
pub(super) const RECEIVE_MODES: Parameter = optional(
    "receive_modes",
    Kind::Modes,
    "",
    "Modes of what noise adds to receive_overhead. Default: no noise",
);
pub(super) const LATENCY_MODES: Parameter = optional(
    "latency_modes",
    Kind::Modes,
    "",
    "Modes of what noise adds to the latency of each message, not below zero, on no process. \
     Default: no noise",
);

/// Noise of the messages that these sections describe, under the seed 0; `None` without any.
pub(super) fn message_noise(read: &[Checked]) -> Result<Option<MessageNoise>, InputError> {
    let between_hosts = read.iter().filter(|checked| checked.name == "mpi.regimes");
    let mut network = between_hosts.map(own).collect::<Result<Vec<_>, _>>()?;
    if network.is_empty() {
        network.push(RegimeNoise::default());
    }
    let memory = costs(read).iter().map(within_host).collect::<Result<Vec<_>, _>>()?.concat();
    let noise = MessageNoise { seed: 0, network, memory };
    let silent = noise.network.iter().chain(&noise.memory).all(RegimeNoise::is_none);
    Ok((!silent).then_some(noise))
}

/// Noise of the copies of the host, or of one level of it, by regime.
fn within_host(costs: &Costs) -> Result<Vec<RegimeNoise>, InputError> {
    let longest = own(costs.longest)?;
    let shorter = costs.shorter.iter().map(|regime| {
        let mut noise = own(regime)?;
        let names = |time: &str| regime.written.contains_key(time);
        let inherit = |modes: &mut Option<TimeModes>, time: &str, longest: &Option<TimeModes>| {
            if !names(time) {
                modes.clone_from(longest);
            }
        };
        inherit(&mut noise.send, "send_overhead", &longest.send);
        inherit(&mut noise.isend, "isend_overhead", &longest.isend);
        inherit(&mut noise.receive, "receive_overhead", &longest.receive);
        inherit(&mut noise.latency, "latency", &longest.latency);
        Ok(noise)
    });
    let mut noise = shorter.collect::<Result<Vec<_>, InputError>>()?;
    noise.push(longest);
    Ok(noise)
}

/// Modes that a section names, each beside the time around which they are.
fn own(checked: &Checked) -> Result<RegimeNoise, InputError> {
    let between_hosts = checked.name == "mpi.regimes";
    let [send, isend, receive, latency] = KEYS.map(|(key, time)| {
        let Some(modes) = checked.arguments.modes(key) else { return Ok(None) };
        // Between hosts the others have a default.
        let is_said = between_hosts && time != "isend_overhead" || checked.written.contains_key(time);
        if !is_said {
            let reason = format!("modes are around {time}, which is not said beside them");
            return Err(checked.error(key, reason));
        }
        time_modes(modes).map(Some).map_err(|reason| checked.error(key, reason))
    });
    Ok(RegimeNoise { send: send?, isend: isend?, receive: receive?, latency: latency? })
}

/// Modes of times; the error says what is wrong.
pub(super) fn time_modes(modes: &[Mode]) -> Result<TimeModes, String> {
    let mode = |mode: &Mode| {
        let deviation = mode.deviation.as_deref().map_or(Ok(0.0), seconds)?;
        if deviation < 0.0 {
            return Err(format!(
                "a deviation of {} is below zero",
                mode.deviation.as_deref().unwrap_or_default()
            ));
        }
        Ok(TimeMode { weight: mode.weight, mean: seconds(&mode.mean)?, deviation, shape: mode.shape })
    };
    modes.iter().map(mode).collect::<Result<_, _>>().map(TimeModes)
}

/// A time \[s\], which may be negative.
fn seconds(text: &str) -> Result<f64, String> {
    let formula = Formula::parse(text)?;
    match formula.variables() {
        [] if formula.has_unit() || formula.is_zero() => Ok(formula.value(&[])),
        [] => Err(format!("'{text}' has no unit; write \"{text} us\"")),
        [variable, ..] => {
            Err(format!("'{text}' depends on '{variable}'; a mode of messages has a fixed time"))
        }
    }
}
