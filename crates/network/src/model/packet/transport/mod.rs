//! Transports of messages in packets: one after the other, or as transactions that are answered.
//!
//! A message is delivered with its last data packet. One that is put is sent when its last response is
//! back. Of one that is to be got, its source tells its destination by a PUT without data, which the
//! destination answers; the destination asks for all data at once, and tells the source by another PUT
//! without data when it has it, if the source wants to know: then it is sent.
//!
//! Assumes that a NIC answers at once, in the order in which it is asked, and has any number of
//! transactions open. Responses share links, virtual channels and credits with requests and cannot block
//! them: a host takes in whatever comes and keeps what it has to answer in memory of its own, so that no
//! channel to a host ever waits for one from a host, and the channels between them are those of the
//! routing, without cycles (Dally and Towles, 14.1.4).
//!
//! Adding one is a file here and a line in [`TRANSPORTS`].

mod fma;
mod packets;

use std::sync::OnceLock;

use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter, find, names};
use engine::{Bytes, Duration};

use super::options::PacketOptions;
use super::reliability::Reliability;
use crate::congestion::{CONGESTION_CONTROLS, Control};
use crate::{HostParameters, NicOrder};

/// Transport of messages in packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transport {
    /// Longer messages are got,
    pub get_above: Bytes,
    /// up to this size; others are put.
    pub get_up_to: Bytes,
    /// The answer to a PUT on the wire.
    pub put_response: Bytes,
    /// The request of a GET on the wire.
    pub get_request: Bytes,
    /// Header of the answer to a GET.
    pub get_header: Bytes,
    /// Treatment of lost packets.
    pub reliability: Reliability,
}

const fn size(name: &'static str, default: &'static str, summary: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Size, default: Some(default), summary }
}

/// Payload and bytes on the wire of a full data packet.
pub type FullPacket = (Bytes, Bytes);

/// Constructor of a transport.
#[derive(Clone, Copy)]
pub struct Build {
    /// Size of a full data packet, where the transport says that and not `[link]`.
    pub packet: fn(&Arguments) -> Result<Option<FullPacket>, BuildError>,
    /// The longest answer on the wire.
    pub answer: fn(&Arguments) -> Bytes,
    /// Makes it; nothing if nothing answers packets. The last argument says that something must.
    pub make: fn(&Arguments, &PacketOptions, Reliability, bool) -> Option<Transport>,
}

/// Every transport that `[transport] protocol` can name.
pub const TRANSPORTS: &[Entry<Build>] = &[packets::PLAIN, packets::RELIABLE, fma::FMA, fma::PUT, fma::GET];

const NAMES: [&str; TRANSPORTS.len()] = names(TRANSPORTS);
const CONTROLS: [&str; CONGESTION_CONTROLS.len()] = names(CONGESTION_CONTROLS);

/// Parameters of `[transport]`, whichever is chosen.
const SHARED: &[Parameter] = &[
    Parameter {
        name: "protocol",
        kind: Kind::Choice(&NAMES),
        default: Some("packets"),
        summary: "How messages travel: see the pages of the transports",
    },
    Parameter {
        name: "congestion",
        kind: Kind::Choice(&CONTROLS),
        default: Some("none"),
        summary: "packets, reliable, fma-put: how connections react to congestion; see the pages of the controls",
    },
    Parameter {
        name: "loss",
        kind: Kind::Number(0.0, 0.5),
        default: Some("0.0"),
        summary: "Probability that a packet is lost on a link [0..0.5]. Above 0, packets are acknowledged and resent",
    },
    Parameter {
        name: "timeout",
        kind: Kind::Time,
        default: Some("100 us"),
        summary: "From when a packet has left its NIC until it is sent again, if nothing has answered it",
    },
    Parameter {
        name: "backoff",
        kind: Kind::Choice(&["exponential", "fixed"]),
        default: Some("exponential"),
        summary: "Whether the timeout of a packet doubles with each time it is sent, up to 64 times, or stays",
    },
];

/// Every key of `[transport]`: those of all, of each transport and of each congestion control.
pub fn transport_keys() -> &'static [Parameter] {
    static KEYS: OnceLock<Vec<Parameter>> = OnceLock::new();
    KEYS.get_or_init(all_keys)
}

