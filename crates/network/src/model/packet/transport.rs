//! How messages travel in packets: one after the other, or as transactions that are answered.
//!
//! ```text
//! packets     data (payload + header)                            only where packets get lost: acknowledgement
//! PUT         source -- data: 64 B as 96 B --> destination       destination -- response: 9 B --> source
//! GET         destination -- request: 24 B --> source            source -- data: 64 B as 81 B --> destination
//! ```
//!
//! A message is delivered with its last data packet. One that is put is sent when its last response is
//! back. Of one that is to be got, its source tells its destination by a PUT without data, which the
//! destination answers; the destination asks for all data at once, and tells the source by another PUT
//! without data when it has it, if the source wants to know: then it is sent. Gemini's phits are 24 bits:
//! a PUT is 32 of them and its response 3, a GET 8 and its response 27.
//!
//! Assumes that a NIC answers at once, in the order in which it is asked, and has any number of
//! transactions open. Responses share links, virtual channels and credits with requests and cannot block
//! them: a host takes in whatever comes and keeps what it has to answer in memory of its own, so that no
//! channel to a host ever waits for one from a host, and the channels between them are those of the
//! routing, without cycles (Dally and Towles, 14.1.4).
//!
//! Source: Ahmed et al., "An Integrated Interconnection Network Model for Large-Scale Performance
//! Prediction" (SIGSIM-PADS 2016), section 5: sizes, and when Cray's MPI puts and gets.

use engine::registry::{Arguments, BuildError, Kind, Parameter};
use engine::{Bytes, Duration};

use super::options::PacketOptions;
use super::reliability::Reliability;

/// How messages travel in packets.
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
    /// What the answer to a GET carries besides its payload.
    pub get_header: Bytes,
    /// What is done about lost packets.
    pub reliability: Reliability,
}

const fn size(name: &'static str, default: &'static str, summary: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Size, default: Some(default), summary }
}

/// Of `[transport]`.
pub const TRANSPORT: &[Parameter] = &[
    Parameter {
        name: "protocol",
        kind: Kind::Choice(&["packets", "fma", "fma-put", "fma-get"]),
        default: Some("packets"),
        summary: "packets: as many as a message needs, not answered unless some get lost; fma: transactions of Cray's \
                  Fast Memory Access, PUT or GET by the message's size; fma-put, fma-get: always that",
    },
    size("payload", "64 B", "fma: the most data of a transaction"),
    size("put_request", "96 B", "fma: of a PUT with full payload, on the wire"),
    size("put_response", "9 B", "fma: of its response, on the wire"),
    size("get_request", "24 B", "fma: of a GET, on the wire"),
    size("get_response", "81 B", "fma: of its response with full payload, on the wire"),
    size("get_above", "4 KiB", "fma: longer messages are got, if not longer than get_up_to; others are put"),
    size("get_up_to", "256 KiB", "fma: the longest message that is got"),
    size(
        "acknowledgement",
        "",
        "packets: of an acknowledgement on the wire. Default: a packet without payload",
    ),
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

/// Payload and bytes on the wire of a PUT with full payload, where `arguments` ask for transactions.
pub(super) fn put_packet(arguments: &Arguments) -> Result<Option<(Bytes, Bytes)>, BuildError> {
    if !is_fma(arguments) {
        return Ok(None);
    }
    let (payload, wire) = (of(arguments, "payload", 64), of(arguments, "put_request", 96));
    if payload.0 == 0 {
        return Err(BuildError::new("payload", "0 B: a transaction carries at least 1 B"));
    }
    for (name, wire) in [("put_request", wire), ("get_response", of(arguments, "get_response", 81))] {
        if wire < payload {
            let reason = format!("{wire} on the wire cannot hold a payload of {payload}");
            return Err(BuildError::new(name, reason));
        }
    }
    Ok(Some((payload, wire)))
}

/// The longest answer on the wire that `arguments` ask for.
pub(super) fn longest_response(arguments: &Arguments, options: &PacketOptions) -> Bytes {
    let get = if is_fma(arguments) { of(arguments, "get_response", 81) } else { Bytes(0) };
    let requests = of(arguments, "put_response", 9).max(of(arguments, "get_request", 24));
    let put = if is_fma(arguments) { requests } else { of(arguments, "acknowledgement", 0) };
    options.flits(get.max(put))
}

fn is_fma(arguments: &Arguments) -> bool {
    arguments.text("protocol").is_some_and(|protocol| protocol.starts_with("fma"))
}

fn of(arguments: &Arguments, name: &str, default: u64) -> Bytes {
    arguments.size(name).unwrap_or(Bytes(default))
}

impl Transport {
    /// Of the arguments of `[transport]`; `None` if nothing answers packets, and nothing needs to: packets are
    /// lost neither by themselves nor by `faults`.
    pub fn read(
        arguments: &Arguments,
        options: &PacketOptions,
        faults: bool,
    ) -> Result<Option<Transport>, BuildError> {
        let reliability = Reliability::read(arguments)?;
        let never = (Bytes(u64::MAX), Bytes(u64::MAX));
        let (get_above, get_up_to) = match arguments.text("protocol").as_deref() {
            Some("fma") => (of(arguments, "get_above", 4 << 10), of(arguments, "get_up_to", 256 << 10)),
            Some("fma-get") => (Bytes(0), Bytes(u64::MAX)),
            _ => never,
        };
        if is_fma(arguments) {
            return Ok(Some(Transport {
                get_above,
                get_up_to,
                put_response: options.flits(of(arguments, "put_response", 9)),
                get_request: options.flits(of(arguments, "get_request", 24)),
                get_header: Bytes(of(arguments, "get_response", 81).0 - options.payload.0),
                reliability,
            }));
        }
        if !reliability.is_lossy() && !faults {
            return Ok(None);
        }
        let acknowledgement = arguments.size("acknowledgement").unwrap_or(options.header);
        let put_response = options.flits(acknowledgement);
        let (get_request, get_header) = (Bytes(1), Bytes(0));
        Ok(Some(Transport { get_above, get_up_to, put_response, get_request, get_header, reliability }))
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

    /// How long a message of `size` that is got takes alone, from when its source begins, over links of
    /// `on_link` for so many bytes, with `there` and `back` the latencies of the ways.
    pub(super) fn time_to_get(
        &self,
        options: &PacketOptions,
        size: Bytes,
        (there, back): (Duration, Duration),
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
