//! The max-rate model: the processes of a host share its NIC.
//!
//! ```text
//! T(k, n) = s + k n / min(R_N, R_Cb + (k−1) R_Ci)        k processes of a host send n bytes each
//! ```
//!
//! s is the set-up of the NIC and the latency of path and regime, R_Cb the `process_rate`, R_Ci = R_Cb + `process_rate_change`;
//! with R_Ci = R_Cb these are the three-parameter model's min(R_N, k R_C). The formula is for equal
//! messages that start together. Simulated is what yields it for any others: with k processes active,
//!
//! ```text
//! each process i sends one message after the other, at x_i ≤ c_i = (R_Cb + (k−1) R_Ci) / k
//! the NIC's time is shared evenly:                   Σ x_i / R_N,i ≤ 1, the rest max-min fair
//! ```
//!
//! where R_C and R_N are those of each message's regime. The NIC and its link are one: R_N is the narrower of the
//! regime's `nic_rate` and the link's bandwidth for payload. c_i is at most the bandwidth of the path. Copies between
//! processes of one host share its memory by the same law: c = bandwidth, R_N = total bandwidth. Where a host has levels,
//! the copies of each group of a level share that group's.
//!
//! Each NIC of a host is such a station by itself: k is the number of processes that send over it, and a process sends
//! one message after the other over each, to whatever partners, since the formula knows no other order. The set-up of a
//! NIC does not delay the end of a transfer: it is added to the latency.
//!
//! Assumes that neither fabric nor receivers are ever the limit. Where R_Ci < 0 makes the aggregate rate
//! negative, it stays at its last positive value.
//!
//! Source: Gropp, Olson, Samfass, "Modeling MPI communication performance on SMP nodes: is it time to
//! retire the ping pong test" (EuroMPI 2016).

use std::sync::Arc;

use engine::registry::{Arguments, BuildError};
use engine::{Bandwidth, Duration, Queue, Time, Token};

use super::alone::Alone;
use super::in_flight::{InFlight, Slot, Step, VERSIONS, open, owner, token};
use super::process_rates::ProcessRates;
use super::rate::{Rate, Work, fair_share};
use crate::interface::{Network, NetworkPart};
use crate::message::{Arrival, Crossing, IdleTime, Message};
use crate::nics::Chooser;
use crate::topology::HostId;
use crate::{Fabric, HostParameters, Part};

const NONE: u32 = u32::MAX;

/// The max-rate model with three or four parameters for each regime.
pub struct MaxRate {
    alone: Alone,
    rates: HostRates,
    chooser: Chooser,
    /// Stations: of each host its NICs, then its memory.
    stations: Vec<Station>,
    flight: InFlight<Transfer>,
    /// The active messages of the station in hand.
    active: Vec<u32>,
}

/// A NIC or a memory: the messages that are being sent, at most one for each process.
#[derive(Debug, Clone, Copy)]
struct Station {
    /// The list of those messages, linked through [`Transfer::next_active`].
    first: u32,
    active: u32,
    /// Those, and the messages that wait behind them.
    messages: u32,
    /// The version of its event that counts.
    version: u32,
    /// Time at which it last took stock.
    since: Time,
    /// Time at which its event is due; [`Time::NEVER`] without.
    wakes: Time,
}

const IDLE: Station =
    Station { first: NONE, active: 0, messages: 0, version: 0, since: Time::ZERO, wakes: Time::NEVER };

/// State of a message.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    left: Work,
    rate: Rate,
    /// The most that its path allows.
    limit: Rate,
    next_active: u32,
    /// The process's next message; of an active one also the last.
    next_queued: u32,
    last_queued: u32,
}

/// State of a message that comes from another part of the network: it has left its station.
const ARRIVING: Transfer = Transfer {
    left: Work::ZERO,
    rate: Rate(0),
    limit: Rate(0),
    next_active: NONE,
    next_queued: NONE,
    last_queued: NONE,
};

/// State of a message at its station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Active,
    /// Behind another of its process.
    Waiting,
}

impl MaxRate {
    /// On `fabric`, between `hosts`.
    pub fn new(fabric: Arc<Fabric>, hosts: Arc<HostParameters>) -> MaxRate {
        MaxRate::of_part(fabric, hosts, &Part::whole())
    }

    /// The same for one part of the network.
    pub fn of_part(fabric: Arc<Fabric>, hosts: Arc<HostParameters>, part: &Part) -> MaxRate {
        let count = fabric.topology.hosts();
        let stations = vec![IDLE; (usize::from(hosts.nics.count) + 1) * count as usize];
        let chooser = Chooser::new(hosts.nics, count);
        let alone = Alone::new(fabric, hosts);
        let rates = HostRates::new(&alone);
        let flight = InFlight::new(part.clone(), alone.lookahead(part));
        MaxRate { alone, rates, chooser, stations, flight, active: Vec::new() }
    }

