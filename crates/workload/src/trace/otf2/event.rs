//! The events of one location (`NAME/LOCATION.evt`), in order, with the archive's numbers and times.
//!
//! Source: OTF2 3.2, `otf2_events_int.h`, `OTF2_EvtReader_inc.c`, `OTF2_Events.h`.

use std::sync::Arc;

use super::location::Location;
use super::stream::{Body, Item, Stream};
use crate::trace::error::TraceError;
use crate::trace::set::Clocks;

/// A message, as recorded at one of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Rank of the other end, in the communicator.
    pub peer: u32,
    /// Number of the communicator in the archive.
    pub comm: u32,
    /// Tag.
    pub tag: u32,
    /// Length \[bytes\].
    pub bytes: u64,
}

/// A collective, as recorded on one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectiveCall {
    /// Number of the operation: 0 is a barrier.
    pub operation: u8,
    /// Number of the communicator in the archive.
    pub comm: u32,
    /// Root in the communicator; `u32::MAX` if it has none.
    pub root: u32,
    /// Bytes that the rank sent, its own block to each receiver.
    pub sent: u64,
    /// Bytes that it received.
    pub received: u64,
}

/// An event; requests have the numbers of the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A region begins.
    Enter(u32),
    /// A region ends.
    Leave(u32),
    /// A blocking send.
    Send(Message),
    /// A non-blocking send begins.
    SendBegins(Message, u64),
    /// A non-blocking send is complete.
    SendComplete(u64),
    /// A non-blocking receive begins.
    ReceiveBegins(u64),
    /// A non-blocking receive is complete.
    ReceiveComplete(Message, u64),
    /// A blocking receive is complete.
    Receive(Message),
    /// A request was cancelled.
    Cancelled(u64),
    /// A blocking collective begins.
    CollectiveBegins,
    /// A blocking collective is complete.
    Collective(CollectiveCall),
    /// A non-blocking collective begins.
    CollectiveStarts(u64),
    /// A non-blocking collective is complete.
    CollectiveComplete(CollectiveCall, u64),
    /// Recording goes on, or stops.
    Recording(bool),
    /// Something that replay does not need.
    Other,
}

/// Time and place of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Time on the clock that was asked for \[ticks\].
    pub ticks: u64,
    /// Offset in the file \[bytes\].
    pub offset: u64,
}

/// Stream of the events of a location.
pub struct Events {
    stream: Stream,
    location: Arc<Location>,
    clocks: Clocks,
    ticks: u64,
    interval: usize,
}

impl Events {
    pub(super) fn new(stream: Stream, location: Arc<Location>, clocks: Clocks) -> Events {
        Events { stream, location, clocks, ticks: 0, interval: 0 }
    }

    /// Next event; `None` at the end.
    #[allow(clippy::should_implement_trait)] // it can fail
    pub fn next(&mut self) -> Result<Option<(Stamp, Event)>, TraceError> {
        loop {
            match self.stream.next()? {
                None => return Ok(None),
                Some(Item::Time(time)) => {
                    self.ticks = match self.clocks {
                        Clocks::Aligned => self.location.on_common_clock(time, &mut self.interval),
                        Clocks::Recorded => time,
                    };
                }
                Some(Item::Record(number)) => {
                    let stamp = Stamp { ticks: self.ticks, offset: self.stream.record_at() };
                    return Ok(Some((stamp, self.event(number)?)));
                }
            }
        }
    }

    /// The name of the file.
    pub(super) fn file_name(&self) -> &Arc<str> {
        self.stream.file_name()
    }

    /// Fraction of the file that has been read \[0..1\].
    pub(super) fn share_read(&self) -> f64 {
        self.stream.share_read()
    }

    fn event(&self, number: u8) -> Result<Event, TraceError> {
        let mut body = self.stream.body();
        let body = &mut body;
        Ok(match number {
            11 => Event::Recording(body.u8("whether recording goes on")? == 1),
            12 => Event::Enter(self.region(body)?),
            13 => Event::Leave(self.region(body)?),
            14 => Event::Send(self.message(body)?),
            15 => Event::SendBegins(self.message(body)?, body.u64("a request")?),
            16 => Event::SendComplete(body.u64("a request")?),
            17 => Event::ReceiveBegins(body.u64("a request")?),
            18 => Event::Receive(self.message(body)?),
            19 => Event::ReceiveComplete(self.message(body)?, body.u64("a request")?),
            21 => Event::Cancelled(body.u64("a request")?),
            22 => Event::CollectiveBegins,
            23 => Event::Collective(self.collective(body)?),
            85 => Event::CollectiveStarts(body.u64("a request")?),
            86 => Event::CollectiveComplete(self.collective(body)?, body.u64("a request")?),
            _ => Event::Other,
        })
    }

    fn region(&self, body: &mut Body<'_>) -> Result<u32, TraceError> {
        Ok(self.location.regions.of(body.u32("a region")?))
    }

    fn message(&self, body: &mut Body<'_>) -> Result<Message, TraceError> {
        let peer = body.u32("the other rank")?;
        let comm = self.location.comms.of(body.u32("the communicator")?);
        let tag = body.u32("the tag")?;
        Ok(Message { peer, comm, tag, bytes: body.u64("the length of a message")? })
    }

    fn collective(&self, body: &mut Body<'_>) -> Result<CollectiveCall, TraceError> {
        let operation = body.u8("the collective")?;
        let comm = self.location.comms.of(body.u32("the communicator")?);
        let root = body.u32("the root")?;
        let sent = body.u64("the bytes sent")?;
        Ok(CollectiveCall { operation, comm, root, sent, received: body.u64("the bytes received")? })
    }
}
