"""Numbers with units as SimGrid's files write them: "12.5GBps", "10Gbps" (bits), "0.05us", "1Gf"."""

from __future__ import annotations

import math
import re

from hopcast.errors import InputError

_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_PREFIXES |= {f"{name}i": 1024.0**power for power, name in enumerate("kMGTPE", 1)} | {"Ki": 1024.0}
_TIMES = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12, "m": 60.0, "h": 3600.0}
_TIMES |= {"d": 86400.0, "w": 604800.0}
_NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z]*)\s*", re.ASCII)


def number(text: str, place: str) -> float:
    """A number without a unit."""
    value, unit = _parts(text, place)
    if unit:
        raise InputError(f"{place}: '{text[:40]}' is not a number")
    return value


def time(text: str, place: str) -> float:
    """Seconds, of a text such as "0.05us"; a bare number is in seconds."""
    value, unit = _parts(text, place)
    if unit not in _TIMES or value < 0:
        raise InputError(f"{place}: '{text[:40]}' is not a time such as '0.05us'")
    return value * _TIMES[unit]


def bandwidth(text: str, place: str) -> float:
    """Bytes per second, of a text such as "12.5GBps" or "10Gbps" (bits); a bare number is in bytes."""
    value, unit = _parts(text, place)
    for ending, bytes_each in (("Bps", 1.0), ("bps", 1 / 8)):
        if unit.endswith(ending) and unit[:-3] in _PREFIXES:
            value, unit = value * bytes_each * _PREFIXES[unit[:-3]], ""
            break
    if unit or value <= 0:
        raise InputError(f"{place}: '{text[:40]}' is not a bandwidth such as '12.5GBps'")
    return value


def speed(text: str, place: str) -> float:
    """Floating-point operations per second, of a text such as "1Gf"; of several states the first."""
    value, unit = _parts(text.split(",")[0], place)
    prefix = unit.removesuffix("flops").removesuffix("f")
    if prefix not in _PREFIXES or value <= 0:
        raise InputError(f"{place}: '{text[:40]}' is not a speed such as '1Gf'")
    return value * _PREFIXES[prefix]


def _parts(text: str, place: str) -> tuple[float, str]:
    match = _NUMBER.fullmatch(text)
    if match is None or not math.isfinite(float(match[1])):
        raise InputError(f"{place}: '{text[:40]}' is not a number")
    return float(match[1]), match[2]
