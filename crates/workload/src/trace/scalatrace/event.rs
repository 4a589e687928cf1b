//! Events of a file, as written.

use std::collections::BTreeMap;

use engine::hash::Map;

use super::functions::{Function, function};
use super::ranks::Ranks;
use crate::trace::error::TraceError;
use crate::trace::input::TraceFile;
use crate::trace::lines::{Lines, Part};

/// One event: a call that some ranks make, once or several times.
#[derive(Debug, Clone)]
pub struct Event {
    /// Ranks that make the call.
    pub ranks: Ranks,
    /// Function of the call.
    pub function: Function,
    /// Number of the call stack.
    pub stack: u32,
    /// Computing before the call, and the length of the call.
    pub times: [Times; 2],
    /// Loops that begin with this event, the outermost first.
    pub loops: Vec<Loop>,
    /// Parameters by number.
    pub parameters: BTreeMap<u32, Values>,
    /// Line of the file.
    pub line: u64,
}

/// A loop: its number of iterations, and of the rank's events in each.
#[derive(Debug, Clone, Default)]
pub struct Loop {
    pub iterations: Values,
    pub events: Values,
}

/// Mean times \[µs\], by the stack of the call before.
#[derive(Debug, Clone, Default)]
pub struct Times(Vec<(u32, f64)>);

impl Times {
    /// Mean time after a call of `stack` \[µs\]; the mean over all stacks if this one has none.
    pub fn after(&self, stack: Option<u32>) -> f64 {
        let exact = self.0.iter().find(|(known, _)| Some(*known) == stack);
        let mean = || self.0.iter().map(|(_, us)| us).sum::<f64>() / self.0.len().max(1) as f64;
        exact.map_or_else(mean, |(_, us)| *us)
    }
}

/// The values of a parameter.
#[derive(Debug, Clone)]
pub enum Values {
    /// Lists of values for some ranks, or for all ranks of the event; visits take the values of a list cyclically.
    InTurn(Vec<(Option<Ranks>, Vec<i64>)>),
    /// The mean of all values.
    Mean(f64),
}

impl Default for Values {
    fn default() -> Values {
        Values::InTurn(Vec::new())
    }
}

/// The events of `file`.
pub fn read(file: &TraceFile) -> Result<Vec<Event>, TraceError> {
    let mut lines = Lines::new(Part::whole(file.clone()));
    let (mut events, mut stacks) = (Vec::<Event>::new(), Map::<String, u32>::default());
    let mut ranks: Option<Ranks> = None;
    while lines.advance()? {
        let text = lines.text().trim();
        if text.is_empty() {
            continue;
        }
        let line = lines.number();
        let done = if let Some(rest) = text.strip_prefix("RANKS:") {
            Ranks::read(rest).map(|read| ranks = Some(read))
        } else if text.starts_with("EVENT") {
            head(text, &mut stacks).and_then(|(function, stack)| {
                let ranks = ranks.take().ok_or("has no line RANKS before it")?;
                let (times, loops, parameters) = Default::default();
                events.push(Event { ranks, function, stack, times, loops, parameters, line });
                Ok(())
            })
        } else {
            let event = events.last_mut().filter(|_| ranks.is_none());
            event
                .ok_or_else(|| "belongs to no event".to_string())
                .and_then(|event| event.add(text, &mut stacks))
        };
        done.map_err(|reason| lines.error(reason))?;
    }
    Ok(events)
}

/// Parses `EVENT3: 1010 44fabd_44fcd1`.
fn head(text: &str, stacks: &mut Map<String, u32>) -> Result<(Function, u32), String> {
    let mut words = text.split_once(':').map_or("", |(_, rest)| rest).split_whitespace();
    let number = words.next().and_then(|word| word.parse().ok()).ok_or("names no function")?;
    Ok((function(number)?, intern(words.next().unwrap_or_default(), stacks)))
}

fn intern(stack: &str, stacks: &mut Map<String, u32>) -> u32 {
    let next = stacks.len() as u32;
    *stacks.entry(stack.to_string()).or_insert(next)
}

