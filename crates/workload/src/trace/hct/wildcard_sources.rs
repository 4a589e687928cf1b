//! Sources that a rank's wildcard receives matched in the recorded run, from the calls that completed them.

use std::collections::VecDeque;

use engine::hash::Map;

use super::calls::Calls;
use super::shape::{Begun, Did, From, Matched, Received};
use crate::trace::error::TraceError;

/// True if a receive that begins here takes whatever comes, so that what came is told by what completes it.
pub fn is_open(receive: &Received) -> bool {
    takes_any(receive) && receive.matched.is_none() && matches!(receive.request, Some(Begun::Active(_)))
}

fn takes_any(receive: &Received) -> bool {
    receive.from == From::Any || receive.from != From::Null && receive.tag.is_none()
}

/// The persistent receives of a rank that take whatever comes, by request.
#[derive(Default)]
pub struct Open(Map<u32, Received>);

impl Open {
    /// Takes note of a call; whether it makes one.
    pub fn see(&mut self, did: &Did) -> bool {
        match did {
            Did::Receive(receive) if takes_any(receive) => match receive.request {
                Some(Begun::Persistent(request)) => self.0.insert(request, receive.clone()).is_none(),
                _ => false,
            },
            Did::Free { request } => {
                self.0.remove(request);
                false
            }
            _ => false,
        }
    }

    /// The one of a request.
    pub fn get(&self, request: u32) -> Option<&Received> {
        self.0.get(&request)
    }
}

/// Reads ahead: what came for each receive that takes whatever comes, in the order in which they begin.
pub struct Scout {
    calls: Calls,
    open: Open,
    /// Matches of those that have begun; the request, while there is none.
    begun: VecDeque<Result<Option<Matched>, u32>>,
}

impl Scout {
    /// Makes the state of a rank before its first call.
    pub fn new(calls: Calls) -> Scout {
        Scout { calls, open: Open::default(), begun: VecDeque::new() }
    }

    /// Match of the next one; `None` if it was cancelled, or never completed.
    pub fn next(&mut self) -> Result<Option<Matched>, TraceError> {
        loop {
            if let Some(Ok(_)) = self.begun.front() {
                return Ok(self.begun.pop_front().and_then(Result::ok).flatten());
            }
            let Some(event) = self.calls.read()? else {
                self.begun.pop_front();
                return Ok(None);
            };
            match &event.shape.did {
                Did::Receive(receive) if is_open(receive) => {
                    let Some(Begun::Active(request)) = receive.request else { unreachable!("it is open") };
                    self.begun.push_back(Err(request));
                }
                Did::Complete { requests, matched } => {
                    for request in requests {
                        let came = matched.iter().find(|(of, _)| of == request).map(|(_, came)| *came);
                        self.end(*request, came);
                    }
                }
                Did::Start { requests } => {
                    let receives = requests.iter().filter(|request| self.open.get(**request).is_some());
                    self.begun.extend(receives.map(|request| Err(*request)));
                }
                Did::Free { request } => self.end(*request, None),
                _ => {}
            }
            self.open.see(&event.shape.did);
        }
    }

    fn end(&mut self, request: u32, came: Option<Matched>) {
        if let Some(one) = self.begun.iter_mut().find(|one| **one == Err(request)) {
            *one = Ok(came);
        }
    }
}
