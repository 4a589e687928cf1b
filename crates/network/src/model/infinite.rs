//! The infinite network: every message arrives at the instant at which it was handed over.
//!
//! ```text
//! T(n) = 0
//! ```
//!
//! Links, NICs and memory take no time; the software overheads of MPI, which the processes spend, remain. It is the null
//! model of a validation: a prediction that it makes as well as another model does not test that model. The difference
//! between a run with it and the same run on a real network is the cost of communication.
//!
//! It has no assumptions: no network is faster.
//!
//! Source: the ideal network of Dimemas (Girona, Labarta, Badia, "Validation of Dimemas communication model for MPI
//! collective operations", EuroPVM/MPI 2000), on which transfer efficiency is measured.

use std::sync::Arc;

use engine::registry::{Arguments, BuildError};
use engine::{Duration, Queue, Time, Token};

use super::in_flight::{InFlight, Step, open};
use crate::interface::Network;
use crate::message::{Arrival, IdleTime, Message};
use crate::{Fabric, HostParameters, Part};

/// Messages that take no time.
pub struct Infinite {
    flight: InFlight<()>,
}

impl Infinite {
    pub(super) fn build(
        _: &Arguments,
        _: Arc<Fabric>,
        _: Arc<HostParameters>,
        part: &Part,
    ) -> Result<Box<dyn Network>, BuildError> {
        assert!(part.is_whole(), "an infinite network cannot be cut");
        Ok(Box::new(Infinite { flight: InFlight::new(Part::whole(), Duration::ZERO) }))
    }
}

impl Network for Infinite {
    fn inject(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        let index = self.flight.insert(now, message, IdleTime::default(), ());
        self.flight.schedule(index, now, Step::Delivered, now, queue);
    }

    fn wake(&mut self, _now: Time, token: Token, _queue: &mut Queue, arrivals: &mut Vec<Arrival>) {
        let (step, index, _) = open(token);
        arrivals.push(self.flight.tell(step, index));
    }

    fn idle_parts(&self, _message: &Message) -> IdleTime {
        IdleTime::default()
    }

    fn takes_time(&self) -> bool {
        false
    }
}
