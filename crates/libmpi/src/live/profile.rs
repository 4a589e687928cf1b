//! The profile of a program's computing: measured in one run, and used by later ones. docs/computing.md describes its
//! format.
//!
//!   b = (t₂ / t₁ − 1) / (B₁ / B₂ − 1) · t₁ B₁        bytes that a stretch moves through memory, 0 to t₁ B₁
//!
//! t₁ is the time of a stretch alone, t₂ its time while all other cores copy memory; B₁ and B₂ are the rates of a copy in
//! both cases. A copy is slowed by B₁ / B₂, a loop in registers not at all, and other loops lie between. Assumption: in
//! proportion to the bytes that they move. Where B₁ / B₂ is close to 1, bytes cannot be told and are taken as 0.

use std::path::Path;

use mpi::compute::stretches::Known;
use serde::{Deserialize, Serialize};

/// Name of the format in the file.
pub const FORMAT: &str = "hopcast-compute-profile";
/// The version that is written, and read.
pub const VERSION: u32 = 1;
/// Least slowdown B₁ / B₂ of a machine from which bytes can be told.
const LEAST_SLOWDOWN: f64 = 1.1;

/// A whole profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// [`FORMAT`]
    pub format: String,
    /// [`VERSION`]
    pub version: u32,
    /// The version of hopcast that measured it.
    pub hopcast_version: String,
    /// The day on which it was measured, such as "2026-11-22".
    pub date: String,
    /// Machine on which it was measured.
    pub machine: Machine,
    /// The program and its arguments.
    pub program: Program,
    /// Kinds of stretches.
    pub stretches: Vec<Entry>,
}

/// The machine on which a profile was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its processor's name.
    pub processor: String,
    /// Cores that the run could use.
    pub cores: u32,
    /// Peak of one core: multiply-adds of vectors of up to 256 bits \[flop/s\].
    #[serde(rename = "flop_rate_flop_per_s")]
    pub flop_rate: f64,
    /// Copy rate of one core alone, read and written \[bytes/s\].
    #[serde(rename = "memory_bandwidth_B_per_s")]
    pub memory_bandwidth: f64,
    /// Copy rate of one core while all others copy, too \[bytes/s\].
    #[serde(rename = "busy_memory_bandwidth_B_per_s")]
    pub busy_memory_bandwidth: f64,
}

/// The run that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The name of its file.
    pub file: String,
    /// A hash of its contents.
    pub hash: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its ranks.
    pub ranks: u32,
}

/// One kind of stretches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The call after which it begins, by name.
    pub from: String,
    /// The call at which it ends.
    pub to: String,
    /// The call `from` for a reader, with file and line where the program has them.
    pub from_place: String,
    /// The call `to` for a reader.
    pub to_place: String,
    /// Size class of the message of the call `from`: 0, or 1 + ⌊log2 of its bytes⌋.
    pub from_class: u8,
    /// Size class of the message of the call `to`.
    pub to_class: u8,
    /// True for ranks' first visits, false for all later ones.
    pub first_visit: bool,
    /// Samples that count.
    pub count: u64,
    /// Samples that were discarded as interruptions.
    pub discarded: u64,
    /// Mean of the samples that count \[s\].
    pub centre_s: f64,
    /// Standard deviation of the samples that count \[s\].
    pub spread_s: f64,
    /// Bytes that it moves through memory; 0 if that could not be told.
    #[serde(rename = "memory_B")]
    pub memory_bytes: f64,
    /// Ranks whose time differs, each with the factor on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<(u32, f64)>,
}

impl Machine {
    /// True if busy cores slow a copy by enough to tell the bytes that a stretch moves.
    pub fn tells_memory(&self) -> bool {
        self.memory_bandwidth >= LEAST_SLOWDOWN * self.busy_memory_bandwidth
    }

    /// Bytes moved by a stretch that takes `alone` \[s\] by itself and `busy` \[s\] beside busy cores.
    pub fn moved(&self, alone: f64, busy: f64) -> f64 {
        if !self.tells_memory() || alone <= 0.0 {
            return 0.0;
        }
        let slowdown = self.memory_bandwidth / self.busy_memory_bandwidth;
        let share = ((busy / alone - 1.0) / (slowdown - 1.0)).clamp(0.0, 1.0);
        share * alone * self.memory_bandwidth
    }
}

impl Entry {
    /// The entry of a kind of stretches; `from` and `to` are name, words and class of its ends.
    pub fn of(
        known: &Known,
        from: (String, String, u8),
        to: (String, String, u8),
        machine: &Machine,
    ) -> Entry {
        Entry {
            from: from.0,
            from_place: from.1,
            from_class: from.2,
            to: to.0,
            to_place: to.1,
            to_class: to.2,
            first_visit: known.first,
            count: known.count,
            discarded: known.discarded,
            centre_s: known.centre,
            spread_s: known.spread,
            memory_bytes: known.busy.map_or(0.0, |busy| machine.moved(known.centre, busy).round()),
            ranks: known.ranks.clone(),
        }
    }

    /// The factor on the time of a rank.
    pub fn factor(&self, rank: u32) -> f64 {
        self.ranks.iter().find(|(other, _)| *other == rank).map_or(1.0, |(_, factor)| *factor)
    }
}

