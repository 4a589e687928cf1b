/* Hydrodynamics in a cube: an ideal gas on a regular grid that is split over ranks in three dimensions, by the
 * Lax-Friedrichs scheme. A spherical shell of dense gas runs inwards, as in the tests of codes such as PAGOSA.
 *
 *     mpicc -O2 hydro.c -o hydro -lm       or       hopcast cc -O2 hydro.c -o hydro -lm
 *     hydro [N = 32] [STEPS = 20]
 *
 * N is the edge of a rank's part in cells. In each step, every field goes to the six neighbours in a message of its own,
 * then all ranks agree on the longest stable step; every ten steps they sum mass and energy. Walls reflect. */
#include <mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DENSITY, MOMENTUM_X, MOMENTUM_Y, MOMENTUM_Z, ENERGY, FIELDS };
static const double gamma_gas = 5.0 / 3.0;

static int n, stride[3];          /* cells along an edge; distances of neighbours in memory */
static int neighbour[3][2];       /* below and above in each dimension; MPI_PROC_NULL is a wall */
static MPI_Comm grid;
static MPI_Datatype face[3];      /* the cells of a layer across each dimension */
static double *now[FIELDS], *next[FIELDS];

static int at(int x, int y, int z) { return (x * (n + 2) + y) * (n + 2) + z; }

/* A layer of the cube across a dimension: 0 is the border below, n + 1 the one above. */
static int layer(int dimension, int which) {
    int first[3] = {1, 1, 1};
    first[dimension] = which;
    return at(first[0], first[1], first[2]);
}

/* A wall shows the gas its mirror image. */
static void reflect(int dimension, int side) {
    int border = layer(dimension, side ? n + 1 : 0), inner = layer(dimension, side ? n : 1);
    int a = stride[(dimension + 1) % 3], b = stride[(dimension + 2) % 3];
    for (int field = 0; field < FIELDS; field++) {
        double sign = field == MOMENTUM_X + dimension ? -1 : 1;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) now[field][border + i * a + j * b] = sign * now[field][inner + i * a + j * b];
    }
}

static void exchange(void) {
    MPI_Request requests[FIELDS * 12];
    int count = 0;
    for (int dimension = 0; dimension < 3; dimension++)
        for (int side = 0; side < 2; side++)
            for (int field = 0; field < FIELDS; field++)
                MPI_Irecv(now[field] + layer(dimension, side ? n + 1 : 0), 1, face[dimension],
                          neighbour[dimension][side], 2 * field + side, grid, &requests[count++]);
    for (int dimension = 0; dimension < 3; dimension++)
        for (int side = 0; side < 2; side++)
            for (int field = 0; field < FIELDS; field++)
                MPI_Isend(now[field] + layer(dimension, side ? n : 1), 1, face[dimension],
                          neighbour[dimension][side], 2 * field + !side, grid, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int dimension = 0; dimension < 3; dimension++)
        for (int side = 0; side < 2; side++)
            if (neighbour[dimension][side] == MPI_PROC_NULL) reflect(dimension, side);
}

static double pressure(int cell) {
    double kinetic = 0;
    for (int d = 0; d < 3; d++) kinetic += now[MOMENTUM_X + d][cell] * now[MOMENTUM_X + d][cell];
    return (gamma_gas - 1) * (now[ENERGY][cell] - 0.5 * kinetic / now[DENSITY][cell]);
}

/* What flows through a cell along a dimension. */
static void flux(int cell, int dimension, double *through) {
    double speed = now[MOMENTUM_X + dimension][cell] / now[DENSITY][cell], p = pressure(cell);
    for (int field = 0; field < FIELDS; field++) through[field] = speed * now[field][cell];
    through[MOMENTUM_X + dimension] += p;
    through[ENERGY] += speed * p;
}

/* The fastest wave in this rank's part. */
static double fastest(void) {
    double most = 0;
    for (int x = 1; x <= n; x++)
        for (int y = 1; y <= n; y++)
            for (int z = 1; z <= n; z++) {
                int cell = at(x, y, z);
                double sound = sqrt(gamma_gas * pressure(cell) / now[DENSITY][cell]), speed = 0;
                for (int d = 0; d < 3; d++) speed = fmax(speed, fabs(now[MOMENTUM_X + d][cell]) / now[DENSITY][cell]);
                most = fmax(most, speed + sound);
            }
    return most;
}

