//! Connections: one for each pair of processes and NICs between which messages go.
//!
//! A connection delivers its messages in the order in which they were handed over, whatever their regimes
//! and routes. Many are used once: when the last message of a connection is delivered, it is closed. One that is opened
//! again is kept after that, with its route where that is always the same, up to a number of connections that suffices
//! for most programs and bounds the memory of all others.

use std::hash::{BuildHasher, BuildHasherDefault};

use engine::hash::{Map, Mix};
use engine::{Duration, Queue, Time};

use super::Transfer;
use super::streams::NONE;
use crate::message::NicPair;
use crate::message::{Endpoint, Message};
use crate::model::alone::Path;
use crate::model::in_flight::{InFlight, Slot, Step, token};
use crate::model::pages::Pages;

/// The ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Ends {
    hosts: u64,
    rest: u64,
}

impl Ends {
    /// Ends of a closed connection.
    const CLOSED: Ends = Ends { hosts: u64::MAX, rest: u64::MAX };

    pub fn of(message: &Message) -> Ends {
        let (Endpoint { host, process }, to) = (message.from, message.to);
        let NicPair { from: nic, to: to_nic } = message.nic_pair();
        let nics = u64::from(nic) << 8 | u64::from(to_nic);
        Ends {
            hosts: u64::from(host.0) << 32 | u64::from(to.host.0),
            rest: u64::from(process) << 48 | u64::from(to.process) << 32 | nics,
        }
    }
}

/// The state of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connection {
    ends: Ends,
    /// The stream of its messages; `NONE` while it has no route.
    pub stream: u32,
    /// The queue in which its messages wait for their turn.
    pub queue: u32,
    /// Path of a message that is alone, without its regime's part; copies have none.
    pub links: Option<Path>,
    /// Messages that were handed over and are not delivered yet.
    pub pending: u32,
    /// Latency of the links and set-up of the NIC, to which a message adds the latency of its regime.
    pub latency: Duration,
    /// Time at which the last message so far is delivered, of those for which it is known.
    delivered: Time,
    /// The bottleneck of the last message that has left, of those that followed each other; `NONE` before.
    pub held_by: u32,
    /// Longest wait of a packet of that message.
    waited: Duration,
    /// Messages that have begun to flow and are not known to be delivered, as slots: the first and the last.
    under_way: (u32, u32),
    /// Number and serial number of the last packet that has left.
    pub last_packet: (u32, u32),
    /// The connection that its process used after it, the last time.
    successor: u32,
    /// Is it kept without messages?
    is_kept: bool,
    /// Is it among those that have ended?
    has_ended: bool,
}

impl Connection {
    /// A packet, perhaps the first of its message, has waited longest for a link.
    pub fn hold(&mut self, (waited, link): (Duration, u32), is_first: bool) {
        if is_first || waited > self.waited {
            (self.waited, self.held_by) = (waited, link);
        }
    }

    /// The message in slot `flow` begins to flow, behind those before it.
    #[inline]
    pub fn begin(&mut self, flow: u32, flight: &mut InFlight<Transfer>) {
        match self.under_way {
            (NONE, _) => self.under_way.0 = flow,
            (_, last) => flight.get_mut(last).state.behind = flow,
        }
        self.under_way.1 = flow;
        let state = &mut flight.get_mut(flow).state;
        (state.behind, state.arrives) = (NONE, Time::ZERO);
    }

    /// Schedules the deliveries that are known: of the first messages under way which have left, and of whose bytes all it is known when
    /// they will be there. Each waits for those before it.
    #[inline]
    pub fn schedule_deliveries(&mut self, flight: &mut InFlight<Transfer>, queue: &mut Queue) {
        while self.under_way.0 != NONE {
            let first = self.under_way.0;
            let Slot { message, state, .. } = flight.get(first);
            if state.left.0 > 0 || state.missing.0 > 0 {
                return;
            }
            self.delivered = self.delivered.max(state.arrives);
            self.under_way.0 = state.behind;
            queue.place(self.delivered, message.key, token(Step::Delivered, first, 0));
        }
    }
}

