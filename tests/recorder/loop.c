/* usage: loop ROUNDS [PAUSE_MS]   a ring of messages with a sum in each round */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

int main(int count, char **arguments) {
    int rank, ranks, rounds = atoi(arguments[1]), pause_ms = count > 2 ? atoi(arguments[2]) : 0;
    double out[16] = {0}, in[16], sum;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int round = 0; round < rounds; round++) {
        MPI_Request both[2];
        MPI_Irecv(in, 16, MPI_DOUBLE, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, &both[0]);
        MPI_Isend(out, 16, MPI_DOUBLE, (rank + 1) % ranks, 1, MPI_COMM_WORLD, &both[1]);
        struct timespec pause = {0, pause_ms * 1000000L};
        if (pause_ms) nanosleep(&pause, NULL);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        if (round % 10 == 9) MPI_Allreduce(out, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
