"""Runs say how close their platform came to measurements of its machine, or that it was not calibrated."""

import made_up_campaign as machine
import pytest
from click.testing import CliRunner
from rich.console import Console

import hopcast
from hopcast import core
from hopcast.cli.calibrate import command
from hopcast.errors import InputError
from hopcast.report import calibration, screen

CHECKED = """
[calibration]
date = "2026-11-20"
load = "idle"

[[calibration.checks]]
what = "ping-pong"
median = 0.01
p90 = 0.04
worst = 0.2
"""


def calibrate(*words: object) -> None:
    """Runs `hopcast calibrate`."""
    done = CliRunner().invoke(command, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output


@pytest.fixture
def platform(tmp_path):
    """A preset with a calibration."""
    file = tmp_path / "machine.toml"
    file.write_text(core.platform_text("crossbar", (), False) + CHECKED)
    return file


def said(platform, **options) -> str:
    """Sentence about the platform of a run."""
    return calibration.sentence(hopcast.run(str(platform), "pingpong", ranks=2, **options).summary)


def test_the_day_and_the_errors_are_said(platform):
    report = hopcast.run(str(platform), "pingpong", ranks=2)
    sentence = "Calibrated 2026-11-20 (idle): ping-pong within 4 % (9 of 10 measurements)"
    assert calibration.sentence(report.summary) == sentence
    console = Console(width=100)
    with console.capture() as printed:
        console.print(screen.screen(report.summary, 100))
    assert sentence in " ".join(printed.get().split())


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("0.069", "within 6.9 %"),
        ("1.0", "within 100 %"),
        ("0.998", "within 100 %"),
        ("2.0", "within a factor of 3"),
    ],
)
def test_large_errors_are_said(platform, error, words):
    """A prediction of nothing misses all of the time, by whatever factor it is too short."""
    platform.write_text(platform.read_text().replace("p90 = 0.04", f"p90 = {error}"))
    assert f"ping-pong {words} (" in said(platform)


def test_a_run_says_which_calibrated_values_it_changes(platform):
    changed = said(platform, set={"nic.latency": "2 us", "network.model": "packet"})
    assert changed.endswith("This run changes the calibrated machine: nic.latency")


def test_a_preset_of_published_numbers_is_said_not_to_be_calibrated():
    assert said("crossbar") == calibration.NONE


def test_errors_need_a_day(platform):
    platform.write_text(platform.read_text().replace('date = "2026-11-20"\n', ""))
    with pytest.raises(InputError, match=r"calibration\.date"):
        hopcast.run(str(platform), "pingpong", ranks=2)


def test_a_fit_and_a_check_write_their_errors(tmp_path):
    data = machine.write(tmp_path / "data")
    platform = tmp_path / "fitted.toml"
    calibrate("fit", data, "-o", platform, "--flop-rate", "1 Gflop/s")
    assert "# nominal" in platform.read_text()
    fitted = hopcast.run(str(platform), "pingpong", ranks=2).summary["calibration"]
    assert [check["what"] for check in fitted["checks"]] == ["ping-pong"]
    assert 0 < fitted["checks"][0]["p90"] < 0.02
    calibrate("check", platform, data, "--record")
    assert "# nominal" in platform.read_text(), "comments stay"
    checks = hopcast.run(str(platform), "pingpong", ranks=2).summary["calibration"]["checks"]
    kinds = ["ping-pong", *(f"MPI_{call}" for call in ("Send", "Isend", "Recv", "Iprobe", "Test", "Wtime"))]
    assert [check["what"] for check in checks] == kinds
    assert all(check["note"] == "campaign 'machine', simulated" for check in checks)


def test_errors_are_not_recorded_in_a_preset(tmp_path):
    data = machine.write(tmp_path / "data")
    with pytest.raises(InputError, match="is no file; copy a preset"):
        calibrate("check", "crossbar", data, "--record")
