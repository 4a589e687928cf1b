//! Requests for links: of packets that are first of their channels, and of the senders of hosts.

use engine::{Queue, Time};

use super::super::NONE;
use super::super::index::{ChannelIndex, PacketIndex, SenderIndex};
use super::super::packets::Packets;
use super::super::size::WireSize;
use super::super::steps::Step;
use super::Switch;
use crate::topology::LinkId;

/// Number of one that asks: of a virtual channel or, behind all of these, of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Requester(pub u32);

impl Requester {
    /// Nobody.
    pub const NONE: Requester = Requester(NONE);
    /// In place of the next requester: this one does not ask.
    pub const SILENT: Requester = Requester(NONE - 1);
}

/// Source of a packet that asks for a link.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Source {
    /// Virtual channel of a link to the same router, or of the link itself, whose output buffer the packet leaves.
    Channel(ChannelIndex),
    /// Sender of the host.
    Sender(SenderIndex),
}

/// Request of a sender for its host's link.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Request {
    /// Channel that its packet asks for.
    pub wants: ChannelIndex,
    /// Bytes of the packet on the wire.
    pub size: WireSize,
    /// Time at which the message of the packet was injected.
    pub injected: Time,
    /// Time of the request.
    pub asked: Time,
}

/// Request of a sender, among those for the same link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    pub request: Request,
    /// The next request for the same link; [`Requester::SILENT`] while it does not ask.
    pub next: Requester,
}

impl Listed {
    /// No request.
    pub const SILENT: Listed = Listed {
        request: Request {
            wants: ChannelIndex(NONE),
            size: WireSize(0),
            injected: Time::ZERO,
            asked: Time::ZERO,
        },
        next: Requester::SILENT,
    };
}

impl Switch {
    #[inline]
    pub(super) fn requester(&self, source: Source) -> Requester {
        match source {
            Source::Channel(channel) => Requester(channel.0),
            Source::Sender(sender) => Requester(self.channels.len() as u32 + sender.0),
        }
    }

    #[inline]
    pub(super) fn source(&self, requester: Requester) -> Source {
        match requester.0.checked_sub(self.channels.len() as u32) {
            None => Source::Channel(ChannelIndex(requester.0)),
            Some(sender) => Source::Sender(SenderIndex(sender)),
        }
    }

    /// The first packet of `channel` asks for the channel that is next on its way.
    #[inline]
    pub fn ask(&mut self, channel: ChannelIndex, packets: &Packets) {
        let state = &mut self.channels[channel.at()];
        let link = self.channel_count.link_of(packets[state.front].wants);
        state.next = std::mem::replace(&mut self.ports[link.at()].requests, Requester(channel.0));
        self.mark(link);
    }

    /// The first packet of `channel`, if there is one, asks for the channel that is next on its way. The output looks at it
    /// when the packet is ready and its ways through the crossbar are idle.
    #[inline(always)]
    pub fn ask_ahead(&mut self, channel: ChannelIndex, packets: &Packets, queue: &mut Queue) {
        let state = &mut self.channels[channel.at()];
        if state.is_empty() {
            return;
        }
        let front = &packets[state.front];
        let line = self.channel_count.link_of(channel);
        let ready_at = front.ready.max(self.ports[line.at()].line_idle_at);
        if ready_at <= queue.now() {
            // Outputs that are deciding at this instant do not see it before all have decided.
            let event = Step::Idle { output: None, line: Some(line) };
            return queue.push(ready_at, self.owner, event.token());
        }
        let link = self.channel_count.link_of(front.wants);
        state.next = std::mem::replace(&mut self.ports[link.at()].requests, Requester(channel.0));
        self.look_at(link, ready_at.max(self.takes_at(link)), queue);
    }

    /// Time before which the output `link` takes no packet.
    #[inline]
    fn takes_at(&self, link: LinkId) -> Time {
        if self.is_shared(link) {
            return Time::ZERO;
        }
        self.crossing_at(link).unwrap_or(self.ports[link.at()].idle_at)
    }

    /// `sender` asks for its host's link, which this gives.
    pub fn ask_from_host(&mut self, sender: SenderIndex, request: Request) -> LinkId {
        let link = self.link_of(request.wants);
        let requester = self.requester(Source::Sender(sender));
        let next = std::mem::replace(&mut self.ports[link.at()].requests, requester);
        self.requests[sender] = Listed { request, next };
        link
    }

    /// The last request of `sender`.
    #[inline]
    pub fn asked(&self, sender: SenderIndex) -> &Request {
        &self.requests[sender].request
    }

    /// True if a sender asks for its host's link.
    pub fn has_sender(&self) -> bool {
        self.requests.iter().any(|listed| listed.next != Requester::SILENT)
    }

    /// True if the first packet of `channel` asks for its next channel.
    pub fn asks(&self, channel: ChannelIndex) -> bool {
        self.channels[channel.at()].asks()
    }

    /// True if somebody asks for `link`.
    pub fn has_requests(&self, link: LinkId) -> bool {
        self.ports[link.at()].requests != Requester::NONE
    }

    /// All that ask for `link`: channels in ascending order, then senders.
    pub fn sources(&self, link: LinkId) -> Vec<Source> {
        let mut at = self.ports[link.at()].requests;
        let mut requesters = Vec::new();
        while at != Requester::NONE {
            requesters.push(at);
            at = self.behind(at);
        }
        requesters.sort_unstable();
        requesters.into_iter().map(|requester| self.source(requester)).collect()
    }

    /// The request behind that of `requester`.
    fn behind(&self, requester: Requester) -> Requester {
        match self.source(requester) {
            Source::Channel(channel) => self.channels[channel.at()].next,
            Source::Sender(sender) => self.requests[sender].next,
        }
    }

    /// Takes the request of the first packet of `channel` back, if there is one.
    pub fn withdraw(&mut self, channel: ChannelIndex, packets: &Packets) {
        if self.asks(channel) {
            let front = self.channels[channel.at()].front;
            let link = self.link_of(packets[front].wants);
            self.remove_request(link, Source::Channel(channel));
        }
    }

    /// Takes the request of `source` for `link` back.
    pub fn remove_request(&mut self, link: LinkId, source: Source) {
        let requester = self.requester(source);
        let (mut before, mut at) = (Requester::NONE, self.ports[link.at()].requests);
        while at != requester {
            before = at;
            at = self.behind(at);
        }
        self.unlink(link, before, source);
    }

    /// Takes the request of `source` out of those for `link`, among which it comes after `before`.
    #[inline(always)]
    pub(super) fn unlink(&mut self, link: LinkId, before: Requester, source: Source) {
        let next = match source {
            Source::Channel(channel) => &mut self.channels[channel.at()].next,
            Source::Sender(sender) => &mut self.requests[sender].next,
        };
        let next = std::mem::replace(next, Requester::SILENT);
        if before == Requester::NONE {
            self.ports[link.at()].requests = next;
        } else if let Some(channel) = self.channels.get_mut(before.0 as usize) {
            channel.next = next;
        } else {
            self.requests[SenderIndex(before.0 - self.channels.len() as u32)].next = next;
        }
    }

    /// First packet of `channel`, if there is one.
    pub fn front(&self, channel: ChannelIndex) -> Option<PacketIndex> {
        let front = self.channels[channel.at()].front;
        (front != PacketIndex::NONE).then_some(front)
    }
}