    pub(super) fn build(
        _: &Arguments,
        fabric: Arc<Fabric>,
        hosts: Arc<HostParameters>,
        part: &Part,
    ) -> Result<Box<dyn Network>, BuildError> {
        Ok(Box::new(MaxRate::of_part(fabric, hosts, part)))
    }

    /// Brings a station forward to `now`.
    fn advance(&mut self, now: Time, station: usize, queue: &mut Queue) {
        self.settle(now, station);
        self.finish(now, station, queue);
        self.share(now, station, queue);
    }

    /// Puts a message behind those of its process, or among the active ones.
    fn enqueue(&mut self, station: usize, index: u32) -> Place {
        let process = self.flight.get(index).message.from.process;
        self.stations[station].messages += 1;
        let mut other = self.stations[station].first;
        while other != NONE {
            let slot = self.flight.get(other);
            let (last, next) = (slot.state.last_queued, slot.state.next_active);
            if slot.message.from.process == process {
                let behind = if last == NONE { other } else { last };
                self.flight.get_mut(behind).state.next_queued = index;
                self.flight.get_mut(other).state.last_queued = index;
                return Place::Waiting;
            }
            other = next;
        }
        self.activate(station, index);
        Place::Active
    }

    fn activate(&mut self, station: usize, index: u32) {
        let station = &mut self.stations[station];
        self.flight.get_mut(index).state.next_active = station.first;
        station.first = index;
        station.active += 1;
    }

    /// Takes stock of what has been sent since the last time, and lists the active messages.
    fn settle(&mut self, now: Time, station: usize) {
        let elapsed = now.since(self.stations[station].since);
        self.stations[station].since = now;
        self.active.clear();
        let mut index = self.stations[station].first;
        while index != NONE {
            let state = &mut self.flight.get_mut(index).state;
            // An infinite rate takes no time.
            let is_instant = state.rate == Rate::INFINITE;
            state.left = if is_instant { Work::ZERO } else { state.left.less(state.rate.during(elapsed)) };
            self.active.push(index);
            index = state.next_active;
        }
    }

    /// Lets go of what is sent, and lets the next message of each such process begin.
    fn finish(&mut self, now: Time, station: usize, queue: &mut Queue) {
        self.stations[station].first = NONE;
        self.stations[station].active = 0;
        for position in 0..self.active.len() {
            let mut index = self.active[position];
            while self.flight.get(index).state.left == Work::ZERO {
                let Slot { idle, state: Transfer { next_queued, last_queued, .. }, .. } =
                    *self.flight.get(index);
                self.stations[station].messages -= 1;
                self.flight.schedule(index, now, Step::Delivered, now + idle.latency, queue);
                index = next_queued;
                if index == NONE {
                    break;
                }
                let last = if last_queued == index { NONE } else { last_queued };
                self.flight.get_mut(index).state.last_queued = last;
            }
            if index != NONE {
                self.activate(station, index);
            }
        }
    }

    /// Shares the station among its active messages and asks to be woken at the next end.
    fn share(&mut self, now: Time, station: usize, queue: &mut Queue) {
        self.active.clear();
        let mut index = self.stations[station].first;
        while index != NONE {
            self.active.push(index);
            index = self.flight.get(index).state.next_active;
        }
        let count = self.active.len();
        if count == 0 {
            return;
        }
        let nics = usize::from(self.alone.hosts.nics.count);
        let of_memory = station % (nics + 1) == nics;
        let (rates, flight) = (self.rates.of(station / (nics + 1)), &mut self.flight);
        let kind =
            |index: u32, flight: &InFlight<Transfer>| rates.kind(&flight.get(index).message, of_memory);
        for index in &self.active {
            let kind = kind(*index, flight);
            let state = &mut flight.get_mut(*index).state;
            state.rate = rates.process(kind, count).min(state.limit);
        }
        let memory = &self.alone.hosts.memory;
        let group = |index: u32, flight: &InFlight<Transfer>| {
            let message = &flight.get(index).message;
            if of_memory { memory.group_of(message.regime, message.from.process) } else { 0 }
        };
        self.active.sort_unstable_by_key(|index| (group(*index, flight), flight.get(*index).state.rate));
        let (mut next, mut rest) = (Duration(u64::MAX), &self.active[..]);
        while let Some(first) = rest.first() {
            let own = group(*first, flight);
            let end = rest.partition_point(|index| group(*index, flight) == own);
            let (sharing, others) = rest.split_at(end);
            next = next.min(share_evenly(rates, sharing, kind, flight));
            rest = others;
        }
        self.wake_at(now + next, station, queue);
    }

