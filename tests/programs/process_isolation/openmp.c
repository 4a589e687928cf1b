/* Threads of OpenMP in ranks that are processes: as many as the program asks for, beside messages and memory of MPI. */
#include "../check.h"

#include <omp.h>

enum { THREADS = 3, NUMBERS = 100000 };

static int own = 5;
#pragma omp threadprivate(own)

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(level >= MPI_THREAD_FUNNELED);
    omp_set_dynamic(0);
    omp_set_num_threads(THREADS);
    long *window, sum = 0, all;
    MPI_Win win;
    MPI_Win_allocate(THREADS * sizeof *window, sizeof *window, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
    for (int round = 0; round < 3; round++) {
        int threads = 0;
#pragma omp parallel reduction(+ : sum)
        {
#pragma omp single
            threads = omp_get_num_threads();
            CHECK(own == 5 + round);
            own++;
#pragma omp for
            for (int i = 0; i < NUMBERS; i++)
                sum += i % 7 * (rank + 1);
            window[omp_get_thread_num()] = 10 * rank + omp_get_thread_num();
        }
        CHECK(threads == THREADS);
        long theirs[THREADS];
        MPI_Win_fence(0, win);
        MPI_Get(theirs, THREADS, MPI_LONG, (rank + 1) % size, 0, THREADS, MPI_LONG, win);
        MPI_Win_fence(0, win);
        for (int thread = 0; thread < THREADS; thread++)
            CHECK(theirs[thread] == 10 * ((rank + 1) % size) + thread);
    }
    MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Win_free(&win);
    if (rank == 0)
        printf("%d ranks of %d threads: %ld\n", size, THREADS, all);
    MPI_Finalize();
    return 0;
}
