//! Lists the nodes of a rank's graph: the work of each, and its dependencies.

use std::fmt::Write as _;

use mpi::collective::Sizes;
use mpi::operation::{CommId, Peer, TagMatch};
use serde_json::{Value, json};
use workload::trace::graph::{After, Graph, Work};

/// Lists the nodes of `rank`: lines of text or of JSON, some at a time. Returns true if `write` wants more.
pub fn dump(graph: &Graph, rank: u32, as_json: bool, write: &mut dyn FnMut(&str) -> bool) -> bool {
    let mut text = String::new();
    if !as_json {
        let _ = writeln!(text, "rank {rank}\n       #  {:<24} {:<36} after", "event", "");
    }
    let earlier = graph.earlier();
    for ((node, after), number) in graph.nodes().iter().zip(&earlier).zip(1_u64..) {
        let _ = if as_json {
            let mut line = json!({"rank": rank, "number": number, "event": name(graph, node)});
            let found = fields(graph, node);
            for (key, value) in
                found.as_object().into_iter().flatten().chain(waits(after).as_object().into_iter().flatten())
            {
                line[key] = value.clone();
            }
            writeln!(text, "{line}")
        } else {
            let line =
                format!("{number:>8}  {:<24} {:<36} {}", name(graph, node), said(graph, node), list(after));
            writeln!(text, "{}", line.trim_end())
        };
        if text.len() > 1 << 16 {
            if !write(&text) {
                return false;
            }
            text.clear();
        }
    }
    write(&text)
}

/// Function with which a replay begins the node.
fn name(graph: &Graph, node: &Work) -> &'static str {
    match node {
        Work::Send { .. } => "MPI_Isend",
        Work::Receive { .. } => "MPI_Irecv",
        Work::Collective(number) => graph.collective(*number).kind.nonblocking_function(),
        Work::Compute { .. } => "compute",
    }
}

fn fields(graph: &Graph, node: &Work) -> Value {
    match node {
        Work::Send { to, tag, bytes } => json!({"to": to, "tag": tag, "bytes": bytes.0}),
        Work::Receive { from, tag, bytes } => {
            let from = if let Peer::Rank(from) = from { Some(from) } else { None };
            let tag = if let TagMatch::Tag(tag) = tag { Some(tag) } else { None };
            json!({"from": from, "tag": tag, "bytes": bytes.map(|bytes| bytes.0)})
        }
        Work::Collective(number) => {
            let call = graph.collective(*number);
            let bytes = if let Sizes::Equal(bytes) = &call.sizes { Some(bytes.0) } else { None };
            json!({"comm": call.comm.0, "root": call.root, "bytes": bytes})
        }
        Work::Compute { time, processor } => json!({"time_s": time.seconds(), "processor": processor}),
    }
}

/// Text about the node, for people.
fn said(graph: &Graph, node: &Work) -> String {
    match node {
        Work::Send { to, tag, bytes } => format!("to {to}, tag {tag}, {} B", bytes.0),
        Work::Receive { from, tag, bytes } => {
            let from = if let Peer::Rank(from) = from { from.to_string() } else { "any".to_string() };
            let tag = if let TagMatch::Tag(tag) = tag { format!("tag {tag}") } else { "any tag".to_string() };
            let bytes = bytes.map_or(String::new(), |bytes| format!(", {} B", bytes.0));
            format!("from {from}, {tag}{bytes}")
        }
        Work::Collective(number) => {
            let call = graph.collective(*number);
            let bytes =
                if let Sizes::Equal(bytes) = &call.sizes { bytes.0.to_string() } else { "?".to_string() };
            let comm = if call.comm == CommId::WORLD {
                String::new()
            } else {
                format!(", communicator {}", call.comm.0)
            };
            format!("{bytes} B{comm}")
        }
        Work::Compute { time, processor } => format!("{:.9} s, processor {processor}", time.seconds()),
    }
}

/// Numbers of the nodes that must have ended, and of those that must have begun.
fn split(after: &[(u32, After)]) -> [Vec<u32>; 2] {
    [After::Finish, After::Start]
        .map(|kind| after.iter().filter(|(_, after)| *after == kind).map(|(node, _)| node + 1).collect())
}

fn waits(after: &[(u32, After)]) -> Value {
    let [ended, begun] = split(after);
    json!({"after_end_of": ended, "after_begin_of": begun})
}

fn list(after: &[(u32, After)]) -> String {
    let [ended, begun] =
        split(after).map(|nodes| nodes.iter().map(u32::to_string).collect::<Vec<_>>().join(", "));
    match (ended.is_empty(), begun.is_empty()) {
        (_, true) => ended,
        (true, false) => format!("the begin of {begun}"),
        (false, false) => format!("{ended}, the begin of {begun}"),
    }
}
