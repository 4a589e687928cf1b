//! Calls of one rank of a slice.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::Row;
use super::crossing::Cuts;
use super::within::Within;
use crate::trace::error::TraceError;
use crate::trace::hct::gaps::Gap;
use crate::trace::hct::rank::Event;
use crate::trace::hct::shape::{Begun, Did, From, Received, Sent, Shape};
use crate::trace::set::Events;

/// Reads a rank's calls and keeps those of the slice.
pub struct Cutting {
    events: Events,
    row: Row,
    origin_ns: u64,
    end_ns: u64,
    cuts: Cuts,
    /// Numbers of ranks, if not all ranks are kept.
    within: Option<Within>,
    /// Number of the previous call.
    number: u64,
    /// Requests in progress that began in the slice, and persistent ones.
    open: BTreeSet<u32>,
    persistent: BTreeSet<u32>,
    /// Requests in progress that the slice leaves out, as their peers are not kept.
    dropped: BTreeSet<u32>,
    /// Calls before the window, until it begins.
    before: VecDeque<Arc<Shape>>,
    /// End of the slice's last call.
    now_ns: u64,
    /// End of the previous call, on the clock of the recording.
    returned_ns: u64,
}

impl Cutting {
    /// Keeps the calls of `row` among `events`, in a window from one time to another \[ns\].
    pub fn new(
        events: Events,
        row: Row,
        (origin_ns, end_ns): (u64, u64),
        cuts: Cuts,
        within: Option<Within>,
    ) -> Cutting {
        Cutting {
            events,
            row,
            origin_ns,
            end_ns,
            cuts,
            within,
            number: 0,
            open: BTreeSet::new(),
            persistent: BTreeSet::new(),
            dropped: BTreeSet::new(),
            before: VecDeque::new(),
            now_ns: 0,
            returned_ns: 0,
        }
    }

