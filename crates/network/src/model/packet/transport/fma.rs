//! Fast Memory Access of Cray's Gemini: transactions of up to 64 B, PUT or GET by the message's size, each answered.
//!
//! ```text
//! PUT         source -- data: 64 B as 96 B --> destination       destination -- response: 9 B --> source
//! GET         destination -- request: 24 B --> source            source -- data: 64 B as 81 B --> destination
//! ```
//!
//! Gemini's phits are 24 bits: a PUT is 32 of them and its response 3, a GET 8 and its response 27.
//!
//! Source: Ahmed et al., "An Integrated Interconnection Network Model for Large-Scale Performance
//! Prediction" (SIGSIM-PADS 2016), section 5: sizes, and when Cray's MPI puts and gets.

use engine::Bytes;
use engine::registry::{Arguments, BuildError, Entry, Parameter};

use super::{Build, PacketOptions, Reliability, Transport, of, size};

const SOURCE: &str = "Ahmed et al. 2016";
const PARAMETERS: &[Parameter] = &[
    size("payload", "64 B", "fma: the most data of a transaction"),
    size("put_request", "96 B", "fma: of a PUT with full payload, on the wire"),
    size("put_response", "9 B", "fma: of its response, on the wire"),
    size("get_request", "24 B", "fma: of a GET, on the wire"),
    size("get_response", "81 B", "fma: of its response with full payload, on the wire"),
];
const BY_SIZE: &[Parameter] = &[
    PARAMETERS[0],
    PARAMETERS[1],
    PARAMETERS[2],
    PARAMETERS[3],
    PARAMETERS[4],
    size("get_above", "4 KiB", "fma: longer messages are got, if not longer than get_up_to; others are put"),
    size("get_up_to", "256 KiB", "fma: the longest message that is got"),
];

const fn entry(
    name: &'static str,
    summary: &'static str,
    parameters: &'static [Parameter],
    make: fn(&Arguments, &PacketOptions, Reliability, bool) -> Option<Transport>,
) -> Entry<Build> {
    Entry {
        name,
        summary,
        source: SOURCE,
        parameters,
        examples: &[""],
        build: Build { packet, answer, make },
    }
}

/// The registry's line.
pub(super) const FMA: Entry<Build> = entry(
    "fma",
    "transactions of Cray's Fast Memory Access, PUT or GET by the message's size",
    BY_SIZE,
    |arguments, options, reliability, _| {
        let above = of(arguments, "get_above", 4 << 10);
        let got = Got { above, up_to: of(arguments, "get_up_to", 256 << 10) };
        Some(make(arguments, options, reliability, got))
    },
);
/// The registry's line of PUTs alone.
pub(super) const PUT: Entry<Build> =
    entry("fma-put", "as fma, and every message is put", PARAMETERS, |arguments, options, reliability, _| {
        Some(make(arguments, options, reliability, Got::NONE))
    });
/// The registry's line of GETs alone.
pub(super) const GET: Entry<Build> =
    entry("fma-get", "as fma, and every message is got", PARAMETERS, |arguments, options, reliability, _| {
        Some(make(arguments, options, reliability, Got::ALL))
    });

/// Sizes of the messages that are got; others are put.
struct Got {
    /// Size above which messages are got.
    above: Bytes,
    /// Largest size that is got.
    up_to: Bytes,
}

impl Got {
    const NONE: Got = Got { above: Bytes(u64::MAX), up_to: Bytes(u64::MAX) };
    /// All that have data.
    const ALL: Got = Got { above: Bytes(0), up_to: Bytes(u64::MAX) };
}

fn packet(arguments: &Arguments) -> Result<Option<(Bytes, Bytes)>, BuildError> {
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

fn answer(arguments: &Arguments) -> Bytes {
    let requests = of(arguments, "put_response", 9).max(of(arguments, "get_request", 24));
    requests.max(of(arguments, "get_response", 81))
}

fn make(arguments: &Arguments, options: &PacketOptions, reliability: Reliability, got: Got) -> Transport {
    Transport {
        get_above: got.above,
        get_up_to: got.up_to,
        put_response: options.flits(of(arguments, "put_response", 9)),
        get_request: options.flits(of(arguments, "get_request", 24)),
        get_header: Bytes(of(arguments, "get_response", 81).0 - options.payload.0),
        reliability,
    }
}
