/* Files: views, pointers of a rank and of all, collective, split and nonblocking accesses, sizes, errors. */
#include "check.h"
#include <unistd.h>

static char name[100];
static MPI_File file;
static MPI_Status status;

static void open_it(int mode) { CHECK(!MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file)); }

static int class_of(int code) {
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static long long length(void) {
    MPI_Offset bytes;
    MPI_File_get_size(file, &bytes);
    return bytes;
}

static void explicit_offsets(void) {
    int values[4], count;
    open_it(MPI_MODE_CREATE | MPI_MODE_RDWR);
    for (int i = 0; i < 4; i++) values[i] = 10 * rank + i;
    CHECK(!MPI_File_write_at(file, 16 * rank, values, 4, MPI_INT, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 4);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    CHECK(length() == 16 * size);
    int next = (rank + 1) % size;
    CHECK(!MPI_File_read_at_all(file, 16 * next + 4, values, 3, MPI_INT, &status));
    CHECK(values[0] == 10 * next + 1 && values[2] == 10 * next + 3);
    /* Up to the end of the file, no further. */
    CHECK(!MPI_File_read_at(file, 16 * size - 8, values, 4, MPI_INT, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 2 && values[1] == 10 * (size - 1) + 3);
    MPI_Request request;
    CHECK(!MPI_File_iread_at(file, 0, values, 4, MPI_INT, &request));
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(request == MPI_REQUEST_NULL && count == 4 && values[3] == 3);
    MPI_File_close(&file);
    CHECK(file == MPI_FILE_NULL);
}

/* Each rank sees its column of a matrix of `size` columns. */
static void columns(void) {
    MPI_Datatype column;
    double mine[6], there[6];
    MPI_Offset at, bytes;
    open_it(MPI_MODE_RDWR);
    MPI_File_set_size(file, 0);
    MPI_Type_vector(1, 1, 1, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, size * sizeof(double), &column);
    MPI_Type_commit(&column);
    CHECK(!MPI_File_set_view(file, 8 * rank, MPI_DOUBLE, column, "native", MPI_INFO_NULL));
    for (int i = 0; i < 6; i++) mine[i] = rank + i / 8.0;
    CHECK(!MPI_File_write_all(file, mine, 4, MPI_DOUBLE, &status));
    CHECK(!MPI_File_write_all(file, mine + 4, 2, MPI_DOUBLE, &status));
    MPI_File_get_position(file, &at);
    MPI_File_get_byte_offset(file, 2, &bytes);
    CHECK(at == 6 && bytes == 8 * rank + 16 * size);
    MPI_File_seek(file, 0, MPI_SEEK_END);
    MPI_File_get_position(file, &at);
    CHECK(at == 6);
    MPI_File_seek(file, -3, MPI_SEEK_CUR);
    CHECK(!MPI_File_read(file, there, 3, MPI_DOUBLE, &status));
    CHECK(there[0] == mine[3] && there[2] == mine[5]);
    CHECK(!MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL));
    CHECK(!MPI_File_read_at_all_begin(file, 5 * size, there, 1, MPI_DOUBLE));
    CHECK(!MPI_File_read_at_all_end(file, there, &status));
    CHECK(there[0] == 5 / 8.0 && length() == 48 * size);
    MPI_Type_free(&column);
    MPI_File_close(&file);
}

static void shared_pointer(void) {
    int value = rank, values[64], sum = 0;
    MPI_Offset at;
    open_it(MPI_MODE_RDWR);
    MPI_File_set_size(file, 0);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    CHECK(!MPI_File_write_shared(file, &value, 1, MPI_INT, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_position_shared(file, &at);
    CHECK(at == size);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(!MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    CHECK(!MPI_File_read_shared(file, &value, 1, MPI_INT, &status));
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    /* In the order of ranks: rank r writes r + 1 numbers. */
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    for (int i = 0; i <= rank; i++) values[i] = 100 * rank + i;
    CHECK(!MPI_File_write_ordered(file, values, rank + 1, MPI_INT, &status));
    CHECK(!MPI_File_read_at(file, rank * (rank + 1) / 2, values, rank + 1, MPI_INT, &status));
    CHECK(values[0] == 100 * rank && values[rank] == 101 * rank);
    MPI_File_close(&file);
    /* What the first rank moves is not undone by one that comes later from opening the file. */
    open_it(MPI_MODE_RDWR);
    if (rank == 0) CHECK(!MPI_File_write_shared(file, &rank, 1, MPI_INT, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_position_shared(file, &at);
    CHECK(at == sizeof(int));
    MPI_File_close(&file);
}

static void errors(void) {
    int value = 0;
    MPI_File other;
    CHECK(class_of(MPI_File_open(MPI_COMM_SELF, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &other)) ==
          MPI_ERR_NO_SUCH_FILE);
    CHECK(class_of(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_INFO_NULL, &other)) ==
          MPI_ERR_AMODE);
    CHECK(class_of(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL,
                                 &other)) == MPI_ERR_FILE_EXISTS);
    open_it(MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
    CHECK(class_of(MPI_File_write(file, &value, 1, MPI_INT, &status)) == MPI_ERR_READ_ONLY);
    CHECK(class_of(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "mine", MPI_INFO_NULL)) ==
          MPI_ERR_UNSUPPORTED_DATAREP);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(class_of(MPI_File_delete(name, MPI_INFO_NULL)) == MPI_ERR_NO_SUCH_FILE);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int process = getpid();
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const char *folder = getenv("HOPCAST_TEST_FOLDER");
    snprintf(name, sizeof name, "%s/hopcast-files-%d", folder ? folder : "/tmp", process);
    explicit_offsets();
    columns();
    shared_pointer();
    errors();
    if (rank == 0) printf("files on %d ranks\n", size);
    MPI_Finalize();
    return 0;
}
