//! Traffic in rounds: every host sends, waits for what is sent to it in the round, and goes on.

use engine::random::stream;
use engine::{Bytes, Duration, Key, Lane, Owner, Queue, Time, Token};
use network::{Arrival, Cargo, Endpoint, Happening, HostId, Message, Network};
use rand_chacha::rand_core::RngCore;

/// Senders and receivers of each round. Each host receives as many messages as it sends.
pub struct Traffic {
    hosts: u32,
    rounds: u32,
    bytes: Bytes,
    pattern: Pattern,
    /// Time between two messages of a host.
    overhead: Duration,
    /// The place of each process, where it is not its number.
    places: Vec<u32>,
}

/// Receivers of a host's messages.
#[derive(Debug, Clone, Copy)]
enum Pattern {
    /// Its neighbours in a periodic grid of this many hosts along each side.
    Halo(u32),
    /// Host ⊕ 2ˢ in step s, for as many steps.
    RecursiveDoubling(u32),
    /// Host + 2ˢ in step s, for as many steps.
    Dissemination(u32),
    /// Host + r + 1 in round r.
    AllToAll,
    /// Host + (r + 1/2) · step in round r.
    Shift(u32),
}

impl Pattern {
    /// Number of messages that each host sends in a round.
    fn degree(self) -> u8 {
        if let Pattern::Halo(_) = self { 6 } else { 1 }
    }

    fn target(self, hosts: u32, round: u32, host: u32, which: u8) -> u32 {
        match self {
            Pattern::Halo(side) => {
                let stride = side.pow(u32::from(which / 2));
                let x = host / stride % side;
                let other = if which % 2 == 0 { (x + 1) % side } else { (x + side - 1) % side };
                host + other * stride - x * stride
            }
            Pattern::RecursiveDoubling(steps) => host ^ 1 << (round % steps),
            Pattern::Dissemination(steps) => (host + (1 << (round % steps))) % hosts,
            Pattern::AllToAll => (host + round + 1) % hosts,
            Pattern::Shift(step) => (host + round * step + step / 2) % hosts,
        }
    }
}

/// Outcome of a run of [`Traffic`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Messages delivered.
    pub messages: u64,
    /// Time of the last of them.
    pub end: Time,
    /// Events taken from the queue.
    pub events: u64,
}

impl Traffic {
    /// A halo exchange with the six neighbours in a periodic grid of `side`³ hosts.
    pub fn halo3d(side: u32, iterations: u32, bytes: u64) -> Traffic {
        Traffic::new(side.pow(3), iterations, bytes, Pattern::Halo(side))
    }

    /// Recursive doubling over a power of two of hosts, `repetitions` times.
    pub fn recursive_doubling(hosts: u32, repetitions: u32, bytes: u64) -> Traffic {
        assert!(hosts.is_power_of_two());
        let steps = hosts.trailing_zeros();
        Traffic::new(hosts, steps * repetitions, bytes, Pattern::RecursiveDoubling(steps))
    }

    /// Dissemination over any number of hosts, `repetitions` times.
    pub fn dissemination(hosts: u32, repetitions: u32, bytes: u64) -> Traffic {
        let steps = hosts.next_power_of_two().trailing_zeros();
        Traffic::new(hosts, steps * repetitions, bytes, Pattern::Dissemination(steps))
    }

    /// Each host to all others, one after the other.
    pub fn all_to_all(hosts: u32, bytes: u64) -> Traffic {
        Traffic::new(hosts, hosts - 1, bytes, Pattern::AllToAll)
    }

    /// `rounds` of the rounds of an all-to-all, evenly spread.
    pub fn shifts(hosts: u32, rounds: u32, bytes: u64) -> Traffic {
        Traffic::new(hosts, rounds, bytes, Pattern::Shift(hosts / rounds))
    }

    fn new(hosts: u32, rounds: u32, bytes: u64, pattern: Pattern) -> Traffic {
        let (overhead, places) = (Duration::ZERO, (0..hosts).collect());
        Traffic { hosts, rounds, bytes: Bytes(bytes), pattern, overhead, places }
    }

