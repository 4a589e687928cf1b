"""Every value of a fitted platform file: its standard error or the lack of one, its range and its source."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import made_up_campaign as machine
import numpy as np
import pytest
import tomlkit
from click.testing import CliRunner

from hopcast.calibrate import call_times, campaigns, regime_ends
from hopcast.calibrate.campaigns import WTIME_CALLS
from hopcast.calibrate.network_fit import fit_campaign
from hopcast.calibrate.series import by_size
from hopcast.cli.calibrate import command

ERROR = re.compile(r"± \d|not identified|no standard error|at its bound|as between hosts")
SOURCE = re.compile(
    r"as given|measured|learned|of the line|(send|isend|recv): |configuration|regime|of campaign|nominal"
    r"|median of|mean of|as between hosts|transfer itself|eager limit|its modes|^# ± [\d.e-]+ %"
)
GIVEN = {"hosts", "processes", "flop_rate", "shortest_measured", "longest_measured"}
"""Values that are no parameter of the fit: they need a source alone."""


def platform_of(data: Path, out: Path, *options: object) -> str:
    words = ["fit", data, "-o", out, "--flop-rate", "1 Gflop/s", *options]
    done = CliRunner().invoke(command, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return out.read_text()


def numbers(text: str) -> Iterator[tuple[str, str, str]]:
    """Keys with a quantity, it, and the comment beside it; those of the errors of the fit are left out."""
    for line in text.partition("[calibration]")[0].splitlines():
        found = re.match(r'(\w+) = "?(-?\d[^"#]*)"?\s*(.*)', line)
        if found:
            yield found[1], found[2].strip(), found[3]


@pytest.mark.parametrize("parts", [("network",), ("network", "loopback")])
@pytest.mark.parametrize("noise", [(), ("--noise",)])
def test_every_value_has_its_error_and_its_source(tmp_path: Path, parts, noise) -> None:
    for part in parts:
        machine.write(tmp_path / "raw" / part, repetitions=60 if noise else 10)
    text = platform_of(tmp_path / "raw", tmp_path / "m.toml", *noise)
    found = list(numbers(text))
    assert {"up_to", "eager_limit", "poll", "time", "process_rate", "latency"} <= {key for key, *_ in found}
    for key, value, comment in found:
        assert SOURCE.search(comment), f"{key}: '{comment}'"
        assert key in GIVEN or value == "0 us" or ERROR.search(comment), f"{key}: '{comment}'"
    for line in re.findall(r"^ +\{ weight.*$", text.partition("latency_modes")[0], re.M):
        assert re.search(r"weight ± \S+, mean ± \S+ ns(, deviation ± \S+ ns)?; \d+ calls$", line)
    tomlkit.parse(text)


def test_what_was_not_measured_has_no_number(tmp_path: Path) -> None:
    data = machine.write(tmp_path / "raw", configuration=False)
    for kind in ("Test", "Iprobe", "Wtime"):
        (data / f"machine_{kind}.csv").unlink()
    text = platform_of(data, tmp_path / "m.toml")
    assert "# poll: not identified: MPI_Test was not measured" in text
    assert "# the time of MPI_Iprobe: not identified: MPI_Iprobe was not measured" in text
    assert "# the time of MPI_Wtime: not identified: MPI_Wtime was not measured" in text
    assert "# detached_limit: not identified" in text
    [limit] = [line for line in text.splitlines() if line.startswith("eager_limit")]
    assert "not identified: no limit was known: above all sizes" in limit
    keys = {key for key, *_ in numbers(text)}
    assert not {"poll", "time", "detached_limit", "reduce_rate"} & keys


def test_the_error_of_a_poll_is_that_of_a_median(tmp_path: Path) -> None:
    """1.2533 σ / √n for a normal variable: 400 polls of 300 ± 20 ns; a clock of 10 ns adds 10 / √12."""
    data = machine.write(tmp_path / "raw")
    random = np.random.default_rng(3)
    for step, wanted in ((0.0, 1.2533 * 20 / 20), (10.0, math.hypot(1.2533, 10 / math.sqrt(12)))):
        times = 340 + 20 * random.standard_normal(400)
        if step:
            times = np.round(times / step) * step
        rows = [f"MPI_Test,1,{i},{t * 1e-9:.12e}\n" for i, t in enumerate(times)]
        (data / "machine_Test.csv").write_text("".join(rows))
        (campaign,) = campaigns.read(data)
        poll = call_times.of_polls(campaign, "test")
        assert poll.seconds == pytest.approx(300e-9, abs=6e-9)
        assert poll.error_s == pytest.approx(wanted * 1e-9, rel=0.25)
        assert "median of 400 polls of MPI_Test that wait for 1 to 1 B" in poll.comment


def test_polls_that_vary_too_much_are_not_identified(tmp_path: Path) -> None:
    data = machine.write(tmp_path / "raw")
    rows = [f"MPI_Test,1,{i},{t}\n" for i, t in enumerate((5e-8, 6e-8, 9e-7, 9e-6))]
    (data / "machine_Test.csv").write_text("".join(rows))
    text = platform_of(data, tmp_path / "m.toml")
    assert re.search(r"^# poll: not identified: 4 polls have a median of \S+ us ± ", text, re.M)


def test_a_clock_that_is_measured_again_has_an_error(tmp_path: Path) -> None:
    data = machine.write(tmp_path / "raw")
    once = campaigns.read(data)[0]
    assert math.isnan(once.wtime_error_s)
    assert call_times.of_clock(once).comment.endswith("measured once: no standard error")
    totals = [4.0e-8, 4.1e-8, 4.2e-8, 4.3e-8, 4.4e-8]
    rows = [f"MPI_Wtime,0,{i},{WTIME_CALLS * t}\n" for i, t in enumerate(totals)]
    (data / "machine_Wtime.csv").write_text("".join(rows))
    again = campaigns.read(data)[0]
    assert again.wtime_s == pytest.approx(4.2e-8)
    # Quartiles 4.1 and 4.3: σ = 0.2 / 1.349.
    assert again.wtime_error_s == pytest.approx(1.2533 * 0.2e-8 / 1.349 / math.sqrt(5))
    assert "median of 5 loops" in call_times.of_clock(again).comment


def test_an_end_that_shows_lies_between_its_neighbours(tmp_path: Path) -> None:
    """The limit of 8,192 B, where round trips jump to three times as much."""
    data = machine.write(tmp_path / "raw")
    (campaign,) = campaigns.read(data)
    fit = fit_campaign(campaign)
    [(end, found)] = fit.ends.items()
    sizes = machine.sizes()
    below, above = sizes[sizes <= machine.LIMIT][-1], sizes[sizes > machine.LIMIT][0]
    assert (found.low, found.high) == (below, above)
    one, two = below - end, above - end
    assert found.error == pytest.approx(math.sqrt((one**2 + one * two + two**2) / 3))
    assert found.source == "the eager limit"


def test_the_error_of_an_end_is_what_ends_of_other_data_differ_by() -> None:
    """A bend of 12 % in noise of 5 %: the error that is said beside the spread of the best places."""
    sizes = np.unique(np.floor(10 ** np.linspace(0, 6, 240)))
    law = np.where(sizes <= 3000, 1e-6 + 1e-10 * sizes, 1.12e-6 + 1.12e-10 * sizes)
    errors, off = [], []
    for seed in range(20):
        noisy = law * np.exp(0.05 * np.random.default_rng(seed).standard_normal(len(sizes)))
        series = {"round_trip": by_size(sizes, noisy)}
        found = regime_ends.find(series, {3000.0: "learned"})[3000.0]
        errors.append(found.error)
        off.append(found.low <= 3000 <= found.high)
    assert sum(off) >= 17, "19 of 20 ranges hold the end"
    assert 30 < np.median(errors) < 6000, "several gaps of 6 % of 3,000 B"


def test_an_end_that_does_not_show_is_said_so() -> None:
    sizes = np.unique(np.floor(10 ** np.linspace(0, 6, 120)))
    noisy = 1e-6 * np.exp(0.02 * np.random.default_rng(1).standard_normal(len(sizes)))
    found = regime_ends.find({"round_trip": by_size(sizes, noisy)}, {1000.0: "as given"})[1000.0]
    assert found.said(1000).startswith("not identified by the times")
    few = by_size(sizes[:8], noisy[:8])
    assert "too few sizes" in regime_ends.find({"round_trip": few}, {3.0: "as given"})[3.0].said(3.0)
