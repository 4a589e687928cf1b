"""Energy to solution in words: how much, and by which cause."""

from __future__ import annotations

from hopcast.report import units

CAUSES = (
    ("hosts_idle", "idle hosts"),
    ("computing", "computing"),
    ("communication", "MPI calls"),
    ("routers", "routers"),
    ("links", "links"),
    ("bytes_moved", "bytes moved"),
)
"""Key in `report.json`, without its unit, and name of each cause."""


def by_cause(summary: dict) -> list[tuple[str, str, float]]:
    """Counted causes of the energy: key, name and energy [J]; empty without powers."""
    causes = summary.get("energy") or {}
    counted = [(name, words, causes.get(f"{name}_J")) for name, words in CAUSES]
    return [(name, words, energy) for name, words, energy in counted if energy is not None]


def amount(summary: dict) -> str:
    """Energy of the run, and the mean power: "2.09 kJ, 412 W on average"."""
    energy = units.rate(summary["energy_J"], "J")
    return f"{energy}, {units.rate(summary['mean_power_W'], 'W')} on average"


def sentence(summary: dict) -> str | None:
    """Energy by cause in one line; None without powers."""
    counted = by_cause(summary)
    if not counted:
        return None
    total = sum(energy for *_, energy in counted) or 1.0
    shares = ", ".join(f"{words} {units.percent(energy / total)}" for _, words, energy in counted)
    return f"Energy: {amount(summary)}: {shares}{_left_out(summary)}"


def _left_out(summary: dict) -> str:
    missing = [words for name, words in CAUSES if summary["energy"][f"{name}_J"] is None]
    return f"; not counted: {units.listed(missing)}" if missing else ""
