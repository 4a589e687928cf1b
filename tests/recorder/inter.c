/* Communicators that come late or have two groups: what is not recorded of them leaves a recording that replays. */
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, one = 1, sum;
    MPI_Comm half, both, part, copy;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(copy);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, copy, 1 - rank % 2, 7, &both);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, both, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_split(both, 0, rank, &part);
    MPI_Comm_free(&part);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
