//! Format of messages in packets: how many, and how long each is on the wire.

use engine::Bytes;

use super::index::PacketNumber;
use super::messages::Slot;
use super::options::PacketOptions;
use super::reliability::Reliability;
use super::size::WireSize;
use super::transfers::{RdmaOp, Role};
use super::transport::Transport;
use crate::message::Message;

/// Packets of a platform, and what messages travel by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    pub options: PacketOptions,
    /// Transport, where something answers packets.
    pub transport: Option<Transport>,
}

impl Format {
    /// Transport by which all messages go.
    pub fn transport(&self) -> &Transport {
        self.transport.as_ref().expect("messages go by transfers")
    }

    /// Treatment of lost packets.
    pub fn reliability(&self) -> Reliability {
        self.transport.map_or(Reliability::LOSSLESS, |transport| transport.reliability)
    }

    /// A packet of this role with `payload` on the wire.
    pub fn wire_of(&self, role: Role, payload: Bytes) -> WireSize {
        let bytes = match role {
            Role::Plain | Role::Request(RdmaOp::Put) => self.options.wire(payload),
            Role::Request(RdmaOp::ReadyToGet | RdmaOp::GetDone) => self.options.wire(Bytes(0)),
            Role::Request(RdmaOp::Get) => self.transport().get_request,
            Role::Response(RdmaOp::Get) => self.options.flits(self.transport().get_header + payload),
            Role::Response(_) => self.transport().put_response,
            Role::Receiving(_) => panic!("a transfer that is being received sends nothing"),
        };
        WireSize(bytes.0 as u32)
    }

    /// The next packet of `slot` on the wire.
    pub fn next_size(&self, slot: &Slot) -> WireSize {
        self.wire_of(slot.transfer.role, slot.left.min(self.options.payload))
    }

    /// Packet `number` of `slot` on the wire.
    pub fn size_of(&self, slot: &Slot, number: PacketNumber) -> WireSize {
        self.wire_of(slot.transfer.role, self.payload_of(&slot.message, number))
    }

    /// The payload of packet `number` of `message`.
    #[inline]
    pub fn payload_of(&self, message: &Message, number: PacketNumber) -> Bytes {
        self.options.payload_of(message.size, u64::from(number.0))
    }

    /// Bytes of the message that packet `number` of `slot` carries.
    pub fn carried_by(&self, slot: &Slot, number: PacketNumber) -> Bytes {
        slot.carried(self.payload_of(&slot.message, number))
    }

    /// Number of transactions of a transfer of `message`.
    pub fn transactions(&self, op: RdmaOp, message: &Message) -> u64 {
        match op {
            RdmaOp::Put | RdmaOp::Get => self.options.packets(message.size),
            RdmaOp::ReadyToGet | RdmaOp::GetDone => 1,
        }
    }
}
