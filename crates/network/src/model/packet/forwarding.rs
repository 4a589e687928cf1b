//! Forwarding: packets ask for links, are granted them, and leave over them.

use engine::{Bandwidth, Duration, Key, Queue, Time};

use super::index::Course;
use super::index::{ChannelIndex, MessageIndex, PacketIndex, PacketNumber, PathIndex, SenderIndex};
use super::options::Switching;
use super::packets::InTransit;
use super::rerouting::Way;
use super::size::{Span, WireSize};
use super::steps::Step;
use super::switch::{Allocation, Credit, Passage, Source};
use super::transfers::{RdmaOp, Role};
use super::waits::Resource;
use super::{Packet, owner};
use crate::topology::LinkId;

impl Packet {
    /// A packet of `size` on its `course`, next at `path`.
    pub(super) fn begin_packet(
        &mut self,
        message: MessageIndex,
        number: PacketNumber,
        size: WireSize,
        path: PathIndex,
        course: Course,
    ) -> PacketIndex {
        let packet = self.packets.insert(message, number, size, path, self.routes.channel(path));
        self.routes.begin(packet, course);
        if let Some(rerouting) = &mut self.rerouting {
            rerouting.set_way(packet, Way::default());
        }
        self.switch.set_mark(packet, false);
        packet
    }

    /// `packet` comes by `channel`, and has passed the pipeline of the router there at a time and with a key.
    #[inline(always)]
    pub(super) fn come(
        &mut self,
        packet: PacketIndex,
        channel: ChannelIndex,
        (ready, key): (Time, Key),
        queue: &mut Queue,
    ) {
        if self.switch.asks_ahead() {
            if self.switch.line_up(packet, channel, &mut self.packets) {
                self.switch.ask_ahead(channel, &self.packets, queue);
            }
            if !self.recorder.is_watching() && !self.switch.marks_packets() {
                return;
            }
        }
        queue.place(ready, key, Step::Ready(packet, channel).token());
    }

    /// `packet` has passed the pipeline of the router that it has reached by `channel`.
    pub(super) fn ready(&mut self, now: Time, packet: PacketIndex, channel: ChannelIndex, queue: &mut Queue) {
        if self.rerouting.is_some() && self.is_lost_in_router(now, packet, channel, queue) {
            return;
        }
        // One that goes around what has failed finds its next link when it is first.
        if self.switch.marks_packets() && self.way(packet).order == 0 {
            self.switch.count_in(packet, &self.packets[packet]);
        }
        if !self.switch.asks_ahead() && self.switch.line_up(packet, channel, &mut self.packets) {
            self.call_front(now, channel, queue);
        }
        if self.recorder.is_watching() {
            self.note_arrival(now, channel, self.packets[packet].size);
        }
    }

    /// The new first packet of `channel`, if there is one, asks for its next channel as soon as it can.
    #[inline]
    pub(super) fn call_front(&mut self, now: Time, channel: ChannelIndex, queue: &mut Queue) {
        if self.switch.may_ask(now, channel, queue) {
            self.request(channel);
        }
    }

    /// The first packet of `channel` asks for its next channel: at the end of the instant, if it chooses one.
    #[inline]
    fn request(&mut self, channel: ChannelIndex) {
        if !self.routes.has_decisions() || !self.waits_to_decide(channel) {
            self.ask_onward(channel);
        }
    }

    /// The first packet of `channel` asks for the channel that is next on its way.
    #[inline]
    pub(super) fn ask_onward(&mut self, channel: ChannelIndex) {
        if self.rerouting.is_some() && !self.can_go_on(channel) {
            return;
        }
        self.switch.ask(channel, &self.packets);
    }

    /// The output `output` may choose again, as others that look now, and the crossbar's line of link `line` is idle.
    pub(super) fn idle(&mut self, now: Time, output: Option<LinkId>, line: Option<LinkId>) {
        if let Some(output) = output {
            self.switch.output_is_idle(now, output);
            while let Some(other) = self.switch.next_look(now) {
                self.switch.output_is_idle(now, other);
                if self.packets.are_many() {
                    self.switch.prefetch_first_request(other);
                }
            }
        }
        if let Some(line) = line {
            for channel in self.switch.line_is_idle(line) {
                if self.switch.may_wake_front(channel) {
                    self.request(channel);
                }
            }
        }
    }

