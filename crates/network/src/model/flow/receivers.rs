//! Turns of short messages at their receivers.
//!
//! Packets from many senders to one receiver arrive one after the other: the first message is there long before the last, and
//! the process can take it. Here a short message (see `turns.rs`) that is the only one under way from its process takes a
//! turn at its receiver, too: the process at its NIC where the way into it can be a limit, else the NIC. While [`AT_ONCE`] flow
//! there, it waits in line behind those that asked before it; those of one instant ask in the order of their keys. While any
//! waits, the last packet of a message waits for a turn of its own.
//!
//! Messages wait for full receivers alone. If those that flow use less than 15/16 of the receiver's NIC, and of the way from it
//! into the process, as many more pass as would fill it at their rate; if it is still not full, all of them do. This is
//! decided when rates are known: where one has left or come, and after twice the time in which all that flow can be through.
//!
//! Nobody waits beside long messages: these share with four short ones, where each of many would have a share. An adaptive
//! route is found when the turn begins, by the load at that time: messages that wait are on no link.
//!
//! Source: the `packet` model, whose routers send packets one after the other. Validity: incasts of one and two packets on
//! presets end within 5 % of `packet`, within 10 % with 16 to 32 ranks (but two packets 27 to 78 % late on `nsim-torus`); those of four packets,
//! 12 % early to 20 % late (39 % on `hopper`), since routers with few inputs in use pass some messages on before others. Senders with several messages, as
//! in all-to-alls, take turns of their own, or send in turn: with turns at both ends, NICs would be idle.

use std::collections::VecDeque;

use engine::hash::Map;
use engine::{Duration, Key, Queue, Time};

use super::Flow;
use super::streams::{NONE, Streams};
use crate::message::Message;
use crate::model::in_flight::{Step, owner, token};
use crate::model::pages::Pages;
use crate::model::rate::{Rate, Work};
use crate::routing::Load;
use crate::topology::LinkId;

/// Fewest short messages that flow to a receiver while others wait.
const AT_ONCE: u32 = 4;

/// Most flows to a receiver beside which others wait.
const MOST: u32 = 64;

/// Sixteenths of a link's capacity at which it is full.
const FULL: u64 = 15;

/// Version of the events of receivers, beside those of senders.
pub(super) const RECEIVER: u32 = 1;

/// A short message asks for a turn at its receiver, or one has left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Coming {
    receiver: u32,
    has_left: bool,
    /// In this order those of an instant ask.
    key: Key,
    /// Slot of the message.
    flow: u32,
    /// Stream on which it can follow what has just ended; `NONE` if there is none.
    stream: u32,
    ways_in: WaysIn,
}

impl Coming {
    /// Entry of [`Receivers::passing`].
    fn passing(&self) -> (u32, u32) {
        (self.flow, self.stream)
    }
}

/// Places of the links into a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct WaysIn {
    /// The last one.
    last: u32,
    /// That of its NIC, which may be the same.
    nic: u32,
}

/// Messages that wait for one receiver; at least one.
#[derive(Debug)]
struct Line {
    waiting: VecDeque<u32>,
    ways_in: WaysIn,
    /// Number of flows to the receiver below which the next one passes.
    at_once: u32,
    /// Time of the event at which the line is looked at, if there is one.
    look: Time,
}

impl Line {
    fn new(ways_in: WaysIn) -> Line {
        Line { waiting: VecDeque::new(), ways_in, at_once: AT_ONCE, look: Time::NEVER }
    }

    /// Number of messages that may pass beside `load` flows.
    fn passes(&self, load: u32) -> usize {
        self.waiting.len().min(self.at_once.saturating_sub(load) as usize)
    }
}

