//! Options of routers and packets.

use engine::registry::{Arguments, BuildError, Kind, Parameter};
use engine::{Bandwidth, Bytes, Duration};

use super::size::WireSize;
use super::transport;
use crate::HostParameters;
use crate::topology::{LinkId, Topology};

/// Order in which an output grants requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arbitration {
    /// The input channels take turns.
    RoundRobin,
    /// The packet whose message was injected first.
    Age,
}

/// Time at which a packet may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switching {
    /// As soon as its head is there, and the next buffer has room for all of it.
    VirtualCutThrough,
    /// As soon as all of it is there.
    StoreAndForward,
}

/// Options of routers and packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketOptions {
    /// The most payload of a packet.
    pub payload: Bytes,
    /// Header of each packet.
    pub header: Bytes,
    /// Packets are whole numbers of these.
    pub flit: Bytes,
    /// Buffer of each virtual channel at a router's input; `None` is without limit.
    pub buffer: Option<Bytes>,
    /// Rate of a router's crossbar from one input to one output; `None`: that of the faster of the two links.
    pub crossbar: Option<Bandwidth>,
    /// Buffer of each virtual channel at a router's output; `None`: an output holds the packet that it transmits, and no
    /// other.
    pub output_buffer: Option<Bytes>,
    /// Time at which a packet may go on.
    pub switching: Switching,
    /// Order in which outputs grant requests.
    pub arbitration: Arbitration,
    /// From a head's arrival at a router until it can leave it, when nothing is in its way.
    pub pipeline: Duration,
}

const fn stage(name: &'static str) -> Parameter {
    let summary = "Stage of a router's pipeline: a part of the latency of the link before it, at most all of it after a host";
    Parameter { name, kind: Kind::Time, default: Some("0 ns"), summary }
}

const fn size(name: &'static str, default: &'static str, summary: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Size, default: Some(default), summary }
}

const STAGES: [&str; 5] =
    ["routing_computation", "vc_allocation", "switch_allocation", "switch_transfer", "switch_latency"];

/// Parameters of `[network.packet]`.
pub(super) const PARAMETERS: &[Parameter] = &[Parameter {
    name: "flow_control",
    kind: Kind::Choice(&["credits", "none"]),
    default: Some("credits"),
    summary: "credits: nothing is sent without room for it; none: buffers without limit",
}];

/// Parameters of `[router]`.
pub const ROUTER: &[Parameter] = &[
    stage("routing_computation"),
    stage("vc_allocation"),
    stage("switch_allocation"),
    stage("switch_transfer"),
    stage("switch_latency"),
    size("flit", "1 B", "Packets are whole numbers of flits"),
    size(
        "buffer",
        "",
        "Of each virtual channel of an input. Default: what keeps every link busy when nothing is in the way, a round \
         trip of credits and two packets; at least four packets",
    ),
    Parameter {
        name: "crossbar_bandwidth",
        kind: Kind::Bandwidth,
        default: Some(""),
        summary: "From one input of the crossbar to one output, each of which passes one packet at a time. Default: that of \
                  the faster of the two links that a packet passes between",
    },
    size(
        "output_buffer",
        "",
        "Of each virtual channel of an output, where packets wait for the link when they have crossed. Default: none, an \
         output holds the packet that it transmits, which crosses when the link is idle",
    ),
    Parameter {
        name: "marking_threshold",
        kind: Kind::Size,
        default: Some(""),
        summary: "A packet that leaves a router is marked if those that go the same way out have more bytes there; for \
                  transport.congestion. Default: none is",
    },
    Parameter {
        name: "arbitration",
        kind: Kind::Choice(&["round-robin", "age"]),
        default: Some("round-robin"),
        summary: "How an output chooses among packets: input channels take turns, or the oldest message first",
    },
    Parameter {
        name: "switching",
        kind: Kind::Choice(&["virtual-cut-through", "store-and-forward"]),
        default: Some("virtual-cut-through"),
        summary: "Whether a packet goes on when its head is there, or all of it",
    },
];

/// No buffer is larger \[bytes\].
const MOST: u64 = (1 << 31) - 1;

/// The latency of a link between routers includes the pipeline of the one at its end.
fn check_pipeline(pipeline: Duration, topology: &dyn Topology) -> Result<(), BuildError> {
    let mut between = (2 * topology.hosts()..topology.links()).map(|id| topology.link(LinkId(id)));
    match between.find(|link| link.is_between_routers() && link.latency < pipeline) {
        None => Ok(()),
        Some(link) => {
            let class = &topology.classes()[usize::from(link.class)];
            let latency = link.latency;
            let reason = format!(
                "the stages of a router take {pipeline}, which is more than the latency of links of class \
                 '{class}', {latency}, that includes them"
            );
            Err(BuildError::new("switch_latency", reason))
        }
    }
}

