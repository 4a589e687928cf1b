"""Kernels by model, folded memory, sampled and polled time: what only hopcast can do with a program."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from test_programs import hopcast, pytestmark, run  # noqa: F401

MODELS = Path(__file__).parent / "models"
KERNELS = """[
    { function = "dgemm", time = "1 us + 2 ns*M*N*K" },
    { function = "relax", arguments = "int n, double x, const long *extra", time = "3 ns*n*x + 1 ns*extra",
      returns = "n + x" },
    { function = "dtrsm", time = "1 ns*M + 1 us*N + 10 us*K" },
    { function = "idamax", time = "1 ns*N", noise = "half-normal", deviation = "0.1 ns*N" },
]"""


def build(folder: Path, name: str, *more: str | Path) -> Path:
    done = hopcast(
        "cc", "-Wall", "-Wextra", "-Werror", "-O2", MODELS / f"{name}.c", "-o", folder / name, *more
    )
    assert done.returncode == 0, done.stderr
    return folder / name


@pytest.fixture(scope="module")
def kernels(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")
    library = folder / "libcount.so"
    subprocess.run(["cc", "-shared", "-fPIC", MODELS / "library.c", "-o", library], check=True)
    return build(folder, "kernels", library, f"-Wl,-rpath,{folder}")


def timed(printed: str) -> dict[str, tuple[float, int]]:
    """The time [ns] of each call, and how often it ran."""
    found = re.findall(r"^(\w+) 0 ([\d.]+) ns ran (\d)", printed, re.MULTILINE)
    return {name: (float(time), int(ran)) for name, time, ran in found}


# 1 us + 2 ns * 2 * 3 * 4; 3 ns * 5 * 2.5 + 7 ns; 10 rows, 20 columns, a triangle of 10 or of 20. By rows the
# call is that of the transposed: 20 rows, 10 columns, and the triangle on the right.
TIMES = {"dgemm": 1048.0, "relax": 44.5, "left": 120_010.0, "right": 220_010.0, "rows": 110_020.0}


@pytest.mark.parametrize(("mode", "ran"), [("platform", 0), ("skip", 0), ("run", 1)])
def test_a_kernel_takes_the_time_of_its_formula(kernels, mode, ran) -> None:
    flags = ("--set", f"compute.kernels={KERNELS}", "--kernels", mode, "--model", "loggp")
    report, printed, _ = run(kernels, 2, flags=flags)
    assert timed(printed) == {name: (time, ran) for name, time in TIMES.items()}
    assert f"relax gives {19.5 if ran else 7.5}" in printed
    assert f"idamax 1 {0 if ran else 1} 1, largest {0 if ran else 1}" in printed
    assert any("did not run" in warning for warning in report["warnings"]) == (not ran)


def test_kernels_can_be_left_alone_scaled_and_restricted_to_hosts(kernels) -> None:
    override = ("--set", f"compute.kernels={KERNELS}", "--model", "loggp")
    _, printed, _ = run(kernels, 1, flags=(*override, "--kernels", "off"))
    assert all(found == (0.0, 1) for found in timed(printed).values())
    _, printed, _ = run(kernels, 1, flags=(*override, "--compute-scale", "2"))
    assert timed(printed)["dgemm"] == (2 * 1048.0, 0)
    of_hosts = '[{ function = "dgemm", time = "5 us", hosts = "1" }, { function = "relax", time = "7 us" }]'
    _, printed, _ = run(kernels, 2, flags=("--set", f"compute.kernels={of_hosts}", "--ppn", "1"))
    assert sorted(re.findall(r"dgemm (\d) (\S+) ns ran (\d)", printed)) == [
        ("0", "0.0", "1"),
        ("1", "5000.0", "0"),
    ]
    assert timed(printed)["relax"] == (7000.0, 0)


def test_times_are_cut_to_a_resolution(kernels) -> None:
    """3.7 us are 3 us, twice that are 7; 0.9 us are none."""
    cut = 'resolution = "1 us" }'
    of = f'[{{ function = "dgemm", time = "3.7 us", {cut}, {{ function = "relax", time = "0.9 us", {cut}]'
    for scale, expected in (("1", 3000.0), ("2", 7000.0)):
        _, printed, _ = run(
            kernels, 1, flags=("--set", f"compute.kernels={of}", "--compute-scale", scale, "--model", "loggp")
        )
        assert timed(printed)["dgemm"] == (expected, 0)
        assert timed(printed)["relax"] == (1000.0 * (scale == "2"), 0)


def of_ranks(printed: str, name: str) -> dict[int, tuple[float, int]]:
    """The time [ns] of each rank's call, and how often it ran."""
    found = re.findall(rf"^{name} (\d) ([\d.]+) ns ran (\d)", printed, re.MULTILINE)
    return {int(rank): (float(time), int(ran)) for rank, time, ran in found}