impl Profile {
    /// Reads a profile.
    pub fn read(path: &Path) -> Result<Profile, String> {
        let text = sim::config::read_file(path)?;
        let profile: Profile = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        if profile.format != FORMAT || profile.version != VERSION {
            let (format, version) = (&profile.format, profile.version);
            return Err(format!("{format} version {version}: {FORMAT} version {VERSION} is known"));
        }
        profile.check().map(|()| profile)
    }

    /// Checks its numbers: the file may have been edited.
    fn check(&self) -> Result<(), String> {
        let Machine { flop_rate, memory_bandwidth, busy_memory_bandwidth, .. } = self.machine;
        if ![flop_rate, memory_bandwidth, busy_memory_bandwidth].into_iter().all(|rate| rate > 0.0) {
            return Err("machine: rates are above 0".to_string());
        }
        let good = |entry: &Entry| {
            let mut factors = entry.ranks.iter().map(|(_, factor)| *factor);
            [entry.centre_s, entry.spread_s, entry.memory_bytes].into_iter().all(|value| value >= 0.0)
                && factors.all(|factor| factor >= 0.0)
        };
        match self.stretches.iter().find(|entry| !good(entry)) {
            Some(bad) => Err(format!("{} to {}: times, bytes and factors are 0 or more", bad.from, bad.to)),
            None => Ok(()),
        }
    }

    /// Writes it.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).expect("a profile has text keys and finite numbers");
        std::fs::write(path, text + "\n").map_err(|error| error.to_string())
    }

    /// Index of the entry for a stretch between two places with their size classes: the one with the nearest classes, and
    /// of these one of the same visits if there is any.
    pub fn find(&self, from: &(String, u8), to: &(String, u8), first: bool) -> Option<usize> {
        let same = |entry: &Entry| entry.from == from.0 && entry.to == to.0;
        let far = |entry: &Entry| {
            let apart = |class: u8, other: u8| u32::from(class.abs_diff(other));
            let classes = apart(entry.from_class, from.1) + apart(entry.to_class, to.1);
            (classes, entry.first_visit != first)
        };
        let pair = self.stretches.iter().enumerate().filter(|(_, entry)| same(entry));
        pair.min_by_key(|(_, entry)| far(entry)).map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(busy: f64) -> Machine {
        let processor = String::new();
        Machine { processor, cores: 2, flop_rate: 1e9, memory_bandwidth: 10e9, busy_memory_bandwidth: busy }
    }

    #[test]
    fn a_stretch_is_slowed_by_the_bytes_that_it_moves() {
        // A copy is slowed by 2: one of 1 ms moves 10 MB; a stretch that is slowed half as much moves half of that.
        let halved = machine(5e9);
        let moved_mb = |busy: f64| halved.moved(1e-3, busy).round() / 1e6;
        assert_eq!([1e-3, 1.5e-3, 2e-3, 9e-3, 0.9e-3].map(moved_mb), [0.0, 5.0, 10.0, 10.0, 0.0]);
        assert_eq!(machine(9.5e9).moved(1e-3, 2e-3), 0.0);
    }

    fn profile() -> Profile {
        let entry = |to: &str, to_class, first_visit| Entry {
            from: "a".into(),
            to: to.into(),
            from_place: String::new(),
            to_place: String::new(),
            from_class: 0,
            to_class,
            first_visit,
            count: 1,
            discarded: 0,
            centre_s: 1.0,
            spread_s: 0.0,
            memory_bytes: 0.0,
            ranks: vec![(3, 2.0)],
        };
        Profile {
            format: FORMAT.into(),
            version: VERSION,
            hopcast_version: String::new(),
            date: String::new(),
            machine: machine(5e9),
            program: Program { file: String::new(), hash: String::new(), arguments: Vec::new(), ranks: 4 },
            stretches: vec![
                entry("b", 4, true),
                entry("b", 4, false),
                entry("b", 9, true),
                entry("c", 5, true),
            ],
        }
    }

    #[test]
    fn an_edited_profile_is_checked() {
        assert_eq!(profile().check(), Ok(()));
        let changed = |change: fn(&mut Profile)| {
            let mut profile = profile();
            change(&mut profile);
            profile.check().unwrap_err()
        };
        let expected = "a to c: times, bytes and factors are 0 or more";
        assert_eq!(changed(|profile| profile.stretches[3].ranks[0].1 = -2.0), expected);
        assert_eq!(changed(|profile| profile.stretches[3].centre_s = -1e-3), expected);
        assert_eq!(changed(|profile| profile.machine.memory_bandwidth = 0.0), "machine: rates are above 0");
    }

    #[test]
    fn the_nearest_class_of_the_same_places_is_found() {
        let mut profile = profile();
        let find = |to: &str, class, first| profile.find(&("a".into(), 0), &(to.into(), class), first);
        assert_eq!(find("b", 4, false), Some(1));
        assert_eq!(find("b", 5, true), Some(0));
        assert_eq!(find("b", 9, false), Some(2));
        assert_eq!(find("d", 4, true), None);
        assert_eq!([3, 4].map(|rank| profile.stretches[0].factor(rank)), [2.0, 1.0]);
        // Classes that no message has are as far apart as can be.
        (profile.stretches[0].from_class, profile.stretches[0].to_class) = (255, 255);
        assert_eq!(profile.find(&("a".into(), 0), &("b".into(), 0), true), Some(1));
        let text = serde_json::to_string(&profile).unwrap();
        assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
    }
}