    /// Puts `overhead` between two messages of a host, as MPI does.
    pub fn spaced(mut self, overhead: Duration) -> Traffic {
        self.overhead = overhead;
        self
    }

    /// Places processes on random hosts.
    pub fn shuffled(mut self) -> Traffic {
        let mut random = stream(1, "bench-places", 0);
        for last in (1..self.places.len()).rev() {
            let other = random.next_u64() as usize % (last + 1);
            self.places.swap(last, other);
        }
        self
    }

    /// Number of messages.
    pub fn messages(&self) -> u64 {
        u64::from(self.hosts) * u64::from(self.rounds) * u64::from(self.pattern.degree())
    }

    /// Runs it through `network`.
    pub fn run(&self, network: &mut dyn Network) -> Outcome {
        let mut run = Run {
            traffic: self,
            queue: Queue::new(),
            at: vec![0; self.hosts as usize],
            missing: vec![self.pattern.degree(); self.hosts as usize * self.rounds as usize],
        };
        for host in 0..self.hosts {
            run.begin(Time::ZERO, host, 0, 0);
        }
        let mut arrivals: Vec<Arrival> = Vec::new();
        let (mut messages, mut end) = (0, Time::ZERO);
        while let Some(event) = run.queue.pop() {
            if event.token.lane() == Lane::Rank {
                run.send(event.time, event.token.payload(), network);
            } else {
                network.wake(event.time, event.token, &mut run.queue, &mut arrivals);
            }
            for arrival in arrivals.drain(..) {
                if arrival.happening == Happening::Delivered {
                    messages += 1;
                    end = event.time;
                    run.receive(event.time, &arrival.message);
                }
            }
            if run.queue.instant_is_over() {
                network.end_instant(event.time, &mut run.queue);
            }
        }
        Outcome { messages, end, events: run.queue.popped() }
    }
}

struct Run<'a> {
    traffic: &'a Traffic,
    queue: Queue,
    /// The round of each host.
    at: Vec<u32>,
    /// `[host][round]`: messages that it still waits for.
    missing: Vec<u8>,
}

impl Run<'_> {
    /// `process` is to send message `which` of `round`, and those after it.
    fn begin(&mut self, at: Time, process: u32, round: u32, which: u8) {
        let event = (u64::from(round) << 3 | u64::from(which)) << 32 | u64::from(process);
        self.queue.push(at, Owner::new(Lane::Rank, process), Token::new(Lane::Rank, event));
    }

    fn send(&mut self, now: Time, event: u64, network: &mut dyn Network) {
        let Traffic { hosts, bytes, pattern, overhead, ref places, .. } = *self.traffic;
        let (process, first, round) = (event as u32, (event >> 32) as u8 & 7, (event >> 35) as u32);
        for which in first..pattern.degree() {
            let to = pattern.target(hosts, round, process, which);
            let end = |process: u32| Endpoint { host: HostId(places[process as usize]), process: 0 };
            let mut cargo = Cargo::default();
            (cargo[0], cargo[1]) = (round.into(), to.into());
            let message = Message {
                from: end(process),
                to: end(to),
                nics: None,
                regime: 0,
                notify_sent: false,
                size: bytes,
                key: Key::of_message(round * u32::from(pattern.degree()) + u32::from(which), process),
                cargo,
            };
            network.inject(now, &message, &mut self.queue);
            if overhead > Duration::ZERO && which + 1 < pattern.degree() {
                return self.begin(now + overhead, process, round, which + 1);
            }
        }
    }

    fn receive(&mut self, now: Time, message: &Message) {
        let (process, rounds) = (message.cargo[1] as usize, self.traffic.rounds);
        let first = process * rounds as usize;
        self.missing[first + message.cargo[0] as usize] -= 1;
        while self.at[process] < rounds && self.missing[first + self.at[process] as usize] == 0 {
            self.at[process] += 1;
            if self.at[process] < rounds {
                self.begin(now, process as u32, self.at[process], 0);
            }
        }
    }
}
