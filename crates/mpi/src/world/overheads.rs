//! CPU times of the messages of a rank, and messages that are held back.

use engine::{Bytes, Duration, Lane, LinearTime, Owner};
use network::{Arrival, Delays, Happening, HostParameters, IdleTime, Message, Network};

use crate::message_noise::Purpose;
use crate::operation::Rank;
use crate::world::flight::Flight;
use crate::world::index::LateIndex;
use crate::world::noise::Section;
use crate::world::protocol_message::{Ends, ProtocolMessage};
use crate::world::{Context, Wake, World};

impl World {
    /// CPU time of `rank` to send `size` bytes to `other`.
    #[inline(always)]
    pub(super) fn send_overhead(&mut self, rank: Rank, other: Rank, size: Bytes) -> Duration {
        self.overhead(rank, other, size, Purpose::Send)
    }

    /// CPU time of `rank` to receive `size` bytes from `other`.
    #[inline(always)]
    pub(super) fn receive_overhead(&mut self, rank: Rank, other: Rank, size: Bytes) -> Duration {
        self.overhead(rank, other, size, Purpose::Receive)
    }

    /// CPU time of a call of `rank` that begins to send `size` bytes to `other`, where that has a time of its own.
    pub(super) fn begin_overhead(&mut self, rank: Rank, other: Rank, size: Bytes) -> Option<Duration> {
        if !self.begins_apart {
            return None;
        }
        let (time, section) = self.find(rank, other, size, Purpose::Isend);
        Some(self.spend(rank, time?.of(size), section, Purpose::Isend))
    }

    /// The time for `purpose`, which every regime has.
    #[inline(always)]
    fn overhead(&mut self, rank: Rank, other: Rank, size: Bytes, purpose: Purpose) -> Duration {
        let (time, section) = self.find(rank, other, size, purpose);
        self.spend(rank, time.expect("every regime has it").of(size), section, purpose)
    }

    /// The time for `purpose`, without noise, and the section of the platform that says it.
    #[inline(always)]
    fn find(&self, one: Rank, other: Rank, size: Bytes, purpose: Purpose) -> (Option<LinearTime>, Section) {
        match self.copies_have_overheads && self.are_together(one, other) {
            true => self.within_host(one, other, size, purpose),
            false => self.between_hosts(size, purpose),
        }
    }

    /// The time for `purpose` of two ranks of one host: that of the regime of copies at their level, or of the host itself,
    /// if one of them says it; else that of the regime between hosts.
    #[inline(never)]
    fn within_host(
        &self,
        one: Rank,
        other: Rank,
        size: Bytes,
        purpose: Purpose,
    ) -> (Option<LinearTime>, Section) {
        let memory = &self.setup.host.memory;
        let [one, other] = [one, other].map(|rank| self.setup.placement[rank.0 as usize].process);
        for place in [memory.regime_between(one, other, size), memory.regime_of(size)] {
            let regime = &memory.regimes[place];
            let own = match purpose {
                Purpose::Send => regime.send_overhead,
                Purpose::Isend => regime.isend_overhead,
                Purpose::Receive => regime.receive_overhead,
                Purpose::Latency => unreachable!("no CPU time"),
            };
            if own.is_some() || purpose == Purpose::Isend && regime.send_overhead.is_some() {
                return (own, Section::Memory(place));
            }
        }
        self.between_hosts(size, purpose)
    }

    /// The time for `purpose` of the regime between hosts; some have none for calls that begin to send.
    #[inline(always)]
    fn between_hosts(&self, size: Bytes, purpose: Purpose) -> (Option<LinearTime>, Section) {
        let place = self.setup.host.regime_of(size);
        let regime = &self.setup.host.regimes[place];
        let time = match purpose {
            Purpose::Send => Some(regime.send_overhead),
            Purpose::Isend => regime.isend_overhead,
            Purpose::Receive => Some(regime.receive_overhead),
            Purpose::Latency => unreachable!("no CPU time"),
        };
        (time, Section::Network(place))
    }

