"""Overrides of a platform's values, as texts `section.key=value`."""

from __future__ import annotations

from collections.abc import Iterable

from hopcast.errors import InputError


def pairs_of(flags: Iterable[str]) -> list[tuple[str, str]]:
    """Splits each text into key and value."""
    return [_pair(flag) for flag in flags]


def _pair(flag: str) -> tuple[str, str]:
    key, equals, value = flag.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--set {flag}: write section.key=value, such as --set nic.bandwidth='12.5 GB/s'")
    return key.strip(), value.strip()
