//! Events of one rank in order, with loops unfolded.

use std::sync::Arc;

use engine::hash::Map;

use super::event::{Event, Values};

/// Largest number of calls of a rank that is not taken for damage.
const MOST_CALLS: u64 = 1 << 24;
/// Deepest nesting of loops that is not taken for damage.
const DEEPEST: usize = 256;

/// Position of a rank among its events.
pub struct Walk {
    events: Arc<[Event]>,
    rank: u32,
    loops: Vec<Running>,
    /// Index of the next value of each parameter that has several, by event and number.
    turns: Map<(usize, u32), usize>,
    steps: u64,
}

/// A loop that is under way.
struct Running {
    /// Index of its first event.
    first: usize,
    /// Index of its last event.
    last: usize,
    /// Its index among the loops that begin with the first event.
    level: usize,
    /// Iterations left, this one included.
    left: u64,
    /// Index of the next event of this iteration.
    next: Option<usize>,
}

/// First number of loops in [`Walk::turns`], above those of all parameters.
const OF_LOOPS: u32 = 1 << 16;

impl Walk {
    /// Begins before the first event of `rank`.
    pub fn new(events: Arc<[Event]>, rank: u32) -> Walk {
        let mut walk = Walk { events, rank, loops: Vec::new(), turns: Map::default(), steps: 0 };
        let first = walk.from(0);
        let last = walk.events.len().saturating_sub(1);
        if let Some(first) = first {
            // All events form a loop around the others.
            walk.loops.push(Running { first: usize::MAX, last, level: 0, left: 1, next: Some(first) });
        }
        walk
    }

    /// Fraction of the events that is done \[0..1\], counted outside of loops.
    pub fn share_done(&self) -> f64 {
        let at = self.loops.first().and_then(|whole| whole.next).unwrap_or(self.events.len());
        at as f64 / self.events.len().max(1) as f64
    }

    /// The next event, by its index.
    pub fn next(&mut self) -> Result<Option<usize>, (usize, String)> {
        loop {
            let Some(running) = self.loops.last_mut() else { return Ok(None) };
            let Some(at) = running.next else {
                running.left -= 1;
                if running.left == 0 {
                    self.loops.pop();
                } else {
                    running.next = Some(running.first);
                }
                continue;
            };
            self.steps += 1;
            if self.steps > MOST_CALLS {
                return Err((at, format!("rank {} makes more than {MOST_CALLS} calls", self.rank)));
            }
            let level = if at == running.first { running.level + 1 } else { 0 };
            let (last, is_nested) = (running.last, self.events[at].loops.len() > level);
            if !is_nested {
                let next = self.after(at, last);
                self.loops.last_mut().expect("one is under way").next = next;
                return Ok(Some(at));
            }
            self.begin(at, level, last).map_err(|reason| (at, reason))?;
        }
    }

    /// Begins the loop of level `level` at event `at`, within a loop that ends at `last`.
    fn begin(&mut self, at: usize, level: usize, last: usize) -> Result<(), String> {
        let number = OF_LOOPS + 2 * level as u32;
        let events = self.events.clone();
        let of = &events[at].loops[level];
        let iterations = self.value(at, number, &of.iterations)?.ok_or("is a loop without iterations")?;
        let length = self
            .value(at, number + 1, &of.events)?
            .filter(|length| *length > 0)
            .ok_or("is a loop over nothing")?;
        let mut end = at;
        for _ in 1..length {
            end = self.after(end, last).ok_or("begins a loop that ends outside of the one around it")?;
        }
        let next = self.after(end, last);
        self.loops.last_mut().expect("one is under way").next = next;
        if self.loops.len() > DEEPEST {
            return Err(format!("is in more than {DEEPEST} loops"));
        }
        if let Some(left) = u64::try_from(iterations).ok().filter(|left| *left > 0) {
            // Each iteration has at least one call, or the begin of a loop.
            if self.steps + left > MOST_CALLS {
                return Err(format!("makes rank {} call more than {MOST_CALLS} times", self.rank));
            }
            self.loops.push(Running { first: at, last: end, level, left, next: Some(at) });
        }
        Ok(())
    }

    /// The rank's next event after `at`, up to `last`.
    fn after(&self, at: usize, last: usize) -> Option<usize> {
        if at >= last { None } else { self.from(at + 1).filter(|next| *next <= last) }
    }

    /// The rank's first event from `at` on.
    fn from(&self, at: usize) -> Option<usize> {
        (at..self.events.len()).find(|at| self.events[*at].ranks.contains(self.rank))
    }

    /// The rank's next value of parameter `number` of event `at`.
    pub fn value(&mut self, at: usize, number: u32, values: &Values) -> Result<Option<i64>, String> {
        if let Values::Mean(_) = values {
            return Err("is known by a histogram only, and cannot be replayed".into());
        }
        let Some(all) = values.of(self.rank) else { return Ok(None) };
        if let [one] = all {
            return Ok(Some(*one));
        }
        let turn = self.turns.entry((at, number)).or_insert(0);
        let value = all[*turn];
        *turn = (*turn + 1) % all.len();
        Ok(Some(value))
    }
}
