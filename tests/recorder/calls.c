/* Four ranks make calls of every sort; test_recorder.py knows what each of them is. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank;

static void point_to_point(void) {
    int next = (rank + 1) % 4, before = (rank + 3) % 4;
    char out[1000] = "", in[2000];
    MPI_Request both[2];
    MPI_Irecv(in, 2000, MPI_CHAR, before, 5, MPI_COMM_WORLD, &both[0]);
    MPI_Isend(out, 1000, MPI_CHAR, next, 5, MPI_COMM_WORLD, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(out, 10, MPI_INT, next, 6, in, 10, MPI_INT, before, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    /* Whoever comes first: the recording says who that was. */
    if (rank == 0) {
        for (int from = 1; from < 4; from++) {
            MPI_Recv(in, 500, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    } else {
        MPI_Ssend(out, 10 * rank, MPI_INT, 0, 20 + rank, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Irecv(in, 8, MPI_DOUBLE, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &both[0]);
        MPI_Wait(&both[0], MPI_STATUS_IGNORE);
    }
    if (rank == 3) MPI_Send(out, 8, MPI_DOUBLE, 0, 9, MPI_COMM_WORLD);
    if (rank == 1) MPI_Send(out, 7, MPI_SHORT, 2, 8, MPI_COMM_WORLD);
    if (rank == 2) {
        MPI_Status status;
        MPI_Probe(1, 8, MPI_COMM_WORLD, &status);
        MPI_Recv(in, 7, MPI_SHORT, 1, 8, MPI_COMM_WORLD, &status);
    }
    MPI_Send_init(out, 3, MPI_INT, next, 11, MPI_COMM_WORLD, &both[0]);
    MPI_Recv_init(in, 3, MPI_INT, before, 11, MPI_COMM_WORLD, &both[1]);
    for (int round = 0; round < 2; round++) {
        MPI_Startall(2, both);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
}

static void types(void) {
    /* Three blocks of two doubles: 48 bytes that are sent, whatever lies between them. */
    double out[40] = {0}, in[40];
    MPI_Datatype blocks;
    MPI_Type_vector(3, 2, 5, MPI_DOUBLE, &blocks);
    MPI_Type_commit(&blocks);
    if (rank == 0) MPI_Send(out, 2, blocks, 1, 12, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(in, 2, blocks, 0, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&blocks);
}

static void communicators(void) {
    MPI_Comm half, copy, grid;
    int sum, sizes[] = {2, 2}, periodic[] = {1, 0}, out[4] = {0}, in[4];
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half); /* ranks 2 0, and 3 1 */
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
    int mine;
    MPI_Comm_rank(half, &mine);
    if (mine == 0) MPI_Send(out, 4, MPI_INT, 1, 13, half);
    else MPI_Recv(in, 4, MPI_INT, 0, 13, half, MPI_STATUS_IGNORE);
    MPI_Comm_dup(half, &copy);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
    MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periodic, 0, &grid);
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, grid);
    MPI_Comm_free(&grid);
}

static void collectives(void) {
    int out[400] = {0}, in[400], counts[] = {1, 2, 3, 4}, starts[] = {0, 1, 3, 6}, ones[] = {1, 1, 1, 1};
    int places[] = {0, 1, 2, 3};
    MPI_Request request;
    MPI_Bcast(out, 100, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Gatherv(out, counts[rank], MPI_INT, in, counts, starts, MPI_INT, 2, MPI_COMM_WORLD);
    MPI_Alltoallv(out, ones, places, MPI_INT, in, ones, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Ibcast(out, 5, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void one_sided(void) {
    double memory[8] = {0}, mine[8] = {0};
    MPI_Win window;
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(mine, 8, MPI_DOUBLE, (rank + 1) % 4, 0, 8, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    point_to_point();
    types();
    communicators();
    collectives();
    one_sided();
    MPI_Finalize();
    if (rank == 0) puts("done");
    return 0;
}
