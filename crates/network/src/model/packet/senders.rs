//! Senders: processes at NICs, and NICs by themselves. Their numbers follow from their hosts', so that turns
//! do not depend on who came first; most hosts of a large platform may have none that sends.

use std::ops::{Index, IndexMut};

use engine::Time;

use super::NONE;
use super::waits::Resource;

/// A process that sends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender {
    /// First of its messages.
    pub front: u32,
    /// Last of its messages.
    pub back: u32,
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

impl Index<u32> for Senders {
    type Output = Sender;
    /// A sender that has sent before.
    #[inline]
    fn index(&self, number: u32) -> &Sender {
        &self.pages[(number >> PAGE_BITS) as usize][number as usize % PAGE]
    }
}

impl IndexMut<u32> for Senders {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut Sender {
        let page = &mut self.pages[(number >> PAGE_BITS) as usize];
        if page.is_empty() {
            open(page);
        }
        &mut page[number as usize % PAGE]
    }
}

/// Somebody on the page is about to send.
#[cold]
#[inline(never)]
fn open(page: &mut Box<[Sender]>) {
    *page = vec![Sender::IDLE; PAGE].into();
}
