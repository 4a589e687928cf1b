//! Network models: what happens to a message between two processes.
//!
//! All take the same [`Fabric`] and [`HostParameters`], and on an idle network all give the same
//! time: overheads aside, `T(n) = latency of the path + n / (narrowest of R_C, R_N and the path)`.
//! Adding one is a file here and a line in [`MODELS`].

mod alone;
mod flow;
mod in_flight;
mod loggp;
mod max_rate;
mod postal;
mod process_rates;
mod rate;

use std::sync::Arc;

use engine::registry::{Arguments, BuildError, Entry};

use crate::message::Network;
use crate::{Fabric, HostParameters};

pub use flow::{Flow, Sharing};
pub use loggp::LogGP;
pub use max_rate::MaxRate;
pub use postal::Postal;

/// Makes a model of its arguments (`[network]`'s own parameters), the fabric and the hosts.
pub type Build = fn(&Arguments, Arc<Fabric>, Arc<HostParameters>) -> Result<Box<dyn Network>, BuildError>;

/// Every model that `--model` can name.
pub const MODELS: &[Entry<Build>] = &[
    Entry {
        name: "postal",
        summary: "latency plus size over rate for every message; messages never meet",
        source: "Hockney, Parallel Computing 20 (1994)",
        parameters: &[],
        build: Postal::build,
    },
    Entry {
        name: "max_rate",
        summary: "postal, and the processes of a host share its NIC",
        source: "Gropp, Olson, Samfass, EuroMPI 2016",
        parameters: &[],
        build: MaxRate::build,
    },
    Entry {
        name: "loggp",
        summary: "NICs send and receive one message after the other, with a gap; the fabric never limits",
        source: "Alexandrov, Ionescu, Schauser, Scheiman, SPAA 1995",
        parameters: &[],
        build: LogGP::build,
    },
    Entry {
        name: "flow",
        summary: "messages are flows that share links, NICs and memory",
        source: "Pakin, The Next Wave 20(2), 2013; Bertsekas and Gallager, Data Networks, 1992",
        parameters: Flow::PARAMETERS,
        build: Flow::build,
    },
];
