//! CPU times of the messages of a rank, and the drawing of their noise: see [`crate::message_noise`].

use engine::hash::Map;
use engine::random::{SmallStream, small_stream};
use engine::{Bytes, Duration, Lane, LinearTime, Owner};
use network::{Arrival, Delays, Happening, HostParameters, IdleTime, Message, Network};

use crate::message_noise::{MessageNoise, Purpose};
use crate::operation::Rank;
use crate::world::flight::Flight;
use crate::world::index::LateIndex;
use crate::world::protocol_message::{Ends, ProtocolMessage};
use crate::world::{Context, Wake, World};

/// A time of a message, and the section of the platform that says it.
#[derive(Clone, Copy)]
struct Found {
    time: LinearTime,
    purpose: Purpose,
    /// True if it is that of a regime of copies within a host.
    in_memory: bool,
    regime: usize,
}

impl World {
    /// CPU time of `rank` to send `size` bytes to `other`.
    #[inline(always)]
    pub(super) fn send_overhead(&mut self, rank: Rank, other: Rank, size: Bytes) -> Duration {
        if self.overheads_are_plain(rank, other) {
            return self.setup.host.regimes[self.setup.host.regime_of(size)].send_overhead.of(size);
        }
        self.general_overhead(rank, other, size, Purpose::Send)
    }

    /// True if the CPU times of messages between these ranks follow from sizes alone: they have no noise, and are not those
    /// of copies within a host, which may be others.
    #[inline(always)]
    fn overheads_are_plain(&self, one: Rank, other: Rank) -> bool {
        self.noise.is_none() && !(self.copies_have_overheads && self.are_together(one, other))
    }

    /// The time for `purpose`, which every regime has.
    #[inline(never)]
    fn general_overhead(&mut self, rank: Rank, other: Rank, size: Bytes, purpose: Purpose) -> Duration {
        let found = self.find(rank, other, size, purpose).expect("every regime has it");
        self.spend(rank, size, found)
    }

    /// CPU time of a call of `rank` that begins to send `size` bytes to `other`, where that has a time of its own.
    pub(super) fn begin_overhead(&mut self, rank: Rank, other: Rank, size: Bytes) -> Option<Duration> {
        if !self.begins_apart {
            return None;
        }
        let found = self.find(rank, other, size, Purpose::Isend)?;
        Some(self.spend(rank, size, found))
    }

    /// CPU time of `rank` to receive `size` bytes from `other`.
    #[inline(always)]
    pub(super) fn receive_overhead(&mut self, rank: Rank, other: Rank, size: Bytes) -> Duration {
        if self.overheads_are_plain(rank, other) {
            return self.setup.host.regimes[self.setup.host.regime_of(size)].receive_overhead.of(size);
        }
        self.general_overhead(rank, other, size, Purpose::Receive)
    }

    /// The time for `purpose`: where the ranks are together that of the regime of copies at their level, or of the host
    /// itself, if one of them says it; else that of the regime between hosts.
    #[inline(always)]
    fn find(&self, one: Rank, other: Rank, size: Bytes, purpose: Purpose) -> Option<Found> {
        let host = &self.setup.host;
        if self.are_together(one, other) {
            let [one, other] = [one, other].map(|rank| self.setup.placement[rank.0 as usize].process);
            let at_level = host.memory.regime_between(one, other, size);
            let of_host = host.memory.regime_of(size);
            for regime in [at_level, of_host] {
                let memory = &host.memory.regimes[regime];
                let own = match purpose {
                    Purpose::Send => memory.send_overhead,
                    Purpose::Isend => memory.isend_overhead,
                    Purpose::Receive => memory.receive_overhead,
                    Purpose::Latency => unreachable!("no CPU time"),
                };
                if let Some(time) = own {
                    return Some(Found { time, purpose, in_memory: true, regime });
                }
                if purpose == Purpose::Isend && memory.send_overhead.is_some() {
                    return None;
                }
            }
        }
        let regime = host.regime_of(size);
        let network = &host.regimes[regime];
        let time = match purpose {
            Purpose::Send => network.send_overhead,
            Purpose::Isend => network.isend_overhead?,
            Purpose::Receive => network.receive_overhead,
            Purpose::Latency => unreachable!("no CPU time"),
        };
        Some(Found { time, purpose, in_memory: false, regime })
    }

    #[inline]
    fn spend(&mut self, rank: Rank, size: Bytes, found: Found) -> Duration {
        let base = found.time.of(size);
        match &mut self.noise {
            None => base,
            Some(noise) => noise.around(base, rank, found),
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
        let in_memory = message.from.host == message.to.host;
        let drawn = noise.draw(dest, in_memory, message.regime.into(), Purpose::Latency);
        Duration::from_seconds(drawn.unwrap_or(0.0).max(0.0))
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

/// Drawing of the noise of messages.
pub(super) struct Noise {
    parameters: MessageNoise,
    /// Streams of each rank that has drawn, by the number of the purpose.
    ranks: Map<Rank, [SmallStream; 4]>,
}

impl Noise {
    pub fn new(parameters: MessageNoise) -> Noise {
        Noise { parameters, ranks: Map::default() }
    }

    /// A time around `base`, not below zero.
    #[inline(never)]
    fn around(&mut self, base: Duration, rank: Rank, found: Found) -> Duration {
        match self.draw(rank, found.in_memory, found.regime, found.purpose) {
            None => base,
            Some(shift) => Duration::from_seconds((base.seconds() + shift).max(0.0)),
        }
    }

    /// Draws what is to be added for `purpose` \[s\]; `None` without noise.
    fn draw(&mut self, rank: Rank, in_memory: bool, regime: usize, purpose: Purpose) -> Option<f64> {
        let MessageNoise { seed, network, memory } = &self.parameters;
        let modes = if in_memory { &memory[regime] } else { &network[regime] }.of(purpose)?;
        let seed = *seed;
        let new = |purpose: Purpose| small_stream(seed, purpose.stream_name(), rank.0.into());
        let streams = self.ranks.entry(rank).or_insert_with(|| Purpose::ALL.map(new));
        Some(modes.draw(&mut streams[purpose as usize]))
    }
}
