//! `[host]`, `[nic]`, the packets of `[link]` and `[[mpi.regimes]]`, as the network wants them.

use engine::registry::{Kind, Parameter, names};
use engine::{Bandwidth, Bytes, Duration};
use mpi::compute::SocketOrder;
use network::topology::{ATTACHMENTS, planes};
use network::{HostParameters, NicChoice, NicOrder, Nics, Regime};

use super::error::InputError;
use super::memory::memory;
use super::message_noise::{ISEND_MODES, LATENCY_MODES, RECEIVE_MODES, SEND_MODES};
use super::read::Checked;
use super::sections::{optional, required};

pub(super) const LINK: &[Parameter] = &[
    optional(
        "bandwidth",
        Kind::Bandwidth,
        "",
        "Bandwidth of a link between two routers, each direction; needed where the topology's own parameters leave it open",
    ),
    optional(
        "latency",
        Kind::Time,
        "",
        "From the start of a link between two routers to its end, the router behind it included; needed where \
         the topology's own parameters leave it open",
    ),
    optional("packet_payload", Kind::Size, "1 B", "Payload bytes of a full packet"),
    optional(
        "packet_wire",
        Kind::Size,
        "",
        "Bytes of a full packet on a link, headers and acknowledgement included; links carry size * packet_wire / \
         packet_payload. Default: packet_payload, so that headers are left out",
    ),
];

pub(super) const HOST: &[Parameter] = &[
    required(
        "processes",
        Kind::Integer(1, 65_535),
        "Process slots of a host: how many ranks it holds, usually its cores",
    ),
    optional(
        "sockets",
        Kind::Integer(1, 1024),
        "1",
        "Sockets of a host (NUMA nodes, where each has memory of its own), with as many process slots each; for \
         `compute.socket_memory_bandwidth` and `host.levels`",
    ),
    optional(
        "socket_order",
        Kind::Choice(SocketOrder::NAMES),
        "cyclic",
        "Sockets of the process slots: in turns, as Slurm (block:cyclic) and Open MPI (by package) bind processes by \
         default, or the first socket filled first",
    ),
];

const ATTACHMENT_NAMES: [&str; ATTACHMENTS.len()] = names(ATTACHMENTS);

pub(super) const NIC: &[Parameter] = &[
    required(
        "bandwidth",
        Kind::Bandwidth,
        "Bandwidth of the link between a NIC and its host's router, each direction",
    ),
    required(
        "latency",
        Kind::Time,
        "Latency of the link between a NIC and its host's router, each direction",
    ),
    optional(
        "count",
        Kind::Integer(1, Nics::MOST as i64),
        "1",
        "NICs of a host, each with a link of its own to the router and back",
    ),
    optional(
        "links",
        Kind::Integer(1, 64),
        "1",
        "Links of a NIC in each direction, which packets share in `packet`: bandwidth is that of all, each has as many \
         parts of it, a packet takes one, the first that is free, and the router has a port for each. To other models \
         they are one link",
    ),
    optional(
        "attachment",
        Kind::Choice(&ATTACHMENT_NAMES),
        "router",
        "Attachment of a host's NICs: all to the same router, or each to a network of its own, of as many \
         alike (planes)",
    ),
    optional(
        "choice",
        Kind::Choice(NicChoice::NAMES),
        "round-robin",
        "NICs of a message that names none: the host's in turns; that of each process, its slot modulo \
         count; by the number of the destination host; that with least to send. But for `process` it comes by the \
         NIC of the same number; in planes always",
    ),
    optional(
        "setup",
        Kind::Time,
        "0 ns",
        "Time of a NIC for each message before its first byte leaves, on no process: the set-up of its DMA engine. One \
         message after the other in `packet` and `loggp`, a latency in other models",
    ),
    optional(
        "order",
        Kind::Choice(NicOrder::NAMES),
        "",
        "Order in which messages of one process to different partners leave a NIC: one after the other, or at the same \
         time, each connection with its share (those of a packet or a few in turns). Messages of one pair of processes \
         never overtake each other. Default: `shared` in `flow` and `packet`; `max-rate` and `loggp` know `in-turn` alone",
    ),
    optional(
        "gap",
        Kind::Time,
        "0 ns",
        "The least time from one message of a NIC to its next: LogGP's g, which only the model `loggp` knows",
    ),
];

