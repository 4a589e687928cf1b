"""Sentence about the calibration of a run's platform: how close it came to measurements of its machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_CHANGED = 3
NONE = "Platform not calibrated: no measurements of this machine tell how far to trust the prediction"


def sentence(summary: Mapping) -> str | None:
    """The day of the calibration and its errors; None for a report of a hopcast that did not know them."""
    if "calibration" not in summary:
        return None
    found = summary["calibration"]
    if found is None:
        return NONE
    load = f" ({found['load']})" if found.get("load") else ""
    text = f"Calibrated {found['date']}{load}"
    if found["checks"]:
        text += ": " + ", ".join(
            f"{check['what']} within {_percent(check['p90'])}" for check in found["checks"]
        )
        text += " (9 of 10 measurements)"
    else:
        text += "; its errors beside measurements were not recorded"
    return text + _changes(found["changed"])


def _percent(error: float) -> str:
    if error > 1:
        return f"a factor of {1 + error:.2g}"
    # However much too short a prediction is, it misses no more than the whole.
    return f"{100 * error:.2g} %" if error < 0.995 else "100 %"


def _changes(changed: Sequence[str]) -> str:
    if not changed:
        return ""
    more = f" and {len(changed) - _CHANGED} more" if len(changed) > _CHANGED else ""
    return f". This run changes the calibrated machine: {', '.join(changed[:_CHANGED])}{more}"
