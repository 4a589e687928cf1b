//! `[host.memory]`, and `[[host.levels]]` inside it, as the network wants them.

use engine::registry::{Kind, Parameter};
use mpi::compute::{SocketOrder, Sockets};
use network::memory::MOST_REGIMES;
use network::{Memory, MemoryRegime};

use super::error::InputError;
use super::measured_sizes::{LONGEST_MEASURED, SHORTEST_MEASURED};
use super::message_noise::{ISEND_MODES, LATENCY_MODES, RECEIVE_MODES, SEND_MODES};
use super::read::Checked;
use super::sections::{optional, required};

pub(super) const MEMORY: &[Parameter] = &[
    required("latency", Kind::Time, "Between two processes of a host, from store to load"),
    required("bandwidth", Kind::Bandwidth, "Bandwidth of one copy between two processes of a host"),
    optional(
        "total_bandwidth",
        Kind::Bandwidth,
        "infinite",
        "Bandwidth of all copies between processes of a host together; with host.levels, of those that no level holds",
    ),
    optional(
        "send_overhead",
        Kind::LinearTime,
        "",
        "Time of the sending process for each message within a host. Default: that of mpi.regimes",
    ),
    optional(
        "isend_overhead",
        Kind::LinearTime,
        "",
        "Time of a call within a host that begins to send and returns. Default: send_overhead here, else that of mpi.regimes",
    ),
    optional(
        "receive_overhead",
        Kind::LinearTime,
        "",
        "Time of the receiving process for each message within a host. Default: that of mpi.regimes",
    ),
    SEND_MODES,
    ISEND_MODES,
    RECEIVE_MODES,
    LATENCY_MODES,
    SHORTEST_MEASURED,
    LONGEST_MEASURED,
];

pub(super) const MEMORY_REGIMES: &[Parameter] = &[
    required("up_to", Kind::Size, "Longest message of the regime"),
    required("bandwidth", Kind::Bandwidth, "Bandwidth of one message of the regime, as in host.memory"),
    optional("latency", Kind::Time, "", "Latency of messages of the regime. Default: that of host.memory"),
    optional(
        "total_bandwidth",
        Kind::Bandwidth,
        "",
        "Bandwidth of all messages of the regime within a host together. Default: that of host.memory",
    ),
    optional(
        "send_overhead",
        Kind::LinearTime,
        "",
        "Time of the sending process. Default: that of host.memory",
    ),
    optional(
        "isend_overhead",
        Kind::LinearTime,
        "",
        "Time of a call that begins to send and returns. Default: that of host.memory",
    ),
    optional(
        "receive_overhead",
        Kind::LinearTime,
        "",
        "Time of the receiving process. Default: that of host.memory",
    ),
    SEND_MODES,
    ISEND_MODES,
    RECEIVE_MODES,
    LATENCY_MODES,
];

pub(super) const LEVELS_SUMMARY: &str = "Levels inside a host, from the innermost outwards, such as cores with a cache in common, NUMA nodes and sockets: \
     messages between two processes of a host go by the innermost level whose group holds both, and by host.memory where \
     none does. Default: none";

pub(super) const LEVELS: &[Parameter] = &[
    required(
        "name",
        Kind::Text,
        "Name of the level: cache, numa, socket; programs can split communicators by it",
    ),
    required(
        "processes",
        Kind::Integer(1, 32_767),
        "Process slots of a group of the level; groups of a level are made of whole groups of the one before it. \
         Slots lie in groups as `host.socket_order` deals them to sockets: with one socket, in a row",
    ),
    required("latency", Kind::Time, "Between two processes of a group, from store to load"),
    required("bandwidth", Kind::Bandwidth, "Bandwidth of one copy between two processes of a group"),
    optional(
        "total_bandwidth",
        Kind::Bandwidth,
        "infinite",
        "Bandwidth of all copies of the level within one group together",
    ),
    optional(
        "send_overhead",
        Kind::LinearTime,
        "",
        "Time of the sending process for each message of the level. Default: that of host.memory for its size",
    ),
    optional(
        "isend_overhead",
        Kind::LinearTime,
        "",
        "Time of a call that begins to send and returns. Default: send_overhead here, else that of host.memory",
    ),
    optional(
        "receive_overhead",
        Kind::LinearTime,
        "",
        "Time of the receiving process for each message of the level. Default: that of host.memory for its size",
    ),
    SEND_MODES,
    ISEND_MODES,
    RECEIVE_MODES,
    LATENCY_MODES,
];

