"""Bad measurements: what is missing is said, and what the fit did instead; no platform is silently wrong."""

from __future__ import annotations

from pathlib import Path

import made_up_campaign as machine
import numpy as np
import pytest

from hopcast.calibrate import campaigns, defects, platform_file, sources
from hopcast.calibrate.network_fit import NetworkFit, fit_campaign
from hopcast.errors import InputError


def fitted(folder: Path, **options) -> NetworkFit:
    """The fit of the one campaign in a folder."""
    (campaign,) = campaigns.read(folder)
    return fit_campaign(campaign, **options)


def says(fit: NetworkFit, *parts: str) -> bool:
    """True where one finding holds all parts, and the platform file repeats it."""
    text = platform_file.text(fit, platform_file.Machine("m", "data", "1 Gflop/s"))
    return any(all(part in finding for part in parts) and finding in text for finding in fit.findings)


def test_one_size_is_too_few(tmp_path: Path):
    with pytest.raises(InputError, match=r"1 usable sizes, and a line needs 2.*nothing was fitted"):
        fitted(machine.write(tmp_path, lengths=np.array([1000.0])))


def test_a_regime_with_too_few_sizes_joins_its_neighbour(tmp_path: Path):
    fit = fitted(machine.write(tmp_path), breakpoints=[2, machine.LIMIT])
    assert [regime.up_to for regime in fit.regimes] == [machine.LIMIT, None]
    assert says(fit, "from 0 B to 2 B", "2 sizes, and its line needs 5", "together with the sizes above it")


def test_the_longest_regime_with_too_few_sizes_joins_the_one_below(tmp_path: Path):
    fit = fitted(machine.write(tmp_path), breakpoints=[machine.LIMIT, 900_000])
    assert [regime.up_to for regime in fit.regimes] == [machine.LIMIT, None]
    assert says(fit, "above 900000 B", "together with the sizes below it")


def test_one_repetition_shows_no_noise_of_a_size(tmp_path: Path):
    fit = fitted(machine.write(tmp_path, repetitions=1))
    assert len(fit.regimes) == 2
    assert says(fit, "each size was measured once", "takes the scatter between neighbouring sizes")


def test_a_coarse_clock_hides_short_messages(tmp_path: Path):
    """A clock of 2 µs: a round trip of 4 µs is two of its steps, and five are wanted."""
    folder = machine.write(tmp_path)
    step = 2e-6
    for kind in ("PingPong", "Recv", "Isend"):
        file = folder / f"machine_{kind}.csv"
        rows = [row.rsplit(",", 1) for row in file.read_text().splitlines()]
        file.write_text("".join(f"{row},{round(float(t) / step) * step:.9e}\n" for row, t in rows))
    fit = fitted(folder)
    assert says(fit, "round_trip: the clock's step, 2 µs", "are left out")
    assert says(fit, "send: ", "sizes take no time or less", "are left out")
    assert fit.sizes[0] > machine.LIMIT


def test_a_size_in_integers_is_far_from_the_nominal_rate(tmp_path: Path):
    """30 GB/s nominal, 25 GB/s measured: a quarter of it where integers are taken for bytes."""
    fit = fitted(
        machine.write(
            tmp_path / "a", lengths=machine.sizes() / 4, noise=0.0, one_way=lambda n: 1e-6 + 1.6e-10 * n
        )
    )
    assert not says(fit, "--unit-bytes 4")
    fit = fitted(tmp_path / "a", bandwidth_Bps=25e9)
    assert says(fit, "6.25 GB/s, and the link nominally 25 GB/s", "--unit-bytes 4", "takes sizes as bytes")


def test_one_way_times_taken_for_round_trips_are_twice_too_fast(tmp_path: Path):
    fit = fitted(
        machine.write(tmp_path, noise=0.0, one_way=lambda n: (1e-6 + 1e-10 * n) / 2), bandwidth_Bps=10e9
    )
    assert says(fit, "20 GB/s, and the link nominally 10 GB/s", "--one-way", "halves round trips")


