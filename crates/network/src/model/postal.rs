//! The postal model: every message as if it were alone.
//!
//! ```text
//! T(n) = s + n / R,   s = set-up of the NIC, latency of path and regime,   R = min(R_C, R_N, bandwidth of the path)
//! ```
//!
//! Assumes that messages never meet: not in the fabric, not at a NIC (one or several are the same), not in a process. It holds for
//! one pair of processes at a time; with k senders on a host it is wrong by up to a factor k.
//!
//! Source: Hockney, "The communication challenge for MPP" (Parallel Computing 20, 1994), as "classic
//! performance model" in Gropp, Olson, Samfass (EuroMPI 2016).

use std::sync::Arc;

use engine::registry::{Arguments, BuildError};
use engine::{Duration, Queue, Time, Token};

use super::alone::Alone;
use super::in_flight::{InFlight, Step, open};
use crate::interface::{Network, NetworkPart};
use crate::message::{Arrival, Crossing, IdleTime, Message};
use crate::{Fabric, HostParameters, Part};

/// Messages that never meet.
pub struct Postal {
    alone: Alone,
    flight: InFlight<()>,
}

impl Postal {
    /// On `fabric`, between `hosts`.
    pub fn new(fabric: Arc<Fabric>, hosts: Arc<HostParameters>) -> Postal {
        Postal::of_part(fabric, hosts, &Part::whole())
    }

    /// The same for one part of the network.
    pub fn of_part(fabric: Arc<Fabric>, hosts: Arc<HostParameters>, part: &Part) -> Postal {
        let alone = Alone::new(fabric, hosts);
        let flight = InFlight::new(part.clone(), alone.lookahead(part));
        Postal { alone, flight }
    }

    pub(super) fn build(
        _: &Arguments,
        fabric: Arc<Fabric>,
        hosts: Arc<HostParameters>,
        part: &Part,
    ) -> Result<Box<dyn Network>, BuildError> {
        Ok(Box::new(Postal::of_part(fabric, hosts, part)))
    }
}

impl Network for Postal {
    fn inject(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        let path = self.alone.path(message);
        let idle = path.idle(message.size);
        let sent = now + path.setup + idle.transfer;
        let index = self.flight.insert(now, message, idle, ());
        self.flight.schedule(index, sent, Step::Delivered, sent + path.latency, queue);
    }

    fn wake(&mut self, _now: Time, token: Token, _queue: &mut Queue, arrivals: &mut Vec<Arrival>) {
        let (step, index, _) = open(token);
        arrivals.push(self.flight.tell(step, index));
    }

    fn idle_parts(&self, message: &Message) -> IdleTime {
        self.alone.path(message).idle(message.size)
    }

    fn as_part(&mut self) -> Option<&mut dyn NetworkPart> {
        Some(self)
    }
}

impl NetworkPart for Postal {
    fn lookahead(&self) -> Duration {
        self.flight.lookahead
    }

    fn take_crossings(&mut self, crossings: &mut Vec<Crossing>) {
        crossings.append(&mut self.flight.crossings);
    }

    fn import(&mut self, crossing: &Crossing, queue: &mut Queue) {
        self.flight.import(crossing, Step::Delivered, (), queue);
    }
}