fn all_keys() -> Vec<Parameter> {
    let transports = TRANSPORTS.iter().flat_map(|entry| entry.parameters);
    let controls = CONGESTION_CONTROLS.iter().flat_map(|entry| entry.parameters);
    let mut keys: Vec<Parameter> = Vec::new();
    for parameter in SHARED.iter().chain(transports).chain(controls) {
        if keys.iter().all(|known| known.name != parameter.name) {
            keys.push(*parameter);
        }
    }
    keys
}

/// The transport that the arguments name.
fn entry(arguments: &Arguments) -> Result<&'static Entry<Build>, BuildError> {
    let name = arguments.text("protocol").unwrap_or_else(|| packets::PLAIN.name.to_string());
    find(TRANSPORTS, "transport", &name).map_err(|reason| BuildError::new("protocol", reason))
}

/// Payload and bytes on the wire of a full data packet, where the transport says that.
pub(super) fn data_packet(arguments: &Arguments) -> Result<Option<(Bytes, Bytes)>, BuildError> {
    (entry(arguments)?.build.packet)(arguments)
}

/// The longest answer on the wire that `arguments` ask for.
pub(super) fn longest_response(arguments: &Arguments, options: &PacketOptions) -> Result<Bytes, BuildError> {
    Ok(options.flits((entry(arguments)?.build.answer)(arguments)))
}

/// Maker of the controllers of connections, and the queue above which routers mark, if congestion is controlled.
pub(super) fn congestion(
    arguments: &Arguments,
    options: &PacketOptions,
    hosts: &HostParameters,
) -> Result<Option<(Control, Bytes)>, BuildError> {
    let Some(name) = arguments.text("congestion") else { return Ok(None) };
    let wrong = |reason: String| BuildError::new("congestion", reason);
    let entry = find(CONGESTION_CONTROLS, "congestion control", &name).map_err(wrong)?;
    let Some(control) = (entry.build)(arguments, options.longest())? else { return Ok(None) };
    let protocol = self::entry(arguments)?.name;
    if [fma::FMA.name, fma::GET.name].contains(&protocol) {
        let reason = format!(
            "{name} controls what a sender puts, and {protocol} gets; known: packets, reliable, fma-put"
        );
        return Err(wrong(reason));
    }
    if hosts.nics.order == Some(NicOrder::InTurn) {
        let reason = format!("{name} controls connections, which share a NIC; write nic.order = \"shared\"");
        return Err(wrong(reason));
    }
    Ok(Some((control, arguments.size("marking_threshold").unwrap_or(Bytes(u64::MAX)))))
}

fn of(arguments: &Arguments, name: &str, default: u64) -> Bytes {
    arguments.size(name).unwrap_or(Bytes(default))
}

/// Latencies of the ways from a message's source to its destination, and back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Latencies {
    pub there: Duration,
    pub back: Duration,
}

impl Transport {
    /// Reads the arguments of `[transport]`; `None` if nothing answers packets. `answers` says that something must, be it for
    /// faults or for the control of congestion.
    pub fn read(
        arguments: &Arguments,
        options: &PacketOptions,
        answers: bool,
    ) -> Result<Option<Transport>, BuildError> {
        let reliability = Reliability::read(arguments)?;
        Ok((entry(arguments)?.build.make)(arguments, options, reliability, answers))
    }

    /// Is a message of `size` got, not put?
    pub(super) fn gets(&self, size: Bytes) -> bool {
        self.get_above < size && size <= self.get_up_to
    }

    /// The shortest packet on the wire, beside those of `options`.
    pub(super) fn least(&self, options: &PacketOptions) -> Bytes {
        let response = options.flits(Bytes(self.get_header.0 + 1));
        self.put_response.min(self.get_request).min(response).min(options.wire(Bytes(0)))
    }

    /// Time of a message of `size` that is got alone, from when its source begins, over links of
    /// `on_link` for so many bytes, with these latencies of the ways.
    pub(super) fn time_to_get(
        &self,
        options: &PacketOptions,
        size: Bytes,
        Latencies { there, back }: Latencies,
        on_link: &dyn Fn(Bytes) -> Duration,
    ) -> Duration {
        let packets = options.packets(size);
        let data = |number| on_link(options.flits(options.payload_of(size, number) + self.get_header));
        let notice = there + on_link(options.wire(Bytes(0)));
        let request = on_link(self.get_request);
        // Either the data follow the first request without a gap, or the last request is waited for.
        let first = request + data(0) * (packets - 1) + data(packets - 1);
        let last = request * packets + data(packets - 1);
        notice + back + first.max(last) + there
    }
}
