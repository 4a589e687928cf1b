//! Operations of a run of several jobs.

use engine::{Duration, Time};
use mpi::{Completion, Issued, Op, Rank, Source};
use workload::trace::Replay;

use super::Feed;

/// A job with its ranks in place.
#[derive(Debug, Clone)]
pub struct PlacedJob {
    /// Name.
    pub name: String,
    /// Workload.
    pub workload: String,
    /// Kind of the placement.
    pub placement: &'static str,
    /// First rank in the run.
    pub first: u32,
    /// Number of ranks.
    pub ranks: u32,
    /// Start of its ranks.
    pub start: Time,
}

/// Source of a run of several jobs: routes each rank to the source of its own job.
pub struct Jobs(Vec<JobFeed>);

struct JobFeed {
    name: String,
    first: u32,
    start: Time,
    /// True for each rank that has waited for the job's start; empty if the start is time zero.
    begun: Vec<bool>,
    feed: Feed,
}

impl Jobs {
    /// Makes the feed of these jobs with their sources, in the order of their ranks.
    pub fn new(jobs: Vec<(PlacedJob, Feed)>) -> Jobs {
        let feed = |(job, feed): (PlacedJob, Feed)| JobFeed {
            begun: if job.start == Time::ZERO { Vec::new() } else { vec![false; job.ranks as usize] },
            name: job.name,
            first: job.first,
            start: job.start,
            feed,
        };
        Jobs(jobs.into_iter().map(feed).collect())
    }

    /// Replays among them, with their first ranks.
    pub fn replays(&mut self) -> impl Iterator<Item = (u32, &mut Replay)> {
        self.0.iter_mut().filter_map(|job| match &mut job.feed {
            Feed::Replay(replay) => Some((job.first, replay)),
            _ => None,
        })
    }

    fn job_of(&self, rank: Rank) -> usize {
        self.0.partition_point(|job| job.first <= rank.0) - 1
    }
}

impl JobFeed {
    fn next(&mut self, rank: Rank, done: &Completion) -> Op {
        let own = Rank(rank.0 - self.first);
        let Some(begun) = self.begun.get_mut(own.0 as usize) else { return self.feed.next(own, done) };
        if !std::mem::replace(begun, true) {
            return Op::SleepUntil(self.start);
        }
        let since_start = Time(done.now.0 - self.start.0);
        match self.feed.next(own, &Completion { now: since_start, ..done.clone() }) {
            Op::SleepUntil(time) => Op::SleepUntil(time + Duration(self.start.0)),
            op => op,
        }
    }
}

impl Source for Jobs {
    fn next(&mut self, rank: Rank, done: &Completion) -> Op {
        let job = self.job_of(rank);
        self.0[job].next(rank, done)
    }

    fn place(&self, rank: Rank) -> Option<String> {
        let job = &self.0[self.job_of(rank)];
        let own = Rank(rank.0 - job.first);
        let place = job.feed.place(own).map_or(String::new(), |place| format!(", {place}"));
        Some(format!("rank {} of job '{}'{place}", own.0, job.name))
    }

    fn function(&self, rank: Rank) -> Option<&'static str> {
        let job = &self.0[self.job_of(rank)];
        job.feed.function(Rank(rank.0 - job.first))
    }

    /// Sums over all jobs.
    fn issued(&self) -> Option<Issued> {
        self.0.iter().try_fold(Issued::default(), |all, job| Some(all.and(job.feed.issued()?)))
    }

    fn take_error(&mut self) -> Option<String> {
        self.0.iter_mut().find_map(|job| Source::take_error(&mut job.feed))
    }
}