def test_a_kernel_can_be_restricted_to_sockets(kernels) -> None:
    """Slots are on sockets 0 and 1 in turns."""
    one = '[{ function = "dgemm", time = "5 us", sockets = 1 }]'
    flags = ("--set", f"compute.kernels={one}", "--set", "host.sockets=2", "--ppn", "2")
    _, printed, _ = run(kernels, 4, flags=flags)
    assert of_ranks(printed, "dgemm") == {0: (0.0, 1), 1: (5000.0, 0), 2: (0.0, 1), 3: (5000.0, 0)}


def test_a_table_gives_each_processor_its_coefficients(kernels, tmp_path) -> None:
    """1 us for all; on host 1 10 ns for each of M*N*K = 24, on its socket 1 also 100 ns of M*N = 6."""
    table = tmp_path / "dgemm.csv"
    table.write_text("# ours\nhost,socket,1,M*N*K,M*N\n,,1e-6,0,0\n1,,0,1e-8,0\n1,1,0,1e-8,1e-7\n")
    kernel = f'[{{ function = "dgemm", table = "{table}" }}]'
    flags = ("--set", f"compute.kernels={kernel}", "--set", "host.sockets=2", "--ppn", "2")
    _, printed, _ = run(kernels, 4, flags=flags)
    times = {rank: time for rank, (time, _) in of_ranks(printed, "dgemm").items()}
    assert times == {0: 1000.0, 1: 1000.0, 2: 240.0, 3: 840.0}


def test_a_drawn_cluster_gives_each_processor_its_time(kernels, tmp_path) -> None:
    """A table of `hopcast cluster draw`: of M*N*K = 24, each processor takes what its row says."""
    model, nodes = tmp_path / "cluster.toml", tmp_path / "nodes.csv"
    model.write_text(
        'terms = ["1", "M*N*K"]\nsockets = 2\n[[kinds]]\nmean = [1e-6, 1e-8]\n'
        "spatial = [[1e-14, 0], [0, 1e-18]]\ntemporal = [[0, 0], [0, 0]]\n"
    )
    drawn = hopcast("cluster", "draw", model, "--nodes", "2", "--seed", "5", "-o", nodes)
    assert drawn.returncode == 0, drawn.stderr
    rows = [line.split(",") for line in nodes.read_text().splitlines() if line[0] not in "#h,"]
    expected = [1e9 * (float(row[2]) + 24 * float(row[3])) for row in rows]
    kernel = f'[{{ function = "dgemm", table = "{nodes}" }}]'
    flags = ("--set", f"compute.kernels={kernel}", "--set", "host.sockets=2", "--ppn", "2")
    _, printed, _ = run(kernels, 4, flags=flags)
    times = of_ranks(printed, "dgemm")
    assert [times[rank][0] for rank in range(4)] == pytest.approx(expected, abs=0.51)
    assert len(set(expected)) == 4


def test_pieces_hold_by_the_arguments(kernels) -> None:
    """M*N*K = 24, M = 2."""
    pieces = "1 us if M*N*K < 24 else 2 us + 1 us*M if M <= 2 else 9 us"
    _, printed, _ = run(
        kernels, 1, flags=("--set", f'compute.kernels=[{{ function = "dgemm", time = "{pieces}" }}]')
    )
    assert timed(printed)["dgemm"] == (4000.0, 0)


