"""`--profile-simulator`: layers, their times and memory, for each kind of workload; equal outcomes."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

import hopcast

RUN_LAYERS = {"event queue", "network model", "MPI", "observers", "windows of domains", "progress"}


def talking(comm) -> None:
    """Ranks that pass a token many times."""
    for _ in range(300):
        comm.sendrecv(nbytes=8, dest=(comm.rank + 1) % comm.size, source=(comm.rank - 1) % comm.size)


def layers(report: hopcast.Report, phase: str) -> dict[str, float]:
    return {
        cost["layer"]: cost["time_s"] for cost in report.profile_simulator["layers"] if cost["phase"] == phase
    }


def test_a_pattern_has_all_layers_and_the_same_outcome() -> None:
    arguments = {"bytes": "1 KiB", "iterations": 60}
    plain = hopcast.run("hopper", "halo3d", 216, kwargs=arguments, model="packet")
    report = hopcast.run("hopper", "halo3d", 216, kwargs=arguments, model="packet", profile_simulator=True)
    assert "profile_simulator" not in plain.summary
    assert report.outcome_hash == plain.outcome_hash
    run = layers(report, "run")
    # What the samples say sums to the time of the run; the network is most of it in this model.
    assert sum(run.values()) == pytest.approx(report.wall_s, rel=1e-9)
    assert {"network model", "MPI"} <= set(run) <= RUN_LAYERS | {"pattern"}
    assert max(run, key=run.__getitem__) == "network model"
    assert list(layers(report, "set-up")) == [
        "platform file",
        "workload",
        "topology",
        "routing tables",
        "placement",
        "network model, ranks and observers",
    ]
    assert sum(layers(report, "set-up").values()) == pytest.approx(report.setup_s, rel=0.5, abs=0.01)
    assert set(layers(report, "report")) == {"gathering from domains", "summary and tables"}
    assert set(layers(report, "Python")) == {"into the core and back", "hashes of inputs"}


def test_threads_are_summed() -> None:
    arguments = {"bytes": "1 KiB", "iterations": 60}
    small = {"topology.sizes": "[4, 4, 4]"}
    report = hopcast.run(
        "nsim-torus",
        "halo3d",
        64,
        kwargs=arguments,
        model="packet",
        set=small,
        threads=2,
        profile_simulator=True,
    )
    assert report.threads == 2
    run = layers(report, "run")
    assert sum(run.values()) == pytest.approx(2 * report.wall_s, rel=1e-9)
    assert run["windows of domains"] > 0


def test_rank_functions_are_python() -> None:
    report = hopcast.run("hopper", talking, 64, model="loggp", profile_simulator=True)
    run = layers(report, "run")
    assert max(run, key=run.__getitem__) == "rank functions in Python"


def test_the_command_shows_it_and_counts_its_own_start() -> None:
    command = [sys.executable, "-m", "hopcast", "run", "hopper", "-n", "64", "halo3d", "--iterations", "50"]
    command.append("--profile-simulator")
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "The simulator" in shown and "start of Python, command line" in shown
    assert re.search(r"Layers of the run by [\d,]+ samples? of each thread", shown)
    told = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout
    first = json.loads(told)["profile_simulator"]["layers"][0]
    assert first["layer"] == "start of Python, command line"
    assert 0.01 < first["time_s"] < 60 and first["memory_B"] > 2**20


def test_quiet_runs_do_not_profile_for_nobody() -> None:
    words = ["run", "hopper", "-n", "2", "--quiet", "--profile-simulator"]
    done = subprocess.run(
        [sys.executable, "-m", "hopcast", *words, "barrier"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--profile-simulator: --quiet prints no profile: take --json or --out DIR" in done.stderr
    done = subprocess.run(
        [sys.executable, "-m", "hopcast", *words, "--json", "barrier"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "profile_simulator" in json.loads(done.stdout)