/// All receivers, by number: NICs, or the processes at each where the ways into them can be limits.
#[derive(Debug)]
pub(super) struct Receivers {
    /// Lines of those for which messages wait.
    lines: Map<u32, Line>,
    /// Messages that come in this instant, their receivers, and the streams on which they can follow others, if they can.
    coming: Vec<(u32, u32, u32)>,
    /// Number of those to each receiver that follow no others.
    counts: Pages<u32>,
    /// Messages that ask for a turn in this instant, or have had theirs, where not all that come can flow.
    asking: Vec<Coming>,
    /// Receivers with lines that are to be looked at when rates are known.
    looks: Vec<u32>,
    /// Messages that have got their turn, and the streams on which they follow others, if they do; working memory.
    passing: Vec<(u32, u32)>,
}

impl Receivers {
    /// Nobody waits.
    pub fn new() -> Receivers {
        Receivers {
            lines: Map::default(),
            coming: Vec::new(),
            counts: Pages::new(0),
            asking: Vec::new(),
            looks: Vec::new(),
            passing: Vec::new(),
        }
    }

    /// An event of `receiver` has come.
    pub fn look(&mut self, receiver: u32, now: Time) {
        if let Some(line) = self.lines.get_mut(&receiver).filter(|line| line.look == now) {
            line.look = Time::NEVER;
            self.looks.push(receiver);
        }
    }
}

impl Flow {
    /// Number of the receiver of `message`.
    #[inline]
    fn receiver(&self, message: &Message) -> u32 {
        let (links, to, nic) = (&self.streams.links, message.to, message.nic_pair().to);
        if links.has_ways_in() { links.process_at(to, nic) } else { links.nic(to.host, nic) }
    }

    /// The last link and that of the NIC of all routes of `message`, which may be the same.
    #[inline]
    fn links_in(&self, message: &Message) -> [LinkId; 2] {
        let (to, nic) = (message.to, message.nic_pair().to);
        let of_nic = self.alone.fabric.topology.nic_down(to.host, nic);
        [self.streams.links.way_in(to, nic).unwrap_or(of_nic), of_nic]
    }

    /// The places of the links into the receiver of `message`.
    fn ways_in(&mut self, message: &Message) -> WaysIn {
        let links_in = self.links_in(message);
        let Streams { links, classes, .. } = &mut self.streams;
        let [last, nic] = links_in.map(|link| links.place(link, &self.alone, classes));
        WaysIn { last, nic }
    }

    /// True if short messages wait for the receiver of `message`, which comes from another host.
    #[inline]
    pub(super) fn are_awaited_beside(&self, message: &Message) -> bool {
        !self.receivers.lines.is_empty() && self.receivers.lines.contains_key(&self.receiver(message))
    }

    /// The `message` flows no longer: another may flow to its receiver.
    #[inline]
    pub(super) fn leave_receiver(&mut self, message: &Message) {
        if message.from.host != message.to.host && self.are_awaited_beside(message) {
            let (receiver, key, ways_in) = (self.receiver(message), message.key, self.ways_in(message));
            let left = Coming { receiver, has_left: true, key, flow: NONE, stream: NONE, ways_in };
            self.receivers.asking.push(left);
        }
    }

    /// The short message in slot `flow`, the only one under way from its process, comes to its receiver: on a stream that has
    /// no flow, or behind what has just ended on `stream`.
    #[inline]
    pub(super) fn come(&mut self, flow: u32, stream: u32) {
        let receiver = self.receiver(&self.flight.get(flow).message);
        if stream == NONE {
            self.receivers.counts[receiver] += 1;
        } else {
            self.streams.all[stream as usize].flow = flow;
        }
        self.receivers.coming.push((flow, receiver, stream));
    }

    /// True if messages come to receivers, or have left some with lines.
    pub(super) fn has_comings(&self) -> bool {
        !(self.receivers.coming.is_empty() && self.receivers.asking.is_empty())
    }

