//! Sources that a rank's wildcard receives matched in the recorded run, from the calls that completed them.

use std::collections::VecDeque;

use engine::hash::Map;

use super::calls::Calls;
use super::shape::{Begun, Did, From, Matched, Received};
use crate::trace::error::TraceError;

/// True for a wildcard receive that a later call completes, so that only that call knows its match.
pub fn is_open(receive: &Received) -> bool {
    takes_any(receive) && receive.matched.is_none() && matches!(receive.request, Some(Begun::Active(_)))
}

fn takes_any(receive: &Received) -> bool {
    receive.from == From::Any || receive.from != From::Null && receive.tag.is_none()
}

/// Persistent wildcard receives of a rank, by request.
#[derive(Default)]
pub struct Open(Map<u32, Received>);

impl Open {
    /// Follows a call. Returns true if it makes a persistent wildcard receive.
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

    /// Wildcard receive of a request, if it is one.
    pub fn get(&self, request: u32) -> Option<&Received> {
        self.0.get(&request)
    }
}

/// Reads ahead to find the match of each wildcard receive, in the order in which the receives begin.
pub struct Scout {
    calls: Calls,
    open: Open,
    /// Matches of the receives that have begun; the request, until it is complete.
    begun: VecDeque<Result<Option<Matched>, u32>>,
}

impl Scout {
    /// Begins before the first call of a rank.
    pub fn new(calls: Calls) -> Scout {
        Scout { calls, open: Open::default(), begun: VecDeque::new() }
    }

    /// Match of the next wildcard receive; `None` if it was cancelled, or never completed.
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
