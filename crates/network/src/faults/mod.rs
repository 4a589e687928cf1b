//! Faults: links and routers that fail and return, at given times or at random.
//!
//! ```text
//! from one return (or the start) to the next failure    −ln(u) · mean time to failure
//! from a failure to its return                          −ln(u') · mean time to repair
//! ```
//!
//! with u, u' uniform in (0, 1], drawn for each cable and each router from a stream of its own: the n-th
//! draw of one does not depend on what happens elsewhere, nor on how a run is cut. A cable between two
//! routers is the pair of links that carry both directions, and fails as a whole; cables of hosts do not
//! fail at random, since nothing could go around them. A router that has failed takes all of its links
//! with it, those of its hosts included.
//!
//! Assumes that failures do not depend on each other, nor on age or load (the exponential law): failures
//! of installed machines come in clusters and follow a Weibull law with a shape of 0.7 to 0.8 (Schroeder
//! and Gibson). Given times are exact.
//!
//! Source: Schroeder and Gibson, "A large-scale study of failures in high-performance computing systems"
//! (DSN 2006), for what random failures leave out.

mod names;
mod timeline;

use engine::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::topology::{HostId, LinkId, RouterId};

pub use names::{links_named, router_named};
pub use timeline::{Change, Elements, Outage, Timeline};

/// Faults of a run: planned ones, and rates of random ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Faults {
    /// At given times.
    pub planned: Vec<Planned>,
    /// Each cable between routers, at random.
    pub cables: Option<Rates>,
    /// Each router, at random.
    pub routers: Option<Rates>,
    /// From when something fails or returns until routes take notice.
    pub detection: Duration,
    /// Seed of the random streams.
    pub seed: u64,
}

/// One failure at a given time.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Element that fails.
    pub what: Failing,
    /// Time of the failure.
    pub fails_at: Time,
    /// Time at which it is back, after `fails_at`; [`Time::NEVER`] if it stays away.
    pub returns_at: Time,
}

/// Element that can fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failing {
    /// These directed links.
    Links(Vec<LinkId>),
    /// A router, with all links from and to it.
    Router(RouterId),
}

/// Rate of random failures, and how long each lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// The mean time from a return to the next failure; above 0.
    pub to_failure: Duration,
    /// The mean time from a failure to its return; above 0.
    pub to_repair: Duration,
}

/// A host to which messages of another one find no way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CutOff {
    /// Host that the messages wait at.
    pub from: HostId,
    /// Host that they go to.
    pub to: HostId,
    /// Since when.
    pub since: Time,
}

impl Faults {
    /// Does nothing ever fail?
    pub fn is_empty(&self) -> bool {
        self.planned.is_empty() && self.cables.is_none() && self.routers.is_none()
    }
}
