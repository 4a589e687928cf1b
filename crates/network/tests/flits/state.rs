//! The state of the network at one instant, and what changes it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use engine::{Duration, Time};
use network::model::{Arbitration, PacketOptions, Switching};
use network::{Link, LinkId, Node, Topology};

use super::{Channel, Hop, Input, Outcome, Packet, beside};

/// A flit in a buffer, or on the wire to it.
struct Flit {
    packet: usize,
    /// Within its packet: 0 is the head.
    number: u64,
    /// Next channel of its route.
    hop: usize,
    /// Time at which its first byte is there.
    first: Time,
    /// Time at which its last byte is there.
    last: Time,
}

/// A packet at an output: it comes from its input, over the crossbar, into the output's store, which sends it on.
struct Passing {
    packet: usize,
    input: Input,
    channel: Channel,
    /// Place of the channel behind this one in its route.
    next_hop: usize,
    /// Number of its flits that have crossed.
    crossed: u64,
    /// Time at which the flit that is crossing will have done so; `None` while the next has not come.
    crosses: Option<Time>,
    /// Flits in the store, the one that is crossing with them: first and last byte there.
    store: VecDeque<(Time, Time)>,
    /// Time at which its head began to leave; `None` while it has not been granted the link.
    begin: Option<Time>,
    /// Number of its flits that have left.
    left: u64,
    /// Time at which the flit that is leaving will have left; `None` while the next has not come.
    leaves: Option<Time>,
}

/// The start of a link.
#[derive(Default)]
struct Output {
    /// In the order of their crossing.
    passing: Vec<Passing>,
    /// Input that was granted the crossbar last.
    granted_last: Option<Input>,
    /// Channel that was granted the link last.
    sent_last: Option<Channel>,
}

impl Output {
    /// The packet that crosses to it, if its tail has not crossed.
    fn crossing(&mut self, packets: &[Packet]) -> Option<&mut Passing> {
        self.passing.iter_mut().find(|passing| passing.crossed < packets[passing.packet].flits)
    }

    /// The packet that its link sends.
    fn sending(&mut self) -> Option<&mut Passing> {
        self.passing.iter_mut().find(|passing| passing.begin.is_some())
    }
}

pub struct Network<'a> {
    topology: &'a dyn Topology,
    options: &'a PacketOptions,
    packets: &'a [Packet],
    /// Size of each buffer [flits].
    capacity: u64,
    now: Time,
    /// Times at which something may happen: all of them are looked at, one too many does no harm.
    instants: BTreeSet<Time>,
    /// The flits in each buffer and on the wire to it, the first in front. A flit is in it until it has left.
    inputs: BTreeMap<Input, VecDeque<Flit>>,
    /// By link number.
    outputs: Vec<Output>,
    /// Number of the link whose turn it is among those that packets share, by the first of them.
    turns: BTreeMap<LinkId, u8>,
    /// The input links whose crossbar line is busy.
    lines: BTreeSet<LinkId>,
    /// Flits that may still be sent into each channel.
    credits: BTreeMap<Channel, u64>,
    /// Credits on their way back: when they are there.
    returning: Vec<(Time, Channel, u64)>,
    hops: Vec<Hop>,
    /// Times at which the tails of each message's packets arrived.
    tails: BTreeMap<usize, Vec<Time>>,
}

