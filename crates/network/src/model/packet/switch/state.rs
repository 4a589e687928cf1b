//! State of links and channels, as others may see it.

use engine::{Bytes, Duration, Time, prefetch};

use super::super::index::ChannelIndex;
use super::super::packets::Packets;
use super::super::size::WireSize;
use super::Switch;
use super::requests::Requester;
use crate::interface::Report;
use crate::message::LinkUse;
use crate::observe::NetworkRecord;
use crate::topology::LinkId;

impl Switch {
    /// Packets that have been sent over links.
    pub fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    /// Packets that `link` has carried.
    pub fn packets_of(&self, link: LinkId) -> u64 {
        self.ports[link.at()].packets
    }

    /// The least time for which a packet of `size` is on the wire of a link, or crosses a router.
    pub fn least_transfer(&self, size: WireSize) -> Duration {
        let crossing = self.crossbar.map(|rate| rate.transfer(size));
        let on_links = self.kinds.iter().map(|kind| kind.transfer(size));
        on_links.chain(crossing).min().unwrap_or(Duration::ZERO)
    }

    /// All virtual channels.
    pub fn all_channels(&self) -> impl Iterator<Item = ChannelIndex> + use<> {
        (0..self.channels.len() as u32).map(ChannelIndex)
    }

    /// Reports what each link has carried up to `now`.
    pub fn report(&self, now: Time, observer: &mut Report<'_>) {
        for link in (0..self.ports.len() as u32).map(LinkId) {
            observer.record(now, &NetworkRecord::LinkUse(&self.use_of(now, link)));
        }
    }

    /// The same of links that send, or have sent since the last such report.
    pub fn report_changes(&mut self, now: Time, observer: &mut Report<'_>) {
        for link in self.moved.all() {
            observer.record(now, &NetworkRecord::LinkUse(&self.use_of(now, link)));
        }
        let ports = &self.ports;
        self.moved.keep(|link| ports[link.at()].idle_at > now);
    }

    fn use_of(&self, now: Time, link: LinkId) -> LinkUse {
        let port = &self.ports[link.at()];
        let to_come = if port.idle_at > now { port.idle_at.since(now) } else { Duration::ZERO };
        LinkUse {
            link,
            bytes: Bytes(port.bytes.saturating_sub(self.kind(link).sends_in(to_come).0)),
            transfers: port.packets,
            busy: port.busy.saturating_sub(to_come),
        }
    }

    /// The channels that have packets, each with the one that its first packet asks for.
    pub fn waits(&self, packets: &Packets) -> Vec<[u32; 2]> {
        let channels = (0..).zip(&self.channels).filter(|(_, channel)| !channel.is_empty());
        channels.map(|(index, channel)| [index, packets[channel.front].wants.0]).collect()
    }

    /// Room in buffers that the starts of their links do not know of at `now`, and room that packets take in the buffers of
    /// outputs.
    pub fn missing_credit(&self, now: Time) -> Bytes {
        let stored: u64 = (0..self.ports.len() as u32).map(|link| self.stored(now, LinkId(link)).0).sum();
        let Some(buffer) = self.buffer else { return Bytes(stored) };
        let missing = |channel| buffer.0 - u64::from(self.credits.known(now, channel));
        Bytes(stored + self.channels.iter().map(missing).sum::<u64>())
    }

    /// Bytes of the packets that ask for `link`, a link between routers, and in its output buffers at `now`.
    pub fn waiting(&self, now: Time, link: LinkId, packets: &Packets) -> Bytes {
        let (mut requester, mut bytes) = (self.ports[link.at()].requests, self.stored(now, link).0);
        while requester != Requester::NONE {
            // Processes ask for the links of hosts alone, about which nothing is decided.
            let channel = &self.channels[requester.0 as usize];
            bytes += packets[channel.front].size.wide();
            requester = channel.next;
        }
        Bytes(bytes)
    }

    /// Bytes that the buffers behind `link` cannot take now. If buffers have no limit, the rest of the present transmission
    /// stands for these.
    pub fn taken(&self, now: Time, link: LinkId) -> Bytes {
        let Some(buffer) = self.buffer else {
            let idle_at = self.ports[link.at()].idle_at;
            let rest = if idle_at > now { idle_at.since(now) } else { Duration::ZERO };
            return self.kind(link).sends_in(rest);
        };
        let channels = self.channels[self.channel_count.range(link)].iter();
        Bytes(channels.map(|channel| buffer.0 - u64::from(self.credits.known(now, channel))).sum())
    }

    /// Asks for what stands at the start of `link`.
    pub fn prefetch_start(&self, link: LinkId) {
        prefetch(&self.ports, link.at());
    }

    /// Asks for what stands at the end of `link`.
    pub fn prefetch_end(&self, link: LinkId) {
        prefetch(&self.ports, link.at());
        let channels = self.channel_count.range(link);
        prefetch(&self.channels, channels.start);
        if channels.len() > 2 {
            prefetch(&self.channels, channels.end - 1);
        }
    }

    /// Asks for `channel`, and for the start of its link.
    pub fn prefetch_channel(&self, channel: ChannelIndex) {
        prefetch(&self.channels, channel.at());
        prefetch(&self.ports, self.link_of(channel).at());
    }

    /// Asks for the end of the link by which the first packet has come that asks for `link`.
    pub fn prefetch_first_request(&self, link: LinkId) {
        let first = self.ports.get(link.at()).map_or(Requester::NONE, |port| port.requests);
        if (first.0 as usize) < self.channels.len() {
            self.prefetch_end(self.link_of(ChannelIndex(first.0)));
        }
    }
}
