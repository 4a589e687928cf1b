/* Load by the ranks that do not measure: they sleep, compute, poll for messages, or do both. */
#ifndef HOPCAST_CALIBRATE_LOAD_H
#define HOPCAST_CALIBRATE_LOAD_H

#include "common.h"

#define LOAD_SIDE 128
#define LOAD_STOP 901

enum load { LOAD_NONE, LOAD_KERNEL, LOAD_PROBE, LOAD_BOTH, LOAD_UNKNOWN };

static inline enum load load_named(const char *name) {
    static const char *names[] = {"none", "kernel", "probe", "both"};
    for (int i = 0; i < LOAD_UNKNOWN; i++)
        if (!strcmp(name, names[i]))
            return (enum load)i;
    return LOAD_UNKNOWN;
}

#define LOAD_KERNELS_UNSEEN 100 /* products between two looks for the end, where the load is to compute alone */

/* Work of this rank while others measured, which shows that the load was there. */
struct load_done {
    double kernels, polls, seconds;
};

/* A product of two matrices of 128 x 128 doubles, a few hundred microseconds of a core. */
static inline void load_kernel(struct load_done *done) {
    static double a[LOAD_SIDE][LOAD_SIDE], b[LOAD_SIDE][LOAD_SIDE], c[LOAD_SIDE][LOAD_SIDE];
    if (a[0][0] == 0)
        for (int i = 0; i < LOAD_SIDE; i++)
            for (int j = 0; j < LOAD_SIDE; j++) {
                a[i][j] = (double)rand() / RAND_MAX + 1e-9;
                b[i][j] = (double)rand() / RAND_MAX;
            }
    for (int i = 0; i < LOAD_SIDE; i++)
        for (int k = 0; k < LOAD_SIDE; k++)
            for (int j = 0; j < LOAD_SIDE; j++)
                c[i][j] += a[i][k] * b[k][j];
    *(volatile double *)&c[1][1] = c[1][1] * 0.5;
    done->kernels++;
}

/* Makes a load until rank 0 says stop. */
static inline struct load_done make_load(enum load load) {
    struct load_done done = {0, 0, MPI_Wtime()};
    int stop = 0;
    while (!stop) {
        int kernels = load == LOAD_BOTH ? 1 : load == LOAD_KERNEL ? LOAD_KERNELS_UNSEEN : 0;
        for (int i = 0; i < kernels; i++)
            load_kernel(&done);
        if (load == LOAD_NONE)
            pause_for(0.01);
        MPI_Iprobe(0, LOAD_STOP, MPI_COMM_WORLD, &stop, MPI_STATUS_IGNORE);
        done.polls++;
    }
    MPI_Recv(NULL, 0, MPI_BYTE, 0, LOAD_STOP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    done.seconds = MPI_Wtime() - done.seconds;
    return done;
}

/* Rank 0 ends the load of all ranks but itself and `partner`. */
static inline void stop_load(int partner) {
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int rank = 1; rank < ranks; rank++)
        if (rank != partner)
            MPI_Send(NULL, 0, MPI_BYTE, rank, LOAD_STOP, MPI_COMM_WORLD);
}

/* Rank 0 adds a line `rank,kernels,polls,seconds` of each rank that made a load to FOLDER/load.csv; all ranks call it. */
static inline void write_load(const char *folder, struct load_done done) {
    int rank, ranks;
    char path[4096];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct load_done *all = rank ? NULL : allocated((size_t)ranks * sizeof *all);
    MPI_Gather(&done, 3, MPI_DOUBLE, all, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank)
        return;
    snprintf(path, sizeof path, "%s/load.csv", folder);
    FILE *file = opened(path, "a");
    if (fseek(file, 0, SEEK_END) || !ftell(file))
        fputs("rank,kernels,polls,seconds\n", file);
    for (int i = 0; i < ranks; i++)
        if (all[i].seconds > 0)
            fprintf(file, "%d,%.0f,%.0f,%.6f\n", i, all[i].kernels, all[i].polls, all[i].seconds);
    closed(file);
    free(all);
}

#endif
