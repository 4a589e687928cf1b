/* Stretches between two looks at a clock, timed by the program itself. Prints of each rank the time of each [s]; what they
 * take is what a profile says: in marked lines, that a stretch which begins with a look and ends with the named call stays in
 * cache, or moves memory. */
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

static double gettime(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* clock: memory */
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static double timeofday(void) {
    struct timeval now;
    gettimeofday(&now, NULL); /* clock: memory */
    return now.tv_sec + 1e-6 * now.tv_usec;
}

static void print(const char *name, double time) {
    printf("%s %d %.9f\n", name, rank, time);
}

/* A sum that looks at the clock: no other rank may run inside of the reduction. */
static void sum(void *left, void *right, int *count, MPI_Datatype *type) {
    (void)type;
    double since = MPI_Wtime();
    for (int i = 0; i < *count; i++)
        ((int *)right)[i] += ((int *)left)[i];
    CHECK(MPI_Wtime() >= since); /* clock: memory */
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double since, until, end;
    MPI_Barrier(MPI_COMM_WORLD);
    since = MPI_Wtime();
    until = MPI_Wtime(); /* clock: memory */
    print("wtime", until - since);
    MPI_Barrier(MPI_COMM_WORLD);
    since = PMPI_Wtime();
    until = PMPI_Wtime(); /* clock: memory */
    print("pwtime", until - since);
    MPI_Barrier(MPI_COMM_WORLD);
    since = gettime();
    until = gettime();
    print("clock_gettime", until - since);
    MPI_Barrier(MPI_COMM_WORLD);
    since = timeofday();
    until = timeofday();
    print("gettimeofday", until - since);
    /* One rank comes later by half of the time. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        usleep(5000);
    since = MPI_Wtime();
    until = MPI_Wtime(); /* clock: memory */
    print("later", until - since);
    /* What lies in cache is not slowed, and what comes then is by as much as ever. */
    MPI_Barrier(MPI_COMM_WORLD);
    since = MPI_Wtime();
    until = MPI_Wtime(); /* clock: cache */
    MPI_Barrier(MPI_COMM_WORLD); /* MPI_Barrier: memory */
    end = MPI_Wtime();
    print("cache", until - since);
    print("call", end - until);
    /* A sleep begins when what was computed before it has ended. */
    MPI_Barrier(MPI_COMM_WORLD);
    since = MPI_Wtime();
    usleep(5000); /* clock: cache */
    until = MPI_Wtime();
    print("sleep", until - since);
    int one = 1, all = 0;
    MPI_Op op;
    MPI_Op_create(sum, 1, &op);
    MPI_Allreduce(&one, &all, 1, MPI_INT, op, MPI_COMM_WORLD);
    CHECK(all == size);
    MPI_Op_free(&op);
    MPI_Finalize(); /* What comes then does not count any more. */
    since = gettime();
    return gettime() < since;
}
