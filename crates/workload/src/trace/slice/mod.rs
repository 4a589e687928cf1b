//! A part of a recorded run: what its ranks did within a window of time, or between two of the calls in which all meet.
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
//! Time in a slice counts from its begin. A call that had begun before is not in it; its rank does nothing until the
//! recorded return of that call.

mod calls;
mod crossing;

use engine::Time;
use mpi::Rank;

use super::SharedSet;
use super::error::TraceError;
use super::order::{self, By, Purpose, Watch};
use super::set::{Clocks, Events, until_error};
use calls::Cutting;
use crossing::Crossing;

pub use crossing::Cut;

/// What a slice is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// Calls that begin at the first time or later, and before the second.
    Times(Time, Time),
    /// Calls after that many calls in which all ranks meet, up to and with the one of the second number.
    Meetings(u64, u64),
}

/// Which calls of a rank are kept: from the first number to the last, counted from 1.
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
    /// When each rank's part begins, on the clock of its calls \[ns\].
    origins_ns: Vec<u64>,
    crossing: Crossing,
}

impl Slice {
    /// The part of `of` in `window`.
    pub fn new(of: SharedSet, window: Window) -> Result<Slice, TraceError> {
        let (rows, origins_ns) = match window {
            Window::Times(from, to) => (times(&of, from, to)?, vec![from.0 / 1000; of.ranks() as usize]),
            Window::Meetings(after, last) => meetings(&of, after, last)?,
        };
        if rows.iter().all(|row| row.first > row.last) {
            return Err(TraceError::new(of.format(), "no call begins in this window"));
        }
        let mut crossing = Crossing::new(rows.clone());
        order::order(&*of, &mut crossing)?;
        crossing.close().map_err(|(rank, number)| {
            let reason = format!(
                "rank {rank} stands still in call #{number}, within the window; 'hopcast trace lint' says why"
            );
            TraceError::new(of.format(), reason)
        })?;
        Ok(Slice { of, rows, origins_ns, crossing })
    }

    /// How many calls are in the window.
    pub fn calls(&self) -> u64 {
        self.rows.iter().map(|row| (row.last + 1).saturating_sub(row.first)).sum()
    }

    /// When it begins, in the recorded run.
    pub fn begin(&self) -> Time {
        Time(self.origins_ns.iter().min().map_or(0, |first| first.saturating_mul(1000)))
    }

    /// What was cut.
    pub fn cut(&self) -> Cut {
        self.crossing.cut()
    }

    /// The calls of a rank. Ends after an error.
    pub fn events(&self, rank: Rank) -> Result<Events, TraceError> {
        let at = rank.0 as usize;
        let events = self.of.events(rank, Clocks::Aligned)?;
        let mut calls =
            Cutting::new(events, self.rows[at], self.origins_ns[at], self.crossing.of_rank(rank).clone());
        Ok(Box::new(until_error(move || calls.read())))
    }
}

/// The calls that begin between two times.
fn times(of: &SharedSet, from: Time, to: Time) -> Result<Vec<Row>, TraceError> {
    if !of.common_time() {
        let reason = "its ranks have no common time (--clock cpu), so a part of it lies between --meetings";
        return Err(TraceError::new(of.format(), reason));
    }
    let row = |rank| {
        let mut row = Row { first: 1, last: 0 };
        for (number, event) in (1..).zip(of.events(Rank(rank), Clocks::Aligned)?) {
            let begin = Time(event?.begin_ns.saturating_mul(1000));
            if begin >= to {
                break;
            }
            row.last = number;
            if begin < from {
                row.first = number + 1;
            }
        }
        Ok(row)
    };
    (0..of.ranks()).map(row).collect()
}

/// The calls of each rank in two of the meetings of all ranks.
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

/// The calls after one meeting of all ranks, up to another; and when the first rank returned from the former \[ns\], or
/// each where they have no common time.
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
    if of.common_time() {
        let first = origins_ns.iter().copied().min().unwrap_or(0);
        origins_ns.fill(first);
    }
    let rows = before.iter().zip(&until).map(|(before, last)| Row { first: before + 1, last: *last });
    Ok((rows.collect(), origins_ns))
}
