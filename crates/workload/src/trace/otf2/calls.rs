//! Makes calls of events: an MPI function that was entered and left, with the events within it.
//!
//! An event outside of MPI's functions (where these were filtered out of the recording) is a call by itself. Regions
//! within an MPI function belong to it.

use std::sync::Arc;

use engine::hash::Map;

use super::event::{Event, Events, Stamp};
use crate::trace::error::TraceError;

/// One recorded call.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Call {
    /// MPI function.
    pub name: &'static str,
    /// Begin and end \[ticks\].
    pub begin: u64,
    pub end: u64,
    /// Offset of its begin in the file \[bytes\].
    pub offset: u64,
    /// Events within it: messages, collectives, requests; each with its offset in the file.
    pub events: Vec<(u64, Event)>,
}

/// Stream of the calls of a rank.
pub(super) struct Calls {
    pub events: Events,
    functions: Arc<Map<u32, &'static str>>,
    call: Call,
    /// Begin of the current interruption of the recording, and total length of the interruptions between calls
    /// \[ticks\].
    stopped: Option<u64>,
    unrecorded: u64,
    /// Begin of the first call, and end of the last one.
    first: Option<u64>,
    returned: u64,
}

impl Calls {
    pub(super) fn new(events: Events, functions: Arc<Map<u32, &'static str>>) -> Calls {
        Calls {
            events,
            functions,
            call: Call::default(),
            stopped: None,
            unrecorded: 0,
            first: None,
            returned: 0,
        }
    }

    /// Next call; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<&Call>, TraceError> {
        self.call.events.clear();
        // Nesting depth of regions, counted from MPI's function.
        let mut depth = 0_u32;
        let mut collective = None;
        while let Some((stamp, event)) = self.events.next()? {
            self.call.end = stamp.ticks;
            match event {
                Event::Recording(goes_on) => self.recording(goes_on, stamp),
                Event::Enter(region) if depth == 0 => {
                    if let Some(name) = self.functions.get(&region) {
                        self.begin(name, stamp, stamp.ticks);
                        depth = 1;
                    }
                }
                Event::Enter(_) => depth = depth.saturating_add(1),
                Event::Leave(_) if depth > 1 => depth -= 1,
                Event::Leave(_) if depth == 1 => {
                    self.returned = self.call.end;
                    return Ok(Some(&self.call));
                }
                Event::Leave(_) | Event::Other => {}
                Event::CollectiveBegins => collective = Some(stamp),
                _ if depth > 0 => self.call.events.push((stamp.offset, event)),
                _ => {
                    let (end, began) = (stamp.ticks, collective.unwrap_or(stamp));
                    // An operation may begin before the previous call, which it then contains.
                    self.begin(name_of(&event), began, began.ticks.max(self.returned.min(end)));
                    (self.call.end, self.returned) = (end, end);
                    self.call.events.push((stamp.offset, event));
                    return Ok(Some(&self.call));
                }
            }
        }
        // The archive ends within a call: the events in it so far have happened.
        Ok((depth > 0 && !self.call.events.is_empty()).then_some(&self.call))
    }

    /// Total length of the interruptions between calls, and the time since the first call \[ticks\].
    pub(super) fn unrecorded_of(&self) -> (u64, u64) {
        (self.unrecorded, self.call.end.saturating_sub(self.first.unwrap_or(0)))
    }

    fn begin(&mut self, name: &'static str, stamp: Stamp, ticks: u64) {
        self.call.name = name;
        self.call.begin = ticks;
        self.call.end = ticks;
        self.call.offset = stamp.offset;
        self.first.get_or_insert(self.call.begin);
    }

    fn recording(&mut self, goes_on: bool, stamp: Stamp) {
        if !goes_on {
            self.stopped = Some(stamp.ticks);
        } else if let (Some(since), Some(_)) = (self.stopped.take(), self.first) {
            self.unrecorded += stamp.ticks.saturating_sub(since);
        }
    }
}

/// Function that causes such an event.
fn name_of(event: &Event) -> &'static str {
    match event {
        Event::Send(_) => "MPI_Send",
        Event::SendBegins(..) => "MPI_Isend",
        Event::ReceiveBegins(_) => "MPI_Irecv",
        Event::Receive(_) => "MPI_Recv",
        Event::Cancelled(_) => "MPI_Cancel",
        Event::Collective(call) | Event::CollectiveComplete(call, _) => {
            super::collective::kind(call.operation).map_or("MPI function", |kind| kind.function())
        }
        _ => "MPI_Wait",
    }
}
