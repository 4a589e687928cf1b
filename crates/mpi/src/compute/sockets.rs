//! Memory of a socket, shared by the ranks that compute on it at the same time.
//!
//! ```text
//!   d = b / t                                     demand of a stretch that takes t alone and moves b bytes
//!   r = min(d, f),  Σ r = B  or  r = d for all    its share: max-min fair, f the same for all that get less than d
//!   t' = t · d / r                                while no stretch begins or ends
//! ```
//!
//! So k equal stretches take max(t, k b / B): they scale until B is used up, and a stretch that moves little is not
//! slowed by others. Assumptions: a stretch moves its bytes evenly over its time; floating-point units and private caches
//! are each rank's own; copies of messages do not count. Validity: the saturation law of multicore
//! processors, within about 10 % for loops of one kind and of two kinds. Source: Williams, Waterman, Patterson, "Roofline"
//! (CACM 52(4), 2009); Stengel, Treibig, Hager, Wellein, "Quantifying performance bottlenecks of stencil computations
//! using the Execution-Cache-Memory model" (ICS 2015), section 2; for loops of several kinds Afzal, Hager, Wellein,
//! "Analytic performance model for parallel overlapping memory-bound kernels" (CCPE 34, 2022).

use engine::{Bandwidth, Bytes, Duration, Time};

/// Sockets of a host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sockets {
    /// Number of sockets of a host, 1 or more.
    pub count: u16,
    /// Memory bandwidth of each, for all its processes together.
    pub memory_bandwidth: Bandwidth,
    /// Order in which process slots lie on sockets.
    pub order: SocketOrder,
}

impl Sockets {
    /// One socket, whose memory is no limit.
    pub const UNLIMITED: Sockets =
        Sockets { count: 1, memory_bandwidth: Bandwidth::INFINITE, order: SocketOrder::Cyclic };

    /// True if ranks can slow each other.
    pub fn share(&self) -> bool {
        self.memory_bandwidth != Bandwidth::INFINITE
    }

    /// Place of process slot `slot` in a row of all `slots` of the host, socket after socket, which have as many each.
    pub fn position(&self, slot: u16, slots: u16) -> u16 {
        match self.order {
            SocketOrder::Cyclic => slot % self.count * (slots / self.count) + slot / self.count,
            SocketOrder::Block => slot,
        }
    }

    /// The socket of process slot `slot`, on a host of `slots`.
    pub fn of_slot(&self, slot: u16, slots: u16) -> u16 {
        match self.order {
            SocketOrder::Cyclic => slot % self.count,
            SocketOrder::Block => (u32::from(slot) * u32::from(self.count) / u32::from(slots)) as u16,
        }
    }
}

/// Order in which the process slots of a host lie on its sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketOrder {
    /// Socket after socket in turns: slot modulo sockets.
    Cyclic,
    /// The first socket is filled first.
    Block,
}

impl SocketOrder {
    /// Names in platform files.
    pub const NAMES: &[&str] = &["cyclic", "block"];

    /// The order of that name, one of [`SocketOrder::NAMES`].
    pub fn named(name: &str) -> Option<SocketOrder> {
        [SocketOrder::Cyclic, SocketOrder::Block]
            .into_iter()
            .zip(SocketOrder::NAMES)
            .find_map(|(order, known)| (*known == name).then_some(order))
    }
}

/// A stretch of computing under way.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    rank: u32,
    /// Bandwidth that it uses at full speed \[bytes/s\].
    demand: f64,
    /// Remaining time at full speed \[ps\].
    left: f64,
    /// Its speed, 1 at most.
    speed: f64,
}

impl Stretch {
    /// Its end, if its speed stays as it is since `since`.
    fn end(&self, since: Time) -> Time {
        since + Duration((self.left / self.speed).round() as u64)
    }
}

/// Memory of one socket and the stretches that use it.
#[derive(Debug)]
pub struct Socket {
    /// \[bytes/s\]
    bandwidth: f64,
    /// By demand, then rank.
    stretches: Vec<Stretch>,
    /// Time up to which progress is counted.
    since: Time,
    /// Time at which the next stretch ends.
    next: Option<Time>,
}

impl Socket {
    /// A socket without stretches.
    pub fn new(bandwidth: Bandwidth) -> Socket {
        Socket { bandwidth: bandwidth.as_f64(), stretches: Vec::new(), since: Time::ZERO, next: None }
    }

    /// Rank `rank` begins a stretch that takes `alone` by itself, above 0, and moves `bytes`, above 0.
    pub fn begin(&mut self, now: Time, rank: u32, alone: Duration, bytes: Bytes) {
        self.advance(now);
        let demand = bytes.0 as f64 / alone.seconds();
        let stretch = Stretch { rank, demand, left: alone.0 as f64, speed: 1.0 };
        let before = |other: &Stretch| {
            other.demand.total_cmp(&demand).then(other.rank.cmp(&rank)) == std::cmp::Ordering::Less
        };
        let at = self.stretches.partition_point(before);
        self.stretches.insert(at, stretch);
        self.share();
    }

