//! Failures and returns of links and routers (see [`super::rerouting`]): what they take along, and what goes on.

use engine::{Queue, Time};

use super::Packet;
use super::index::{ChannelIndex, PacketIndex, SenderIndex};
use super::packets::InTransit;
use super::rerouting::{Event, Rerouting, Waiting};
use super::size::{Span, WireSize};
use super::steps::Step;
use super::switch::Source;
use super::transfers::Role;
use crate::topology::{LinkId, Node, RouterId};

impl Packet {
    pub(super) fn rerouting(&mut self) -> &mut Rerouting {
        self.rerouting.as_mut().expect("only where something may fail")
    }

    /// Brings what is up and down to `now`.
    #[cold]
    pub(super) fn change(&mut self, now: Time, queue: &mut Queue) {
        while let Some(Event { change, links }) = self.rerouting().next_event(now) {
            if let (true, Some(router)) = (change.fails, change.router) {
                self.lose_buffers(now, router, &links, queue);
            }
            for link in links.into_iter().filter(|_| !change.fails) {
                if self.switch.has_requests(link) || self.switch.has_stored(link) {
                    self.switch.mark(self.switch.first_link(link));
                }
            }
        }
        let mut is_news = false;
        let mut order = self.rerouting().order();
        while let Some(news) = self.rerouting().next_news(now) {
            is_news = true;
            self.hear_of(now, news, queue);
            let before = std::mem::replace(&mut order, self.rerouting().order());
            if order != before {
                self.leave_order();
            }
        }
        self.rerouting().end_events();
        if is_news {
            self.try_again(now, queue);
        }
    }

    /// A change becomes known: who waits for a link that is down goes another way.
    fn hear_of(&mut self, now: Time, Event { change, links }: Event, queue: &mut Queue) {
        for link in links.into_iter().filter(|_| change.fails) {
            self.turn_away(now, link, queue);
        }
    }

    /// Lets the queue tell of the next change.
    pub(super) fn watch(&mut self, queue: &mut Queue) {
        if let Some(rerouting) = &mut self.rerouting
            && let Some(at) = rerouting.schedule(queue.now())
        {
            queue.push(at, self.switch.owner(), Step::Changed.token());
        }
    }

    /// The queue has told of a change, or asks whether to go on with that.
    pub(super) fn changed(&mut self, queue: &mut Queue) {
        // What waits for its host's link is no packet yet.
        if self.rerouting().is_awaited() || self.packets.count() > 0 || self.switch.has_sender() {
            self.watch(queue);
        }
    }

    /// `router` has failed, and with it what is in its buffers.
    fn lose_buffers(&mut self, now: Time, router: RouterId, links: &[LinkId], queue: &mut Queue) {
        for link in links {
            let ends = self.alone.fabric.topology.link(*link);
            if ends.from == Node::Router(router) {
                self.lose_stored(now, *link);
            }
            if ends.to != Node::Router(router) {
                continue;
            }
            for channel in self.switch.channel_count().channels(*link) {
                while self.switch.front(channel).is_some() {
                    self.drop_front(now, channel, queue);
                }
            }
        }
    }

    /// A packet has come by `channel` to a router. If that is down, the packet is lost.
    pub(super) fn is_lost_in_router(
        &mut self,
        now: Time,
        packet: PacketIndex,
        channel: ChannelIndex,
        queue: &mut Queue,
    ) -> bool {
        let Node::Router(router) = self.alone.fabric.topology.link(self.switch.link_of(channel)).to else {
            return false;
        };
        let is_down = self.rerouting().is_router_down(router);
        if is_down {
            self.give_up(now, packet, channel, queue);
        }
        is_down
    }

    /// The first packet of `channel` is dropped.
    fn drop_front(&mut self, now: Time, channel: ChannelIndex, queue: &mut Queue) {
        self.switch.withdraw(channel, &self.packets);
        let packet = self.switch.take_front(channel, &mut self.packets);
        let InTransit { size, tail, .. } = self.packets[packet];
        let span = Span { begin: now, end: self.free_at(now, channel, size, tail) };
        self.note_drop(span, channel, size);
        self.give_up(now, packet, channel, queue);
    }

    /// Time at which the room of a packet is free that is dropped at the end of `channel`: it takes as long as to send
    /// it, and all of it must have come.
    fn free_at(&self, now: Time, channel: ChannelIndex, size: WireSize, tail: Time) -> Time {
        (now + self.switch.kind(self.switch.link_of(channel)).transfer(size)).max(tail)
    }

    /// `packet` is lost at the end of `channel`.
    fn give_up(&mut self, now: Time, packet: PacketIndex, channel: ChannelIndex, queue: &mut Queue) {
        let InTransit { size, tail, .. } = self.packets[packet];
        let free = self.free_at(now, channel, size, tail);
        self.return_credit(now, free, channel, size, queue);
        self.lose_by_fault(packet);
    }

    /// `link` is known to be down: who waits for it goes another way, but for packets that have crossed to its output, which
    /// are lost.
    fn turn_away(&mut self, now: Time, link: LinkId, queue: &mut Queue) {
        self.lose_stored(now, link);
        for source in self.switch.sources(link) {
            match source {
                Source::Channel(channel) => {
                    self.switch.remove_request(link, source);
                    self.ask_onward(channel);
                }
                Source::Sender(sender) => {
                    self.switch.remove_request(link, source);
                    self.call_back(now, sender, queue);
                }
            }
        }
    }

    /// The link that `sender` has asked for is known to be down.
    fn call_back(&mut self, now: Time, sender: SenderIndex, queue: &mut Queue) {
        if self.host_interface.is_process(sender) {
            let front = self.host_interface.front(sender);
            let path = self.messages.get_mut(front).take_path();
            self.routes.remove(path);
            return self.begin_to_send(now, sender, queue);
        }
        // What a NIC sends by itself: requests wait for a way, responses are asked for again.
        while !self.host_interface.is_idle(sender) {
            let packet = self.host_interface.pop_packet(sender, &mut self.packets);
            let InTransit { message, number, .. } = self.packets[packet];
            if matches!(self.messages.get(message).transfer.role, Role::Request(_)) {
                self.messages.get_mut(message).holds += 1;
                self.drop_packet(packet);
                self.wait_anew(now, Waiting::Again { message, number });
            } else {
                self.lose_by_fault(packet);
            }
        }
    }

    /// A new order begins: packets that go around under the old one are dropped.
    fn leave_order(&mut self) {
        for channel in self.switch.all_channels() {
            // One behind others is found when it is first.
            if let Some(first) = self.switch.front(channel)
                && self.rerouting().way(first).order > 0
            {
                self.switch.withdraw(channel, &self.packets);
                self.rerouting().strand(channel, first);
            }
        }
    }

    /// Drops the packets that cannot go on. True if there were any.
    pub(super) fn drop_stranded(&mut self, now: Time, queue: &mut Queue) -> bool {
        let stranded = self.rerouting().take_stranded();
        for (channel, packet) in &stranded {
            if self.switch.front(*channel) == Some(*packet) {
                self.drop_front(now, *channel, queue);
                self.call_front(now, *channel, queue);
            }
        }
        !stranded.is_empty()
    }
}
