"""Clocks of programs: a look at one sees how ranks of a socket slow each other."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from test_models import MODELS, build
from test_programs import compiled, hopcast, pytestmark  # noqa: F401

# No message takes time. One process moves 8 GB/s, and so does the whole socket.
SOCKET = """
name = "one socket"
[topology]
kind = "crossbar"
hosts = 1
[host]
processes = 2
[host.memory]
latency = "0 ns"
bandwidth = "infinite"
[nic]
bandwidth = "infinite"
latency = "0 ns"
[mpi]
progress = "asynchronous"
[compute]
flop_rate = "1 Gflop/s"
memory_bandwidth = "8 GB/s"
"""
SHARED = 'socket_memory_bandwidth = "8 GB/s"\n'


def marked(source: Path, profile: Path) -> None:
    """Gives stretches that lines of the source name 10 ms, and 80 MB if they move memory; others no time."""
    lines = source.read_text().splitlines()
    content = json.loads(profile.read_text())
    found = set()
    for stretch in content["stretches"]:
        stretch |= {"centre_s": 0.0, "memory_B": 0.0, "ranks": []}
        line = int(stretch["to_place"].rpartition(" in ")[0].rpartition(":")[2] or 0)
        function = stretch["to"].partition("+")[0]
        for what, moved in (("cache", 0.0), ("memory", 8e7)):
            if stretch["from"].startswith("clock") and f"/* {function}: {what}" in lines[line - 1]:
                stretch |= {"centre_s": 1e-2, "memory_B": moved}
                found.add(line)
    assert len(found) == sum("/* clock: " in line or "/* MPI_Barrier: " in line for line in lines)
    profile.write_text(json.dumps(content))


@pytest.fixture(scope="module")
def clocks(tmp_path_factory) -> Path:
    """A program that looks at clocks, with its profile beside it, and two platforms."""
    program = build(folder := tmp_path_factory.mktemp("clocks"), "clocks", "-g")
    (folder / "alone.toml").write_text(SOCKET)
    (folder / "shared.toml").write_text(SOCKET + SHARED)
    flags = ("-n", "2", "--quiet", "--compute", f"profile={folder / 'profile.json'}")
    done = hopcast("run", folder / "alone.toml", *flags, program)
    assert done.returncode == 0, done.stderr
    marked(MODELS / "clocks.c", folder / "profile.json")
    return program


def looked(program: Path, platform: str, ranks: int) -> tuple[dict, dict[str, list[float]]]:
    """The report, and what each rank has seen of each part [ms]."""
    flags = ("-n", str(ranks), "--json", "--compute", f"profile={program.with_name('profile.json')}")
    done = hopcast("run", program.with_name(platform), *flags, program)
    report = json.loads(done.stdout[done.stdout.index("{") :])
    assert report["failure"] is None, (report["failure"], done.stderr)
    seen: dict[str, list[float]] = {}
    for name, rank, time in sorted(line.split() for line in done.stderr.splitlines() if line[0].islower()):
        assert len(seen.setdefault(name, [])) == int(rank)
        seen[name].append(1e3 * float(time))
    return report, seen


LOOKS = ("wtime", "pwtime", "clock_gettime", "gettimeofday")


def test_a_look_at_the_clock_sees_how_ranks_of_a_socket_slow_each_other(clocks) -> None:
    # A stretch of 80 MB at 8 GB/s takes 10 ms alone, and two at once 2 * 80 MB / 8 GB/s = 20 ms. Of two of
    # which one comes 5 ms later, each has half its speed for 10 ms, and is alone for 5 ms: 15 ms.
    report, seen = looked(clocks, "shared.toml", 2)
    times = dict.fromkeys((*LOOKS, "call"), 20.0) | {"later": 15.0, "cache": 10.0, "sleep": 15.0}
    # gettimeofday counts microseconds.
    assert seen == {name: pytest.approx([time, time], abs=1e-3) for name, time in times.items()}
    # The same in the report, and 20 ms inside of a reduction, which count before the next call.
    assert report["time"]["compute_s"] == pytest.approx(2 * 1e-3 * (sum(times.values()) - 5 + 20))
    assert report["makespan_s"] == pytest.approx(1e-3 * (sum(times.values()) + 20 + 5))
    again, _ = looked(clocks, "shared.toml", 2)
    assert again["outcome_hash"] == report["outcome_hash"]


@pytest.mark.parametrize(("platform", "ranks"), [("shared.toml", 1), ("alone.toml", 1), ("alone.toml", 2)])
def test_a_look_at_the_clock_of_a_rank_that_shares_nothing_sees_its_own_time(clocks, platform, ranks) -> None:
    report, seen = looked(clocks, platform, ranks)
    times = dict.fromkeys((*LOOKS, "call", "later", "cache"), 10.0) | {"sleep": 15.0}
    assert seen == {name: pytest.approx([time] * ranks, abs=1e-3) for name, time in times.items()}
    # Eight of 10 ms, and one in the reduction, if there is anything to reduce.
    assert report["time"]["compute_s"] == pytest.approx(ranks * (80e-3 if ranks == 1 else 90e-3))


@pytest.fixture
def platforms(tmp_path) -> Path:
    """A folder with the platforms."""
    (tmp_path / "alone.toml").write_text(SOCKET)
    (tmp_path / "shared.toml").write_text(SOCKET + SHARED)
    return tmp_path


def between_looks(folder: Path, program: Path, *flags: str) -> list[float]:
    """Times that two ranks see between two looks [ms]: computing there takes 10 ms and moves 80 MB."""
    profile = folder / "profile.json"
    words = ("-n", "2", "--quiet", *flags, "--compute", f"profile={profile}", program)
    measured = hopcast("run", folder / "alone.toml", *words)
    assert measured.returncode == 0, measured.stderr
    content = json.loads(profile.read_text())
    for stretch in content["stretches"]:
        between = stretch["from"].startswith("clock") and stretch["to"].startswith("clock")
        values = (1e-2, 8e7) if between else (0.0, 0.0)
        stretch |= {"centre_s": values[0], "memory_B": values[1], "ranks": []}
    profile.write_text(json.dumps(content))
    done = hopcast("run", folder / "shared.toml", *words)
    assert done.returncode == 0, done.stderr
    return [1e3 * float(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("looked")]


C = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, LEVEL, &level);
    MPI_Barrier(MPI_COMM_WORLD);
    double since = MPI_Wtime();
    printf("looked %.9f\\n", MPI_Wtime() - since);
    MPI_Finalize();
    return level != LEVEL;
}
"""


