//! Calls in which ranks stand while a run is under way.

use engine::Time;
use serde::{Deserialize, Serialize};

use crate::operation::Rank;
use crate::record::Blocked;
use crate::source::Source;
use crate::world::process::{Process, Standing as State};
use crate::world::{World, text};

/// Call of a rank that is not done. Of several, the one that is furthest behind comes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Standing {
    /// Return of the call before the present one: the rank has come that far.
    pub reached: Time,
    /// Rank that stands there.
    pub rank: Rank,
    /// The call in which it stands: an MPI function, "compute" or "sleep"; empty between two calls.
    pub call: String,
}

impl World {
    /// The ranks of this world that are not done, in the order of ranks.
    pub fn standings(&self) -> impl Iterator<Item = Standing> {
        let stands = |(rank, process): (Rank, &Process)| Standing {
            reached: process.call.begin,
            rank,
            call: process.op.as_ref().map_or("", text::name).to_string(),
        };
        self.under_way().map(stands)
    }

    /// The rank that is furthest behind, and how far it has come.
    pub fn furthest_behind(&self) -> Option<(Time, Rank)> {
        self.under_way().map(|(rank, process)| (process.call.begin, rank)).min()
    }

    /// The `most` ranks that are furthest behind, with their calls in words.
    pub fn behind(&self, most: usize, source: &dyn Source) -> Vec<Blocked> {
        let mut ranks: Vec<_> = self.under_way().collect();
        ranks.sort_by_key(|(rank, process)| (process.call.begin, *rank));
        let in_words = |(rank, process): &(Rank, &Process)| {
            let mut words = self.blocked_rank(*rank, process, source);
            if process.standing != State::Blocked {
                (words.waits_for, words.ranks) = (String::new(), Vec::new());
            }
            words
        };
        ranks.iter().take(most).map(in_words).collect()
    }

    /// Number of the part of the network whose ranks are here.
    pub fn part(&self) -> u32 {
        self.setup.part.me
    }

    /// The part of the network whose ranks are here.
    pub fn network_part(&self) -> &network::Part {
        &self.setup.part
    }

    /// Ranks here, each with the time that it has reached; `None` for one that has finished.
    pub fn reached(&self) -> impl Iterator<Item = (Rank, Option<Time>)> {
        let reached = |process: &Process| (process.standing != State::Finished).then_some(process.call.begin);
        self.processes.iter().map(move |(rank, process)| (rank, reached(process)))
    }

    fn under_way(&self) -> impl Iterator<Item = (Rank, &Process)> {
        self.processes.iter().filter(|(_, process)| process.standing != State::Finished)
    }
}