    /// An event that comes too early costs less than one that is replaced: it is asked for again.
    fn wake_at(&mut self, at: Time, station: usize, queue: &mut Queue) {
        let state = &mut self.stations[station];
        if state.wakes <= at {
            return;
        }
        state.wakes = at;
        state.version = (state.version + 1) % VERSIONS;
        let host = HostId((station / (usize::from(self.alone.hosts.nics.count) + 1)) as u32);
        queue.push(at, owner(host), token(Step::Drained, station as u32, state.version));
    }
}

/// Shares a NIC, or the memory of a group, among the messages `sharing`, by ascending rate of their paths. Gives the time to
/// the next end.
fn share_evenly(
    rates: &ProcessRates,
    sharing: &[u32],
    kind: impl Fn(u32, &InFlight<Transfer>) -> usize,
    flight: &mut InFlight<Transfer>,
) -> Duration {
    let mut capacity = rates.reference(kind(sharing[0], flight)).0;
    let mut weight: u64 = sharing.iter().map(|index| rates.weight(kind(*index, flight)).0).sum();
    let (mut level, mut next) = (Rate::INFINITE, Duration(u64::MAX));
    // Whoever cannot use the even share leaves the rest to the others.
    for index in sharing {
        let own = rates.weight(kind(*index, flight));
        let state = &mut flight.get_mut(*index).state;
        if own.0 > 0 && level == Rate::INFINITE {
            let share = fair_share(capacity, weight);
            if share < state.rate {
                level = share;
            }
            capacity -= own.takes(state.rate).min(capacity);
            weight -= own.0;
        }
        if own.0 > 0 {
            state.rate = state.rate.min(level);
        }
        next = next.min(state.left.time(state.rate));
    }
    next
}

/// Rates of all hosts. Most platforms have one kind of NIC; the hosts of a graph may have links of several bandwidths.
struct HostRates {
    kinds: Vec<ProcessRates>,
    /// Kind of each host; empty if there is only one.
    hosts: Vec<u16>,
}

impl HostRates {
    fn new(alone: &Alone) -> HostRates {
        let topology = &*alone.fabric.topology;
        let mut links: Vec<Bandwidth> = Vec::new();
        let mut hosts = Vec::with_capacity(topology.hosts() as usize);
        for host in 0..topology.hosts() {
            let link = topology.link(topology.nic_up(HostId(host), 0)).bandwidth;
            let kind = links.iter().rposition(|known| *known == link).unwrap_or_else(|| {
                links.push(link);
                links.len() - 1
            });
            hosts.push(u16::try_from(kind).expect("fewer than 65,536 kinds of links"));
        }
        if links.len() <= 1 {
            hosts = Vec::new();
        }
        let rates = |link: &Bandwidth| ProcessRates::new(&alone.hosts, alone.payload_bandwidth(*link));
        HostRates { kinds: links.iter().map(rates).collect(), hosts }
    }

    fn of(&self, host: usize) -> &ProcessRates {
        &self.kinds[usize::from(self.hosts.get(host).copied().unwrap_or(0))]
    }
}

impl Network for MaxRate {
    fn inject(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        let path = self.alone.path(message);
        let (limit, idle) = (Rate::of(path.bandwidth), path.idle(message.size));
        let transfer = Transfer { left: Work::of(message.size), limit, ..ARRIVING };
        let stations = usize::from(self.alone.hosts.nics.count) + 1;
        let first = stations * message.from.host.0 as usize;
        let (station, index) = if message.from.host == message.to.host {
            (first + stations - 1, self.flight.insert(now, message, idle, transfer))
        } else {
            let load = |nic| u64::from(self.stations[first + usize::from(nic)].messages);
            let message = self.chooser.settle(message, load);
            let index = self.flight.insert(now, &message, idle, transfer);
            (first + usize::from(message.nic_pair().from), index)
        };
        if self.enqueue(station, index) == Place::Active {
            self.advance(now, station, queue);
        }
    }

    fn wake(&mut self, now: Time, event: Token, queue: &mut Queue, arrivals: &mut Vec<Arrival>) {
        let (step, index, version) = open(event);
        match step {
            Step::Drained => {
                let station = index as usize;
                if version == self.stations[station].version {
                    self.stations[station].wakes = Time::NEVER;
                    self.advance(now, station, queue);
                }
            }
            _ => arrivals.push(self.flight.tell(step, index)),
        }
    }

    fn idle_parts(&self, message: &Message) -> IdleTime {
        self.alone.path(message).idle(message.size)
    }

    fn as_part(&mut self) -> Option<&mut dyn NetworkPart> {
        Some(self)
    }
}

impl NetworkPart for MaxRate {
    fn lookahead(&self) -> Duration {
        self.flight.lookahead
    }

    fn take_crossings(&mut self, crossings: &mut Vec<Crossing>) {
        crossings.append(&mut self.flight.crossings);
    }

    fn import(&mut self, crossing: &Crossing, queue: &mut Queue) {
        self.flight.import(crossing, Step::Delivered, ARRIVING, queue);
    }
}
