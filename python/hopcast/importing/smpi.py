"""Reader of platform files of SimGrid: a cluster or hosts with routes, and SMPI's costs of messages.

`<config>` has the options of SMPI, of which these are costs. Lists are "0:a:b;8133:a:b": a range goes from
above its first number up to that of the next; up to the first of all nothing is added, and factors are 1.

    smpi/os, ois, or                a + b n of MPI_Send, of MPI_Isend, of the receive of a detached message
    smpi/bw-factor, lat-factor      by which a path's bandwidth and its sum of latencies are multiplied
    smpi/loopback-…-factor          the same within a host
    smpi/async-small-thresh         shorter messages leave before their receive is there
    smpi/send-is-detached-thresh    senders of shorter messages do not wait; longer ones pay neither os nor or
    smpi/iprobe, test, wtime        seconds of a call

A `<cluster>` has hosts with one link each, and a topology: none (one switch), FAT_TREE, TORUS, DRAGONFLY.

Source: SimGrid's documentation, "Configuring SimGrid" and "XML reference", releases 3.13 to 3.36.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from hopcast.calibrate.smpi_factors import Factors
from hopcast.errors import InputError
from hopcast.importing import simgrid_routes
from hopcast.importing.simgrid_routes import Cluster, Loopback
from hopcast.importing.simgrid_units import bandwidth, number, time

ASYNC_DEFAULT, DETACHED_DEFAULT = 0, 65536
"""SimGrid's thresholds where a file has none."""
WINDOW_DEFAULT = "4194304"
"""Most bytes of a connection on the way, SimGrid's network/TCP-gamma; 0 for no bound."""
_RANGES = ("os", "ois", "or", "bw-factor", "lat-factor", "loopback-bw-factor", "loopback-lat-factor")
_CALLS = ("iprobe", "test", "wtime")
_THRESHOLDS = ("async-small-thresh", "send-is-detached-thresh")
_LIBRARIES = {"ompi": "openmpi", "mpich": "mpich"}
_MOST_RANGES = 1000

Steps = tuple[tuple[float, tuple[float, ...]], ...]
"""Numbers from above a size on, by rising sizes."""


@dataclass
class Smpi:
    """A platform with the costs of its messages."""

    cluster: Cluster
    ranges: list[Factors]
    """Costs above each size, of messages between hosts."""
    memory: list[Factors]
    """The same within a host."""
    async_limit: int
    """Longest message that leaves before its receive is there."""
    detached_limit: int
    """Longest message whose sender does not wait."""
    calls: Mapping[str, float]
    """Seconds of iprobe, test and wtime, where the file has them."""
    window_bytes: float
    """Most bytes on the way, by which a rate is at most window / (2 L); 0 for no bound."""
    library: str | None = None
    unsaid: list[str] = field(default_factory=list)
    """Properties of the file that no key of a platform file says."""

    def limits(self) -> list[float]:
        """Ends of ranges, the limits of the protocols among them, without the last one."""
        starts = {part.above for part in [*self.ranges, *self.memory]}
        return sorted({*starts, self.async_limit, self.detached_limit} - {0})


def is_it(root: Element) -> bool:
    """True for a platform file of SimGrid."""
    return root.tag == "platform"


