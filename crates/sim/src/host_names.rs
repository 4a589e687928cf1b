//! Names of a platform's hosts: `[hosts]`, for placements that name hosts.
//!
//! A host map is a text file. Each line names hosts and says where they are, by number or by the
//! coordinates of their router and their slot on it (the numbers of the router's name, in order).
//! Ranges and lists in braces stand for several lines, the last brace running fastest; `#` begins a
//! comment. These say the same:
//!
//! ```text
//! nid00048 0 1 23 0            nid{00048..00051} 0 1 {23..22} {0..1}
//! nid00049 0 1 23 1
//! nid00050 0 1 22 0
//! nid00051 0 1 22 1
//! ```
//!
//! A first line of two plain numbers (how many hosts, how many coordinates) is the header that
//! SST/macro's maps have; it is checked.

use std::collections::BTreeMap;

use network::{HostId, RouterId, Topology};

/// Names of hosts, in both directions.
#[derive(Debug, Clone, Default)]
pub struct HostNames {
    by_name: BTreeMap<String, HostId>,
    by_host: BTreeMap<HostId, String>,
}

/// Largest number of names that a pattern may expand to.
const EXPANSION_MAX: usize = 1 << 24;

/// Largest number of braces in a pattern.
const BRACES_MAX: usize = 16;

impl HostNames {
    /// Names of a `pattern`, in order of host numbers.
    pub fn of_pattern(pattern: &str, topology: &dyn Topology) -> Result<HostNames, String> {
        let mut names = HostNames::default();
        for (host, name) in expand(pattern)?.into_iter().enumerate() {
            names.add(name, host as u64, topology)?;
        }
        Ok(names)
    }

    /// Reads a host map; an error has its line, from 1.
    pub fn of_map(text: &str, topology: &dyn Topology) -> Result<HostNames, (u32, String)> {
        let mut names = HostNames::default();
        let mut routers = None;
        let mut announced = None;
        for (number, line) in (1..).zip(text.lines()) {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(name) = words.next() else { continue };
            let places: Vec<_> = words.collect();
            if names.by_name.is_empty() && announced.is_none() && is_number(name) && places.len() == 1 {
                announced = Some((number, name.to_string()));
                continue;
            }
            names.line(name, &places, topology, &mut routers).map_err(|reason| (number, reason))?;
        }
        match announced {
            Some((line, count)) if count != names.by_name.len().to_string() => {
                Err((line, format!("the header announces {count} hosts, but {} follow", names.by_name.len())))
            }
            _ => Ok(names),
        }
    }

    /// Host called `name`; the error shows what names there are.
    pub fn find(&self, name: &str) -> Result<HostId, String> {
        self.by_name.get(name).copied().ok_or_else(|| {
            let (first, last) = (self.by_name.keys().next(), self.by_name.keys().next_back());
            match (first, last) {
                (Some(first), Some(last)) => format!(
                    "unknown host '{name}'; the platform's {} hosts are called {first} … {last}",
                    self.by_name.len()
                ),
                _ => format!(
                    "unknown host '{name}': the platform's hosts have no names; say [hosts] names or map"
                ),
            }
        })
    }

    /// Name of `host`, if it has one.
    pub fn name(&self, host: HostId) -> Option<&str> {
        self.by_host.get(&host).map(String::as_str)
    }

    /// True if no host has a name.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    fn line(
        &mut self,
        name: &str,
        places: &[&str],
        topology: &dyn Topology,
        routers: &mut Option<BTreeMap<Vec<u32>, RouterId>>,
    ) -> Result<(), String> {
        let names = expand(name)?;
        let places = expand(&places.join(" "))?;
        if names.len() != places.len() {
            return Err(format!(
                "'{name}' stands for {} hosts, but {} places follow",
                names.len(),
                places.len()
            ));
        }
        for (name, place) in names.into_iter().zip(places) {
            let numbers = place.split_whitespace().map(str::parse).collect::<Result<Vec<u32>, _>>();
            let numbers = numbers.map_err(|_| format!("'{place}' is not a host number or coordinates"))?;
            let host = match numbers[..] {
                [] => {
                    return Err(format!(
                        "'{name}' has no place; write a host number, or coordinates and slot"
                    ));
                }
                [host] => host.into(),
                [ref coordinates @ .., slot] => {
                    let routers = routers.get_or_insert_with(|| routers_by_coordinates(topology));
                    let router = routers.get(coordinates).ok_or_else(|| {
                        let last = topology.router_name(RouterId(topology.routers() / topology.planes() - 1));
                        format!("no router at {coordinates:?}; the last one is '{last}'")
                    })?;
                    let hosts = topology.hosts_of(*router);
                    if slot as usize >= hosts.len() {
                        let name = topology.router_name(*router);
                        return Err(format!(
                            "router '{name}' has no slot {slot}: it has {} hosts",
                            hosts.len()
                        ));
                    }
                    u64::from(hosts.start + slot)
                }
            };
            self.add(name, host, topology)?;
        }
        Ok(())
    }

    fn add(&mut self, name: String, host: u64, topology: &dyn Topology) -> Result<(), String> {
        if host >= u64::from(topology.hosts()) {
            return Err(format!("'{name}' is host {host}, but the platform has {} hosts", topology.hosts()));
        }
        let host = HostId(host as u32);
        if let Some(other) = self.by_host.insert(host, name.clone()) {
            return Err(format!("'{name}' and '{other}' are both host {}", host.0));
        }
        if self.by_name.contains_key(&name) {
            return Err(format!("'{name}' is named twice"));
        }
        self.by_name.insert(name, host);
        Ok(())
    }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Routers by the numbers in their names: "(0,1,23)" is at `[0, 1, 23]`.
