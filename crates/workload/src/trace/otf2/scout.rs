//! Reads ahead of the replay to find what non-blocking operations had become at their completion: a receive's source
//! and tag, a collective's kind and sizes. Reads no farther than that, and nothing in archives without such
//! operations.

use engine::hash::Map;

use super::event::{CollectiveCall, Event, Events, Message};
use crate::trace::error::TraceError;

/// Operations of one kind, numbered from 0 in the order in which they begin.
struct Ahead<T> {
    /// Operations in progress: request → number.
    open: Map<u64, u64>,
    /// Results that the replay has not asked for yet; `None` for an operation that never completed.
    known: Map<u64, Option<T>>,
    seen: u64,
    asked: u64,
}

impl<T> Ahead<T> {
    fn new() -> Ahead<T> {
        Ahead { open: Map::default(), known: Map::default(), seen: 0, asked: 0 }
    }

    fn begins(&mut self, request: u64) {
        // The request's number is used again: the archive lacks the completion of its previous operation.
        if let Some(lost) = self.open.insert(request, self.seen) {
            self.known.insert(lost, None);
        }
        self.seen += 1;
    }

    fn complete(&mut self, request: u64, found: Option<T>) {
        if let Some(number) = self.open.remove(&request) {
            self.known.insert(number, found);
        }
    }
}

/// Reads ahead of one rank's replay.
pub(super) struct Scout {
    events: Events,
    receives: Ahead<Message>,
    collectives: Ahead<CollectiveCall>,
    ended: bool,
}

impl Scout {
    /// Starts at the first of `events`.
    pub(super) fn new(events: Events) -> Scout {
        Scout { events, receives: Ahead::new(), collectives: Ahead::new(), ended: false }
    }

    /// Message of the next non-blocking receive; `None` if it never completed.
    pub(super) fn receive(&mut self) -> Result<Option<Message>, TraceError> {
        self.receives.asked += 1;
        loop {
            if let Some(found) = self.receives.known.remove(&(self.receives.asked - 1)) {
                return Ok(found);
            }
            if self.ended {
                return Ok(None);
            }
            self.advance()?;
        }
    }

    /// Arguments of the next non-blocking collective; `None` if it never completed.
    pub(super) fn collective(&mut self) -> Result<Option<CollectiveCall>, TraceError> {
        self.collectives.asked += 1;
        loop {
            if let Some(found) = self.collectives.known.remove(&(self.collectives.asked - 1)) {
                return Ok(found);
            }
            if self.ended {
                return Ok(None);
            }
            self.advance()?;
        }
    }

    fn advance(&mut self) -> Result<(), TraceError> {
        match self.events.next()? {
            None => self.ended = true,
            Some((_, Event::ReceiveBegins(request))) => self.receives.begins(request),
            Some((_, Event::ReceiveComplete(message, request))) => {
                self.receives.complete(request, Some(message));
            }
            Some((_, Event::Cancelled(request))) => {
                self.receives.complete(request, None);
                self.collectives.complete(request, None);
            }
            Some((_, Event::CollectiveStarts(request))) => self.collectives.begins(request),
            Some((_, Event::CollectiveComplete(call, request))) => {
                self.collectives.complete(request, Some(call));
            }
            Some(_) => {}
        }
        Ok(())
    }
}