def read(root: Element, place: str) -> Smpi:
    """The platform."""
    options = _options(root, place)
    taken: set[str] = set()

    def take(name: str) -> str | None:
        taken.add(f"smpi/{name}")
        return options.get(f"smpi/{name}")

    steps = {name: _steps(take(name), name, place) for name in _RANGES}
    unsaid = []
    thresholds = []
    for name, default in zip(_THRESHOLDS, (ASYNC_DEFAULT, DETACHED_DEFAULT), strict=True):
        text = take(name)
        if text is None:
            unsaid.append(f"smpi/{name} is not set: SimGrid's default of {default} B holds")
        thresholds.append(default if text is None else round(number(text, f"{place}: smpi/{name}")))
    if thresholds[0] > thresholds[1]:
        unsaid.append(
            f"smpi/async-small-thresh {thresholds[0]} is above smpi/send-is-detached-thresh {thresholds[1]}: "
            "senders between them wait for their receive here"
        )
    calls = {
        name: seconds
        for name in _CALLS
        if (text := take(name)) is not None and (seconds := number(text, f"{place}: smpi/{name}")) > 0
    }
    library = _LIBRARIES.get((take("coll-selector") or "").strip().lower())
    near = {"network/loopback-bw", "network/loopback-lat"}
    gamma = options.get("network/TCP-gamma", WINDOW_DEFAULT)
    loopback = Loopback(
        time(options.get("network/loopback-lat", "0"), f"{place}: network/loopback-lat"),
        bandwidth(options.get("network/loopback-bw", "10GBps"), f"{place}: network/loopback-bw"),
        is_shared=False,
        is_default=not near & set(options),
    )
    cluster = simgrid_routes.read(root, place, loopback)
    rest = [
        f"{name} = {value}"
        for name, value in options.items()
        if name not in taken | near | {"network/TCP-gamma"}
    ]
    if rest:
        unsaid.append(f"options: {', '.join(rest)}")
    memory = {
        **steps,
        **{
            name: steps[f"loopback-{name}"]
            for name in ("bw-factor", "lat-factor")
            if steps[f"loopback-{name}"]
        },
    }
    return Smpi(
        cluster,
        _ranges(steps),
        _ranges(memory),
        max(0, min(thresholds) - 1),
        max(0, thresholds[1] - 1),
        calls,
        number(gamma, f"{place}: network/TCP-gamma"),
        library,
        unsaid + cluster.unsaid,
    )


def at(ranges: list[Factors], size: float) -> Factors:
    """Costs of a message; those of one up to the first range have no overhead and factors of 1."""
    found = [part for part in ranges if part.above < size]
    return found[-1] if found else Factors(0.0, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), 1.0, 1.0)


def _options(root: Element, place: str) -> dict[str, str]:
    """Options by name, in today's spelling."""
    options: dict[str, str] = {}
    for config in root.iter("config"):
        for prop in config.iter("prop"):
            name = prop.get("id", "").strip()
            if name.startswith(("smpi/", "network/")):
                name = name.replace("_", "-")
                name = f"{name}h" if name.endswith("-thres") else name
            if name in options:
                raise InputError(f"{place}: option {name[:60]} stands there twice")
            options[name] = prop.get("value", "")
    return options


def _steps(text: str | None, name: str, place: str) -> Steps:
    """Numbers by ranges of sizes."""
    if text is None or not text.strip():
        return ()
    at_option = f"{place}: smpi/{name}"
    count = 1 if "factor" in name else 2
    if ":" not in text and ";" not in text:
        text = f"0:{text}"
    found = []
    for part in re.split(r"[;,]", text.strip().rstrip(";")):
        numbers = [number(word, at_option) for word in part.split(":")]
        if len(numbers) != count + 1:
            raise InputError(
                f"{at_option}: '{part[:60]}' has {len(numbers)} numbers: {count + 1} are wanted, size first"
            )
        found.append((numbers[0], tuple(numbers[1:])))
    found.sort()
    sizes = [size for size, _ in found]
    if len(set(sizes)) < len(sizes) or sizes[0] < 0 or len(sizes) > _MOST_RANGES:
        raise InputError(
            f"{at_option}: sizes of ranges: from 0 on, each once, at most {_MOST_RANGES}: {text[:60]}"
        )
    if any(value < 0 for _, values in found for value in values[: 1 if count == 1 else 2]):
        raise InputError(f"{at_option}: a time, or a factor, below zero: {text[:80]}")
    if name.endswith("bw-factor") and any(values[0] == 0 for _, values in found):
        raise InputError(f"{at_option}: a factor of 0 lets messages never end: {text[:80]}")
    return tuple(found)


def _ranges(steps: Mapping[str, Steps]) -> list[Factors]:
    """One range for each part in which all options are constant."""
    used = ("os", "ois", "or", "lat-factor", "bw-factor")
    edges = sorted({size for name in used for size, _ in steps[name]})

    def value(name: str, above: float, default: tuple[float, ...]) -> tuple[float, ...]:
        held = [values for size, values in steps[name] if size <= above]
        return held[-1] if held else default

    def line(name: str, above: float) -> tuple[float, float]:
        start, slope = value(name, above, (0.0, 0.0))
        return start, slope

    return [
        Factors(
            above,
            line("os", above),
            line("ois", above),
            line("or", above),
            value("lat-factor", above, (1.0,))[0],
            value("bw-factor", above, (1.0,))[0],
        )
        for above in edges
    ]
