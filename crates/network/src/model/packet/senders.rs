//! Senders: processes at NICs, and NICs by themselves. Their numbers follow from their hosts', so that turns
//! do not depend on who came first; most hosts of a large platform may have none that sends.

use std::ops::{Index, IndexMut};

use engine::Time;

use super::NONE;
use super::index::{MessageIndex, PacketIndex, SenderIndex};
use super::waits::Resource;

/// A process that sends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender {
    /// First of its messages.
    front: u32,
    /// Last of its messages.
    back: u32,
    /// The channel that its next packet asks for; `NONE` while that is not ready.
    pub wants: u32,
    /// Bytes of that packet on the wire.
    pub size: u32,
    /// The next request for the same link.
    pub next: u32,
    /// Time at which its path has moved all packets so far to the NIC.
    pub filled_at: Time,
    /// End of the transmission of its last packet.
    pub left_at: Time,
    /// Resource that packets behind that one wait for, which it waited for, or the NIC.
    pub held_by: Resource,
}

impl Sender {
    pub const IDLE: Sender = Sender {
        front: NONE,
        back: NONE,
        wants: NONE,
        size: 0,
        next: NONE,
        filled_at: Time::ZERO,
        left_at: Time::ZERO,
        held_by: Resource::NIC,
    };

    /// True if it has nothing to send.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.front == NONE
    }

    /// First and last message of a process.
    #[inline]
    pub fn messages(&self) -> [MessageIndex; 2] {
        [MessageIndex(self.front), MessageIndex(self.back)]
    }

    /// First and last packet of a NIC that sends by itself.
    #[inline]
    pub fn packets(&self) -> [PacketIndex; 2] {
        [PacketIndex(self.front), PacketIndex(self.back)]
    }

    /// First message of a process.
    #[inline]
    pub fn message(&self) -> MessageIndex {
        MessageIndex(self.front)
    }

    /// Sets the first and last message of a process.
    #[inline]
    pub fn set_messages(&mut self, [front, back]: [MessageIndex; 2]) {
        (self.front, self.back) = (front.0, back.0);
    }

    /// Sets the first and last packet of a NIC that sends by itself.
    #[inline]
    pub fn set_packets(&mut self, [front, back]: [PacketIndex; 2]) {
        (self.front, self.back) = (front.0, back.0);
    }
}

/// All of them, in pages that are there once somebody on them sends.
#[derive(Debug, Default)]
pub(super) struct Senders {
    pages: Vec<Box<[Sender]>>,
}

const PAGE_BITS: u32 = 10;
const PAGE: usize = 1 << PAGE_BITS;

impl Senders {
    /// Places for `count`.
    pub fn new(count: u32) -> Senders {
        let mut pages = Vec::new();
        pages.resize_with((count as usize).div_ceil(PAGE), Box::default);
        Senders { pages }
    }

    /// Those that have sent before, and some others.
    pub fn iter(&self) -> impl Iterator<Item = &Sender> {
        self.pages.iter().flatten()
    }
}

impl Index<SenderIndex> for Senders {
    type Output = Sender;
    /// A sender that has sent before.
    #[inline]
    fn index(&self, number: SenderIndex) -> &Sender {
        &self.pages[(number.0 >> PAGE_BITS) as usize][number.at() % PAGE]
    }
}

impl IndexMut<SenderIndex> for Senders {
    #[inline]
    fn index_mut(&mut self, number: SenderIndex) -> &mut Sender {
        let page = &mut self.pages[(number.0 >> PAGE_BITS) as usize];
        if page.is_empty() {
            open(page);
        }
        &mut page[number.at() % PAGE]
    }
}

/// Somebody on the page is about to send.
#[cold]
#[inline(never)]
fn open(page: &mut Box<[Sender]>) {
    *page = vec![Sender::IDLE; PAGE].into();
}
