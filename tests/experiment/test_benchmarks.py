"""The built-in experiments `hpl` and `hpcg`, with programs that read and print what the real ones do."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from real_mpi import ENVIRONMENT, works
from test_experiments import HOPCAST, contents, experiment, results

from hopcast.errors import InputError
from hopcast.experiment import benchmarks

HPL = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
/* Reads HPL.dat where HPL does, and passes as many bytes round as the order of the matrix. */
static int line(FILE *file, char *text) { return fgets(text, 200, file) != NULL; }
int main(int count, char **words) {
    int rank, ranks, n = 0, nb = 0, p = 0, q = 0;
    int depth = 0, broadcast = 0, swap = 0, panel = 0, recursive = 0;
    char text[200];
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) {
        FILE *file = fopen("HPL.dat", "r");
        if (file == NULL) MPI_Abort(MPI_COMM_WORLD, 7);
        int *wanted[31] = {0};
        wanted[5] = &n, wanted[7] = &nb, wanted[10] = &p, wanted[11] = &q, wanted[14] = &panel;
        wanted[20] = &recursive, wanted[22] = &broadcast, wanted[24] = &depth, wanted[25] = &swap;
        for (int number = 0; number < 31 && line(file, text); number++)
            if (wanted[number]) *wanted[number] = atoi(text);
        fclose(file);
    }
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    char *column = calloc(n, 8);
    for (int step = 0; step < 20; step++) MPI_Bcast(column, 8 * n, MPI_BYTE, step % ranks, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    double time = MPI_Wtime() - begun, flops = 2.0 / 3 * n * n * n + 1.5 * n * n;
    if (rank == 0) {
        printf("T/V                N    NB     P     Q               Time                 Gflops\n");
        printf("WR%d%dR%dC%d %15d %5d %5d %5d %18.2f %18.4e\n", depth, broadcast, panel, recursive, n, nb,
               p, q, time, flops / time / 1e9);
        printf("||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=%16.7f ...... %s\n", n == 13 ? 1e9 : 0.003,
               n == 13 ? "FAILED" : "PASSED");
    }
    MPI_Finalize();
    return rank == 0 && p * q != ranks;
}
"""

HPCG = r"""
#include <mpi.h>
#include <stdio.h>
int main(int count, char **words) {
    int rank, nx, ny, nz, seconds;
    char text[200];
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        FILE *file = fopen("hpcg.dat", "r");
        if (!file || !fgets(text, 200, file) || !fgets(text, 200, file)
            || fscanf(file, "%d %d %d %d", &nx, &ny, &nz, &seconds) != 4) return 1;
        fclose(file);
        file = fopen("HPCG-Benchmark_3.1_2026-01-01_10-00-00.txt", "w");
        fprintf(file, "Benchmark Time Summary=\nBenchmark Time Summary::Total=%d.5\n", seconds);
        fprintf(file, "Final Summary::HPCG result is VALID with a GFLOP/s rating of=%d\n", nx * ny * nz);
        fclose(file);
    }
    MPI_Finalize();
    return 0;
}
"""

