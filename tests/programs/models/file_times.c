/* What calls of MPI-IO take: prints "name rank microseconds", and checks the data. The argument is the path; a
 * second one says that files take no time. */
#include "../check.h"

#include <time.h>
#include <unistd.h>

enum { STRIPE = 1000000, BLOCK = 10000, BLOCKS = 100 };

static double slot;

/* All begin at the same time. */
static double align(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    slot += 20;
    long wait_ns = (long)((slot - MPI_Wtime()) * 1e9 + 0.5);
    struct timespec length = {wait_ns / 1000000000, wait_ns % 1000000000};
    nanosleep(&length, NULL);
    return MPI_Wtime();
}

static void tell(const char *name, double start) {
    printf("%s %d %.3f\n", name, rank, (MPI_Wtime() - start) * 1e6);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    static char data[STRIPE], back[STRIPE];
    for (int i = 0; i < STRIPE; i++)
        data[i] = (char)(rank + i % 101);
    MPI_File file;
    MPI_Status status;
    MPI_Request request;

    double start = align();
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    tell("open", start);

    /* Each rank's stripe is on a server of its own; then all are on the first. */
    start = align();
    MPI_File_write_at(file, (MPI_Offset)rank * STRIPE, data, STRIPE, MPI_CHAR, &status);
    tell("own", start);
    start = align();
    MPI_File_write_at(file, (MPI_Offset)rank * size * STRIPE, data, STRIPE, MPI_CHAR, &status);
    tell("shared", start);
    start = align();
    MPI_File_read_at(file, (MPI_Offset)rank * size * STRIPE, back, STRIPE, MPI_CHAR, &status);
    tell("read", start);
    CHECK(memcmp(data, back, STRIPE) == 0);

    /* Beside computing, and with a message that comes before. */
    start = align();
    MPI_File_iwrite_at(file, (MPI_Offset)rank * STRIPE, data, STRIPE, MPI_CHAR, &request);
    tell("begin", start);
    usleep(3000000);
    MPI_Wait(&request, &status);
    tell("beside", start);
    int count;
    MPI_Get_count(&status, MPI_CHAR, &count);
    CHECK(count == STRIPE);
    start = align();
    MPI_Request both[2];
    int number = -1, first;
    MPI_File_iwrite_at(file, (MPI_Offset)rank * STRIPE, data, STRIPE, MPI_CHAR, &both[0]);
    MPI_Irecv(&number, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &both[1]);
    MPI_Send(&rank, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD);
    MPI_Waitany(2, both, &first, &status);
    CHECK(first == (argc > 2 ? 0 : 1));
    tell("any", start);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    CHECK(number == (rank + 1) % size);
    tell("late", start);

    /* Interleaved blocks: alone, and together. */
    MPI_Datatype blocks;
    MPI_Type_vector(BLOCKS, BLOCK, BLOCK * size, MPI_CHAR, &blocks);
    MPI_Type_commit(&blocks);
    MPI_File_set_view(file, (MPI_Offset)rank * BLOCK, MPI_CHAR, blocks, "native", MPI_INFO_NULL);
    start = align();
    MPI_File_write(file, data, BLOCK * BLOCKS, MPI_CHAR, &status);
    tell("pieces", start);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    start = align();
    MPI_File_write_all(file, data, BLOCK * BLOCKS, MPI_CHAR, &status);
    tell("together", start);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    start = align();
    memset(back, 0, STRIPE);
    MPI_File_read_all(file, back, BLOCK * BLOCKS, MPI_CHAR, &status);
    tell("read_together", start);
    CHECK(memcmp(data, back, BLOCK * BLOCKS) == 0);
    MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL);
    for (int from = 0; from < size; from++) {
        MPI_File_read_at(file, (MPI_Offset)(size * 7 + from) * BLOCK, back, BLOCK, MPI_CHAR, &status);
        for (int i = 0; i < BLOCK; i++)
            CHECK(back[i] == (char)(from + (7 * BLOCK + i) % 101));
    }

    start = align();
    MPI_File_write_at_all_begin(file, (MPI_Offset)rank * STRIPE, data, STRIPE, MPI_CHAR);
    tell("split", start);
    usleep(3000000);
    MPI_File_write_at_all_end(file, data, &status);
    tell("split_end", start);
    start = align();
    MPI_File_sync(file);
    tell("sync", start);
    start = align();
    MPI_File_set_size(file, STRIPE);
    tell("resize", start);
    start = align();
    MPI_File_write_shared(file, data, 1, MPI_CHAR, &status);
    tell("pointer", start);
    start = align();
    MPI_File_close(&file);
    tell("close", start);
    MPI_Type_free(&blocks);
    MPI_Finalize();
    return 0;
}