    /// `base` with what noise adds.
    #[inline(always)]
    fn spend(&mut self, rank: Rank, base: Duration, section: Section, purpose: Purpose) -> Duration {
        match self.noise.as_mut().and_then(|noise| noise.of(section, purpose)) {
            None => base,
            Some(drawing) => drawing.around(base, rank),
        }
    }
}

/// True if a regime has latency that overlaps with the network's work.
pub(super) fn overlap_of(host: &HostParameters) -> bool {
    host.regimes.iter().any(|regime| regime.overlapped_latency > Duration::ZERO)
}

/// True if a regime has a time of its own for calls that begin to send.
pub(super) fn begins_apart(host: &HostParameters) -> bool {
    host.regimes.iter().any(|regime| regime.isend_overhead.is_some())
        || host.memory.regimes.iter().any(|regime| regime.isend_overhead.is_some())
}

/// A message that the network has delivered, and that is held back.
pub(super) struct Late {
    /// With the time that it is held back, and that overlapped with the network's, as a part of its latency.
    arrival: Arrival,
    /// Delays of it on the network.
    delays: Delays,
}

impl World {
    /// Time that `message` takes on an idle network, with latency that overlaps with the network's work.
    pub(super) fn idle_parts(&self, message: &Message, network: &dyn Network) -> IdleTime {
        let idle = network.idle_parts(message);
        IdleTime { latency: idle.latency + self.beyond_network(message, idle, network), ..idle }
    }

    /// The part of `message`'s own time that is not over when it has passed an idle network in `idle`.
    fn beyond_network(&self, message: &Message, idle: IdleTime, network: &dyn Network) -> Duration {
        if message.from.host == message.to.host {
            return Duration::ZERO;
        }
        let regime = &self.setup.host.regimes[usize::from(message.regime)];
        if regime.overlapped_latency == Duration::ZERO || !network.takes_time() {
            return Duration::ZERO;
        }
        regime.own_time(message.size).saturating_sub(idle.transfer)
    }

    /// Holds back a message that the network delivers now, until its own time is over and as long as noise says. False if
    /// neither concerns it.
    pub(super) fn hold_back(&mut self, arrival: &Arrival, context: &mut Context) -> bool {
        if arrival.happening != Happening::Delivered {
            return false;
        }
        let mut arrival = *arrival;
        let message = &arrival.message;
        let beyond = self.beyond_network(message, arrival.idle, &*context.network);
        let noise = self.latency_noise(message);
        if beyond + noise == Duration::ZERO {
            return false;
        }
        let flown = context.now.since(arrival.injected);
        arrival.idle.latency += beyond;
        let early =
            if beyond == Duration::ZERO { beyond } else { arrival.idle.total().saturating_sub(flown) };
        let delays = context.network.delays(message, Flight::new(flown, arrival.idle).contention);
        arrival.idle.latency += noise;
        let late = early + noise;
        if late == Duration::ZERO {
            self.deliver_now(Late { arrival, delays }, context);
            return true;
        }
        let owner = Owner::new(Lane::Rank, Ends::of(&arrival.message.cargo).dest.0);
        let index = self.late.insert(Late { arrival, delays });
        context.queue.push(context.now + late, owner, Wake::Late(index).encode());
        true
    }

    /// Latency that noise adds to `message`.
    fn latency_noise(&mut self, message: &Message) -> Duration {
        let Some(noise) = &mut self.noise else { return Duration::ZERO };
        let dest = Ends::of(&message.cargo).dest;
        match noise.of(Section::of(message), Purpose::Latency) {
            None => Duration::ZERO,
            Some(drawing) => drawing.around(Duration::ZERO, dest),
        }
    }

    /// A message that was held back is delivered.
    pub(super) fn deliver_late(&mut self, index: LateIndex, context: &mut Context) {
        let late = self.late.remove(index);
        self.deliver_now(late, context);
    }

    fn deliver_now(&mut self, Late { arrival, delays }: Late, context: &mut Context) {
        let what = ProtocolMessage::unpack(&arrival.message.cargo);
        self.follow_late(&what, &arrival, delays, context);
        self.take(&what, &arrival, context);
    }
}
