/* Fourier transforms of a cube, as NAS FT in slabs: planes are transformed, the cube is transposed, lines are transformed.
 *
 * Each iteration changes the spectrum, transforms it back, with one MPI_Alltoall, and sums up some of its points. */
#include "timing.h"

#include <complex.h>

typedef double complex Point;

static Point *roots; /* of unity, half of a circle */

/* Transform of `size` points in place, by powers of two. */
static void transform(Point *points, int size) {
    for (int at = 1, mirrored = 0; at < size; ++at) {
        int bit = size >> 1;
        for (; mirrored & bit; bit >>= 1)
            mirrored ^= bit;
        mirrored |= bit;
        if (at < mirrored) {
            Point kept = points[at];
            points[at] = points[mirrored], points[mirrored] = kept;
        }
    }
    for (int half = 1; half < size; half *= 2)
        for (int block = 0; block < size; block += 2 * half)
            for (int at = 0; at < half; ++at) {
                Point one = points[block + at], other = points[block + at + half] * roots[at * (size / 2 / half)];
                points[block + at] = one + other, points[block + at + half] = one - other;
            }
}

/* Transforms along all three axes: in[z][y][x] with this rank's z becomes out[x][y][z] with this rank's x. */
static void transform_cube(Point *in, Point *out, Point *packed, Point *line, int size) {
    int own = size / ranks;
    for (int z = 0; z < own; ++z) {
        Point *plane = in + (size_t)z * size * size;
        for (int y = 0; y < size; ++y)
            transform(plane + y * size, size);
        for (int x = 0; x < size; ++x) {
            for (int y = 0; y < size; ++y)
                line[y] = plane[y * size + x];
            transform(line, size);
            for (int y = 0; y < size; ++y)
                packed[((size_t)x * size + y) * own + z] = line[y];
        }
    }
    int block = own * size * own * 2;
    MPI_Alltoall(packed, block, MPI_DOUBLE, in, block, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int x = 0; x < own; ++x)
        for (int y = 0; y < size; ++y) {
            Point *column = out + ((size_t)x * size + y) * size;
            for (int peer = 0; peer < ranks; ++peer)
                for (int z = 0; z < own; ++z)
                    column[peer * own + z] = in[(((size_t)peer * own + x) * size + y) * own + z];
            transform(column, size);
        }
}

static double solve(int size, int iterations) {
    int own = size / ranks;
    if (own * ranks != size || (size & (size - 1)) != 0)
        stop("FT wants a size of 2^k that the ranks divide");
    size_t points = (size_t)own * size * size;
    Point *spectrum = room(points * sizeof(Point)), *cube = room(points * sizeof(Point));
    Point *packed = room(points * sizeof(Point)), *work = room(points * sizeof(Point));
    Point *line = room(size * sizeof(Point));
    roots = room(size / 2 * sizeof(Point));
    for (int at = 0; at < size / 2; ++at)
        roots[at] = cexp(-2 * I * M_PI * at / size);
    for (size_t at = 0; at < points; ++at)
        cube[at] = uniform(2 * (rank * points + at)) + I * uniform(2 * (rank * points + at) + 1);
    transform_cube(cube, spectrum, packed, line, size);
    double checksum = 0;
    for (int iteration = 0; iteration < iterations; ++iteration) {
        for (size_t at = 0; at < points; ++at)
            work[at] = spectrum[at] *= 0.999;
        transform_cube(work, cube, packed, line, size);
        double own_sum = 0;
        for (size_t at = 0; at < points; at += 1024)
            own_sum += creal(cube[at]);
        checksum = sum_of_all(own_sum) / ((double)size * size * size);
    }
    free(line), free(work), free(packed), free(cube), free(spectrum), free(roots);
    return checksum;
}

int main(int count, char **words) { return timed(count, words, solve); }
