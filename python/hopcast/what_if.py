"""Simulation of the changes of the platform or the placement that a report proposes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from hopcast.errors import InputError
from hopcast.report import units
from hopcast.toml import tomllib

if TYPE_CHECKING:
    from hopcast.outcome import Report
    from hopcast.request import RunRequest

_PLACEMENTS = ("linear", "block", "cyclic", "random")
_RATES = {
    "nic": r"nic\.bandwidth|mpi\.regimes\.\d+\.(process_rate|nic_rate|further_process_rate)",
    "process": r"mpi\.regimes\.\d+\.(process_rate|further_process_rate)",
    "links": r"link\.bandwidth|topology\.(\w+_)?bandwidth(\.\d+)?",
    "memory": r"host\.memory\.(total_)?bandwidth|host\.memory\.regimes\.\d+\.(total_)?bandwidth",
}
_TIMES = {
    "latency": r"link\.latency|nic\.(latency|setup)|topology\.(\w+_)?latency(\.\d+)?|host\.memory\.latency"
    r"|host\.memory\.regimes\.\d+\.latency|mpi\.regimes\.\d+\.latency",
    "overhead": r"mpi\.call_overhead|(mpi\.regimes\.\d+|host\.memory)\.(send|receive)_overhead",
}
_ALSO_RATES = {"overhead": r"mpi\.(copy_rate|reduce_rate)"}


def simulated(request: RunRequest, report: Report) -> None:
    """Simulates the changes that `report` proposes for `request`, and adds them to it.

    `what_if` lists all that were simulated, with change, overrides, placement, makespan_s and saves; `limit`
    takes the best of them. A change that the platform or model refuses is left out.
    """
    limit = report.summary.get("limit")
    if not limit:
        return
    tried = [
        one
        for change, overrides, placement in _changes(request, report.summary, limit)
        if (one := _try(request, report, change, overrides, placement)) is not None
    ]
    report.summary["what_if"] = tried
    if not tried:
        report.summary["warnings"].append(
            f"--what-if: {limit['change']} is no value of the platform, so nothing was simulated; "
            "try values with --set"
        )
        return
    best = max(tried, key=lambda one: one["saves"])
    if best["placement"] and best["saves"] > 0:
        limit["kind"] = "placement"
        limit["why"] = (
            f"The placement of ranks limits this run: '{report.summary['placement']}' crowds its network."
        )
    limit |= {"change": best["change"], "saves": best["saves"], "source": "simulation"}


def _try(
    request: RunRequest, report: Report, change: str, overrides: list, placement: str | None
) -> dict | None:
    from hopcast.api import simulate

    changes = {"set": dict(overrides), "records": None, "messages": None, "matrix_periods": None} | (
        {"placement": placement} if placement else {}
    )
    try:
        result = simulate(request.changed(**changes))
    except InputError:
        return None
    if result is None or result.summary["failure"] or result.summary["partial"]:
        return None
    saves = 1 - result.summary["makespan_s"] / report.summary["makespan_s"]
    return {
        "change": change,
        "overrides": [list(pair) for pair in overrides],
        "placement": placement,
        "makespan_s": result.summary["makespan_s"],
        "saves": saves,
    }


def _changes(
    request: RunRequest, summary: dict, limit: dict
) -> Iterator[tuple[str, list[tuple[str, str]], str | None]]:
    """Each change with its overrides of the platform, and the placement, if it is about that."""
    for key in limit["keys"]:
        if key == "mpi.progress":
            yield limit["change"], [("mpi.progress", "asynchronous")], None
    scaled = list(dict(_scaled(_values(request), limit["keys"])).items())
    if scaled:
        shown = ", ".join(f"{key} = {value}" for key, value in scaled[:3]) + (
            ", …" if len(scaled) > 3 else ""
        )
        yield f"{limit['change']} ({shown})", scaled, None
    if limit["kind"] == "links":
        now = summary["placement"]
        for placement in _PLACEMENTS:
            if placement != now:
                yield f"placement '{placement}'", [], placement


def _scaled(values: dict[str, object], keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Overrides that double rates and halve times."""
    for name in keys:
        patterns = ((_RATES.get(name), 2.0), (_TIMES.get(name), 0.5), (_ALSO_RATES.get(name), 2.0))
        for pattern, factor in patterns:
            if pattern is None:
                continue
            for key, value in values.items():
                if re.fullmatch(pattern, key) and (changed := times(value, factor)) is not None:
                    yield key, changed


def times(value: object, factor: float) -> str | None:
    """A quantity of a platform file, or each of a list, times `factor`; None if it is not finite."""
    if isinstance(value, list):
        parts = [times(one, factor) for one in value]
        return None if None in parts else "[" + ", ".join(f'"{part}"' for part in parts) + "]"
    match = re.fullmatch(r"\s*([0-9.]+(?:[eE][+-]?\d+)?)\s*(\S.*)", value) if isinstance(value, str) else None
    return f"{units.exact(float(match[1]) * factor)} {match[2].strip()}" if match else None


def _values(request: RunRequest) -> dict[str, object]:
    """The values of the platform of a request, by `section.key`."""
    from hopcast import _core

    overrides = request.options.get("set", {})
    text = _core.platform_of(request.to_json(), bool(overrides))
    values: dict[str, object] = {}

    def walk(path: str, node: object) -> None:
        if isinstance(node, dict):
            for key, value in node.items():
                walk(f"{path}.{key}" if path else key, value)
        elif isinstance(node, list) and node and isinstance(node[0], dict):
            for number, value in enumerate(node):
                walk(f"{path}.{number}", value)
        else:
            values[path] = node

    walk("", tomllib.loads(text))
    return values


def words(tried: list[dict]) -> list[tuple[str, str, str]]:
    """Change, time and gain of each what-if, for tables."""
    return [
        (one["change"], units.seconds(one["makespan_s"]), f"{-100 * one['saves']:+.1f} %".replace("-", "−"))
        for one in tried
    ]
