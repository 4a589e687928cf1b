//! The event that is handled now: the message that has come with it, the critical path up to it, and the rank that goes
//! on after it.

use engine::{Duration, Time};
use network::{Arrival, Delays, Shared};

use crate::cause::{Cause, Path};
use crate::operation::Rank;
use crate::world::flight::Flight;
use crate::world::protocol_message::{ProtocolMessage, path_of};

/// Context of what a world does while it handles one event.
#[derive(Debug)]
pub(super) struct PresentEvent {
    /// The critical path up to the event.
    path: Path,
    /// The flight of the message that has come with it.
    flight: Flight,
    /// Resource that this message needs at its hosts.
    shared: Shared,
    /// Delays of this message, if it was delayed.
    delays: Option<Delays>,
    /// Rank whose call has become complete with the event.
    ready: Option<Rank>,
}

impl Default for PresentEvent {
    fn default() -> PresentEvent {
        PresentEvent {
            path: Path::default(),
            flight: Flight::default(),
            shared: Shared::Fabric,
            delays: None,
            ready: None,
        }
    }
}

impl PresentEvent {
    /// A rank, whose critical path this is, goes on by itself.
    #[inline]
    pub fn go_on_from(&mut self, path: Path) {
        self.path = path;
    }

    /// A message has come: what follows depends on it. `delays` tells where it was delayed for how long, if it was.
    #[inline(always)]
    pub fn follow(
        &mut self,
        what: &ProtocolMessage,
        arrival: &Arrival,
        now: Time,
        delays: impl FnOnce(Duration) -> Delays,
    ) {
        let message = &arrival.message;
        self.flight = Flight::new(now.since(arrival.injected), arrival.idle);
        self.shared = message.shared_by_hosts();
        let contention = self.flight.contention;
        let is_delayed = contention > Duration::ZERO;
        self.delays = is_delayed.then(|| delays(contention));
        self.path = path_of(&message.cargo);
        self.flight.extend(&mut self.path, what.stalled());
    }

    /// The critical path up to `work` of a rank after the event.
    #[inline]
    pub fn path_after(&self, work: Duration) -> Path {
        let mut path = self.path;
        path.add(Cause::Software, work);
        path
    }

    /// Flight of the message that has come.
    #[inline]
    pub fn flight(&self) -> Flight {
        self.flight
    }

    /// Delays of the message that has come; none, at its hosts, if it was not delayed.
    pub fn delays(&self) -> Delays {
        self.delays.unwrap_or(Delays::at(self.shared, Duration::ZERO))
    }

    /// The call of `rank` has become complete.
    #[inline]
    pub fn make_ready(&mut self, rank: Rank) {
        self.ready = Some(rank);
    }

    /// Rank whose call has become complete since the last time.
    #[inline]
    pub fn take_ready(&mut self) -> Option<Rank> {
        self.ready.take()
    }
}
