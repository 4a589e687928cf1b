"""Overrides of a platform's values, as texts `section.key=value`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hopcast.errors import InputError


def pairs_of(flags: Iterable[str]) -> list[tuple[str, str]]:
    """Splits each text into key and value. Raises `InputError` for a key that comes twice."""
    pairs = [_pair(flag) for flag in flags]
    check_keys("--set", [key for key, _ in pairs])
    return pairs


def check_keys(flag: str, keys: Iterable[str]) -> None:
    """Refuses a key that `flag` gives several values, of which one alone would count."""
    for key, count in Counter(keys).items():
        if count > 1:
            times = "twice" if count == 2 else f"{count} times"
            raise InputError(f"{flag} {key} is given {times}; give it once")


def _pair(flag: str) -> tuple[str, str]:
    key, equals, value = flag.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--set {flag}: write section.key=value, such as --set nic.bandwidth='12.5 GB/s'")
    return key.strip(), value.strip()
