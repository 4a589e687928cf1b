/* Times of calls that do not communicate, one line each: "name nanoseconds" of one call. */
#include <mpi.h>
#include <stdio.h>

#define CALLS 10

int main(int argc, char **argv) {
    int rank, flag, size = 0;
    MPI_Request request;
    char unused = 0;
    MPI_Init(&argc, &argv);
    double start = MPI_Wtime();
    double clock = MPI_Wtime() - start;
    start = MPI_Wtime();
    for (int call = 0; call < CALLS; call++)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double local = MPI_Wtime() - start - clock;
    start = MPI_Wtime();
    for (int call = 0; call < CALLS; call++)
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    double unnamed = MPI_Wtime() - start - clock;
    start = MPI_Wtime();
    for (int call = 0; call < CALLS; call++)
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    double probe = MPI_Wtime() - start - clock;
    /* The clock is read before the send is performed, of which it waits for the end. */
    start = MPI_Wtime();
    MPI_Isend(&unused, 1, MPI_CHAR, 1 - rank, 3, MPI_COMM_WORLD, &request);
    double begun = MPI_Wtime() - start - clock;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(&unused, 1, MPI_CHAR, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(&unused, 1, MPI_CHAR, rank, 1, MPI_COMM_WORLD, &request);
    start = MPI_Wtime();
    for (int call = 0; call < CALLS; call++)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    double test = MPI_Wtime() - start - clock;
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0)
        printf("MPI_Wtime %.3f\nMPI_Comm_rank %.3f\nMPI_Comm_size %.3f\nMPI_Iprobe %.3f\nMPI_Test %.3f\nMPI_Isend %.3f\n", clock * 1e9,
               local / CALLS * 1e9, unnamed / CALLS * 1e9, probe / CALLS * 1e9, test / CALLS * 1e9,
               begun * 1e9);
    MPI_Finalize();
}
