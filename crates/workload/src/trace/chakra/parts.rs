//! One node of a trace, the same for both file formats.

use super::proto::Attribute;

/// Kind of work of a node. Numbers are those of the schema's `NodeType`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Takes its recorded time: a computation, or an operation that replay does not model (memory, storage).
    Compute,
    /// Sends to this rank.
    Send(u32),
    /// Receives from this rank.
    Receive(u32),
    /// Takes part in a collective of the schema's `CollectiveCommType`, or in an [`UNKNOWN`] one.
    Collective(u64),
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    /// Number of the node.
    pub id: u64,
    /// Kind of its work.
    pub kind: Kind,
    /// Numbers of the nodes that it depends on.
    pub after: Vec<u64>,
    /// Recorded duration \[µs\].
    pub duration_us: u64,
    /// Bytes that it communicates.
    pub bytes: u64,
    /// Tag of the message.
    pub tag: u32,
    /// Root of the collective, a rank of its group.
    pub root: u32,
    /// Process group; empty for all ranks.
    pub group: String,
    /// True if it ran on the host's processor, false if on an accelerator; `None` if unknown.
    pub on_cpu: Option<bool>,
    /// Contents of a node of metadata; `None` for other nodes.
    pub metadata: Option<String>,
}

/// Number of a collective whose kind the trace does not state.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// The numbers of `NodeType`.
const METADATA: u64 = 1;
const SEND: u64 = 5;
const RECEIVE: u64 = 6;
const COLLECTIVE: u64 = 7;
/// The largest number of `NodeType`: 8 to 10 are storage.
const LAST_TYPE: u64 = 10;

/// Fields of a node that have been read so far.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub id: u64,
    pub node_type: u64,
    pub after: Vec<u64>,
    pub duration_us: u64,
    pub on_cpu: Option<bool>,
    pub comm_type: Option<u64>,
    pub bytes: Option<u64>,
    pub source: Option<u64>,
    pub destination: Option<u64>,
    pub tag: u64,
    pub root: u64,
    pub group: String,
    /// Inputs of the node as text; nodes of metadata carry their contents there.
    pub inputs: String,
    pub partial: bool,
}

impl Draft {
    /// Stores an attribute that replay needs, and ignores others.
    pub(super) fn attribute(&mut self, name: &str, value: Attribute) -> Result<(), String> {
        let number = || value.number(name);
        match name {
            "is_cpu_op" => self.on_cpu = Some(number()? != 0),
            "comm_type" => self.comm_type = Some(number()?),
            "comm_size" => self.bytes = Some(number()?),
            "comm_src" => self.source = Some(number()?),
            "comm_dst" => self.destination = Some(number()?),
            "comm_tag" => self.tag = number()?,
            "root_rank" => self.root = number()?,
            "pg_name" => self.group = value.text(name)?,
            "involved_dim" => self.partial = value.any_false(name)?,
            _ => {}
        }
        Ok(())
    }

    /// Finishes the node, or describes why it is invalid.
    pub(super) fn finish(self) -> Result<Node, String> {
        let id = self.id;
        let peer = |peer: Option<u64>, what: &str| {
            let peer = peer.ok_or_else(|| format!("node {id} does not say {what}"))?;
            u32::try_from(peer).map_err(|_| format!("node {id} names rank {peer}"))
        };
        let kind = match self.node_type {
            SEND => Kind::Send(peer(self.destination, "to whom it sends (comm_dst)")?),
            RECEIVE => Kind::Receive(peer(self.source, "from whom it receives (comm_src)")?),
            // The host's part of an accelerator's collective takes its time and communicates nothing.
            COLLECTIVE if self.on_cpu == Some(true) => Kind::Compute,
            COLLECTIVE => Kind::Collective(self.comm_type.unwrap_or(UNKNOWN)),
            1..=LAST_TYPE => Kind::Compute,
            other => return Err(format!("node {id} is of type {other}; known: 1 to {LAST_TYPE}")),
        };
        if self.partial && matches!(kind, Kind::Collective(_)) {
            return Err(format!(
                "node {id} is a collective along some dimensions of a network that the trace does not have \
                 (involved_dim); process groups (pg_name) say who takes part"
            ));
        }
        let small = |number: u64, what: &str| {
            u32::try_from(number)
                .map_err(|_| format!("node {id} has {what} {number}, below zero or too large"))
        };
        let bytes = match (&kind, self.bytes) {
            (Kind::Compute | Kind::Collective(UNKNOWN), _) => 0,
            (_, Some(bytes)) => bytes,
            (_, None) => return Err(format!("node {id} does not say how much it communicates (comm_size)")),
        };
        Ok(Node {
            id,
            kind,
            after: self.after,
            duration_us: self.duration_us,
            bytes,
            tag: small(self.tag, "tag")?,
            root: small(self.root, "root")?,
            group: self.group,
            on_cpu: self.on_cpu,
            metadata: (self.node_type == METADATA && !self.inputs.is_empty()).then_some(self.inputs),
        })
    }
}
