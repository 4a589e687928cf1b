/* Two kernels on every rank at the same time, timed by the program itself: STREAM's triad, which moves memory, and a
 * recurrence in registers, which does not. Prints the median time of each, of the slowest rank [s]. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define LENGTH (4 << 20) /* doubles of an array: 32 MiB, beyond the caches */
#define STEPS (8 << 20)
#define REPEATS 21

static double *a, *b, *c;
static volatile double sink;

static void triad(void)
{
    for (long i = 0; i < LENGTH; i++)
        a[i] = b[i] + 3.0 * c[i];
}

static void recurrence(void)
{
    double x = 0.5;
    for (long i = 0; i < STEPS; i++)
        x = 3.7 * x * (1.0 - x);
    sink = x;
}

static int ascending(const void *left, const void *right)
{
    double x = *(const double *)left, y = *(const double *)right;
    return (x > y) - (x < y);
}

static double times[REPEATS];

/* Prints the median time of the slowest rank. */
static void print(const char *name)
{
    double slowest;
    int rank;
    qsort(times, REPEATS, sizeof *times, ascending);
    MPI_Reduce(&times[REPEATS / 2], &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%s %.9f\n", name, slowest);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    a = malloc(LENGTH * sizeof *a);
    b = malloc(LENGTH * sizeof *b);
    c = malloc(LENGTH * sizeof *c);
    for (long i = 0; i < LENGTH; i++) {
        a[i] = 0;
        b[i] = 1;
        c[i] = 2;
    }
    /* A loop of its own for each: a profile knows work by the places of the calls around it. */
    for (int i = 0; i < REPEATS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        times[i] = -MPI_Wtime();
        triad();
        times[i] += MPI_Wtime();
    }
    print("triad");
    for (int i = 0; i < REPEATS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        times[i] = -MPI_Wtime();
        recurrence();
        times[i] += MPI_Wtime();
    }
    print("recurrence");
    MPI_Finalize();
    return 0;
}
