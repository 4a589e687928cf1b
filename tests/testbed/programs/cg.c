/* Conjugate gradients on a random sparse matrix, as NAS CG distributes it: ranks form a grid of rows and columns.
 *
 * A product with the matrix is summed up along each row of ranks by exchanges with partners 1, 2, 4, … apart, and goes to
 * the rank on the other side of the diagonal; products of two vectors are sums over all ranks. */
#include "timing.h"

#define ENTRIES 11 /* of each row and column of the matrix, beside the diagonal */

typedef struct {
    int rows, columns, row, column; /* of ranks */
    int size, height, width;        /* of the matrix, and of a rank's part */
    MPI_Comm along;                 /* ranks of one row */
    int count, *at_row, *at_column;
    double *value;
} Matrix;

/* The part of a symmetric, diagonally dominant matrix whose entries follow from their index. */
static Matrix part(int size) {
    Matrix matrix = {.size = size, .rows = 1, .columns = 1};
    while (matrix.rows * matrix.columns < ranks)
        *(matrix.columns > matrix.rows ? &matrix.rows : &matrix.columns) *= 2;
    if (matrix.rows * matrix.columns != ranks || size % matrix.columns != 0)
        stop("CG wants 2^k ranks and a size that they divide");
    matrix.row = rank / matrix.columns, matrix.column = rank % matrix.columns;
    matrix.height = size / matrix.rows, matrix.width = size / matrix.columns;
    MPI_Comm_split(MPI_COMM_WORLD, matrix.row, matrix.column, &matrix.along);
    int most = 2 * ENTRIES * size + size;
    matrix.at_row = room(most * sizeof(int)), matrix.at_column = room(most * sizeof(int));
    matrix.value = room(most * sizeof(double));
    for (int index = 0; index < size * (ENTRIES + 1); ++index) {
        int one = index % size, diagonal = index < size;
        int other = diagonal ? one : (int)(size * uniform(2 * (uint64_t)index));
        double value = diagonal ? 2.0 * ENTRIES + 1 : uniform(2 * (uint64_t)index + 1) - 0.5;
        for (int turn = 0; turn < 2 - diagonal; ++turn) {
            int row = turn ? other : one, column = turn ? one : other;
            if (row / matrix.height != matrix.row || column / matrix.width != matrix.column)
                continue;
            matrix.at_row[matrix.count] = row % matrix.height;
            matrix.at_column[matrix.count] = column % matrix.width;
            matrix.value[matrix.count++] = value;
        }
    }
    return matrix;
}

/* out = matrix · in: `in` is the part of this rank's column, and so is `out`. */
static void multiply(const Matrix *matrix, const double *in, double *out, double *sum, double *other) {
    for (int row = 0; row < matrix->height; ++row)
        sum[row] = 0;
    for (int entry = 0; entry < matrix->count; ++entry)
        sum[matrix->at_row[entry]] += matrix->value[entry] * in[matrix->at_column[entry]];
    for (int apart = 1; apart < matrix->columns; apart *= 2) {
        int partner = matrix->column ^ apart;
        MPI_Sendrecv(sum, matrix->height, MPI_DOUBLE, partner, 0, other, matrix->height, MPI_DOUBLE, partner, 0,
                     matrix->along, MPI_STATUS_IGNORE);
        for (int row = 0; row < matrix->height; ++row)
            sum[row] += other[row];
    }
    /* Each part of a column comes from a rank whose row of ranks has it; there is one in every column of ranks. */
    int wide = matrix->columns / matrix->rows;
    int first = matrix->column * matrix->width, from_row = first / matrix->height;
    int source = from_row * matrix->columns + matrix->row * wide + matrix->column % wide;
    int to_column = matrix->row * wide + matrix->column % wide, to_row = matrix->column / wide;
    int target = to_row * matrix->columns + to_column;
    int offset = (to_column * matrix->width) % matrix->height;
    MPI_Sendrecv(sum + offset, matrix->width, MPI_DOUBLE, target, 1, out, matrix->width, MPI_DOUBLE, source, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Product of two vectors, of which every row of ranks has a copy. */
static double product(const Matrix *matrix, const double *one, const double *other) {
    double own = 0;
    for (int at = 0; at < matrix->width; ++at)
        own += one[at] * other[at];
    return sum_of_all(own) / matrix->rows;
}

static double solve(int size, int iterations) {
    static Matrix matrix;
    if (matrix.size == 0)
        matrix = part(size);
    double *vectors = room((4 * (size_t)matrix.width + 2 * (size_t)matrix.height) * sizeof(double));
    double *solution = vectors, *residual = solution + matrix.width, *direction = residual + matrix.width;
    double *image = direction + matrix.width, *sum = image + matrix.width, *other = sum + matrix.height;
    for (int at = 0; at < matrix.width; ++at)
        residual[at] = direction[at] = 1;
    double length = product(&matrix, residual, residual);
    for (int iteration = 0; iteration < iterations; ++iteration) {
        multiply(&matrix, direction, image, sum, other);
        double step = length / product(&matrix, direction, image), before = length;
        for (int at = 0; at < matrix.width; ++at) {
            solution[at] += step * direction[at];
            residual[at] -= step * image[at];
        }
        length = product(&matrix, residual, residual);
        for (int at = 0; at < matrix.width; ++at)
            direction[at] = residual[at] + length / before * direction[at];
    }
    double checksum = product(&matrix, solution, solution);
    free(vectors);
    return checksum;
}

int main(int count, char **words) { return timed(count, words, solve); }
