//! The calls of one rank of a slice.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::Row;
use super::crossing::Cuts;
use crate::trace::error::TraceError;
use crate::trace::hct::rank::Event;
use crate::trace::hct::shape::{Begun, Did, From, Received, Sent, Shape};
use crate::trace::set::Events;

/// A rank's calls, those of a slice left.
pub struct Cutting {
    events: Events,
    row: Row,
    origin_ns: u64,
    cuts: Cuts,
    /// The number of the call before.
    number: u64,
    /// Requests under way that the slice has begun, and its persistent ones.
    open: BTreeSet<u32>,
    persistent: BTreeSet<u32>,
    /// What stands before the window, until that begins.
    before: VecDeque<Arc<Shape>>,
    /// When the slice's last call has returned.
    now_ns: u64,
}

impl Cutting {
    /// The calls of `row` among `events`.
    pub fn new(events: Events, row: Row, origin_ns: u64, cuts: Cuts) -> Cutting {
        Cutting {
            events,
            row,
            origin_ns,
            cuts,
            number: 0,
            open: BTreeSet::new(),
            persistent: BTreeSet::new(),
            before: VecDeque::new(),
            now_ns: 0,
        }
    }

    /// The next; `None` at the end.
    pub fn read(&mut self) -> Result<Option<Event>, TraceError> {
        loop {
            if self.number + 1 >= self.row.first
                && let Some(shape) = self.before.pop_front()
            {
                return Ok(Some(self.now(shape)));
            }
            let over = self.open.is_empty() && self.cuts.late.range(self.number + 1..).next().is_none();
            if self.number >= self.row.last && over {
                return Ok(None);
            }
            let Some(event) = self.events.next().transpose()? else { return Ok(None) };
            self.number += 1;
            if self.number < self.row.first {
                if self.needed(&event.shape) {
                    self.before.push_back(event.shape);
                }
                self.now_ns = event.end_ns.saturating_sub(self.origin_ns);
            } else if self.number <= self.row.last {
                let [begin_ns, end_ns] =
                    [event.begin_ns, event.end_ns].map(|ns| ns.saturating_sub(self.origin_ns));
                self.now_ns = end_ns;
                return Ok(Some(Event { shape: self.kept(event.shape), begin_ns, end_ns }));
            } else if let Some(shape) = self.after(&event.shape) {
                return Ok(Some(self.now(Arc::new(shape))));
            }
        }
    }

    /// A call without time.
    fn now(&self, shape: Arc<Shape>) -> Event {
        Event { shape, begin_ns: self.now_ns, end_ns: self.now_ns }
    }

    /// Whether the window needs a call before it.
    fn needed(&mut self, shape: &Shape) -> bool {
        match &shape.did {
            Did::NewComm(_) => true,
            Did::Overhead => shape.call.0.starts_with("MPI_Init"),
            Did::Free { request } => self.persistent.remove(request),
            did => match begun(did) {
                Some(Begun::Persistent(request)) => self.persistent.insert(request),
                _ => false,
            },
        }
    }

    /// A call in the window, without what is cut.
    fn kept(&mut self, shape: Arc<Shape>) -> Arc<Shape> {
        let number = self.number;
        let did = match &shape.did {
            Did::Send(send) => Did::Send(self.sent(send, begun(&shape.did))),
            Did::Receive(receive) => Did::Receive(self.received(receive, begun(&shape.did))),
            Did::SendReceive { send, receive } => {
                Did::SendReceive { send: self.sent(send, None), receive: self.received(receive, None) }
            }
            Did::Probe(_) if self.cuts.probes.contains(&number) => nothing(),
            Did::Complete { .. } => self.completed(&shape.did).unwrap_or_else(nothing),
            Did::Start { requests } => {
                let goes_on = |request: &u32| !self.is_cut((number, Some(*request)));
                let requests: Vec<u32> = requests.iter().copied().filter(goes_on).collect();
                self.open.extend(&requests);
                Did::Start { requests }
            }
            Did::Cancel { request } if !self.open.contains(request) => nothing(),
            Did::Free { request } if !(self.persistent.remove(request) | self.open.remove(request)) => {
                nothing()
            }
            Did::Collective(_) | Did::Finalize => {
                let begun = begun(&shape.did);
                if self.cuts.collectives.contains(&(number, begun.map(request))) {
                    nothing()
                } else {
                    self.begin(begun);
                    return shape;
                }
            }
            Did::FreeComm { .. } => nothing(),
            _ => return shape,
        };
        Arc::new(Shape { call: shape.call, did })
    }

    /// What of a call after the window ends what began in it.
    fn after(&mut self, shape: &Shape) -> Option<Shape> {
        let did = match &shape.did {
            Did::NewComm(_) if self.cuts.late.contains(&self.number) => shape.did.clone(),
            Did::Complete { .. } => self.completed(&shape.did)?,
            Did::Cancel { request } if self.open.contains(request) => shape.did.clone(),
            Did::Free { request } if self.open.remove(request) => shape.did.clone(),
            _ => return None,
        };
        Some(Shape { call: shape.call, did })
    }

    /// A wait for those of its requests that are under way.
    fn completed(&mut self, did: &Did) -> Option<Did> {
        let Did::Complete { requests, matched } = did else { return None };
        let requests: Vec<u32> =
            requests.iter().copied().filter(|request| self.open.remove(request)).collect();
        let matched = matched.iter().filter(|(request, _)| requests.contains(request)).copied().collect();
        (!requests.is_empty()).then_some(Did::Complete { requests, matched })
    }

    fn sent(&mut self, send: &Sent, begun: Option<Begun>) -> Sent {
        self.begin(begun);
        let cut = self.cuts.sends.contains(&(self.number, begun.map(request)));
        Sent { to: send.to.filter(|_| !cut), ..send.clone() }
    }

    fn received(&mut self, receive: &Received, begun: Option<Begun>) -> Received {
        self.begin(begun);
        if self.cuts.receives.contains(&(self.number, begun.map(request))) {
            return Received { from: From::Null, matched: None, ..receive.clone() };
        }
        receive.clone()
    }

    fn begin(&mut self, begun: Option<Begun>) {
        match begun {
            Some(Begun::Active(request)) => drop(self.open.insert(request)),
            Some(Begun::Persistent(request)) => drop(self.persistent.insert(request)),
            None => {}
        }
    }

    /// Whether the start of a persistent request is cut.
    fn is_cut(&self, operation: (u64, Option<u32>)) -> bool {
        let Cuts { sends, receives, collectives, .. } = &self.cuts;
        [sends, receives, collectives].iter().any(|cut| cut.contains(&operation))
    }
}

/// A call that does nothing.
fn nothing() -> Did {
    Did::Complete { requests: Vec::new(), matched: Vec::new() }
}

fn begun(did: &Did) -> Option<Begun> {
    match did {
        Did::Send(send) => send.request,
        Did::Receive(receive) => receive.request,
        Did::Collective(collective) => collective.request,
        _ => None,
    }
}

fn request(begun: Begun) -> u32 {
    match begun {
        Begun::Active(request) | Begun::Persistent(request) => request,
    }
}