impl<'a> Network<'a> {
    /// The packets of each process wait in its memory, in their order.
    pub fn new(topology: &'a dyn Topology, options: &'a PacketOptions, packets: &'a [Packet]) -> Network<'a> {
        let capacity = options.buffer.map_or(u64::MAX / 2, |buffer| buffer.0 / options.flit.0);
        let mut inputs: BTreeMap<Input, VecDeque<Flit>> = BTreeMap::new();
        let mut credits = BTreeMap::new();
        for (number, packet) in packets.iter().enumerate() {
            let there = packet.injected;
            let flit = |flit| Flit { packet: number, number: flit, hop: 0, first: there, last: there };
            inputs.entry(Input::Process(packet.from)).or_default().extend((0..packet.flits).map(flit));
            for Channel { link, number } in &packet.route {
                for link in beside(topology, *link) {
                    let channel = Channel { link, number: *number };
                    inputs.entry(Input::Channel(channel)).or_default();
                    credits.insert(channel, capacity);
                }
            }
        }
        Network {
            topology,
            options,
            packets,
            capacity,
            now: Time::ZERO,
            instants: packets.iter().map(|packet| packet.injected).collect(),
            inputs,
            outputs: (0..topology.links()).map(|_| Output::default()).collect(),
            turns: BTreeMap::new(),
            lines: BTreeSet::new(),
            credits,
            returning: Vec::new(),
            hops: Vec::new(),
            tails: BTreeMap::new(),
        }
    }

    /// Goes on until nothing can happen any more.
    pub fn run(mut self, messages: usize) -> Outcome {
        while let Some(now) = self.instants.pop_first() {
            self.now = now;
            loop {
                while self.move_everything() {}
                if !self.grant_all() {
                    break;
                }
            }
        }
        let complete = |message| {
            let tails = self.tails.get(&message)?;
            let packets = self.packets.iter().find(|packet| packet.message == message)?.packets;
            (tails.len() == packets as usize).then(|| *tails.iter().max().unwrap())
        };
        let wants = |(input, flits): (&Input, &VecDeque<Flit>)| {
            let flit = flits.front()?;
            Some((*input, self.packets[flit.packet].route[flit.hop]))
        };
        self.hops.sort();
        Outcome {
            delivered: (0..messages).map(complete).collect(),
            waiting: self.inputs.iter().filter_map(wants).collect(),
            hops: self.hops,
        }
    }

    /// Does what is due now, but for grants; says whether there was anything.
    fn move_everything(&mut self) -> bool {
        let ends_at_host = |channel: &Channel| matches!(self.topology.link(channel.link).to, Node::Host(_));
        let mut moved = self.take_back_credits();
        for link in (0..self.topology.links()).map(LinkId) {
            moved |= self.flit_has_crossed(link);
            moved |= self.flit_has_left(link);
            moved |= self.flit_begins_to_cross(link);
            moved |= self.flit_begins_to_leave(link);
        }
        let host_channels: Vec<Channel> = self.credits.keys().copied().filter(ends_at_host).collect();
        for channel in host_channels {
            moved |= self.host_takes_flit(channel);
        }
        moved
    }

    fn take_back_credits(&mut self) -> bool {
        let (due, later) = self.returning.drain(..).partition(|(at, ..)| *at <= self.now);
        self.returning = later;
        let due: Vec<(Time, Channel, u64)> = due;
        for (_, channel, flits) in &due {
            *self.credits.get_mut(channel).unwrap() += flits;
        }
        !due.is_empty()
    }

    /// The flit that is leaving over `link` is gone; with a tail, so is the packet.
    fn flit_has_left(&mut self, link: LinkId) -> bool {
        let output = &mut self.outputs[link.0 as usize];
        let Some(sending) = output.sending() else { return false };
        if sending.leaves.is_none_or(|leaves| leaves > self.now) {
            return false;
        }
        sending.leaves = None;
        sending.left += 1;
        sending.store.pop_front();
        let packet = &self.packets[sending.packet];
        if sending.left == packet.flits {
            let (channel, begin) = (sending.channel, sending.begin.unwrap());
            output.passing.retain(|passing| passing.begin.is_none());
            let (message, number) = (packet.message, packet.number);
            self.hops.push(Hop { begin, channel, message, number, end: self.now });
        }
        true
    }

    /// The next flit of the packet that is being sent over `link` follows, if it is in the store.
    fn flit_begins_to_leave(&mut self, link: LinkId) -> bool {
        let (cable, flit_time) = (self.cable(link), self.flit_time(link));
        let Some(sending) = self.outputs[link.0 as usize].sending() else { return false };
        let Some(&(stored, complete)) = sending.store.front() else { return false };
        if sending.leaves.is_some() || stored > self.now {
            return false;
        }
        let leaves = (self.now + flit_time).max(complete);
        let (first, last) = (self.now + cable, leaves + cable);
        let moved = Flit { packet: sending.packet, number: sending.left, hop: sending.next_hop, first, last };
        let channel = sending.channel;
        sending.leaves = Some(leaves);
        let buffer = self.inputs.get_mut(&Input::Channel(channel)).unwrap();
        buffer.push_back(moved);
        assert!(buffer.len() as u64 <= self.capacity, "credits keep buffers from running over");
        let behind = self.pipeline(Input::Channel(channel));
        self.instants.extend([leaves, first, first + behind, last, last + behind]);
        true
    }

    /// The flit that is on its way over the crossbar to `link` is in the store; with a tail, line and buffer are free.
    fn flit_has_crossed(&mut self, link: LinkId) -> bool {
        let Some(crossing) = self.outputs[link.0 as usize].crossing(self.packets) else { return false };
        if crossing.crosses.is_none_or(|crosses| crosses > self.now) {
            return false;
        }
        crossing.crosses = None;
        crossing.crossed += 1;
        let (input, flits) = (crossing.input, self.packets[crossing.packet].flits);
        let is_tail = crossing.crossed == flits;
        self.inputs.get_mut(&input).unwrap().pop_front();
        if let (true, Input::Channel(from)) = (is_tail, input) {
            self.lines.remove(&from.link);
            self.send_back_credits(from, flits);
        }
        true
    }

    /// The next flit of the packet that crosses to `link` goes over the crossbar, if it is there.
    fn flit_begins_to_cross(&mut self, link: LinkId) -> bool {
        let Some(crossing) = self.outputs[link.0 as usize].crossing(self.packets) else { return false };
        let (input, packet, crossed) = (crossing.input, crossing.packet, crossing.crossed);
        if crossing.crosses.is_some() {
            return false;
        }
        let Some(flit) = self.inputs[&input].front() else { return false };
        assert_eq!((flit.packet, flit.number), (packet, crossed), "flits keep their order");
        let pipeline = self.pipeline(input);
        if flit.first + pipeline > self.now {
            return false;
        }
        let crosses = (self.now + self.flit_crossing_time(input, link)).max(flit.last + pipeline);
        let crossing = self.outputs[link.0 as usize].crossing(self.packets).unwrap();
        crossing.crosses = Some(crosses);
        crossing.store.push_back((self.now, crosses));
        self.instants.insert(crosses);
        true
    }

    /// Time that a flit takes over the crossbar: by default as on the faster of the links before and behind it.
    fn flit_crossing_time(&self, input: Input, link: LinkId) -> Duration {
        match (input, self.options.crossbar) {
            (Input::Process(_) | Input::Leaving(_), _) => self.flit_time(link),
            (Input::Channel(_), Some(rate)) => rate.transfer(self.options.flit),
            (Input::Channel(from), None) => self.flit_time(link).min(self.flit_time(from.link)),
        }
    }

    /// A host takes in the first flit of `channel`, if it has come.
    fn host_takes_flit(&mut self, channel: Channel) -> bool {
        let flits = self.inputs.get_mut(&Input::Channel(channel)).unwrap();
        if flits.front().is_none_or(|flit| flit.last > self.now) {
            return false;
        }
        let flit = flits.pop_front().unwrap();
        let packet = &self.packets[flit.packet];
        if flit.number + 1 == packet.flits {
            self.tails.entry(packet.message).or_default().push(self.now);
            self.send_back_credits(channel, packet.flits);
        }
        true
    }

    fn send_back_credits(&mut self, channel: Channel, flits: u64) {
        let at = self.now + self.cable(channel.link);
        self.returning.push((at, channel, flits));
        self.instants.insert(at);
    }

    /// Every idle output takes one of those who ask for it, and every idle link one of those that have crossed to it; says
    /// whether any did.
    fn grant_all(&mut self) -> bool {
        let mut waiting: BTreeMap<LinkId, Vec<Input>> = BTreeMap::new();
        for input in self.inputs.keys() {
            let wanted = self.wants(*input);
            wanted.into_iter().for_each(|link| waiting.entry(link).or_default().push(*input));
        }
        let mut granted = false;
        for (link, inputs) in waiting {
            if beside(self.topology, link).len() == 1 {
                granted |= self.grant_one(link, link, &inputs);
                continue;
            }
            // Of those who ask at first, each may ask again.
            while self.grant_in_turn(link, &inputs) {
                granted = true;
            }
        }
        for link in (0..self.topology.links()).map(LinkId) {
            granted |= self.grant_link(link);
        }
        granted
    }

    /// The link that the first packet of `input` asks for.
    fn wants(&self, input: Input) -> Option<LinkId> {
        let is_waiting = !matches!(input, Input::Leaving(_));
        let head = self.inputs[&input].front().filter(|_| is_waiting)?;
        self.packets[head.packet].route.get(head.hop).map(|channel| channel.link)
    }

    /// `link` takes one of `inputs` that asks for `first`, if it may; says whether.
    fn grant_one(&mut self, first: LinkId, link: LinkId, inputs: &[Input]) -> bool {
        let asks = |input: &Input| self.wants(*input) == Some(first);
        let mut inputs: Vec<Input> = inputs.iter().copied().filter(asks).collect();
        inputs.retain(|input| self.may_cross(*input, link));
        let chosen = self.choose(first, &inputs);
        if let Some(input) = chosen {
            self.grant(first, link, input);
        }
        chosen.is_some()
    }

    /// One of the links beside `first`, in turn, takes one of `inputs` that asks for that; says whether any did.
    fn grant_in_turn(&mut self, first: LinkId, inputs: &[Input]) -> bool {
        let links = beside(self.topology, first);
        let turn = self.turns.get(&first).copied().unwrap_or(0);
        for place in 0..links.len() {
            let number = (usize::from(turn) + place) % links.len();
            if self.grant_one(first, links[number], inputs) {
                self.turns.insert(first, (number as u8 + 1) % links.len() as u8);
                return true;
            }
        }
        false
    }

    /// Room of each output buffer of `link` [flits]; `None` if packets cross when the link is idle.
    fn output_room(&self, link: LinkId) -> Option<u64> {
        let is_router = matches!(self.topology.link(link).from, Node::Router(_));
        self.options.output_buffer.filter(|_| is_router).map(|buffer| buffer.0 / self.options.flit.0)
    }

    /// May the first packet of `input`, which goes over `link`, begin to cross now?
    fn may_cross(&mut self, input: Input, link: LinkId) -> bool {
        let flits = &self.inputs[&input];
        let head = &flits[0];
        let packet = &self.packets[head.packet];
        let pipeline = self.pipeline(input);
        let of_it = |flit: &&Flit| flit.packet == head.packet;
        let tail = flits.iter().take_while(of_it).find(|flit| flit.number + 1 == packet.flits);
        let is_there = match self.options.switching {
            Switching::VirtualCutThrough => head.first + pipeline <= self.now,
            Switching::StoreAndForward => tail.is_some_and(|tail| tail.last + pipeline <= self.now),
        };
        let line_is_idle = match input {
            Input::Channel(channel) => !self.lines.contains(&channel.link),
            Input::Process(_) | Input::Leaving(_) => true,
        };
        let (is_head, channel) = (head.number == 0, Channel { link, ..packet.route[head.hop] });
        let room = self.output_room(link);
        let output = &mut self.outputs[link.0 as usize];
        let fits = match room {
            None => output.passing.is_empty() && self.credits[&channel] >= packet.flits,
            Some(room) => {
                let there = output.passing.iter().filter(|passing| passing.channel == channel);
                let there: u64 = there.map(|passing| self.packets[passing.packet].flits).sum();
                output.crossing(self.packets).is_none() && there + packet.flits <= room
            }
        };
        is_head && is_there && line_is_idle && fits
    }

    /// One of `inputs`, which are in order.
    fn choose(&self, link: LinkId, inputs: &[Input]) -> Option<Input> {
        let injected = |input: &Input| self.packets[self.inputs[input][0].packet].injected;
        if self.options.arbitration == Arbitration::Age {
            return inputs.iter().copied().min_by_key(|input| (injected(input), *input));
        }
        let last = self.outputs[link.0 as usize].granted_last;
        let after = |input: &&Input| last.is_none_or(|last| **input > last);
        inputs.iter().find(after).or(inputs.first()).copied()
    }

    /// The first packet of `input`, which asks for `first`, crosses to `link` from now on.
    fn grant(&mut self, first: LinkId, link: LinkId, input: Input) {
        self.outputs[first.0 as usize].granted_last = Some(input);
        let head = &self.inputs[&input][0];
        let channel = Channel { link, ..self.packets[head.packet].route[head.hop] };
        let waits = self.output_room(link).is_some();
        let input = self.set_apart(input);
        let head = &self.inputs[&input][0];
        let passing = Passing {
            packet: head.packet,
            input,
            channel,
            next_hop: head.hop + 1,
            crossed: 0,
            crosses: None,
            store: VecDeque::new(),
            begin: (!waits).then_some(self.now),
            left: 0,
            leaves: None,
        };
        if let Input::Channel(from) = input {
            assert!(self.lines.insert(from.link));
        }
        if !waits {
            *self.credits.get_mut(&channel).unwrap() -= self.packets[passing.packet].flits;
        }
        let output = &mut self.outputs[link.0 as usize];
        output.passing.push(passing);
    }

    /// Takes the first packet of `input`, if that is a process, out of what it has to send: where it leaves from.
    fn set_apart(&mut self, input: Input) -> Input {
        if !matches!(input, Input::Process(_)) {
            return input;
        }
        let flits = self.inputs.get_mut(&input).unwrap();
        let packet = flits[0].packet;
        let count = flits.iter().take_while(|flit| flit.packet == packet).count();
        let leaving = flits.drain(..count).collect();
        self.inputs.insert(Input::Leaving(packet), leaving);
        Input::Leaving(packet)
    }

    /// `link` sends one of the packets that have crossed to it, or are crossing, from now on, if it may; says whether.
    fn grant_link(&mut self, link: LinkId) -> bool {
        let output = &mut self.outputs[link.0 as usize];
        if output.sending().is_some() {
            return false;
        }
        // The first of each channel, in the order of channels.
        let mut first: BTreeMap<Channel, usize> = BTreeMap::new();
        for passing in &output.passing {
            first.entry(passing.channel).or_insert(passing.packet);
        }
        first.retain(|channel, packet| self.credits[channel] >= self.packets[*packet].flits);
        let last = output.sent_last;
        let chosen = match self.options.arbitration {
            Arbitration::Age => {
                first.iter().min_by_key(|(channel, packet)| (self.packets[**packet].injected, **channel))
            }
            Arbitration::RoundRobin => {
                let after = |(channel, _): &(&Channel, &usize)| last.is_none_or(|last| **channel > last);
                first.iter().find(after).or(first.first_key_value())
            }
        };
        let Some((channel, packet)) = chosen.map(|(channel, packet)| (*channel, *packet)) else {
            return false;
        };
        *self.credits.get_mut(&channel).unwrap() -= self.packets[packet].flits;
        output.sent_last = Some(channel);
        let passing = output.passing.iter_mut().find(|passing| passing.packet == packet).unwrap();
        passing.begin = Some(self.now);
        true
    }

    /// From the start of `link` to its end, without the router there.
    fn cable(&self, link: LinkId) -> Duration {
        let pipeline = self.pipeline(Input::Channel(Channel { link, number: 0 }));
        self.topology.link(link).latency.saturating_sub(pipeline)
    }

    /// From a flit's arrival at `input` until it may leave the router there.
    fn pipeline(&self, input: Input) -> Duration {
        match input {
            Input::Process(_) | Input::Leaving(_) => Duration::ZERO,
            Input::Channel(channel) => match self.topology.link(channel.link) {
                Link { to: Node::Host(_), .. } => Duration::ZERO,
                Link { latency, .. } => latency.min(self.options.pipeline),
            },
        }
    }

    fn flit_time(&self, link: LinkId) -> Duration {
        self.topology.link(link).bandwidth.transfer(self.options.flit)
    }
}
