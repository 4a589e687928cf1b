"""Thresholds, nodecomm, ring and saturation: under real MPI libraries, and against formulas under hopcast."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import pytest
from real_mpi import launch
from test_measure import HOPCAST, REAL, calibrate, design, needs_hopcast, needs_mpi

from hopcast.toml import tomllib

each_library = pytest.mark.parametrize("name", REAL)


def simulated(platform: str, ranks: int, per_host: int, *flags: str) -> list[str]:
    flags = ("-n", str(ranks), "--ppn", str(per_host), "--quiet", "--compute", "none", *flags)
    return [*HOPCAST, "run", platform, *flags]


def table(place: Path) -> list[dict[str, str]]:
    with place.open() as file:
        return list(csv.DictReader(file))


def measured(program: str, out: Path, launcher: list[str], *words: object, arguments: str = "") -> str:
    options = ("--program", program, "-o", out, *words, f"--arguments={arguments}")
    done = calibrate("measure", *options, "--", *launcher)
    assert done.returncode == 0, done.stderr
    return done.stdout


# s [s], R_Cb and R_Ci [B/s], R_N [B/s] of hopper-max-rate between two hosts of one router. s is the latency
# of regime and NICs (591.25 ns); rendezvous has two short messages more, of 1.89125 µs and no payload.
REGIMES = (
    (511, 1.3e-6 + 591.25e-9, 0.63e9, 0.63e9, None),
    (8191, 4.8e-6 + 591.25e-9, 1.7e9, 0.062e9, None),
    (10**9, 5.3e-6 + 591.25e-9 + 2 * 1.89125e-6, 3.6e9, 0.61e9, 5.5e9),
)


def round_trip(nbytes: int, pairs: int) -> float:
    """Twice T = s + k n / min(R_N, R_Cb + (k-1) R_Ci)."""
    _, start, base, further, nic = next(regime for regime in REGIMES if nbytes <= regime[0])
    rate = base + (pairs - 1) * further
    return 2 * (start + pairs * nbytes / min(rate, nic or rate))


@needs_hopcast
def test_nodecomm_on_a_max_rate_platform_prints_its_formula(tmp_path: Path) -> None:
    """The text to its three digits, the table within 0.1 %.

    One repetition of pairs that begin together: a pair that is ahead by a nanosecond has the NIC for itself
    that long, and is further ahead the next time, so that many repetitions drift apart.
    """
    arguments = "-sizes 1,64,512,2048,8192,65536 -ntest 1 -ntestlong 1 -together"
    said = measured("nodecomm", tmp_path / "out", simulated("hopper-max-rate", 16, 8), arguments=arguments)
    lines = said.splitlines()
    assert lines[:3] == [
        "Pingpong for",
        "master:  0, 1, 2, 3, 4, 5, 6, 7",
        "partner: 8, 9, 10, 11, 12, 13, 14, 15",
    ]
    for line in lines[3:9]:
        ints, *times = line.rstrip("\t").split("\t")
        assert times == [f"{round_trip(4 * int(ints), pairs):.2e}" for pairs in range(1, 9)]
    kept = (tmp_path / "out" / "nodecomm.txt").read_text().splitlines()
    assert kept == lines[:3] + [f"{line}\t" for line in lines[3:9]]
    rows = table(tmp_path / "out" / "nodecomm.csv")
    assert len(rows) == 6 * 8 * 5
    for row in rows:
        expected = round_trip(int(row["bytes"]), int(row["pairs"]))
        assert float(row["seconds"]) == pytest.approx(expected, rel=1e-3), row
        assert float(row["one_way_seconds"]) == pytest.approx(expected / 2, rel=1e-3)
    assert {row["dimension"] for row in rows} == {"node"}


@needs_hopcast
def test_nodecomm_walks_chips_and_dimensions(tmp_path: Path) -> None:
    """Two chips on each host, and hosts on a grid of 2 x 2 that a file tells: three blocks."""
    places = tmp_path / "map"
    lines = (f"{rank} {rank // 4 % 2} {rank // 8}\n" for rank in range(16))
    places.write_text("# rank x y\n" + "".join(lines))
    launcher = simulated("hopper", 16, 4, "--set", "host.sockets=2")
    said = measured(
        "nodecomm", tmp_path / "out", launcher, arguments=f"-sizes 1,1024 -ntest 2 -map {places} -pairs 1,2"
    )
    blocks = re.findall(r"master:  (.*)\npartner: (.*)\n", said)
    # Ranks are dealt to chips in turns; rank 4 is the first of the next host in x, rank 8 in y.
    assert blocks == [("0, 2", "1, 3"), ("0, 1, 2, 3", "4, 5, 6, 7"), ("0, 1, 2, 3", "8, 9, 10, 11")]
    rows = table(tmp_path / "out" / "nodecomm.csv")
    assert [row["dimension"] for row in rows[::20]] == ["chip", "x0", "x1"]
    assert {row["pairs"] for row in rows} == {"1", "2"}


@needs_hopcast
def test_nodecomm_with_overlap_prints_three_times(tmp_path: Path) -> None:
    """Computing takes no time here, so work takes none, and both together what communication takes."""
    said = measured(
        "nodecomm", tmp_path / "out", simulated("hopper", 4, 2), arguments="-sizes 256 -ntest 4 -o -together"
    )
    ints, *times = said.splitlines()[3].rstrip("\t").split("\t")
    assert (ints, len(times)) == ("256", 6)
    assert times[1] == times[4] == "0.00e+00"
    assert float(times[2]) == pytest.approx(float(times[0]), rel=0.02)


@each_library
def test_nodecomm_under_a_real_library(name: str, tmp_path: Path) -> None:
    said = measured("nodecomm", tmp_path / "out", launch(name, 2), arguments="-sizes 1,1024 -ntest 20")
    assert said.startswith("Pingpong for\nmaster:  0\npartner: 1\n1\t")
    rows = table(tmp_path / "out" / "nodecomm.csv")
    assert len(rows) == 2 * 5
    by_name = {row["statistic"]: float(row["seconds"]) for row in rows[:5]}
    assert 0 < by_name["min"] <= by_name["median"] <= by_name["max"]
    assert by_name["min"] <= by_name["mean"] <= by_name["max"]


@needs_hopcast
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("-quick", "unknown option '-quick'; known: -v -d"),
        ("-sizes 1,many", "-sizes many: whole numbers"),
        ("-map /no/such/map", "/no/such/map: No such file"),
    ],
)
def test_bad_options_of_nodecomm_are_named(words: str, wanted: str, tmp_path: Path) -> None:
    options = ("--program", "nodecomm", "-o", tmp_path / "out", f"--arguments={words}")
    done = calibrate("measure", *options, "--", *simulated("hopper", 2, 1))
    assert (done.returncode, wanted in done.stderr) == (2, True), done.stderr


@needs_hopcast
@pytest.mark.parametrize("method", ["auto", "variables", "tests"])
def test_thresholds_are_the_platforms(method: str, tmp_path: Path) -> None:
    launcher = simulated("hopper", 2, 1, "--set", "mpi.eager_limit=3001 B")
    measured(
        "thresholds", tmp_path / "out", launcher, arguments=f"--method {method} --longest 100000 --wait 0.01"
    )
    rows = {
        row["limit"]: row for row in table(tmp_path / "out" / "thresholds.csv") if row["limit"] != "variable"
    }
    assert {limit: row["bytes"] for limit, row in rows.items()} == {
        "asynchronous": "3001",
        "detached": "3001",
    }
    source = {
        "auto": "control variable eager_limit and tests",
        "variables": "control variable eager_limit",
        "tests": "deadlock and corruption tests",
    }
    assert rows["detached"]["source"] == source[method]
    assert 'eager_threshold value="3001"' in (tmp_path / "out" / "thresholds.xml").read_text()


@needs_hopcast
def test_detached_sends_are_between_both_thresholds(tmp_path: Path) -> None:
    """By tests, since the library's variable says nothing of them; and by times of sends alone."""
    limits = ("--set", "mpi.eager_limit=3001 B", "--set", "mpi.detached_limit=40 kB")
    launcher = simulated("hopper", 2, 1, *limits)
    measured("thresholds", tmp_path / "out", launcher, arguments="--longest 100000 --wait 0.01")
    rows = {row["limit"]: row["bytes"] for row in table(tmp_path / "out" / "thresholds.csv")}
    assert (rows["asynchronous"], rows["detached"]) == ("3001", "40000")
    place = tmp_path / "design.csv"
    sizes = design.Sizes(1, 1_000_000, 80, 10)
    rows = design.network(sizes, 1, ("Recv", "Isend", "PingPong"), 2, 1)
    design.write(rows, place)
    done = calibrate("measure", "--design", place, "-o", tmp_path / "times", "--", *launcher)
    assert done.returncode == 0, done.stderr
    platform = tmp_path / "again.toml"
    words = ("--flop-rate", "1 Gflop/s", "--eager-limit", "3001B")
    done = calibrate("fit", tmp_path / "times", "-o", platform, *words)
    assert done.returncode == 0, done.stderr
    last = max(size for _, size in rows if size <= 40_000)
    assert tomllib.loads(platform.read_text())["mpi"]["detached_limit"] == f"{last} B"


