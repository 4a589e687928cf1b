/* Steps of a stencil with a fixed grid of rows, each followed by an allreduce: strong scaling with collectives. */
#include "../check.h"

#define ROWS 4096
#define COLUMNS 256

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int steps = argc > 1 ? atoi(argv[1]) : 20, rows = ROWS / size;
    double *grid = calloc((size_t)(rows + 2) * COLUMNS, sizeof *grid), *next = calloc((size_t)(rows + 2) * COLUMNS, sizeof *next);
    int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    double norm = 0;
    for (int step = 0; step < steps; step++) {
        MPI_Sendrecv(grid + COLUMNS, COLUMNS, MPI_DOUBLE, up, 0, grid + (rows + 1) * COLUMNS, COLUMNS, MPI_DOUBLE, down, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(grid + rows * COLUMNS, COLUMNS, MPI_DOUBLE, down, 1, grid, COLUMNS, MPI_DOUBLE, up, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double sum = 0;
        for (int i = 1; i <= rows; i++)
            for (int j = 1; j < COLUMNS - 1; j++) {
                double *at = grid + i * COLUMNS + j;
                next[i * COLUMNS + j] = 0.25 * (at[-1] + at[1] + at[-COLUMNS] + at[COLUMNS]) + 1;
                sum += next[i * COLUMNS + j];
            }
        MPI_Allreduce(&sum, &norm, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        double *swap = grid;
        grid = next, next = swap;
    }
    CHECK(norm > 0);
    MPI_Finalize();
    return 0;
}