    /// Next call; `None` at the end.
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
            let returned_ns = std::mem::replace(&mut self.returned_ns, event.end_ns);
            if self.number < self.row.first {
                if self.needed(&event.shape) {
                    let shape = self.among_kept(event.shape)?;
                    self.before.push_back(shape);
                }
                self.now_ns = event.end_ns.min(self.end_ns).saturating_sub(self.origin_ns);
            } else if self.number <= self.row.last {
                let [begin_ns, end_ns] =
                    [event.begin_ns, event.end_ns].map(|ns| ns.saturating_sub(self.origin_ns));
                self.now_ns = end_ns;
                let (kept, mut between) = (self.kept(event.shape), event.between);
                if returned_ns < self.origin_ns {
                    // The slice began while the rank was computing.
                    between.count_part(begin_ns, event.begin_ns.saturating_sub(returned_ns));
                }
                return Ok(Some(Event { shape: self.among_kept(kept)?, begin_ns, end_ns, between }));
            } else if let Some(shape) = self.after(&event.shape) {
                let shape = self.among_kept(Arc::new(shape))?;
                return Ok(Some(self.now(shape)));
            }
        }
    }

    /// Call with the numbers of the kept ranks.
    fn among_kept(&mut self, shape: Arc<Shape>) -> Result<Arc<Shape>, TraceError> {
        let Some(within) = &mut self.within else { return Ok(shape) };
        let call = shape.call.0;
        within
            .shape(shape, self.cuts.made.get(&self.number))
            .map_err(|reason| TraceError::new("--ranks", format!("call #{} {call} {reason}", self.number)))
    }

    /// Makes a call that takes no time.
    fn now(&self, shape: Arc<Shape>) -> Event {
        Event { shape, begin_ns: self.now_ns, end_ns: self.now_ns, between: Gap::default() }
    }

    /// True if the window needs a call before it.
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

    /// Call in the window, without its cut operations.
    fn kept(&mut self, shape: Arc<Shape>) -> Arc<Shape> {
        let number = self.number;
        if let Some(did) = self.outside(&shape.did) {
            return Arc::new(Shape { call: shape.call, did });
        }
        let did = match &shape.did {
            Did::Send(send) => Did::Send(self.sent(send, begun(&shape.did))),
            Did::Receive(receive) => Did::Receive(self.received(receive, begun(&shape.did))),
            Did::SendReceive { send, receive } => {
                Did::SendReceive { send: self.sent(send, None), receive: self.received(receive, None) }
            }
            Did::Probe(_) if self.cuts.probes.contains(&number) => nothing(),
            Did::Complete { requests, .. } => {
                let dropped = requests.iter().filter(|request| self.dropped.remove(request)).count();
                let time = if dropped > 0 { Did::Overhead } else { nothing() };
                self.completed(&shape.did).unwrap_or(time)
            }
            Did::Start { requests } => {
                let goes_on = |request: &u32| !self.is_cut((number, Some(*request)));
                let (requests, cut): (Vec<u32>, Vec<u32>) = requests.iter().copied().partition(goes_on);
                let left: Vec<u32> =
                    cut.into_iter().filter(|request| self.leaves((number, Some(*request)))).collect();
                self.dropped.extend(left);
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

    /// Replacement of a call that involves only ranks that are not kept: it takes its recorded time.
    fn outside(&mut self, did: &Did) -> Option<Did> {
        let begun = begun(did);
        if let Some(Begun::Persistent(_)) = begun {
            return None;
        }
        let (operation, outside) = ((self.number, begun.map(request)), &self.cuts.outside);
        let is_outside = match did {
            Did::Send(_) => outside.sends.contains(&operation),
            Did::Receive(_) => outside.receives.contains(&operation),
            Did::SendReceive { send, receive } => {
                let sends = send.to.is_some() && !outside.sends.contains(&operation);
                let receives = receive.from != From::Null && !outside.receives.contains(&operation);
                !sends && !receives && self.leaves(operation)
            }
            Did::Collective(_) => outside.collectives.contains(&operation),
            Did::Probe(_) => outside.probes.contains(&self.number),
            _ => false,
        };
        self.dropped.extend(begun.map(request).filter(|_| is_outside));
        is_outside.then_some(Did::Overhead)
    }

    /// True if an operation involves ranks that are not kept.
    fn leaves(&self, operation: (u64, Option<u32>)) -> bool {
        let outside = &self.cuts.outside;
        [&outside.sends, &outside.receives, &outside.collectives].iter().any(|set| set.contains(&operation))
    }

    /// Part of a call after the window that completes operations begun in it.
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

    /// Wait for those of the call's requests that are in progress.
    fn completed(&mut self, did: &Did) -> Option<Did> {
        let Did::Complete { requests, matched } = did else { return None };
        let requests: Vec<u32> =
            requests.iter().copied().filter(|request| self.open.remove(request)).collect();
        let matched = matched.iter().filter(|(request, _)| requests.contains(request)).copied().collect();
        (!requests.is_empty()).then_some(Did::Complete { requests, matched })
    }

    fn sent(&mut self, send: &Sent, begun: Option<Begun>) -> Sent {
        self.begin(begun);
        let operation = (self.number, begun.map(request));
        let cut = self.cuts.sends.contains(&operation) || self.cuts.outside.sends.contains(&operation);
        Sent { to: send.to.filter(|_| !cut), ..send.clone() }
    }

    fn received(&mut self, receive: &Received, begun: Option<Begun>) -> Received {
        self.begin(begun);
        let operation = (self.number, begun.map(request));
        if self.cuts.receives.contains(&operation) || self.cuts.outside.receives.contains(&operation) {
            return Received { from: From::Null, matched: None, ..receive.clone() };
        }
        receive.clone()
    }

    fn begin(&mut self, begun: Option<Begun>) {
        match begun {
            Some(Begun::Active(request)) => {
                self.open.insert(request);
                self.dropped.remove(&request);
            }
            Some(Begun::Persistent(request)) => drop(self.persistent.insert(request)),
            None => {}
        }
    }

    /// True if the start of a persistent request is cut.
    fn is_cut(&self, operation: (u64, Option<u32>)) -> bool {
        let Cuts { sends, receives, collectives, .. } = &self.cuts;
        [sends, receives, collectives].iter().any(|cut| cut.contains(&operation)) || self.leaves(operation)
    }
}

/// Effect of a call that does nothing.
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
