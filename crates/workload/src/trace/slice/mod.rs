//! A part of a recorded run: what its ranks did within a window of time, or between two of the calls in which all meet;
//! or some of its ranks.
//!
//! Each rank keeps a row of its calls. Whatever goes between a call that is kept and one that is not would leave a
//! replay waiting, so it is cut:
//!
//! | what | what becomes of it |
//! | --- | --- |
//! | a message out of the window, or into it | the call that stays sends to, or receives from, nobody (MPI_PROC_NULL) |
//! | a probe of such a message; a collective of which some members' calls are outside | a call that does nothing |
//! | a wait for what began before the window | waits for the rest only |
//!
//! What calls in the window need is kept though it stands outside: MPI_Init, the making of communicators and of
//! persistent requests before it, and after it the waits for what began in it; all without time. Communicators are not
//! freed. So a slice is a run that could have happened: a part of the recorded messages and collectives, in the recorded
//! order.
//!
//! Of some of the ranks ([`Among`]), those are kept with new numbers, in their order, and so are the communicators that
//! they make, of those members (`within.rs`). What they have to do with other ranks is refused, or dropped:
//!
//! | what | where it is dropped |
//! | --- | --- |
//! | a message with a rank that is not kept; a collective with a root, or over neighbours, that are not all kept | a call that takes its recorded time; so does a wait for nothing else |
//! | the other half of such a `MPI_Sendrecv`; the rest of a wait for several | stays, and takes the time that it needs |
//! | another collective with ranks that are not kept | the kept ones do it |
//!
//! The latter is so in any case. An inter-communicator whose members are not all kept is always refused.
//!
//! After a meeting all ranks start together: how far apart they returned from it, on a busy machine whole turns of the
//! processor, is left to the heads, as it is where they leave MPI_Init. Time in a window counts from its begin, or of a
//! rank whose clock starts later, from there. A call that had begun before is not in it; its rank does nothing until the
//! recorded return of that call, or the end of the window.

mod calls;
mod crossing;
mod within;

use std::sync::Arc;

use engine::Time;
use mpi::Rank;

use super::SharedSet;
use super::error::TraceError;
use super::hct::rank::Standing;
use super::order::{self, By, Purpose, Watch};
use super::set::{Clocks, EndsEarly, Events, TraceSet, until_error};
use calls::Cutting;
use crossing::{Crossing, Leaving, What};
use within::Within;

pub use crossing::Cut;

/// Calls that a slice keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// Keeps all calls.
    Whole,
    /// Keeps calls that begin at the first time or later, and before the second.
    Times(Time, Time),
    /// Keeps the calls after this number of meetings of all ranks, up to and including the meeting with the second
    /// number.
    Meetings(u64, u64),
}

/// A subset of the ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Among {
    /// Ranks to keep: ascending, distinct, at least one.
    pub ranks: Vec<u32>,
    /// Handling of their operations with other ranks.
    pub outside: Outside,
}

/// Handling of operations between kept ranks and others.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    /// Refuses the slice if there are such operations.
    #[default]
    Refuse,
    /// Drops such operations.
    Drop,
}

impl Outside {
    /// All values, with their names.
    pub const ALL: &[(&str, Outside)] = &[("refuse", Outside::Refuse), ("drop", Outside::Drop)];
}

/// Calls of a rank that are kept: first and last number, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    first: u64,
    last: u64,
}

impl Row {
    fn has(self, number: u64) -> bool {
        (self.first..=self.last).contains(&number)
    }
}

/// A part of a recorded run.
pub struct Slice {
    of: SharedSet,
    rows: Vec<Row>,
    /// Begin of the window \[ns\].
    begin_ns: u64,
    /// Begin of each rank's part, on the clock of its calls \[ns\]: the begin of the rank's own clock, if that is
    /// later.
    origins_ns: Vec<u64>,
    /// End of the window \[ns\].
    end_ns: u64,
    crossing: Crossing,
    /// Kept ranks; `None` for all.
    kept: Option<Kept>,
    /// True for each recorded rank whose part extends to the end of its recording.
    to_the_end: Vec<bool>,
}

/// Kept ranks, ascending, and the new number of each recorded rank.
struct Kept {
    ranks: Vec<u32>,
    numbers: Arc<[Option<u32>]>,
}

