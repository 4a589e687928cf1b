//! Reads traces in JSON: a list `workload_graph` of nodes.

use serde::Deserialize;

use super::parts::Draft;
use crate::trace::error::TraceError;
use crate::trace::input::TraceFile;

/// Length of the beginning of a file that format detection looks at \[bytes\].
const BEGIN: usize = 4096;

#[derive(Deserialize)]
struct Graph {
    workload_graph: Vec<JsonNode>,
    /// Number of ranks of the run.
    ngpus: Option<u32>,
}

#[derive(Deserialize)]
struct JsonNode {
    #[serde(rename = "Id")]
    id: u64,
    #[serde(rename = "NodeType")]
    node_type: u64,
    #[serde(default, rename = "ctrlDeps", alias = "ctrl_deps")]
    control: Vec<u64>,
    #[serde(default)]
    data_deps: Vec<u64>,
    #[serde(default)]
    runtime: u64,
    is_cpu_op: Option<bool>,
    comm_type: Option<u64>,
    comm_size: Option<u64>,
    comm_src: Option<u64>,
    comm_dst: Option<u64>,
    #[serde(default)]
    comm_tag: u64,
    #[serde(default)]
    root_rank: u64,
    #[serde(default)]
    pg_name: String,
}

/// True if `file` begins like a trace in JSON.
pub(super) fn recognise(file: &TraceFile) -> Result<bool, TraceError> {
    has(file, "\"workload_graph\"")
}

/// True if `file` is the output of PyTorch itself, which Chakra's converter must turn into a trace first.
pub(super) fn is_unconverted(file: &TraceFile) -> Result<bool, TraceError> {
    Ok(has(file, "\"schema\"")? && has(file, "-chakra.")?)
}

fn has(file: &TraceFile, word: &str) -> Result<bool, TraceError> {
    let begin = file.peek(0, BEGIN)?;
    let opens = begin.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    Ok(opens && begin.windows(word.len()).any(|window| window == word.as_bytes()))
}

/// Reads the nodes of `file` and passes each to `take`. Returns the number of ranks of the run, if the file states
/// it.
pub(super) fn read(
    file: &TraceFile,
    mut take: impl FnMut(u64, Draft) -> Result<(), TraceError>,
) -> Result<Option<u32>, TraceError> {
    let content = file.peek(0, usize::try_from(file.bytes.size()).unwrap_or(usize::MAX))?;
    let graph: Graph = serde_json::from_slice(&content).map_err(|error| {
        let before = content.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
        let offset = before.map(<[u8]>::len).sum::<usize>() + error.column().saturating_sub(1);
        TraceError::at(&*file.name, offset as u64, error.to_string())
    })?;
    for node in graph.workload_graph {
        let mut after = node.control;
        after.extend(node.data_deps);
        let draft = Draft {
            id: node.id,
            node_type: node.node_type,
            after,
            duration_us: node.runtime,
            on_cpu: node.is_cpu_op,
            comm_type: node.comm_type,
            bytes: node.comm_size,
            source: node.comm_src,
            destination: node.comm_dst,
            tag: node.comm_tag,
            root: node.root_rank,
            group: node.pg_name,
            ..Draft::default()
        };
        take(0, draft)?;
    }
    Ok(graph.ngpus)
}
