"""Quantities as people read them: a number, a unit, never more digits than they can use."""

from __future__ import annotations

import math

_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps"))
_DECIMAL = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BINARY = ((2.0**50, "PiB"), (2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))


def digits(value: float, significant: int = 4) -> str:
    """`value` with so many significant digits, without an exponent where it stays short."""
    if not math.isfinite(value):
        return str(value)
    value = _rounded(value, significant)
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if not -5 <= magnitude < 7:
        return f"{value:.{significant - 1}e}"
    return f"{value:,.{max(0, significant - 1 - magnitude)}f}"


def _rounded(value: float, significant: int) -> float:
    return float(f"{value:.{significant - 1}e}")


def seconds(value: float, significant: int = 4) -> str:
    """A length of time [s] with the prefix that fits: "1.270 µs"; hours and minutes from 600 s on."""
    if value >= 3599.95:
        minutes, rest = divmod(round(value), 60)
        return f"{minutes // 60} h {minutes % 60:02} min {rest:02} s"
    if value >= 600:
        minutes, tenths = divmod(round(10 * value), 600)
        return f"{minutes} min {tenths / 10:04.1f} s"
    value = _rounded(value, significant)  # first, so that 0.99999 s is 1.000 s and not 1,000.0 ms
    scale, unit = time_unit(value)
    return f"{digits(value / scale, significant)} {unit}"


def exact_seconds(value: float) -> str:
    """A length of time [s] as somebody wrote it, without digits that they did not write: "108.75 ns"."""
    scale, unit = time_unit(value)
    return f"{value / scale:g} {unit}"


def exact(value: float) -> str:
    """A number without meaningless digits: "12.5"."""
    return f"{value:.12g}"


def time_unit(largest: float) -> tuple[float, str]:
    """The unit in which times up to `largest` [s] are best written, as (seconds, name)."""
    for scale, unit in _SECONDS:
        if abs(largest) >= scale:
            return scale, unit
    return _SECONDS[0] if largest == 0 else _SECONDS[-1]


def size(value: float) -> str:
    """A size [byte] with a binary prefix: "64.0 KiB"."""
    for scale, unit in _BINARY:
        if abs(value) >= scale:
            return f"{digits(value / scale, 3)} {unit}"
    return f"{value:,.0f} B"


def rate(value: float, unit: str) -> str:
    """A rate with a decimal prefix: `rate(9.375e9, "B/s")` is "9.38 GB/s"."""
    for scale, prefix in _DECIMAL:
        if abs(value) >= scale:
            return f"{digits(value / scale, 3)} {prefix}{unit}"
    return f"{digits(value, 3)} {unit}"


def count(value: float) -> str:
    """A number of things: in full up to a million, then rounded in words."""
    for scale, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if abs(value) >= scale:
            return f"{digits(value / scale, 3)} {word}"
    return f"{value:,.0f}"


def things(number: int, noun: str) -> str:
    """A count with its noun, in full: "1 rank", "1,000,000 ranks"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: list[str]) -> str:
    """One or more names in words: "links", "NICs and links"."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def transfers(model: str) -> str:
    """Name of what a network model counts on links."""
    return "packets" if model == "packet" else "messages"


def link(ends: tuple[str, str], parallel: int = 1, of: int = 1) -> str:
    """A link by its ends, with its number if it has parallel links."""
    number = f", {parallel} of {of}" if of > 1 else ""
    return f"{ends[0]} → {ends[1]}{number}"


def busy_link(entry: dict) -> str:
    """An entry of `busiest_links` in words."""
    ends = (entry["from"], entry["to"])
    return link(ends, entry.get("parallel", 1), entry.get("parallel_of", 1))


def tick(value: float) -> str:
    """A number of things beside an axis: "1.5 M"."""
    for scale, prefix in _DECIMAL:
        if value >= scale:
            return f"{value / scale:g} {prefix}"
    return f"{value:g}"


def percent(share: float) -> str:
    """A share of one: "12.3 %"; what is there but rounds to nothing is "< 0.1 %"."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return f"{100 * share:.1f} %"


def ratio(after: float, before: float) -> str:
    """Ratio of `after` to `before`: "1.25 ×"; a dash where `before` alone is zero."""
    if before == 0:
        return "same" if after == 0 else "—"
    return f"{digits(after / before, 3)} ×"
