//! Several links between a NIC and its router (see [`crate::topology::nic_links`]), which packets share.
//!
//! All ask for the first link of the NIC in their direction. At the end of the instant its links take turns, beginning with
//! the one behind that which was taken last: each that is idle grants a request for which it has room, until none does. So a
//! packet takes the first link that is free, one link alone, and none is idle while a packet waits that it could take.

use engine::{Queue, Time};

use super::super::index::ChannelIndex;
use super::super::messages::Messages;
use super::super::packets::Packets;
use super::Switch;
use super::allocation::{Allocation, Remaining};
use super::requests::{Requester, Source};
use crate::topology::{LinkId, Topology};

/// The links of all NICs, where each has several in a direction.
#[derive(Debug)]
pub(super) struct NicLinks {
    /// Number of them in each direction.
    count: u32,
    /// Group of each link; [`BETWEEN_ROUTERS`] for one of no NIC.
    groups: Vec<u32>,
    /// The links of each group, group by group, the first one first.
    links: Vec<LinkId>,
    /// Number, within its group, of the link that is asked first at the next grant.
    turns: Vec<u8>,
}

const BETWEEN_ROUTERS: u32 = u32::MAX;

impl NicLinks {
    /// The links of the NICs of `topology`; `None` if each has one.
    pub fn new(topology: &dyn Topology) -> Option<Box<NicLinks>> {
        let count = topology.nic_links();
        if count == 1 {
            return None;
        }
        let mut groups = vec![BETWEEN_ROUTERS; topology.links() as usize];
        let mut links = Vec::new();
        for first in (0..topology.links()).map(LinkId) {
            if topology.link(first).is_between_routers() || topology.first_nic_link(first) != first {
                continue;
            }
            let group = (links.len() / usize::from(count)) as u32;
            links.extend((0..count).map(|number| topology.nic_link(first, number)));
            for link in &links[links.len() - usize::from(count)..] {
                groups[link.at()] = group;
            }
        }
        let turns = vec![0; links.len() / usize::from(count)];
        Some(Box::new(NicLinks { count: count.into(), groups, links, turns }))
    }

    /// Group of `link`, if it is one of a NIC.
    #[inline]
    fn group(&self, link: LinkId) -> Option<u32> {
        let group = self.groups[link.at()];
        (group != BETWEEN_ROUTERS).then_some(group)
    }
}

impl Switch {
    /// Number of links of each NIC in each direction.
    #[inline]
    pub fn links_of_nics(&self) -> u64 {
        self.nic_links.as_ref().map_or(1, |nic_links| nic_links.count.into())
    }

    /// True if `link` is one of several of its NIC in its direction.
    #[inline]
    pub fn is_shared(&self, link: LinkId) -> bool {
        self.nic_links.as_ref().is_some_and(|nic_links| nic_links.group(link).is_some())
    }

    /// The first of the links of the same NIC in the same direction, for which all ask; `link` itself between routers.
    #[inline]
    pub fn first_link(&self, link: LinkId) -> LinkId {
        let Some(nic_links) = &self.nic_links else { return link };
        nic_links.group(link).map_or(link, |group| nic_links.links[(group * nic_links.count) as usize])
    }

    /// The links of the NIC of `first` in its direction, in the order of their turns.
    pub fn in_turn(&self, first: LinkId) -> impl Iterator<Item = LinkId> + use<> {
        let nic_links = self.nic_links.as_ref().expect("NICs have several links");
        let group = nic_links.group(first).expect("a link of a NIC") as usize;
        let (count, turn) = (nic_links.count as usize, usize::from(nic_links.turns[group]));
        let links = nic_links.links[group * count..(group + 1) * count].to_vec();
        (0..count).map(move |number| links[(turn + number) % count])
    }

    /// The turn of the link behind `link` comes next.
    pub(super) fn end_turn(&mut self, link: LinkId) {
        let Some(nic_links) = &mut self.nic_links else { return };
        let Some(group) = nic_links.group(link) else { return };
        let first = (group * nic_links.count) as usize;
        let links = &nic_links.links[first..first + nic_links.count as usize];
        let number = links.iter().position(|each| *each == link).expect("a link is in its group");
        nic_links.turns[group as usize] = ((number + 1) % links.len()) as u8;
    }

    /// The links of the NIC of `first` choose among the requests for it: one of them, and what it grants.
    pub fn allocate_shared(
        &mut self,
        now: Time,
        first: LinkId,
        packets: &Packets,
        messages: &Messages,
        queue: &mut Queue,
    ) -> (LinkId, Allocation) {
        if self.ports[first.at()].requests == Requester::NONE {
            return (first, Allocation::Nothing);
        }
        let mut next_look = Time::NEVER;
        let mut lacking: Option<ChannelIndex> = None;
        for link in self.in_turn(first) {
            let idle_at = self.ports[link.at()].idle_at;
            if idle_at > now {
                next_look = next_look.min(idle_at);
                continue;
            }
            let (chosen, remaining) = self.choose(now, first, packets, messages, |switch, wants, size| {
                let wants = switch.channel_count.same_on(link, wants);
                let has_credit = switch.has_credit(now, wants, size, &mut next_look);
                if !has_credit {
                    lacking = Some(lacking.map_or(wants, |lacking| lacking.min(wants)));
                }
                has_credit
            });
            if let Some(source) = chosen {
                self.end_turn(link);
                return (link, Allocation::Granted(source, Time::NEVER));
            }
            next_look = next_look.min(remaining.ready_at);
        }
        if next_look != Time::NEVER {
            self.look_at(first, next_look, queue);
        }
        (first, lacking.map_or(Allocation::Nothing, Allocation::Stalled))
    }

    /// The outputs of the NIC of `first`, which have buffers, choose among the packets that ask to cross to it: an output,
    /// and the channel whose first packet crosses. Without one, what remains for the outputs to which a line is idle.
    pub fn choose_shared_crossing(
        &mut self,
        now: Time,
        first: LinkId,
        packets: &Packets,
        messages: &Messages,
    ) -> Result<(LinkId, ChannelIndex), Remaining> {
        let mut remaining = Remaining::NONE;
        for link in self.in_turn(first) {
            let (chosen, rest) = self.choose_crossing(now, link, packets, messages);
            if let Some(input) = chosen {
                self.end_turn(link);
                return Ok((link, input));
            }
            if self.crossing_at(link).is_some_and(|at| at <= now) {
                remaining = rest;
            }
        }
        Err(remaining)
    }

    /// The requests of the same NIC that remain for its output `link`, of those that remain for outputs to which a line is
    /// idle.
    pub fn remaining_for(&self, now: Time, link: LinkId, remaining: Remaining) -> Remaining {
        let is_busy = self.crossing_at(link).is_some_and(|at| at > now);
        let waits = is_busy && self.has_requests(self.first_link(link));
        if waits { Remaining { ready_at: now, lacks_room: true } } else { remaining }
    }

    /// `source`, which is granted `link` of a NIC, takes it in place of the first.
    pub fn take_shared(&self, link: LinkId, source: Source, packets: &mut Packets) {
        if let Source::Channel(input) = source {
            let packet = &mut packets[self.channels[input.at()].front];
            packet.wants = self.channel_count.same_on(link, packet.wants);
        }
    }
}
