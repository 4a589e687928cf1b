"""Sizes with their unit, as they stand in platform files and on the command line."""

from __future__ import annotations

import re

from hopcast.errors import InputError

_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def size_B(name: str, text: str) -> int:
    """The bytes of "8MiB" or "8 MiB"; `name` is whose value it is, for what is said of a wrong one."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)", text.strip())
    if not found or found[2] not in _UNITS:
        raise InputError(f"{name}: a size with its unit ({', '.join(_UNITS)}), such as 8MiB, not '{text}'")
    return int(float(found[1]) * _UNITS[found[2]])
