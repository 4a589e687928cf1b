"""Reader of a host's description by hwloc: `lstopo --of xml`, of hwloc 1 and 2.

Objects counted: sockets (`Package`, in hwloc 1 `Socket`), `Core`, `PU`, `NUMANode` (in hwloc 1 `NUMANode` or
`Node`), and caches with their sizes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from hopcast.errors import InputError
from hopcast.importing import texts

_KINDS = {
    "Package": "sockets",
    "Socket": "sockets",
    "Core": "cores",
    "PU": "threads",
    "NUMANode": "numa_nodes",
    "Node": "numa_nodes",
}


@dataclass(frozen=True)
class Host:
    """Processors of one host, by its description."""

    name: str
    cores: int
    sockets: int
    numa_nodes: int
    threads: int
    processor: str
    caches: tuple[str, ...]
    """Such as "L3 22 MiB x2"."""
    memory_bytes: int

    @property
    def kind(self) -> tuple[int, int, int]:
        """Numbers that a platform file has: equal for hosts of one sort."""
        return self.cores, self.sockets, self.numa_nodes


def is_it(root: Element) -> bool:
    """True for hwloc's XML."""
    return root.tag == "topology" and root.find("object") is not None


def read(root: Element, place: str) -> Host:
    """The host."""
    machine = root.find("object")
    assert machine is not None, "its root has an object"
    counts: Counter[str] = Counter()
    caches: Counter[tuple[str, int]] = Counter()
    memory = 0
    for thing in machine.iter("object"):
        kind = thing.get("type", "")
        if kind in _KINDS:
            counts[_KINDS[kind]] += 1
        if "Cache" in kind and kind[-6:] != "ICache":
            level = kind[:2] if kind[0] == "L" else f"L{thing.get('depth', '?')[:2]}"
            caches[(level, texts.number(thing.get("cache_size", "0"), place, "cache_size", 1 << 40))] += 1
        if _KINDS.get(kind) == "numa_nodes":
            memory += texts.number(thing.get("local_memory", "0"), place, "local_memory", 1 << 39)
    info = {part.get("name"): part.get("value", "") for part in machine.iter("info")}
    cores = counts["cores"] or counts["threads"]
    if not cores:
        raise InputError(
            f"{place}: hwloc's description has neither cores nor processing units: it was filtered"
        )
    if cores > 65535:
        raise InputError(f"{place}: {cores} cores: a platform has at most 65,535 processes a host")
    return Host(
        info.get("HostName", ""),
        cores,
        max(1, counts["sockets"]),
        max(1, counts["numa_nodes"]),
        counts["threads"],
        info.get("CPUModel", ""),
        tuple(_cache(*key, count) for key, count in sorted(caches.items())),
        memory,
    )


def _cache(level: str, size: int, count: int) -> str:
    text = f"{size / 2**20:g} MiB" if size >= 2**20 else f"{size / 2**10:g} KiB"
    return f"{level} {text} x{count}"
