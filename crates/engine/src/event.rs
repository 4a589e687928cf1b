//! Events: their schedulers, their order among those of an instant, and what the layer that scheduled one gets back.

use crate::units::Time;

/// Layer that an event is for; it also separates the owners of the layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// MPI: the owner's index is a rank.
    Rank,
    /// The network: the owner's index is up to the network model (a host, router or link).
    Network,
}

/// Scheduler of an event. Owners order the events of an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner(u32);

impl Owner {
    /// Owner `index` of `lane`; `index` is below 2³¹.
    #[inline]
    pub fn new(lane: Lane, index: u32) -> Owner {
        assert!(index < 1 << 31, "owners are numbered below 2^31");
        Owner(index << 1 | u32::from(lane == Lane::Network))
    }

    /// Index among all owners, of both lanes.
    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// Rank in the order of owners: all ranks come before the network, so that numbers of hosts do not order ranks.
    #[inline]
    fn place(self) -> u32 {
        self.0.rotate_right(1)
    }
}

/// Position of an event among those of the same time.
///
/// ```text
/// bit 63        0                      1
/// then          owner (32 bits)        1 for an answer, else 0 (1 bit)
///               sequence (31 bits)     number of the message (31 bits), sender (31 bits)
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u64);

/// Bits of a number within a key: of a sequence, of a message, or of a sender.
const NUMBER_BITS: u32 = 31;
const NUMBERS: u32 = (1 << NUMBER_BITS) - 1;
const MESSAGE: u64 = 1 << 63;
const ANSWER: u64 = 1 << 62;

impl Key {
    /// Key of an event of `owner`, the one with this sequence number.
    #[inline]
    pub(crate) fn of_owner(owner: Owner, sequence: u32) -> Key {
        Key(u64::from(owner.place()) << NUMBER_BITS | u64::from(sequence & NUMBERS))
    }

    /// Key of a message at its receiver, ordered by `number`, then by `sender` (below 2³¹). Senders number their
    /// messages one by one, so messages are received in the order of their sends, as if each took a moment to send.
    #[inline]
    pub fn of_message(number: u32, sender: u32) -> Key {
        assert!(sender <= NUMBERS, "senders are numbered below 2^31");
        Key(MESSAGE | u64::from(number & NUMBERS) << NUMBER_BITS | u64::from(sender))
    }

    /// Key of the answer by `sender` to message `number` of its receiver. Answers come after all messages, since an
    /// answer may start a long transfer, and in the order of the answered messages, whoever answers.
    pub fn of_answer(number: u32, sender: u32) -> Key {
        Key(Key::of_message(number, sender).0 | ANSWER)
    }

    /// Number of the message with this key.
    #[inline]
    pub fn number(self) -> u32 {
        (self.0 >> NUMBER_BITS) as u32 & NUMBERS
    }

    /// Encodes the key as a word that [`Key::from_word`] reads, for messages between domains.
    pub fn word(self) -> u64 {
        self.0
    }
    /// Decodes the word of [`Key::word`].
    pub fn from_word(word: u64) -> Key {
        Key(word)
    }
}

/// Payload that the scheduling layer gets back when the event is due: 63 bits of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token(u64);

impl Token {
    /// Makes a token of `lane` that carries `payload` (below 2⁶³).
    #[inline]
    pub fn new(lane: Lane, payload: u64) -> Token {
        debug_assert!(payload < 1 << 63);
        Token(payload << 1 | u64::from(lane == Lane::Network))
    }
    /// Layer that the token is for.
    #[inline]
    pub fn lane(self) -> Lane {
        if self.0 & 1 == 0 { Lane::Rank } else { Lane::Network }
    }
    /// Payload that the layer put into it.
    #[inline]
    pub fn payload(self) -> u64 {
        self.0 >> 1
    }
}

/// One due event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Time of the event.
    pub time: Time,
    /// Order among events of the same time.
    pub key: Key,
    /// Token that was scheduled.
    pub token: Token,
}

impl Event {
    /// Time and key as one number, for comparisons.
    #[inline]
    pub(crate) fn order(&self) -> u128 {
        u128::from(self.time.0) << 64 | u128::from(self.key.0)
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    fn cmp(&self, other: &Event) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}
