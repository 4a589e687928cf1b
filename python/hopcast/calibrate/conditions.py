"""Conditions of campaigns: load, day, MPI library, hosts; and where those of one fit differ.

Load changes a network by a factor of up to three, so that measurements under two loads are two machines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hopcast.errors import InputError

if TYPE_CHECKING:
    from hopcast.calibrate.campaigns import Campaign

LOADS = {
    "none": "idle",
    "kernel": "other ranks compute",
    "probe": "other ranks poll",
    "both": "other ranks compute and poll",
}
"""Loads of `calibrate measure --background`, as a run says them."""


@dataclass(frozen=True)
class Conditions:
    """Facts that `calibrate measure` has left beside the results of a campaign."""

    background: str
    library: str
    """First line of the MPI library's version."""
    hosts: tuple[str, ...]
    """Names of the hosts of all ranks, each once."""
    day: str
    facts: Mapping[str, Any]
    """All of them."""


def parse(text: str, place: str) -> Conditions:
    """Conditions in a text of `machine.json`."""
    try:
        facts = json.loads(text)
        version = facts["mpi_library"].splitlines() or [""]
        return Conditions(
            facts["conditions"].get("background", "none"),
            version[0].strip(),
            tuple(dict.fromkeys(rank["host"] for rank in facts["ranks"])),
            facts["began"][:10],
            facts,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{place}: no facts of a machine as 'hopcast calibrate measure' writes them: {error}"
        ) from None


def load(campaigns: Sequence[Campaign]) -> str | None:
    """Load of the machine that a platform of these campaigns stands for; None where none of them tells it."""
    known = {
        campaign.name: LOADS.get(campaign.conditions.background, campaign.conditions.background)
        for campaign in campaigns
        if campaign.conditions is not None
    }
    if len(set(known.values())) <= 1:
        return next(iter(known.values()), None)
    return "; ".join(f"{name}: {text}" for name, text in known.items())


def day(campaigns: Sequence[Campaign]) -> str | None:
    """First day of the campaigns, such as 2026-11-20."""
    days = [campaign.conditions.day for campaign in campaigns if campaign.conditions is not None]
    return min(days, default=None)


def differences(campaigns: Sequence[Campaign]) -> list[str]:
    """Doubts about campaigns of one platform that are not of one machine in one state."""
    found = []
    known = [
        (campaign.name, campaign.conditions) for campaign in campaigns if campaign.conditions is not None
    ]
    for name, other in known[1:]:
        first, ours = known[0]
        if other.background != ours.background:
            found.append(
                f"campaign '{first}' was measured with --background {ours.background}, '{name}' with "
                f"{other.background}: load changes a network by a factor of up to 3; the platform is of both"
            )
        if other.library != ours.library:
            found.append(
                f"campaign '{first}' was measured with {ours.library[:40]}, '{name}' with "
                f"{other.library[:40]}; the platform is of both"
            )
        if not set(other.hosts) & set(ours.hosts):
            found.append(
                f"campaign '{first}' was measured on {', '.join(ours.hosts[:3])}, '{name}' on "
                f"{', '.join(other.hosts[:3])}; the platform takes them for hosts of one kind"
            )
    return found
