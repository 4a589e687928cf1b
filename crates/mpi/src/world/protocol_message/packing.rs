//! Packing of protocol messages into the network's [`Cargo`]: self-contained, in words.
//!
//! The first five words are the protocol's, the sixth belongs to the attribution of time, and the rest is the critical
//! path up to the hand-over of the message to the network. From the upper bits to the lower ones:
//!
//! ```text
//! word 0   copied 1 | source 31 | upper bit of the kind 1 | dest 31
//! word 1   flag 1   | lower bits of the kind 3 | context 28 | tag 32
//! word 2   high 32  | low 32
//! word 3   word 64
//! word 4   time 64 [ps]
//! word 5   extra 64 [ps]
//! ```
//!
//! | kind | message | flag | context, tag | high | low | word | time | extra |
//! |---|---|---|---|---|---|---|---|---|
//! | 0 | eager | ready mode | envelope's | envelope's number | | data | send's call | |
//! | 1 | request to send | ready mode | envelope's | envelope's number | send | length | send's call | |
//! | 2 | eager of a collective | | communicator, its number | signature | | | round's begin | latest entry |
//! | 3 | request of a collective | | communicator, its number | signature | send | length | round's begin | latest entry |
//! | 4 | clear to send | in a collective | receive | receive's handle | send | arrival of the request | match | waited |
//! | 5 | data | in a collective | | receive's handle | send | data | arrival of the clearance | waited |
//! | 6 | access | by the target | answer's length | envelope's number | access | data | call | |
//! | 7 | access answer | | | | access | | arrival of the access | |
//! | 8 | recall | | request | envelope's number | recalled number | | | |
//! | 9 | recall answer | taken back | request | recalled number | send | data | | |

use engine::{Bytes, Duration, Time};
use network::{CARGO_WORDS, Cargo};

use super::*;
use crate::cause::Path;

/// Handle in the answer to a recall of what is no rendezvous.
const NO_SEND: u32 = u32::MAX;

/// Bits of a communicator's number.
const CONTEXT_BITS: u32 = 28;

/// Start of the path.
const PATH_AT: usize = CARGO_WORDS - crate::cause::ON_PATH;

/// The bit fields of a cargo, by the names of the table above.
#[derive(Default, Clone, Copy)]
struct Fields {
    kind: u64,
    flag: bool,
    copied: bool,
    context: u32,
    tag: u32,
    high: u32,
    low: u32,
    word: u64,
    time: u64,
    extra: u64,
}

impl ProtocolMessage {
    /// The cargo that carries it, with an empty path.
    #[inline]
    pub fn pack(&self, ends: Ends) -> Cargo {
        let Fields { kind, flag, copied, context, tag, high, low, word, time, extra } = self.fields();
        debug_assert!(context < 1 << CONTEXT_BITS && ends.source.0 < 1 << 31 && ends.dest.0 < 1 << 31);
        let mut cargo = [0; CARGO_WORDS];
        cargo[0] = u64::from(copied) << 63
            | u64::from(ends.source.0) << 32
            | kind >> 3 << 31
            | u64::from(ends.dest.0);
        cargo[1] = u64::from(flag) << 63 | (kind & 7) << 60 | u64::from(context) << 32 | u64::from(tag);
        cargo[2] = u64::from(high) << 32 | u64::from(low);
        (cargo[3], cargo[4], cargo[5]) = (word, time, extra);
        cargo
    }

    /// The message that a cargo carries.
    #[inline]
    pub fn unpack(cargo: &Cargo) -> ProtocolMessage {
        ProtocolMessage::of_fields(Fields {
            kind: (cargo[0] >> 31 & 1) << 3 | cargo[1] >> 60 & 7,
            flag: cargo[1] >> 63 == 1,
            copied: cargo[0] >> 63 == 1,
            context: (cargo[1] >> 32) as u32 & ((1 << CONTEXT_BITS) - 1),
            tag: cargo[1] as u32,
            high: (cargo[2] >> 32) as u32,
            low: cargo[2] as u32,
            word: cargo[3],
            time: cargo[4],
            extra: cargo[5],
        })
    }

