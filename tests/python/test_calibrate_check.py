"""`hopcast calibrate check` of polls, of the clock and of pairs at once."""

from __future__ import annotations

import re
from pathlib import Path

import made_up_campaign as machine
import pytest
from click.testing import CliRunner

from hopcast.calibrate import pair_check, pair_times, poll_check
from hopcast.cli.calibrate import command
from hopcast.errors import InputError
from hopcast.toml import tomllib

START, OWN, NIC = 2e-6, 2e9, 5e9
"""Max-rate law of the pairs: start-up [s], rate of a process and of the NIC [B/s]."""
INTS = (1, 64, 1024, 16384, 65536)


def calibrate(*words: object) -> str:
    done = CliRunner().invoke(command, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def medians(text: str, name: str) -> list[float]:
    """Medians [%] of the lines under a heading."""
    lines = re.search(rf"^{name}: .*\n((?:  .*\n)+)", text, re.M)
    assert lines, text
    return [float(value) for value in re.findall(r"median ([\d.e-]+) %", lines[1])]


def nodecomm_text(factor: float = 1.0, pairs: int = 4) -> str:
    """Round trips of the law, as nodecomm prints them."""
    rows = []
    for ints in INTS:
        times = [2 * factor * (START + k * 4 * ints / min(NIC, k * OWN)) for k in range(1, pairs + 1)]
        rows.append(f"{ints}\t" + "".join(f"{time:.2e}\t" for time in times))
    ranks = ", ".join(map(str, range(pairs)))
    return "\n".join(["Pingpong for", f"master:  {ranks}", f"partner: {ranks}", *rows]) + "\n"


@pytest.fixture
def fitted(tmp_path: Path) -> tuple[Path, Path]:
    data, platform = machine.write(tmp_path / "raw"), tmp_path / "m.toml"
    calibrate("fit", data, "-o", platform, "--flop-rate", "1 Gflop/s")
    return platform, data


def test_polls_and_the_clock_are_compared(fitted) -> None:
    platform, data = fitted
    printed = calibrate("check", platform, data, "--record")
    for name in ("MPI_Iprobe", "MPI_Test", "MPI_Wtime"):
        assert max(medians(printed, name)) < 0.01
    checks = tomllib.loads(platform.read_text())["calibration"]["checks"]
    assert {"MPI_Iprobe", "MPI_Test", "MPI_Wtime"} <= {check["what"] for check in checks}


def test_a_platform_with_other_polls_is_said_to_be_off(fitted) -> None:
    """Half as long for MPI_Test, three times for MPI_Iprobe, and a clock that takes nothing."""
    platform, data = fitted
    text = platform.read_text().replace('poll = "0.2 us"', 'poll = "0.1 us"')
    text = text.replace('time = "0.3 us"', 'time = "0.9 us"')
    start = text.index('[[mpi.functions]]\nfunction = "MPI_Wtime"')
    platform.write_text(text[:start] + text[text.index("[calibration]") :])
    printed = calibrate("check", platform, data)
    assert medians(printed, "MPI_Test") == pytest.approx([50], rel=0.01)
    assert medians(printed, "MPI_Iprobe") == pytest.approx([200], rel=0.01)
    assert medians(printed, "MPI_Wtime") == [100]


def test_polls_that_vary_are_predicted_by_their_mean() -> None:
    assert poll_check.poll_s("dahu", "test") == pytest.approx(809.0519e-9, rel=1e-6)
    assert poll_check.poll_s("dahu", "iprobe") == pytest.approx(211.5438e-9, rel=1e-6)
    assert poll_check.clock_s("dahu") == 0


def test_pairs_at_once_are_compared(tmp_path: Path) -> None:
    """A platform that `rates` fits to the law has it; one pair to all digits, several but for their drift."""
    data, platform = tmp_path / "pairs.txt", tmp_path / "p.toml"
    data.write_text(nodecomm_text())
    calibrate("rates", data, "--models", "max-rate", "-o", platform, "--flop-rate", "1 Gflop/s")
    printed = calibrate("check", platform, data, "--record")
    assert max(medians(printed, "1 pair")) < 0.6, "three digits"
    assert max(medians(printed, "2 to 4 pairs at once")) < 10
    whats = [check["what"] for check in tomllib.loads(platform.read_text())["calibration"]["checks"]]
    assert whats == ["1 pair", "2 to 4 pairs at once"]
    data.write_text(nodecomm_text(2.0))
    assert medians(calibrate("check", platform, data), "1 pair") == pytest.approx([50], abs=0.5)


def test_streams_are_one_way(tmp_path: Path) -> None:
    """Ten messages behind each other need ten times their bytes' time, and little of the start-up."""
    data, platform = tmp_path / "pairs.txt", tmp_path / "p.toml"
    data.write_text(nodecomm_text())
    calibrate("rates", data, "--models", "max-rate", "-o", platform, "--flop-rate", "1 Gflop/s")
    (block,) = pair_times.read(data)
    longest = block.where((block.sizes == 4 * INTS[-1]) & (block.pairs == 1))
    time = pair_check.pairs_s(str(platform), longest, stream=True)
    assert time == pytest.approx([4 * INTS[-1] / OWN + 2 * START / 10], rel=0.01)


def test_pairs_that_no_host_holds_are_refused(tmp_path: Path, fitted) -> None:
    data = tmp_path / "pairs.txt"
    data.write_text(nodecomm_text())
    with pytest.raises(InputError, match=r"4 pairs at once, and a host of .* has 2 processes"):
        calibrate("check", fitted[0], data)
    with pytest.raises(InputError, match="--within-a-host: means nothing for pairs at once"):
        calibrate("check", fitted[0], data, "--within-a-host")
    with pytest.raises(InputError, match="DATA of several kinds"):
        calibrate("check", *fitted, data)
    with pytest.raises(InputError, match="--stream: means nothing for one pair of processes"):
        calibrate("check", *fitted, "--stream")