@pytest.mark.parametrize(("level", "ms"), [("FUNNELED", 20.0), ("SERIALIZED", 10.0)])
def test_ranks_that_are_processes_see_it_if_one_thread_calls_mpi(platforms, level, ms) -> None:
    # Where any thread may call, another could while this one waits for the simulator: it sees its own time.
    (source := platforms / "looks.c").write_text(C)
    program = compiled(source, platforms, f"-DLEVEL=MPI_THREAD_{level}")
    assert between_looks(platforms, program, "--isolation", "process") == pytest.approx([ms, ms])


FORTRAN = """
program looks
    use mpi_f08
    double precision :: since
    call MPI_Init()
    call MPI_Barrier(MPI_COMM_WORLD)
    since = MPI_Wtime()
    print '(a, f12.9)', 'looked ', MPI_Wtime() - since
    call MPI_Finalize()
end program
"""


@pytest.mark.skipif(not shutil.which("gfortran"), reason="no Fortran compiler")
def test_fortran_sees_it(platforms) -> None:
    (source := platforms / "looks.f90").write_text(FORTRAN)
    assert between_looks(platforms, compiled(source, platforms)) == pytest.approx([20.0, 20.0])


PYTHON = """
import time
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
since = MPI.Wtime()
print(f"looked {MPI.Wtime() - since:.9f}")
MPI.COMM_WORLD.Barrier()
since = time.perf_counter()
print(f"looked {time.perf_counter() - since:.9f}")
"""


def test_mpi4py_sees_it(platforms) -> None:
    pytest.importorskip("mpi4py")
    (program := platforms / "looks.py").write_text(PYTHON)
    assert between_looks(platforms, program) == pytest.approx([20.0] * 4)
