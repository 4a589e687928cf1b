/* What one-sided calls take: prints "name rank microseconds". Rank 1 is the target. */
#include "../check.h"

#include <time.h>

enum { LENGTH = 5000 };

static double slot;

/* All begin at the same time. */
static double align(double later_us) {
    MPI_Barrier(MPI_COMM_WORLD);
    slot += 0.001;
    double wait = slot + later_us * 1e-6 - MPI_Wtime();
    struct timespec length = {0, (long)(wait * 1e9 + 0.5)};
    nanosleep(&length, NULL);
    return MPI_Wtime();
}

static void tell(const char *name, double start) {
    printf("%s %d %.3f\n", name, rank, (MPI_Wtime() - start) * 1e6);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double *memory, values[LENGTH], one = 1, old = -1;
    MPI_Win win;
    MPI_Win_allocate(LENGTH * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < LENGTH; i++)
        memory[i] = rank, values[i] = i;

    double start = align(0);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        tell("lock", start);
        start = MPI_Wtime();
        MPI_Put(values, LENGTH, MPI_DOUBLE, 1, 0, LENGTH, MPI_DOUBLE, win);
        MPI_Win_flush(1, win);
        tell("put", start);
        start = MPI_Wtime();
        MPI_Get(values, LENGTH, MPI_DOUBLE, 1, 0, LENGTH, MPI_DOUBLE, win);
        MPI_Win_flush(1, win);
        tell("get", start);
        start = MPI_Wtime();
        MPI_Accumulate(values, LENGTH, MPI_DOUBLE, 1, 0, LENGTH, MPI_DOUBLE, MPI_SUM, win);
        MPI_Win_flush(1, win);
        tell("accumulate", start);
        start = MPI_Wtime();
        MPI_Get_accumulate(values, LENGTH, MPI_DOUBLE, values, LENGTH, MPI_DOUBLE, 1, 0, LENGTH, MPI_DOUBLE,
                           MPI_REPLACE, win);
        MPI_Win_flush(1, win);
        tell("get_accumulate", start);
        CHECK(values[7] == 14);
        start = MPI_Wtime();
        MPI_Fetch_and_op(&one, &old, MPI_DOUBLE, 1, 3, MPI_SUM, win);
        MPI_Win_flush(1, win);
        tell("fetch_and_op", start);
        CHECK(old == 3);
        int number = 5, expected = 0, before = -1;
        start = MPI_Wtime();
        MPI_Compare_and_swap(&number, &expected, &before, MPI_INT, 1, 0, win);
        MPI_Win_flush(1, win);
        tell("compare_and_swap", start);
        CHECK(before == 0);
        start = MPI_Wtime();
        MPI_Win_unlock(1, win);
        tell("unlock", start);
    }

    start = align(0);
    MPI_Win_lock_all(0, win);
    tell("lock_all", start);
    if (rank == 0) {
        MPI_Put(values, 1, MPI_DOUBLE, 1, 9, 1, MPI_DOUBLE, win);
        MPI_Win_flush_all(win);
        tell("first", start);
        start = MPI_Wtime();
        MPI_Put(values, LENGTH, MPI_DOUBLE, 1, 0, LENGTH, MPI_DOUBLE, win);
        MPI_Win_flush_all(win);
        tell("flush_all", start);
    }
    start = align(0);
    MPI_Win_unlock_all(win);
    tell("unlock_all", start);

    start = align(0);
    MPI_Win_fence(0, win);
    tell("fence", start);
    start = align(0);
    if (rank == 0)
        MPI_Put(values, LENGTH, MPI_DOUBLE, 1, 0, LENGTH, MPI_DOUBLE, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    tell("fence_of_put", start);

    /* Rank 0 accesses what rank 1 posts. */
    MPI_Group world, origin, target;
    int ranks[2] = {0, 1};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, ranks, &origin);
    MPI_Group_incl(world, 1, ranks + 1, &target);
    start = align(0);
    if (rank == 1) {
        MPI_Win_post(origin, 0, win);
        tell("post", start);
        MPI_Win_wait(win);
        tell("wait", start);
    } else if (rank == 0) {
        MPI_Win_start(target, 0, win);
        tell("start", start);
        MPI_Put(values, LENGTH, MPI_DOUBLE, 1, 0, LENGTH, MPI_DOUBLE, win);
        MPI_Win_complete(win);
        tell("complete", start);
    }

    /* Exclusive locks come in the order of the calls: the last rank calls first. */
    start = align(0.1 * (size - rank)) - 0.1e-6 * (size - rank);
    if (rank != 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        tell("turn", start);
        struct timespec held = {0, 10000};
        nanosleep(&held, NULL);
        MPI_Fetch_and_op(&one, &old, MPI_DOUBLE, 1, 0, MPI_SUM, win);
        MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK(rank != 1 || memory[0] == size - 1);
    MPI_Win_unlock(rank, win);
    MPI_Group_free(&world);
    MPI_Group_free(&origin);
    MPI_Group_free(&target);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