    /// At the end of an instant: those that wait get turns where others have left, then those that have come.
    pub(super) fn pass_receivers(&mut self, now: Time, queue: &mut Queue) {
        let mut coming = std::mem::take(&mut self.receivers.coming);
        for (flow, receiver, stream) in coming.drain(..) {
            self.flow_or_ask(now, (flow, receiver), stream, queue);
        }
        self.receivers.coming = coming;
        if self.receivers.asking.is_empty() {
            return;
        }
        let mut asking = std::mem::take(&mut self.receivers.asking);
        asking.sort_unstable();
        for group in asking.chunk_by(|one, next| one.receiver == next.receiver) {
            self.pass_receiver(now, group);
        }
        asking.clear();
        self.receivers.asking = asking;
        self.let_pass(now, queue);
    }

    /// Lets the message in slot `flow` flow, behind what has just ended on stream `before` if there is one, where all that come
    /// to its receiver can; else it asks for a turn.
    fn flow_or_ask(&mut self, now: Time, (flow, receiver): (u32, u32), before: u32, queue: &mut Queue) {
        let [last, _] = self.links_in(&self.flight.get(flow).message);
        let load = self.streams.links.of(last);
        let count = &mut self.receivers.counts[receiver];
        if load + u64::from(*count) > AT_ONCE.into() || !self.receivers.lines.is_empty() {
            return self.ask_receiver(now, (flow, receiver), before, queue);
        }
        if before == NONE {
            *count -= 1;
            self.advance(now, flow, queue);
        } else {
            self.follow(now, before, flow, queue);
        }
    }

    /// The message in slot `flow` asks for a turn at its receiver, if it takes time.
    fn ask_receiver(&mut self, now: Time, (flow, receiver): (u32, u32), stream: u32, queue: &mut Queue) {
        let message = self.flight.get(flow).message;
        let Message { regime, key, .. } = message;
        let ways_in = self.ways_in(&message);
        let takes_time = [ways_in.last, ways_in.nic].iter().any(|at| self.streams.limits(*at, regime));
        self.receivers.asking.push(Coming { receiver, has_left: !takes_time, key, flow, stream, ways_in });
        if !takes_time && stream != NONE {
            self.follow(now, stream, flow, queue);
        } else if !takes_time {
            self.advance(now, flow, queue);
        }
    }

    /// All that ask for a turn at one receiver, or have left it: as many as may get a turn, the others wait.
    fn pass_receiver(&mut self, now: Time, group: &[Coming]) {
        let Coming { receiver, ways_in, .. } = group[0];
        let comings = &group[..group.partition_point(|coming| !coming.has_left)];
        let following = comings.iter().filter(|coming| coming.stream != NONE).count();
        let load = self.streams.links.all[ways_in.last as usize].load - following as u32;
        let is_awaited = self.receivers.lines.contains_key(&receiver);
        let have_room = !is_awaited && load as usize + comings.len() <= AT_ONCE as usize;
        let are_beside_long = !have_room && self.has_long_ones(ways_in.last);
        let Receivers { lines, counts, passing, looks, .. } = &mut self.receivers;
        counts[receiver] = 0;
        if have_room || (are_beside_long && !is_awaited) {
            return passing.extend(comings.iter().map(Coming::passing));
        }
        let line = lines.entry(receiver).or_insert_with(|| Line::new(ways_in));
        if are_beside_long {
            line.at_once = u32::MAX;
        }
        let before = line.waiting.len();
        line.waiting.extend(comings.iter().map(|coming| coming.flow));
        let passes = line.passes(load);
        let (pass, wait) = comings.split_at(passes.saturating_sub(before));
        passing.extend(line.waiting.drain(..passes).take(before).map(|flow| (flow, NONE)));
        passing.extend(pass.iter().map(Coming::passing));
        match line.waiting.is_empty() {
            true => drop(lines.remove(&receiver)),
            false => looks.push(receiver),
        }
        let ended = wait.iter().map(|coming| coming.stream).filter(|stream| *stream != NONE);
        ended.for_each(|stream| self.streams.end(now, stream));
    }

