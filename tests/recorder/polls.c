/* Rank 0 polls for a message that rank 1 sends after MS milliseconds: with a little work between polls, with more work, and
 * with none. Prints how often it polled in vain, and how long it worked and polled, and only polled [ns]. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned long state = 1;

static void work(double seconds) {
    for (double start = MPI_Wtime(); MPI_Wtime() - start < seconds;) state ^= state << 13;
}

int main(int count, char **arguments) {
    int rank, flag = 0, which, in = 0;
    long polls = 0;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        usleep(1000 * atoi(arguments[1]));
        MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    } else {
        MPI_Request request;
        MPI_Irecv(&in, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
        double start = MPI_Wtime();
        for (; polls < 100000 && !flag; polls++) {
            for (int round = 0; round < 100; round++) state ^= state << 13;
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        }
        for (; polls < 101000 && !flag; polls++) {
            work(20e-6);
            MPI_Testany(1, &request, &which, &flag, MPI_STATUS_IGNORE);
        }
        double middle = MPI_Wtime();
        for (; !flag; polls++) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        double end = MPI_Wtime();
        printf("%ld %.0f %.0f\n", polls - 1, 1e9 * (middle - start), 1e9 * (end - middle));
    }
    MPI_Finalize();
    return in == 0 && rank == 0;
}
