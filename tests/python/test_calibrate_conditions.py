"""Campaigns under several loads, libraries or hosts: kept apart, or said to be of both."""

from __future__ import annotations

import json
from pathlib import Path

import made_up_campaign
import pytest
from click.testing import CliRunner, Result

from hopcast.cli.calibrate import command
from hopcast.errors import InputError
from hopcast.toml import tomllib


def measured(
    folder: Path, name: str, background: str, library: str = "MPICH 4.0", host: str = "a", day: str = "20"
) -> Path:
    """A campaign with the facts that `calibrate measure` writes beside it."""
    made_up_campaign.write(folder, name=name)
    facts = {
        "mpi_library": f"{library}\nmore",
        "ranks": [{"host": host, "clock_step_s": 1e-9}],
        "launcher": "mpiexec -n 2",
        "conditions": {"background": background, "partner": "auto"},
        "began": f"2026-11-{day}T10:00:00+00:00",
    }
    (folder / "machine.json").write_text(json.dumps(facts))
    return folder


def fit(out: Path, *words: object) -> Result:
    flags = ("-o", out, "--flop-rate", "1 Gflop/s", "--eager-limit", "8192")
    return CliRunner().invoke(command, ["fit", *map(str, (*words, *flags))])


def test_two_loads_are_not_fitted_as_one(tmp_path: Path) -> None:
    places = [measured(tmp_path / load, "network", load) for load in ("none", "probe")]
    done = fit(tmp_path / "x.toml", *places)
    assert isinstance(done.exception, InputError)
    known = "known: 'none/network' (background none), 'probe/network' (background probe)"
    assert known in str(done.exception)
    assert not (tmp_path / "x.toml").exists()


@pytest.mark.parametrize(("background", "load"), [("none", "idle"), ("both", "other ranks compute and poll")])
def test_the_load_of_the_chosen_campaign_is_that_of_the_platform(
    background: str, load: str, tmp_path: Path
) -> None:
    places = [measured(tmp_path / each, "network", each) for each in ("none", "kernel", "both")]
    out = tmp_path / "x.toml"
    done = fit(out, *places, "--campaign", f"{background}/network")
    assert done.exit_code == 0, done.output
    calibration = tomllib.loads(out.read_text())["calibration"]
    assert (calibration["load"], calibration["date"]) == (load, "2026-11-20")
    assert "--background" not in done.output


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"background": "probe"}, "with --background none, 'loopback' with probe: load changes"),
        ({"background": "none", "library": "Open MPI 5"}, "with MPICH 4.0, 'loopback' with Open MPI 5"),
        ({"background": "none", "host": "z"}, "was measured on a, 'loopback' on z"),
        ({"background": "none"}, None),
    ],
)
def test_a_platform_of_two_conditions_says_so(more: dict, message: str | None, tmp_path: Path) -> None:
    between = measured(tmp_path / "between", "network", "none", day="21")
    within = measured(tmp_path / "within", "loopback", **more)
    out = tmp_path / "x.toml"
    done = fit(out, between, within)
    assert done.exit_code == 0, done.output
    assert ("the platform" in done.output) == (message is not None)
    assert message is None or message in done.output
    calibration = tomllib.loads(out.read_text())["calibration"]
    assert calibration["date"] == "2026-11-20"
    both = "network: idle; loopback: other ranks poll"
    assert calibration["load"] == (both if more["background"] == "probe" else "idle")


def test_facts_that_are_none_are_refused(tmp_path: Path) -> None:
    place = measured(tmp_path / "here", "network", "none")
    (place / "machine.json").write_text('{"ranks": 1}')
    done = fit(tmp_path / "x.toml", place)
    assert isinstance(done.exception, InputError)
    assert "machine.json: no facts of a machine" in str(done.exception)