/// All connections.
#[derive(Debug)]
pub(super) struct Connections {
    pub all: Vec<Connection>,
    numbers: Map<Ends, u32>,
    /// Last and predicted next connection of each sender, by process and NIC.
    senders: Pages<(u32, u32)>,
    unused: Vec<u32>,
    /// Those whose last message was delivered in this instant: until it is over, what held it up is asked for.
    ended: Vec<u32>,
    /// A bit for each connection that has been closed, by the hash of its ends. Where others share it, they are kept from
    /// their first time on.
    closed: Vec<u64>,
}

/// Number of connections above which none is kept without messages: some 80 MB. HPL has about 20 for each process.
const MOST: usize = 1 << 18;

/// Number of bits for connections that have been closed, in words of 64.
const CLOSED: usize = 1 << 14;

impl Default for Connections {
    fn default() -> Connections {
        Connections {
            all: Vec::new(),
            numbers: Map::default(),
            senders: Pages::new((NONE, NONE)),
            unused: Vec::new(),
            ended: Vec::new(),
            closed: Vec::new(),
        }
    }
}

impl Connections {
    /// The connection between `ends`, if there is one.
    pub fn find(&self, ends: Ends) -> Option<u32> {
        self.numbers.get(&ends).copied()
    }

    /// Like [`Connections::find`], for a message that `sender` sends. Most processes send to others in the same order again
    /// and again, so that most connections are predicted, and prefetched, without a look into the table.
    #[inline]
    pub fn find_by_sender(&mut self, sender: u32, ends: Ends) -> Option<u32> {
        let (last, next) = self.senders[sender];
        if self.all.get(next as usize).is_some_and(|connection| connection.ends == ends) {
            self.record_use(sender, next);
            return Some(next);
        }
        let found = self.find(ends)?;
        if let Some(last) = self.all.get_mut(last as usize) {
            last.successor = found;
        }
        self.record_use(sender, found);
        Some(found)
    }

    /// Records that `sender` uses the connection, and predicts the next one: that which followed the last time.
    fn record_use(&mut self, sender: u32, number: u32) {
        let next = self.all[number as usize].successor;
        self.senders[sender] = (number, next);
        if let Some(next) = self.all.get(next as usize) {
            engine::prefetch_start(next, size_of::<Connection>());
        }
    }

    /// A new connection between `ends`, without a route; `queue` gives the queue of a connection's number.
    pub fn open(&mut self, ends: Ends, links: Option<Path>, queue: impl FnOnce(u32) -> u32) -> u32 {
        let number = self.unused.pop().unwrap_or(self.all.len() as u32);
        let connection = Connection {
            ends,
            stream: NONE,
            queue: queue(number),
            links,
            pending: 0,
            latency: Duration::ZERO,
            delivered: Time::ZERO,
            held_by: NONE,
            waited: Duration::ZERO,
            under_way: (NONE, NONE),
            last_packet: (NONE, 0),
            successor: NONE,
            is_kept: self.note_closed(ends, false),
            has_ended: false,
        };
        match self.all.get_mut(number as usize) {
            Some(unused) => *unused = connection,
            None => self.all.push(connection),
        }
        self.numbers.insert(ends, number);
        number
    }

    /// Notes that a message was handed over. One that finds no other on the way waits for nothing that held up those before.
    pub fn hand_over(&mut self, number: u32) {
        let connection = &mut self.all[number as usize];
        if connection.pending == 0 {
            connection.held_by = NONE;
        }
        connection.pending += 1;
    }

    /// Notes the delivery of a message. If it was the connection's last one, and the connection is not kept or there are
    /// too many, it ends.
    pub fn deliver(&mut self, number: u32) {
        let connection = &mut self.all[number as usize];
        connection.pending -= 1;
        let is_kept = connection.is_kept && self.numbers.len() <= MOST;
        if connection.pending == 0 && !is_kept && !connection.has_ended {
            connection.has_ended = true;
            self.ended.push(number);
        }
    }

    /// Closes a connection that has ended in this instant, and gives its stream.
    pub fn close_ended(&mut self) -> Option<u32> {
        while let Some(number) = self.ended.pop() {
            let connection = &mut self.all[number as usize];
            connection.has_ended = false;
            let Connection { ends, stream, pending, .. } = *connection;
            if pending == 0 {
                self.numbers.remove(&ends);
                self.all[number as usize].ends = Ends::CLOSED;
                self.unused.push(number);
                self.note_closed(ends, true);
                return Some(stream);
            }
        }
        None
    }

