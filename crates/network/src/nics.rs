//! The NICs of a host: how many, which of them a message takes, what they do for each message.
//!
//! Each NIC has a link of its own to the host's router and one back. A message leaves by one NIC of its
//! source and comes by one of its destination: those that it names, else those of the platform's choice.
//!
//! ```text
//! round-robin    the n-th message of a host that names none: NIC n mod K, at both ends
//! process        NIC (slot of the process) mod K, each end by its own process; by the sender's where NICs are in planes
//! destination    NIC (number of the destination host) mod K, at both ends
//! least-loaded   the NIC of the source that has least to send, the first of several, at both ends
//! ```
//!
//! Before the first byte of a message leaves, its NIC needs the set-up time: it fetches the descriptor of the
//! transfer, and prepares one message after the other while others are being sent.
//!
//! Messages of a pair of processes leave a NIC one after the other. Messages of a process to different partners leave
//! it in one of two orders:
//!
//! ```text
//! in-turn    one message after the other, in the order in which they were handed over
//! shared     at the same time: each connection has its share of the NIC, packet by packet
//! ```
//!
//! Shared is the default: MPI libraries have a connection for each partner (a queue pair of InfiniBand or RoCE, a
//! TCP socket), and a NIC serves connections round robin, packet by packet. In-turn is right for processors that write
//! messages into the network themselves (Cray's FMA) and for NICs that take them from one queue of commands.
//!
//! Assumes that messages are not split over NICs. All NICs of a host are at one router, or each is in a plane of its own
//! ([`crate::topology::planes`]): then both ends take the NIC of the same number.
//!
//! Source: Miwa et al., "NSIM" (IEICE Trans. Inf. & Syst. E94-D(12), 2011), 3.2: programs name the NICs of
//! both ends for each message; Liu, Vishnu, Panda, "Building multirail InfiniBand clusters: MPI-level design
//! and performance evaluation" (SC 2004), for the choices by turns, by process and by load; Li et al., "HPCC:
//! High Precision Congestion Control" (SIGCOMM 2019), whose published model of an RDMA NIC serves queue pairs round robin.

use std::borrow::Cow;

use engine::Duration;

use crate::message::{Message, NicPair};
use crate::topology::HostId;

/// The NICs of every host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nics {
    /// K, how many \[1..=[`Nics::MOST`]\].
    pub count: u8,
    /// NIC that messages take that name none.
    pub choice: NicChoice,
    /// Set-up time of a NIC for each message, before its first byte leaves.
    pub setup: Duration,
    /// Order in which the messages of a process to different partners leave; `None` for the network model's default.
    pub order: Option<NicOrder>,
    /// True if each is in a network of its own: a message takes NICs of the same number at both ends.
    pub in_planes: bool,
}

impl Nics {
    /// The most NICs of a host.
    pub const MOST: u8 = 64;
    /// One, that is always ready.
    pub const ONE: Nics = Nics {
        count: 1,
        choice: NicChoice::RoundRobin,
        setup: Duration::ZERO,
        order: None,
        in_planes: false,
    };
}

/// Order in which the messages of a process to different partners leave its NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NicOrder {
    /// One after the other.
    InTurn,
    /// At the same time.
    Shared,
}

impl NicOrder {
    /// The names of the orders in platform files.
    pub const NAMES: &[&str] = &["in-turn", "shared"];

    /// The order of that name, one of [`NicOrder::NAMES`].
    pub fn named(name: &str) -> Option<NicOrder> {
        let all = [NicOrder::InTurn, NicOrder::Shared];
        NicOrder::NAMES.iter().position(|known| *known == name).map(|at| all[at])
    }
}

/// Choice of the NIC of messages that name none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NicChoice {
    /// In turns.
    RoundRobin,
    /// Each process has one.
    Process,
    /// By the destination host.
    Destination,
    /// By what waits at each.
    LeastLoaded,
}

impl NicChoice {
    /// Names of the choices in platform files.
    pub const NAMES: &[&str] = &["round-robin", "process", "destination", "least-loaded"];

    /// The choice of that name, one of [`NicChoice::NAMES`].
    pub fn named(name: &str) -> Option<NicChoice> {
        let all = [NicChoice::RoundRobin, NicChoice::Process, NicChoice::Destination, NicChoice::LeastLoaded];
        NicChoice::NAMES.iter().position(|known| *known == name).map(|at| all[at])
    }
}

/// Chooses NICs.
#[derive(Debug)]
pub(crate) struct Chooser {
    nics: Nics,
    /// NIC of each host whose turn it is; only where they take turns.
    turns: Vec<u8>,
}

impl Chooser {
    pub fn new(nics: Nics, hosts: u32) -> Chooser {
        assert!((1..=Nics::MOST).contains(&nics.count), "a host has 1 to {} NICs", Nics::MOST);
        let turns = nics.count > 1 && nics.choice == NicChoice::RoundRobin;
        Chooser { nics, turns: vec![0; if turns { hosts as usize } else { 0 }] }
    }

    /// `message` with its NICs. `load` says what waits at each NIC of its source, in any one unit.
    #[inline]
    pub fn settle<'a>(&mut self, message: &'a Message, load: impl Fn(u8) -> u64) -> Cow<'a, Message> {
        let count = self.nics.count;
        if let Some(NicPair { from, to }) = message.nics {
            assert!(from < count && to < count, "NICs {from} and {to} of hosts that have {count}");
            assert!(from == to || !self.nics.in_planes, "NICs {from} and {to} are in different planes");
            return Cow::Borrowed(message);
        }
        if count == 1 {
            return Cow::Borrowed(message);
        }
        let by = |number: u32| (number % u32::from(count)) as u8;
        let pair = match self.nics.choice {
            NicChoice::RoundRobin => NicPair::same(self.next_turn(message.from.host)),
            NicChoice::Process if self.nics.in_planes => NicPair::same(by(message.from.process.into())),
            NicChoice::Process => {
                NicPair { from: by(message.from.process.into()), to: by(message.to.process.into()) }
            }
            NicChoice::Destination => NicPair::same(by(message.to.host.0)),
            NicChoice::LeastLoaded => {
                NicPair::same((0..count).min_by_key(|nic| load(*nic)).expect("there is a NIC"))
            }
        };
        Cow::Owned(Message { nics: Some(pair), ..*message })
    }

    fn next_turn(&mut self, host: HostId) -> u8 {
        let turn = &mut self.turns[host.0 as usize];
        let nic = *turn;
        *turn = if nic + 1 == self.nics.count { 0 } else { nic + 1 };
        nic
    }
}
