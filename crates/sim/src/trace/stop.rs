//! Recorded runs whose reading another thread can stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Duration, FlopRate};
use mpi::operation::CommId;
use mpi::{Completion, Rank};

use workload::trace::graph::Graph;
use workload::trace::hct::gaps::Count;
use workload::trace::hct::rank::Head;
use workload::trace::set::{
    Alone, Before, Begun, Clocks, EndsEarly, Events, Listing, RankCalls, RecordedCalls, Step, Summary,
    TraceSet,
};
use workload::trace::{SharedSet, TraceError};

/// Flag that stops readers of recorded runs. Clones share the flag.
#[derive(Debug, Default, Clone)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Stops all readers from now on.
    pub fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Wraps `of`: each of its calls is an error once the flag is set.
    pub fn stopping(&self, of: SharedSet) -> SharedSet {
        Arc::new(Stoppable { of, stop: self.clone() })
    }

    fn check(&self) -> Result<(), TraceError> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(TraceError::new("trace", "reading it was interrupted")),
            false => Ok(()),
        }
    }
}

struct Stoppable {
    of: SharedSet,
    stop: Stop,
}

struct StoppableCalls {
    of: Box<dyn RankCalls>,
    stop: Stop,
}

impl TraceSet for Stoppable {
    fn format(&self) -> &'static str {
        self.of.format()
    }
    fn ranks(&self) -> u32 {
        self.of.ranks()
    }
    fn hosts(&self) -> Vec<String> {
        self.of.hosts()
    }
    fn warnings(&self) -> Vec<String> {
        self.of.warnings()
    }
    fn timed(&self) -> bool {
        self.of.timed()
    }
    fn common_time(&self) -> bool {
        self.of.common_time()
    }
    fn counts(&self) -> Vec<Count> {
        self.of.counts()
    }
    fn ordered(&self) -> bool {
        self.of.ordered()
    }
    fn graph(&self, rank: Rank) -> Result<Option<Graph>, TraceError> {
        self.of.graph(rank)
    }
    fn node_name(&self, rank: Rank, number: u64) -> Result<Option<String>, TraceError> {
        self.of.node_name(rank, number)
    }
    fn at_rate(&self, rate: FlopRate) -> Option<SharedSet> {
        self.of.at_rate(rate).map(|of| self.stop.stopping(of))
    }
    fn alone(&self) -> Option<Alone> {
        self.of.alone()
    }
    fn shutdown(&self) -> Duration {
        self.of.shutdown()
    }
    fn replayable(&self) -> Result<(), TraceError> {
        self.of.replayable()
    }
    fn summary(&self, clocks: Clocks) -> Result<Summary, TraceError> {
        self.of.summary(clocks)
    }
    fn recorded_calls(&self, rank: Rank, clocks: Clocks) -> Result<RecordedCalls, TraceError> {
        let stop = self.stop.clone();
        let calls = self.of.recorded_calls(rank, clocks)?;
        Ok(Box::new(calls.map(move |call| stop.check().and(call))))
    }
    fn calls(&self, rank: Rank, clocks: Clocks) -> Result<Box<dyn RankCalls>, TraceError> {
        Ok(Box::new(StoppableCalls { of: self.of.calls(rank, clocks)?, stop: self.stop.clone() }))
    }
    fn calls_matched_anew(&self, rank: Rank, clocks: Clocks) -> Result<Box<dyn RankCalls>, TraceError> {
        Ok(Box::new(StoppableCalls {
            of: self.of.calls_matched_anew(rank, clocks)?,
            stop: self.stop.clone(),
        }))
    }
    fn events(&self, rank: Rank, clocks: Clocks) -> Result<Events, TraceError> {
        let stop = self.stop.clone();
        let events = self.of.events(rank, clocks)?;
        Ok(Box::new(events.map(move |event| stop.check().and(event))))
    }
    fn listing(&self, rank: Rank, clocks: Clocks) -> Result<Listing, TraceError> {
        let stop = self.stop.clone();
        let listing = self.of.listing(rank, clocks)?;
        Ok(Box::new(listing.map(move |one| stop.check().and(one))))
    }
    fn head(&self, rank: Rank, host: &str) -> Head {
        self.of.head(rank, host)
    }
    fn starts_after(&self, rank: Rank) -> Duration {
        self.of.starts_after(rank)
    }
    fn ends_early(&self, rank: Rank) -> Option<EndsEarly> {
        self.of.ends_early(rank)
    }
}

impl RankCalls for StoppableCalls {
    fn next(&mut self) -> Result<Option<Step>, TraceError> {
        self.stop.check()?;
        self.of.next()
    }
    fn before(&self) -> Before {
        self.of.before()
    }
    fn begun(&self) -> Option<Begun> {
        self.of.begun()
    }
    fn made(&mut self, comm: CommId) {
        self.of.made(comm);
    }
    fn returned(&mut self, done: &Completion) {
        self.of.returned(done);
    }
    fn warnings(&self) -> Vec<String> {
        self.of.warnings()
    }
    fn share_read(&self) -> f64 {
        self.of.share_read()
    }
    fn error(&self, reason: String) -> TraceError {
        self.of.error(reason)
    }
    fn set_back(&self) -> Option<String> {
        self.of.set_back()
    }
}