    /// True if long messages flow by the way `at` into a receiver, or too many to look at.
    fn has_long_ones(&self, at: u32) -> bool {
        let is_long = |stream: u32| {
            let message = &self.flight.get(self.streams.all[stream as usize].flow).message;
            !self.turns.has(message.size)
        };
        self.streams.links.all[at as usize].load > MOST || self.streams.on(at).any(is_long)
    }

    /// Lets those flow that have got their turn: how long it is depends on whether others wait.
    fn let_pass(&mut self, now: Time, queue: &mut Queue) {
        let mut passing = std::mem::take(&mut self.receivers.passing);
        for (flow, stream) in passing.drain(..) {
            match stream {
                NONE => self.advance(now, flow, queue),
                _ => self.follow(now, stream, flow, queue),
            }
        }
        self.receivers.passing = passing;
    }

    /// At the end of an instant, when rates are known: lets others pass where they are not full, all if that is not enough.
    pub(super) fn fill_receivers(&mut self, now: Time, queue: &mut Queue) {
        if self.receivers.looks.is_empty() {
            return;
        }
        for pass_all in [false, true, true] {
            let mut looks = std::mem::take(&mut self.receivers.looks);
            looks.sort_unstable();
            looks.dedup();
            looks.drain(..).for_each(|receiver| self.fill(now, receiver, pass_all, queue));
            if self.receivers.looks.is_empty() {
                self.receivers.looks = looks;
            }
            if self.receivers.passing.is_empty() {
                return;
            }
            self.let_pass(now, queue);
            self.streams.spread_slack();
            self.solve(now);
        }
    }

    /// Gives turns to those that wait for `receiver`, if it is not full; else it is looked at again when its NIC can be through.
    fn fill(&mut self, now: Time, receiver: u32, pass_all: bool, queue: &mut Queue) {
        let Some(line) = self.receivers.lines.get_mut(&receiver) else { return };
        let WaysIn { last, nic } = line.ways_in;
        let more = match self.streams.room(last) {
            more if last == nic => more,
            more => more.min(self.streams.room(nic)),
        };
        if more == 0 {
            if line.look == Time::NEVER {
                line.look = now + self.streams.time_of_all_twice(now, last);
                let host = self.flight.get(line.waiting[0]).message.to.host;
                queue.push(line.look, owner(host), token(Step::Turn, receiver, RECEIVER));
            }
            return;
        }
        let load = self.streams.links.all[last as usize].load;
        line.at_once = if pass_all { u32::MAX } else { load.saturating_add(more) };
        let passes = line.passes(load);
        self.receivers.passing.extend(line.waiting.drain(..passes).map(|flow| (flow, NONE)));
        match line.waiting.is_empty() {
            true => drop(self.receivers.lines.remove(&receiver)),
            false => self.receivers.looks.push(receiver),
        }
    }
}

impl Streams {
    /// Number of flows like those on link `at` that it has room for beside them; none if it is all but full.
    fn room(&self, at: u32) -> u32 {
        let class = self.links.all[at as usize].class;
        let takes = |stream: u32| {
            let regime = self.all[stream as usize].regime;
            self.classes.weight(class, regime).takes(self.rate(stream))
        };
        let (used, capacity) = (self.on(at).map(takes).sum::<u64>(), self.links.capacities[at as usize]);
        if used >= capacity / 16 * FULL {
            return 0;
        }
        let more = u128::from(self.links.all[at as usize].load) * u128::from(capacity - used);
        u32::try_from(more / u128::from(used.max(1))).map_or(u32::MAX, |more| more.max(1))
    }

    /// Twice the time in which link `at` can be through with all its flows.
    fn time_of_all_twice(&self, now: Time, at: u32) -> Duration {
        let left = self.on(at).map(|stream| self.left(stream, now)).fold(Work::ZERO, Work::more);
        left.more(left).time(Rate(self.links.capacities[at as usize])).max(Duration(1))
    }
}