@pytest.mark.skipif("openmpi" not in REAL, reason="Open MPI is not installed")
def test_the_eager_limit_of_open_mpi_is_found(tmp_path: Path) -> None:
    """Set to 5,000 bytes between processes of a host, of which its header takes less than 100."""
    launcher = launch("openmpi", 2)
    launcher[1:1] = [
        "--mca",
        "btl",
        "self,vader",
        "--mca",
        "pml",
        "ob1",
        "--mca",
        "btl_vader_eager_limit",
        "5000",
    ]
    measured("thresholds", tmp_path / "out", launcher, arguments="--longest 20000 --wait 0.1")
    rows = table(tmp_path / "out" / "thresholds.csv")
    assert {"limit": "variable", "bytes": "5000", "source": "btl_vader_eager_limit"} in rows
    detached = next(int(row["bytes"]) for row in rows if row["limit"] == "detached")
    assert 4900 < detached <= 5000


@needs_mpi
def test_a_ring_records_both_calls_of_each_pair(tmp_path: Path) -> None:
    place = tmp_path / "ring.csv"
    design.write([("Ring", 100), ("Ring", 20_000)], place)
    measured("ring", tmp_path / "out", launch(REAL[0], 3), "--design", place, "--background", "both")
    rows = table(tmp_path / "out" / "ring.csv")
    counts = Counter((row["rank"], row["function"], row["size"]) for row in rows)
    assert set(counts.values()) == {2}
    assert len(counts) == 3 * 2 * 2
    assert all(float(row["duration"]) > 0 for row in rows)


