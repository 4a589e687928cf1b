/* Multigrid cycles for Poisson's equation on a periodic cube, as NAS MG distributes it: ranks form a grid of three axes.
 *
 * Every smoothing, restriction and prolongation needs the faces of its neighbours, axis by axis; coarse grids send little. */
#include "timing.h"

#define COARSEST 2 /* points of a rank along an axis */

typedef struct {
    int size[3]; /* points of a rank along each axis, without the layer from its neighbours */
    double *values, *wanted, *rest;
} Grid;

static MPI_Comm grid_of_ranks;
static int neighbours[3][2];

static size_t place(const Grid *grid, int x, int y, int z) {
    return ((size_t)x * (grid->size[1] + 2) + y) * (grid->size[2] + 2) + z;
}

/* A face of an axis: copies it to or from a buffer, and gives its length. */
static int face(const Grid *grid, double *values, int axis, int layer, double *buffer, int out) {
    int from[3] = {0, 0, 0}, to[3], length = 0;
    for (int other = 0; other < 3; ++other)
        to[other] = grid->size[other] + 1;
    from[axis] = to[axis] = layer;
    for (int x = from[0]; x <= to[0]; ++x)
        for (int y = from[1]; y <= to[1]; ++y)
            for (int z = from[2]; z <= to[2]; ++z, ++length) {
                double *value = &values[place(grid, x, y, z)];
                *(out ? &buffer[length] : value) = out ? *value : buffer[length];
            }
    return length;
}

/* Fills the layer around a rank's points from its neighbours. */
static void exchange(const Grid *grid, double *values) {
    static double *buffers;
    static size_t have;
    size_t most = (size_t)(grid->size[0] + 2) * (grid->size[1] + 2) + (size_t)(grid->size[1] + 2) * (grid->size[2] + 2) +
                  (size_t)(grid->size[0] + 2) * (grid->size[2] + 2);
    if (most > have)
        free(buffers), buffers = room(4 * (have = most) * sizeof(double));
    for (int axis = 0; axis < 3; ++axis) {
        MPI_Request requests[4];
        int last = grid->size[axis], length = 0;
        for (int side = 0; side < 2; ++side) {
            double *in = buffers + side * have, *out = buffers + (2 + side) * have;
            length = face(grid, values, axis, side ? last : 1, out, 1);
            MPI_Irecv(in, length, MPI_DOUBLE, neighbours[axis][side], 2 * axis + 1 - side, grid_of_ranks,
                      &requests[side]);
            MPI_Isend(out, length, MPI_DOUBLE, neighbours[axis][side], 2 * axis + side, grid_of_ranks,
                      &requests[2 + side]);
        }
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        for (int side = 0; side < 2; ++side)
            face(grid, values, axis, side ? last + 1 : 0, buffers + side * have, 0);
    }
}

/* For all points of a rank: rest = wanted - A values, and, where it smooths, values += weight · rest. */
static void residual(Grid *grid, double weight) {
    size_t step[3] = {place(grid, 1, 0, 0), place(grid, 0, 1, 0), 1};
    exchange(grid, grid->values);
    for (int x = 1; x <= grid->size[0]; ++x)
        for (int y = 1; y <= grid->size[1]; ++y)
            for (int z = 1; z <= grid->size[2]; ++z) {
                size_t at = place(grid, x, y, z);
                double around = 0;
                for (int axis = 0; axis < 3; ++axis)
                    around += grid->values[at - step[axis]] + grid->values[at + step[axis]];
                grid->rest[at] = grid->wanted[at] - (6 * grid->values[at] - around);
            }
    if (weight == 0)
        return;
    for (int x = 1; x <= grid->size[0]; ++x)
        for (int y = 1; y <= grid->size[1]; ++y)
            for (int z = 1; z <= grid->size[2]; ++z)
                grid->values[place(grid, x, y, z)] += weight * grid->rest[place(grid, x, y, z)];
}

