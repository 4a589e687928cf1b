"""Recorded traces of other tools: the table of docs/traces.md is true; SimGrid's expected times come out."""

from __future__ import annotations

import json
import os
import re
import tarfile
from pathlib import Path

import pytest

import hopcast
from hopcast import core
from hopcast.record.files import converted, scaled, sliced

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("HOPCAST_DATA", ROOT.parent / "shared" / "data"))
PLATFORMS = ("crossbar", "mustang", "hopper")
TEXT = (ROOT / "docs" / "traces.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.split("<!-- begin replayed -->")[1].split("<!-- end replayed -->")[0].splitlines()
    if line.startswith("| ") and not line.startswith(("| format", "| ---"))
]


def unpacked(archive: str, place: Path) -> Path:
    """The files of an archive of DATA, or a skip where it is absent."""
    if not (DATA / archive).exists():
        pytest.skip(f"no {archive} in {DATA} (set HOPCAST_DATA)")
    with tarfile.open(DATA / archive) as files:
        files.extractall(place, filter="data")
    return place


def samples(cell: str, place: Path) -> list[Path]:
    """Samples that a cell of the table names."""
    parts = re.findall(r"`([^`]+)`", cell)
    within = DATA if len(parts) == 1 else unpacked(parts[0], place)
    found = sorted(within.glob(parts[-1]))
    if not found:
        pytest.skip(f"no {parts[-1]} in {within} (set HOPCAST_DATA)")
    return found


@pytest.mark.parametrize("row", [row for row in ROWS if row[0] == "otf2"], ids=lambda row: row[1])
def test_what_is_converted_replays_as_the_sample_does(row: list[str], tmp_path: Path) -> None:
    """The clocks of these archives count parts of a nanosecond, of which `.hct` keeps none.

    So each call, and each gap before one, is less than 1 ns longer or shorter there. Those of several ranks
    may add up; a call that only waited is longer than all of that.
    """
    for number, path in enumerate(samples(row[1], tmp_path)):
        copy = tmp_path / f"copy-{number}.hct"
        converted(str(path), str(copy), False, None)
        original, again = (hopcast.run("crossbar", trace) for trace in (path, copy))
        calls = sum(call["count"] for call in original.summary["calls"])
        assert again.makespan_s == pytest.approx(original.makespan_s, abs=2e-9 * calls), path
        finalize = {call["call"]: call["total_s"] for call in again.summary["calls"]}
        assert finalize.get("MPI_Finalize", 0) == 0


SIMGRID = [row for row in ROWS if row[0] == "simgrid"]


@pytest.mark.parametrize("row", SIMGRID, ids=lambda row: re.sub(r"[`*]|.*/", "", row[1]))
def test_operations_at_the_platforms_rate_replay_alike(row: list[str], tmp_path: Path) -> None:
    """At 1 Gflop/s an operation takes 1 ns, so that nothing is rounded.

    Messages are sent at once, whatever their length: else what a test lets go on would matter. Computing
    that follows computing is one time in the copy, and a test is a call that asks nothing: of these the hash
    tells, and the times do not.
    """
    (tmp_path / "even.toml").write_text(
        platform(1e-6, 1e9, mpi='eager_limit = "1 TB"', flop_rate="1 Gflop/s")
    )
    for number, path in enumerate(samples(row[1], tmp_path)):
        copy = tmp_path / f"copy-{number}.hct"
        converted(str(path), str(copy), False, None, "1 Gflop/s")
        outcomes = [hopcast.run(tmp_path / "even.toml", trace).summary for trace in (path, copy)]
        assert outcomes[0]["makespan_s"] == pytest.approx(outcomes[1]["makespan_s"], rel=1e-9), path
        if path.name not in ("actions_allreduce.txt", "actions_with_isend.txt", "smpi_replay.txt"):
            assert outcomes[0]["outcome_hash"] == outcomes[1]["outcome_hash"], path


COMPUTES = """0 init
1 init
1 sleep 0.25
0 compute 3e6
0 allreduce 10 5e6 6
1 allreduce 10 5e6 6
0 compute 2e6
"""
"""Rank 0 computes last, and never finalizes."""


