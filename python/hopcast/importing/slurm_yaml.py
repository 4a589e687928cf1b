"""Reader of Slurm's `topology.yaml`: several topologies, each a tree of switches, blocks, or flat.

    - topology: tree1
      cluster_default: true
      tree:
        switches: [{switch: s0, nodes: "tux[0-3]"}, {switch: top, children: "s[0-2]"}]
    - topology: blocks1
      block: {block_sizes: [4, 16], blocks: [{block: b1, nodes: "tux[0-3]"}]}
    - topology: flat1
      flat: true

The one with `cluster_default: true` is taken, else the first. A flat one names no hosts: those of the other
topologies hang on one switch then, or those of a map of hosts.

Source of the format: topology.yaml(5), Slurm 25.05.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from hopcast.errors import InputError
from hopcast.importing import slurm
from hopcast.importing.fabric import Fabric

ORIGIN = "Slurm's topology.yaml"
KINDS = {
    "tree": {"switches": {"switch", "children", "nodes", "link_speed"}},
    "block": {"blocks": {"block", "nodes"}},
}
"""Kinds of topologies, their lists, and the keys of an entry."""
_HEAD = re.compile(r"^\s*(?:-\s*)?[\"']?topology[\"']?\s*:", re.MULTILINE)


class _Loader(yaml.SafeLoader):
    """YAML without references, so that a short text cannot grow long."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("references (*name) are refused")
        return super().compose_node(parent, index)


def is_it(text: str) -> bool:
    """True for a text with the first key of a topology, before any of another format."""
    return _HEAD.search(text) is not None and not slurm.is_it(text)


def read(text: str, place: str, uplinks: int | None = None, wanted: str | None = None) -> Fabric | None:
    """The network of a topology, by default the cluster's; None for a flat one where no host is named."""
    try:
        entries = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"{place}: not YAML: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{place}: a list of topologies is wanted, each beginning with '- topology:'")
    topologies: dict[str, dict] = {}
    for entry in entries:
        name = str(entry.get("topology"))
        if "topology" not in entry or name in topologies:
            raise InputError(f"{place}: topology '{name[:40]}': without a name, or there for the second time")
        topologies[name] = entry
    kinds = {name: _kind(name, entry, place) for name, entry in topologies.items()}
    if wanted is not None and wanted not in topologies:
        raise InputError(f"{place}: unknown topology '{wanted[:40]}'; known: {', '.join(topologies)}")
    default = [name for name, entry in topologies.items() if entry.get("cluster_default") is True]
    chosen = wanted or (default or list(topologies))[0]
    found = Fabric(f"{ORIGIN}, topology '{chosen}'")
    if rest := [name for name in topologies if name != chosen]:
        found.findings.append(f"topologies {', '.join(rest)} are left out (--topology NAME)")
    if kinds[chosen] == "flat":
        return _flat(found, topologies, kinds, place)
    switches = _switches(chosen, topologies[chosen], kinds[chosen], place)
    return slurm.network(found, switches, uplinks, place, blocks=kinds[chosen] == "block")


def _kind(name: str, entry: dict, place: str) -> str:
    """Kind of a topology: exactly one is said."""
    at = f"{place}: topology '{name[:40]}'"
    known = {"topology", "cluster_default", "flat", *KINDS}
    if other := [key for key in entry if key not in known]:
        raise InputError(f"{at}: unknown '{str(other[0])[:40]}'; known: {', '.join(sorted(known))}")
    said = [kind for kind in KINDS if kind in entry] + (["flat"] if entry.get("flat") is True else [])
    if len(said) != 1:
        raise InputError(
            f"{at}: {' and '.join(said) or 'no kind'}: exactly one of block, flat, tree is wanted"
        )
    return said[0]


def _switches(name: str, entry: dict, kind: str, place: str) -> dict[str, tuple[list[str], list[str]]]:
    """Hosts and switches below each switch or block."""
    at = f"{place}: topology '{name[:40]}'"
    ((list_key, keys),) = KINDS[kind].items()
    own = "switch" if kind == "tree" else "block"
    rows = entry[kind].get(list_key) if isinstance(entry[kind], dict) else None
    if not isinstance(rows, list) or not rows:
        raise InputError(f"{at}: {kind}: a list '{list_key}' is wanted")
    found: dict[str, tuple[list[str], list[str]]] = {}
    for count, row in enumerate(rows, 1):
        there = f"{at}: {list_key}[{count}]"
        if not isinstance(row, dict) or own not in row:
            raise InputError(f"{there}: '{own}: NAME' is wanted")
        if other := [key for key in row if key not in keys]:
            raise InputError(f"{there}: unknown '{str(other[0])[:40]}'; known: {', '.join(sorted(keys))}")
        below = [slurm.hostlist(str(row.get(key) or ""), there) for key in ("nodes", "children")]
        for switch in slurm.hostlist(str(row[own]), there):
            if switch in found:
                raise InputError(f"{there}: '{switch[:40]}' stands here for the second time")
            found[switch] = (below[0], below[1])
    return found


def _flat(found: Fabric, topologies: dict[str, dict], kinds: dict[str, str], place: str) -> Fabric | None:
    """All hosts that the file names, on one switch."""
    hosts = dict.fromkeys(
        host
        for name, kind in kinds.items()
        if kind != "flat"
        for nodes, _ in _switches(name, topologies[name], kind, place).values()
        for host in nodes
    )
    if not hosts:
        return None
    found.assumed.append("a flat topology is one switch of all hosts that the file names elsewhere")
    return slurm.network(found, {"flat": (list(hosts), [])}, None, place, blocks=False)
