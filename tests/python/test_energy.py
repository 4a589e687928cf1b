"""Energy to solution as users see it: screen, page, report, Python, comparisons; and runs without powers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import hopcast
from hopcast.report.energy import CAUSES, by_cause, sentence
from hopcast.report.html import page
from hopcast.report.store import Result

POWERS = {"power.host_idle": "100 W", "power.host_busy": "340 W", "power.router": "20 W"}
CAUSE_KEYS = [f"{name}_J" for name, _ in CAUSES]


def computing(comm) -> None:
    """Ranks that compute for as long as their number says, and sleep and call nothing."""
    comm.compute(seconds=1.0 + comm.rank)


def test_energy_is_power_by_time() -> None:
    report = hopcast.run("hopper", computing, 4, set=POWERS)
    # Four ranks on one host of 24 slots, 4 s: each adds (340 W - 100 W) / 24 = 10 W while it computes.
    assert report.makespan_s == 4.0
    assert report.energy["hosts_idle_J"] == pytest.approx(400.0, rel=1e-12)
    assert report.energy["computing_J"] == pytest.approx(10.0 * (1 + 2 + 3 + 4), rel=1e-12)
    assert report.energy["communication_J"] == 0
    # All routers of 17 x 8 x 24 count, though one has the host.
    assert report.energy["routers_J"] == pytest.approx(20.0 * 3264 * 4, rel=1e-12)
    assert report.energy["links_J"] is None and report.energy["bytes_moved_J"] is None
    assert report.energy_J == pytest.approx(sum(energy or 0 for energy in report.energy.values()))
    assert report.mean_power_W == pytest.approx(report.energy_J / 4.0)


def test_the_screen_and_the_page_name_all_causes_and_what_is_not_counted() -> None:
    report = hopcast.run("hopper", "ring", 8, set=POWERS)
    line = sentence(report.summary)
    assert (
        line is not None
        and line.startswith("Energy: ")
        and line.endswith("; not counted: links and bytes moved")
    )
    assert all(words in line for _, words in CAUSES)
    drawn = page(Result(report.summary, report.tables))
    assert "Energy by cause" in drawn and "of it: routers" in drawn
    assert len(by_cause(report.summary)) == 4


def test_without_powers_nothing_is_said_and_the_outcome_is_the_same(tmp_path: Path) -> None:
    without = hopcast.run("hopper", "ring", 8)
    assert without.energy is None and sentence(without.summary) is None
    assert not any("energy" in key or "power" in key for key in without.summary)
    assert "[power]" not in without.made_by["platform"]["toml"]
    assert "nergy" not in page(Result(without.summary, without.tables))
    assert hopcast.run("hopper", "ring", 8, set=POWERS).outcome_hash == without.outcome_hash


def test_energy_is_the_same_on_any_number_of_threads() -> None:
    powers = POWERS | {"power.link_energy_per_byte": "10 pJ/bit", "power.router_port": "2 W"}
    changes = powers | {"topology.sizes": "[4, 4, 4]"}
    for model in ("loggp", "packet"):
        arguments: dict = {"kwargs": {"bytes": "1 KiB"}, "model": model, "set": changes}
        runs = [hopcast.run("nsim-torus", "uniform", 64, threads=threads, **arguments) for threads in (1, 3)]
        assert runs[1].threads == 3
        assert runs[0].energy == runs[1].energy
        assert all(runs[0].energy[key] > 0 for key in CAUSE_KEYS if key != "computing_J")


def test_a_bare_number_is_refused_with_an_example() -> None:
    with pytest.raises(hopcast.InputError, match=r'power\.host_idle.*has no unit; write a power like "95 W"'):
        hopcast.run("hopper", "ring", 8, set={"power.host_idle": "95"})


def test_a_comparison_has_a_line_for_the_energy(tmp_path: Path) -> None:
    for name, power in (("a", "100 W"), ("b", "200 W")):
        hopcast.run("hopper", "ring", 8, set={"power.host_idle": power}, out=tmp_path / name)
    assert json.loads((tmp_path / "a" / "report.json").read_text())["energy"]["hosts_idle_J"] > 0
    command = [sys.executable, "-m", "hopcast", "compare", str(tmp_path / "a"), str(tmp_path / "b")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (line,) = [line for line in said.splitlines() if line.startswith("energy")]
    assert line.split()[-2:] == ["2.00", "×"]
