"""Bad input on the command line: `hopcast calibrate fit` says what is missing and what it did instead."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path

import made_up_campaign as machine
import numpy as np
import pytest
from click.testing import CliRunner

from hopcast.cli.calibrate import command
from hopcast.errors import InputError
from hopcast.toml import tomllib

SIZES = machine.sizes()
TRIPS = 2 * machine.one_way_s(SIZES)


def table(folder: Path, rows: Iterable[tuple[object, object]], end: str = "\n") -> Path:
    """A table of ping-pongs."""
    place = folder / "t.csv"
    place.write_text("size,duration\n" + "\n".join(f"{size},{time}" for size, time in rows) + end)
    return place


def fitted(data: Path, *options: str) -> str:
    """Output of the fit, after a look at its platform: no number in it is infinite, and no rate zero."""
    out = data.parent / "out.toml"
    result = CliRunner().invoke(
        command,
        ["fit", str(data), "-o", str(out), "--flop-rate", "1 Gflop/s", *options],
        catch_exceptions=False,
    )
    assert result.exit_code == 0, result.output
    text = out.read_text()
    keys = [line.split("#")[0] for line in text.splitlines()]
    numbers = [word for line in keys for word in re.findall(r'"([^" ]+) (?:us|GB/s|ps/B)', line)]
    assert numbers and all(math.isfinite(float(number)) for number in numbers)
    rates = [word for line in keys for word in re.findall(r'"(\S+) GB/s"', line)]
    assert all(1e-6 < float(rate) < 1e3 for rate in rates)
    for warning in re.findall(r"^warning: (.*)$", result.output, re.MULTILINE):
        assert warning in text or warning.startswith("in "), "each finding stands in the platform, too"
    return result.output


def refused(data: Path, *options: str) -> str:
    """The error of a fit that writes nothing."""
    with pytest.raises(InputError) as error:
        fitted(data, *options)
    assert not (data.parent / "out.toml").exists()
    return str(error.value)


def test_one_size_is_too_few(tmp_path: Path):
    said = refused(table(tmp_path, [(1000, 1e-5)] * 5))
    assert said == (
        "round_trip: 1 usable sizes, and a line needs 2: measure more sizes, or longer messages; "
        "nothing was fitted"
    )


def test_few_sizes_have_one_line(tmp_path: Path):
    said = fitted(table(tmp_path, [(1000 * k, 1e-6 * (2 + k) * (1 + 0.01 * (-1) ** k)) for k in range(1, 7)]))
    assert "6 sizes, and a breakpoint needs 5 on each side: none is looked for" in said


def test_a_start_up_that_does_not_show_is_no_silent_zero(tmp_path: Path):
    said = fitted(table(tmp_path, [(1000, 1e-5), (2000, 2e-5)]))
    assert "the start-up does not show beside the bytes: measure shorter messages; the fit takes none" in said


def test_one_repetition(tmp_path: Path):
    said = fitted(machine.write(tmp_path / "raw", repetitions=1))
    assert "round_trip: each size was measured once: its own noise is not known; the fit takes" in said


@pytest.mark.parametrize("count", [24, len(SIZES)])
def test_a_clock_that_is_too_coarse(tmp_path: Path, count: int):
    """2 µs: no time repeats often among 24 sizes, and all are its multiples."""
    chosen = np.linspace(0, len(SIZES) - 1, count).astype(int)
    rounded = np.round(TRIPS / 2e-6) * 2e-6
    said = fitted(table(tmp_path, zip(SIZES[chosen], rounded[chosen], strict=True)))
    assert "the clock's step, 2 µs, is more than a fifth of the time of" in said and "left out" in said


def test_a_clock_that_shows_no_call_leaves_the_ping_pongs(tmp_path: Path):
    folder = machine.write(tmp_path / "raw")
    rows = [row.rsplit(",", 1)[0] for row in (folder / "machine_Recv.csv").read_text().splitlines()]
    (folder / "machine_Recv.csv").write_text("".join(f"{row},0\n" for row in rows))
    said = fitted(folder)
    assert "recv: 0 usable sizes, and a line needs 2" in said
    assert "the fit counts its time as the network's" in said


def test_a_clock_that_shows_no_ping_pong(tmp_path: Path):
    said = refused(table(tmp_path, ((size, 0) for size in SIZES)))
    assert f"{len(SIZES)} sizes take no time or less" in said and said.endswith("nothing was fitted")


def test_polls_without_a_time_give_no_platform_without_end(tmp_path: Path):
    """A poll of no time would let a loop of tests never end."""
    folder = machine.write(tmp_path / "raw")
    for kind in ("Test", "Iprobe"):
        rows = "".join(f"MPI_{kind},1,{i},{machine.CLOCK}\n" for i in range(20))
        (folder / f"machine_{kind}.csv").write_text(rows)
    said = fitted(folder)
    assert "test: half of the polls take no longer than reading the clock" in said
    data = tomllib.loads((tmp_path / "out.toml").read_text())
    assert "poll" not in data["mpi"]
    assert [row["function"] for row in data["mpi"]["functions"]] == ["MPI_Wtime"]


def test_sizes_in_integers(tmp_path: Path):
    rows = list(zip(SIZES / 4, TRIPS, strict=True))
    said = fitted(table(tmp_path, rows), "--link-bandwidth", "25 GB/s")
    assert "6.25 GB/s, and the link nominally 25 GB/s: are the sizes in units of several bytes" in said
    assert "The fit takes sizes as bytes and halves round trips" in said
    assert "sizes are no whole numbers of bytes, as 0.25: are they in another unit" in said
    said = fitted(tmp_path / "t.csv", "--link-bandwidth", "25 GB/s", "--unit-bytes", "4")
    assert "another unit" not in said and "nominally" not in said


def test_one_way_times_as_round_trips(tmp_path: Path):
    place = table(tmp_path, zip(SIZES, TRIPS / 2, strict=True))
    said = fitted(place, "--link-bandwidth", "25 GB/s")
    assert "50 GB/s, and the link nominally 25 GB/s: are the times one way already (--one-way)" in said
    assert "nominally" not in fitted(place, "--link-bandwidth", "25 GB/s", "--one-way")


def test_without_a_nominal_rate_the_units_of_a_table_are_an_assumption(tmp_path: Path):
    said = fitted(table(tmp_path, zip(SIZES, TRIPS, strict=True)))
    assert "a table says no units: sizes are taken as bytes (--unit-bytes), and times" in said


def test_times_in_another_unit(tmp_path: Path):
    said = fitted(table(tmp_path, zip(SIZES, 1e3 * TRIPS, strict=True)))
    assert "0.002 s: are the times in milliseconds or microseconds? The fit takes them as seconds" in said


def test_an_empty_file(tmp_path: Path):
    (tmp_path / "t.csv").touch()
    assert refused(tmp_path / "t.csv") == f"{tmp_path / 't.csv'}: an empty file: nothing to fit"


def test_calls_that_were_not_measured_are_no_silent_zero(tmp_path: Path):
    fitted(table(tmp_path, zip(SIZES, TRIPS, strict=True)))
    text = (tmp_path / "out.toml").read_text()
    assert 'send_overhead = "0 us"    # not measured: counted as the network\'s' in text


def test_a_negative_slope(tmp_path: Path):
    said = refused(table(tmp_path, zip(SIZES, 5e-6 - 1e-12 * SIZES, strict=True)))
    assert "or fall: no rate shows: measure longer messages; nothing was fitted" in said


def test_a_negative_slope_in_one_regime(tmp_path: Path):
    falling = np.where(SIZES < 1000, 1e-5 - 4e-9 * SIZES, TRIPS)
    said = fitted(table(tmp_path, zip(SIZES, falling, strict=True)), "--breakpoints", "999")
    assert "regime from 0 B to 999 B: times do not grow with the size, or fall" in said
    assert "it is fitted together with its neighbour" in said


def test_a_rate_that_noise_hides_is_no_silent_infinity(tmp_path: Path):
    """Times of 2.5 µs whatever the size: the likeliest slope is above zero by chance, and no rate."""
    noise = np.exp(0.03 * np.random.default_rng(1).standard_normal(len(SIZES)))
    said = refused(table(tmp_path, zip(SIZES, 5e-6 * noise, strict=True)))
    assert "the rate is not identified" in said or "no rate shows" in said
    assert said.endswith("measure longer messages; nothing was fitted")


def test_a_rate_that_noise_hides_is_taken_if_it_can_be(tmp_path: Path):
    """5 GB/s up to 2 kB, which take 0.4 of 2.5 us in noise of 30 %: the likeliest, with its name."""
    lengths = SIZES[SIZES <= 2000]
    noise = np.exp(0.3 * np.random.default_rng(4).standard_normal(len(lengths)))
    place = table(tmp_path, zip(lengths, (5e-6 + 4e-10 * lengths) * noise, strict=True))
    said = fitted(place)
    assert "the rate is not identified: the bytes do not show" in said and "takes the likeliest" in said
    said = fitted(place, "--link-bandwidth", "3 GB/s")
    assert "takes the likeliest, up to that of the link, 3 GB/s" in said
    assert 'bandwidth = "3 GB/s"    # nominal' in (tmp_path / "out.toml").read_text()


def test_two_machines_one_after_the_other(tmp_path: Path):
    rows = [(size, time) for factor in (1, 1.5) for size, time in zip(SIZES, factor * TRIPS, strict=True)]
    assert "two machines or conditions in one data set" in fitted(table(tmp_path, rows))


@pytest.mark.parametrize("repetitions", [1, 10])
def test_two_machines_mixed(tmp_path: Path, repetitions: int):
    """Every other call, or size, on a machine that is half as fast again."""
    random = np.random.default_rng(3)
    sizes = np.repeat(SIZES, repetitions)
    slower = np.where(np.arange(len(sizes)) % 2, 1.5, 1.0) * np.exp(0.01 * random.standard_normal(len(sizes)))
    order = random.permutation(len(sizes))
    times = slower * 2 * machine.one_way_s(sizes)
    said = fitted(table(tmp_path, zip(sizes[order], times[order], strict=True)))
    assert re.search(r"fall into two groups, (49|5\d)(\.\d)? % apart, .*two machines or conditions", said)
    assert "fit them apart" in said


def test_two_machines_in_a_run_that_was_cut(tmp_path: Path):
    """Three repetitions of the longest size are missing, and that hides no second machine."""
    rows = [
        (size, time * factor * (1 + 0.001 * step))
        for size, time in zip(SIZES, TRIPS, strict=True)
        for step in range(5)
        for factor in (1, 1.5)
    ]
    said = fitted(table(tmp_path, rows[:-4]))
    assert "1 of 109 sizes have fewer than the usual 10 repetitions" in said
    assert "two machines or conditions" in said


def test_one_noisy_machine_is_one(tmp_path: Path):
    """Noise of 30 %, much more than the distance of the two machines above in their own noise."""
    assert "two machines" not in fitted(machine.write(tmp_path / "raw", noise=0.3))


def test_two_names_of_machines(tmp_path: Path):
    rows = [
        f"{size},{time * factor},{name}"
        for name, factor in (("a", 1), ("b", 2))
        for size, time in zip(SIZES, TRIPS, strict=True)
    ]
    (tmp_path / "t.csv").write_text("size,duration,cluster\n" + "\n".join(rows) + "\n")
    said = refused(tmp_path / "t.csv")
    assert "2 campaigns, which may be of different machines or conditions" in said
    assert "known: 'a', 'b'" in said


@pytest.mark.parametrize("rest", ["12", "12,", "12,4", "12,4e", "12,4.1e-"])
def test_a_run_that_was_cut_in_a_line(tmp_path: Path, rest: str):
    said = fitted(table(tmp_path, zip(SIZES, TRIPS, strict=True), end=f"\n{rest}"))
    assert f"an incomplete line at the end, '{rest}': the run was cut; the fit takes the {len(SIZES)}" in said


def test_a_whole_line_without_an_end_is_kept(tmp_path: Path):
    said = fitted(table(tmp_path, zip(SIZES, TRIPS, strict=True), end=""))
    assert "incomplete" not in said and "1,000,000 B" in said


def test_a_run_that_was_cut_between_repetitions(tmp_path: Path):
    rows = [(size, time) for size, time in zip(SIZES, TRIPS, strict=True) for _ in range(10)]
    order = np.random.default_rng(5).permutation(len(rows))
    said = fitted(table(tmp_path, [rows[place] for place in order[: len(rows) * 6 // 10]]))
    assert "fewer than the usual 6 repetitions" in said and "the fit takes those that are there" in said


@pytest.mark.parametrize("value", ["nan", "inf", "-1e-6"])
def test_values_that_are_no_times(tmp_path: Path, value: str):
    said = fitted(table(tmp_path, [*zip(SIZES, TRIPS, strict=True), (5, value)]))
    assert f"round_trip: 1 of {len(SIZES) + 1} calls without a valid size or time, the first 5 B in" in said
    assert "they are left out" in said


@pytest.mark.parametrize("wtime", ["0", "nan", "-1"])
def test_a_clock_without_a_time(tmp_path: Path, wtime: str):
    folder = machine.write(tmp_path / "raw")
    (folder / "machine_Wtime.csv").write_text(f"MPI_Wtime,0,1.0,{wtime}\n")
    assert "the clock is not subtracted from the times" in fitted(folder)


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ('<eager_threshold value="8 KiB"/>', "testplatform.xml: eager_threshold: '8 KiB' is not a number"),
        ('<expected_latency value="fast"/>', "testplatform.xml: expected_latency: 'fast' is not a number"),
    ],
)
def test_settings_that_are_no_numbers(tmp_path: Path, setting: str, text: str):
    folder = machine.write(tmp_path / "raw")
    (folder / "testplatform.xml").write_text(f"<config>{setting}</config>")
    assert text in refused(folder)


def test_a_nominal_rate_of_zero_is_none(tmp_path: Path):
    folder = machine.write(tmp_path / "raw")
    (folder / "testplatform.xml").write_text('<config><expected_bandwidth value="0"/></config>')
    assert "a nominal bandwidth of 0 is none: it is not used" in fitted(folder)
    assert "a bandwidth is greater than zero" in refused_flag(folder, "--link-bandwidth", "0 GB/s")


def test_a_faulty_flag_writes_over_nothing(tmp_path: Path):
    folder = machine.write(tmp_path / "raw")
    out = tmp_path / "out.toml"
    out.write_text("older")
    assert f"{out}:" in refused_flag(folder, "--flop-rate", "fast")
    assert out.read_text() == "older"


def refused_flag(data: Path, *options: str) -> str:
    """The error of a flag."""
    with pytest.raises(InputError) as error:
        fitted(data, *options)
    return str(error.value)
