//! Numbers of what the packet model keeps, each with a type of its own.

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(super) struct $name(pub u32);

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

index! {
    /// Packet on its way, see [`super::transit::Packets`].
    PacketIndex
}

index! {
    /// Process at a NIC, or a NIC that sends by itself, see [`super::senders::Senders`].
    SenderIndex
}

index! {
    /// Number of a packet within its message, or of a transaction within its transfer.
    PacketNumber
}

impl MessageIndex {
    /// No message.
    pub const NONE: MessageIndex = MessageIndex(super::NONE);
}

impl PacketIndex {
    /// No packet.
    pub const NONE: PacketIndex = PacketIndex(super::NONE);
}