def test_each_call_takes_one_of_the_modes(kernels) -> None:
    modes = '[{ weight = 0.5, mean = "1 us" }, { weight = 0.5, mean = "3 us*M" }]'
    flags = ("--set", f'compute.kernels=[{{ function = "dgemm", modes = {modes} }}]')
    _, printed, _ = run(kernels, 16, flags=flags)
    assert {time for time, _ in of_ranks(printed, "dgemm").values()} == {1000.0, 6000.0}


def test_a_run_tells_what_lay_beyond_the_range(kernels) -> None:
    """One call of each rank: M*N*K = 24."""
    for range_, beyond in (("M <= 2, M*N*K <= 24", False), ("M <= 2, M*N*K < 24", True)):
        kernel = f'[{{ function = "dgemm", time = "1 us", range = "{range_}" }}]'
        report, _, _ = run(kernels, 2, flags=("--set", f"compute.kernels={kernel}"))
        said = "dgemm (100.0 % of its calls, 100.0 % of its time)"
        assert any(said in warning for warning in report["warnings"]) == beyond


def test_noise_is_that_of_the_seed(kernels) -> None:
    flags = ("--set", f"compute.kernels={KERNELS}")
    hashes = [run(kernels, 2, flags=(*flags, "--seed", seed))[0]["outcome_hash"] for seed in ("1", "1", "2")]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ('{ function = "dgemm", time = "2 ns*L" }', "dgemm has no argument 'L'; known: transA, transB, M"),
        ('{ function = "f", time = "M*N" }', "names no time"),
        ('{ function = "f", time = "1 ns", deviation = "1 ns" }', "of a noise"),
        ('{ function = "f", time = "1 ns", noise = "normal" }', "deviation: is missing"),
        ('{ function = "f", time = "1 ns", hosts = "nid" }', "unknown host 'nid'"),
        (
            '{ function = "f", time = "1 ns", sockets = 2 }',
            "hosts have 2 sockets (host.sockets), and no socket 2",
        ),
        ('{ function = "f" }', "one of time, modes and table"),
        ('{ function = "f", time = "1 ns", table = "none.csv" }', 'cannot read "none.csv"'),
        ('{ function = "f", time = "1 ns if arg1 < 3" }', "an 'if' without 'else'"),
        ('{ function = "f", time = "1 ns", range = "arg7 < 3" }', "f has no argument 'arg7'"),
        ('{ function = "f", modes = [{ weight = 0.5, mean = "1 ns" }] }', "weights sum to 0.5"),
        (
            '{ function = "f", modes = [{ mean = "1 ns", spread = "1 ns" }] }',
            "unknown key of a mode 'spread'",
        ),
        ('{ function = "f", modes = "1 ns" }', "is not a list of modes"),
    ],
)
def test_a_kernel_that_is_wrong_is_refused(kernels, kernel, words) -> None:
    done = hopcast("run", "dahu", "-n", "1", "--set", f"compute.kernels=[{kernel}]", kernels)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())


@pytest.mark.parametrize(("ranks", "size"), [(1, 1024), (3, 40)])
def test_folded_memory_is_shared_and_takes_none(tmp_path, ranks, size) -> None:
    program = build(tmp_path, "folded")
    flags = ("--fold-memory", "64KiB", "--fold-private", "allocate_panel", "--model", "loggp")
    report, printed, _ = run(program, ranks, str(size), flags=flags)
    assert report["failure"] is None, (report["failure"], printed)
    assert report["peak_rss_B"] < 300 << 20


def test_copies_of_blas_from_and_to_folded_memory_are_left_out(tmp_path) -> None:
    library = tmp_path / "libcopies.so"
    source = MODELS / "copies_library.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", source, "-o", library], check=True)
    program = build(tmp_path, "copies", library, f"-Wl,-rpath,{tmp_path}")
    for flags in ((), ("folded",)):
        fold = ("--fold-memory", "64KiB") if flags else ()
        report, printed, _ = run(program, 2, *flags, flags=(*fold, "--model", "loggp"))
        assert report["failure"] is None, (report["failure"], printed)


