"""Measuring programs under MPICH, Open MPI and hopcast: what they write, and runs that were cut."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from real_mpi import ENVIRONMENT, launch, works

from hopcast.calibrate import design, machine, measure
from hopcast.errors import InputError
from hopcast.live import library

HOPCAST = [sys.executable, "-m", "hopcast"]
SIMULATED = [*HOPCAST, "run", "omni-path", "-n", "2", "--ppn", "1", "--quiet", "--compute", "none"]
REAL = [library for library in ("mpich", "openmpi") if works(library)]
LAUNCHERS = {name: launch(name, 2) for name in REAL}
if library.LIBRARY.exists():
    LAUNCHERS["hopcast"] = SIMULATED
KINDS = ("Recv", "Isend", "PingPong", "Iprobe", "Test", "Memory")

each_launcher = pytest.mark.parametrize("name", LAUNCHERS)
needs_hopcast = pytest.mark.skipif("hopcast" not in LAUNCHERS, reason="built without the MPI library")
needs_mpi = pytest.mark.skipif(not REAL, reason="neither MPICH nor Open MPI is installed")


def test_some_launcher_is_there() -> None:
    if not LAUNCHERS:
        pytest.skip("neither an MPI library nor hopcast's own is there")


def calibrate(*words: object, **more) -> subprocess.CompletedProcess:
    command = [*HOPCAST, "calibrate", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, env=ENVIRONMENT | more, timeout=120, check=False
    )


def made_design(folder: Path, sizes: int = 4, repetitions: int = 3, kinds: tuple[str, ...] = KINDS) -> Path:
    place = folder / "list.csv"
    rows = design.network(design.Sizes(1, 100_000, sizes, 2), repetitions, kinds, 2, 1)
    design.write(rows, place)
    return place


def rows(place: Path) -> list[list[str]]:
    with place.open() as file:
        return list(csv.reader(file))


@each_launcher
def test_each_measurement_of_the_design_has_its_lines(name: str, tmp_path: Path) -> None:
    place = made_design(tmp_path)
    wanted = design.read_network(place)
    done = calibrate("measure", "-o", tmp_path / "out", "--design", place, "--", *LAUNCHERS[name])
    assert done.returncode == 0, done.stderr
    prefix = "network" if name == "hopcast" else "loopback"
    found = {kind: rows(tmp_path / "out" / f"{prefix}_{kind}.csv") for kind in KINDS}
    functions = {"Recv": ["MPI_Recv"], "Isend": ["MPI_Isend"], "PingPong": ["MPI_Send", "MPI_Recv"]}
    functions["Memory"] = ["memcpy", "memset"]
    for kind, calls in functions.items():
        expected = [[call, str(size)] for other, size in wanted if other == kind for call in calls]
        assert [row[:2] for row in found[kind]] == expected
    for kind in ("Iprobe", "Test"):
        # Polls of a measurement stand together; there is one at least, which finds the message.
        sizes = [row[1] for row in found[kind]]
        assert list(dict.fromkeys(sizes)) == list(
            dict.fromkeys(str(size) for other, size in wanted if other == kind)
        )
    for kind in set(KINDS) - {"Memory"}:
        assert all(float(row[3]) >= 0 for row in found[kind])
        assert any(float(row[3]) > 0 for row in found[kind])
        starts = [float(row[2]) for row in found[kind]]
        assert starts == sorted(starts)
    facts = json.loads((tmp_path / "out" / "machine.json").read_text())
    assert len(facts["ranks"]) == 2
    assert facts["conditions"] == {"background": "none", "partner": "auto"}
    assert {"mpich": "MPICH", "openmpi": "Open MPI", "hopcast": "hopcast"}[name] in facts["mpi_library"]


@needs_hopcast
def test_simulated_ping_pongs_take_the_time_of_the_platform(tmp_path: Path) -> None:
    """On hopper-max-rate: latency of the regime, 591.25 ns of NICs on one router, and n / R_C, each way.

    Up to 511 B that is 1.3 µs and 0.63 GB/s, up to 8,191 B 4.8 µs and 1.7 GB/s.
    """
    place = tmp_path / "list.csv"
    design.write([("PingPong", 1), ("PingPong", 500), ("PingPong", 8000)], place)
    launcher = [*HOPCAST, "run", "hopper-max-rate", "-n", "2", "--ppn", "1", "--quiet", "--compute", "none"]
    done = calibrate("measure", "-o", tmp_path / "out", "--design", place, "--", *launcher)
    assert done.returncode == 0, done.stderr
    times = [float(row[3]) for row in rows(tmp_path / "out" / "network_PingPong.csv")]
    expected = [
        2 * (latency + 591.25e-9 + size / rate)
        for size, latency, rate in ((1, 1.3e-6, 0.63e9), (500, 1.3e-6, 0.63e9), (8000, 4.8e-6, 1.7e9))
    ]
    assert [times[0] + times[1], times[2] + times[3], times[4] + times[5]] == pytest.approx(
        expected, rel=1e-5
    )


@needs_hopcast
def test_a_run_that_was_cut_goes_on(tmp_path: Path) -> None:
    """As a killed run leaves it: half a line more than the journal tells of, in files and journal."""
    place = made_design(tmp_path, repetitions=20)
    count = len(design.read_network(place))
    out = tmp_path / "out"
    words = ("measure", "-o", out, "--design", place, "--", *SIMULATED)
    assert calibrate(*words).returncode == 0
    complete = {file.name: file.read_bytes() for file in out.glob("network_*.csv")}
    again = calibrate(*words)
    assert again.returncode == 2
    assert f"all of its {count} measurements are done" in again.stderr

    # As if it had been killed behind ten measurements: their lines, and some that no journal tells of.
    kinds = [kind for kind, _ in design.read_network(place)[:10]]
    lengths = []
    for kind in design.NETWORK_KINDS:
        file = out / f"network_{kind}.csv"
        lines = complete.get(file.name, b"").splitlines(keepends=True)
        if kind in ("Iprobe", "Test"):
            lines = [] if kind not in kinds else lines
            kept = b"".join(lines) if kinds.count(kind) == 2 else b""
            if kinds.count(kind) == 1:
                pytest.fail("the design has one poll within its first ten measurements; take another seed")
        else:
            kept = b"".join(lines[: kinds.count(kind) * (2 if kind in ("PingPong", "Memory") else 1)])
        lengths.append(len(kept))
        file.write_bytes(kept + b"MPI_Recv,17,0.0")
    (out / "journal.csv").write_text(f"10,0.5,{','.join(map(str, lengths))}\n11,0.6,99")
    done = calibrate(*words)
    assert done.returncode == 0, done.stderr
    assert "going on after 10" in done.stdout
    for name, before in complete.items():
        lines = (out / name).read_text().splitlines()
        assert [line.split(",")[:2] for line in lines] == [
            line.split(",")[:2] for line in before.decode().splitlines()
        ]


@needs_hopcast
def test_other_conditions_are_refused(tmp_path: Path) -> None:
    place = made_design(tmp_path, kinds=("PingPong",))
    out = tmp_path / "out"
    assert calibrate("measure", "-o", out, "--design", place, "--", *SIMULATED).returncode == 0
    (out / "journal.csv").unlink()
    other = [word if word != "omni-path" else "hopper" for word in SIMULATED]
    done = calibrate("measure", "-o", out, "--design", place, "--", *other)
    assert (done.returncode, "begun under other conditions: launcher was" in done.stderr) == (2, True)
    (tmp_path / "second.csv").write_text("PingPong,7\n")
    done = calibrate("measure", "-o", out, "--design", tmp_path / "second.csv", "--", *SIMULATED)
    assert (done.returncode, "begun with another design" in done.stderr) == (2, True)


def of_load(place: Path) -> tuple[int, int, float]:
    """Products of matrices, polls, and seconds of the one rank that made a load."""
    (line,) = rows(place)[1:]
    assert line[0] == "2"
    return int(line[1]), int(line[2]), float(line[3])


@needs_mpi
@pytest.mark.parametrize("background", measure.BACKGROUNDS)
def test_other_ranks_make_the_load(background: str, tmp_path: Path) -> None:
    """As counted by the rank that makes it: one that sleeps looks for the end every 10 ms at most."""
    place = made_design(tmp_path, repetitions=1, kinds=("Recv", "PingPong"))
    words = ("measure", "-o", tmp_path / "out", "--design", place, "--background", background, "--")
    done = calibrate(*words, *launch(REAL[0], 3))
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "out" / "machine.json").read_text())
    assert facts["conditions"]["background"] == background
    kernels, polls, seconds = of_load(tmp_path / "out" / "load.csv")
    sleeping = 1 + seconds / 0.01
    if background == "none":
        assert (kernels, polls <= sleeping) == (0, True)
    elif background == "probe":
        assert (kernels, polls > sleeping) == (0, True)
    else:
        assert kernels == polls * (1 if background == "both" else 100) > 0
    assert ("products of matrices" in done.stdout) == (background != "none")


@needs_mpi
def test_a_load_needs_ranks_that_do_not_measure(tmp_path: Path) -> None:
    words = ("--design", made_design(tmp_path), "--background", "both", "--")
    done = calibrate("measure", "-o", tmp_path / "two", *words, *launch(REAL[0], 2))
    assert "the load is made by ranks that do not measure: start more than 2" in done.stderr


@each_launcher
def test_one_rank_is_not_enough(name: str, tmp_path: Path) -> None:
    launcher = ["1" if word == "2" else word for word in LAUNCHERS[name]]
    done = calibrate("measure", "-o", tmp_path / "out", "--design", made_design(tmp_path), "--", *launcher)
    assert (done.returncode, "the launcher starts 1 rank, and a message needs two" in done.stderr) == (
        2,
        True,
    )


def test_a_compiler_that_is_not_there_is_named(tmp_path: Path) -> None:
    words = ("measure", "-o", tmp_path / "out", "--mpicc", "no-such-mpicc", "--", "mpiexec", "-n", "2")
    done = calibrate(*words)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: no-such-mpicc: no such MPI compiler: install one, or name it with --mpicc"
    )
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
def test_a_launcher_that_fails_is_quoted(tmp_path: Path) -> None:
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ntouch "$2"\n')
    launcher = tmp_path / "launcher"
    launcher.write_text("#!/bin/sh\necho 'no slots on this machine'\nexit 3\n")
    for script in (compiler, launcher):
        script.chmod(0o755)
    done = calibrate("measure", "-o", tmp_path / "out", "--mpicc", compiler, "--", launcher)
    assert (done.returncode, "ended with code 3: no slots on this machine" in done.stderr) == (2, True)


def test_a_coarse_clock_is_refused() -> None:
    ranks = [{"clock_step_s": 1e-5, "host": "a", "host_number": 0}]
    with pytest.raises(
        InputError, match=r"moves in steps of 10 µs, and a call of MPI may take less than 1 µs"
    ):
        machine.Machine({"ranks": ranks}).check_clock()


@pytest.mark.parametrize(
    ("wanted", "partner"),
    [("auto", (2, False)), ("same-host", (1, True)), ("other-host", (2, False)), ("3", (3, False))],
)
def test_the_partner_is_the_first_rank_of_its_kind(wanted: str, partner: tuple[int, bool]) -> None:
    ranks = [{"host": f"h{number}", "host_number": number} for number in (0, 0, 1, 1)]
    assert machine.Machine({"ranks": ranks}).partner(wanted) == partner


def test_partners_that_are_not_there_are_refused() -> None:
    one_host = machine.Machine({"ranks": [{"host": "h", "host_number": 0}] * 2})
    with pytest.raises(InputError, match="--partner other-host: no such rank among 2 on h"):
        one_host.partner("other-host")
    with pytest.raises(InputError, match="ranks from 1 to 1"):
        one_host.partner("2")


def test_two_measurements_do_not_share_a_directory(tmp_path: Path) -> None:
    session = measure.Session(tmp_path, ["mpiexec"], ["mpicc"])
    with (
        measure.opened(session),
        pytest.raises(InputError, match="another measurement writes there now"),
        measure.opened(session),
    ):
        pass


def test_the_environment_names_the_compiler(tmp_path: Path) -> None:
    done = calibrate("measure", "-o", tmp_path / "out", "--", "mpiexec", MPICC="of-the-environment")
    assert "of-the-environment: no such MPI compiler" in done.stderr
    assert "MPICC" not in os.environ
