//! Sections of a platform file: one table for reading, error messages, the JSON schema and the reference page.

use std::sync::OnceLock;

use engine::registry::{Entry, Kind, Parameter, names};
use mpi::Progress;
use mpi::collective::selection::LIBRARY_NAMES;
use mpi::collective::{ALGORITHMS, Kind as Collective};
use mpi::compute::{COMPUTE_MODELS, SocketOrder};
use network::model::{MODELS, ROUTER, transport_keys};
use network::routing::ROUTINGS;
use network::topology::{ATTACHMENTS, TOPOLOGIES};
use network::{NicChoice, NicOrder, Nics};

use super::faults::{FAULTS, PLANNED};
use super::file_system::FILE_SYSTEM;
use super::kernels::KERNELS;
use crate::placement::PLACEMENTS;

/// One section.
#[derive(Debug, Clone)]
pub struct Section {
    /// Dotted name in the file; empty for the keys above the first section.
    pub name: String,
    /// One line for the reference page.
    pub summary: &'static str,
    /// Contents.
    pub content: Content,
}

/// Contents of a section.
#[derive(Debug, Clone)]
pub enum Content {
    /// A fixed set of keys.
    Keys(&'static [Parameter]),
    /// A model of a registry, named by `kind`, with its own parameters.
    Model {
        /// Entries of the registry.
        choices: Vec<Choice>,
        /// Default of `kind`, as in [`Parameter::default`].
        default: Option<&'static str>,
    },
    /// Any number of `[[section]]` with these keys each.
    Repeated(&'static [Parameter]),
}

#[cfg(test)]
impl Section {
    /// Parameters of the section, or of all models that it can name.
    pub fn parameters(&self) -> Vec<&'static Parameter> {
        match &self.content {
            Content::Keys(keys) | Content::Repeated(keys) => keys.iter().collect(),
            Content::Model { choices, .. } => choices.iter().flat_map(|choice| choice.parameters).collect(),
        }
    }
}

/// A model of a registry, without its build function.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// Value of `kind`.
    pub name: &'static str,
    /// One line of description.
    pub summary: &'static str,
    /// Publication.
    pub source: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
}

/// Choices of a registry.
pub fn choices<B>(table: &'static [Entry<B>]) -> Vec<Choice> {
    let strip = |entry: &'static Entry<B>| Choice {
        name: entry.name,
        summary: entry.summary,
        source: entry.source,
        parameters: entry.parameters,
    };
    table.iter().map(strip).collect()
}

/// Makes a parameter that the file must set.
pub(super) const fn required(name: &'static str, kind: Kind, summary: &'static str) -> Parameter {
    Parameter { name, kind, default: None, summary }
}

/// Makes a parameter with a default, as TOML text; `""` means that it may be absent.
pub(super) const fn optional(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    summary: &'static str,
) -> Parameter {
    Parameter { name, kind, default: Some(default), summary }
}

const TOP: &[Parameter] = &[
    required("name", Kind::Text, "The name of the platform, for reports"),
    optional("summary", Kind::Text, "", "One line about it, for `hopcast list`"),
    optional("source", Kind::Text, "", "Source of its numbers"),
    optional("note", Kind::Text, "", "Caution about its values, in a sentence: every run warns of it"),
];

const LINK: &[Parameter] = &[
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

const STATISTICS: &[Parameter] = &[
    optional(
        "detail",
        Kind::Choice(&["none", "classes", "links", "channels"]),
        "none",
        "Traffic that the packet model keeps over time: nothing; traffic by class of link (direction, level) and \
         virtual channel, and by region; by link and router, too; by virtual channel of each link, too",
    ),
    optional("period", Kind::Time, "1 us", "The length of a period, which doubles whenever periods run out"),
    optional("periods", Kind::Integer(2, 65_536), "512", "The most periods"),
    optional(
        "rows",
        Kind::Integer(1024, 4_000_000_000),
        "500000",
        "The most rows of a table: where 16 periods of all virtual channels are more, only links are kept; where \
         those are more, routers; then only classes and regions",
    ),
    optional(
        "residence",
        Kind::Time,
        "",
        "Packets that stay in a router's buffer for longer are counted and listed. Default: none are",
    ),
    optional(
        "slow_packets",
        Kind::Integer(0, 1_000_000),
        "1000",
        "The most of them that are listed, the slowest",
    ),
];

const HOST: &[Parameter] = &[
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
         `compute.socket_memory_bandwidth`",
    ),
    optional(
        "socket_order",
        Kind::Choice(SocketOrder::NAMES),
        "cyclic",
        "Sockets of the process slots: in turns, as Slurm (block:cyclic) and Open MPI (by package) bind processes by \
         default, or the first socket filled first",
    ),
];

const MEMORY: &[Parameter] = &[
    required("latency", Kind::Time, "Between two processes of a host, from store to load"),
    required("bandwidth", Kind::Bandwidth, "Bandwidth of one copy between two processes of a host"),
    optional(
        "total_bandwidth",
        Kind::Bandwidth,
        "infinite",
        "Bandwidth of all copies between processes of a host together",
    ),
    optional(
        "send_overhead",
        Kind::Time,
        "",
        "Time of the sending process for each message within a host. Default: that of mpi.regimes",
    ),
    optional(
        "receive_overhead",
        Kind::Time,
        "",
        "Time of the receiving process for each message within a host. Default: that of mpi.regimes",
    ),
];

