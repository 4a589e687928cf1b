//! Waits of packets: what they wait for, and how long.
//!
//! ```text
//! a packet can go on at r, asks for its next link at a ≥ r, and leaves by it at t ≥ a
//! [r, a]    behind others in its queue       what the last of those waited for; else the link that it took
//! [a, t]    for its turn at the link         the link
//!           for room in the buffer behind    what the last packet that has left it waited for; else the link
//! ```
//!
//! Where outputs have buffers, a packet waits twice at a router: to cross, behind others and for the crossbar or for room at
//! its output, and there, behind others that have crossed and for the link or for room behind it. A wait for room at the
//! output is for what the last packet that was sent from there waited for.
//!
//! A packet waits for room if its link has been idle since the last packet that it sent, though packets asked for it, because
//! the buffer behind it was full; or if it takes the last of that room: a faster link would not help then. The cause travels with the credits: each names what the
//! packet waited for that left the buffer, be it a link or room in the next buffer. So a wait at
//! a NIC may be for a link far away, however many full buffers lie between. A packet that waited for nothing returns a
//! credit that names nothing: then the buffer is too small for its link.
//!
//! A message's packets leave its NIC one after the other, and the packet that comes last ends it. Its delay is what its packets
//! waited at the NIC, and the last one after it: nothing else, where all links are as fast. On a path with a slow
//! link packets wait for those of their own message before it, also on an idle network: that is taken off.
//!
//! Source: the tree of full buffers behind a hot spot, whose root all of it waits for, is that of Pfister and Norton, "Hot
//! Spot" Contention and Combining in Multistage Interconnection Networks (IEEE Trans. Computers C-34(10), 1985).

#[cfg(test)]
mod tests;

use engine::Duration;

use super::Packet;
use crate::message::{Delays, MOST_DELAYS, Message, Shared};
use crate::routing::{Trip, Unloaded};
use crate::topology::HOST_CLASSES;

/// Something that packets wait for: NICs, or a class of links between routers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Resource(pub u16);

impl Resource {
    pub const NIC: Resource = Resource(0);
    pub const NOTHING: Resource = Resource(u16::MAX);

    /// Links of a class; links of hosts belong to their NICs.
    pub fn of_class(class: u16) -> Resource {
        if usize::from(class) < HOST_CLASSES.len() { Resource::NIC } else { Resource(class) }
    }

    fn shared(self) -> Shared {
        if self == Resource::NIC { Shared::Nic } else { Shared::Links(self.0) }
    }
}

/// Resources that are told apart in the waits of a message. Paths have more classes of links, but packets rarely wait
/// at more.
const RESOURCES: usize = MOST_DELAYS - 1;
const TIME_SHIFT: u32 = 16;
/// Longest time that is kept: 281 s.
const LONGEST: u64 = u64::MAX >> TIME_SHIFT;

/// Time that packets waited, by resource; the shortest wait for one resource too many is not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Waits([u64; RESOURCES]);

impl Waits {
    /// In words; [`Waits::of_words`] reads them.
    pub fn words(self) -> [u64; RESOURCES] {
        self.0
    }

    pub fn of_words(words: &[u64]) -> Waits {
        Waits(words.try_into().expect("as many words as resources"))
    }

    #[inline]
    pub fn add(&mut self, resource: Resource, time: Duration) {
        // As a bit mask, since the number of words before it cannot be predicted.
        let is_for = |word: u64| u32::from(word as u16 == resource.0) | u32::from(word == 0);
        let mask = (0..).zip(self.0).fold(0, |mask, (place, word)| mask | is_for(word) << place);
        if let Some(word) = self.0.get_mut(mask.trailing_zeros() as usize) {
            let time = (*word >> TIME_SHIFT).saturating_add(time.0).min(LONGEST);
            *word = time << TIME_SHIFT | u64::from(resource.0);
            return;
        }
        self.replace_least(resource, time);
    }

    #[cold]
    fn replace_least(&mut self, resource: Resource, time: Duration) {
        let least = self.0.iter_mut().min_by_key(|word| **word >> TIME_SHIFT).expect("there are some");
        let time = time.0.min(LONGEST);
        if time > *least >> TIME_SHIFT {
            *least = time << TIME_SHIFT | u64::from(resource.0);
        }
    }

    fn all(self) -> [(Resource, Duration); RESOURCES] {
        self.0.map(|word| (Resource(word as u16), Duration(word >> TIME_SHIFT)))
    }

    /// Delays that sum to `contention`, of a message whose path is narrowest at `narrowest`.
    fn delays(self, contention: Duration, is_lossy: bool, narrowest: impl FnOnce() -> Resource) -> Delays {
        let mut all = self.all();
        let sum: Duration = all.iter().map(|(_, time)| *time).sum();
        let mut idle = sum.saturating_sub(contention);
        if idle > Duration::ZERO {
            // Packets that wait for their own message do so where the path is narrow; rounding may do the rest.
            let own = narrowest();
            all.sort_by_key(|(resource, time)| (*resource != own, std::cmp::Reverse(*time)));
            for (_, time) in &mut all {
                let taken = idle.min(*time);
                *time = time.saturating_sub(taken);
                idle = idle.saturating_sub(taken);
            }
        }
        let mut rest = contention.saturating_sub(sum);
        let longest = all.iter_mut().max_by_key(|(_, time)| *time).expect("there are some");
        if !is_lossy && rest <= longest.1 {
            longest.1 += std::mem::replace(&mut rest, Duration::ZERO);
        }
        let mut delays = [(Shared::Fabric, rest); MOST_DELAYS];
        for (delay, (resource, time)) in delays.iter_mut().zip(all) {
            *delay = (resource.shared(), time);
        }
        Delays(delays)
    }
}

impl Packet {
    /// Delays that sum to `contention`, of `message`, of which something has just been told.
    pub(super) fn delays_of(&self, message: &Message, contention: Duration) -> Delays {
        if message.from.host == message.to.host {
            return Delays::at(Shared::Memory, contention);
        }
        self.told.delays(contention, self.is_lossy, || self.narrowest(message))
    }

    /// The resource that limits `message` on an idle network.
    fn narrowest(&self, message: &Message) -> Resource {
        let fabric = &*self.alone.fabric;
        let mut links = Vec::new();
        fabric.route(Trip::new(message.from.host, message.to.host, 0), &Unloaded, &mut links);
        let kinds = links.iter().map(|link| self.switch.kind(*link));
        let narrowest = kinds.min_by_key(|kind| kind.bandwidth()).expect("a way has links");
        let regime = &self.alone.hosts.regimes[usize::from(message.regime)];
        let by_host = regime.nic_rate.min(regime.process_rate) < narrowest.bandwidth();
        if by_host { Resource::NIC } else { narrowest.resource }
    }
}
