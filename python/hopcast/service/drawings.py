"""Pictures of networks as pages show them."""

from __future__ import annotations

import base64
from functools import cache

from hopcast import core


def of_preset(name: str) -> str | None:
    """Picture of a preset, as SVG; None for what is none."""
    return _of_preset(name) if name in _presets() else None


@cache
def _presets() -> frozenset[str]:
    return frozenset(entry["name"] for entry in core.registry("platforms")["entries"])


@cache
def _of_preset(name: str) -> str:
    return core.topology_picture(name, ())


def encoded(picture: str) -> str:
    """A picture as an address of data holds it."""
    return base64.b64encode(picture.encode()).decode()