impl Slice {
    /// Cuts the part of `of` in `window`, of all ranks or of `among` some.
    pub fn new(of: SharedSet, window: Window, among: Option<&Among>) -> Result<Slice, TraceError> {
        let error = |reason: String| TraceError::new(of.format(), reason);
        let kept = among.map(|among| kept(&among.ranks, of.ranks()));
        let kept = kept.transpose().map_err(error)?;
        let ranks = of.ranks() as usize;
        let ((mut rows, to_the_end), mut origins_ns) = match window {
            Window::Whole => (times(&of, Time::ZERO, Time::NEVER)?, vec![0; ranks]),
            Window::Times(from, to) => {
                if !of.common_time() {
                    return Err(error(NO_COMMON_TIME.into()));
                }
                if of.head(Rank(0), "").tallied {
                    return Err(error(TALLIED.into()));
                }
                (times(&of, from, to)?, vec![from.0 / 1000; ranks])
            }
            Window::Meetings(after, last) => {
                let (rows, origins_ns) = meetings(&of, after, last)?;
                ((rows, vec![false; ranks]), origins_ns)
            }
        };
        let end_ns = match window {
            Window::Times(_, to) => to.0 / 1000,
            _ => u64::MAX,
        };
        let begin_ns = origins_ns.iter().copied().min().unwrap_or(0);
        for (origin_ns, rank) in origins_ns.iter_mut().zip(0..) {
            *origin_ns = (*origin_ns).max(of.starts_after(Rank(rank)).0 / 1000);
        }
        if let Some(kept) = &kept {
            let others = rows.iter_mut().zip(&*kept.numbers).filter(|(_, number)| number.is_none());
            others.for_each(|(row, _)| *row = Row { first: 1, last: 0 });
        }
        if rows.iter().all(|row| row.first > row.last) {
            return Err(error("no call begins in this window".into()));
        }
        let is_kept = kept.as_ref().map(|kept| kept.numbers.iter().map(Option::is_some).collect());
        let mut crossing = Crossing::new(rows.clone(), is_kept);
        order::order(&*of, &mut crossing)?;
        crossing.close().map_err(|(rank, number)| {
            error(format!(
                "rank {rank} is stuck in call #{number}, within the window; 'hopcast trace lint' says why"
            ))
        })?;
        let refused =
            crossing.leaving().filter(|_| among.is_some_and(|among| among.outside == Outside::Refuse));
        if let Some(leaving) = crossing.impossible().or(refused) {
            return Err(error(reason(&*of, leaving)?));
        }
        Ok(Slice { of, rows, begin_ns, origins_ns, end_ns, crossing, kept, to_the_end })
    }

    /// Number of its ranks.
    pub fn ranks(&self) -> u32 {
        self.kept.as_ref().map_or(self.of.ranks(), |kept| kept.ranks.len() as u32)
    }

    /// Recorded number of one of its ranks.
    pub fn recorded(&self, rank: Rank) -> Rank {
        self.kept.as_ref().map_or(rank, |kept| Rank(kept.ranks[rank.0 as usize]))
    }

    /// Number of calls in the window.
    pub fn calls(&self) -> u64 {
        self.rows.iter().map(|row| (row.last + 1).saturating_sub(row.first)).sum()
    }

    /// Begin of the window in the recorded run.
    pub fn begin(&self) -> Time {
        Time(self.begin_ns.saturating_mul(1000))
    }

    /// Delay of the begin of a rank's clock in the slice after that of the recorded rank \[ns\].
    pub fn clock_starts_later_ns(&self, rank: Rank) -> u64 {
        let recorded = self.recorded(rank);
        self.origins_ns[recorded.0 as usize].saturating_sub(self.of.starts_after(recorded).0 / 1000)
    }

    /// End of a rank's recording, if its last operations in the window may be missing.
    pub fn ends_early(&self, rank: Rank) -> Option<EndsEarly> {
        let early = self.of.ends_early(self.recorded(rank))?;
        let since = |standing: Standing| {
            let since_ns = standing.since_ns.saturating_sub(self.clock_starts_later_ns(rank));
            Standing { since_ns, ..standing }
        };
        let standing = early.standing.map(since);
        self.to_the_end[self.recorded(rank).0 as usize].then_some(EndsEarly { standing })
    }

    /// Numbers of the cut operations.
    pub fn cut(&self) -> Cut {
        self.crossing.cut()
    }

    /// Calls of one of its ranks, on its own clock. Ends after an error.
    pub fn events(&self, rank: Rank) -> Result<Events, TraceError> {
        let rank = self.recorded(rank);
        let at = rank.0 as usize;
        let events = self.of.events(rank, Clocks::Aligned)?;
        let within = self.kept.as_ref().map(|kept| Within::new(kept.numbers.clone()));
        let cuts = self.crossing.of_rank(rank).clone();
        let mut calls = Cutting::new(events, self.rows[at], (self.origins_ns[at], self.end_ns), cuts, within);
        Ok(Box::new(until_error(move || calls.read())))
    }
}