PIECES = "matrix_size,proc_p,proc_q,bcast,depth\n1000,1,2,lng,0\n2000,2,1,2,1\n"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both programs, compiled for simulations, and install files that name them."""
    folder = tmp_path_factory.mktemp("programs")
    for name, text in (("xhpl", HPL), ("xhpcg", HPCG)):
        (folder / f"{name}.c").write_text(text)
        subprocess.run([*HOPCAST, "cc", "-O1", f"{name}.c", "-o", name], cwd=folder, check=True)
        (folder / f"{name}.yaml").write_text(f"program: {name}\n")
    (folder / "pieces.csv").write_text(PIECES)
    return folder


SIMULATED = "simulated:crossbar --compute none --ppn 1"


def test_hpl_runs_simulated_and_its_archive_repeats_it(programs: Path, tmp_path: Path) -> None:
    words = ("--pieces", "pieces.csv", "--install", "xhpl.yaml", "--on", SIMULATED)
    done = experiment(programs, "run", "hpl", *words, "-o", str(tmp_path / "hpl.zip"))
    assert done.returncode == 0, done.stderr
    rows = results(tmp_path / "hpl.zip")
    assert [(row["check"], row["residual"]) for row in rows] == [("passed", "0.0030000")] * 2
    for row, order in zip(rows, (1000, 2000), strict=True):
        flops = 2 / 3 * order**3 + 1.5 * order**2
        assert float(row["time_s"]) == pytest.approx(flops / 1e9 / float(row["gflops"]))
    # Columns of twice the bytes take longer, and not twice as long.
    assert 1.05 < float(rows[1]["time_s"]) / float(rows[0]["time_s"]) < 2
    history = contents(tmp_path / "hpl.zip")["commands.log"]
    assert "hpl-1000-128-1x2-1" in history and "BCASTs" in history
    # The program is in the archive, and can still be run when it comes out.
    again = experiment(tmp_path, "run", "hpl.zip", "--on", SIMULATED, "-o", "again.zip")
    assert again.returncode == 0, again.stderr
    assert [row["gflops"] for row in results(tmp_path / "again.zip")] == [row["gflops"] for row in rows]


def test_a_failed_check_and_no_result_are_rows_that_say_why(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "pieces.csv").write_text("matrix_size,proc_p,proc_q,swap\n13,1,2,0\n20,1,2,middle\n")
    (tmp_path / "install.yaml").write_text(f"program: {programs / 'xhpl'}\n")
    run = ("run", "hpl", "--pieces", "pieces.csv", "--install", "install.yaml", "--on", SIMULATED)
    done = experiment(tmp_path, *run, "-o", "out.zip")
    assert done.returncode == 3
    first, second = results(tmp_path / "out.zip")
    assert "own check of the solution failed" in first["why"] and "check: false" in first["why"]
    assert second["why"] == "swap = 'middle'; known: 0 bin-exch, 1 long, 2 mix"
    (tmp_path / "install.yaml").write_text(f"program: {programs / 'xhpl'}\ncheck: false\n")
    experiment(tmp_path, *run, "-o", "out.zip")
    assert results(tmp_path / "out.zip")[0]["check"] == "failed"


def test_hpcg_reads_its_report(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "pieces.csv").write_text("nx,nz,ranks,seconds\n8,16,2,3\n")
    words = ("--pieces", "pieces.csv", "--install", str(programs / "xhpcg.yaml"), "--on", SIMULATED)
    done = experiment(tmp_path, "run", "hpcg", *words, "-o", "out.zip")
    assert done.returncode == 0, done.stderr
    (row,) = results(tmp_path / "out.zip")
    assert (float(row["gflops"]), float(row["time_s"]), row["check"]) == (8 * 8 * 16, 3.5, "passed")


@pytest.mark.parametrize(("name", "said"), [("hpl", "Debian's package hpcc"), ("hpcg", "hpcg-benchmark.org")])
def test_a_missing_program_is_an_error_that_says_where_to_get_it(
    tmp_path: Path, name: str, said: str
) -> None:
    (tmp_path / "pieces.csv").write_text("ranks,nx\n2,8\n" if name == "hpcg" else PIECES)
    bare = {**os.environ, "PATH": "/usr/bin:/bin"}
    if any((Path(folder) / "hpcc").exists() for folder in ("/usr/bin", "/bin")):
        pytest.skip("this machine has HPCC")
    done = experiment(tmp_path, "run", name, "--pieces", "pieces.csv", "--on", SIMULATED, env=bare)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    (tmp_path / "install.yaml").write_text("program: nowhere/x\n")
    words = ("--pieces", "pieces.csv", "--install", "install.yaml", "--on", SIMULATED)
    assert "has no such program" in experiment(tmp_path, "run", name, *words).stderr


def test_hpcc_of_debian_is_found_and_its_file_read(tmp_path: Path) -> None:
    """A stand-in for Debian's hpcc, which reads hpccinf.txt and writes hpccoutf.txt."""
    tool = tmp_path / "bin" / "hpcc"
    tool.parent.mkdir()
    tool.write_text(
        "#!/bin/sh\ngrep -q PTRANS hpccinf.txt || exit 9\n"
        'echo "WR11C2R4        1000   128     1     2               0.50   1.3350e+00" > hpccoutf.txt\n'
    )
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "pieces.csv").write_text("matrix_size,proc_p,proc_q\n1000,1,2\n")
    (tmp_path / "install.yaml").write_text("launcher: env RANKS={ranks}\n")
    path = {**os.environ, "PATH": f"{tool.parent}:/usr/bin:/bin"}
    words = ("--pieces", "pieces.csv", "--install", "install.yaml", "-o", "out.zip")
    done = experiment(tmp_path, "run", "hpl", *words, env=path)
    assert done.returncode == 0, done.stderr
    (row,) = results(tmp_path / "out.zip")
    assert float(row["gflops"]) == 1.335 and row["check"] == "not checked"
    assert float(row["time_s"]) == pytest.approx(0.5, rel=0.01)


