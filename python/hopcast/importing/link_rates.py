"""Data rates of links by the words of their speed and width.

InfiniBand: the rate of a lane after its line code, 8b/10b up to QDR and 64b/66b above. Source: InfiniBand
Architecture Specification, volume 2, release 1.5, and the IBTA's roadmap. Omni-Path says the rate itself.
"""

from __future__ import annotations

import re

from hopcast.errors import InputError

LANE_GBITPS = {
    "SDR": 2.5 * 8 / 10,
    "DDR": 5.0 * 8 / 10,
    "QDR": 10.0 * 8 / 10,
    "FDR10": 10.3125 * 64 / 66,
    "FDR": 14.0625 * 64 / 66,
    "EDR": 25.78125 * 64 / 66,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}
WIDTHS = (1, 2, 4, 8, 12)
WORD = re.compile(rf"\b(\d+)x\s*({'|'.join(sorted(LANE_GBITPS, key=len, reverse=True))})\b", re.IGNORECASE)
_OMNI_PATH = re.compile(r"(\d{1,4}(?:\.\d+)?)g", re.IGNORECASE)


def infiniband(speed: str, width: str, place: str) -> float:
    """Bytes per second of a link in each direction, from words such as "QDR" and "4x" (or "4")."""
    lanes = width.lower().replace("x", "").strip()
    if speed.upper() not in LANE_GBITPS:
        raise InputError(f"{place}: unknown speed '{speed[:40]}'; known: {', '.join(LANE_GBITPS)}")
    if lanes not in [str(known) for known in WIDTHS]:
        raise InputError(
            f"{place}: unknown width '{width[:40]}'; known: {', '.join(f'{known}x' for known in WIDTHS)}"
        )
    return 1e9 / 8 * LANE_GBITPS[speed.upper()] * int(lanes)


def omni_path(word: str, place: str) -> float:
    """Bytes per second of a link in each direction, from a word such as "100g"."""
    match = _OMNI_PATH.fullmatch(word.strip())
    if not match or float(match[1]) <= 0:
        raise InputError(f"{place}: rate '{word[:40]}' is not one such as '100g'")
    return 1e9 / 8 * float(match[1])
