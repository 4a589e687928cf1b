"""Real and simulated archives side by side."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
import pytest
from test_experiments import experiment

from hopcast.errors import InputError
from hopcast.experiment import compare
from hopcast.study import model_error
from hopcast.study.replicates import interval
from hopcast.toml import tomllib

HOPCAST = [sys.executable, "-m", "hopcast"]


def archive(
    file: Path,
    rows: list[tuple[int, int, float]],
    pieces_hash: str = "p",
    built_in: str = "",
    place: str = "",
) -> Path:
    """An archive with times by size and repetition."""
    lines = [f"{number},{size},{turn},done,,{time}" for number, (size, turn, time) in enumerate(rows)]
    with zipfile.ZipFile(file, "w") as opened:
        opened.writestr(
            "info.yaml",
            f"experiment_sha256: e\npieces_sha256: {pieces_hash}\nbuilt_in: '{built_in}'\nplace: '{place}'\n",
        )
        opened.writestr("results.csv", "\n".join(["piece,size,repetition,state,why,time_s", *lines, ""]))
        opened.writestr("pieces.csv", "size,repetition\n")
    return file


def test_points_are_compared_by_their_medians(tmp_path: Path) -> None:
    measured = [(size, turn, size * (1 + 0.1 * turn)) for turn in range(5) for size in (1, 2)]
    real = archive(tmp_path / "real.zip", measured)
    simulated = archive(tmp_path / "simulated.zip", [(1, 0, 1.2), (2, 0, 4.8), (3, 0, 1.0)], "other")
    found = compare.compare(real, simulated)
    first, second = found.points
    # Medians of 1, 1.1, 1.2, 1.3, 1.4 and of twice that: 1.2 and 2.4.
    assert first.error == pytest.approx(0) and second.error == pytest.approx(1)
    assert first.is_within and not second.is_within
    assert 1 <= first.interval[0] < 1.2 < first.interval[1] <= 1.4
    assert found.median_error() == pytest.approx(0.5)
    assert "the two have other experiment files" in found.findings
    assert "1 points are only in the simulated archive" in found.findings


def test_an_effect_of_the_order_is_found(tmp_path: Path) -> None:
    """A machine that becomes slower with each measurement."""
    real = archive(tmp_path / "real.zip", [(1, turn, 1 + 0.01 * turn) for turn in range(40)])
    simulated = archive(tmp_path / "simulated.zip", [(1, 0, 1.0)])
    assert any("drift over time" in finding for finding in compare.compare(real, simulated).findings)


def test_several_modes_are_found(tmp_path: Path) -> None:
    """Two thirds of the measurements about 1 s, one about 2 s, in mixed order; those of size 2 about 1 s."""
    draw = random.Random(5)
    times = [(1, turn, (2 if turn % 3 == 0 else 1) * draw.gauss(1, 0.02)) for turn in range(60)]
    times += [(2, turn, draw.gauss(1, 0.02)) for turn in range(60)]
    draw.shuffle(times)
    real = archive(tmp_path / "real.zip", times)
    found = compare.compare(real, archive(tmp_path / "simulated.zip", [(1, 0, 1.0), (2, 0, 1.0)])).findings
    assert len(found) == 1 and found[0].startswith("1 point has real measurements at several values")
    assert "size=1" in found[0] and "(67 %)" in found[0] and "(33 %)" in found[0]


def test_the_command_prints_and_draws(tmp_path: Path) -> None:
    archive(tmp_path / "real.zip", [(1, 0, 1.0), (1, 1, 1.2), (2, 0, 2.0)])
    archive(tmp_path / "simulated.zip", [(1, 0, 1.1), (2, 0, 2.2)])
    done = experiment(tmp_path, "compare", "real.zip", "simulated.zip", "-o", "page.html")
    assert done.returncode == 0, done.stderr
    assert (
        "size=2" in done.stdout and "+10.0 %" in done.stdout and "time_s: median error 5.0 %" in done.stdout
    )
    assert "<svg" in (tmp_path / "page.html").read_text()


def preset(file: Path, name: str = "crossbar") -> Path:
    """A platform file of one's own: a preset's."""
    shown = subprocess.run([*HOPCAST, "platform", "show", name], capture_output=True, check=True)
    file.write_bytes(shown.stdout)
    return file


def test_errors_of_programs_widen_the_interval(tmp_path: Path) -> None:
    """Errors of +10 and -10 % of two sizes: a root mean square of 0.1, known from two numbers."""
    archive(tmp_path / "real.zip", [(1, 0, 1.0), (2, 0, 2.0)])
    archive(tmp_path / "simulated.zip", [(1, 0, 1.1), (2, 0, 1.8)], place="simulated:crossbar")
    platform = preset(tmp_path / "own.toml")
    for _ in range(2):  # the second replaces the first
        done = experiment(tmp_path, "compare", "real.zip", "simulated.zip", "--record", "own.toml")
        assert done.returncode == 0 and "Recorded  own.toml" in done.stdout, done.stderr
        assert "another platform" not in done.stderr
    (check,) = tomllib.loads(platform.read_text())["calibration"]["checks"]
    assert check["what"] == "real" and (check["rms"], check["count"]) == (0.1, 2)
    words = ("run", "own.toml", "-n", "2", "--ppn", "1", "pingpong", "--replicates", "40", "--json")
    done = subprocess.run([*HOPCAST, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    parts = {part["name"]: part for part in found["sources"]}
    assert parts["model"]["share"] == pytest.approx(1) and parts["model"]["words"].startswith("± 10 %, by 2")
    (plain,) = set(parts["seeds"]["makespans_s"])
    # 90 % of Student's t of two degrees of freedom lie within 2.92; of 40 draws, the ends are known roughly.
    assert 0.15 < math.log(found["high_s"] / plain) < 0.7 and 0.15 < math.log(plain / found["low_s"]) < 0.7
    done = subprocess.run(
        [*HOPCAST, *words, "--vary", "seeds", "--set", "mpi.eager_limit=1 KiB"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert len(set(json.loads(done.stdout)["makespans_s"])) == 1


def test_errors_of_programs_are_logarithms() -> None:
    """Twice the time and half of it miss as much, and a rate as much as its time: ln 2."""
    errors = model_error.of([1.0, -0.5])
    assert errors.rms == pytest.approx(math.log(2)) and errors.count == 2
    assert "all of one experiment" in errors.words()
    assert errors.words(["nic.latency"]).endswith("measured without --set nic.latency")
    assert model_error.of([4.0]).words().startswith("a factor of 5, by 1 program")
    assert model_error.of([0.1]).words() == "± 9.5 %, by 1 program beside its measurement"


def test_draws_of_the_model_hold_what_they_say_and_end() -> None:
    """A further error is in the interval of the draws of n others in 90 % of the trials."""
    generator = numpy.random.default_rng(1)
    for count in (1, 3, 10):
        held = 0
        for trial in range(600):
            logarithms = generator.normal(0, 0.02, count + 1)
            errors = model_error.of(numpy.expm1(logarithms[:-1]))
            stream = numpy.random.default_rng(trial)
            low, _, high = interval([errors.factor(stream) for _ in range(199)])
            held += low <= math.exp(-logarithms[-1]) <= high
        assert held / 600 == pytest.approx(0.9, abs=0.04)
    stream = numpy.random.default_rng(1)
    factors = [model_error.ModelError(3.0, 1).factor(stream) for _ in range(1000)]
    assert min(factors) == pytest.approx(0.1) and max(factors) == pytest.approx(10)
    assert {model_error.ModelError(0.0, 1).factor(stream) for _ in range(9)} == {1.0}


def test_several_experiments_are_taken_together() -> None:
    """Two errors of 0.1 and one of 0.4: the mean square is (2 · 0.01 + 0.16) / 3 = 0.06."""
    checks = [{"rms": 0.1, "count": 2}, {"what": "ring"}, {"rms": 0.4, "count": 1}]
    found = model_error.read({"calibration": {"checks": checks}})
    assert found == model_error.ModelError(pytest.approx(0.06**0.5), 3, 2)
    assert model_error.read({"calibration": {"checks": [{"what": "ring"}]}}) is None
    assert model_error.read({}) is None


def test_what_is_recorded_is_of_programs_on_a_machine_and_of_a_platform(tmp_path: Path) -> None:
    preset(tmp_path / "own.toml")
    archive(tmp_path / "ring.zip", [(1, 0, 1.0)], built_in="ring")
    archive(tmp_path / "real.zip", [(1, 0, 1.0)], place="local")
    archive(tmp_path / "simulated.zip", [(1, 0, 2.0)], place="simulated:fat-tree --model postal")
    (tmp_path / "other.toml").write_text("[tool]\nname = 'other'\n")
    for words, said in (
        (("ring.zip", "ring.zip", "--record", "own.toml"), "hopcast calibrate check"),
        (("real.zip", "simulated.zip", "--record", "dahu"), "is no file"),
        (("real.zip", "simulated.zip", "--record", "other.toml"), "other.toml:1:"),
        (("simulated.zip", "real.zip", "--record", "own.toml"), "simulated.zip was simulated, too"),
        (("real.zip", "real.zip", "--record", "own.toml"), "was not simulated, but run --on local"),
    ):
        done = experiment(tmp_path, "compare", *words)
        assert done.returncode == 2 and said in done.stderr and not done.stdout, done.stderr
    assert "[calibration]" not in (tmp_path / "own.toml").read_text()
    assert (tmp_path / "other.toml").read_text() == "[tool]\nname = 'other'\n"
    done = experiment(tmp_path, "compare", "real.zip", "simulated.zip", "--record", "own.toml")
    assert done.returncode == 0 and "on another platform than own.toml" in done.stderr, done.stderr


def test_what_cannot_be_compared_is_named(tmp_path: Path) -> None:
    real = archive(tmp_path / "real.zip", [(1, 0, 1.0)])
    with pytest.raises(InputError, match="no point in common"):
        compare.compare(real, archive(tmp_path / "other.zip", [(2, 0, 1.0)]))
    for time in (float("nan"), float("inf"), 0.0, -1.0):
        with pytest.raises(InputError, match="is no number above 0"):
            compare.compare(real, archive(tmp_path / "other.zip", [(1, 0, time)]))
    with pytest.raises(InputError, match="has no column 'speed'"):
        compare.compare(real, real, "speed")
    with pytest.raises(InputError, match="no piece that is done"):
        compare.compare(archive(tmp_path / "empty.zip", []), real)
    with pytest.raises(InputError, match="there is no such file"):
        compare.compare(real, tmp_path / "nowhere.zip")
    (tmp_path / "text.zip").write_text("no zip")
    with pytest.raises(InputError, match="is no archive of an experiment"):
        compare.compare(real, tmp_path / "text.zip")
