/* Sweeps of a triangular solver through a cube, as NAS LU does them: a plane of ranks, and a wave through every layer.
 *
 * For each layer a rank waits for the edges of its neighbours in the north and west, works, and sends its own edges to the
 * south and east: many short messages, each waited for. The second half of an iteration sweeps back. */
#include "timing.h"

#define VALUES 5 /* of a point, as in NAS LU */

static MPI_Comm plane;
static int sides[2], at[2], width, height;

/* One layer of a sweep: a point becomes a mean of itself and of two points before it. */
static void relax(double *layer, const double *north, const double *west, int forward) {
    for (int step = 0; step < height * width; ++step) {
        int point = forward ? step : height * width - 1 - step, y = point / width, x = point % width;
        int above = forward ? y == 0 : y == height - 1, before = forward ? x == 0 : x == width - 1;
        int down = forward ? -width : width, side = forward ? -1 : 1;
        for (int value = 0; value < VALUES; ++value) {
            double one = above ? north[x * VALUES + value] : layer[(point + down) * VALUES + value];
            double other = before ? west[y * VALUES + value] : layer[(point + side) * VALUES + value];
            layer[point * VALUES + value] = 0.5 * layer[point * VALUES + value] + 0.25 * one + 0.2 * other;
        }
    }
}

/* A sweep through all layers: forward from the north-west, or back from the south-east. */
static void sweep(double *cube, double *edges, int size, int forward) {
    double *north = edges, *west = edges + width * VALUES, *out = west + height * VALUES;
    int before[2], behind[2];
    for (int axis = 0; axis < 2; ++axis)
        MPI_Cart_shift(plane, axis, forward ? 1 : -1, &before[axis], &behind[axis]);
    for (int step = 0; step < size; ++step) {
        double *layer = cube + (size_t)(forward ? step : size - 1 - step) * width * height * VALUES;
        for (int at_edge = 0; at_edge < (width + height) * VALUES; ++at_edge)
            edges[at_edge] = 0;
        MPI_Recv(north, width * VALUES, MPI_DOUBLE, before[0], 0, plane, MPI_STATUS_IGNORE);
        MPI_Recv(west, height * VALUES, MPI_DOUBLE, before[1], 1, plane, MPI_STATUS_IGNORE);
        relax(layer, north, west, forward);
        double *south = layer + (forward ? (size_t)(height - 1) * width * VALUES : 0);
        MPI_Send(south, width * VALUES, MPI_DOUBLE, behind[0], 0, plane);
        for (int y = 0; y < height; ++y)
            for (int value = 0; value < VALUES; ++value)
                out[y * VALUES + value] = layer[((size_t)y * width + (forward ? width - 1 : 0)) * VALUES + value];
        MPI_Send(out, height * VALUES, MPI_DOUBLE, behind[1], 1, plane);
    }
}

static double solve(int size, int iterations) {
    if (sides[0] == 0) {
        MPI_Dims_create(ranks, 2, sides);
        MPI_Cart_create(MPI_COMM_WORLD, 2, sides, (int[]){0, 0}, 0, &plane);
        MPI_Cart_coords(plane, rank, 2, at);
    }
    height = size / sides[0], width = size / sides[1];
    if (height * sides[0] != size || width * sides[1] != size)
        stop("LU wants a size that the ranks of both axes divide");
    size_t length = (size_t)size * height * width * VALUES;
    double *cube = room(length * sizeof(double)), *edges = room((width + 2 * height) * VALUES * sizeof(double));
    for (int z = 0; z < size; ++z)
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x)
                for (int value = 0; value < VALUES; ++value) {
                    uint64_t point = ((uint64_t)z * size + at[0] * height + y) * size + at[1] * width + x;
                    cube[(((size_t)z * height + y) * width + x) * VALUES + value] = uniform(point * VALUES + value);
                }
    double norm = 0;
    for (int iteration = 0; iteration < iterations; ++iteration) {
        sweep(cube, edges, size, 1);
        sweep(cube, edges, size, 0);
        double own = 0;
        for (size_t point = 0; point < length; ++point)
            own += cube[point] * cube[point];
        norm = sqrt(sum_of_all(own));
    }
    free(edges), free(cube);
    return norm;
}

int main(int count, char **words) { return timed(count, words, solve); }
