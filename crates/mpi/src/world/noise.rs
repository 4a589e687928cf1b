//! Drawing of the noise of messages: see [`crate::message_noise`].

use engine::Duration;
use engine::random::{SmallStream, small_stream};
use network::Message;

use crate::message_noise::{MessageNoise, Purpose, TimeModes};
use crate::operation::Rank;

/// Section of a platform that says times of messages: the regime with this number.
#[derive(Debug, Clone, Copy)]
pub(super) enum Section {
    /// Messages between hosts.
    Network(usize),
    /// Copies within a host.
    Memory(usize),
}

impl Section {
    /// The regime of a message.
    #[inline(always)]
    pub fn of(message: &Message) -> Section {
        match message.from.host == message.to.host {
            true => Section::Memory(message.regime.into()),
            false => Section::Network(message.regime.into()),
        }
    }
}

/// Noise of the messages of a world.
pub(super) struct Noise {
    parameters: MessageNoise,
    /// Streams of each rank that has drawn, by the number of the purpose.
    ranks: Vec<Option<Box<Streams>>>,
}

type Streams = [SmallStream; Purpose::ALL.len()];

impl Noise {
    pub fn new(parameters: MessageNoise) -> Noise {
        Noise { parameters, ranks: Vec::new() }
    }

    /// True if messages have it on their way.
    pub fn delays_messages(&self) -> bool {
        let MessageNoise { network, memory, .. } = &self.parameters;
        network.iter().chain(memory).any(|regime| regime.latency.is_some())
    }

    /// The noise for `purpose` in a section, if it has any.
    #[inline(always)]
    pub fn of(&mut self, section: Section, purpose: Purpose) -> Option<Drawing<'_>> {
        let MessageNoise { seed, network, memory } = &self.parameters;
        let regime = match section {
            Section::Network(place) => &network[place],
            Section::Memory(place) => &memory[place],
        };
        let modes = regime.of(purpose)?;
        Some(Drawing { modes, seed: *seed, purpose, ranks: &mut self.ranks })
    }
}

/// Noise that is drawn.
pub(super) struct Drawing<'a> {
    modes: &'a TimeModes,
    seed: u64,
    purpose: Purpose,
    ranks: &'a mut Vec<Option<Box<Streams>>>,
}

impl Drawing<'_> {
    /// A time around `base`, not below zero, out of the stream of `rank`.
    #[inline(never)]
    pub fn around(self, base: Duration, rank: Rank) -> Duration {
        let streams = match self.ranks.get_mut(rank.0 as usize) {
            Some(Some(streams)) => streams,
            _ => begin(self.ranks, self.seed, rank),
        };
        let shift = self.modes.draw(&mut streams[self.purpose as usize]);
        Duration::from_seconds((base.seconds() + shift).max(0.0))
    }
}

/// Begins the streams of a rank that has none.
#[cold]
fn begin(ranks: &mut Vec<Option<Box<Streams>>>, seed: u64, rank: Rank) -> &mut Streams {
    let place = rank.0 as usize;
    if ranks.len() <= place {
        ranks.resize_with(place + 1, || None);
    }
    let stream = |purpose: Purpose| small_stream(seed, purpose.stream_name(), rank.0.into());
    ranks[place].insert(Box::new(Purpose::ALL.map(stream)))
}
