"""Replicates: intervals of predictions, and shares of what is uncertain."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from hopcast.errors import InputError
from hopcast.experiment.runners.local import Local
from hopcast.request import RunRequest
from hopcast.study import replicates

HOPCAST = [sys.executable, "-m", "hopcast"]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run([*HOPCAST, "run", *words], cwd=folder, capture_output=True, text=True, timeout=200)


def test_a_run_without_noise_is_the_same_in_all_replicates(tmp_path: Path) -> None:
    done = run(tmp_path, "crossbar", "-n", "4", "--replicates", "3", "ring", "--bytes", "1KiB")
    assert done.returncode == 0, done.stderr
    assert "in all 3 replicates: nothing in this run is random" in done.stdout


def test_the_interval_and_the_shares_are_those_of_the_draws(tmp_path: Path) -> None:
    """A long message takes size/bandwidth: 5 % of the bandwidth are 5 % of the time, the latency nothing."""
    words = ("crossbar", "-n", "2", "--ppn", "1", "--model", "max-rate", "--json", "--replicates", "40")
    more = ("--uncertain", "nic.bandwidth=5%", "--uncertain", "nic.latency=5%")
    done = run(tmp_path, *words, *more, "pingpong", "--bytes", "64MiB")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    times = numpy.array(found["makespans_s"])
    assert len(times) == 40
    assert 0.03 < times.std() / times.mean() < 0.08
    assert found["low_s"] == pytest.approx(numpy.quantile(times, 0.05))
    assert found["high_s"] == pytest.approx(numpy.quantile(times, 0.95))
    assert found["shares"]["nic.bandwidth"] > 0.8 > 0.3 > found["shares"]["nic.latency"]
    assert sum(found["shares"].values()) == pytest.approx(1)


def test_seeds_alone_give_an_interval_in_words(tmp_path: Path) -> None:
    done = run(
        tmp_path, "fat-tree", "-n", "64", "--ppn", "1", "--replicates", "8", "uniform", "--bytes", "64KiB"
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert "90 % between" in first and first.endswith("(8 replicates)")
    assert second == "Sources of the variance: seeds and the rest 100.0 %"


def test_the_same_seed_gives_the_same_draws_and_another_key_changes_none() -> None:
    request = RunRequest.of("crossbar", "ring", ["--bytes", "1KiB"], ranks=2, seed=7)
    one = replicates._draws(request, "nic.bandwidth", 0.1, 5)
    assert one == replicates._draws(request, "nic.bandwidth", 0.1, 5)
    assert one != replicates._draws(request.changed(seed=8), "nic.bandwidth", 0.1, 5)
    assert [number for _, number in one] != [
        number for _, number in replicates._draws(request, "nic.latency", 0.1, 5)
    ]


@pytest.mark.parametrize(
    "text", ["nic.bandwidth", "nic.bandwidth=5", "nic.bandwidth=-5%", "nic.bandwidth=x%"]
)
def test_spreads_are_percents(text: str) -> None:
    with pytest.raises(InputError, match=r"write section\.key=5%"):
        replicates.spreads_of([text])


def test_unknown_values_and_functions_are_errors() -> None:
    request = RunRequest.of("crossbar", "ring", ranks=2)
    with pytest.raises(InputError, match="has no such value"):
        replicates.predict(request, 2, {"nic.colour": 0.1}, Local(1))
    with pytest.raises(InputError, match="is no quantity"):
        replicates.predict(request, 2, {"topology.kind": 0.1}, Local(1))
    with pytest.raises(InputError, match="name a file"):
        replicates.predict(RunRequest.of("crossbar", lambda comm: None, ranks=2), 2, {}, Local(1))