pub(super) const LEVEL_REGIMES_SUMMARY: &str =
    "Messages of the level above of up to these sizes; longer ones go by the level itself. Default: none";

pub(super) const LEVEL_REGIMES: &[Parameter] = &[
    required("up_to", Kind::Size, "Longest message of the regime"),
    required("bandwidth", Kind::Bandwidth, "Bandwidth of one message of the regime"),
    optional("latency", Kind::Time, "", "Latency of messages of the regime. Default: that of the level"),
    optional(
        "total_bandwidth",
        Kind::Bandwidth,
        "",
        "Bandwidth of all messages of the regime within one group together. Default: that of the level",
    ),
    optional(
        "send_overhead",
        Kind::LinearTime,
        "",
        "Time of the sending process. Default: that of the level",
    ),
    optional(
        "isend_overhead",
        Kind::LinearTime,
        "",
        "Time of a call that begins to send and returns. Default: that of the level",
    ),
    optional(
        "receive_overhead",
        Kind::LinearTime,
        "",
        "Time of the receiving process. Default: that of the level",
    ),
    SEND_MODES,
    ISEND_MODES,
    RECEIVE_MODES,
    LATENCY_MODES,
];

/// A section of costs, which are those of the longest messages, and its regimes for shorter ones as written.
pub(super) struct Costs<'a> {
    pub longest: &'a Checked,
    pub shorter: Vec<&'a Checked>,
}

/// Costs of copies in the order of [`Memory::regimes`]: those of the host, then those of each level as written.
pub(super) fn costs(read: &[Checked]) -> Vec<Costs<'_>> {
    let mut costs: Vec<Costs> = Vec::new();
    for checked in read {
        match checked.name {
            "host.memory" | "host.levels" => costs.push(Costs { longest: checked, shorter: Vec::new() }),
            "host.memory.regimes" | "host.levels.regimes" => {
                costs.last_mut().expect("behind the section that it belongs to").shorter.push(checked);
            }
            _ => {}
        }
    }
    costs
}

/// Memory of every host: `[host.memory]` with its regimes, and the levels inside.
pub(super) fn memory(host: &Checked, read: &[Checked]) -> Result<Memory, InputError> {
    let mut all = costs(read).into_iter();
    let mut memory = Memory::new(regimes(&all.next().expect("host.memory is required"))?);
    let slots = host.arguments.integer("processes").expect("required") as u16;
    let mut inner: Option<(u16, String)> = None;
    for level in all {
        let checked = level.longest;
        let name = level_name(checked, &memory)?;
        let processes = checked.arguments.integer("processes").expect("required") as u16;
        check_size(checked, processes, slots, inner.as_ref())?;
        let sockets = sockets(host);
        check_sockets(checked, (&name, processes), slots, &sockets)?;
        let regimes = regimes(&level)?;
        if memory.regimes.len() + regimes.len() > MOST_REGIMES {
            return Err(checked.error("name", format!("levels have at most {MOST_REGIMES} regimes together")));
        }
        let groups = (0..slots).map(|slot| sockets.position(slot, slots) / processes).collect();
        memory.add_level(name.clone(), groups, regimes);
        inner = Some((processes, name));
    }
    Ok(memory)
}

/// Sockets of a host, by the slots that they have.
fn sockets(host: &Checked) -> Sockets {
    let order = host.arguments.text("socket_order").and_then(|name| SocketOrder::named(&name));
    Sockets {
        count: host.arguments.integer("sockets").expect("has a default") as u16,
        order: order.expect("a known choice"),
        ..Sockets::UNLIMITED
    }
}

/// Name of a level, which programs and reports can say, and no other level has.
fn level_name(checked: &Checked, inner: &Memory) -> Result<String, InputError> {
    let name = checked.arguments.text("name").expect("required");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        let reason = format!("'{name}' is no name of a level: letters, digits, - and _, such as numa");
        return Err(checked.error("name", reason));
    }
    if name == "host" {
        return Err(checked.error("name", "the host itself is [host.memory], no level inside it"));
    }
    if inner.levels().iter().any(|level| level.name == name) {
        return Err(checked.error("name", format!("there are two levels '{name}'")));
    }
    Ok(name)
}