    #[inline]
    fn fields(&self) -> Fields {
        match *self {
            ProtocolMessage::Eager(Eager { envelope, copied, data }) => {
                Fields { kind: 0, copied, word: data, ..envelope.fields() }
            }
            ProtocolMessage::RequestToSend(RequestToSend { envelope, bytes, send }) => {
                Fields { kind: 1, low: send.0, word: bytes.0, ..envelope.fields() }
            }
            ProtocolMessage::CollectiveEager(round) => Fields { kind: 2, ..round.fields() },
            ProtocolMessage::CollectiveRequestToSend(CollectiveRequestToSend { round, bytes, send }) => {
                Fields { kind: 3, low: send.0, word: bytes.0, ..round.fields() }
            }
            ProtocolMessage::ClearToSend(message) => message.fields(),
            ProtocolMessage::Data(message) => message.fields(),
            ProtocolMessage::Access(message) => message.fields(),
            ProtocolMessage::AccessAnswer(AccessAnswer { access, arrived }) => {
                Fields { kind: 7, low: access.0, time: arrived.0, ..Fields::default() }
            }
            ProtocolMessage::Recall(Recall { request, number, recalled }) => {
                Fields { kind: 8, tag: request.0, high: number.0, low: recalled.0, ..Fields::default() }
            }
            ProtocolMessage::RecallAnswer(message) => message.fields(),
        }
    }

    #[inline]
    fn of_fields(fields: Fields) -> ProtocolMessage {
        let Fields { high, low, word, time, .. } = fields;
        let (bytes, send) = (Bytes(word), SendHandle(low));
        match fields.kind {
            0 => ProtocolMessage::Eager(Eager {
                envelope: EnvelopeHeader::of_fields(&fields),
                copied: fields.copied,
                data: word,
            }),
            1 => {
                let envelope = EnvelopeHeader::of_fields(&fields);
                ProtocolMessage::RequestToSend(RequestToSend { envelope, bytes, send })
            }
            2 => ProtocolMessage::CollectiveEager(RoundHeader::of_fields(&fields)),
            3 => {
                let round = RoundHeader::of_fields(&fields);
                ProtocolMessage::CollectiveRequestToSend(CollectiveRequestToSend { round, bytes, send })
            }
            4 => ProtocolMessage::ClearToSend(ClearToSend::of_fields(&fields)),
            5 => ProtocolMessage::Data(RendezvousData::of_fields(&fields)),
            6 => ProtocolMessage::Access(AccessRequest::of_fields(&fields)),
            7 => {
                ProtocolMessage::AccessAnswer(AccessAnswer { access: AccessHandle(low), arrived: Time(time) })
            }
            8 => ProtocolMessage::Recall(Recall {
                request: Request(fields.tag),
                number: EnvelopeNumber(high),
                recalled: EnvelopeNumber(low),
            }),
            9 => ProtocolMessage::RecallAnswer(RecallAnswer::of_fields(&fields)),
            kind => panic!("a cargo of an unknown kind, {kind}"),
        }
    }
}

impl Waited {
    fn fields(self) -> (bool, u64) {
        match self {
            Waited::Entry(time) => (true, time.0),
            Waited::Stalled(time) => (false, time.0),
        }
    }

    fn of_fields(in_collective: bool, extra: u64) -> Waited {
        if in_collective { Waited::Entry(Time(extra)) } else { Waited::Stalled(Duration(extra)) }
    }
}

impl KnownReceive {
    /// 0 for the call, then requests; the greatest number for what no source knows.
    fn word(self) -> u32 {
        match self {
            KnownReceive::Call => 0,
            KnownReceive::Request(request) => request.0 + 1,
            KnownReceive::Unknown => u32::MAX,
        }
    }

    fn of_word(word: u32) -> KnownReceive {
        match word {
            0 => KnownReceive::Call,
            u32::MAX => KnownReceive::Unknown,
            number => KnownReceive::Request(Request(number - 1)),
        }
    }
}

impl EnvelopeHeader {
    #[inline]
    fn fields(self) -> Fields {
        let EnvelopeHeader { ready, context, tag, number, sent } = self;
        Fields { flag: ready, context: context.0, tag, high: number.0, time: sent.0, ..Fields::default() }
    }

    #[inline]
    fn of_fields(fields: &Fields) -> EnvelopeHeader {
        EnvelopeHeader {
            ready: fields.flag,
            context: CommId(fields.context),
            tag: fields.tag,
            number: EnvelopeNumber(fields.high),
            sent: Time(fields.time),
        }
    }
}

impl RoundHeader {
    #[inline]
    fn fields(self) -> Fields {
        let RoundHeader { context, sequence, signature, sent, latest } = self;
        Fields {
            context: context.0,
            tag: sequence,
            high: signature,
            time: sent.0,
            extra: latest.0,
            ..Fields::default()
        }
    }

    #[inline]
    fn of_fields(fields: &Fields) -> RoundHeader {
        RoundHeader {
            context: CommId(fields.context),
            sequence: fields.tag,
            signature: fields.high,
            sent: Time(fields.time),
            latest: Time(fields.extra),
        }
    }
}

