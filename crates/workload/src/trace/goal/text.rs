//! The text form: one operation or dependency per line.

use std::collections::BTreeMap;

use engine::hash::Map;

use super::schedule::{Message, Schedule, Uses};
use crate::trace::error::TraceError;
use crate::trace::graph::{After, Graph};
use crate::trace::input::TraceFile;
use crate::trace::lines::{Lines, Part};

/// Parts of the file that hold the ranks: each from its line with "rank" to the line with its closing brace.
pub fn find_ranks(file: &TraceFile) -> Result<Vec<Part>, TraceError> {
    let mut lines = Lines::new(Part::whole(file.clone()));
    let mut ranks: Option<u32> = None;
    let mut parts: BTreeMap<u32, Part> = BTreeMap::new();
    let (mut open, mut comment) = (None, false);
    loop {
        let from = lines.position();
        if !lines.advance()? {
            break;
        }
        let text = tokens(lines.text(), &mut comment);
        let words: Vec<_> = text.split_whitespace().collect();
        let words = match words[..] {
            ["num_ranks", count, ref rest @ ..] => {
                ranks = Some(number(count, "a number of ranks").map_err(|reason| lines.error(reason))?);
                rest
            }
            ref all => all,
        };
        if let (["rank", rank, "{", ..], None) = (words, open) {
            let rank: u32 = number(rank, "a rank").map_err(|reason| lines.error(reason))?;
            let lines_before = lines.number() - 1;
            let part = Part { file: file.clone(), from, to: from, lines_before };
            if parts.insert(rank, part).is_some() {
                return Err(lines.error(format!("rank {rank} has begun twice")));
            }
            open = Some(rank);
        } else if let (Some(first), None) = (words.first(), open) {
            return Err(lines.error(format!("expected \"rank N {{\", found '{first}'")));
        }
        if let (Some(rank), Some(&"}")) = (open, words.last()) {
            parts.get_mut(&rank).expect("it has begun").to = lines.position();
            open = None;
        }
    }
    let whole = |reason: String| TraceError::new(&*file.name, reason);
    if let Some(rank) = open {
        return Err(whole(format!("ends within rank {rank}: a closing brace is missing")));
    }
    let ranks = ranks.ok_or_else(|| whole("has no line \"num_ranks N\"".to_string()))?;
    if ranks == 0 {
        return Err(whole("has no ranks".to_string()));
    }
    // The search ends at the first rank that is missing, so a damaged number allocates no memory.
    match (0..ranks).find(|rank| !parts.contains_key(rank)) {
        Some(missing) => Err(whole(format!("has {ranks} ranks, but rank {missing} is missing"))),
        None if parts.len() > ranks as usize => {
            Err(whole(format!("has {ranks} ranks, but {} are there", parts.len())))
        }
        None => Ok(parts.into_values().collect()),
    }
}

/// Reads the schedule of one of `ranks` ranks.
pub fn read(part: &Part, ranks: u32) -> Result<(Graph, Uses), TraceError> {
    let schedule = up_to(part, ranks, &mut |_, _, _| false)?;
    schedule.finish().map_err(|node| {
        let reason =
            format!("operation {} of the rank that begins here waits for itself, by way of others", node + 1);
        TraceError::in_line(&*part.file.name, part.lines_before + 1, reason)
    })
}

/// Name in the file of a rank's operation with this number, from 1: its label, if it has one, and its line.
pub fn name(part: &Part, ranks: u32, number: u64) -> Result<Option<String>, TraceError> {
    let mut name = None;
    up_to(part, ranks, &mut |schedule, words, line| {
        if u64::from(schedule.len()) != number {
            return false;
        }
        let label = match words {
            [label, ":", ..] => format!("'{label}', "),
            _ => String::new(),
        };
        name = Some(format!("{label}line {line}"));
        true
    })?;
    Ok(name)
}

/// Reads the part of a rank until `enough` returns true for the schedule so far, the words of its last line, and the
/// line's number.
fn up_to(
    part: &Part,
    ranks: u32,
    enough: &mut dyn FnMut(&Schedule, &[&str], u64) -> bool,
) -> Result<Schedule, TraceError> {
    let mut lines = Lines::new(part.clone());
    let mut schedule = Schedule::new(ranks);
    let mut labels: Map<String, u32> = Map::default();
    let mut comment = false;
    while lines.advance()? {
        let text = tokens(lines.text(), &mut comment);
        let words = words(&text);
        item(&words, &mut schedule, &mut labels).map_err(|reason| lines.error(reason))?;
        if enough(&schedule, &words, lines.number()) {
            break;
        }
    }
    Ok(schedule)
}

