//! Packets: a message goes in as many as it needs.
//!
//! ```text
//! packets     data (payload + header)           nothing answers, unless packets get lost or congestion is controlled
//! reliable    data (payload + header)           destination -- acknowledgement --> source, for each packet
//! ```
//!
//! What is not acknowledged within the timeout is sent again. With acknowledgements a message is sent when the last one is
//! back.
//!
//! Source: Miwa et al., "NSIM" (IEICE Trans. Inf. & Syst. E94-D(12), 2011), 3.1; InfiniBand Architecture Specification 1.5,
//! volume 1, chapter 9.7 (reliable connection).

use engine::Bytes;
use engine::registry::{Arguments, Entry, Kind, Parameter};

use super::{Build, PacketOptions, Reliability, Transport, of};

const PARAMETERS: &[Parameter] = &[Parameter {
    name: "acknowledgement",
    kind: Kind::Size,
    default: Some(""),
    summary: "packets, reliable: of an acknowledgement on the wire. Default: a packet without payload",
}];

/// The registry's line of packets that are only answered where that is needed.
pub(super) const PLAIN: Entry<Build> = Entry {
    name: "packets",
    summary: "as many packets as a message needs, not answered unless some get lost or congestion is controlled",
    source: "Miwa et al., NSIM, 2011",
    parameters: PARAMETERS,
    examples: &["", "acknowledgement = \"64 B\""],
    build: Build {
        packet: |_| Ok(None),
        answer,
        make: |arguments, options, reliability, answers| {
            (answers || reliability.is_lossy()).then(|| make(arguments, options, reliability))
        },
    },
};

/// The registry's line of packets that are always answered.
pub(super) const RELIABLE: Entry<Build> = Entry {
    name: "reliable",
    summary: "as packets, and each is acknowledged",
    source: "InfiniBand Architecture Specification 1.5, 9.7",
    parameters: PARAMETERS,
    examples: &["", "acknowledgement = \"64 B\""],
    build: Build {
        packet: |_| Ok(None),
        answer,
        make: |arguments, options, reliability, _| Some(make(arguments, options, reliability)),
    },
};

fn answer(arguments: &Arguments) -> Bytes {
    of(arguments, "acknowledgement", 0)
}

fn make(arguments: &Arguments, options: &PacketOptions, reliability: Reliability) -> Transport {
    let acknowledgement = arguments.size("acknowledgement").unwrap_or(options.header);
    let never = Bytes(u64::MAX);
    Transport {
        get_above: never,
        get_up_to: never,
        put_response: options.flits(acknowledgement),
        get_request: Bytes(1),
        get_header: Bytes(0),
        reliability,
    }
}