@needs_hopcast
def test_a_simulated_ring_takes_turns(tmp_path: Path) -> None:
    """A rank's send to the right begins when the one that it got from the left has gone back."""
    place = tmp_path / "ring.csv"
    design.write([("Ring", 100)], place)
    measured("ring", tmp_path / "out", simulated("hopper", 4, 1), "--design", place)
    rows = table(tmp_path / "out" / "ring.csv")
    begin = {(row["rank"], i % 4): float(row["timestamp"]) for i, row in enumerate(rows)}
    order = [begin[str(rank), 0] for rank in (0, 1, 2, 3)]
    assert order == sorted(order)
    assert begin["0", 2] > begin["3", 0]


@needs_hopcast
def test_saturation_adds_pairs_one_at_a_time(tmp_path: Path) -> None:
    """On a crossbar 4 MB take the same time for one pair and for three, each with links of its own."""
    measured("saturation", tmp_path / "out", simulated("omni-path", 6, 1), arguments="--repetitions 10")
    names = ("load_send", "load_sendrecv_same", "load_sendrecv_diff", "load_alltoall")
    found = {}
    for name in names:
        with (tmp_path / "out" / f"{name}.csv").open() as file:
            found[name] = list(csv.reader(file))
    counts = {name: dict(Counter(row[0] for row in rows)) for name, rows in found.items()}
    # As in published campaigns: a rank has the repetitions of all steps that it takes part in.
    assert counts["load_send"] == {"0": 30, "1": 20, "2": 10, "3": 30, "4": 20, "5": 10}
    assert counts["load_sendrecv_diff"] == {"0": 10, "1": 10, "3": 10, "4": 10}
    assert counts["load_alltoall"] == {"0": 3, "1": 3, "2": 2, "3": 2, "4": 1, "5": 1}
    alone = [float(row[4]) for row in found["load_send"] if row[0] == "0"]
    assert alone[25] == pytest.approx(alone[5], rel=1e-3)


@each_library
def test_saturation_under_a_real_library(name: str, tmp_path: Path) -> None:
    measured("saturation", tmp_path / "out", launch(name, 4), arguments="--repetitions 2 --bytes 10000")
    for file in ("load_send", "load_sendrecv_same", "load_sendrecv_diff", "load_alltoall"):
        assert (tmp_path / "out" / f"{file}.csv").read_text().count("\n") >= 6


@needs_hopcast
def test_nodecomm_takes_the_pairs_that_are_named(tmp_path: Path) -> None:
    launcher = simulated("hopper-max-rate", 4, 4)
    words = "-sizes 64 -ntest 1 -masters 0,1 -partners 3,2"
    said = measured("nodecomm", tmp_path / "out", launcher, arguments=words)
    assert said.splitlines()[:3] == ["Pingpong for", "master:  0, 1", "partner: 3, 2"]
    assert said.count("Pingpong for") == 1
    assert {row["dimension"] for row in table(tmp_path / "out" / "nodecomm.csv")} == {"named"}
    for wrong, message in (
        ("-masters 0,1 -partners 1,2", "rank 1 is named twice"),
        ("-masters 0 -partners 4", "rank 4 is not there"),
        ("-masters 0,1 -partners 2", "names 2 ranks and -partners 1"),
    ):
        options = ("--program", "nodecomm", "-o", tmp_path / message, f"--arguments=-sizes 64 {wrong}")
        done = calibrate("measure", *options, "--", *launcher)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr


@needs_hopcast
def test_streams_share_a_nic_one_way(tmp_path: Path) -> None:
    """Messages of 4 MB take what the law of k pairs says, of whose start-ups little shows.

    Ping-pongs of as many pairs drift apart, and use both ways of the NIC at once.
    """
    launcher = simulated("hopper-max-rate", 8, 4)
    words = "-stream -sizes 1000000 -ntestlong 5 -pairs 2,4"
    measured("nodecomm", tmp_path / "out", launcher, arguments=words)
    rows = [row for row in table(tmp_path / "out" / "nodecomm.csv") if row["statistic"] == "slowest-process"]
    times = {int(row["pairs"]): float(row["one_way_seconds"]) for row in rows}
    for pairs in (2, 4):
        assert times[pairs] == pytest.approx(round_trip(4_000_000, pairs) / 2, rel=0.02)