def test_a_site_that_is_none_is_refused(tmp_path) -> None:
    program = build(tmp_path, "folded")
    done = hopcast(
        "run", "hopper", "-n", "1", "--fold-memory", "64KiB", "--fold-site", "nowhere", program, "1"
    )
    assert done.returncode == 2
    assert "no function 'nowhere'" in done.stderr


def test_polling_takes_simulated_time_and_none_of_ours(tmp_path) -> None:
    program = build(tmp_path, "polling")
    override = 'compute.kernels=[{ function = "crunch", arguments = "int s", time = "1 s * s" }]'
    _, printed, _ = run(program, 2, flags=("--set", override))
    assert "1.0000 3.0000 1" in printed


CRUNCH_MS = 'compute.kernels=[{ function = "crunch", arguments = "int ms", time = "1 ms * ms" }]'


@pytest.mark.parametrize(
    "words, flags", [((), ("--set", CRUNCH_MS)), (("-DBY_CALL",), ("--isolation", "process"))]
)
@pytest.mark.parametrize("how, polls", [("few", "many"), ("endless", "few")])
def test_work_between_polls_is_done_and_waits_are_few_polls(tmp_path, words, flags, how, polls) -> None:
    program = build(tmp_path, "working_polls", *words)
    _, printed, _ = run(program, 2, flags=("--compute", "none", "--polls", how, *flags))
    assert [line.strip() for line in printed.splitlines()] == [
        f"worked until {start + 0.1:.3f}, waited until {start + 0.5:.3f}, {polls} polls"
        for start in (0.0, 0.5, 1.0)
    ]


def test_what_comes_while_a_poll_looks_ends_the_next_wait(tmp_path) -> None:
    """The same times as of polls one by one, between which the rank looks at the clock."""
    program = build(tmp_path, "late_polls")
    flags = ("--compute", "none", "--model", "loggp", "--ppn", "1", "--set", "mpi.poll=1us")
    waits, one_by_one = (run(program, 2, how, flags=flags)[1] for how in ("wait", "look"))
    assert waits == one_by_one and len(waits.splitlines()) == 300


OPENED = """
#include <mpi.h>
int sum(int x) { MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); return x; }
"""
OPENS = """
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>
int main(int argc, char **argv) {
    begin(&argc, &argv);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    int (*sum)(int) = (int (*)(int))dlsym(library, "sum"), own = -1;
    int (*ask)(MPI_Comm, int *) = (int (*)(MPI_Comm, int *))dlsym(RTLD_DEFAULT, "MPI_Comm_rank");
    CHECK(sum(rank + 1) == size * (size + 1) / 2);
    CHECK(ask(MPI_COMM_WORLD, &own) == MPI_SUCCESS && own == rank);
    CHECK(strcmp(getenv("OMP_NUM_THREADS"), "1") == 0);
    MPI_Finalize();
}
"""


def test_a_library_that_is_opened_at_run_time_calls_mpi(tmp_path) -> None:
    (tmp_path / "opened.c").write_text(OPENED)
    (tmp_path / "opens.c").write_text(OPENS)
    library, program = tmp_path / "libopened.so", tmp_path / "opens"
    done = hopcast("cc", "-shared", "-fPIC", tmp_path / "opened.c", "-o", library)
    assert done.returncode == 0, done.stderr
    done = hopcast("cc", f"-I{MODELS.parent}", tmp_path / "opens.c", "-o", program)
    assert done.returncode == 0, done.stderr
    report, printed, _ = run(program, 3, str(library))
    assert report["failure"] is None, (report["failure"], printed)


@pytest.mark.parametrize("compute", ["none", "measured"])
def test_a_marked_loop_runs_until_its_time_is_known(tmp_path, compute) -> None:
    program = build(tmp_path, "sampled")
    report, printed, _ = run(program, 3, flags=("--compute", compute))
    assert report["failure"] is None, (report["failure"], printed)
    assert printed.strip() == "1"
