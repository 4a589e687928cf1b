"""Computing of compiled programs: profiles, which are the same every time, and how it was obtained."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from test_models import build
from test_programs import hopcast, pytestmark, run  # noqa: F401


@pytest.fixture(scope="module")
def strong(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("strong"), "strong")


@pytest.fixture(scope="module")
def profile(strong) -> Path:
    """That of 64 ranks in five steps."""
    file = strong.parent / "profile.json"
    report, _, _ = run(strong, 64, "5", flags=("--compute", f"profile={file}"))
    assert report["computing"]["how"] == "measured"
    assert f"is kept in {file}" in report["computing"]["sentence"]
    return file


def test_a_profile_gives_the_same_outcome_every_time(strong, profile) -> None:
    flags = ("--compute", f"profile={profile}")
    reports = [run(strong, 64, "5", flags=flags)[0] for _ in range(3)]
    assert len({report["outcome_hash"] for report in reports}) == 1
    first = reports[0]
    assert first["time"]["compute_s"] > 0 and first["computing"]["how"] == "profile"
    assert "measured on" in first["computing"]["sentence"] and "64 ranks" in first["computing"]["sentence"]
    assert not any("profile" in warning for warning in first["warnings"])
    # Of processes the places of calls are not known: they have a profile of their own.
    flags = ("--isolation", "process", "--compute", f"profile={profile.with_name('apart.json')}")
    apart = [run(strong, 8, "5", flags=flags)[0] for _ in range(3)]
    assert apart[1]["outcome_hash"] == apart[2]["outcome_hash"] and apart[1]["time"]["compute_s"] > 0


def test_a_named_pipe_is_no_profile(strong, tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    flags = ("--quiet", "--compute", f"profile={tmp_path / 'pipe'}")
    done = hopcast("run", "hopper", "-n", "2", *flags, strong)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{tmp_path / 'pipe'}: it is a named pipe, for whose writer hopcast" in done.stderr


def edited(profile: Path, **values: object) -> Path:
    """A copy whose stretches, and whose machine, have these values."""
    content = json.loads(profile.read_text())
    for stretch in content["stretches"]:
        stretch |= {name: value for name, value in values.items() if name in stretch}
        stretch.pop("ranks", None)
    content["machine"] |= {name: value for name, value in values.items() if name in content["machine"]}
    copy = profile.with_name("edited.json")
    copy.write_text(json.dumps(content))
    return copy


def compute_s(program: Path, profile: Path, *flags: str, ranks: int = 64) -> float:
    """Computing of one rank [s]."""
    flags = ("--compute", f"profile={profile}", "--ppn", str(min(ranks, 24)), *flags)
    return run(program, ranks, "5", flags=flags)[0]["time"]["compute_s"] / ranks


def test_a_stretch_takes_what_the_profile_says(strong, profile) -> None:
    # Before each of its calls that wait: 5 * 3 of the steps, and MPI_Finalize.
    once = compute_s(strong, edited(profile, centre_s=1e-3))
    stretches = round(once / 1e-3)
    assert once == pytest.approx(stretches * 1e-3) and stretches >= 16
    assert compute_s(strong, edited(profile, centre_s=2e-3)) == pytest.approx(2 * once)
    assert compute_s(strong, edited(profile, centre_s=1e-3), "--compute-scale", "3") == pytest.approx(
        3 * once
    )


def test_times_of_a_profile_become_the_platforms_by_the_rates(strong, profile) -> None:
    # A core of 84 Gflop/s there, of 8.4 on hopper: ten times as long. With 1 MB at 10 GB/s, 0.1 ms of
    # 1 ms are memory's, and 1 MB takes 1 MB / 5 GB/s = 0.2 ms here: 9 ms and 0.2 ms.
    once = compute_s(strong, edited(profile, centre_s=1e-3, memory_B=0.0))
    rates = {"flop_rate_flop_per_s": 84e9, "memory_bandwidth_B_per_s": 10e9}
    flags = ("--compute-rates", "platform", "--set", "compute.memory_bandwidth=5 GB/s")
    file = edited(profile, centre_s=1e-3, memory_B=0.0, **rates)
    assert compute_s(strong, file, *flags) == pytest.approx(10 * once)
    file = edited(profile, centre_s=1e-3, memory_B=1e6, **rates)
    assert compute_s(strong, file, *flags) == pytest.approx(9.2 * once)


def test_ranks_of_a_socket_share_its_memory(strong, profile) -> None:
    # Each stretch takes 10 ms alone and moves 40 MB: 4 GB/s. A socket of 16 GB/s has room for four ranks; 24
    # ranks on two sockets are 12 each: 12 * 40 MB / 16 GB/s = 30 ms.
    file = edited(profile, centre_s=1e-2, memory_B=4e7)
    flags = ("--set", "host.sockets=2", "--set", "compute.memory_bandwidth=8 GB/s")
    shared = (*flags, "--set", "compute.socket_memory_bandwidth=16 GB/s")
    alone = compute_s(strong, file, *flags, ranks=24)
    assert compute_s(strong, file, *shared, ranks=8) == pytest.approx(alone)
    # Messages take some microseconds, by which ranks begin one after the other.
    assert compute_s(strong, file, *shared, ranks=24) == pytest.approx(3 * alone, rel=0.02)


def test_noise_is_drawn_from_the_seed_if_asked_for(strong, profile) -> None:
    file = edited(profile, centre_s=1e-3, spread_s=1e-4)
    draw = ("--compute", f"profile={file}", "--compute-noise", "--seed")
    hashes = [run(strong, 64, "5", flags=(*draw, seed))[0]["outcome_hash"] for seed in ("1", "1", "2")]
    assert hashes[0] == hashes[1] != hashes[2]
    refused = hopcast("run", "hopper", "-n", "2", "--compute", "measured", "--compute-noise", strong)
    assert refused.returncode == 2 and "draws from a profile" in refused.stderr


def test_a_profile_of_something_else_is_refused_or_warned_of(strong, profile) -> None:
    report, _, _ = run(strong, 32, "5", flags=("--compute", f"profile={profile}"))
    assert any("profile is of 64 ranks, this run has 32" in warning for warning in report["warnings"])
    report, _, _ = run(strong, 64, "4", flags=("--compute", f"profile={profile}"))
    assert any("of the arguments '5'" in warning for warning in report["warnings"])
    content = json.loads(profile.read_text())
    (other := profile.with_name("other.json")).write_text(
        json.dumps(content | {"program": content["program"] | {"hash": "0"}})
    )
    refused = hopcast("run", "hopper", "-n", "64", "--compute", f"profile={other}", strong, "5")
    assert refused.returncode == 2 and "another build of strong" in refused.stderr
    other.write_text(json.dumps(content | {"stretches": content["stretches"][:1]}))
    report, _, _ = run(strong, 64, "5", flags=("--compute", f"profile={other}"))
    assert any("does not know" in warning for warning in report["warnings"])
    other.write_text("{}")
    refused = hopcast("run", "hopper", "-n", "64", "--compute", f"profile={other}", strong, "5")
    assert refused.returncode == 2 and "other.json: missing field" in refused.stderr


def test_a_scale_of_nothing_is_refused(strong) -> None:
    refused = hopcast("run", "hopper", "-n", "2", "--compute", "none", "--compute-scale", "2", strong, "5")
    assert refused.returncode == 2
    assert "there is nothing to multiply" in refused.stderr
