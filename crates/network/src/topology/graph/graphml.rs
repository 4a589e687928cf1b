//! GraphML, with the attributes that the head of `mod.rs` names.

use std::collections::BTreeMap;
use std::str::FromStr;

use engine::registry::BuildError;
use roxmltree::{Document, Node};

use super::{Cable, Description, wrong};

/// Reads a GraphML document, or says which line is wrong.
pub(super) fn read(text: &str) -> Result<Description, BuildError> {
    let document = Document::parse(text).map_err(|error| wrong(format!("not XML: {error}")))?;
    let graph = document
        .descendants()
        .find(|node| node.tag_name().name() == "graph")
        .ok_or_else(|| wrong("no <graph> in it; is it GraphML?".into()))?;
    let keys = Keys(document.descendants().filter(|node| node.tag_name().name() == "key").collect());
    let directed = graph.attribute("edgedefault") == Some("directed");
    let mut description = Description::default();
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    let line = |node: &Node| format!("line {}", document.text_pos_at(node.range().start).row);
    for node in graph.descendants().filter(|node| node.tag_name().name() == "node") {
        let id = attribute(&node, "id", &line)?;
        let host = match keys.value(&node, "node", "type") {
            Some("host") => true,
            Some("router" | "switch") | None => false,
            Some(other) => {
                return Err(wrong(format!(
                    "{}: type '{other}' of node {id}; known: host, router",
                    line(&node)
                )));
            }
        };
        let name =
            keys.value(&node, "node", "name").or_else(|| keys.value(&node, "node", "label")).unwrap_or(id);
        if numbers.insert(id, description.nodes.len() as u32).is_some() {
            return Err(wrong(format!("{}: a second node with the id {id}", line(&node))));
        }
        description.nodes.push((name.to_string(), host));
    }
    for edge in graph.descendants().filter(|node| node.tag_name().name() == "edge") {
        let place = line(&edge);
        let end = |name| -> Result<u32, BuildError> {
            let id = attribute(&edge, name, &line)?;
            numbers.get(id).copied().ok_or_else(|| wrong(format!("{place}: no node has the id {id}")))
        };
        let both = !edge.attribute("directed").map_or(directed, |value| value == "true");
        let lanes: u32 = quantity(&keys, &edge, "lanes", &place)?.unwrap_or(1);
        if !(1..=1024).contains(&lanes) {
            return Err(wrong(format!("{place}: {lanes} lanes; parallel cables are 1 to 1024")));
        }
        description.cables.push(Cable {
            ends: [end("source")?, end("target")?],
            bandwidth: quantity(&keys, &edge, "bandwidth", &place)?,
            latency: quantity(&keys, &edge, "latency", &place)?,
            lanes,
            both,
            place,
        });
    }
    Ok(description)
}

/// The `<key>` elements, which say what data is called.
struct Keys<'a>(Vec<Node<'a, 'a>>);

impl<'a> Keys<'a> {
    /// The value of data `name` of `element`, or its default.
    fn value(&self, element: &Node<'a, 'a>, kind: &str, name: &str) -> Option<&'a str> {
        let fits = |key: &&Node<'a, 'a>| {
            key.attribute("attr.name") == Some(name)
                && matches!(key.attribute("for"), Some(k) if k == kind || k == "all")
        };
        let key = self.0.iter().find(fits)?;
        let own = element
            .children()
            .find(|child| child.tag_name().name() == "data" && child.attribute("key") == key.attribute("id"));
        let default = || key.children().find(|child| child.tag_name().name() == "default");
        own.or_else(default)?.text().map(str::trim)
    }
}

fn attribute<'a>(
    node: &Node<'a, 'a>,
    name: &str,
    line: &impl Fn(&Node) -> String,
) -> Result<&'a str, BuildError> {
    let missing = || wrong(format!("{}: a {} without {name}", line(node), node.tag_name().name()));
    node.attribute(name).ok_or_else(missing)
}

fn quantity<'a, T: FromStr<Err: std::fmt::Display>>(
    keys: &Keys<'a>,
    edge: &Node<'a, 'a>,
    name: &str,
    place: &str,
) -> Result<Option<T>, BuildError> {
    let read = |text: &str| text.parse().map_err(|error| wrong(format!("{place}: {name}: {error}")));
    keys.value(edge, "edge", name).map(read).transpose()
}
