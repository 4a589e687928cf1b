"""From a raw campaign to a platform file: a made-up machine comes back, and so does its ping-pong."""

from __future__ import annotations

import csv
import re
import tarfile
from pathlib import Path

import made_up_campaign as machine
import numpy as np
import pytest
from click.testing import CliRunner

from hopcast.calibrate import campaigns, sources
from hopcast.calibrate.network_fit import fit_campaign
from hopcast.cli.calibrate import command
from hopcast.errors import InputError


def fitted(folder: Path, **options):
    """The fit of the one campaign in a folder."""
    (campaign,) = campaigns.read(folder)
    return fit_campaign(campaign, **options)


def calibrate(*arguments: object) -> str:
    """Output of `hopcast calibrate`, standard error included."""
    result = CliRunner().invoke(command, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_machine_comes_back(tmp_path: Path):
    fit = fitted(machine.write(tmp_path))
    below = machine.sizes()[machine.sizes() <= machine.LIMIT][-1]
    assert len(fit.regimes) == 2 and below <= fit.regimes[0].up_to <= machine.LIMIT
    assert fit.eager_limit == machine.LIMIT
    for regime, (start, slope) in zip(fit.regimes, (machine.SHORT, machine.LONG), strict=True):
        line = regime.lines["one_way"]
        assert abs(line.intercept - start) < 4 * line.intercept_error
        assert abs(line.slope - slope) < 4 * line.slope_error
        assert regime.lines["send"].intercept == pytest.approx(machine.SEND[0], rel=0.02)
        assert regime.accuracy.median < 0.01
    assert (fit.iprobe.seconds, fit.test.seconds, fit.wtime.seconds) == pytest.approx((3e-7, 2e-7, 4e-8))
    assert fit.findings == ()


def test_a_platform_predicts_the_ping_pongs_that_it_was_fitted_to(tmp_path: Path):
    data, platform, residuals = machine.write(tmp_path / "raw"), tmp_path / "m.toml", tmp_path / "r.csv"
    calibrate("fit", data, "-o", platform, "--flop-rate", "1 Gflop/s", "--residuals", residuals)
    checked = calibrate("check", platform, data)
    assert "120 sizes" not in checked and f"{len(machine.sizes())} sizes" in checked
    median = float(checked.split("median ")[1].split(" %")[0])
    assert median < 1
    rows = residuals.read_text().splitlines()
    assert len(rows) == 1 + len(machine.sizes()) and rows[0].startswith("campaign,bytes,")
    text = platform.read_text()
    assert "half of the measured round trips; sizes are bytes" in text and "(± " in text
    assert "messages within a host were not measured" in text


def test_memcpy_stands_for_messages_within_a_host_that_were_not_measured(tmp_path: Path):
    """10 GB/s after 100 ns, of which reading the clock took 40."""
    raw = machine.write(tmp_path / "raw")
    [pings] = raw.glob("*_PingPong.csv")
    rows = [f"memcpy,{n},{n / 1e6:.9f},{1e-7 + n / 10e9:.9e}\n" for n in machine.sizes() for _ in range(3)]
    pings.with_name(pings.name.replace("PingPong", "Memory")).write_text("".join(rows))
    calibrate("fit", raw, "-o", tmp_path / "m.toml", "--flop-rate", "1 Gflop/s")
    text = (tmp_path / "m.toml").read_text()
    copies = text[text.index("[host.memory]") : text.index("[nic]")]
    latency, bandwidth = (float(value) for value in re.findall(r'"([\d.]+) (?:us|GB/s)"', copies)[:2])
    assert latency == pytest.approx(0.06, rel=0.05)
    assert bandwidth == pytest.approx(10, rel=0.05)
    assert "they take what a memcpy does" in text
    rate = re.search(r'^reduce_rate = "([\d.]+) GB/s"', text, re.MULTILINE)
    assert rate and float(rate[1]) == pytest.approx(10 * 2 / 3, rel=0.05), "three bytes move instead of two"


def test_reductions_of_which_nothing_is_known_are_said_to_take_no_time(tmp_path: Path):
    calibrate("fit", machine.write(tmp_path / "raw"), "-o", tmp_path / "m.toml", "--flop-rate", "1 Gflop/s")
    text = (tmp_path / "m.toml").read_text()
    assert "# reduce_rate: neither reductions nor memcpy were measured" in text
    assert not re.search("^reduce_rate", text, re.MULTILINE)


def test_few_sizes_above_the_eager_limit_make_no_rendezvous(tmp_path: Path):
    """Short messages must not pay for a handshake that a few long ones cannot tell."""
    longest = machine.sizes()[-4]
    data = machine.write(tmp_path / "raw")
    said = calibrate(
        "fit", data, "-o", tmp_path / "m.toml", "--flop-rate", "1 Gflop/s", "--eager-limit", longest
    )
    assert "above the eager limit" in said
    assert "rendezvous" not in re.findall(r'^name = "(\w+)', (tmp_path / "m.toml").read_text(), re.MULTILINE)


def test_a_campaign_within_a_host_becomes_its_memory(tmp_path: Path):
    machine.write(tmp_path / "raw" / "network")
    near = machine.write(
        tmp_path / "raw" / "loopback",
        one_way=lambda n: np.where(n <= machine.LIMIT, 8e-7 + 5e-11 * n, 4e-6 + 5e-11 * n),
    )
    platform = tmp_path / "m.toml"
    calibrate("fit", tmp_path / "raw", "-o", platform, "--flop-rate", "1 Gflop/s")
    checked = calibrate("check", platform, near, "--within-a-host")
    assert float(checked.split("median ")[1].split(" %")[0]) < 1
    assert "unmeasured" not in platform.read_text()


def test_campaigns_of_levels_become_levels_and_are_met(tmp_path: Path):
    """Three pairs of processes: with a cache in common, in one socket, and on different sockets."""
    machine.write(tmp_path / "raw" / "network")
    starts = {"cache": (8e-7, 6e-11), "socket": (1.2e-6, 8e-11), "far": (2.4e-6, 1.6e-10)}

    def one_way(start: float, slope: float):
        return lambda n: start + slope * n

    near = {
        name: machine.write(tmp_path / "raw" / name / "loopback", one_way=one_way(*law))
        for name, law in starts.items()
    }
    platform = tmp_path / "m.toml"
    known = [campaign.name for campaign in campaigns.read(tmp_path / "raw")]
    names = {name: next(each for each in known if name in each) for name in starts}
    fit = ("fit", tmp_path / "raw", "-o", platform, "--flop-rate", "1 Gflop/s", "--processes", 8)
    limit = ("--memory-eager-limit", "1 TB")
    levels = ("--level", "cache", 2, names["cache"], "--level", "socket", 4, names["socket"])
    calibrate(*fit, *limit, *levels, "--memory", names["far"])
    for level, (name, other) in {
        "cache": ("cache", "socket"),
        "socket": ("socket", "far"),
        "host": ("far", "cache"),
    }.items():
        checked = calibrate("check", platform, near[name], "--level", level)
        assert float(checked.split("median ")[1].split(" %")[0]) < 1
        wrong = calibrate("check", platform, near[other], "--level", level)
        assert float(wrong.split("median ")[1].split(" %")[0]) > 10, "levels differ"
    with pytest.raises(InputError, match="unknown level 'numa'; known: cache, socket, host"):
        calibrate("check", platform, near["far"], "--level", "numa")
    calibrate(*fit, *limit, *levels)
    assert "far" in platform.read_text().split("[host.memory]")[1].split("\n")[0], "the one that is left"
    wrong = ("--level", "socket", 4, names["socket"], "--level", "cache", 2, names["cache"])
    with pytest.raises(InputError, match="levels are listed from the innermost outwards"):
        calibrate(*fit, *limit, *wrong, "--memory", names["far"])
    with pytest.raises(InputError, match="name their campaign with --memory"):
        calibrate(*fit, *limit, *levels[:4])


def test_a_handshake_within_a_host_that_takes_no_overheads_is_met(tmp_path: Path):
    """Start-up 800 ns, and 1.6 µs above the limit: two empty messages and nothing more, as in dahu's file."""
    machine.write(tmp_path / "raw" / "network")
    near = machine.write(
        tmp_path / "raw" / "loopback",
        one_way=lambda n: np.where(n <= machine.LIMIT, 8e-7 + 5e-11 * n, 1.6e-6 + 5e-11 * n),
    )
    platform = tmp_path / "m.toml"
    calibrate("fit", tmp_path / "raw", "-o", platform, "--flop-rate", "1 Gflop/s")
    assert "overheads are cut to it" in platform.read_text()
    checked = calibrate("check", platform, near, "--within-a-host", "--breakpoints", machine.LIMIT)
    medians = [float(line.split("median ")[1].split(" %")[0]) for line in checked.splitlines()[1:4]]
    assert len(medians) == 3 and max(medians) < 1


def test_the_page_shows_each_size_and_each_finding(tmp_path: Path):
    """Two points for each size of round trips, time and error; one for each size of other calls."""
    machine.write(tmp_path / "raw" / "network")
    machine.write(tmp_path / "raw" / "loopback")
    platform = tmp_path / "m.toml"
    calibrate("fit", tmp_path / "raw", "-o", platform, "--flop-rate", "1 Gflop/s")
    page = (tmp_path / "m.html").read_text()
    found = campaigns.read(tmp_path / "raw")
    points = sum(
        len(np.unique(calls.sizes)) * (2 if kind == "round_trip" else 1)
        for campaign in found
        for kind, calls in campaign.calls.items()
        if kind in ("round_trip", "send", "isend", "recv")
    )
    assert page.count("<svg ") == 3 * len(found) == 6
    assert page.count("<circle ") == points
    assert page.count("At the sizes held back: median ") == 2
    assert "What the data do not tell" not in page
    assert "process_rate" in page

    rows = "".join(f"{n},{2e-6 + 2e-9 * n}\n" for n in range(1, 40))
    (tmp_path / "table.csv").write_text(f"size,duration\n{rows}")
    out = tmp_path / "other.html"
    calibrate(
        *("fit", tmp_path / "table.csv", "-o", tmp_path / "t.toml", "--flop-rate", "1 Gflop/s"),
        *("--report", out, "--eager-limit", "1kB"),
    )
    page = out.read_text()
    assert "What the data do not tell" in page
    assert "no measurements of send: its time is counted as the network&#39;s" in page
    assert not (tmp_path / "t.html").exists()


def test_a_rate_that_does_not_show_is_said_to_be_unknown(tmp_path: Path):
    """Up to 100 B a microsecond, which noise of 3 % hides a byte's 10 ps in; from 100 kB on 10 GB/s."""
    random = np.random.default_rng(2)
    sizes = np.concatenate([np.arange(1, 100, 4), np.geomspace(1e5, 1e6, 25).round()])
    seconds = 2 * (1e-6 + 1e-10 * sizes) * np.exp(0.03 * random.standard_normal(len(sizes)))
    table = tmp_path / "t.csv"
    rows = "".join(f"{n:.0f},{t}\n" for n, t in zip(sizes, seconds, strict=True))
    table.write_text(f"size,duration\n{rows}")
    platform = tmp_path / "t.toml"
    printed = calibrate(
        *("fit", table, "-o", platform, "--flop-rate", "1 Gflop/s"),
        *("--breakpoints", "1000", "--eager-limit", "1000"),
    )
    assert "0 to 1,000 B: the rate is not identified" in printed
    first, last = [line for line in platform.read_text().splitlines() if line.startswith("process_rate")]
    assert "not identified" in first and "not identified" not in last
    page = (tmp_path / "t.html").read_text()
    assert '<td class="n">not identified</td>' in page


def test_the_modes_of_a_send_are_a_table(tmp_path: Path):
    """A tenth of the sends takes 3 µs more than the rest, whose deviation is 1 % of 0.3 µs."""
    folder = machine.write(tmp_path / "raw", repetitions=20)
    file = folder / "machine_PingPong.csv"
    rows = [row.split(",") for row in file.read_text().splitlines()]
    for number, row in enumerate(rows):
        if row[0] == "MPI_Send" and number % 20 == 0:
            row[3] = f"{float(row[3]) + 3e-6:.9e}"
    file.write_text("".join(",".join(row) + "\n" for row in rows))
    out = tmp_path / "modes.csv"
    calibrate("fit", tmp_path / "raw", "-o", tmp_path / "m.toml", "--flop-rate", "1 Gflop/s", "--modes", out)
    with out.open(newline="") as table:
        sends = [row for row in csv.DictReader(table) if row["kind"] == "send" and row["above_bytes"] == "0"]
    assert [float(row["weight"]) for row in sends] == pytest.approx([0.9, 0.1], abs=0.01)
    assert float(sends[1]["mean_s"]) - float(sends[0]["mean_s"]) == pytest.approx(3e-6, rel=0.02)


def test_archives_are_read_as_they_are(tmp_path: Path):
    data = machine.write(tmp_path / "raw")
    with tarfile.open(tmp_path / "raw.tar.xz", "w:xz") as archive:
        archive.add(data, arcname="./calibration")
    (packed,), (plain,) = campaigns.read(tmp_path / "raw.tar.xz"), campaigns.read(data)
    assert packed.name == "calibration" and packed.settings == plain.settings
    assert np.array_equal(packed.calls["round_trip"].seconds, plain.calls["round_trip"].seconds)


def test_a_table_of_one_way_times_in_integers_is_what_the_flags_say(tmp_path: Path):
    lengths = machine.sizes()
    rows = [f"{n / 4},{t}" for n, t in zip(lengths, machine.one_way_s(lengths), strict=True)]
    table = tmp_path / "pingpong.csv"
    table.write_text("size,duration\n" + "\n".join(rows) + "\n")
    (campaign,) = sources.read([table], unit_bytes=4, one_way=True)
    fit = fit_campaign(campaign)
    assert fit.one_way_s(lengths) == pytest.approx(machine.one_way_s(lengths), rel=1e-6)


def test_given_breakpoints_are_taken(tmp_path: Path):
    fit = fitted(machine.write(tmp_path), breakpoints=[100, 8192, 100_000])
    assert [regime.up_to for regime in fit.regimes] == [100, 8192, 100_000, None]


def test_few_sizes_above_the_eager_limit_do_not_change_what_the_calls_below_it_take(tmp_path: Path):
    lengths = np.append(machine.sizes(60, np.log10(machine.LIMIT)), (20_000.0, 30_000.0, 40_000.0))
    fit = fitted(machine.write(tmp_path, lengths=lengths, waits=lambda sizes: sizes > machine.LIMIT))
    last = fit.regimes[-1]
    assert last.up_to is None and last.calls == (last.above, machine.LIMIT)
    assert last.lines["send"].intercept == pytest.approx(machine.SEND[0], rel=0.1)
    assert any("above the eager limit" in finding for finding in fit.findings)


def test_several_campaigns_are_not_fitted_as_one(tmp_path: Path):
    machine.write(tmp_path / "raw" / "old")
    machine.write(tmp_path / "raw" / "new")
    with pytest.raises(InputError, match=r"2 campaigns.*choose with --campaign; known: 'new', 'old'"):
        calibrate("fit", tmp_path / "raw", "-o", tmp_path / "m.toml", "--flop-rate", "1 Gflop/s")
    assert not (tmp_path / "m.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("fit", "nowhere"), "nowhere: no such file or directory"),
        (("fit", "raw", "--campaign", "x"), "unknown campaign 'x'; known: 'machine'"),
        (("fit", "raw", "--breakpoints", "8k,4k"), "rise from one to the next"),
        (("fit", "raw", "--breakpoints", "given"), "no breakpoints came with it"),
        (("fit", "raw", "--eager-limit", "8 furlongs"), "is not a size"),
        (("fit", "raw", "--link-bandwidth", "10"), "is not a bandwidth"),
        (("fit", "raw", "--unit-bytes", "4"), "are for tables"),
    ],
)
def test_bad_arguments_name_place_and_choices(tmp_path: Path, monkeypatch, arguments, text):
    machine.write(tmp_path / "raw")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=text):
        calibrate(*arguments, "-o", "m.toml", "--flop-rate", "1 Gflop/s")