/* One V-cycle from a level down to the coarsest and back. */
static void cycle(Grid *grids, int level) {
    Grid *fine = &grids[level], *coarse = &grids[level - 1];
    residual(fine, 1 / 8.0);
    if (level == 0) {
        for (int smoothing = 0; smoothing < 4; ++smoothing)
            residual(fine, 1 / 8.0);
        return;
    }
    residual(fine, 0);
    for (int x = 1; x <= coarse->size[0]; ++x)
        for (int y = 1; y <= coarse->size[1]; ++y)
            for (int z = 1; z <= coarse->size[2]; ++z) {
                double sum = 0;
                for (int part = 0; part < 8; ++part)
                    sum += fine->rest[place(fine, 2 * x - (part & 1), 2 * y - (part >> 1 & 1), 2 * z - (part >> 2))];
                coarse->wanted[place(coarse, x, y, z)] = sum / 2;
                coarse->values[place(coarse, x, y, z)] = 0;
            }
    cycle(grids, level - 1);
    for (int x = 1; x <= fine->size[0]; ++x)
        for (int y = 1; y <= fine->size[1]; ++y)
            for (int z = 1; z <= fine->size[2]; ++z)
                fine->values[place(fine, x, y, z)] += coarse->values[place(coarse, (x + 1) / 2, (y + 1) / 2, (z + 1) / 2)];
    residual(fine, 1 / 8.0);
}

static double solve(int size, int iterations) {
    static Grid grids[16];
    static int levels, sides[3], at[3];
    if (levels == 0) {
        MPI_Dims_create(ranks, 3, sides);
        MPI_Cart_create(MPI_COMM_WORLD, 3, sides, (int[]){1, 1, 1}, 0, &grid_of_ranks);
        MPI_Cart_coords(grid_of_ranks, rank, 3, at);
        for (int axis = 0; axis < 3; ++axis)
            MPI_Cart_shift(grid_of_ranks, axis, 1, &neighbours[axis][0], &neighbours[axis][1]);
        for (int points = COARSEST; points * sides[0] <= size && levels < 16; points *= 2, ++levels) {
            Grid *grid = &grids[levels];
            size_t room_of = 1;
            for (int axis = 0; axis < 3; ++axis) {
                grid->size[axis] = points * sides[0] / sides[axis];
                room_of *= grid->size[axis] + 2;
            }
            grid->values = room(room_of * sizeof(double)), grid->wanted = room(room_of * sizeof(double));
            grid->rest = room(room_of * sizeof(double));
        }
        if (levels == 0 || grids[levels - 1].size[0] * sides[0] != size)
            stop("MG wants a size of 2^k times the ranks along an axis");
    }
    Grid *finest = &grids[levels - 1];
    for (int x = 1; x <= finest->size[0]; ++x)
        for (int y = 1; y <= finest->size[1]; ++y)
            for (int z = 1; z <= finest->size[2]; ++z) {
                uint64_t whole[3] = {at[0] * finest->size[0] + x, at[1] * finest->size[1] + y, at[2] * finest->size[2] + z};
                finest->wanted[place(finest, x, y, z)] = uniform((whole[0] * 8192 + whole[1]) * 8192 + whole[2]) - 0.5;
                finest->values[place(finest, x, y, z)] = 0;
            }
    double norm = 0;
    for (int iteration = 0; iteration < iterations; ++iteration) {
        cycle(grids, levels - 1);
        residual(finest, 0);
        double own = 0;
        for (int x = 1; x <= finest->size[0]; ++x)
            for (int y = 1; y <= finest->size[1]; ++y)
                for (int z = 1; z <= finest->size[2]; ++z)
                    own += pow(finest->rest[place(finest, x, y, z)], 2);
        norm = sqrt(sum_of_all(own));
    }
    return norm;
}

int main(int count, char **words) { return timed(count, words, solve); }
