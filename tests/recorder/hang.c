/* usage: hang ROUNDS   messages of ranks 0 and 1; then 0 goes on without MPI, 1 waits for what nobody sends, 2 polls */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments) {
    int rank, ranks, rounds = atoi(arguments[1]), there = 0;
    char byte = 0;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int round = 0; round < rounds && rank < 2; round++) {
        if (rank == 0) MPI_Send(&byte, 1, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
        MPI_Recv(&byte, 1, MPI_BYTE, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(&byte, 1, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    }
    puts("hangs");
    fflush(stdout);
    if (rank == 1) MPI_Recv(&byte, 1, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (rank == 2 && !there) MPI_Iprobe(0, 9, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    for (;;) sleep(1);
}
