/* A loop of which a part is marked: it runs until its time is known. */
#include "../check.h"

#include <hopcast.h>

static volatile double sink;

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int local = 0, global = 0;
    for (int i = 0; i < 100; i++) {
        HOPCAST_SAMPLE_LOCAL(5, 1e-9) {
            local++;
            /* Of equal work, two times may be equal, too, to the nanosecond: then they are known. */
            for (int j = 0; j < 100000 * local; j++)
                sink += j;
        }
        HOPCAST_SAMPLE_GLOBAL(4, 0.5) {
            global++;
            for (int j = 0; j < 100000; j++)
                sink += j;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    int all;
    MPI_Allreduce(&global, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(local == 5 && all >= 2 && all <= 4 + size);
    if (rank == 0)
        printf("%d\n", MPI_Wtime() > 100 * 20e-6);
    MPI_Finalize();
    return 0;
}
