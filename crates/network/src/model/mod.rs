//! Network models: what happens to a message between two processes.
//!
//! All take the same [`Fabric`] and [`HostParameters`], and on an idle network all give the same
//! time: overheads aside, `T(n) = latency of the path + n / (narrowest of R_C, R_N and the path)`.
//! Adding one is a file here and a line in [`MODELS`].

use std::sync::Arc;

use engine::registry::{Arguments, BuildError, Entry};

use crate::message::Network;
use crate::{Fabric, HostParameters};

/// Makes a model of its arguments (`[network]`'s own parameters), the fabric and the hosts.
pub type Build = fn(&Arguments, Arc<Fabric>, Arc<HostParameters>) -> Result<Box<dyn Network>, BuildError>;

/// Every model that `--model` can name.
pub const MODELS: &[Entry<Build>] = &[];
