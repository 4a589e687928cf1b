"""Answers of the compiled core as values of Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

from hopcast import _core
from hopcast.errors import InputError
from hopcast.overrides import pairs_of


@cache
def registries() -> dict[str, dict]:
    """Every registry by name: `{name, noun, entries}`, see `sim::catalogue`."""
    return {registry["name"]: registry for registry in json.loads(_core.catalogue())}


def registry(name: str) -> dict:
    """One registry."""
    known = registries()
    if name not in known:
        raise InputError(f"unknown registry '{name}'; known: {', '.join(known)}")
    return known[name]


def entry(registry_name: str, name: str) -> dict:
    """One entry of a registry."""
    found = registry(registry_name)
    entries = {entry["name"]: entry for entry in found["entries"]}
    if name not in entries:
        raise InputError(f"unknown {found['noun']} '{name}'; known: {', '.join(entries)}")
    return entries[name]


def platform_text(platform: str, overrides: tuple[str, ...], resolved: bool) -> str:
    """The platform file as written, or in full with overrides and defaults."""
    return _core.platform_text(platform, pairs_of(overrides), resolved)


def kernel_times(
    platform: str, function: str, place: tuple[str, int], calls: int, arguments: dict[str, list[float]]
) -> list[float]:
    """Mean times [s] of calls of a kernel, as the platform's formulas have them on a socket of a host.

    place: name or number of the host, and the socket. arguments: a value for each of the calls, by name.
    """
    return _core.kernel_times(platform, function, place, calls, arguments)


def topology_survey(platform: str, overrides: tuple[str, ...], seed: int) -> dict:
    """Properties of the platform's network that need no simulation, see `sim::survey`."""
    return json.loads(_core.topology_survey(platform, pairs_of(overrides), seed))


def topology_picture(platform: str, overrides: tuple[str, ...]) -> str:
    """A picture of the platform's network, as SVG."""
    return _core.topology_picture(platform, pairs_of(overrides))


def _about(path: str, place: str, text: str) -> dict:
    """Facts about the trace at `place`, told as those of the archive at `path` that it was unpacked from."""
    unpacked, named = (json.dumps(name, ensure_ascii=False)[1:-1] for name in (place, path))
    return json.loads(text.replace(unpacked, named))


def trace_summary(path: str) -> dict:
    """Summary of a recorded run, see `sim::trace::summary`."""
    from hopcast.archive import opened

    with opened(path) as place:
        return _about(path, place, _core.trace_summary(place))


def trace_recorded(path: str) -> dict:
    """Facts about a recording that was just made, see `sim::trace::recorded`."""
    return json.loads(_core.trace_recorded(path))


def seconds(place: str, text: str) -> float:
    """A time in words, such as "500 ms" [s]; `place` is what an error names."""
    return _core.seconds(place, text)


def trace_lint(path: str) -> dict:
    """Findings about a recorded run, see `sim::trace::lint`."""
    from hopcast.archive import opened

    with opened(path) as place:
        return _about(path, place, _core.trace_lint(place))


def trace_dump(
    path: str, ranks: list[int], clocks: bool, as_json: bool, write: Callable[[str], object]
) -> None:
    """Hands the calls of a recorded run to `write`, some lines at a time, see `sim::trace::dump`."""
    from hopcast.archive import opened

    with opened(path) as place:
        _core.trace_dump(place, ranks, clocks, as_json, write)


def trace_convert(path: str, out: str, tallied: bool | None, flop_rate: str | None = None) -> dict:
    """Writes a recorded run into the folder `out` in hopcast's own format, see `sim::trace::convert`.

    flop_rate: how fast it computes, such as "1 Gflop/s", where it has operations instead of times.
    """
    from hopcast.archive import opened

    with opened(path) as place:
        return json.loads(_core.trace_convert((place, out, flop_rate), tallied))


def trace_scale(
    path: str,
    out: str,
    grid: list[int] | None,
    to: list[int],
    tallied: bool | None,
    flop_rate: str | None = None,
) -> dict:
    """Writes into the folder `out` a larger run, which stands for a regular one, see `sim::trace::scale`."""
    from hopcast.archive import opened

    with opened(path) as place:
        return json.loads(_core.trace_scale((place, out, flop_rate), grid, to, tallied))


def trace_slice(
    path: str,
    out: str,
    times: tuple[str | None, str | None],
    meetings: tuple[int, int] | None,
    ranks: list[tuple[int, int]] | None,
    outside: str | None,
    flop_rate: str | None = None,
) -> dict:
    """Writes into the folder `out` a part of a recorded run, see `sim::trace::slice`."""
    from hopcast.archive import opened

    with opened(path) as place:
        return json.loads(_core.trace_slice((place, out, flop_rate), times, meetings, ranks, outside))


def platform_schema() -> str:
    """The JSON schema of platform files."""
    return _core.platform_schema()


def request_schema() -> str:
    """The JSON schema of requests."""
    return _core.request_schema()


def platform_reference() -> str:
    """The reference of platform files, in Markdown."""
    return _core.platform_reference()