/* A step of dt over dx. */
static void advance(double ratio) {
    for (int x = 1; x <= n; x++)
        for (int y = 1; y <= n; y++)
            for (int z = 1; z <= n; z++) {
                int cell = at(x, y, z);
                double change[FIELDS] = {0}, below[FIELDS], above[FIELDS];
                for (int d = 0; d < 3; d++) {
                    flux(cell - stride[d], d, below);
                    flux(cell + stride[d], d, above);
                    for (int field = 0; field < FIELDS; field++)
                        change[field] += (now[field][cell - stride[d]] + now[field][cell + stride[d]]) / 6
                                         - 0.5 * ratio * (above[field] - below[field]);
                }
                for (int field = 0; field < FIELDS; field++) next[field][cell] = change[field];
            }
    for (int field = 0; field < FIELDS; field++) {
        double *swap = now[field];
        now[field] = next[field];
        next[field] = swap;
    }
}

/* A shell that runs to the middle of the cube, in thin gas at rest. */
static void begin(const int *place, const int *sizes) {
    for (int x = 1; x <= n; x++)
        for (int y = 1; y <= n; y++)
            for (int z = 1; z <= n; z++) {
                int cell = at(x, y, z), index[3] = {x, y, z};
                double away[3], radius = 0;
                for (int d = 0; d < 3; d++) {
                    away[d] = (place[d] * n + index[d] - 0.5) / (sizes[d] * n) - 0.5;
                    radius += away[d] * away[d];
                }
                radius = sqrt(radius);
                int in_shell = radius > 0.3 && radius < 0.4;
                double density = in_shell ? 2 : 1, kinetic = 0;
                now[DENSITY][cell] = density;
                for (int d = 0; d < 3; d++) {
                    double momentum = in_shell ? -density * away[d] / radius : 0;
                    now[MOMENTUM_X + d][cell] = momentum;
                    kinetic += 0.5 * momentum * momentum / density;
                }
                now[ENERGY][cell] = 1 / (gamma_gas - 1) + kinetic;
            }
}

/* Mass and energy of the whole cube, per cell. */
static void sums(double *total) {
    double own[2] = {0, 0};
    for (int x = 1; x <= n; x++)
        for (int y = 1; y <= n; y++)
            for (int z = 1; z <= n; z++) {
                own[0] += now[DENSITY][at(x, y, z)];
                own[1] += now[ENERGY][at(x, y, z)];
            }
    MPI_Allreduce(own, total, 2, MPI_DOUBLE, MPI_SUM, grid);
}

static void make_faces(void) {
    int whole[3] = {n + 2, n + 2, n + 2}, start[3] = {0, 0, 0};
    for (int d = 0; d < 3; d++) {
        int part[3] = {n, n, n};
        part[d] = 1;
        MPI_Type_create_subarray(3, whole, part, start, MPI_ORDER_C, MPI_DOUBLE, &face[d]);
        MPI_Type_commit(&face[d]);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    n = argc > 1 ? atoi(argv[1]) : 32;
    int steps = argc > 2 ? atoi(argv[2]) : 20;
    int ranks, rank, sizes[3] = {0, 0, 0}, periods[3] = {0, 0, 0}, place[3];
    if (n < 1 || steps < 0) {
        fprintf(stderr, "hydro: N is 1 or more, STEPS is 0 or more\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 3, sizes);
    MPI_Cart_create(MPI_COMM_WORLD, 3, sizes, periods, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 3, place);
    for (int d = 0; d < 3; d++) MPI_Cart_shift(grid, d, 1, &neighbour[d][0], &neighbour[d][1]);
    stride[0] = (n + 2) * (n + 2), stride[1] = n + 2, stride[2] = 1;
    for (int field = 0; field < FIELDS; field++) {
        now[field] = calloc(stride[0] * (size_t)(n + 2), sizeof(double));
        next[field] = calloc(stride[0] * (size_t)(n + 2), sizeof(double));
    }
    make_faces();
    begin(place, sizes);

    double first[2], last[2], time = 0, started = MPI_Wtime();
    sums(first);
    for (int step = 1; step <= steps; step++) {
        double own = fastest(), all;
        exchange();
        MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, grid);
        advance(0.3 / all);
        time += 0.3 / all / (n * sizes[0]);
        if (step % 10 == 0) {
            sums(last);
            if (rank == 0) printf("step %4d  time %.4f  mass %.9f  energy %.9f\n", step, time, last[0], last[1]);
        }
    }
    sums(last);
    double cells = (double)n * n * n * ranks;
    int conserved = fabs(last[0] - first[0]) < 1e-9 * first[0] && fabs(last[1] - first[1]) < 1e-9 * first[1];
    if (rank == 0)
        printf("%d ranks, %.0f cells, %d steps: mean density %.9f, mean energy %.9f, %s; %.3f s\n", ranks, cells, steps,
               last[0] / cells, last[1] / cells, conserved ? "conserved" : "NOT conserved", MPI_Wtime() - started);
    for (int d = 0; d < 3; d++) MPI_Type_free(&face[d]);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return !conserved;
}
