//! The edge list, one cable a line, in the form that the head of `mod.rs` shows.

use std::collections::BTreeMap;

use engine::registry::BuildError;
use engine::{Bandwidth, Duration};

use super::{Cable, Description, wrong};

/// Reads an edge list, or says which line is wrong.
pub(super) fn read(text: &str) -> Result<Description, BuildError> {
    let mut description = Description::default();
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    let mut node = |name, description: &mut Description| {
        *numbers.entry(name).or_insert_with(|| {
            description.nodes.push((String::from(name), false));
            description.nodes.len() as u32 - 1
        })
    };
    for (number, line) in text.lines().enumerate() {
        let place = format!("line {}", number + 1);
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] => {}
            ["host"] => return Err(wrong(format!("{place}: 'host' needs names; write 'host n0 n1'"))),
            ["host", ref names @ ..] => {
                for name in names {
                    let host = node(name, &mut description);
                    description.nodes[host as usize].1 = true;
                }
            }
            [from, "->", to, ref rest @ ..] => {
                let ends = [node(from, &mut description), node(to, &mut description)];
                description.cables.push(cable(ends, false, rest, place)?);
            }
            [from, to, ref rest @ ..] => {
                let ends = [node(from, &mut description), node(to, &mut description)];
                description.cables.push(cable(ends, true, rest, place)?);
            }
            [word] => {
                let reason = format!("{place}: '{word}' alone is no cable; write 'A B', or 'host {word}'");
                return Err(wrong(reason));
            }
        }
    }
    Ok(description)
}

/// Reads what stands behind the two names of a line.
fn cable(ends: [u32; 2], both: bool, words: &[&str], place: String) -> Result<Cable, BuildError> {
    let mut cable = Cable { ends, bandwidth: None, latency: None, lanes: 1, both, place };
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        if let Some(lanes) = word.strip_prefix('x').and_then(|lanes| lanes.parse().ok()) {
            if !(1..=1024).contains(&lanes) {
                return Err(wrong(format!("{}: '{word}': parallel cables are x1 to x1024", cable.place)));
            }
            cable.lanes = lanes;
            continue;
        }
        // The unit may stand on its own.
        let quantity = match word.parse::<f64>() {
            Ok(_) => format!("{word} {}", words.next().unwrap_or_default()),
            Err(_) => word.to_string(),
        };
        if let (Ok(bandwidth), None) = (quantity.parse::<Bandwidth>(), cable.bandwidth) {
            cable.bandwidth = Some(bandwidth);
        } else if let (Ok(latency), None) = (quantity.parse::<Duration>(), cable.latency) {
            cable.latency = Some(latency);
        } else {
            return Err(wrong(format!(
                "{}: '{}' is not a bandwidth, a latency or xN, each at most once; write like 'A B 12.5 GB/s 500 ns x2'",
                cable.place,
                quantity.trim()
            )));
        }
    }
    Ok(cable)
}