    /// True if the connection between `ends` may have been closed before; `closes` if it is now.
    fn note_closed(&mut self, ends: Ends, closes: bool) -> bool {
        self.closed.resize(CLOSED, 0);
        let hash = BuildHasherDefault::<Mix>::default().hash_one(ends) as usize;
        let (word, bit) = (&mut self.closed[hash / 64 % CLOSED], 1 << (hash % 64));
        let was_closed = *word & bit != 0;
        *word |= if closes { bit } else { 0 };
        was_closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(number: u64) -> Ends {
        Ends { hosts: number, rest: 0 }
    }

    /// Opens the connection, as a message does, unless it is there; gives its number.
    fn hand_over(connections: &mut Connections, number: u64) -> u32 {
        let ends = ends(number);
        let at = connections.find(ends).unwrap_or_else(|| connections.open(ends, None, |own| own));
        connections.hand_over(at);
        at
    }

    fn close_all(connections: &mut Connections) -> usize {
        std::iter::from_fn(|| connections.close_ended()).count()
    }

    #[test]
    fn those_used_once_are_closed_and_those_used_again_are_kept() {
        let mut connections = Connections::default();
        for (round, closes) in [(0, true), (1, false), (2, false)] {
            for number in 0..100 {
                let at = hand_over(&mut connections, number);
                connections.deliver(at);
                assert!(connections.find(ends(number)).is_some(), "it is there until the instant is over");
                assert_eq!(close_all(&mut connections), usize::from(closes), "round {round}");
            }
        }
        assert_eq!(connections.all.len(), 100, "each took the place of one before it, until all were kept");
    }

    #[test]
    fn one_that_goes_on_in_the_same_instant_stays() {
        let mut connections = Connections::default();
        let at = hand_over(&mut connections, 1);
        connections.deliver(at);
        assert_eq!(hand_over(&mut connections, 1), at);
        assert_eq!(close_all(&mut connections), 0);
        connections.deliver(at);
        assert_eq!((close_all(&mut connections), connections.find(ends(1))), (1, None));
        // Twice at its end within an instant, it is closed once.
        let at = hand_over(&mut connections, 2);
        connections.deliver(at);
        hand_over(&mut connections, 2);
        connections.deliver(at);
        assert_eq!(close_all(&mut connections), 1);
    }

    #[test]
    fn who_sends_in_another_order_or_to_one_that_was_closed_finds_the_right_ones() {
        let mut connections = Connections::default();
        let all: Vec<u32> = (0..4).map(|number| connections.open(ends(number), None, |own| own)).collect();
        for order in [[0, 1, 2, 3], [0, 1, 2, 3], [3, 1, 0, 2], [3, 1, 0, 2], [2, 2, 1, 0]] {
            for number in order {
                assert_eq!(
                    connections.find_by_sender(7, ends(number)),
                    Some(all[number as usize]),
                    "{order:?}"
                );
            }
        }
        // After 0 it has always used 2 of late: which is closed now, and its number is that of another.
        connections.find_by_sender(7, ends(0));
        connections.hand_over(all[2]);
        connections.deliver(all[2]);
        assert!(connections.close_ended().is_some());
        assert_eq!(connections.find_by_sender(7, ends(2)), None);
        assert_eq!(connections.open(ends(5), None, |own| own), all[2]);
        connections.find_by_sender(7, ends(0));
        assert_eq!(
            (connections.find_by_sender(7, ends(2)), connections.find_by_sender(7, ends(5))),
            (None, Some(all[2]))
        );
    }

    #[test]
    fn who_finds_none_on_the_way_waits_for_nothing_that_held_up_others() {
        let mut connections = Connections::default();
        for round in 0..3 {
            let at = hand_over(&mut connections, 1);
            assert_eq!(connections.all[at as usize].held_by, NONE, "round {round}");
            hand_over(&mut connections, 1);
            connections.all[at as usize].held_by = 7;
            connections.deliver(at);
            assert_eq!(hand_over(&mut connections, 1), at);
            assert_eq!(connections.all[at as usize].held_by, 7, "behind one that was held up");
            connections.deliver(at);
            connections.deliver(at);
            close_all(&mut connections);
        }
    }
}
