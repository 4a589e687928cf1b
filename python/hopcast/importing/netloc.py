"""Reader of netloc's `…-nodes.ndat`: JSON with `node_info` and `edge_info`, InfiniBand.

A node has `phy_id`, `node_type` (1: switch, 2: host) and `desc`; an edge goes from `src_node_id`,
`src_port_id` to `dest_node_id`, `dest_port_id`, with `speed` and `width`; each cable is two edges.

Source of the format: Open MPI netloc 0.5, github.com/open-mpi/netloc.
"""

from __future__ import annotations

import json

from hopcast.errors import InputError
from hopcast.importing import infiniband, link_rates, texts
from hopcast.importing.fabric import Fabric
from hopcast.importing.infiniband import Node

_KINDS = {1: "Switch", 2: "Ca"}


def is_it(text: str) -> bool:
    """True for JSON that opens with netloc's network."""
    return text.lstrip()[:40].startswith("{") and (
        '"network_info"' in text[:400] or '"path_info"' in text[:400]
    )


def read(text: str, place: str) -> Fabric:
    """The network."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not complete JSON: {error}") from None
    if not isinstance(data, dict) or "node_info" not in data:
        raise InputError(
            f"{place}: netloc's file of paths: the network is in the file that ends in nodes.ndat"
        )
    nodes: dict[str, Node] = {}
    for key, node in _table(data, "node_info", place):
        if node.get("node_type") not in _KINDS:
            raise InputError(
                f"{place}: node_info '{key[:40]}': unknown node_type {node.get('node_type')!r:.40}"
            )
        kind = _KINDS[node["node_type"]]
        nodes[_identifier(kind, key)] = Node(kind, str(node.get("desc", "")))
    kinds = {identifier[2:]: identifier for identifier in nodes}
    for key, edge in _table(data, "edge_info", place):
        at = f"{place}: edge_info '{key[:40]}'"
        ends = [str(edge.get(f"{end}_node_id")) for end in ("src", "dest")]
        if unknown := [end for end in ends if end not in kinds]:
            raise InputError(f"{at}: unknown node '{unknown[0][:40]}'")
        ports = [
            texts.number(str(edge.get(f"{end}_port_id")), at, f"{end}_port_id", 1 << 16)
            for end in ("src", "dest")
        ]
        rate = link_rates.infiniband(str(edge.get("speed")), str(edge.get("width")), at)
        nodes[kinds[ends[0]]].ports[ports[0]] = (kinds[ends[1]], ports[1], rate)
    return infiniband.network(nodes, "netloc", place)


def _identifier(kind: str, key: str) -> str:
    return f"{'S' if kind == 'Switch' else 'H'}-{key}"


def _table(data: dict, name: str, place: str) -> list[tuple[str, dict]]:
    table = data.get(name)
    if not isinstance(table, dict) or not all(isinstance(row, dict) for row in table.values()):
        raise InputError(f"{place}: {name} is missing or not a table of objects")
    return list(table.items())
