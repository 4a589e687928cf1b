//! Reads ahead of the replay to what operations that did not block had become when they were complete: a
//! receive's source and tag, a collective's kind and sizes. It goes no farther than that, and not at all in
//! archives without such operations.

use engine::hash::Map;

use super::event::{CollectiveCall, Event, Events, Message};
use crate::trace::error::TraceError;

/// Operations of one kind that were begun, by their numbers from 0.
struct Ahead<T> {
    /// Those not complete: request → number.
    open: Map<u64, u64>,
    /// What was found, until it is asked for; `None` where it never was complete.
    known: Map<u64, Option<T>>,
    seen: u64,
    asked: u64,
}

impl<T> Ahead<T> {
    fn new() -> Ahead<T> {
        Ahead { open: Map::default(), known: Map::default(), seen: 0, asked: 0 }
    }

    fn begins(&mut self, request: u64) {
        // A request's number is used again: what it stood for has been lost to the archive.
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

/// Goes ahead of one rank.
pub(super) struct Scout {
    events: Events,
    receives: Ahead<Message>,
    collectives: Ahead<CollectiveCall>,
    ended: bool,
}

impl Scout {
    /// Begins with the first of `events`.
    pub(super) fn new(events: Events) -> Scout {
        Scout { events, receives: Ahead::new(), collectives: Ahead::new(), ended: false }
    }

    /// What the next receive that began received; `None` if it never was complete.
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

    /// What the next collective that began was; `None` if it never was complete.
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