const MEMORY_REGIMES: &[Parameter] = &[
    required("up_to", Kind::Size, "Longest message of the regime"),
    required("bandwidth", Kind::Bandwidth, "Bandwidth of one message of the regime, as in host.memory"),
    optional("latency", Kind::Time, "", "Latency of messages of the regime. Default: that of host.memory"),
    optional(
        "total_bandwidth",
        Kind::Bandwidth,
        "",
        "Bandwidth of all messages of the regime within a host together. Default: that of host.memory",
    ),
];

const ATTACHMENT_NAMES: [&str; ATTACHMENTS.len()] = names(ATTACHMENTS);

const NIC: &[Parameter] = &[
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
         time, each connection with its share. Messages of one pair of processes never overtake each other. Default: \
         `shared` in `flow` and `packet`; `max-rate` and `loggp` know `in-turn` alone",
    ),
    optional(
        "gap",
        Kind::Time,
        "0 ns",
        "The least time from one message of a NIC to its next: LogGP's g, which only the model `loggp` knows",
    ),
];

const MPI: &[Parameter] = &[
    optional(
        "library",
        Kind::Choice(LIBRARY_NAMES),
        "mpich",
        "Whose rules choose the algorithm of a collective",
    ),
    optional(
        "eager_limit",
        Kind::Size,
        "64 KiB",
        "Longest message between hosts that is sent before its receive is known; longer ones wait for it \
         (rendezvous). Default: Open MPI's btl_tcp_eager_limit",
    ),
    optional(
        "memory_eager_limit",
        Kind::Size,
        "4 KiB",
        "The same within a host. Default: Open MPI's btl_sm_eager_limit",
    ),
    optional(
        "two_copy_limit",
        Kind::Size,
        "0 B",
        "Longest message between hosts that both processes copy, through MPI's own memory (two-copy); NICs read \
         and write the program's memory for longer ones (zero-copy)",
    ),
    optional(
        "copy_rate",
        Kind::Bandwidth,
        "infinite",
        "Rate at which MPI copies between the program's memory and its own: two-copy messages at both ends, \
         buffered sends, and eager messages that came before their receive",
    ),
    optional(
        "call_overhead",
        Kind::Time,
        "0 ns",
        "Time of the process for each MPI call, beside that for each message; not for calls of recorded runs that \
         do not communicate",
    ),
    optional(
        "block_overhead",
        Kind::Time,
        "0 ns",
        "Time of the process for each block, empty or not, of alltoallv, alltoallw and those of neighbours, whose \
         lengths the library reads before it sends: one block to send and one to receive for each rank. Messages cost \
         their overheads, too",
    ),
    optional(
        "poll",
        Kind::Time,
        "100 ns",
        "Time of the process for a test or probe that finds nothing; above 0",
    ),
    optional(
        "progress",
        Kind::Choice(Progress::NAMES),
        "calls",
        "Times at which a process answers the messages of a rendezvous and goes on with non-blocking collectives: in calls \
         that wait, test or probe, or at any time (a progress thread, or a network interface that does it). \
         Default: as MPICH, Open MPI and Intel MPI are without being told otherwise",
    ),
    optional(
        "unmeasured",
        Kind::Text,
        "",
        "A sentence about the costs of MPI that nobody has measured on this machine: every run warns with it",
    ),
    optional(
        "reduce_rate",
        Kind::Bandwidth,
        "infinite",
        "Rate at which a process combines operands in a reduction, bytes of one operand per second",
    ),
    optional("segment", Kind::Size, "8 KiB", "Segment of the pipelined algorithms of collectives"),
];

