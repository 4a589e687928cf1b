//! Sources of a run's operations: a pattern's, a recording's, the caller's, or those of several jobs.

mod jobs;

use mpi::{Completion, Issued, Op, Rank, Source};
use workload::pattern::Steps;
use workload::trace::Replay;

pub use jobs::{Jobs, PlacedJob};

use crate::profile::{Layer, Marker};

/// A source that moves to the thread of its domain.
#[expect(clippy::large_enum_variant, reason = "each domain has one, which it asks at every step")]
pub enum Feed {
    /// Source of a pattern.
    Pattern(Steps),
    /// Source of a recording.
    Replay(Replay),
    /// Sources of the caller.
    Made(Box<dyn Source + Send>),
    /// Sources of several jobs.
    Jobs(Jobs),
    /// A source that marks its layer while it works.
    Marked(Box<Feed>, Marker),
}

impl Feed {
    /// The same source, which marks its layer.
    pub fn marked(self, marker: &Marker) -> Feed {
        Feed::Marked(Box::new(self), marker.clone())
    }

    /// The replays in it, each with its first rank.
    pub fn replays(&mut self) -> Vec<(u32, &mut Replay)> {
        match self {
            Feed::Replay(replay) => vec![(0, replay)],
            Feed::Jobs(jobs) => jobs.replays().collect(),
            Feed::Marked(feed, _) => feed.replays(),
            Feed::Pattern(_) | Feed::Made(_) => Vec::new(),
        }
    }

    fn source(&self) -> &dyn Source {
        match self {
            Feed::Pattern(steps) => steps,
            Feed::Replay(replay) => replay,
            Feed::Made(source) => &**source,
            Feed::Jobs(jobs) => jobs,
            Feed::Marked(feed, _) => feed.source(),
        }
    }
}

impl Source for Feed {
    fn next(&mut self, rank: Rank, done: &Completion) -> Op {
        match self {
            Feed::Pattern(steps) => steps.next(rank, done),
            Feed::Replay(replay) => replay.next(rank, done),
            Feed::Made(source) => source.next(rank, done),
            Feed::Jobs(jobs) => jobs.next(rank, done),
            Feed::Marked(feed, marker) => marker.inside(Layer::Source, || feed.next(rank, done)),
        }
    }

    fn place(&self, rank: Rank) -> Option<String> {
        self.source().place(rank)
    }

    fn function(&self, rank: Rank) -> Option<&'static str> {
        self.source().function(rank)
    }

    fn issued(&self) -> Option<Issued> {
        self.source().issued()
    }

    fn take_error(&mut self) -> Option<String> {
        match self {
            Feed::Pattern(_) => None,
            Feed::Replay(replay) => Source::take_error(replay),
            Feed::Made(source) => source.take_error(),
            Feed::Jobs(jobs) => jobs.take_error(),
            Feed::Marked(feed, _) => feed.take_error(),
        }
    }
}
