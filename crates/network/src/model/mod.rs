//! Network models: what happens to a message between two processes.
//!
//! All take the same [`Fabric`] and [`HostParameters`], and on an idle network all but `infinite` give the same
//! time: overheads aside, `T(n) = latency of the path + n / (narrowest of R_C, R_N and the path)`.
//! Adding one is a file here and a line in [`MODELS`].

mod alone;
mod flow;
mod idle_paths;
mod in_flight;
mod infinite;
mod loggp;
mod max_rate;
mod moved_links;
mod packet;
mod pages;
mod postal;
mod process_rates;
mod rate;

use std::sync::Arc;

use engine::registry::{Arguments, BuildError, Entry};

use crate::interface::Network;
use crate::{Fabric, Grain, HostParameters, NicOrder, Part};

pub use flow::{Flow, HostLinks, Sharing};
pub use infinite::Infinite;
pub use loggp::LogGP;
pub use max_rate::MaxRate;
pub use packet::{
    Arbitration, Packet, PacketOptions, ROUTER, Reliability, Switching, TRANSPORTS, Transport, transport_keys,
};
pub use postal::Postal;

/// Constructor of a model, and how its runs can be cut into domains.
#[derive(Clone, Copy)]
pub struct Build {
    /// Makes it of its arguments (`[network]`'s own parameters), the fabric and the hosts, for one part.
    pub make: Make,
    /// Places where its network may be cut.
    pub cut: Cutting,
    /// Orders in which the messages of a process to different partners may leave a NIC, the model's default first. Empty
    /// if messages never meet: then every order is right.
    pub nic_orders: &'static [NicOrder],
}

impl Build {
    /// True if the model simulates NICs of `order`.
    pub fn knows(&self, order: NicOrder) -> bool {
        self.nic_orders.is_empty() || self.nic_orders.contains(&order)
    }
}

/// See [`Build::make`].
pub type Make =
    fn(&Arguments, Arc<Fabric>, Arc<HostParameters>, &Part) -> Result<Box<dyn Network>, BuildError>;

/// Places where the network of a model may be cut, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cutting {
    /// Places of this kind.
    At(Grain),
    /// Nowhere, for this reason.
    Never(&'static str),
}

const IN_TURN: &[NicOrder] = &[NicOrder::InTurn];
const BOTH: &[NicOrder] = &[NicOrder::Shared, NicOrder::InTurn];
const BY_HOSTS: Cutting = Cutting::At(Grain::Hosts);

/// Every model that `--model` can name.
pub const MODELS: &[Entry<Build>] = &[
    Entry {
        name: "postal",
        summary: "latency plus size over rate for every message; messages never meet",
        source: "Hockney, Parallel Computing 20 (1994)",
        parameters: &[],
        examples: &[""],
        build: Build { make: Postal::build, cut: BY_HOSTS, nic_orders: &[] },
    },
    Entry {
        name: "max-rate",
        summary: "postal, and the processes of a host share its NIC",
        source: "Gropp, Olson, Samfass, EuroMPI 2016",
        parameters: &[],
        examples: &[""],
        build: Build { make: MaxRate::build, cut: BY_HOSTS, nic_orders: IN_TURN },
    },
    Entry {
        name: "loggp",
        summary: "NICs send and receive one message after the other, with a gap; the fabric never limits",
        source: "Alexandrov, Ionescu, Schauser, Scheiman, SPAA 1995",
        parameters: &[],
        examples: &[""],
        build: Build { make: LogGP::build, cut: BY_HOSTS, nic_orders: IN_TURN },
    },
    Entry {
        name: "flow",
        summary: "messages are flows that share links, NICs and memory",
        source: "Pakin, The Next Wave 20(2), 2013; Bertsekas and Gallager, Data Networks, 1992",
        parameters: Flow::PARAMETERS,
        examples: &[""],
        build: Build {
            make: Flow::build,
            cut: Cutting::Never("in the flow model every flow may change the rates of all others at once"),
            nic_orders: BOTH,
        },
    },
    Entry {
        name: "packet",
        summary: "every packet at every router: virtual cut-through, virtual channels, credits, arbitration",
        source: "Miwa et al., NSIM, IEICE Trans. Inf. & Syst. E94-D(12), 2011",
        parameters: packet::PARAMETERS,
        examples: &[""],
        build: Build { make: Packet::build, cut: Cutting::At(Grain::Routers), nic_orders: BOTH },
    },
    Entry {
        name: "infinite",
        summary: "messages take no time: what remains is computing and MPI's software, the null model of a validation",
        source: "Girona, Labarta, Badia, EuroPVM/MPI 2000 (Dimemas)",
        parameters: &[],
        examples: &[""],
        build: Build {
            make: Infinite::build,
            cut: Cutting::Never("without latency no part of the network can run ahead of another"),
            nic_orders: &[],
        },
    },
];