impl Event {
    fn add(&mut self, text: &str, stacks: &mut Map<String, u32>) -> Result<(), String> {
        if let Some((at, rest)) =
            ["COMP ", "COMM "].iter().zip(0..).find_map(|(key, at)| Some((at, text.strip_prefix(key)?)))
        {
            let (_, rest) = rest.split_once(':').ok_or("has no colon")?;
            let (stack, histogram) = rest.split_once('(').ok_or("has no histogram")?;
            let (stack, us) = (intern(stack.trim(), stacks), mean(histogram)?);
            self.times[at].0.push((stack, us));
            return Ok(());
        }
        if text.starts_with("LOOP") {
            let rest = text.split_once("iter:").and_then(|(_, rest)| rest.split_once("mem:"));
            let (iterations, events) = rest.ok_or("is a loop without 'iter:' and 'mem:'")?;
            let lists = [iterations, events].map(|lists| {
                let mut values = Values::default();
                lists
                    .split_inclusive(']')
                    .filter(|list| !list.trim().is_empty())
                    .try_for_each(|list| values.add(list))?;
                Ok::<Values, String>(values)
            });
            let [iterations, events] = lists;
            self.loops.push(Loop { iterations: iterations?, events: events? });
            return Ok(());
        }
        let (key, rest) = text.split_once(' ').unwrap_or((text, ""));
        let number = u32::from_str_radix(key, 16)
            .map_err(|_| format!("begins with '{key}', which is no parameter"))?;
        self.parameters.entry(number).or_default().add(rest)
    }
}

impl Values {
    /// Parses `1 2 3`, `( 1 2 )[ 1 -1 0 1 0 ]`, or `(9 41.30 0 36.00 0 63.00){…}…`.
    fn add(&mut self, text: &str) -> Result<(), String> {
        if text.contains('{') {
            *self = Values::Mean(mean(text.trim_start().trim_start_matches('('))?);
            return Ok(());
        }
        let (values, ranks) = match text.split_once('[') {
            None => (text, None),
            Some((values, ranks)) => {
                (values, Some(Ranks::read(ranks.split(']').next().unwrap_or_default())?))
            }
        };
        let words = values.trim().trim_start_matches('(').trim_end_matches(')').split_whitespace();
        let values: Result<Vec<i64>, _> = words.map(|word| word.parse::<i32>().map(i64::from)).collect();
        let values = values.map_err(|_| format!("'{}' are no values", values_of(text)))?;
        match self {
            Values::InTurn(all) => all.push((ranks, values)),
            Values::Mean(_) => return Err("has values beside a histogram".into()),
        }
        Ok(())
    }

    /// The values of a rank, if it has any.
    pub fn of(&self, rank: u32) -> Option<&[i64]> {
        let Values::InTurn(all) = self else { return None };
        let of = all.iter().find(|(ranks, _)| ranks.as_ref().is_none_or(|ranks| ranks.contains(rank)))?;
        Some(&of.1).filter(|values| !values.is_empty()).map(Vec::as_slice)
    }
}

fn values_of(text: &str) -> &str {
    text.trim().split('[').next().unwrap_or_default().trim()
}

/// Mean of a histogram, whose text begins after the first bracket, from the exact means of its bins.
fn mean(text: &str) -> Result<f64, String> {
    let error = || format!("'({}' is no histogram", text.chars().take(40).collect::<String>());
    let (head, bins) = text.split_once(')').ok_or_else(error)?;
    let number = |word: Option<&str>| {
        let number: f64 = word?.parse().ok()?;
        (number.is_finite() && (0.0..=LONGEST_US).contains(&number)).then_some(number)
    };
    let whole = number(head.split_whitespace().nth(1)).ok_or_else(error)?;
    let (mut sum, mut count) = (0.0, 0.0);
    for bin in bins.split('{').skip(1) {
        let mut words = bin.trim_end().trim_end_matches('}').split_whitespace().skip(2);
        let (mean, frequency) = (number(words.next()), number(words.nth(2)));
        let (mean, frequency) = mean.zip(frequency).ok_or_else(error)?;
        (sum, count) = (sum + mean * frequency, count + frequency);
    }
    Ok(if count > 0.0 { sum / count } else { whole })
}

/// Longest time that is not taken for damage: a hundred days \[µs\].
const LONGEST_US: f64 = 100.0 * 24.0 * 3600.0 * 1e6;
