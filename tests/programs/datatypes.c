/* Derived datatypes: what is sent of a vector, a structure, an indexed or resized type, lands at its place. */
#include "check.h"
#include <stddef.h>

static void columns(void) {
    int matrix[4][6], got[4][6], peer = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Datatype column, narrow;
    MPI_Type_vector(4, 1, 6, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &narrow);
    MPI_Type_commit(&narrow);
    MPI_Aint lower, extent;
    int bytes;
    MPI_Type_get_extent(column, &lower, &extent);
    MPI_Type_size(column, &bytes);
    CHECK(lower == 0 && extent == 19 * (MPI_Aint)sizeof(int) && bytes == 16);
    MPI_Type_get_extent(narrow, &lower, &extent);
    CHECK(extent == sizeof(int));
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 6; j++)
            matrix[i][j] = rank * 100 + i * 10 + j, got[i][j] = -1;
    MPI_Status status;
    MPI_Sendrecv(&matrix[0][1], 2, narrow, peer, 0, &got[0][3], 2, narrow, from, 0, MPI_COMM_WORLD, &status);
    int count;
    MPI_Get_count(&status, narrow, &count);
    CHECK(count == 2);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 6; j++)
            CHECK(got[i][j] == (j == 3 || j == 4 ? from * 100 + i * 10 + j - 2 : -1));
    MPI_Type_free(&column);
    MPI_Type_free(&narrow);
    CHECK(narrow == MPI_DATATYPE_NULL);
}

struct particle {
    char kind;
    double place[3];
    int charge;
};

static void structures(void) {
    MPI_Datatype type, old[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    MPI_Aint places[3] = {offsetof(struct particle, kind), offsetof(struct particle, place),
                          offsetof(struct particle, charge)};
    int lengths[3] = {1, 3, 1};
    MPI_Type_create_struct(3, lengths, places, old, &type);
    MPI_Type_commit(&type);
    MPI_Aint lower, extent;
    MPI_Type_get_extent(type, &lower, &extent);
    CHECK(extent == sizeof(struct particle));
    struct particle mine[2] = {{'a' + rank, {rank, 2, 3}, -rank}, {'b', {4, 5, rank}, 7}}, all[2 * 64];
    MPI_Allgather(mine, 2, type, all, 2, type, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        CHECK(all[2 * i].kind == 'a' + i && all[2 * i].place[0] == i && all[2 * i].charge == -i &&
              all[2 * i + 1].place[2] == i && all[2 * i + 1].charge == 7);
    MPI_Request request;
    struct particle copy;
    MPI_Irecv(&copy, 1, type, (rank + 1) % size, 1, MPI_COMM_WORLD, &request);
    MPI_Send(mine, 1, type, (rank + size - 1) % size, 1, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(copy.place[0] == (rank + 1) % size);
}

static void indexed(void) {
    int lengths[2] = {2, 1}, places[2] = {3, 0}, out[8], in[3] = {0};
    MPI_Datatype type, pair;
    MPI_Type_indexed(2, lengths, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 8; i++)
        out[i] = i * i;
    MPI_Sendrecv(out, 1, type, rank, 0, in, 3, MPI_INT, rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(in[0] == 9 && in[1] == 16 && in[2] == 0);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    int here[2] = {rank, -rank}, all[2 * 64];
    MPI_Gather(here, 1, pair, all, 2, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++)
        CHECK(all[2 * i] == i && all[2 * i + 1] == -i);
    MPI_Bcast(here, 1, pair, size - 1, MPI_COMM_WORLD);
    CHECK(here[0] == size - 1 && here[1] == 1 - size);
    MPI_Type_free(&type);
    MPI_Type_free(&pair);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static int handled;

static void handle(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    MPI_Error_class(*code, &handled);
}

/* What MPI 3.0 has removed, and old programs call. */
static void removed(void) {
    int lengths[3] = {1, 2, 1}, out[8], in[8], size_of;
    MPI_Aint places[3] = {-4, 4, 20}, address, lower, upper, extent;
    MPI_Datatype types[3] = {MPI_LB, MPI_INT, MPI_UB}, type, pair, rows;
    MPI_Type_struct(3, lengths, places, types, &type);
    MPI_Type_commit(&type);
    MPI_Type_lb(type, &lower), MPI_Type_ub(type, &upper), MPI_Type_extent(type, &extent);
    MPI_Type_size(type, &size_of);
    CHECK(lower == -4 && upper == 20 && extent == 24 && size_of == 8);
    MPI_Type_contiguous(2, type, &pair);
    MPI_Type_lb(pair, &lower), MPI_Type_ub(pair, &upper), MPI_Type_extent(pair, &extent);
    CHECK(lower == -4 && upper == 44 && extent == 48);
    for (int i = 0; i < 8; i++)
        out[i] = 100 * rank + i, in[i] = -1;
    MPI_Request request;
    MPI_Irecv(in, 4, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &request);
    MPI_Send(out, 1, type, (rank + 1) % size, 3, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int left = (rank + size - 1) % size;
    CHECK(in[0] == 100 * left + 1 && in[1] == 100 * left + 2 && in[2] == -1);
    MPI_Type_free(&type), MPI_Type_free(&pair);

    MPI_Type_hvector(3, 1, 8, MPI_INT, &rows);
    MPI_Type_extent(rows, &extent);
    CHECK(extent == 20);
    MPI_Type_free(&rows);
    MPI_Type_hindexed(2, lengths, places + 1, MPI_INT, &rows);
    MPI_Type_lb(rows, &lower), MPI_Type_ub(rows, &upper);
    CHECK(lower == 4 && upper == 28);
    MPI_Type_free(&rows);
    MPI_Address(&out[1], &address);
    CHECK(address == (MPI_Aint)&out[1]);

    MPI_Errhandler own, found;
    MPI_Errhandler_create(handle, &own);
    MPI_Errhandler_set(MPI_COMM_WORLD, own);
    MPI_Errhandler_get(MPI_COMM_WORLD, &found);
    CHECK(found == own);
    MPI_Send(out, 1, MPI_INT, size + 1, 0, MPI_COMM_WORLD);
    CHECK(handled == MPI_ERR_RANK);
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&own), MPI_Errhandler_free(&found);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    columns();
    structures();
    indexed();
    removed();
    printf("rank %d: all in place\n", rank);
    MPI_Finalize();
    return 0;
}
