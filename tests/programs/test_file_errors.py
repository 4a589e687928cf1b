"""Files of MPI: what becomes of the others where one rank's access fails."""

from __future__ import annotations

import pytest
from test_programs import compiled, hopcast, pytestmark  # noqa: F401

ONE_FAILS = """
#include <mpi.h>
#include <stdio.h>
#include <string.h>
static int failed(int error) {
    int class_of = 0;
    if (error) MPI_Error_class(error, &class_of);
    return class_of == MPI_ERR_IO;
}
int main(int argc, char **argv) {
    int rank, error = 0, after = 0;
    double value[2] = {1, 2};
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File_open(MPI_COMM_WORLD, "file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);
    /* Half an etype cannot be accessed. */
    MPI_Datatype type = rank == 1 ? MPI_INT : MPI_DOUBLE;
    if (!strcmp(argv[1], "at_all"))
        error = MPI_File_write_at_all(file, rank, value, 1, type, MPI_STATUS_IGNORE);
    if (!strcmp(argv[1], "all")) error = MPI_File_read_all(file, value, 1, type, MPI_STATUS_IGNORE);
    if (!strcmp(argv[1], "ordered")) error = MPI_File_write_ordered(file, value, 1, type, MPI_STATUS_IGNORE);
    if (!strcmp(argv[1], "split")) {
        error = MPI_File_write_ordered_begin(file, value, 1, type);
        if (!error) after = MPI_File_write_ordered_end(file, value, MPI_STATUS_IGNORE);
    }
    if (failed(error) == (rank == 1) && !after) puts("as it should");
    MPI_Offset bytes;
    MPI_File_get_size(file, &bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize("access", ["at_all", "all", "ordered", "split"])
def test_one_that_fails_does_not_keep_the_others(access: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "one_fails.c"
    source.write_text(ONE_FAILS)
    done = hopcast("run", "crossbar", "-n", "4", "--quiet", compiled(source, tmp_path), access)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[:-1] == ["as it should"] * 4