def test_operations_are_shown_and_need_a_rate(tmp_path: Path) -> None:
    trace = tmp_path / "computes.ti"
    trace.write_text(COMPUTES)
    shown: list[str] = []
    core.trace_dump(str(trace), [0], True, False, shown.append)
    computing = [line.strip() for line in "".join(shown).splitlines() if "flop" in line]
    assert computing == ["compute 3000000 flop", "compute 5000000 flop", "compute 2000000 flop"]
    lines: list[str] = []
    core.trace_dump(str(trace), [], True, True, lines.append)
    listed = [json.loads(line) for line in "".join(lines).splitlines()]
    computing = [
        (one["rank"], one.get("flops"), one.get("seconds")) for one in listed if one["did"] == "compute"
    ]
    assert computing == [(0, 3e6, None), (0, 5e6, None), (0, 2e6, None), (1, None, 0.25), (1, 5e6, None)]

    # Ranks are converted at the same time: either may be the first.
    first = "(line 4: rank 0 computes 3000000|line 6: rank 1 computes 5000000)"
    reason = rf'computes.ti: {first} operations.*--flop-rate "1 Gflop/s"'
    with pytest.raises(hopcast.InputError, match=reason):
        converted(str(trace), str(tmp_path / "no.hct"), False, None)
    with pytest.raises(hopcast.InputError, match=r"rank \d computes \d+ operations.*--flop-rate"):
        sliced(str(trace), str(tmp_path / "no.hct"), False, "0 s", "1 s", None)
    with pytest.raises(hopcast.InputError, match=r"rank \d computes \d+ operations.*--flop-rate"):
        scaled(str(trace), str(tmp_path / "no.hct"), False, None, [4])
    for rate, wrong in [("0 Gflop/s", "at least 1 flop/s"), ("5", "has no unit"), ("5 GB/s", "unknown unit")]:
        with pytest.raises(hopcast.InputError, match=f"--flop-rate {rate}: .*{wrong}"):
            converted(str(trace), str(tmp_path / "no.hct"), False, None, rate)

    copy = tmp_path / "copy.hct"
    converted(str(trace), str(copy), False, None, "1 Gflop/s")
    with pytest.raises(hopcast.InputError, match="of the format hct all computing is in time"):
        converted(str(copy), str(tmp_path / "no.hct"), False, None, "1 Gflop/s")
    # The reduction waits for the sleep, and takes 5 ms; then come 2 ms, after the last call.
    (tmp_path / "even.toml").write_text(platform(0, 1e12, mpi='eager_limit = "1 TB"', flop_rate="1 Gflop/s"))
    for replayed in (trace, copy):
        report = hopcast.run(tmp_path / "even.toml", replayed)
        assert report.makespan_s == pytest.approx(0.25 + 5e-3 + 2e-3, rel=1e-4)


def test_the_table_names_the_platforms() -> None:
    assert all(f"`{platform}`" in TEXT for platform in PLATFORMS)
    assert len(ROWS) >= 14


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"[`*]|.*/", "", row[1]))
def test_samples_of_the_table_replay_on_three_platforms(row: list[str], tmp_path: Path) -> None:
    name, sample, ranks, messages, _ = row
    paths = samples(sample, tmp_path)
    summaries = [core.trace_summary(str(path)) for path in paths]
    assert {summary["format"] for summary in summaries} == {name}
    assert {summary["ranks"] for summary in summaries} == {int(number) for number in ranks.split(",")}
    assert sum(summary["messages"] for summary in summaries) == int(messages)
    for path in paths:
        for platform in PLATFORMS:
            report = hopcast.run(platform, str(path))
            assert report.summary["failure"] is None, (path, platform)
            assert report.summary["ranks"] in {summary["ranks"] for summary in summaries}


def platform(latency_s: float, bandwidth_Bps: float, *, mpi: str, flop_rate: str = "1 Gflop/s") -> str:
    """A few hosts, with half of the latency at either end."""
    return f"""
name = "translated"
summary = "what another simulator is told"
source = "its platform"

[topology]
kind = "crossbar"
hosts = 32

[host]
processes = 1

[host.memory]
latency = "15 us"
bandwidth = "498 MB/s"

[nic]
bandwidth = "{bandwidth_Bps:.0f} B/s"
latency = "{latency_s / 2 * 1e9:.0f} ns"
gap = "1 us"

[mpi]
{mpi}

[compute]
flop_rate = "{flop_rate}"
"""


SMPI = (11.6436, 0.940694)
DEFAULT = (13.01, 0.97)
"""Factors of SimGrid's models on latency and bandwidth of a link. Acknowledgements take 5 % more."""


