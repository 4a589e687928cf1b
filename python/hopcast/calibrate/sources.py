"""Measurements of any format that can be read, as campaigns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hopcast.calibrate import benchmarks, campaigns, defects, ring_check, saturation_check, tables
from hopcast.calibrate.campaigns import Campaign
from hopcast.errors import InputError


def read(places: Sequence[Path], *, unit_bytes: float = 1.0, one_way: bool = False) -> list[Campaign]:
    """Campaigns of all places; a name that two of them share is told apart by its place."""
    by_place = [(place, _read(place, unit_bytes, one_way)) for place in places]
    found = [campaign for _, part in by_place for campaign in part]
    names = [campaign.name for campaign in found]
    apart = [
        replace(campaign, name=f"{place.name}/{campaign.name}")
        if names.count(campaign.name) > 1
        else campaign
        for place, part in by_place
        for campaign in part
    ]
    names = [campaign.name for campaign in apart]
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two campaigns are named '{double}': fit one place at a time")
    return [defects.sound(campaign) for campaign in apart]


def _read(place: Path, unit_bytes: float, one_way: bool) -> list[Campaign]:
    if not place.exists():
        raise InputError(f"{place}: no such file or directory")
    if place.is_file() and place.stat().st_size == 0:
        raise InputError(f"{place}: an empty file: nothing to fit")
    if ring_check.is_it(place) or saturation_check.is_it(place):
        raise InputError(
            f"{place}: a ring or a saturation is compared by 'hopcast calibrate check PLATFORM DATA' alone, "
            "and not fitted"
        )
    if tables.is_table(place):
        return tables.read(place, unit_bytes=unit_bytes, one_way=one_way)
    if unit_bytes != 1 or one_way:
        raise InputError(f"{place}: --unit-bytes and --one-way are for tables: this format says both itself")
    if tables.is_table_of_calls(place):
        raise InputError(
            f"{place}: no column {' or '.join(tables.SIZE)}: calls of a kernel are fitted by "
            "'hopcast calibrate kernels', and compared by 'hopcast calibrate check PLATFORM FILE' alone"
        )
    return benchmarks.read(place) if benchmarks.is_it(place) else campaigns.read(place)
