//! Deadlock of a network: a cycle of channels each of which waits for room in the next.
//!
//! When no event is left and packets are still on their way, each of them waits for the channel that it
//! asks for; following that from channel to channel ends in a cycle. Routings come with the virtual
//! channels that exclude one; this finds what a wrong one does.
//!
//! Source: Dally and Seitz, "Deadlock-free message routing in multiprocessor interconnection networks"
//! (IEEE ToC C-36(5), 1987).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::interface::Network;

/// Most channels of a cycle that are named.
const NAMED: usize = 12;

/// A channel whose first packet waits for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    channel: u32,
    wants: u32,
    /// The channel's.
    name: String,
}

/// The channels of one part of a network that wait.
pub fn waits(part: &dyn Network) -> Vec<Wait> {
    let Some(part) = part.as_inspect() else { return Vec::new() };
    let wait = |[channel, wants]: [u32; 2]| Wait { channel, wants, name: part.channel_name(channel) };
    part.waits().into_iter().map(wait).collect()
}

/// The cycle in which the network stands, in words, if there is one. `parts` are all parts of it.
pub fn describe(parts: &[&dyn Network]) -> Option<String> {
    in_words(&parts.iter().flat_map(|part| waits(*part)).collect::<Vec<_>>())
}

/// The same of what waits in all parts.
pub fn in_words(all: &[Wait]) -> Option<String> {
    let waits: BTreeMap<u32, u32> = all.iter().map(|wait| (wait.channel, wait.wants)).collect();
    let cycle = cycle(&waits)?;
    let name = |channel: &u32| all.iter().find(|wait| wait.channel == *channel).map(|wait| &*wait.name);
    let names: Vec<&str> = cycle.iter().take(NAMED).filter_map(name).collect();
    let more =
        if cycle.len() > NAMED { format!(", and {} more", cycle.len() - NAMED) } else { String::new() };
    Some(format!("{} channels wait for each other's room: {}{more}", cycle.len(), names.join(", ")))
}

/// A cycle of `waits`, from the lowest channel that leads into one.
fn cycle(waits: &BTreeMap<u32, u32>) -> Option<Vec<u32>> {
    let mut walks: BTreeMap<u32, u32> = BTreeMap::new();
    for first in waits.keys() {
        let mut at = *first;
        while let Some(next) = waits.get(&at) {
            match walks.insert(at, *first) {
                None => at = *next,
                Some(walk) if walk == *first => {
                    let mut cycle = vec![at];
                    let follow = |at: &u32| waits.get(at).copied().filter(|next| *next != cycle[0]);
                    let rest: Vec<u32> = std::iter::successors(follow(&at), follow).collect();
                    cycle.extend(rest);
                    return Some(cycle);
                }
                Some(_) => break,
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_found_behind_a_tail() {
        let waits = |pairs: &[(u32, u32)]| pairs.iter().copied().collect();
        assert_eq!(cycle(&waits(&[(1, 5), (5, 7), (7, 6), (6, 5), (9, 1)])), Some(vec![5, 7, 6]));
        assert_eq!(cycle(&waits(&[(1, 5), (5, 7), (2, 5), (3, 2)])), None);
        assert_eq!(cycle(&waits(&[(4, 4)])), Some(vec![4]));
    }
}
