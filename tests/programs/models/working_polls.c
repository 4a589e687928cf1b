/* A rank that works while it waits, and polls between pieces of its work; then it has nothing else to do. */
#include "../check.h"

enum { PIECES = 100 };

#ifdef BY_CALL
#include <hopcast.h>
static void crunch(int milliseconds) { hopcast_compute(milliseconds * 1e-3); }
#else
static volatile double sink;

__attribute__((noinline)) void crunch(int milliseconds) {
    for (int i = 0; i < 1000 * milliseconds; i++)
        sink += i;
}
#endif

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int value = 0, there = 0, rounds = 3;
    for (int round = 0; round < rounds; round++) {
        if (rank == 0) {
            crunch(500);
            MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        } else if (rank == 1) {
            for (int piece = 0; piece < PIECES; piece++) {
                crunch(1);
                MPI_Iprobe(0, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
                CHECK(!there);
            }
            double worked = MPI_Wtime();
            int polls = 0;
            for (; !there; polls++)
                MPI_Iprobe(0, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
            MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("worked until %.3f, waited until %.3f, %s polls\n", worked, MPI_Wtime(),
                   polls > 1000 ? "many" : "few");
            there = 0;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