def test_times_that_fall_with_the_size_give_no_rate(tmp_path: Path):
    fit = fitted(
        machine.write(
            tmp_path,
            one_way=lambda n: np.where(n < 1000, 5e-6 - 2e-9 * n, 2e-6 + 1e-9 * n),
            configuration=False,
        ),
        breakpoints=[999],
    )
    assert says(fit, "from 0 B to 999 B", "or fall: no rate shows", "together with its neighbour")
    assert all(regime.lines["one_way"].slope > 0 for regime in fit.regimes)


def test_times_that_never_grow_are_an_error(tmp_path: Path):
    falling = machine.write(tmp_path, one_way=lambda n: 5e-6 - 1e-12 * n, noise=0.0, configuration=False)
    with pytest.raises(InputError, match="no rate shows: measure longer messages; nothing was fitted"):
        fitted(falling)


def test_two_machines_in_one_file_are_noticed(tmp_path: Path):
    first = machine.write(tmp_path / "a")
    second = machine.write(tmp_path / "b", one_way=lambda n: 1.5 * machine.one_way_s(n))
    for kind in ("PingPong", "Recv", "Isend"):
        with (first / f"machine_{kind}.csv").open("a") as file:
            file.write((second / f"machine_{kind}.csv").read_text())
    assert says(fitted(first), "two machines or conditions in one data set", "fit them apart")


def test_a_run_that_was_cut_in_a_line_is_read_to_there(tmp_path: Path):
    file = machine.write(tmp_path) / "machine_PingPong.csv"
    rows = file.read_text().splitlines()
    file.write_text("\n".join(rows[: len(rows) // 2 + 1]) + "\nMPI_Re")
    fit = fitted(tmp_path)
    assert says(fit, "incomplete lines, the last 'MPI_Re'", "the run was cut")
    assert says(fit, "MPI_Send and", "the fit takes the first")


def test_sizes_with_few_repetitions_show_a_cut(tmp_path: Path):
    file = machine.write(tmp_path) / "machine_PingPong.csv"
    rows = file.read_text().splitlines()
    file.write_text("\n".join(rows[:-14]) + "\n")
    assert says(fitted(tmp_path), "1 of", "fewer than the usual 10 repetitions", "takes those that are there")


def test_a_campaign_without_ping_pongs_gives_no_platform(tmp_path: Path):
    (machine.write(tmp_path) / "machine_PingPong.csv").unlink()
    with pytest.raises(InputError, match=r"no …_PingPong.csv: .*nothing was fitted"):
        fitted(tmp_path)


def test_an_eager_limit_that_the_times_contradict_is_raised(tmp_path: Path):
    """Above the limit, 2 µs of start-up leave no time for a handshake of two messages of 2 µs."""
    folder = machine.write(
        tmp_path, one_way=lambda n: np.where(n <= 90_000, 2e-6 + 1e-10 * n, 8e-6 + 4e-11 * n)
    )
    fit = fitted(folder, breakpoints=[8192, 90_000])
    assert fit.eager_limit == 90_000
    assert says(fit, "eager limit of 8192 B is not in the times", "the fit takes 90000 B")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size,duration\n", "a header and no line"),
        ("size,duration\n1,two\n", ":2: not a size and a duration"),
        ("experiment,size,duration\nscan,1,2\n", ":2: unknown experiment 'scan'; known: pingpong"),
    ],
)
def test_a_broken_table_names_its_line(tmp_path: Path, text: str, message: str):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        sources.read([tmp_path / "t.csv"])


@pytest.mark.parametrize(
    ("seconds", "step"),
    [
        ([0.2e-6] * 90 + [8.492e-6] * 2 + [8.602e-6] * 2 + [8.986e-6] * 2, 0.0),
        ([1e-6] * 30 + [2e-6] * 30 + [5e-6] * 30, 1e-6),
        ([0.9999e-6] * 30 + [2.0001e-6] * 30 + [3e-6] * 30 + [7e-6] * 30, 1e-6),
    ],
    ids=["a simulated time", "a coarse clock", "a coarse clock whose digits are rounded"],
)
def test_a_step_is_what_durations_are_multiples_of(seconds: list[float], step: float) -> None:
    """A simulated call takes the same time always: few times, and no clock between them."""
    assert defects.clock_step_s(np.array(seconds)) == pytest.approx(step, rel=1e-3)