    /// The output `link` chooses among its requests.
    pub(super) fn allocate(&mut self, now: Time, link: LinkId, queue: &mut Queue) {
        if self.rerouting.as_ref().is_some_and(|rerouting| rerouting.is_down(link)) {
            return;
        }
        if self.switch.has_output_buffers() && !self.switch.kind(link).up {
            return self.allocate_crossing(now, link, queue);
        }
        if self.switch.is_shared(link) {
            return self.allocate_shared(now, link, queue);
        }
        match self.switch.allocate(now, link, &self.packets, &self.messages, queue) {
            Allocation::Nothing => {}
            Allocation::Stalled(channel) => self.note_stall(now, channel),
            Allocation::Granted(source, next) => self.grant(now, link, source, next, queue),
        }
    }

    /// The links of the NIC of `first`, of which packets share several, choose among the requests for it.
    #[cold]
    fn allocate_shared(&mut self, now: Time, first: LinkId, queue: &mut Queue) {
        loop {
            let (link, allocation) =
                self.switch.allocate_shared(now, first, &self.packets, &self.messages, queue);
            match allocation {
                Allocation::Nothing => return,
                Allocation::Stalled(channel) => return self.note_stall(now, channel),
                Allocation::Granted(source, next) => {
                    self.switch.take_shared(link, source, &mut self.packets);
                    self.grant(now, link, source, next, queue);
                }
            }
        }
    }

    /// The packet of `source` leaves over `link`; others may from `next` on.
    #[inline(always)]
    fn grant(&mut self, now: Time, link: LinkId, source: Source, next: Time, queue: &mut Queue) {
        match source {
            Source::Channel(input) => {
                let (end, line) = self.forward(now, link, input, queue);
                self.switch.schedule_next(link, next.max(end), line, queue);
            }
            Source::Sender(sender) => {
                let end = self.launch(now, link, sender, queue);
                // The sender may have asked again.
                if self.switch.has_requests(link) {
                    self.switch.look_at(link, end, queue);
                }
            }
        }
    }

    /// Sends the first packet of the channel `input` over `link`. Gives the time at which its tail has left the
    /// router, and the link whose crossbar line somebody waits for.
    #[inline]
    fn forward(
        &mut self,
        now: Time,
        link: LinkId,
        input: ChannelIndex,
        queue: &mut Queue,
    ) -> (Time, Option<LinkId>) {
        let packet = self.switch.take_front(input, &mut self.packets);
        if self.switch.marks_packets() {
            self.count_out(packet, true);
        }
        let end = self.end_of(now, link, packet);
        let state = &mut self.packets[packet];
        let size = state.size;
        let Passage { end, credit_at, held_by, line } = self.switch.pass(now, link, input, end, state);
        if self.switch.has_credits() {
            self.send_credit(now, credit_at, input, Credit { size, held_by }, queue);
        }
        self.transmit(link, Span { begin: now, end }, Source::Channel(input), packet, queue);
        if self.switch.asks_ahead() {
            self.switch.ask_ahead(input, &self.packets, queue);
        }
        (end, line)
    }

    /// Sends the next packet of `sender` over its host's `link`. Gives the time at which its tail has left.
    fn launch(&mut self, now: Time, link: LinkId, sender: SenderIndex, queue: &mut Queue) -> Time {
        let packet = self.take_from(sender);
        let state = &mut self.packets[packet];
        if self.switch.is_shared(link) {
            state.wants = self.switch.channel_count().same_on(link, state.wants);
        }
        let InTransit { message, number, .. } = *state;
        let end = self.end_of(now, link, packet);
        let span = Span { begin: now, end };
        self.end_wait_at_nic(span, link, sender, packet);
        // A packet that is lost on this link may be the last that needs the slot, which the timer needs, too.
        self.messages.get_mut(message).holds += u32::from(self.is_lossy);
        self.transmit(link, span, Source::Sender(sender), packet, queue);
        if self.is_lossy {
            self.start_timer(end, message, number, queue);
            self.release(message);
        }
        self.injected(now, sender, queue);
        end
    }

    /// Adds to the waits of the next packet of `sender`, which leaves by its host's `link` in `span`.
    fn end_wait_at_nic(&mut self, span: Span, link: LinkId, sender: SenderIndex, packet: PacketIndex) {
        let state = &mut self.packets[packet];
        let turn = self.switch.turn_at(span.begin, link, state.wants, state.size);
        let slot = self.messages.get_mut(state.message);
        let since = if self.host_interface.is_process(sender) { slot.since } else { state.ready };
        self.host_interface.end_wait(sender, since, span, turn, &mut slot.waits);
        // The links of a NIC may send several at a time.
        slot.since = slot.since.max(span.end);
        state.waits = slot.waits;
    }