impl ClearToSend {
    #[inline]
    fn fields(self) -> Fields {
        let (flag, extra) = self.waited.fields();
        Fields {
            kind: 4,
            flag,
            tag: self.receive.word(),
            high: self.receive_handle.0,
            low: self.send.0,
            word: self.arrived.0,
            time: self.matched.0,
            extra,
            ..Fields::default()
        }
    }

    #[inline]
    fn of_fields(fields: &Fields) -> ClearToSend {
        ClearToSend {
            receive: KnownReceive::of_word(fields.tag),
            receive_handle: ReceiveHandle(fields.high),
            send: SendHandle(fields.low),
            arrived: Time(fields.word),
            matched: Time(fields.time),
            waited: Waited::of_fields(fields.flag, fields.extra),
        }
    }
}

impl RendezvousData {
    #[inline]
    fn fields(self) -> Fields {
        let (flag, extra) = self.waited.fields();
        Fields {
            kind: 5,
            flag,
            copied: self.copied,
            high: self.receive_handle.0,
            low: self.send.0,
            word: self.data,
            time: self.cleared.0,
            extra,
            ..Fields::default()
        }
    }

    #[inline]
    fn of_fields(fields: &Fields) -> RendezvousData {
        RendezvousData {
            copied: fields.copied,
            receive_handle: ReceiveHandle(fields.high),
            send: SendHandle(fields.low),
            data: fields.word,
            cleared: Time(fields.time),
            waited: Waited::of_fields(fields.flag, fields.extra),
        }
    }
}

impl AccessRequest {
    #[inline]
    fn fields(self) -> Fields {
        Fields {
            kind: 6,
            flag: self.applied == Applied::ByTarget,
            context: (self.answer.0 >> 32) as u32,
            tag: self.answer.0 as u32,
            high: self.number.0,
            low: self.access.0,
            word: self.data,
            time: self.sent.0,
            ..Fields::default()
        }
    }

    #[inline]
    fn of_fields(fields: &Fields) -> AccessRequest {
        AccessRequest {
            applied: if fields.flag { Applied::ByTarget } else { Applied::ByNic },
            answer: Bytes(u64::from(fields.context) << 32 | u64::from(fields.tag)),
            number: EnvelopeNumber(fields.high),
            access: AccessHandle(fields.low),
            data: fields.word,
            sent: Time(fields.time),
        }
    }
}

impl RecallAnswer {
    #[inline]
    fn fields(self) -> Fields {
        let send = self.taken_back.and_then(|message| message.send);
        Fields {
            kind: 9,
            flag: self.taken_back.is_some(),
            tag: self.request.0,
            high: self.recalled.0,
            low: send.map_or(NO_SEND, |send| send.0),
            word: self.taken_back.map_or(0, |message| message.data),
            ..Fields::default()
        }
    }

    #[inline]
    fn of_fields(fields: &Fields) -> RecallAnswer {
        let send = (fields.low != NO_SEND).then_some(SendHandle(fields.low));
        RecallAnswer {
            request: Request(fields.tag),
            recalled: EnvelopeNumber(fields.high),
            taken_back: fields.flag.then_some(TakenBack { send, data: fields.word }),
        }
    }
}

impl Ends {
    /// The ranks that a cargo goes between.
    #[inline]
    pub fn of(cargo: &Cargo) -> Ends {
        let rank = |bits: u64| Rank(bits as u32 & !(1 << 31));
        Ends { source: rank(cargo[0] >> 32), dest: rank(cargo[0]) }
    }
}

/// The critical path that a cargo carries.
#[inline]
pub(crate) fn path_of(cargo: &Cargo) -> Path {
    Path(cargo[PATH_AT..].try_into().expect("a path is the rest"))
}