@pytest.mark.skipif(not works("mpich"), reason="MPICH is not installed")
def test_hpl_runs_under_mpich_from_the_same_experiment_file(programs: Path, tmp_path: Path) -> None:
    subprocess.run(["mpicc.mpich", programs / "xhpl.c", "-o", tmp_path / "xhpl"], check=True)
    (tmp_path / "install.yaml").write_text("program: xhpl\nlauncher: mpiexec.mpich -n {ranks}\n")
    words = ("--pieces", str(programs / "pieces.csv"), "--install", "install.yaml")
    done = experiment(tmp_path, "run", "hpl", *words, "-o", "real.zip", env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    words = ("--pieces", str(programs / "pieces.csv"), "--install", str(programs / "xhpl.yaml"))
    experiment(tmp_path, "run", "hpl", *words, "--on", SIMULATED, "-o", "simulated.zip")
    compared = experiment(tmp_path, "compare", "real.zip", "simulated.zip", "--response", "gflops")
    assert compared.returncode == 0 and "matrix_size=1000" in compared.stdout, compared.stderr


def test_sources_without_a_rule_or_of_nothing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pieces.csv").write_text("ranks,nx\n2,8\n")
    (tmp_path / "install.yaml").write_text("source: .\n")
    words = ("--pieces", "pieces.csv", "--install", "install.yaml", "--on", SIMULATED)
    assert "name its binary" in experiment(tmp_path, "run", "hpcg", *words).stderr
    (tmp_path / "pieces.csv").write_text(PIECES)
    assert "no folder of HPL's sources" in experiment(tmp_path, "run", "hpl", *words).stderr


def test_processes_of_a_node_and_threads_reach_the_launcher(tmp_path: Path) -> None:
    made = benchmarks.Hpl(on="local", pieces=[], folder=tmp_path)
    made.install["launcher"] = "sh -c 'echo W $OMP_NUM_THREADS {ranks} {per_node}'"
    made._program = "xhpl"
    assert made._run("here", "HPL.dat", "text\n", 4, 2, 3).startswith("W 3 4 2")
    made.install["launcher"] = "mpiexec -n {ranks}"
    with pytest.raises(InputError, match="per_node"):
        made._run("here", "HPL.dat", "text\n", 4, 2, 3)
    made.install["launcher"] = "mpiexec -n {ranks} -ppn {per_node}"
    with pytest.raises(InputError, match="needs a column process_per_node"):
        made._run("here", "HPL.dat", "text\n", 4, 0, 3)


def test_a_rate_of_nothing_is_no_result() -> None:
    said = "WR00L2L2           8   128     1     2               0.00         0.0000e+00\n"
    with pytest.raises(InputError, match="too small to be timed"):
        benchmarks._hpl_result(said, 8, False)
