"""Sizes and rates as people write them, into numbers."""

from __future__ import annotations

import json
import math
import re

from hopcast.errors import InputError

_PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_SIZE = re.compile(r"\s*(\d+\.?\d*(?:e\d+)?)\s*([kMGT]i?|Ki)?B?\s*", re.ASCII)
_RATE = re.compile(r"\s*(\d+\.?\d*(?:e\d+)?)\s*([kMGT]i?|Ki)?B/s\s*", re.ASCII)

_TIME = re.compile(r"\s*(\d+\.?\d*(?:e-?\d+)?)\s*(ps|ns|us|µs|ms|s)\s*", re.ASCII | re.IGNORECASE)
_TIME_UNITS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_FLOPS = re.compile(r"\s*(\d+\.?\d*(?:e\d+)?)\s*([kMGT]?)flop/s\s*", re.ASCII)


def seconds(text: str, place: str) -> float:
    """Seconds of a text such as "2.4 us"."""
    match = _TIME.fullmatch(text)
    if not match:
        raise InputError(f"{place}: '{text}' is not a time such as \"2.4 us\"")
    found = float(match[1]) * _TIME_UNITS[match[2].lower()]
    if math.isinf(found):
        raise InputError(f"{place}: '{text}' is beyond all numbers")
    return found


def flop_rate(text: str, place: str) -> float:
    """Operations per second of a text such as "30 Gflop/s"."""
    found = _number(_FLOPS, text, place, 'a rate such as "30 Gflop/s"')
    if not found:
        raise InputError(f"{place}: '{text}': a rate is greater than zero")
    return found


def size(text: str, place: str) -> float:
    """Bytes of a text such as "64 KiB" or "8192"."""
    return _number(_SIZE, text, place, 'a size such as "64 KiB"')


def rate(text: str, place: str) -> float:
    """Bytes per second of a text such as "12.5 GB/s"."""
    found = _number(_RATE, text, place, 'a bandwidth such as "12.5 GB/s"')
    if not found:
        raise InputError(f"{place}: '{text}': a bandwidth is greater than zero")
    return found


def sizes(text: str, place: str) -> list[float]:
    """Sizes between commas, rising."""
    found = [size(part, place) for part in text.split(",")]
    if sorted(set(found)) != found:
        raise InputError(f"{place}: '{text}': breakpoints rise from one to the next")
    return found


def quoted(text: str) -> str:
    """A text as TOML has it, in quotes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def between(above: float, up_to: float | None) -> str:
    """Range of sizes in words."""
    if up_to is None:
        return f"above {above:,.0f} B" if above else "all sizes"
    return f"{above:,.0f} to {up_to:,.0f} B"


def _number(pattern: re.Pattern, text: str, place: str, wanted: str) -> float:
    match = pattern.fullmatch(text)
    if not match:
        raise InputError(f"{place}: '{text}' is not {wanted}")
    prefix = match[2] or ""
    if prefix not in _PREFIXES:
        raise InputError(
            f"{place}: '{text}': unknown prefix '{prefix}'; known: {', '.join(filter(None, _PREFIXES))}"
        )
    found = float(match[1]) * _PREFIXES[prefix]
    if math.isinf(found):
        raise InputError(f"{place}: '{text}' is beyond all numbers")
    return found
