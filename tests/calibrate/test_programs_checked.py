"""`hopcast calibrate check` of rings and saturations: measured under hopcast, they are met to all digits."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_measure import calibrate, design, needs_hopcast
from test_measuring_programs import measured, simulated

from hopcast import core
from hopcast.calibrate import ring_check, saturation_check
from hopcast.cli.calibrate import command
from hopcast.errors import InputError
from hopcast.toml import tomllib

SIZES = (1, 100, 5000, 20_000, 100_000)


def check(*words: object) -> str:
    done = CliRunner().invoke(command, ["check", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def worst(text: str) -> list[float]:
    return [float(value) for value in re.findall(r"worst ([\d.e-]+) %", text)]


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    """A ring of four ranks on two hosts of omni-path, three rounds of each size."""
    place = tmp_path / "ring-design.csv"
    design.write([("Ring", size) for size in SIZES for _ in range(3)], place)
    words = ("--design", place, "--background", "probe")
    measured("ring", tmp_path / "ring", simulated("omni-path", 4, 2), *words)
    return tmp_path / "ring"


@needs_hopcast
def test_a_ring_is_met_by_its_platform_and_missed_by_another(ring: Path, tmp_path: Path) -> None:
    """Times between hosts double where the wire's latency and bandwidth are those of a slower network."""
    printed = check("omni-path", ring)
    assert "Ring of 4 ranks, background probe" in printed
    for kind in ("round trip", "MPI_Send", "MPI_Recv"):
        for place in ("", " inside hosts"):
            assert f"\nring {kind}{place}: {len(SIZES)} sizes\n" in printed
    assert max(worst(printed)) < 1e-3
    slow = tmp_path / "slow.toml"
    done = calibrate("check", "omni-path", ring, "--record")
    assert done.returncode == 2 and "'omni-path' is no file" in done.stderr
    slow.write_text(core.platform_text("omni-path", ('nic.latency="5 us"',), True))
    printed = check(slow, ring, "--record")
    [trip] = re.findall(r"^ring round trip: .*\n((?:  .*\n)+)", printed, re.M)
    [near] = re.findall(r"^ring round trip inside hosts: .*\n((?:  .*\n)+)", printed, re.M)
    assert worst(trip)[-1] > 50 > 5 > worst(near)[-1], "polls are hit at other times"
    checks = tomllib.loads(slow.read_text())["calibration"]["checks"]
    assert {"ring round trip", "ring MPI_Recv inside hosts"} <= {each["what"] for each in checks}


