//! All nodes of one rank with their dependencies, and the process groups that the rank's metadata lists.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::parts::Node;
use super::{json, proto};
use crate::trace::error::TraceError;
use crate::trace::input::TraceFile;

/// A node that lasts longer is damaged \[µs\].
const LONGEST_US: u64 = 100 * 24 * 3_600_000_000;
/// A larger message is a damaged size \[bytes\].
const LARGEST: u64 = 1 << 44;

/// The nodes of one rank.
#[derive(Debug)]
pub(super) struct Nodes {
    /// Nodes in the order of the file. Their dependencies are indices into this list.
    pub nodes: Vec<Node>,
    /// Members of each process group; empty for all ranks.
    pub groups: BTreeMap<String, Vec<u32>>,
    /// Dependencies on nodes that the file does not have.
    pub missing: u64,
    /// Number of ranks of the run, if the file states it.
    pub ranks: Option<u32>,
}

/// A process group in PyTorch's metadata.
#[derive(Deserialize)]
struct ProcessGroup {
    pg_name: String,
    ranks: Vec<u32>,
}

impl Nodes {
    /// Reads all of `file`.
    pub(super) fn read(file: &TraceFile) -> Result<Nodes, TraceError> {
        let mut nodes = Vec::new();
        let take = |at: u64, draft: super::parts::Draft| {
            let error = |reason: String| TraceError::at(&*file.name, at, reason);
            let node = draft.finish().map_err(error)?;
            if node.duration_us > LONGEST_US || node.bytes > LARGEST {
                let (us, bytes) = (node.duration_us, node.bytes);
                return Err(error(format!("node {} lasts {us} µs and has {bytes} bytes", node.id)));
            }
            nodes.push(node);
            Ok(())
        };
        let ranks = if json::recognise(file)? {
            json::read(file, take)?
        } else {
            proto::read(file, take).map(|()| None)?
        };
        let mut all = Nodes { nodes, groups: BTreeMap::new(), missing: 0, ranks };
        all.connect(file)?;
        all.find_groups(file)?;
        Ok(all)
    }

    fn connect(&mut self, file: &TraceFile) -> Result<(), TraceError> {
        let mut places = BTreeMap::new();
        for (place, node) in self.nodes.iter().enumerate() {
            if places.insert(node.id, place as u64).is_some() {
                return Err(TraceError::new(&*file.name, format!("two nodes have the number {}", node.id)));
            }
        }
        for node in &mut self.nodes {
            let mut after = std::mem::take(&mut node.after);
            after.sort_unstable();
            after.dedup();
            for id in after {
                match places.get(&id) {
                    Some(&earlier) => node.after.push(earlier),
                    None => self.missing += 1,
                }
            }
        }
        Ok(())
    }

    fn find_groups(&mut self, file: &TraceFile) -> Result<(), TraceError> {
        for node in &self.nodes {
            let Some(text) = &node.metadata else { continue };
            // The value is a list with one text, which is itself a list in JSON.
            let Some((from, to)) = text.find("[{").zip(text.rfind("}]")) else { continue };
            if from > to || !text.contains("pg_name") {
                continue;
            }
            let groups: Vec<ProcessGroup> = serde_json::from_str(&text[from..to + 2]).map_err(|error| {
                let reason = format!("node {}, the process groups: {error}", node.id);
                TraceError::new(&*file.name, reason)
            })?;
            self.groups.extend(groups.into_iter().map(|group| (group.pg_name, group.ranks)));
        }
        Ok(())
    }
}