/// Words of an operation or dependency, without the marks that begin and end a rank.
fn words(text: &str) -> Vec<&str> {
    let all: Vec<_> = text.split_whitespace().collect();
    let rest = match &all[..] {
        ["num_ranks", _, rest @ ..] => rest,
        all => all,
    };
    let rest = match rest {
        ["rank", _, "{", rest @ ..] => rest,
        all => all,
    };
    rest.strip_suffix(&["}"]).unwrap_or(rest).to_vec()
}

/// Reads one operation or dependency; ignores an empty line.
fn item(words: &[&str], schedule: &mut Schedule, labels: &mut Map<String, u32>) -> Result<(), String> {
    let find = |label: &str| {
        labels.get(label).copied().ok_or_else(|| format!("names '{label}', which is no operation before it"))
    };
    match words {
        [] => return Ok(()),
        [later, "requires", earlier] => schedule.depend(find(later)?, find(earlier)?, After::Finish),
        [later, "irequires", earlier] => schedule.depend(find(later)?, find(earlier)?, After::Start),
        [label, ":", rest @ ..] => {
            if labels.insert(label.to_string(), schedule.len()).is_some() {
                return Err(format!("'{label}' is the label of another operation already"));
            }
            return operation(rest, schedule);
        }
        all => return operation(all, schedule),
    }
    Ok(())
}

fn operation(words: &[&str], schedule: &mut Schedule) -> Result<(), String> {
    let [what, amount, rest @ ..] = words else {
        return Err(format!("'{}' is no operation; known: send, recv, calc", words.join(" ")));
    };
    let amount = number(amount.strip_suffix('b').unwrap_or(amount), "a size")?;
    let mut rest = rest.strip_prefix(&["b"]).unwrap_or(rest);
    let mut peer = 0;
    match (*what, rest) {
        ("calc", _) => {}
        ("send", ["to", to, more @ ..]) => (peer, rest) = (number(to, "a rank")?, more),
        ("recv", ["from", from, more @ ..]) => (peer, rest) = (any_or(from, "a rank")?, more),
        ("send" | "recv", _) => return Err(format!("'{}' names no other rank", words.join(" "))),
        _ => return Err(format!("unknown operation '{what}'; known: send, recv, calc")),
    }
    let (mut tag, mut processor, mut nic) = (0, 0, 0);
    while let [name, value, more @ ..] = rest {
        match *name {
            "tag" => tag = any_or(value, "a tag")?,
            "cpu" => processor = number(value, "a processor (0 to 255)")?,
            "nic" => nic = number(value, "a NIC (0 to 255)")?,
            _ => return Err(format!("unknown attribute '{name}'; known: tag, cpu, nic")),
        }
        rest = more;
    }
    if let [left] = rest {
        return Err(format!("unexpected '{left}' at the end"));
    }
    schedule.uses(processor, nic);
    match *what {
        "calc" => schedule.compute(amount, processor),
        "send" => schedule.send(Message { peer, bytes: amount, tag }),
        _ => schedule.receive(Message { peer, bytes: amount, tag }),
    }
}

fn any_or(word: &str, what: &str) -> Result<u32, String> {
    if word == "-1" { Ok(u32::MAX) } else { number(word, what) }
}

fn number<N: std::str::FromStr>(word: &str, what: &str) -> Result<N, String> {
    word.parse().map_err(|_| format!("'{word}' is not {what}"))
}

/// Line without comments, with spaces around its punctuation.
fn tokens(line: &str, comment: &mut bool) -> String {
    let mut text = String::with_capacity(line.len() + 8);
    let mut left = line;
    while !left.is_empty() {
        if *comment {
            let Some(end) = left.find("*/") else { break };
            *comment = false;
            left = &left[end + 2..];
            continue;
        }
        if left.starts_with("//") {
            break;
        }
        if let Some(rest) = left.strip_prefix("/*") {
            *comment = true;
            left = rest;
            continue;
        }
        let mut letters = left.chars();
        match letters.next() {
            Some(mark @ (':' | '{' | '}')) => text.extend([' ', mark, ' ']),
            Some(letter) => text.push(letter),
            None => {}
        }
        left = letters.as_str();
    }
    text
}
