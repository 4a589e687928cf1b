"""Colours of values: a scale from low to high, and one with a sign."""

from __future__ import annotations

import numpy as np

VALUES = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
SIGNED = ((179, 40, 30), (240, 150, 130), (150, 150, 150), (130, 170, 240), (30, 80, 180))
"""Below the reference red, above it blue; likely values are grey."""
LOGARITHM_MOST = 12.0
"""Natural logarithm of a likelihood from which on a colour is full: 6e-6."""


def of_value(value: float, low: float, high: float) -> str:
    """Colour of a value between two ends."""
    return _between(VALUES, (value - low) / (high - low) if high > low else 0.5)


def of_likelihood(sign: float, likelihood: float) -> str:
    """Colour of sign(x - x̄)·|ln L|."""
    strength = min(1.0, -np.log(max(likelihood, 1e-300)) / LOGARITHM_MOST)
    return _between(SIGNED, 0.5 + 0.5 * sign * strength)


def _between(stops: tuple[tuple[int, int, int], ...], share: float) -> str:
    places = np.linspace(0, 1, len(stops))
    channels = [round(float(np.interp(share, places, [stop[part] for stop in stops]))) for part in range(3)]
    return f"#{channels[0]:02x}{channels[1]:02x}{channels[2]:02x}"
