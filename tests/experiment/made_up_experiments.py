"""Experiments of the tests, as a user writes them."""

TIMED = r'''
from hopcast.experiment import Experiment

SOURCE = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) {
    int rank, size = atoi(words[1]);
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *buffer = calloc(1, size);
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    for (int turn = 0; turn < 10; turn++)
        if (rank == 0) {
            MPI_Send(buffer, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(buffer, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    if (rank == 0) printf("took %.9f\\n", (MPI_Wtime() - begun) / 10);
    MPI_Finalize();
    return 0;
}
"""


class RoundTrips(Experiment):
    def setup(self):
        (self.folder / "work" / "trips.c").write_text(SOURCE)
        self.mpi_compile("trips.c", "trips")

    def piece(self, size, repetition=1):
        done = self.mpi_run("./trips", size, ranks=2)
        return {"time_s": float(done.stdout.split("took")[1].split()[0])}

    @classmethod
    def generate(cls, count, generator):
        return [{"size": round(10 ** generator.uniform(0, 5)), "repetition": n} for n in range(count)]
'''

SHELL = r"""
import time
from hopcast.experiment import Experiment


class Shell(Experiment):
    parameters = {"greeting": "hello", "count": 2, "sleep": 0.0}
    each_node = {each_node}

    def setup(self):
        self.nodes.run("echo begun > mark")

    def piece(self, n):
        if n == "bad":
            self.node.run("echo it broke >&2; exit 3")
        self.node.run(f"sleep {self.install['sleep']}; echo {n} >> pieces-$(basename $PWD)")
        if n == "worse":
            raise KeyError("no such thing")
        return {"said": self.node.run(f"echo {self.install['greeting']} {n}").stdout.strip(),
                "node": self.node.host}

    def teardown(self):
        self.nodes.run("cat mark")
"""