fn routers_by_coordinates(topology: &dyn Topology) -> BTreeMap<Vec<u32>, RouterId> {
    let numbers = |name: String| {
        name.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect::<Vec<u32>>()
    };
    // Of several planes, hosts hang on the routers of the first, whose names begin with its number.
    let planes = topology.planes();
    (0..topology.routers() / planes)
        .map(|router| (numbers(topology.router_name(RouterId(router))), RouterId(router)))
        .map(|(numbers, router)| (numbers[usize::from(planes > 1)..].to_vec(), router))
        .collect()
}

/// Expands a text with `{1..32}`, `{00..31}`, `{9..0}` and `{a,b}`, the last brace fastest.
pub fn expand(pattern: &str) -> Result<Vec<String>, String> {
    if pattern.matches('{').count() > BRACES_MAX {
        return Err(format!("a line of more than {BRACES_MAX} braces is not a host map's"));
    }
    let Some(open) = pattern.find('{') else {
        return match pattern.contains('}') {
            true => Err(format!("'{pattern}' closes a brace that it does not open")),
            false => Ok(vec![pattern.to_string()]),
        };
    };
    let length = pattern[open..]
        .find('}')
        .ok_or_else(|| format!("'{pattern}' opens a brace that it does not close"))?;
    let (head, inside, tail) =
        (&pattern[..open], &pattern[open + 1..open + length], &pattern[open + length + 1..]);
    let choices = alternatives(inside)?;
    let tails = expand(tail)?;
    if choices.len().saturating_mul(tails.len()) > EXPANSION_MAX {
        return Err(format!("'{pattern}' stands for more than {EXPANSION_MAX} hosts"));
    }
    Ok(choices
        .iter()
        .flat_map(|choice| tails.iter().map(move |tail| format!("{head}{choice}{tail}")))
        .collect())
}

/// Alternatives in braces: `1..32`, or `a,b`.
fn alternatives(inside: &str) -> Result<Vec<String>, String> {
    let Some((first, last)) = inside.split_once("..") else {
        return Ok(inside.split(',').map(str::to_string).collect());
    };
    let bad = || format!("'{{{inside}}}' is not a range; write it like {{1..32}}");
    let (low, high): (u64, u64) = (first.parse().map_err(|_| bad())?, last.parse().map_err(|_| bad())?);
    if low.abs_diff(high) >= EXPANSION_MAX as u64 {
        return Err(format!("'{{{inside}}}' stands for more than {EXPANSION_MAX} hosts"));
    }
    let padded = [first, last].iter().any(|word| word.len() > 1 && word.starts_with('0'));
    let width = if padded { first.len().max(last.len()) } else { 0 };
    let show = |number: u64| format!("{number:0width$}");
    Ok(if low <= high { (low..=high).map(show).collect() } else { (high..=low).rev().map(show).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_stand_for_several_names() {
        assert_eq!(expand("dahu-{1..3}").unwrap(), ["dahu-1", "dahu-2", "dahu-3"]);
        assert_eq!(expand("{1..0} {0..1}").unwrap(), ["1 0", "1 1", "0 0", "0 1"]);
        assert_eq!(expand("nid{008..010}").unwrap(), ["nid008", "nid009", "nid010"]);
        assert_eq!(expand("{a,b}-x").unwrap(), ["a-x", "b-x"]);
        for bad in ["a{1..", "a}", "{1..x}", "{0..99999999}", "{0..9999}{0..9999}", &"{a}".repeat(1 << 20)] {
            assert!(expand(bad).is_err(), "{bad}");
        }
    }
}
