"""Place at which a rank stands in the user's program, and the words for it."""

from __future__ import annotations

import os
from types import FrameType

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def place_of(frame: FrameType | None, *libraries: str) -> str | None:
    """`file:line in function` of the innermost call that is the user's: not of this package, nor of
    `libraries`, which are folders."""
    while frame is not None and frame.f_code.co_filename.startswith((_PACKAGE, *libraries)):
        frame = frame.f_back
    if frame is None:
        return None
    function = frame.f_code.co_name
    inside = "" if function.startswith("<module") else f" in {function}"
    return f"{shorten(frame.f_code.co_filename)}:{frame.f_lineno}{inside}"


def shorten(path: str) -> str:
    """A file below the working directory relative to it, any other in full."""
    here = os.getcwd() + os.sep
    return path[len(here) :] if path.startswith(here) else path


def words(rank: dict, since: str) -> str:
    """As "rank 3: MPI_Recv(source=2, tag=7) at ring.c:41 in exchange, since 2 s"; `since` is that time."""
    call, place = rank["call"], rank.get("place")
    # A collective that did not fit may have returned.
    at = f"{', now' if call.endswith('has returned') else ''} at {place}" if place else ""
    who = "ranks" if rank.get("count", 1) > 1 else "rank"
    return f"{who} {rank['rank']}{': ' * bool(call)}{call}{at}, since {since}"


def grouped(ranks: list[dict], most: int) -> list[dict]:
    """Groups more than `most` ranks by call and place.

    A group is an entry with the number of its ranks as `count`; it waits for what its first rank waits for.
    """
    if len(ranks) <= most:
        return ranks
    together: dict[tuple, list[dict]] = {}
    for rank in ranks:
        together.setdefault((rank["call"].partition("(")[0], rank.get("place")), []).append(rank)
    return [_as_one(group, call) for (call, _), group in together.items()]


_NAMED = 3


def _as_one(group: list[dict], call: str) -> dict:
    first = group[0]
    if len(group) == 1:
        return first
    names = ", ".join(f"{rank['rank']}" for rank in group[:_NAMED])
    more = f" and {len(group) - _NAMED:,} more" if len(group) > _NAMED else ""
    waits = f"{first['waits_for']} (rank {first['rank']})" if first["waits_for"] else ""
    since_s = min(rank["since_s"] for rank in group)
    return first | {
        "rank": names + more,
        "count": len(group),
        "call": call,
        "since_s": since_s,
        "waits_for": waits,
    }
