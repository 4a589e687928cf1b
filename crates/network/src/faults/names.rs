//! Links and routers by the names that reports give them.

use crate::topology::{HostId, Link, LinkId, Node, RouterId, Topology};

/// Most known names that an error lists.
const NAMED: u32 = 6;

/// The links that `text` names: `A -> B` is all links from A to B, `A <-> B` those in both directions; A and
/// B are routers or hosts; a host's are those of all its NICs. `lane` takes one of parallel links in each
/// direction, from 0.
pub fn links_named(topology: &dyn Topology, text: &str, lane: Option<u32>) -> Result<Vec<LinkId>, String> {
    let both = text.split_once("<->");
    let (from, to) = both.or_else(|| text.split_once("->")).ok_or_else(|| {
        let (one, other) = (topology.router_name(RouterId(0)), topology.host_name(HostId(0)));
        format!("'{text}' names no link; write \"A -> B\" or, for both directions, \"A <-> B\", such as \"{one} <-> {other}\"")
    })?;
    let (from, to) = (node_named(topology, from)?, node_named(topology, to)?);
    let mut links = one_way(topology, from, to, lane)?;
    if both.is_some() {
        links.extend(one_way(topology, to, from, lane)?);
    }
    Ok(links.into_iter().flat_map(|link| of_all_nics(topology, link)).collect())
}

/// The links that are there where a network of one NIC on each host has `link`.
fn of_all_nics(topology: &dyn Topology, link: LinkId) -> Vec<LinkId> {
    let Link { from, to, .. } = topology.link(link);
    let firsts: Vec<LinkId> = match (from, to) {
        (Node::Host(host), _) => (0..topology.nics()).map(|nic| topology.nic_up(host, nic)).collect(),
        (_, Node::Host(host)) => (0..topology.nics()).map(|nic| topology.nic_down(host, nic)).collect(),
        _ => return vec![link],
    };
    let links_of = |first| (0..topology.nic_links()).map(move |number| topology.nic_link(first, number));
    firsts.into_iter().flat_map(links_of).collect()
}

/// The router that `text` names.
pub fn router_named(topology: &dyn Topology, text: &str) -> Result<RouterId, String> {
    find_router(topology, text).ok_or_else(|| unknown(topology, "router", text, false))
}

/// A name without what people write differently.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace()).collect()
}

fn find_router(topology: &dyn Topology, text: &str) -> Option<RouterId> {
    let wanted = plain(text);
    (0..topology.routers()).map(RouterId).find(|router| plain(&topology.router_name(*router)) == wanted)
}

fn node_named(topology: &dyn Topology, text: &str) -> Result<Node, String> {
    if let Some(router) = find_router(topology, text) {
        return Ok(Node::Router(router));
    }
    let wanted = plain(text);
    let host = (0..topology.hosts()).map(HostId).find(|host| plain(&topology.host_name(*host)) == wanted);
    host.map(Node::Host).ok_or_else(|| unknown(topology, "router or host", text, true))
}

fn unknown(topology: &dyn Topology, what: &str, text: &str, hosts: bool) -> String {
    let (routers, all) = (topology.routers(), topology.hosts());
    let mut known: Vec<String> =
        (0..routers.min(NAMED)).map(|router| topology.router_name(RouterId(router))).collect();
    if routers > NAMED {
        known.push(format!("… ({routers} routers)"));
    }
    if hosts {
        known.extend((0..all.min(2)).map(|host| topology.host_name(HostId(host))));
        known.push(format!("… ({all} hosts)"));
    }
    format!("unknown {what} '{}'; known: {}", text.trim(), known.join(", "))
}

fn name_of(topology: &dyn Topology, node: Node) -> String {
    match node {
        Node::Host(host) => topology.host_name(host),
        Node::Router(router) => topology.router_name(router),
    }
}

/// The links from `from` to `to`: all, or the one of that `lane`.
fn one_way(topology: &dyn Topology, from: Node, to: Node, lane: Option<u32>) -> Result<Vec<LinkId>, String> {
    let leaving = leaving(topology, from);
    let links: Vec<LinkId> = leaving.iter().copied().filter(|link| topology.link(*link).to == to).collect();
    let (start, end) = (name_of(topology, from), name_of(topology, to));
    if links.is_empty() {
        let mut ends: Vec<String> =
            leaving.iter().map(|link| name_of(topology, topology.link(*link).to)).collect();
        ends.dedup();
        ends.truncate(NAMED as usize);
        return Err(format!(
            "no link leads from {start} to {end}; links from {start} lead to {}",
            ends.join(", ")
        ));
    }
    let Some(lane) = lane else { return Ok(links) };
    let one = links.get(lane as usize).copied();
    let (count, most) = (links.len(), links.len() - 1);
    one.map(|link| vec![link]).ok_or_else(|| match count {
        1 => format!("lane {lane}: one link leads from {start} to {end}, and its lane is 0"),
        _ => format!("lane {lane}: {count} links lead from {start} to {end}, with lanes 0 to {most}"),
    })
}

/// All links that leave `node`, those to hosts behind the others.
fn leaving(topology: &dyn Topology, node: Node) -> Vec<LinkId> {
    match node {
        Node::Host(host) => vec![topology.up(host)],
        Node::Router(router) => {
            let mut links = Vec::new();
            topology.ports(router, &mut links);
            links.extend(topology.hosts_of(router).map(|host| topology.down(HostId(host))));
            links
        }
    }
}
