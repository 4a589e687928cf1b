/* Folded memory: what is shared, what is private, and what messages carry. The argument is the size of an allocation
 * [GiB]. */
#include "../check.h"

#include <hopcast.h>

__attribute__((noinline)) char *allocate_panel(size_t bytes) {
    char *panel = malloc(bytes);
    CHECK(panel != NULL);
    return panel;
}

enum { MEGABYTE = 1 << 20, PAGE = 4096 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    size_t bytes = (size_t)atol(argv[1]) << 30;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    char *matrix = malloc(bytes), *small = malloc(1000);
    CHECK(matrix && small);
    small[0] = (char)rank;
    for (size_t at = 0; at < bytes; at += bytes / 64)
        matrix[at] = 1;
    matrix[5] = (char)(100 + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(small[0] == rank);
    CHECK(size == 1 || matrix[5] == 100 + size - 1);

    /* Its ranks keep what they write, and send it. */
    char *panel = allocate_panel(8 * MEGABYTE), *other = allocate_panel(8 * MEGABYTE);
    memset(panel + 3 * MEGABYTE + 100, rank + 1, 2 * PAGE);
    CHECK(panel != other && panel[0] == 0);
    MPI_Request request;
    MPI_Irecv(other, 8 * MEGABYTE, MPI_CHAR, before, 0, MPI_COMM_WORLD, &request);
    MPI_Send(panel, 8 * MEGABYTE, MPI_CHAR, next, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2 * PAGE; i++)
        CHECK(other[3 * MEGABYTE + 100 + i] == before + 1);
    /* As pieces of a datatype. */
    MPI_Datatype columns;
    MPI_Type_vector(64, 1000, 131072, MPI_CHAR, &columns);
    MPI_Type_commit(&columns);
    panel[17 * 131072 + 999] = (char)(50 + rank);
    MPI_Sendrecv(panel, 1, columns, next, 1, other, 1, columns, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(other[17 * 131072 + 999] == 50 + before && other[18 * 131072] == 0);
    free(panel);
    free(other);

    /* A matrix takes its time, and arrives nowhere. */
    double start = MPI_Wtime();
    MPI_Sendrecv_replace(matrix, 1 << 30, MPI_CHAR, next, 2, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(MPI_Wtime() - start > 0.01);

    /* So does what all ranks exchange, and what one takes from another; of the rest, contents arrive. */
    double *sums = (double *)matrix, sum = rank + 1;
    MPI_Bcast(matrix, 1 << 30, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, sums, 1 << 27, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Alltoall(matrix, (1 << 28) / size, MPI_CHAR, matrix + (1 << 28), (1 << 28) / size, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Gather(matrix, (1 << 28) / size, MPI_CHAR, matrix + (1 << 28), (1 << 28) / size, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size + 1) / 2);
    MPI_Win win;
    MPI_Win_create(matrix, 1 << 30, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Get(matrix, 1 << 29, MPI_CHAR, next, 1 << 29, 1 << 29, MPI_CHAR, win);
    MPI_Win_fence(0, win);
    MPI_Accumulate(sums, 1 << 20, MPI_DOUBLE, next, 1 << 29, 1 << 20, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);

    /* Parts are the rank's own. */
    const size_t own[] = {5 * MEGABYTE, 5 * MEGABYTE + 40, 6 * MEGABYTE, 6 * MEGABYTE + 8};
    char *parts = hopcast_malloc_partial(8 * MEGABYTE, own, 2), *into = hopcast_malloc_partial(8 * MEGABYTE, own, 2);
    for (int i = 0; i < 40; i++)
        parts[5 * MEGABYTE + i] = (char)(rank + i);
    MPI_Sendrecv(parts, 8 * MEGABYTE, MPI_CHAR, next, 3, into, 8 * MEGABYTE, MPI_CHAR, before, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < 40; i++)
        CHECK(into[5 * MEGABYTE + i] == before + i && parts[5 * MEGABYTE + i] == rank + i);
    matrix = realloc(matrix, bytes / 2);
    CHECK(matrix != NULL);
    free(matrix);
    free(parts);
    free(into);
    MPI_Finalize();
    return 0;
}
