//! Writes small Chakra traces in protocol buffers.

use workload::trace::TraceFile;

/// Encodes a number with seven bits per byte, the lowest first.
pub fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

/// A node under construction.
#[derive(Clone)]
pub struct Node(Vec<u8>);

impl Node {
    pub fn new(id: u64, kind: u64) -> Node {
        Node([number(1, id), bytes(2, b"a node"), number(3, kind)].concat())
    }

    /// A computation of `us` microseconds.
    pub fn compute(id: u64, us: u64, on_cpu: bool) -> Node {
        let mut node = Node::new(id, 4);
        node.0.extend(number(7, us));
        node.attribute("is_cpu_op", 27, on_cpu.into())
    }

    /// Adds data dependencies on these nodes, as a packed list.
    pub fn after(mut self, nodes: &[u64]) -> Node {
        let list: Vec<u8> = nodes.iter().flat_map(|&node| varint(node)).collect();
        self.0.extend(bytes(5, &list));
        self
    }

    /// Adds a control dependency on this node.
    pub fn controlled_by(mut self, node: u64) -> Node {
        self.0.extend(number(4, node));
        self
    }

    /// Adds an attribute that is a number, of the type that `field` stands for.
    pub fn attribute(mut self, name: &str, field: u64, value: u64) -> Node {
        let attribute = [bytes(1, name.as_bytes()), number(field, value)].concat();
        self.0.extend(bytes(10, &attribute));
        self
    }

    /// Adds an attribute that is text.
    pub fn text(mut self, name: &str, value: &str) -> Node {
        let attribute = [bytes(1, name.as_bytes()), bytes(29, value.as_bytes())].concat();
        self.0.extend(bytes(10, &attribute));
        self
    }

    /// Adds values of the node's inputs.
    pub fn inputs(mut self, values: &str) -> Node {
        self.0.extend(bytes(8, &bytes(1, values.as_bytes())));
        self
    }

    pub fn send(id: u64, to: u64, size: u64) -> Node {
        Node::new(id, 5)
            .attribute("comm_dst", 7, to)
            .attribute("comm_size", 9, size)
            .attribute("comm_tag", 7, 3)
    }

    pub fn receive(id: u64, from: u64, size: u64) -> Node {
        Node::new(id, 6)
            .attribute("comm_src", 7, from)
            .attribute("comm_size", 9, size)
            .attribute("comm_tag", 7, 3)
    }

    pub fn collective(id: u64, which: u64, size: u64) -> Node {
        Node::new(id, 7).attribute("is_cpu_op", 27, 0).attribute("comm_type", 9, which).attribute(
            "comm_size",
            9,
            size,
        )
    }
}

/// File of `rank` of the run called "made".
pub fn file(rank: usize, nodes: &[Node]) -> TraceFile {
    let head = bytes(1, b"0.0.4");
    let mut content = [varint(head.len() as u64), head].concat();
    for node in nodes {
        content.extend(varint(node.0.len() as u64));
        content.extend(&node.0);
    }
    TraceFile::new(format!("run/made.{rank}.et"), content)
}
