//! LogGP: NICs that send and receive one message after the other.
//!
//! ```text
//! sending NIC    prepares until p = max(handed over, last p) + D
//!                begins at b = max(p, free);  free again at b + max(g, n G)
//! wire           the last byte is at the receiver at a = b + L + n G
//! receiving NIC  begins at c = max(a − n G, free);  free again at c + max(g, n G);  delivered at c + n G
//! ```
//!
//! with g the hosts' `nic_gap`, D the set-up of their NICs, `1/G = min(R_C, R_N, bandwidth of the path)` and L the latency of path
//! and regime. The overhead o is time of the processor and is spent above the network. The receiving
//! NIC takes messages in the order in which their last bytes would be there. Copies between processes
//! of one host share a memory bus in the same way: each takes it for `n / total bandwidth`. Each group of a level of the
//! host has a bus of its own.
//!
//! Assumes that the fabric is never the limit. A message costs one event unless it waits at its receiver.
//!
//! Source: Alexandrov, Ionescu, Schauser, Scheiman, "LogGP: incorporating long messages into the LogP
//! model" (SPAA 1995); extends Culler et al., "LogP" (PPoPP 1993).

use std::sync::Arc;

use engine::registry::{Arguments, BuildError};
use engine::{Duration, Queue, Time, Token};

use super::alone::Alone;
use super::in_flight::{InFlight, Step, open, token};
use crate::interface::{Network, NetworkPart};
use crate::message::{Arrival, Cargo, Crossing, IdleTime, Message};
use crate::nics::Chooser;
use crate::{Fabric, HostParameters, Part};

/// LogGP, with L and G taken from the platform.
pub struct LogGP {
    alone: Alone,
    chooser: Chooser,
    /// The state of each NIC.
    stations: Vec<Station>,
    /// Time at which each memory of each host is free.
    memories: Vec<Time>,
    flight: InFlight<()>,
}

/// Times at which the parts of a NIC are free.
#[derive(Debug, Default, Clone, Copy)]
struct Station {
    /// Time at which all messages that it has so far are prepared.
    prepared: Time,
    sending: Time,
    receiving: Time,
}

impl LogGP {
    /// On `fabric`, between `hosts`.
    pub fn new(fabric: Arc<Fabric>, hosts: Arc<HostParameters>) -> LogGP {
        LogGP::of_part(fabric, hosts, &Part::whole())
    }

    /// The same for one part of the network.
    pub fn of_part(fabric: Arc<Fabric>, hosts: Arc<HostParameters>, part: &Part) -> LogGP {
        let count = fabric.topology.hosts();
        let stations = vec![Station::default(); count as usize * usize::from(hosts.nics.count)];
        let chooser = Chooser::new(hosts.nics, count);
        let memories = vec![Time::ZERO; (count * hosts.memory.groups()) as usize];
        let alone = Alone::new(fabric, hosts);
        let flight = InFlight::new(part.clone(), alone.lookahead(part));
        LogGP { alone, chooser, stations, memories, flight }
    }

    pub(super) fn build(
        _: &Arguments,
        fabric: Arc<Fabric>,
        hosts: Arc<HostParameters>,
        part: &Part,
    ) -> Result<Box<dyn Network>, BuildError> {
        Ok(Box::new(LogGP::of_part(fabric, hosts, part)))
    }

    fn copy(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        let path = self.alone.copy(message);
        let idle = path.idle(message.size);
        let bus = self.alone.memory(message).total_bandwidth.transfer(message.size);
        let free = &mut self.memories[self.alone.shared_memory(message)];
        let begin = now.max(*free);
        *free = begin + bus;
        let sent = begin + idle.transfer;
        let index = self.flight.insert(now, message, idle, ());
        self.flight.schedule(index, sent, Step::Delivered, sent + path.latency, queue);
    }

    /// The last byte would be at the receiver now; gives when it is if its NIC was busy.
    fn receive(&mut self, now: Time, index: u32) -> Option<Time> {
        let slot = self.flight.get(index);
        let transfer = slot.idle.transfer;
        let nic = self.alone.nic(slot.message.to.host, slot.message.nic_pair().to);
        let free = &mut self.stations[nic as usize].receiving;
        // Its last byte came no sooner than one transfer after the start of the run.
        let begin = Time(now.0 - transfer.0).max(*free);
        *free = begin + transfer.max(self.alone.hosts.nic_gap);
        let delivered = begin + transfer;
        (delivered > now).then_some(delivered)
    }
}

impl Network for LogGP {
    fn inject(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        if message.from.host == message.to.host {
            return self.copy(now, message, queue);
        }
        let path = self.alone.path(message);
        // n G: for so long each NIC transfers it.
        let idle @ IdleTime { transfer, .. } = path.idle(message.size);
        let (alone, stations) = (&self.alone, &mut self.stations);
        let load = |nic| stations[alone.nic(message.from.host, nic) as usize].sending.max(now).0;
        let message = &self.chooser.settle(message, load);
        let station = &mut stations[alone.nic(message.from.host, message.nic_pair().from) as usize];
        station.prepared = now.max(station.prepared) + path.setup;
        let begin = station.prepared.max(station.sending);
        station.sending = begin + transfer.max(alone.hosts.nic_gap);
        let sent = begin + transfer;
        let index = self.flight.insert(now, message, idle, ());
        self.flight.schedule(index, sent, Step::AtReceiver, sent + path.latency, queue);
    }

    fn wake(&mut self, now: Time, event: Token, queue: &mut Queue, arrivals: &mut Vec<Arrival>) {
        let (step, index, _) = open(event);
        if step == Step::AtReceiver
            && let Some(later) = self.receive(now, index)
        {
            let key = self.flight.get(index).message.key;
            return queue.place(later, key, token(Step::Delivered, index, 0));
        }
        arrivals.push(self.flight.tell(step, index));
    }

    fn prefetch(&self, token: Token) {
        self.flight.prefetch(open(token).1);
    }

    fn upcoming_cargo(&self, token: Token) -> Option<&Cargo> {
        match open(token) {
            (Step::AtReceiver | Step::Delivered, index, _) => Some(&self.flight.get(index).message.cargo),
            _ => None,
        }
    }

    fn idle_parts(&self, message: &Message) -> IdleTime {
        self.alone.path(message).idle(message.size)
    }

    fn as_part(&mut self) -> Option<&mut dyn NetworkPart> {
        Some(self)
    }
}

impl NetworkPart for LogGP {
    fn lookahead(&self) -> Duration {
        self.flight.lookahead
    }

    fn take_crossings(&mut self, crossings: &mut Vec<Crossing>) {
        crossings.append(&mut self.flight.crossings);
    }

    fn import(&mut self, crossing: &Crossing, queue: &mut Queue) {
        self.flight.import(crossing, Step::AtReceiver, (), queue);
    }
}
