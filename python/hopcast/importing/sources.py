"""Sources of a platform, told apart by their contents, and put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hopcast.errors import InputError
from hopcast.importing import (
    cray,
    infiniband,
    lstopo,
    measured,
    netloc,
    omnipath,
    slurm,
    slurm_yaml,
    smpi,
    texts,
)
from hopcast.importing.cray import NodeMap
from hopcast.importing.fabric import Fabric
from hopcast.importing.lstopo import Host
from hopcast.importing.measured import Measured
from hopcast.importing.smpi import Smpi

FORMATS = (
    "ibnetdiscover text, netloc's nodes.ndat, Omni-Path topology XML, Slurm's topology.conf and "
    "topology.yaml, maps of Aries links, maps of hosts to coordinates, lstopo XML, a platform of SimGrid, a "
    "platform file of 'hopcast calibrate fit', measurements that 'hopcast calibrate fit' reads"
)


@dataclass
class Sources:
    """Contents of all sources."""

    network: Fabric | None = None
    node_map: NodeMap | None = None
    hosts: list[Host] = field(default_factory=list)
    measured: Measured | None = None
    flat: str | None = None
    """Place of a flat topology of Slurm, which names no hosts."""
    smpi: tuple[Smpi, str] | None = None
    """A platform of SimGrid, and its place."""
    data: list[Path] = field(default_factory=list)
    """Measurements that are still to be fitted."""

    def host(self, findings: list[str]) -> Host | None:
        """The most frequent sort of host; a finding says if there are others."""
        if not self.hosts:
            return None
        sorts = Counter(host.kind for host in self.hosts)
        kind, count = sorts.most_common(1)[0]
        if len(sorts) > 1:
            findings.append(
                f"{len(sorts)} sorts of hosts are described, and a platform has one: that of {count} of "
                f"{len(self.hosts)} is taken"
            )
        return next(host for host in self.hosts if host.kind == kind)


def read(
    places: Sequence[Path],
    *,
    uplinks: int | None = None,
    hosts_of_router: int | None = None,
    topology: str | None = None,
) -> Sources:
    """Reads all; at most one network and one set of measured costs."""
    found = Sources()
    links: list[tuple[str, str]] = []
    for place in places:
        if not place.exists():
            raise InputError(f"{place}: no such file or directory")
        if place.is_dir() or ".csv" in place.suffixes or ".tar" in place.suffixes:
            found.data.append(place)
            continue
        text = texts.read(place)
        if cray.is_links(text):
            links.append((text, str(place)))
        else:
            _one(found, text, place, uplinks, topology)
    if links:
        _network(found, cray.read_links(links, hosts_of_router), links[0][1])
    if found.smpi is not None and len(places) > 1:
        raise InputError(f"{found.smpi[1]}: a platform of SimGrid says network and costs: give it alone")
    if found.flat is not None and found.network is None and found.node_map is None:
        raise InputError(
            f"{found.flat}: a flat topology, and no host is named: give a map 'NAME NUMBER' of hosts as well"
        )
    if found.measured is not None and found.data:
        raise InputError(
            f"{found.measured.source} and {found.data[0]}: costs are measured twice: give one of them"
        )
    if found.network is not None and found.node_map is not None:
        raise InputError(
            f"a map of {len(found.node_map.hosts)} hosts beside {found.network.origin}, which says itself "
            "where hosts hang: give one of them"
        )
    return found


def _one(found: Sources, text: str, place: Path, uplinks: int | None, topology: str | None) -> None:
    name = str(place)
    if text.lstrip().startswith("<"):
        root = texts.xml(text, name)
        if lstopo.is_it(root):
            found.hosts.append(lstopo.read(root, name))
        elif smpi.is_it(root):
            if found.smpi is not None:
                raise InputError(f"{name}: the second platform of SimGrid: give one")
            found.smpi = (smpi.read(root, name), place.name)
        elif omnipath.is_it(root):
            _network(found, omnipath.read(root, name), name)
        else:
            raise InputError(f"{name}: XML of another kind, <{root.tag[:40]}>; known: {FORMATS}")
    elif netloc.is_it(text):
        _network(found, netloc.read(text, name), name)
    elif infiniband.is_it(text):
        _network(found, infiniband.read(text, name), name)
    elif slurm.is_it(text):
        _network(found, slurm.read(text, name, uplinks), name)
    elif slurm_yaml.is_it(text):
        flat = slurm_yaml.read(text, name, uplinks, topology)
        if flat is None:
            found.flat = name
        else:
            _network(found, flat, name)
    elif cray.is_nodes(text):
        if found.node_map is not None:
            raise InputError(f"{name}: the second map of hosts: give one")
        found.node_map = cray.read_nodes(text, name)
    elif place.suffix == ".toml":
        if found.measured is not None:
            raise InputError(f"{name}: the second platform file: give one")
        found.measured = measured.read(text, name)
    else:
        _measurements(found, place)


def _measurements(found: Sources, place: Path) -> None:
    from hopcast.calibrate import benchmarks

    if not benchmarks.is_it(place):
        raise InputError(f"{place}: no known format; known: {FORMATS}")
    found.data.append(place)


def _network(found: Sources, network: Fabric, place: str) -> None:
    if found.network is not None:
        raise InputError(
            f"{place}: {network.origin}: the second network, beside {found.network.origin}: give one"
        )
    found.network = network
