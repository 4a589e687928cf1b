"""Tuning: halving finds the best, tables are what libraries read, and the libraries themselves take them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from hopcast.cli import commands
from hopcast.errors import InputError
from hopcast.questions import halving, libraries, selection_files, tune
from hopcast.questions.libraries import Choice

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, most = 1 << 14;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *a = calloc(most * size, sizeof *a), *b = calloc(most * size, sizeof *b), sum = 0;
    for (int count = 1; count <= most; count *= 16) {
        for (int i = 0; i < count; i++) a[i] = rank + 1;
        MPI_Allreduce(a, b, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); sum += b[count - 1];
        MPI_Reduce(a, b, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Bcast(b, count, MPI_DOUBLE, 0, MPI_COMM_WORLD); sum += b[count - 1];
        MPI_Allgather(a, count, MPI_DOUBLE, b, count, MPI_DOUBLE, MPI_COMM_WORLD); sum += b[count * size - 1];
        MPI_Alltoall(b, count, MPI_DOUBLE, a, count, MPI_DOUBLE, MPI_COMM_WORLD); sum += a[count * size - 1];
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("sum %g\\n", sum);
    MPI_Finalize();
}
"""


def hopcast(*words: object) -> str:
    done = CliRunner().invoke(commands, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_halving_measures_the_better_half_again() -> None:
    budgets: list[tuple[str, int]] = []

    def measure(name: str, budget: int) -> float:
        budgets.append((name, budget))
        return {"a": 5, "b": 3, "c": 4, "d": 9, "e": 8}[name] + (10 if (name, budget) == ("b", 4) else 0)

    found = halving.best("abcde", measure, most=4)
    assert (found.candidate, found.cost) == ("b", 3)
    assert budgets == [(name, 1) for name in "abcde"] + [("b", 2), ("c", 2)]
    late = halving.best("abcd", lambda name, budget: ord(name) * (-1 if budget > 1 else 1), most=2)
    assert late.candidate == "b", "the last round decides"


def times(table: dict[str, tuple[float, float]], unfit: str = ""):
    """Times of start-up and bytes by algorithm; the library takes the first one."""

    def time(_collective: str, _ranks: int, size: int, algorithm: str | None, _number: int) -> float:
        if algorithm == unfit:
            raise InputError("does not fit")
        start, per_byte = table[algorithm or next(iter(table))]
        return start + per_byte * size

    return time


def test_the_table_changes_where_times_cross() -> None:
    """1 + 4 n beside 7 + n: equal at n = 2; of sizes 1, 4, 16 the change is at 4, from the mean √(1 × 4)
    on."""
    table = {"bruck": (1.0, 4.0), "pairwise": (7.0, 1.0), "linear": (50.0, 50.0)}
    found = tune.tuned("alltoall", 8, [1, 4, 16], "openmpi", times(table))
    assert [one.algorithm for one in found] == ["bruck", "pairwise", "pairwise"]
    assert [one.gain for one in found] == pytest.approx([0, 1 - 11 / 17, 1 - 23 / 65])
    assert tune.choices(found) == [Choice("alltoall", 8, 0, "bruck"), Choice("alltoall", 8, 2, "pairwise")]
    only = tune.tuned("alltoall", 8, [16], "openmpi", times(table, unfit="pairwise"))
    assert only[0].algorithm == "bruck"
    near = {"bruck": (1.0, 1.0), "pairwise": (1.01, 0.995), "linear": (50.0, 50.0)}
    assert {one.algorithm for one in tune.tuned("alltoall", 8, [1, 4, 16], "openmpi", times(near))} == {
        "bruck"
    }
    with pytest.raises(InputError, match="no table of mpich; known: allreduce"):
        tune.tuned("barrier", 8, [1], "mpich", times(table))


CHOICES = [
    Choice("bcast", 4, 0, "binomial"),
    Choice("bcast", 4, 4096, "chain"),
    Choice("bcast", 64, 0, "scatter-ring-allgather"),
    Choice("alltoall", 64, 0, "bruck"),
    Choice("alltoall", 64, 100, "pairwise"),
]


def test_rules_of_open_mpi() -> None:
    """Numbers in the order that coll_tuned reads; all-to-all by the bytes of all blocks; segments where there
    are some."""
    words = re.sub(r"#.*", "", selection_files.openmpi(CHOICES, 8192)).split()
    expected = "2  3 1 64 2 0 3 0 0 6400 2 0 0   7 2 4 2 0 6 0 0 4096 3 0 8192  64 1 0 9 0 0"
    assert words == expected.split()


def test_choices_of_mpich() -> None:
    choices = [one for one in CHOICES if one.algorithm != "chain"] + [
        Choice("bcast", 4, 4096, "scatter-recursive-doubling-allgather"),
        Choice("allreduce", 8, 0, "rabenseifner"),
        Choice("allgather", 8, 0, "ring"),
        Choice("allgather", 8, 100, "bruck"),
    ]
    tree = json.loads(selection_files.mpich(choices))
    bcast = tree["collective=bcast"]["comm_type=intra"]
    # The border between 4 and 64 ranks is their geometric mean, 16.
    assert list(bcast) == ["comm_size<=16", "comm_size=any"]
    assert list(bcast["comm_size<=16"]) == ["avg_msg_size<=4095", "avg_msg_size=any"]
    assert list(bcast["comm_size<=16"]["avg_msg_size=any"]) == ["comm_size=pow2", "comm_size=any"]
    assert "total_msg_size<=799" in tree["collective=allgather"]["comm_type=intra"]["comm_size=any"]
    allreduce = tree["collective=allreduce"]["comm_type=intra"]["comm_size=any"]["avg_msg_size=any"]
    assert list(allreduce["is_op_built_in=yes"]) == ["count<pow2", "count=any"]
    assert "is_sendbuf_inplace=yes" in tree["collective=alltoall"]["comm_type=intra"]
    base = {
        "collective=bcast": {"comm_type=inter": {"algorithm=theirs": {}}},
        "collective=scan": {"algorithm=x": {}},
    }
    merged = json.loads(selection_files.mpich(CHOICES[:1], base))
    assert merged["collective=scan"] == base["collective=scan"] and set(merged) == set(base)
    assert merged["collective=bcast"]["comm_type=inter"] == {"algorithm=theirs": {}}


def test_every_algorithm_of_the_tables_is_one_of_hopcast() -> None:
    from hopcast import core

    known = {entry["name"] for entry in core.registry("collectives")["entries"]}
    for tables in (libraries.OPENMPI, libraries.MPICH):
        for collective, names in tables.items():
            assert {f"{collective}/{name}" for name in names} <= known


@pytest.mark.parametrize("library", libraries.LIBRARIES)
def test_the_library_takes_the_table(tmp_path: Path, library: str) -> None:
    """A program gives the same sum with the table as without, on a power of two and on three ranks."""
    compiler, launcher = (shutil.which(f"{name}.{library}") for name in ("mpicc", "mpiexec"))
    if not compiler or not launcher:
        pytest.skip(f"no {library} here")
    out = tmp_path / "table"
    said = hopcast(
        "tune",
        "fat-tree",
        "-n",
        "4,16",
        "--ppn",
        2,
        "--library",
        library,
        "--to",
        "64KiB",
        "--factor",
        16,
        "-o",
        out,
    )
    assert "Rules" in said
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run([compiler, tmp_path / "program.c", "-o", tmp_path / "program"], check=True)
    flags, environment = [], {}
    if library == "openmpi":
        flags = ["--allow-run-as-root", "--oversubscribe", "--mca", "coll_tuned_use_dynamic_rules", "1"]
        flags += ["--mca", "coll_tuned_dynamic_rules_filename", str(out)]
    else:
        environment = {"MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": str(out)}

    def run(ranks: int) -> subprocess.CompletedProcess:
        command = [launcher, "-n", str(ranks), *flags, tmp_path / "program"]
        env = os.environ | environment
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env=env, check=False)

    for ranks in (4, 3):
        done = run(ranks)
        # Four counts: the sum of 1 to p twice, the last rank's p, and, of an all-to-all of what was gathered,
        # 1.
        sum_of_ranks = ranks * (ranks + 1) / 2
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == f"sum {4 * (2 * sum_of_ranks + ranks + 1):g}"
    # It reads the table: one with an algorithm that it does not have is refused.
    text = out.read_text()
    wrong = re.sub(r"^(0) \d+ 0", r"\1 99 0", text, flags=re.MULTILINE)
    out.write_text(
        wrong if library == "openmpi" else text.replace("algorithm=MPIR_Allreduce", "algorithm=None")
    )
    assert out.read_text() != text and run(4).returncode != 0