@pytest.mark.parametrize(
    ("trace", "latency_s", "bandwidth_Bps", "factors", "flop_rate", "expected_s"),
    [
        # From Tremblay to Jupiter by link 9; Jupiter alone computes.
        ("replay/split_traces", 1.461517e-3, 7.20975e6, SMPI, "76.296 Mflop/s", 13.622360),
        # The longest way is Fafard's: 3e9 operations and two tests of 0.1 ms; all else happens meanwhile.
        ("replay/actions_with_isend.txt", 1.461517e-3, 7.20975e6, SMPI, "76.296 Mflop/s", 39.320741),
        # From Bourassa to Fafard by links 8, 6 and 7, of which 8 is the slowest; Bourassa is the slower host.
        (
            "replay_multiple_manual_deploy/mixed.txt",
            0.520428e-3,
            8.158e6,
            DEFAULT,
            "48.492 Mflop/s",
            737.001382,
        ),
    ],
)
def test_simgrids_expected_times(
    trace: str,
    latency_s: float,
    bandwidth_Bps: float,
    factors: tuple[float, float],
    flop_rate: str,
    expected_s: float,
    tmp_path: Path,
) -> None:
    place = unpacked("simgrid-ti/simgrid-replay-and-platforms.tar.xz", tmp_path)
    latency_s, bandwidth_Bps = latency_s * factors[0], bandwidth_Bps * factors[1] / 1.05
    text = platform(latency_s, bandwidth_Bps, mpi='eager_limit = "1 TB"', flop_rate=flop_rate)
    file = tmp_path / "simgrid.toml"
    file.write_text(text)
    report = hopcast.run(str(file), str(place / "examples" / "smpi" / trace))
    assert report.makespan_s == pytest.approx(expected_s, rel=1e-4)
    if "mixed" in trace:
        assert "737.001 s" in TEXT


@pytest.mark.parametrize(
    ("schedule", "ways", "computed_us"),
    [
        # The longest chain of messages, and what is computed before and behind them.
        ("dissemination_16", 4, 0),
        ("dissemination_32", 5, 0),
        ("binary_tree_32", 5, 0),
        # Rank 0 computes for 1 us and sends; rank 1 computes for 2 us behind the message.
        ("llamp_blocking", 1, 3),
    ],
)
def test_schedules_take_what_the_loggop_model_says(
    schedule: str, ways: int, computed_us: float, tmp_path: Path
) -> None:
    """LogGOPSim's defaults: L 2.5 us, o 1.5 us, G 6 ns. Its README gives 22 us for dissemination_16."""
    path = DATA / "goal" / f"{schedule}.goal"
    if not path.exists():
        pytest.skip(f"no {path} (set HOPCAST_DATA)")
    overheads = 'regimes = [{ name = "all", send_overhead = "1.5 us", receive_overhead = "1.5 us" }]'
    file = tmp_path / "loggop.toml"
    file.write_text(platform(2.5e-6, 1e9 / 6, mpi=overheads))
    report = hopcast.run(str(file), str(path), model="loggp")
    nbytes = 4 if schedule.startswith("llamp") else 1
    assert report.makespan_s == pytest.approx(
        (ways * (2.5 + 2 * 1.5 + 0.006 * nbytes) + computed_us) * 1e-6, rel=1e-6
    )


def test_a_list_of_files_names_the_one_that_is_missing(tmp_path: Path) -> None:
    (tmp_path / "rank0").write_text("0 init\n0 compute 1e9\n0 finalize\n")
    (tmp_path / "list").write_text("rank0\nrank1\n")
    with pytest.raises(hopcast.InputError, match=r"it lists .*rank1"):
        hopcast.run("crossbar", str(tmp_path / "list"))
    (tmp_path / "list").write_text("rank0\n")
    assert hopcast.run("crossbar", str(tmp_path / "list")).summary["ranks"] == 1


def test_a_trace_without_times_has_no_timestamps(tmp_path: Path) -> None:
    (tmp_path / "one.goal").write_text("num_ranks 1\nrank 0 {\ncalc 1000\n}\n")
    with pytest.raises(hopcast.InputError, match="the format goal has no times"):
        hopcast.run("crossbar", str(tmp_path / "one.goal"), mode="timestamps")
    assert hopcast.run("crossbar", str(tmp_path / "one.goal")).makespan_s == pytest.approx(1e-6)