const NO_COMMON_TIME: &str =
    "its ranks have no common time (--clock cpu), so a part of it lies between --meetings";

const TALLIED: &str = "recorded with --times tallied, its calls have no recorded times, so a part of it lies between \
                       --meetings";

/// Keeps these of `all` ranks.
fn kept(ranks: &[u32], all: u32) -> Result<Kept, String> {
    if let Some(unknown) = ranks.iter().find(|rank| **rank >= all) {
        return Err(format!("rank {unknown} is not there: it has {all} ranks"));
    }
    let number = |rank| ranks.binary_search(&rank).ok().map(|number| number as u32);
    Ok(Kept { ranks: ranks.to_vec(), numbers: (0..all).map(number).collect() })
}

/// Reason for refusing an operation that leaves the kept ranks.
fn reason(of: &dyn TraceSet, leaving: Leaving) -> Result<String, TraceError> {
    let Leaving { by, other, what } = leaving;
    let event = of.events(by.rank, Clocks::Aligned)?.nth(by.number as usize - 1).transpose()?;
    let call = event.map_or("", |event| event.shape.call.0);
    let Rank(other) = other;
    let does = match what {
        What::Send => format!("sends to rank {other}"),
        What::Receive => format!("receives from rank {other}"),
        What::Collective => format!("needs rank {other}"),
        What::Groups => {
            return Ok(format!(
                "call #{} {call} of rank {} makes an inter-communicator with rank {other}, which is not kept",
                by.number, by.rank.0
            ));
        }
    };
    Ok(format!(
        "call #{} {call} of rank {} {does}, which is not kept; --outside drop leaves out what the kept ranks have to \
         do with others",
        by.number, by.rank.0
    ))
}

/// Rows of calls that begin between two times; true for the ranks whose last call is among them.
fn times(of: &SharedSet, from: Time, to: Time) -> Result<(Vec<Row>, Vec<bool>), TraceError> {
    let row = |rank| {
        let mut row = Row { first: 1, last: 0 };
        for (number, event) in (1..).zip(of.events(Rank(rank), Clocks::Aligned)?) {
            let begin = Time(event?.begin_ns.saturating_mul(1000));
            if begin >= to {
                return Ok((row, false));
            }
            row.last = number;
            if begin < from {
                row.first = number + 1;
            }
        }
        Ok((row, true))
    };
    (0..of.ranks()).map(row).collect()
}

/// Calls of each rank at two of the meetings of all ranks.
struct Meetings {
    wanted: [u64; 2],
    ranks: usize,
    seen: u64,
    found: [Vec<u64>; 2],
}

impl Watch for Meetings {
    fn call(&mut self, _: Rank, _: u64) {}

    fn meeting(&mut self, purpose: Purpose, calls: &mut dyn Iterator<Item = By>) {
        if purpose != Purpose::Together {
            return;
        }
        let calls: Vec<By> = calls.collect();
        if calls.len() < self.ranks {
            return;
        }
        self.seen += 1;
        for (wanted, found) in self.wanted.iter().zip(&mut self.found) {
            if *wanted == self.seen {
                calls.iter().for_each(|by| found[by.rank.0 as usize] = by.number);
            }
        }
    }
}

/// Rows of calls after one meeting of all ranks, up to another; and the time at which each rank returned from the
/// former \[ns\].
fn meetings(of: &SharedSet, after: u64, last: u64) -> Result<(Vec<Row>, Vec<u64>), TraceError> {
    if after >= last {
        let reason = format!("no call is after meeting {after}, and at {last} or before");
        return Err(TraceError::new(of.format(), reason));
    }
    let ranks = of.ranks() as usize;
    let mut meetings =
        Meetings { wanted: [after, last], ranks, seen: 0, found: [vec![0; ranks], vec![0; ranks]] };
    order::order(&**of, &mut meetings)?;
    if meetings.seen < last {
        let reason = format!(
            "there is no meeting {last}: it has {} calls in which all ranks wait for each other (barriers, \
             allreduces, …)",
            meetings.seen
        );
        return Err(TraceError::new(of.format(), reason));
    }
    let [before, until] = meetings.found;
    let mut origins_ns = Vec::with_capacity(ranks);
    for (rank, number) in (0..).zip(&before) {
        let returned = match number.checked_sub(1) {
            None => 0,
            Some(skipped) => {
                let mut events = of.events(Rank(rank), Clocks::Aligned)?.skip(skipped as usize);
                events.next().transpose()?.map_or(0, |event| event.end_ns)
            }
        };
        origins_ns.push(returned);
    }
    let rows = before.iter().zip(&until).map(|(before, last)| Row { first: before + 1, last: *last });
    Ok((rows.collect(), origins_ns))
}
