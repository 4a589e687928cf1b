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

/* A product of two matrices of 128 x 128 doubles, a few hundred microseconds of a core. */
static inline void load_kernel(void) {
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
}

/* Makes a load until rank 0 says stop. */
static inline void make_load(enum load load) {
    int stop = 0;
    while (!stop) {
        if (load == LOAD_KERNEL || load == LOAD_BOTH)
            load_kernel();
        if (load == LOAD_NONE)
            pause_for(0.01);
        MPI_Iprobe(0, LOAD_STOP, MPI_COMM_WORLD, &stop, MPI_STATUS_IGNORE);
    }
    MPI_Recv(NULL, 0, MPI_BYTE, 0, LOAD_STOP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 0 ends the load of all ranks but itself and `partner`. */
static inline void stop_load(int partner) {
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int rank = 1; rank < ranks; rank++)
        if (rank != partner)
            MPI_Send(NULL, 0, MPI_BYTE, rank, LOAD_STOP, MPI_COMM_WORLD);
}

#endif