    /// `packet` leaves the router in which it waits, if it is in one: by an output, and then it may be marked.
    pub(super) fn count_out(&mut self, packet: PacketIndex, by_output: bool) {
        let state = &self.packets[packet];
        let is_data = self.messages.get(state.message).transfer.role == Role::Request(RdmaOp::Put);
        self.switch.count_out(packet, state, by_output && is_data);
    }

    /// Time at which the tail of `packet` leaves over `link`, if it comes quickly enough.
    #[inline(always)]
    pub(super) fn end_of(&self, now: Time, link: LinkId, packet: PacketIndex) -> Time {
        let kind = self.switch.kind(link);
        let state = &self.packets[packet];
        let transfer = kind.transfer(state.size);
        now + if kind.up || kind.down { transfer.max(self.nic_time(state)) } else { transfer }
    }

    /// Time that a NIC needs for `packet`: each of its links has a share of its rate.
    fn nic_time(&self, packet: &InTransit) -> Duration {
        let slot = self.messages.get(packet.message);
        let rate = self.alone.hosts.regimes[usize::from(slot.message.regime)].nic_rate;
        if rate == Bandwidth::INFINITE {
            return Duration::ZERO;
        }
        rate.transfer(self.format.carried_by(slot, packet.number)) * self.switch.links_of_nics()
    }

    /// Sends `packet` of `source` over `link` in `span`, on the channel that it wants.
    #[inline(always)]
    pub(super) fn transmit(
        &mut self,
        link: LinkId,
        span: Span,
        source: Source,
        packet: PacketIndex,
        queue: &mut Queue,
    ) {
        let state = &self.packets[packet];
        let (wants, size, message) = (state.wants, state.size, state.message);
        let kind = self.switch.send(link, span, wants, size);
        let (now, tail) = (span.begin, span.end + kind.cable);
        let (cable, pipeline, down) = (kind.cable, kind.pipeline, kind.down);
        if self.recorder.is_watching() {
            self.note_grant(span, source, packet);
        }
        if self.is_lossy && self.is_lost(link, tail, packet) {
            return self.return_credit(now, tail, wants, size, queue);
        }
        let state = &mut self.packets[packet];
        state.tail = tail;
        state.path = state.path.next();
        state.wants = self.routes.channel(state.path);
        if down {
            self.return_credit(now, tail, wants, size, queue);
            let slot = self.messages.get(message);
            if self.comes_unnoticed(slot) {
                self.let_go(packet);
                return;
            }
            let arrived = Step::Arrived(packet).token();
            return match slot.key_of_only_packet(self.format.options.payload) {
                Some(key) => queue.place(tail, key, arrived),
                None => queue.push(tail, owner(slot.ends().1.host), arrived),
            };
        }
        let head = match self.format.options.switching {
            Switching::VirtualCutThrough => now + cable,
            Switching::StoreAndForward => tail,
        };
        let ready = head + pipeline;
        state.ready = ready;
        match self.border.end(link) {
            None => {
                let key = queue.stamp(self.switch.owner());
                self.come(packet, wants, (ready, key), queue);
            }
            Some(part) => self.hand_over(part, ready, packet, wants, queue),
        }
    }

    /// The buffer of `channel` has room for `size` bytes more at `at`; its start hears of it a cable later.
    pub(super) fn return_credit(
        &mut self,
        now: Time,
        at: Time,
        channel: ChannelIndex,
        size: WireSize,
        queue: &mut Queue,
    ) {
        if self.switch.has_credits() {
            let at = at + self.switch.kind(self.switch.link_of(channel)).cable;
            self.send_credit(now, at, channel, Credit { size, held_by: Resource::NOTHING }, queue);
        }
    }

    /// The start of the link of `channel` will hear of `credit` at `at`.
    #[inline(always)]
    pub(super) fn send_credit(
        &mut self,
        now: Time,
        at: Time,
        channel: ChannelIndex,
        credit: Credit,
        queue: &mut Queue,
    ) {
        match self.border.start(self.switch.link_of(channel)) {
            None => self.switch.take_credit(now, at, channel, credit, queue),
            Some(part) => self.border.send_credit(part, at, channel, credit, queue),
        }
    }
}
