//! Numbers of what the packet model keeps, each with a type of its own.

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(super) struct $name(pub u32);
    };
}

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        number! { $(#[$doc])* $name }

        impl $name {
            /// The number as an index of a slice.
            #[inline]
            pub fn at(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index! {
    /// Slot of a message, see [`super::messages::Messages`].
    MessageIndex
}

number! {
    /// Number of a message among those of its host, or of a transfer among those between two hosts.
    MessageNumber
}

index! {
    /// Packet on its way, see [`super::packets::Packets`].
    PacketIndex
}

index! {
    /// Number of a packet within its message, or of a transaction within its transfer.
    PacketNumber
}

index! {
    /// Process at a NIC, or a NIC that sends by itself, see [`super::host_interface::Senders`].
    SenderIndex
}

index! {
    /// NIC among those of all hosts.
    NicIndex
}

index! {
    /// Virtual channel of a link, `link · channels + channel`.
    ChannelIndex
}

index! {
    /// Place of a channel among the paths, see [`super::routes::Paths`].
    PathIndex
}

number! {
    /// Course of a packet: what it has decided on its way, in the routing's own numbers.
    Course
}

number! {
    /// Part of a network that is cut.
    PartIndex
}

impl From<SenderIndex> for u32 {
    #[inline]
    fn from(sender: SenderIndex) -> u32 {
        sender.0
    }
}

impl MessageIndex {
    /// No message.
    pub const NONE: MessageIndex = MessageIndex(super::NONE);
}

impl MessageNumber {
    /// The number behind; after the last, 0.
    #[must_use]
    pub fn next(self) -> MessageNumber {
        MessageNumber(self.0.wrapping_add(1))
    }
}

impl PacketIndex {
    /// No packet.
    pub const NONE: PacketIndex = PacketIndex(super::NONE);
}

impl PathIndex {
    /// No path.
    pub const NONE: PathIndex = PathIndex(super::NONE);

    /// The place behind.
    #[inline]
    #[must_use]
    pub fn next(self) -> PathIndex {
        PathIndex(self.0 + 1)
    }
}