/// Checks that groups nest: whole groups of the level before it make a group, and groups make the host.
fn check_size(
    checked: &Checked,
    processes: u16,
    slots: u16,
    inner: Option<&(u16, String)>,
) -> Result<(), InputError> {
    let wrong = |reason: String| Err(checked.error("processes", reason));
    if let Some((within, name)) = inner {
        if processes <= *within {
            return wrong(format!(
                "levels are listed from the innermost outwards: groups of {processes} do not come after those of \
                 {within} of the level '{name}'"
            ));
        }
        if processes % within != 0 {
            return wrong(format!(
                "a group of {processes} is not made of whole groups of {within}, which the level '{name}' has"
            ));
        }
    }
    if processes == slots {
        return wrong(format!(
            "a level is a part of a host, which has {slots} process slots (host.processes); messages between \
             any two of them are those of [host.memory]"
        ));
    }
    if slots % processes != 0 {
        return wrong(format!(
            "groups of {processes} do not divide the {slots} process slots of a host (host.processes)"
        ));
    }
    Ok(())
}

/// Checks that the groups of a level and the sockets of a host do not cut each other.
fn check_sockets(
    checked: &Checked,
    (name, processes): (&str, u16),
    slots: u16,
    sockets: &Sockets,
) -> Result<(), InputError> {
    let count = sockets.count;
    if slots % count != 0 {
        let reason = format!(
            "levels need sockets of as many process slots each: {count} sockets (host.sockets) do not divide {slots} \
             (host.processes)"
        );
        return Err(checked.error("processes", reason));
    }
    let socket = slots / count;
    if name == "socket" && processes != socket {
        let reason = format!(
            "the level 'socket' has groups of {processes}, but a host of {slots} process slots with host.sockets = {count} \
             has sockets of {socket}"
        );
        return Err(checked.error("processes", reason));
    }
    if socket % processes != 0 && processes % socket != 0 {
        let reason = format!(
            "groups of {processes} neither divide a socket of {socket} process slots (host.sockets) nor are made of whole \
             sockets"
        );
        return Err(checked.error("processes", reason));
    }
    Ok(())
}

/// Regimes in order of size; the section itself is the last.
fn regimes(costs: &Costs) -> Result<Vec<MemoryRegime>, InputError> {
    let (section, own) =
        (&costs.longest.arguments, |checked: &Checked, key| checked.arguments.linear_time(key));
    let rate =
        |checked: &Checked, key| checked.arguments.bandwidth(key).expect("required, or with a default");
    let latency = section.time("latency").expect("required");
    let (bandwidth, total) = (rate(costs.longest, "bandwidth"), rate(costs.longest, "total_bandwidth"));
    let longest = MemoryRegime {
        send_overhead: own(costs.longest, "send_overhead"),
        isend_overhead: own(costs.longest, "isend_overhead"),
        receive_overhead: own(costs.longest, "receive_overhead"),
        ..Memory::uniform(latency, bandwidth, total).regimes[0]
    };
    let mut regimes: Vec<MemoryRegime> = Vec::with_capacity(costs.shorter.len() + 1);
    for (index, checked) in costs.shorter.iter().enumerate() {
        let arguments = &checked.arguments;
        let up_to = arguments.size("up_to").expect("required");
        if regimes.last().is_some_and(|before| up_to <= before.up_to) {
            return Err(checked.error("up_to", "regimes must be in order of size"));
        }
        if index == 255 {
            return Err(checked.error("up_to", "there are at most 255 regimes"));
        }
        regimes.push(MemoryRegime {
            up_to,
            latency: arguments.time("latency").unwrap_or(longest.latency),
            bandwidth: rate(checked, "bandwidth"),
            total_bandwidth: arguments.bandwidth("total_bandwidth").unwrap_or(longest.total_bandwidth),
            send_overhead: own(checked, "send_overhead").or(longest.send_overhead),
            isend_overhead: own(checked, "isend_overhead").or(longest.isend_overhead),
            receive_overhead: own(checked, "receive_overhead").or(longest.receive_overhead),
        });
    }
    regimes.push(longest);
    Ok(regimes)
}
