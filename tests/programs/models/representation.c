/* Data representations of the program: what they write, read and refuse. The argument is the path. */
#include "../check.h"

static int converted, state = 7;

/* An int as 8 bytes: its value tenfold, the most significant byte first. */
static int extent(MPI_Datatype datatype, MPI_Aint *bytes, void *extra) {
    CHECK(extra == &state);
    if (datatype != MPI_INT)
        return MPI_ERR_TYPE;
    *bytes = 8;
    return MPI_SUCCESS;
}

static int out(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *extra) {
    int size;
    MPI_Type_size(datatype, &size);
    int values = count * size / (int)sizeof(int), *from = user;
    CHECK(extra == &state && position == 0);
    for (int i = 0; i < values; i++) {
        long value = 10L * from[i];
        for (int byte = 0; byte < 8; byte++)
            ((unsigned char *)file)[8 * i + byte] = (unsigned char)(value >> (56 - 8 * byte));
    }
    converted += values;
    return MPI_SUCCESS;
}

static int in(void *user, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position, void *extra) {
    MPI_Count size;
    MPI_Type_size_c(datatype, &size);
    CHECK(extra == &state && position == 0);
    for (MPI_Count i = 0; i < count * size / (MPI_Count)sizeof(int); i++) {
        long value = 0;
        for (int byte = 0; byte < 8; byte++)
            value = value << 8 | ((unsigned char *)file)[8 * i + byte];
        ((int *)user)[i] = (int)(value / 10);
    }
    return count == 13 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int in_short(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *extra) {
    return in(user, datatype, count, file, position, extra);
}

static int out_long(void *user, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position, void *extra) {
    return out(user, datatype, (int)count, file, position, extra);
}

static int class_of(int code) {
    int class;
    MPI_Error_class(code, &class);
    return class;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(MPI_Register_datarep("tenfold", in_short, out, extent, &state) == MPI_SUCCESS);
    CHECK(MPI_Register_datarep_c("tenfold, long", in, out_long, extent, &state) == MPI_SUCCESS);
    CHECK(MPI_Register_datarep("plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent, &state) == 0);
    CHECK(class_of(MPI_Register_datarep("tenfold", in_short, out, extent, &state)) == MPI_ERR_DUP_DATAREP);
    CHECK(class_of(MPI_Register_datarep("native", in_short, out, extent, &state)) == MPI_ERR_DUP_DATAREP);

    MPI_File file;
    MPI_Status status;
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "tenfold", MPI_INFO_NULL);
    char name[MPI_MAX_DATAREP_STRING];
    MPI_Offset start;
    MPI_Datatype etype, filetype;
    MPI_File_get_view(file, &start, &etype, &filetype, name);
    CHECK(strcmp(name, "tenfold") == 0 && etype == MPI_INT);
    MPI_Aint bytes;
    MPI_File_get_type_extent(file, MPI_INT, &bytes);
    CHECK(bytes == 8);
    int values[10], back[13], count;
    for (int i = 0; i < 10; i++)
        values[i] = 1000 * rank + i;
    MPI_File_write_at_all(file, 10 * rank, values, 10, MPI_INT, &status);
    CHECK(converted == 10);
    MPI_File_read_at_all(file, 10 * ((rank + 1) % size), back, 10, MPI_INT, &status);
    MPI_Get_elements(&status, MPI_BYTE, &count);
    CHECK(count == 80);
    for (int i = 0; i < 10; i++)
        CHECK(back[i] == 1000 * ((rank + 1) % size) + i);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "tenfold, long", MPI_INFO_NULL);
    memset(back, 0, sizeof back);
    MPI_File_read_at(file, 10 * rank + 5, back, 5, MPI_INT, &status);
    CHECK(back[0] == values[5] && back[4] == values[9]);

    /* The bytes of the file, and what is refused. */
    unsigned char raw[16];
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_read_at(file, 8, raw, 16, MPI_BYTE, &status);
    CHECK(raw[7] == 10 && raw[15] == 20 && raw[0] == 0);
    CHECK(class_of(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "unknown", MPI_INFO_NULL)) == MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK(class_of(MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "tenfold", MPI_INFO_NULL)) == MPI_ERR_CONVERSION);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "tenfold, long", MPI_INFO_NULL);
    if (size > 1)
        CHECK(class_of(MPI_File_read_at(file, 0, back, 13, MPI_INT, &status)) == MPI_ERR_CONVERSION);

    /* A long is 4 bytes in external32. */
    MPI_File_set_view(file, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL);
    MPI_File_get_type_extent(file, MPI_LONG, &bytes);
    CHECK(bytes == 4);
    long numbers[3] = {-1 - rank, 2, 1L << 30}, got[3];
    MPI_File_write_at_all(file, 3 * rank, numbers, 3, MPI_LONG, &status);
    MPI_File_read_at_all(file, 3 * ((rank + 1) % size), got, 3, MPI_LONG, &status);
    CHECK(got[0] == -1 - (rank + 1) % size && got[1] == 2 && got[2] == 1L << 30);
    MPI_Offset length;
    MPI_File_close(&file);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    MPI_File_get_size(file, &length);
    CHECK(length == 80 * size);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