    /// Time at which the next stretch ends, if no other begins before.
    pub fn next(&self) -> Option<Time> {
        self.next
    }

    /// Removes the stretches that end now and gives their ranks, ascending; no rank if the time of the next end has moved.
    pub fn end(&mut self, now: Time) -> Vec<u32> {
        if self.next != Some(now) {
            return Vec::new();
        }
        let since = self.since;
        let mut ended: Vec<u32> = Vec::new();
        self.stretches.retain(|stretch| {
            let ends = stretch.end(since) <= now;
            if ends {
                ended.push(stretch.rank);
            }
            !ends
        });
        self.advance(now);
        self.share();
        ended.sort_unstable();
        ended
    }

    /// Counts progress up to `now`.
    fn advance(&mut self, now: Time) {
        let passed = now.since(self.since).0 as f64;
        if passed > 0.0 {
            self.stretches.iter_mut().for_each(|each| each.left = (each.left - passed * each.speed).max(0.0));
        }
        self.since = now;
    }

    /// Shares the bandwidth among the stretches: the least demand first, each at most an equal part of the rest.
    fn share(&mut self) {
        let (mut left, mut others) = (self.bandwidth, self.stretches.len());
        for stretch in &mut self.stretches {
            let rate = stretch.demand.min(left / others as f64);
            stretch.speed = rate / stretch.demand;
            (left, others) = (left - rate, others - 1);
        }
        let since = self.since;
        self.next = self.stretches.iter().map(|stretch| stretch.end(since)).min();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    fn socket() -> Socket {
        Socket::new("10 GB/s".parse().unwrap())
    }

    /// Lets a socket run to its end; ranks with the times of their ends \[ns\].
    fn ends(socket: &mut Socket) -> Vec<(u32, u64)> {
        let mut all = Vec::new();
        while let Some(now) = socket.next() {
            all.extend(socket.end(now).into_iter().map(|rank| (rank, now.0 / 1000)));
        }
        all
    }

    #[test]
    fn alone_a_stretch_takes_its_own_time_to_the_picosecond() {
        let mut socket = socket();
        socket.begin(Time(7), 3, Duration(US + 1), Bytes(5000));
        assert_eq!((socket.next(), socket.end(Time(US + 8))), (Some(Time(US + 8)), vec![3]));
        assert_eq!(socket.next(), None);
    }

    #[test]
    fn equal_stretches_scale_until_the_bandwidth_is_used_up() {
        // 4 kB in 1 us are 4 GB/s: two fit into 10 GB/s, five take 5 * 4 kB / 10 GB/s = 2 us.
        for (ranks, ns) in [(1, 1000), (2, 1000), (5, 2000), (10, 4000)] {
            let mut socket = socket();
            (0..ranks).for_each(|rank| socket.begin(Time::ZERO, rank, Duration(US), Bytes(4000)));
            assert!(ends(&mut socket).iter().all(|end| end.1 == ns), "{ranks}");
        }
    }

    #[test]
    fn who_moves_little_is_not_slowed_and_what_it_leaves_is_shared() {
        // 1 GB/s of demand gets 1; three of 6 GB/s share 9: 3 each, half their speed.
        let mut socket = socket();
        (1..4).for_each(|rank| socket.begin(Time::ZERO, rank, Duration(US), Bytes(6000)));
        socket.begin(Time::ZERO, 0, Duration(4 * US), Bytes(4000));
        assert_eq!(ends(&mut socket), [(1, 2000), (2, 2000), (3, 2000), (0, 4000)]);
    }

    #[test]
    fn who_comes_later_slows_what_is_left() {
        // 10 GB/s alone for 1 us; from 0.5 us on two share: 5 kB are left of the first, which ends at 1.5 us; the second
        // has moved 5 kB by then, and takes 0.5 us for the rest.
        let mut socket = socket();
        socket.begin(Time::ZERO, 0, Duration(US), Bytes(10_000));
        socket.begin(Time(US / 2), 1, Duration(US), Bytes(10_000));
        assert!(socket.end(Time(US)).is_empty(), "its end has moved");
        assert_eq!(ends(&mut socket), [(0, 1500), (1, 2000)]);
    }

    #[test]
    fn slots_are_dealt_to_sockets() {
        let of = |order| Sockets { count: 2, order, ..Sockets::UNLIMITED };
        let sockets = |order| (0..5).map(move |slot| of(order).of_slot(slot, 5)).collect::<Vec<_>>();
        assert_eq!(sockets(SocketOrder::Cyclic), [0, 1, 0, 1, 0]);
        assert_eq!(sockets(SocketOrder::Block), [0, 0, 0, 1, 1]);
        let position = |order| (0..6).map(move |slot| of(order).position(slot, 6)).collect::<Vec<_>>();
        assert_eq!(position(SocketOrder::Cyclic), [0, 3, 1, 4, 2, 5]);
        assert_eq!(position(SocketOrder::Block), [0, 1, 2, 3, 4, 5]);
    }
}
