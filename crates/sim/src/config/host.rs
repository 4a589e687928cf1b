//! `[host]`, `[nic]`, the packets of `[link]` and `[[mpi.regimes]]`, as the network wants them.

use engine::{Bandwidth, Bytes};
use network::topology::planes;
use network::{HostParameters, Memory, MemoryRegime, NicChoice, NicOrder, Nics, Regime};

use super::error::InputError;
use super::read::Checked;

/// Parameters of every host of the platform; checks constraints between keys.
pub(super) fn host_parameters(sections_read: &[Checked]) -> Result<HostParameters, InputError> {
    let of = |name: &str| {
        let found = sections_read.iter().find(|checked| checked.name == name);
        found.expect("read, or filled with its defaults")
    };
    let (host, memory, nic, link) = (of("host"), of("host.memory"), of("nic"), of("link"));
    let packet_payload = link.arguments.size("packet_payload").expect("has a default");
    let packet_wire = link.arguments.size("packet_wire").unwrap_or(packet_payload);
    if packet_wire < packet_payload {
        let reason = format!("{packet_wire} on the wire cannot hold a payload of {packet_payload}");
        return Err(link.error("packet_wire", reason));
    }
    Ok(HostParameters {
        processes: host.arguments.integer("processes").expect("required") as u16,
        memory: memory_regimes(memory, sections_read)?,
        regimes: regimes(sections_read)?,
        nics: Nics {
            count: nic.arguments.integer("count").expect("has a default") as u8,
            choice: nic.arguments.text("choice").and_then(|name| NicChoice::named(&name)).expect("known"),
            setup: nic.arguments.time("setup").expect("has a default"),
            order: nic.arguments.text("order").and_then(|name| NicOrder::named(&name)),
            in_planes: nic.arguments.text("attachment").as_deref() == Some(planes::ENTRY.name),
        },
        nic_gap: nic.arguments.time("gap").expect("has a default"),
        packet_payload,
        packet_wire,
    })
}

/// Bandwidth of a key that is required or has a default.
fn rate(checked: &Checked, key: &str) -> Bandwidth {
    checked.arguments.bandwidth(key).expect("required, or with a default")
}

/// `[[host.memory.regimes]]` in order of size; the section `memory` itself is the last regime.
fn memory_regimes(memory: &Checked, read: &[Checked]) -> Result<Memory, InputError> {
    let latency = memory.arguments.time("latency").expect("required");
    let mut all = Memory::uniform(latency, rate(memory, "bandwidth"), rate(memory, "total_bandwidth"));
    all.send_overhead = memory.arguments.time("send_overhead");
    all.receive_overhead = memory.arguments.time("receive_overhead");
    let longest = all.regimes[0];
    for (index, checked) in read.iter().filter(|checked| checked.name == "host.memory.regimes").enumerate() {
        let arguments = &checked.arguments;
        let up_to = arguments.size("up_to").expect("required");
        if index > 0 && up_to <= all.regimes[index - 1].up_to {
            return Err(checked.error("up_to", "regimes must be in order of size"));
        }
        if index == 255 {
            return Err(checked.error("up_to", "there are at most 255 regimes"));
        }
        let regime = MemoryRegime {
            up_to,
            latency: arguments.time("latency").unwrap_or(longest.latency),
            bandwidth: rate(checked, "bandwidth"),
            total_bandwidth: arguments.bandwidth("total_bandwidth").unwrap_or(longest.total_bandwidth),
        };
        all.regimes.insert(index, regime);
    }
    Ok(all)
}

/// `[[mpi.regimes]]` in order of size, the last without limit; without any, one regime without cost.
fn regimes(read: &[Checked]) -> Result<Vec<Regime>, InputError> {
    let written: Vec<_> = read.iter().filter(|checked| checked.name == "mpi.regimes").collect();
    let mut regimes: Vec<Regime> = Vec::new();
    for (index, checked) in written.iter().enumerate() {
        let regime = regime(checked)?;
        let last = index + 1 == written.len();
        if last != (regime.up_to == Bytes(u64::MAX)) {
            let reason = if last {
                "the last regime has no limit"
            } else {
                "is missing: only the last regime has no limit"
            };
            return Err(checked.error("up_to", reason));
        }
        if regimes.last().is_some_and(|before| regime.up_to <= before.up_to) {
            return Err(checked.error("up_to", "regimes must be in order of size"));
        }
        regimes.push(regime);
    }
    if regimes.len() > 255 {
        return Err(written[255].error("name", "there are at most 255 regimes"));
    }
    if regimes.is_empty() {
        regimes.push(Regime::FREE);
    }
    Ok(regimes)
}

fn regime(checked: &Checked) -> Result<Regime, InputError> {
    let arguments = &checked.arguments;
    let time = |key| arguments.time(key).expect("has a default");
    let process_rate = rate(checked, "process_rate");
    let (further, loss) =
        (arguments.bandwidth("further_process_rate"), arguments.bandwidth("further_process_loss"));
    let key = if further.is_some() { "further_process_rate" } else { "further_process_loss" };
    if (further.is_some() || loss.is_some()) && process_rate == Bandwidth::INFINITE {
        return Err(checked.error(key, "needs a finite process_rate"));
    }
    let process_rate_change = match (further, loss) {
        (None, None) => 0.0,
        (Some(rate), None) => rate.0 as f64 - process_rate.0 as f64,
        (None, Some(loss)) => -(loss.0 as f64) - process_rate.0 as f64,
        (Some(_), Some(_)) => {
            return Err(checked.error(key, "a further process adds or takes away, not both"));
        }
    };
    Ok(Regime {
        up_to: arguments.size("up_to").unwrap_or(Bytes(u64::MAX)),
        send_overhead: time("send_overhead"),
        receive_overhead: time("receive_overhead"),
        latency: time("latency"),
        process_rate,
        process_rate_change,
        nic_rate: rate(checked, "nic_rate"),
    })
}
