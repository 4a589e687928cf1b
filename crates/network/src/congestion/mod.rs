//! Congestion controls: how many bytes of a connection may be on their way, and how fast they may leave.
//!
//! A connection has a controller at its sender, which the transport tells of packets that leave, that are acknowledged, that a
//! router has marked, and that got lost. Between such calls it changes nothing.
//!
//! Adding one is a file here and a line in [`CONGESTION_CONTROLS`].

mod dctcp;
mod none;

use std::fmt;
use std::sync::Arc;

use engine::registry::{Arguments, BuildError, Entry};
use engine::{Bandwidth, Bytes, Time};

pub use dctcp::Dctcp;

/// The state of one connection.
pub trait Controller: fmt::Debug + Send {
    /// A packet of so many bytes on the wire begins to leave.
    fn on_send(&mut self, now: Time, bytes: Bytes) {
        let _ = (now, bytes);
    }
    /// A packet has been acknowledged; a marked one, after [`Controller::on_mark`].
    fn on_acknowledgement(&mut self, now: Time, bytes: Bytes);
    /// A packet has been acknowledged that a router had marked.
    fn on_mark(&mut self, now: Time, bytes: Bytes);
    /// A packet has not been acknowledged in time, and is sent again.
    fn on_loss(&mut self, now: Time, bytes: Bytes);
    /// The most bytes that may be on their way. One packet always may.
    fn window(&self) -> Bytes;
    /// The most that may leave in a time; `None` is as fast as the NIC.
    fn pacing(&self) -> Option<Bandwidth> {
        None
    }
}

/// Makes the controller of a connection.
pub type Control = Arc<dyn Fn() -> Box<dyn Controller> + Send + Sync>;

/// Makes what makes controllers of `[transport]`'s and `[router]`'s arguments, for packets of up to so many bytes on the wire;
/// nothing where nothing is controlled.
pub type Build = fn(&Arguments, Bytes) -> Result<Option<Control>, BuildError>;

/// Every congestion control that `[transport] congestion` can name.
pub const CONGESTION_CONTROLS: &[Entry<Build>] = &[none::ENTRY, dctcp::ENTRY];