pub(super) const REGIMES: &[Parameter] = &[
    required("name", Kind::Text, "For reports: short, eager, rendezvous"),
    optional("up_to", Kind::Size, "", "Longest message of the regime; the last regime has none"),
    optional(
        "send_overhead",
        Kind::LinearTime,
        "0 ns",
        "Time of the sending process for each message; what depends on its size is the process's own, not the wire's",
    ),
    optional(
        "isend_overhead",
        Kind::LinearTime,
        "",
        "Time of a call that begins to send and returns (MPI_Isend), by the size of the message, also where it asks \
         the receiver first. Default: send_overhead",
    ),
    optional("receive_overhead", Kind::LinearTime, "0 ns", "Time of the receiving process for each message"),
    optional("latency", Kind::Time, "0 ns", "Added to the latency of the path, on no process"),
    optional(
        "overlap",
        Kind::Choice(&["none", "nic"]),
        "none",
        "What goes on during the latency of the regime: `nic`: the NIC works for this message and for others, so that k \
         processes take max(k n / R_N, s + n / R_C), the modified max-rate law; `none`: s comes on top",
    ),
    SEND_MODES,
    ISEND_MODES,
    RECEIVE_MODES,
    LATENCY_MODES,
    optional(
        "process_rate",
        Kind::Bandwidth,
        "infinite",
        "R_C, the path of one process to its NIC; R_Cb of the four-parameter model",
    ),
    optional(
        "further_process_rate",
        Kind::Bandwidth,
        "",
        "R_Ci of the four-parameter model, what each further process of the host adds. Default: process_rate",
    ),
    optional(
        "further_process_loss",
        Kind::Bandwidth,
        "",
        "A negative R_Ci: what each further process of the host takes away, until nothing would be left; instead of \
         further_process_rate. Every run warns of it: machines do not slow down with more senders",
    ),
    optional(
        "nic_rate",
        Kind::Bandwidth,
        "infinite",
        "R_N, the NIC, shared by the processes of the host; it is never wider than its link, `nic.bandwidth`",
    ),
];

/// Parameters of every host of the platform; checks constraints between keys.
pub(super) fn host_parameters(sections_read: &[Checked]) -> Result<HostParameters, InputError> {
    let of = |name: &str| {
        let found = sections_read.iter().find(|checked| checked.name == name);
        found.expect("read, or filled with its defaults")
    };
    let (host, nic, link) = (of("host"), of("nic"), of("link"));
    let packet_payload = link.arguments.size("packet_payload").expect("has a default");
    let packet_wire = link.arguments.size("packet_wire").unwrap_or(packet_payload);
    if packet_wire < packet_payload {
        let reason = format!("{packet_wire} on the wire cannot hold a payload of {packet_payload}");
        return Err(link.error("packet_wire", reason));
    }
    let (bandwidth, links) = (rate(nic, "bandwidth"), nic.arguments.integer("links").expect("has a default"));
    if bandwidth.0 < links as u64 {
        let reason = format!("{links} links of a NIC of {bandwidth} have less than 1 B/s each");
        return Err(nic.error("links", reason));
    }
    Ok(HostParameters {
        processes: host.arguments.integer("processes").expect("required") as u16,
        memory: memory(host, sections_read)?,
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
    let latency = arguments.time("latency").expect("has a default");
    let (latency, overlapped_latency) = match arguments.text("overlap").as_deref() {
        Some("nic") => (Duration::ZERO, latency),
        _ => (latency, Duration::ZERO),
    };
    Ok(Regime {
        up_to: arguments.size("up_to").unwrap_or(Bytes(u64::MAX)),
        send_overhead: arguments.linear_time("send_overhead").expect("has a default"),
        isend_overhead: arguments.linear_time("isend_overhead"),
        receive_overhead: arguments.linear_time("receive_overhead").expect("has a default"),
        latency,
        overlapped_latency,
        process_rate,
        process_rate_change,
        nic_rate: rate(checked, "nic_rate"),
    })
}