@needs_hopcast
def test_rings_that_tell_too_little_are_refused(ring: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a ring or a saturation is compared by 'hopcast calibrate check"):
        words = ["fit", ring / "ring.csv", "-o", tmp_path / "m.toml", "--flop-rate", "1 Gflop/s"]
        CliRunner().invoke(command, [str(word) for word in words], catch_exceptions=False)
    with pytest.raises(InputError, match="--level: means nothing for programs that are simulated"):
        check("omni-path", ring, "--level", "host")
    lines = (ring / "ring.csv").read_text().splitlines(keepends=True)
    (ring / "ring.csv").write_text("".join(lines[:-1]))
    with pytest.raises(InputError, match="lines are not four for each of 4 ranks and each round"):
        check("omni-path", ring)
    (ring / "machine.json").unlink()
    with pytest.raises(InputError, match="without it a ring cannot be simulated"):
        check("omni-path", ring)


def test_the_lines_of_a_ring_belong_to_their_sides(tmp_path: Path) -> None:
    """Two ranks on one host and one on another: (0, 1) is inside a host, (1, 2) and (2, 0) are between."""
    seconds = {0: (1, 2, 30, 40), 1: (10, 20, 3, 4), 2: (100, 200, 300, 400)}
    rows = [
        f"{function},{rank},8,0,0.0,{time}\n"
        for rank, times in seconds.items()
        for function, time in zip(("MPI_Send", "MPI_Recv", "MPI_Recv", "MPI_Send"), times, strict=True)
    ]
    (tmp_path / "ring.csv").write_text(f"{','.join(ring_check.HEAD)}\n{''.join(rows)}")
    facts = {"ranks": [{"host_number": host} for host in (0, 0, 1)]}
    (tmp_path / "machine.json").write_text(json.dumps(facts))
    found = {key: one.seconds.tolist() for key, one in ring_check.read(tmp_path).series().items()}
    assert found["round trip", False] == [3]
    assert found["round trip", True] == [(30 + 300) / 2]
    assert found["MPI_Recv", False] == [3], "rank 1, from rank 0"
    assert found["MPI_Recv", True] == [(30 + 300) / 2]
    assert found["MPI_Send", False] == [(1 + 4) / 2]
    assert found["MPI_Send", True] == [(40 + 100) / 2], "of 10, 100, 40 and 400"


@needs_hopcast
def test_a_saturation_is_met_by_its_platform(tmp_path: Path) -> None:
    """Three pairs: the last of those with two partners waits, and no load of it is known."""
    out = tmp_path / "out"
    measured("saturation", out, simulated("omni-path", 6, 1), arguments="--repetitions 10")
    printed = check("omni-path", out)
    assert max(worst(printed)) < 1e-3 and len(worst(printed)) == 4
    loads = saturation_check.read(out)
    assert {name: list(load.seconds) for name, load in loads.items()} == {
        "load_send": [1, 2, 3],
        "load_sendrecv_same": [1, 2, 3],
        "load_sendrecv_diff": [2],
        "load_alltoall": [2, 4, 6],
    }
    assert worst(check("omni-path", out / "load_send.csv")) == [0]
    lines = (out / "load_send.csv").read_text().splitlines(keepends=True)
    (out / "load_send.csv").write_text("".join(lines[:-1]))
    with pytest.raises(InputError, match=r"load_send\.csv: 9 lines of rank 5, and 10 for each of 1 loads"):
        check("omni-path", out)


@needs_hopcast
def test_a_switch_that_saturates_shows_in_its_curve(tmp_path: Path) -> None:
    """Rows of a made-up switch that carries one message of 1 ms at a time, beside one that carries all."""
    rows = [
        f"{rank},MPI_Send,4000000,0.0,{float(load)}\n"
        for rank in (0, 1, 2, 3)
        for load in (1, 2)
        if load > rank % 2
        for _ in range(5)
    ]
    (tmp_path / "load_send.csv").write_text("".join(rows))
    printed = check("omni-path", tmp_path)
    found = [float(value) for value in re.findall(r"pairs: measured ([\d.]+) ms", printed)]
    ours = [float(value) for value in re.findall(r"predicted ([\d.]+) ms", printed)]
    assert found == [1, 2] and ours[0] == pytest.approx(ours[1], rel=1e-3)
    all_to_all = "".join(f"{rank},MPI_Alltoall,4000000,0.0,1.0\n" for rank in (0, 1))
    (tmp_path / "load_alltoall.csv").write_text(all_to_all)
    assert "SimGrid's program, which sends all bytes to each rank" in check("omni-path", tmp_path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("0,MPI_Send,4000000,1,nan\n1,MPI_Send,4000000,1,2\n", "a duration is no time above zero"),
        ("0,MPI_Send,4000000,1,-1\n1,MPI_Send,4000000,1,2\n", "a duration is no time above zero"),
        (
            "0,MPI_Send,4000000,1,3\n1000000000,MPI_Send,4000000,1,2\n",
            "lines of 2 ranks from 0 to 1000000000",
        ),
        ("-5,MPI_Send,4000000,1,3\n", "lines of 1 ranks from -5 to -5"),
        ("0,MPI_Send,0,1,3\n1,MPI_Send,0,1,3\n", "messages of 0 B"),
        ("0,MPI_Send,99999999999,1,3\n1,MPI_Send,99999999999,1,3\n", "messages of 99999999999 B"),
        ("0,MPI_Send,8,1,3\n1,MPI_Send,9,1,3\n", "messages of 2 sizes"),
    ],
)
def test_lines_that_no_saturation_has_are_refused(lines: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "load_send.csv").write_text(lines)
    with pytest.raises(InputError, match=message):
        saturation_check.read(tmp_path)


@pytest.mark.parametrize("change", [("8", "99999999999"), ("8", "-1"), ("0.5", "nan"), ("0.5", "-1")])
def test_lines_that_no_ring_has_are_refused(change: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_text('{"ranks": [{"host_number": 0}]}')
    rows = [f"{name},0,8,0,0,0.5\n" for name in ("MPI_Send", "MPI_Recv", "MPI_Recv", "MPI_Send")]
    head = ",".join(ring_check.HEAD) + "\n"
    (tmp_path / "ring.csv").write_text(head + "".join(rows))
    assert ring_check.read(tmp_path).sizes.tolist() == [8]
    (tmp_path / "ring.csv").write_text(head + "".join(rows).replace(*change, 1))
    with pytest.raises(InputError, match="a duration is no time, or a size is not from 0 to"):
        ring_check.read(tmp_path)
