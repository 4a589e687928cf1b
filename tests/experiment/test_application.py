"""The built-in experiment `application`, and columns and results with names of others."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import numpy
import pytest
from test_experiments import contents, experiment, results

from hopcast.errors import InputError
from hopcast.experiment import Experiment, files
from hopcast.experiment.pieces import DONE, FAILED, perform

APPLICATION = r"""
#include <mpi.h>
#include <stdio.h>
int main(int count, char **words) {
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        for (int turn = 1; turn < count; turn++) printf("took %s\n", words[turn]);
    MPI_Finalize();
    return 0;
}
"""
SIMULATED = ("--on", "simulated:crossbar")


def application(folder: Path, pieces: str, install: str, *words: str) -> subprocess.CompletedProcess:
    (folder / "app.c").write_text(APPLICATION)
    (folder / "pieces.csv").write_text(pieces)
    (folder / "install.yaml").write_text(install)
    run = ("run", "application", "--pieces", "pieces.csv", "--install", "install.yaml", *SIMULATED)
    return experiment(folder, *run, "-o", "out.zip", *words)


def test_a_source_beside_the_install_file_and_a_column_of_repetitions(tmp_path: Path) -> None:
    pieces = "size,repetition\n1.5,1\n2.5,1\n1.5,2\n"
    done = application(tmp_path, pieces, "source: app.c\nwords: '{size} {ranks}'\nranks: 2\n")
    assert done.returncode == 0, done.stderr
    rows = results(tmp_path / "out.zip")
    # Each piece prints two times, its size and the ranks; the column of the file stays what it was.
    expected = ["1 0 1.5", "1 1 2.0", "1 0 2.5", "1 1 2.0", "2 0 1.5", "2 1 2.0"]
    assert [f"{row['repetition']} {row['measurement']} {row['time_s']}" for row in rows] == expected
    assert contents(tmp_path / "out.zip")["files/app.c"] == APPLICATION


def test_the_archive_of_a_built_in_experiment_repeats_it_alone(tmp_path: Path) -> None:
    application(tmp_path, "size\n1.5\n", "source: app.c\nwords: '{size}'\nranks: 2\n")
    alone = tmp_path / "alone"
    alone.mkdir()
    (tmp_path / "out.zip").rename(alone / "out.zip")
    (tmp_path / "app.c").unlink()
    done = experiment(alone, "run", "out.zip", *SIMULATED, "-o", "again.zip")
    assert done.returncode == 0, done.stderr
    assert [row["time_s"] for row in results(alone / "again.zip")] == ["1.5"]


def test_a_changed_source_is_measured_anew(tmp_path: Path) -> None:
    install = "source: app.c\nwords: '{size}'\nranks: 2\n"
    application(tmp_path, "size\n1.5\n", install)
    first = sorted((tmp_path / "out.zip.d").rglob("*.sqlite"))
    assert first, "results are kept"
    global APPLICATION
    before = APPLICATION
    try:
        APPLICATION = before.replace("took %s", "took 1%s")
        application(tmp_path, "size\n1.5\n", install)
    finally:
        APPLICATION = before
    assert [row["time_s"] for row in results(tmp_path / "out.zip")] == ["11.5"]


def test_what_cannot_be_made_says_why_in_words(tmp_path: Path) -> None:
    done = application(tmp_path, "size\n1\n", "source: nowhere.c\nranks: 2\n")
    assert done.returncode == 2 and "no such file beside the install file" in done.stderr
    done = application(tmp_path, "size\n1\n", "source: app.c\ncompiler: /bin/false\nranks: 2\n")
    assert done.returncode == 3 and "ended with code 1" in done.stderr and "Traceback" not in done.stderr
    done = application(tmp_path, "size\n1\n", "source: app.c\nwords: '{sizes}'\nranks: 2\n")
    assert done.returncode == 3 and "'sizes'; columns: size" in results(tmp_path / "out.zip")[0]["why"]


@pytest.mark.parametrize("column", ["state", "why", "piece", "self", ""])
def test_columns_with_names_of_others_are_errors(tmp_path: Path, column: str) -> None:
    done = application(tmp_path, f"size,{column}\n1,1\n", "source: app.c\nranks: 2\n")
    assert done.returncode == 2 and f"column '{column}': choose another name" in done.stderr


def test_columns_that_are_there_twice_or_that_no_piece_takes_are_errors(tmp_path: Path) -> None:
    done = application(tmp_path, "size,size\n1,1\n", "source: app.c\nranks: 2\n")
    assert done.returncode == 2 and "two columns are called 'size'" in done.stderr

    class Narrow(Experiment):
        def piece(self, size):
            return {"time_s": size}

    with pytest.raises(InputError, match="unexpected keyword argument 'colour'; columns: size, colour"):
        Narrow(pieces=[{"size": 1, "colour": 2}], folder=tmp_path / "one")
    with pytest.raises(InputError, match="missing a required argument: 'size'"):
        Narrow(pieces=[{}], folder=tmp_path / "two")


class Odd(Experiment):
    """Gives what its column says."""

    given = (
        {"state": "mine"},
        {"piece": [1]},
        {"kind": 77},
        5,
        "text",
        [1, 2],
        {"value": object()},
        {"costs": 5, "value": numpy.float64(1.5), "whole": numpy.int64(3), "path": Path("a/b")},
        ({"step": step} for step in (1, 2)),
        (1 / zero for zero in (0,)),
    )

    def piece(self, kind):
        return self.given[kind]


def test_results_with_odd_names_and_kinds_are_rows_that_say_why(tmp_path: Path) -> None:
    made = Odd(pieces=[{"kind": number} for number in range(len(Odd.given))], folder=tmp_path)
    made.run()
    rows = made.rows()
    whys = [row["why"] for row in rows]
    assert "a column 'state'" in whys[0] and "a column 'piece'" in whys[1] and "a column 'kind'" in whys[2]
    assert "and not 5" in whys[3] and "and not 'text'" in whys[4] and "is not 1" in whys[5]
    assert "'value' of a piece is a object" in whys[6]
    kept = rows[7]
    assert (kept["costs"], kept["value"], kept["whole"], kept["path"]) == (5, 1.5, 3, "a/b")
    assert [row.get("step") for row in rows[8:10]] == [1, 2]
    assert "ZeroDivisionError" in whys[10]
    assert [row["state"] for row in rows] == [FAILED] * 7 + [DONE] * 3 + [FAILED]
    made.save(tmp_path / "odd.zip")
    assert len(results(tmp_path / "odd.zip")) == 11


def test_what_raises_within_a_generator_is_a_failed_piece() -> None:
    def rows(_inputs):
        yield {"value": 1}
        raise InputError("the second row")

    assert (perform(rows, {}).state, perform(rows, {}).why) == (FAILED, "the second row")


def test_files_of_install_files_are_known_by_their_content(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.c").write_text("one")
    before = files.digest(tmp_path / "a")
    assert files.given({"source": "a"}, ["source"], tmp_path) == {"source": tmp_path / "a"}
    (tmp_path / "a" / "x.c").write_text("two")
    assert files.digest(tmp_path / "a") != before
    (tmp_path / "a" / "x.c").rename(tmp_path / "a" / "y.c")
    assert files.given({"source": "b"}, ["source"], tmp_path) == {}


def test_a_result_that_is_not_a_number_may_repeat_its_column() -> None:
    files.check_results({"noise": math.nan}, [{"noise": float("nan")}])
    with pytest.raises(InputError, match="'noise'"):
        files.check_results({"noise": math.nan}, [{"noise": 1.0}])
