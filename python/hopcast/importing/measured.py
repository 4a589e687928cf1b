"""Measured costs, of a file of `hopcast calibrate fit` or fitted here, for another platform file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hopcast.errors import InputError
from hopcast.toml import tomllib

TAKEN = ("host.memory", "host.levels", "mpi", "compute", "transport")
_HEAD = re.compile(r"\[\[?([A-Za-z0-9_.-]+)\]\]?")


@dataclass(frozen=True)
class Measured:
    """Sections by their names, as they are written, and the costs of a NIC."""

    source: str
    sections: tuple[tuple[str, str], ...]
    nic_bandwidth: str | None
    nic_latency: str | None
    sockets: int | None = None
    """Sockets of a host, and the order of slots on them, where levels inside hosts lie on those."""
    socket_order: str | None = None

    def has(self, name: str) -> bool:
        """True if there is such a section."""
        return any(own == name for own, _ in self.sections)


def read(text: str, place: str) -> Measured:
    """The sections of a platform file that its measurements give, its comments included."""
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{place}: not TOML: {error}") from None
    nic = data.get("nic", {})
    if not isinstance(nic, dict) or "mpi" not in data:
        raise InputError(f"{place}: no [mpi]: a platform file of 'hopcast calibrate fit' is wanted")
    if re.search(r'"""|\'\'\'', text):
        raise InputError(
            f"{place}: texts of several lines cannot be merged: take a file of 'hopcast calibrate fit'"
        )
    sections = [
        (name, body)
        for name, body in _sections(text)
        if any(name == taken or name.startswith(f"{taken}.") for taken in TAKEN)
    ]
    host = data.get("host", {})
    on_sockets = host if isinstance(host, dict) and "levels" in host else {}
    sockets = on_sockets.get("sockets")
    return Measured(
        place,
        tuple(sections),
        _text(nic.get("bandwidth")),
        _text(nic.get("latency")),
        sockets if isinstance(sockets, int) else None,
        _text(on_sockets.get("socket_order")),
    )


def fit(places: Sequence[Path], library: str, eager_limit: str | None) -> Measured:
    """The sections that the measurements of these files give."""
    from hopcast.calibrate import campaigns, platform_file, quantities, sources
    from hopcast.calibrate.network_fit import fit_campaign

    found = sources.read(places)
    names = ", ".join(str(place) for place in places)
    chosen = campaigns.choose(found, None, names)
    limit = None if eager_limit is None else quantities.size(eager_limit, "--eager-limit")
    fitted = fit_campaign(
        chosen, breakpoints=None, eager_limit=limit, bandwidth_Bps=chosen.settings.get("bandwidth")
    )
    machine = platform_file.Machine("measured", names, "1 Gflop/s", library=library)
    own = read(platform_file.text(fitted, machine), names)
    kept = tuple((name, body) for name, body in own.sections if name != "compute")
    return Measured(", ".join(place.name for place in places), kept, own.nic_bandwidth, own.nic_latency)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _sections(text: str) -> list[tuple[str, str]]:
    """Sections with the comments before them."""
    found: list[tuple[str, list[str]]] = [("", [])]
    comments: list[str] = []
    for line in text.split("\n"):
        if match := _HEAD.match(line):
            found.append((match[1], [*comments, line]))
            comments = []
        elif line.startswith("#"):
            comments.append(line)
        else:
            found[-1][1].extend([*comments, line])
            comments = []
    found[-1][1].extend(comments)
    return [(name, "\n".join(lines).strip("\n")) for name, lines in found]
