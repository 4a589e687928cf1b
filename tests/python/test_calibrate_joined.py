"""Runs of one machine at several times, fitted as one."""

from __future__ import annotations

from pathlib import Path

import made_up_campaign as machine
import numpy as np
import pytest
from click.testing import CliRunner, Result
from test_calibrate_conditions import measured

from hopcast.cli.calibrate import command
from hopcast.errors import InputError
from hopcast.study import fit_errors

FACTORS = (1.0, 1.2, 0.9)
"""Times of the runs over those of the machine."""


def runs(folder: Path) -> list[Path]:
    """Runs with sizes of their own, each slower or faster as a whole."""
    places = []
    for number, factor in enumerate(FACTORS):
        lengths = np.unique(np.floor(10 ** np.random.default_rng(number).uniform(0, 6, 80)))
        place = folder / f"run{number}"
        machine.write(
            place, name="network", lengths=lengths, one_way=lambda n, by=factor: by * machine.one_way_s(n)
        )
        places.append(place)
    return places


def fit(out: Path, *words: object) -> Result:
    return CliRunner().invoke(
        command,
        ["fit", *map(str, words), "-o", str(out), "--flop-rate", "1 Gflop/s", "--eager-limit", "8192"],
    )


def test_runs_differ_by_what_is_said_and_their_spread_is_an_error_of_the_platform(tmp_path: Path) -> None:
    places = runs(tmp_path)
    one, joined = tmp_path / "one.toml", tmp_path / "joined.toml"
    assert fit(one, places[0]).exit_code == 0
    done = fit(joined, *places, "--joined")
    assert done.exit_code == 0, done.output
    assert "3 runs as one: their round trips take 0." in done.output
    assert "two machines" not in done.output
    text = joined.read_text()
    assert "3 runs as one" in text and "run0/network and 2 more" in text
    assert fit_errors.read(one.read_text()).sizes < 0.05
    assert 0.08 < fit_errors.read(text).sizes < 0.25


def test_times_lie_between_those_of_the_runs(tmp_path: Path) -> None:
    from hopcast.calibrate import joining, sources
    from hopcast.calibrate.network_fit import fit_campaign

    fitted = fit_campaign(joining.join(sources.read(runs(tmp_path))), eager_limit=machine.LIMIT)
    lengths = machine.sizes()
    ratio = fitted.one_way_s(lengths) / machine.one_way_s(lengths)
    assert ratio.min() > 0.88 and ratio.max() < 1.22
    scale = fitted.runs[0]
    assert [factor / scale for factor in fitted.runs] == pytest.approx(FACTORS, rel=0.04)


def test_runs_under_other_loads_say_so(tmp_path: Path) -> None:
    places = [measured(tmp_path / load, "network", load) for load in ("none", "probe")]
    done = fit(tmp_path / "x.toml", *places, "--joined")
    assert done.exit_code == 0, done.output
    assert "load changes a network by a factor of up to 3" in done.output


def test_what_is_not_of_one_kind_is_refused(tmp_path: Path) -> None:
    places = runs(tmp_path)
    for option, value in (("--campaign", "network"), ("--memory", "network")):
        done = fit(tmp_path / "x.toml", *places, "--joined", option, value)
        assert isinstance(done.exception, InputError) and f"leave out {option}" in str(done.exception)
    done = fit(tmp_path / "x.toml", places[0], places[0] / "network_PingPong.csv", "--joined")
    assert isinstance(done.exception, InputError) and "are there twice" in str(done.exception)
    (places[1] / "network_Isend.csv").unlink()
    done = fit(tmp_path / "x.toml", *places, "--joined")
    assert isinstance(done.exception, InputError) and "only one has isend" in str(done.exception)
    assert not (tmp_path / "x.toml").exists()


def test_other_configurations_are_named(tmp_path: Path) -> None:
    places = runs(tmp_path)
    (settings,) = places[2].glob("*.xml")
    settings.write_text(settings.read_text().replace(str(machine.LIMIT), "4096"))
    done = fit(tmp_path / "x.toml", *places, "--joined")
    assert done.exit_code == 0, done.output
    assert "were configured with other eager_limit: the fit takes those of the first" in done.output
