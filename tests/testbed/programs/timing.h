/* What the four programs share: numbers of the command line, timed repeats, and random numbers that are the same everywhere.
 *
 * Each program takes a size, iterations and repeats, and prints a line `took SECONDS`, the longest of all ranks, for every
 * repeat, and a checksum that does not depend on where it runs. */
#ifndef TIMING_H
#define TIMING_H

#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks;

static void stop(const char *why) {
    if (rank == 0)
        fprintf(stderr, "error: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* The number in a place of the command line; ends the program where there is none. */
static int number(int count, char **words, int place) {
    int value = place < count ? atoi(words[place]) : 0;
    if (value <= 0)
        stop("three positive numbers are wanted: size, iterations, repeats");
    return value;
}

static void *room(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (memory == NULL)
        stop("out of memory");
    return memory;
}

/* Uniform in 0 to 1, by the index of a number alone (splitmix64), so that it does not depend on the number of ranks. */
static double uniform(uint64_t index) {
    uint64_t mixed = (index + 1) * 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
    return (double)((mixed ^ mixed >> 31) >> 11) / 9007199254740992.0;
}

static double sum_of_all(double own) {
    double sum;
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* Runs a program of a size, `solve`, several times, and prints what each took. */
static int timed(int count, char **words, double (*solve)(int size, int iterations)) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int size = number(count, words, 1), iterations = number(count, words, 2);
    int repeats = number(count, words, 3);
    double checksum = solve(size, 1); /* connections are made here */
    for (int repeat = 0; repeat < repeats; ++repeat) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begun = MPI_Wtime(), longest;
        checksum = solve(size, iterations);
        double own = MPI_Wtime() - begun;
        MPI_Reduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("took %.6f\n", longest);
    }
    if (rank == 0)
        printf("checksum %.10e\n", checksum);
    MPI_Finalize();
    return 0;
}

#endif
