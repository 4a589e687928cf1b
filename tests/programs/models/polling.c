/* A rank that computes by a kernel, and one that polls for its message: by probes, and by tests. */
#include "../check.h"

static volatile double sink;

__attribute__((noinline)) void crunch(int seconds) {
    for (int i = 0; i < 1000 * seconds; i++)
        sink += i;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int value = 0, there = 0, polls = 0;
    if (rank == 0) {
        crunch(1);
        MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        crunch(2);
        MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else if (rank == 1) {
        for (; !there; polls++)
            MPI_Iprobe(0, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double first = MPI_Wtime();
        MPI_Request request;
        MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
        for (there = 0; !there; polls++)
            MPI_Test(&request, &there, MPI_STATUS_IGNORE);
        double second = MPI_Wtime();
        printf("%.4f %.4f %d\n", first, second, polls < 200000);
    }
    MPI_Finalize();
    return 0;
}
