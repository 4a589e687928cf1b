/* Rank 0 starts one receive from any source again and again: first the others send in turns that it asks for, then all at
 * once. Prints who sent, in the order of the starts. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

int main(int count, char **arguments) {
    int rank, ranks, source, from[64], starts = 0;
    char room[4096] = {0};
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) {
        MPI_Request any;
        MPI_Status status;
        MPI_Recv_init(room, sizeof room, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any);
        for (int round = 0; round < 2; round++) {
            for (int turn = 1; turn < ranks; turn++) {
                source = round ? ranks - turn : turn;
                MPI_Start(&any);
                MPI_Send(NULL, 0, MPI_BYTE, source, 0, MPI_COMM_WORLD);
                MPI_Wait(&any, &status);
                from[starts++] = status.MPI_SOURCE;
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int sent = 0; sent < 4 * (ranks - 1); sent++) {
            MPI_Start(&any);
            MPI_Wait(&any, &status);
            from[starts++] = status.MPI_SOURCE;
        }
        MPI_Request_free(&any);
    } else {
        for (int round = 0; round < 2; round++) {
            MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(room, 100 * rank, MPI_BYTE, 0, 10 + rank, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int sent = 0; sent < 4; sent++) {
            struct timespec pause = {0, 1000000L * (ranks - rank)};
            nanosleep(&pause, NULL);
            MPI_Send(room, 100 * rank, MPI_BYTE, 0, 20 + sent, MPI_COMM_WORLD);
        }
    }
    for (int at = 0; rank == 0 && at < starts; at++) printf("%d ", from[at]);
    MPI_Finalize();
    return 0;
}