def test_tuned_algorithms_are_no_slower_than_the_librarys() -> None:
    """By simulation, on ranks that are no power of two, too; without noise up to the tolerance of one
    percent."""
    said = hopcast(
        "tune",
        "fat-tree",
        "-n",
        "6,16",
        "--library",
        "openmpi",
        "--collectives",
        "allreduce,barrier,bcast",
        "--to",
        "1MiB",
    )
    changes = re.findall(r"([+-][\d.]+) %$", said, re.MULTILINE)
    assert changes and max(map(float, changes)) <= 1.05
    assert len(re.findall(r"^ +barrier", said, re.MULTILINE)) == 2


def test_what_no_algorithm_changes_is_said_as_it_is() -> None:
    words = ["tune", "hopper", "-n", "1000000", "--library", "openmpi", "--collectives", "bcast"]
    with pytest.raises(InputError, match="1000000 ranks do not fit"):
        hopcast(*words)


@pytest.mark.parametrize("none", ["", " , "])
def test_no_collective_is_refused_instead_of_an_empty_table(none: str) -> None:
    words = ("tune", "crossbar", "-n", "2", "--library", "mpich", "--collectives", none)
    with pytest.raises(InputError, match=f"^--collectives: '{none}' names none; write some"):
        hopcast(*words)


def test_a_second_library_is_refused_instead_of_dropped() -> None:
    words = ("tune", "crossbar", "-n", "2", "--library", "mpich", "--set", "mpi.library=openmpi")
    done = CliRunner().invoke(commands, words)
    assert isinstance(done.exception, InputError) and done.output == ""
    assert str(done.exception).startswith("--set mpi.library: the library is that of --library, mpich; leave")


def test_a_wrong_name_is_refused_before_anything_runs() -> None:
    words = ("tune", "crossbar", "-n", "2", "--library", "mpich", "--collectives", "allreduce, nosuch")
    done = CliRunner().invoke(commands, words)
    assert isinstance(done.exception, InputError)
    assert "collective 'nosuch': no table of mpich; known: allreduce" in str(done.exception)
    assert done.output == ""