/// Lets a cargo carry `path`.
#[inline]
pub(crate) fn set_path(cargo: &mut Cargo, path: &Path) {
    cargo[PATH_AT..].copy_from_slice(&path.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: Ends = Ends { source: Rank(0x7FFF_FFFE), dest: Rank(0x7FFF_FFFD) };

    /// A message with the six words that the table gives for it; bits of the ends left out.
    type Example = (ProtocolMessage, [u64; 6]);

    const TOP: u64 = 1 << 63;
    const CONTEXT: CommId = CommId(0xABC_DEF1);
    const SEND: SendHandle = SendHandle(13);
    const BYTES: Bytes = Bytes(12);

    const fn pair(high: u64, low: u64) -> u64 {
        high << 32 | low
    }

    fn envelopes() -> Vec<Example> {
        let envelope = EnvelopeHeader {
            ready: true,
            context: CONTEXT,
            tag: 5,
            number: EnvelopeNumber(6),
            sent: Time(7),
        };
        let round =
            RoundHeader { context: CONTEXT, sequence: 8, signature: 9, sent: Time(10), latest: Time(11) };
        let request = CollectiveRequestToSend { round, bytes: BYTES, send: SEND };
        vec![
            (
                ProtocolMessage::Eager(Eager { envelope, copied: true, data: 3 }),
                [TOP, TOP | pair(0x0ABC_DEF1, 5), pair(6, 0), 3, 7, 0],
            ),
            (
                ProtocolMessage::RequestToSend(RequestToSend { envelope, bytes: BYTES, send: SEND }),
                [0, TOP | pair(0x1ABC_DEF1, 5), pair(6, 13), 12, 7, 0],
            ),
            (ProtocolMessage::CollectiveEager(round), [0, pair(0x2ABC_DEF1, 8), pair(9, 0), 0, 10, 11]),
            (
                ProtocolMessage::CollectiveRequestToSend(request),
                [0, pair(0x3ABC_DEF1, 8), pair(9, 13), 12, 10, 11],
            ),
        ]
    }

    fn handshakes() -> Vec<Example> {
        let clear = |receive| {
            ProtocolMessage::ClearToSend(ClearToSend {
                receive,
                receive_handle: ReceiveHandle(16),
                send: SEND,
                arrived: Time(17),
                matched: Time(18),
                waited: Waited::Entry(Time(19)),
            })
        };
        let words = |tag| [0, TOP | pair(0x4000_0000, tag), pair(16, 13), 17, 18, 19];
        let data = RendezvousData {
            copied: true,
            receive_handle: ReceiveHandle(16),
            send: SEND,
            data: 20,
            cleared: Time(21),
            waited: Waited::Stalled(Duration(22)),
        };
        vec![
            (clear(KnownReceive::Call), words(0)),
            (clear(KnownReceive::Request(Request(14))), words(15)),
            (clear(KnownReceive::Unknown), words(0xFFFF_FFFF)),
            (ProtocolMessage::Data(data), [TOP, pair(0x5000_0000, 0), pair(16, 13), 20, 21, 22]),
        ]
    }

    fn accesses() -> Vec<Example> {
        let access = AccessRequest {
            applied: Applied::ByTarget,
            answer: Bytes(0xFED_CBA9_8765_4321),
            number: EnvelopeNumber(23),
            access: AccessHandle(24),
            data: u64::MAX,
            sent: Time(25),
        };
        let answer = AccessAnswer { access: AccessHandle(24), arrived: Time(30) };
        vec![
            (
                ProtocolMessage::Access(access),
                [0, TOP | pair(0x6FED_CBA9, 0x8765_4321), pair(23, 24), u64::MAX, 25, 0],
            ),
            (ProtocolMessage::AccessAnswer(answer), [0, pair(0x7000_0000, 0), pair(0, 24), 0, 30, 0]),
        ]
    }

    fn recalls() -> Vec<Example> {
        let (request, recalled, upper_kind) = (Request(26), EnvelopeNumber(28), 1 << 31);
        let recall = Recall { request, number: EnvelopeNumber(27), recalled };
        let answer =
            |taken_back| ProtocolMessage::RecallAnswer(RecallAnswer { request, recalled, taken_back });
        let words = |flag, send, data| [upper_kind, flag | pair(0x1000_0000, 26), pair(28, send), data, 0, 0];
        vec![
            (ProtocolMessage::Recall(recall), [upper_kind, pair(0, 26), pair(27, 28), 0, 0, 0]),
            (answer(Some(TakenBack { send: Some(SEND), data: 29 })), words(TOP, 13, 29)),
            (answer(Some(TakenBack { send: None, data: 29 })), words(TOP, 0xFFFF_FFFF, 29)),
            (answer(None), words(0, 0xFFFF_FFFF, 0)),
        ]
    }

    /// At least one message of each kind.
    fn examples() -> impl Iterator<Item = Example> {
        [envelopes(), handshakes(), accesses(), recalls()].into_iter().flatten()
    }

    #[test]
    fn messages_have_the_words_of_the_table() {
        let ends = u64::from(ENDS.source.0) << 32 | u64::from(ENDS.dest.0);
        for (message, mut words) in examples() {
            words[0] |= ends;
            assert_eq!(message.pack(ENDS)[..6], words, "{message:?}");
        }
    }

    #[test]
    fn messages_come_out_as_they_went_in_beside_their_path() {
        for (message, _) in examples() {
            let (mut cargo, path) = (message.pack(ENDS), Path([1, 2, 3, 4, u64::MAX]));
            set_path(&mut cargo, &path);
            assert_eq!((ProtocolMessage::unpack(&cargo), Ends::of(&cargo)), (message, ENDS));
            assert_eq!(path_of(&cargo), path);
        }
    }
}