const REGIMES: &[Parameter] = &[
    required("name", Kind::Text, "For reports: short, eager, rendezvous"),
    optional("up_to", Kind::Size, "", "Longest message of the regime; the last regime has none"),
    optional("send_overhead", Kind::Time, "0 ns", "Time of the sending process for each message"),
    optional("receive_overhead", Kind::Time, "0 ns", "Time of the receiving process for each message"),
    optional("latency", Kind::Time, "0 ns", "Added to the latency of the path, on no process"),
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

const COMPUTE_NAMES: [&str; COMPUTE_MODELS.len()] = names(COMPUTE_MODELS);

const COMPUTE: &[Parameter] = &[
    optional(
        "model",
        Kind::Choice(&COMPUTE_NAMES),
        COMPUTE_NAMES[0],
        "How long work takes on a process by itself, with the parameters of the section of that name",
    ),
    required("flop_rate", Kind::FlopRate, "Rate of one process"),
    optional(
        "memory_bandwidth",
        Kind::Bandwidth,
        "infinite",
        "The most that one process moves, for compute work that states the bytes it moves",
    ),
    optional(
        "socket_memory_bandwidth",
        Kind::Bandwidth,
        "infinite",
        "Bandwidth of the memory of a socket, shared by those of its processes that compute at the same time and state the bytes \
         that they move. Default: they do not slow each other",
    ),
];

const HOSTS: &[Parameter] = &[
    optional(
        "names",
        Kind::Text,
        "",
        "Names of the hosts in order of their numbers, with ranges in braces: \"dahu-{1..32}\"",
    ),
    optional(
        "map",
        Kind::File,
        "",
        "A file of lines \"name number\" or \"name coordinates… slot\", ranges in braces as in names; instead of \
         names",
    ),
];

/// All sections; a section precedes its subsections.
pub fn sections() -> &'static [Section] {
    static SECTIONS: OnceLock<Vec<Section>> = OnceLock::new();
    SECTIONS.get_or_init(|| {
        let keys = |name: &str, keys, summary| {
            let content = Content::Keys(keys);
            Section { name: name.to_string(), summary, content }
        };
        let model = |name: &str, choices, default, summary| {
            let content = Content::Model { choices, default };
            Section { name: name.to_string(), summary, content }
        };
        let regimes = "Costs of a message, by its size. Default: one regime without costs";
        let caches = "Messages within a host of up to these sizes, such as those that fit into a cache; longer ones \
                      go by host.memory. Default: none";
        let kernels = "Functions of compiled programs whose time a formula gives. Default: none";
        let planned = "Failures at given times. Default: none";
        let mut sections = vec![
            keys("", TOP, "Name and origin of the platform"),
            model("topology", choices(TOPOLOGIES), None, "Hosts, routers and links"),
            model(
                "routing",
                choices(ROUTINGS),
                Some(""),
                "The way through them. Default: what suits the topology",
            ),
            keys("link", LINK, "Links between routers"),
            keys("router", ROUTER, "Routers, as the packet model simulates them"),
            keys("transport", transport_keys(), "Transport of messages in packets, as the packet model simulates it"),
            keys("host", HOST, "Properties of every host"),
            keys("host.memory", MEMORY, "Messages between the processes of a host"),
            Section {
                content: Content::Repeated(MEMORY_REGIMES),
                ..keys("host.memory.regimes", MEMORY_REGIMES, caches)
            },
            keys("nic", NIC, "Between a host and its router"),
            keys("network", network_keys(), "The network model"),
            keys("mpi", MPI, "The MPI library"),
            keys("mpi.collectives", collective_keys(), "Algorithms that replace the library's choice"),
            Section { content: Content::Repeated(REGIMES), ..keys("mpi.regimes", REGIMES, regimes) },
            keys("compute", COMPUTE, "The processor of one process"),
            Section { content: Content::Repeated(KERNELS), ..keys("compute.kernels", KERNELS, kernels) },
            keys("filesystem", FILE_SYSTEM, "File system under all files. Default: no access takes time"),
            model("placement", choices(PLACEMENTS), Some("linear"), "Rule that gives each rank its host and slot"),
            keys("statistics", STATISTICS, "Traffic that is kept over time, for the report"),
            keys(
                "faults",
                FAULTS,
                "Links and routers that fail and return, as the packet model simulates it",
            ),
            Section { content: Content::Repeated(PLANNED), ..keys("faults.planned", PLANNED, planned) },
            keys("hosts", HOSTS, "Names of the hosts in recorded runs"),
        ];
        let own = |above: &str, entry: Choice| {
            keys(&format!("{above}.{}", entry.name), entry.parameters, entry.summary)
        };
        sections.extend(choices(MODELS).into_iter().map(|entry| own("network", entry)));
        sections.extend(choices(COMPUTE_MODELS).into_iter().map(|entry| own("compute", entry)));
        sections
    })
}

/// Sections directly below `name`, as keys.
pub fn below(name: &str) -> Vec<&'static str> {
    let inside = |section: &'static Section| match name {
        "" => Some(&section.name[..]).filter(|name| !name.is_empty() && !name.contains('.')),
        _ => section.name.strip_prefix(name)?.strip_prefix('.'),
    };
    sections().iter().filter_map(inside).collect()
}

/// Section called `name`.
pub fn section(name: &str) -> &'static Section {
    sections().iter().find(|section| section.name == name).expect("only declared sections are asked for")
}

/// Keys for all collectives, whose choices are their algorithms. Called once.
fn collective_keys() -> &'static [Parameter] {
    let key = |kind: Collective| {
        let fitting =
            ALGORITHMS.iter().filter(|entry| entry.build.kinds.contains(&kind)).map(|entry| entry.name);
        let fitting: &'static [&'static str] = fitting.collect::<Vec<_>>().leak();
        optional(kind.name(), Kind::Choice(fitting), "", "The algorithm, whatever the library would choose")
    };
    Collective::all().map(key).collect::<Vec<_>>().leak()
}

/// Key `model`, whose choices are the network models. Called once.
fn network_keys() -> &'static [Parameter] {
    let models: &'static [&'static str] = MODELS.iter().map(|entry| entry.name).collect::<Vec<_>>().leak();
    let default = if models.contains(&"flow") { "flow" } else { "" };
    vec![optional("model", Kind::Choice(models), default, "The model, unless `--model` names another")].leak()
}