/// A buffer holds the longest packet, and its size is a number of the switch.
fn check_buffer(name: &'static str, buffer: Bytes, longest: Bytes) -> Result<(), BuildError> {
    if buffer < longest {
        let reason = format!("{buffer} does not hold a packet of {longest}, as cut-through needs");
        return Err(BuildError::new(name, reason));
    }
    if buffer.0 > MOST {
        return Err(BuildError::new(name, format!("{buffer} is not below 2 GiB")));
    }
    Ok(())
}

/// Bytes that the link with the longest loop carries until its first credit is back.
fn round_trip(topology: &dyn Topology) -> Bytes {
    let carried = |id| {
        let link = topology.link(LinkId(id));
        if link.bandwidth == Bandwidth::INFINITE {
            0.0
        } else {
            2.0 * link.latency.seconds() * link.bandwidth.as_f64()
        }
    };
    Bytes((0..topology.links()).map(carried).fold(0.0, f64::max).ceil() as u64)
}

impl PacketOptions {
    /// Reads the arguments of `[network.packet]` and `[router]`, and what `[link]` says of packets: 2 KiB of payload
    /// and no header by default.
    pub fn read(
        arguments: &Arguments,
        hosts: &HostParameters,
        topology: &dyn Topology,
    ) -> Result<PacketOptions, BuildError> {
        let payload = hosts.full_packet();
        let header = Bytes(hosts.packet_wire.0 - hosts.packet_payload.0);
        let put = transport::data_packet(arguments)?;
        let (payload, header) =
            put.map_or((payload, header), |(payload, wire)| (payload, Bytes(wire.0 - payload.0)));
        let flit = arguments.size("flit").unwrap_or(Bytes(1));
        let pipeline = STAGES.iter().filter_map(|stage| arguments.time(stage)).sum();
        check_pipeline(pipeline, topology)?;
        if flit.0 == 0 {
            return Err(BuildError::new("flit", "0 B: a flit has at least 1 B"));
        }
        let mut options = PacketOptions {
            payload,
            header,
            flit,
            buffer: None,
            crossbar: arguments.bandwidth("crossbar_bandwidth"),
            output_buffer: arguments.size("output_buffer"),
            switching: match arguments.text("switching").as_deref() {
                Some("store-and-forward") => Switching::StoreAndForward,
                _ => Switching::VirtualCutThrough,
            },
            arbitration: match arguments.text("arbitration").as_deref() {
                Some("age") => Arbitration::Age,
                _ => Arbitration::RoundRobin,
            },
            pipeline,
        };
        if options.crossbar == Some(Bandwidth(0)) {
            return Err(BuildError::new("crossbar_bandwidth", "0 B/s: nothing would cross"));
        }
        let longest = options.longest().max(transport::longest_response(arguments, &options)?);
        if let Some(buffer) = options.output_buffer {
            check_buffer("output_buffer", buffer, longest)?;
        }
        if arguments.text("flow_control").as_deref() != Some("none") {
            let enough = || Bytes((4 * longest.0).max(2 * longest.0 + round_trip(topology).0).min(MOST));
            let buffer = arguments.size("buffer").unwrap_or_else(enough);
            check_buffer("buffer", buffer, longest)?;
            options.buffer = Some(buffer);
        }
        Ok(options)
    }

    /// The bytes on the wire of a packet with `payload`.
    pub fn wire(&self, payload: Bytes) -> Bytes {
        self.flits(Bytes(self.header.0 + payload.0))
    }

    /// `bytes` in whole flits, at least one.
    pub(super) fn flits(&self, bytes: Bytes) -> Bytes {
        let bytes = bytes.0.max(1);
        if self.flit.0 == 1 { Bytes(bytes) } else { Bytes(bytes.div_ceil(self.flit.0) * self.flit.0) }
    }

    /// The bytes on the wire of a full packet.
    pub fn longest(&self) -> Bytes {
        self.wire(self.payload)
    }

    /// Number of packets of a message of `size`: one for a message without content.
    pub(super) fn packets(&self, size: Bytes) -> u64 {
        size.0.div_ceil(self.payload.0).max(1)
    }

    /// The payload of packet `number` of a message of `size`.
    pub(super) fn payload_of(&self, size: Bytes, number: u64) -> Bytes {
        Bytes((size.0 - number * self.payload.0).min(self.payload.0))
    }

    /// Credit of a channel at first.
    pub(super) fn credit(&self) -> WireSize {
        WireSize(self.buffer.map_or(u32::MAX, |buffer| buffer.0 as u32))
    }
}
