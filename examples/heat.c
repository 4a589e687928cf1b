/* Heat in a square plate: Jacobi's iteration on a grid that is split over ranks in two dimensions.
 *
 *     mpicc -O2 heat.c -o heat       or       hopcast cc -O2 heat.c -o heat
 *     heat [N = 1024] [ITERATIONS = 100]
 *
 * The upper edge is at 1, the others at 0. What it prints is the same on any number of ranks, but for the time. */
#include <mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static MPI_Comm grid;
static int rows, columns; /* of this rank's part, without its border */
static int up, down, left, right;

static double *at(double *plate, int row, int column) { return plate + row * (columns + 2) + column; }

/* First and last point of part `which` of `parts` of n points. */
static int part(int n, int parts, int which) { return (int)((long)n * which / parts); }

static void exchange(double *plate, MPI_Datatype column) {
    MPI_Request requests[8];
    MPI_Irecv(at(plate, 0, 1), columns, MPI_DOUBLE, up, 0, grid, &requests[0]);
    MPI_Irecv(at(plate, rows + 1, 1), columns, MPI_DOUBLE, down, 1, grid, &requests[1]);
    MPI_Irecv(at(plate, 1, 0), 1, column, left, 2, grid, &requests[2]);
    MPI_Irecv(at(plate, 1, columns + 1), 1, column, right, 3, grid, &requests[3]);
    MPI_Isend(at(plate, rows, 1), columns, MPI_DOUBLE, down, 0, grid, &requests[4]);
    MPI_Isend(at(plate, 1, 1), columns, MPI_DOUBLE, up, 1, grid, &requests[5]);
    MPI_Isend(at(plate, 1, columns), 1, column, right, 2, grid, &requests[6]);
    MPI_Isend(at(plate, 1, 1), 1, column, left, 3, grid, &requests[7]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

/* The largest change of a point. */
static double relax(double *from, double *to) {
    double most = 0;
    for (int row = 1; row <= rows; row++) {
        for (int column = 1; column <= columns; column++) {
            double mean = 0.25 * (*at(from, row - 1, column) + *at(from, row + 1, column)
                                  + *at(from, row, column - 1) + *at(from, row, column + 1));
            most = fmax(most, fabs(mean - *at(from, row, column)));
            *at(to, row, column) = mean;
        }
    }
    return most;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int n = argc > 1 ? atoi(argv[1]) : 1024, iterations = argc > 2 ? atoi(argv[2]) : 100;
    int ranks, rank, sizes[2] = {0, 0}, periods[2] = {0, 0}, place[2];
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, sizes);
    MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 1, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, place);
    MPI_Cart_shift(grid, 0, 1, &up, &down);
    MPI_Cart_shift(grid, 1, 1, &left, &right);
    rows = part(n, sizes[0], place[0] + 1) - part(n, sizes[0], place[0]);
    columns = part(n, sizes[1], place[1] + 1) - part(n, sizes[1], place[1]);
    if (rows < 1 || columns < 1) {
        fprintf(stderr, "%d points in each direction are too few for %d x %d ranks\n", n, sizes[0], sizes[1]);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Datatype column;
    MPI_Type_vector(rows, 1, columns + 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);

    size_t points = (size_t)(rows + 2) * (columns + 2);
    double *old = calloc(points, sizeof(double)), *new = calloc(points, sizeof(double));
    if (up == MPI_PROC_NULL)
        for (int i = 0; i < columns + 2; i++) *at(old, 0, i) = *at(new, 0, i) = 1;
    double change = 0, all = 0, start = MPI_Wtime();
    for (int i = 0; i < iterations; i++) {
        exchange(old, column);
        change = relax(old, new);
        double *swap = old;
        old = new, new = swap;
        MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, grid);
    }
    double time = MPI_Wtime() - start;
    double sum = 0;
    for (int row = 1; row <= rows; row++)
        for (int i = 1; i <= columns; i++) sum += *at(old, row, i);
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, grid);
    if (rank == 0)
        printf("%d x %d points, %d x %d ranks, %d iterations: %.2e s each, mean %.9f, last change %.3e\n", n, n,
               sizes[0], sizes[1], iterations, time / iterations, all / n / n, change);
    free(old), free(new);
    MPI_Type_free(&column);
    MPI_Finalize();
    return 0;
}
