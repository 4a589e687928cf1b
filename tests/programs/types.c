/* Datatypes: every constructor, where its values lie, what it was made of, and its contents packed. */
#include "check.h"
#include <stddef.h>
#include <stdint.h>

static void bounds_are(MPI_Datatype type, int size, MPI_Aint lower, MPI_Aint extent, MPI_Aint low, MPI_Aint true_extent) {
    MPI_Aint got[4];
    MPI_Count large[4], count;
    int bytes;
    MPI_Type_size(type, &bytes);
    MPI_Type_size_x(type, &count);
    CHECK(bytes == size && count == size);
    MPI_Type_size_c(type, &count);
    CHECK(count == size);
    MPI_Type_get_extent(type, &got[0], &got[1]);
    MPI_Type_get_true_extent(type, &got[2], &got[3]);
    CHECK(got[0] == lower && got[1] == extent && got[2] == low && got[3] == true_extent);
    MPI_Type_get_extent_x(type, &large[0], &large[1]);
    MPI_Type_get_true_extent_x(type, &large[2], &large[3]);
    CHECK(large[0] == lower && large[1] == extent && large[2] == low && large[3] == true_extent);
    MPI_Type_get_extent_c(type, &large[0], &large[1]);
    MPI_Type_get_true_extent_c(type, &large[2], &large[3]);
    CHECK(large[0] == lower && large[1] == extent && large[2] == low && large[3] == true_extent);
}

/* The ints of one value, by their places, are those that a packed and a sent one hold; then the type is freed. */
static void holds(MPI_Datatype *type, int count, const int *places) {
    int from[256], into[256], packed[256], position = 0, size, bytes;
    MPI_Type_commit(type);
    for (int i = 0; i < 256; i++)
        from[i] = 1000 + i, into[i] = -1;
    MPI_Pack_size(1, *type, MPI_COMM_WORLD, &size);
    CHECK(size >= 4 * count && size <= (int)sizeof packed);
    MPI_Pack(from + 64, 1, *type, packed, sizeof packed, &position, MPI_COMM_WORLD);
    CHECK(position == 4 * count);
    position = 0;
    MPI_Unpack(packed, sizeof packed, &position, into + 64, 1, *type, MPI_COMM_WORLD);
    CHECK(position == 4 * count);
    for (int i = 0; i < 256; i++) {
        int held = 0;
        for (int j = 0; j < count; j++)
            held |= places[j] + 64 == i;
        CHECK(into[i] == (held ? from[i] : -1));
    }
    int got[256];
    MPI_Status status;
    MPI_Sendrecv(from + 64, 1, *type, rank, 5, got, 256, MPI_INT, rank, 5, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &bytes);
    CHECK(bytes == count);
    for (int j = 0; j < count; j++)
        CHECK(got[j] == 1064 + places[j]);
    MPI_Type_free(type);
    CHECK(*type == MPI_DATATYPE_NULL);
}

#define HOLDS(type, ...)                                                    \
    do {                                                                    \
        int places[] = {__VA_ARGS__};                                       \
        holds(&type, sizeof places / sizeof *places, places);               \
    } while (0)

static void constructors(void) {
    MPI_Datatype type, part;
    int lengths[] = {2, 0, 1}, places[] = {4, 9, -1};
    MPI_Aint bytes[] = {16, 36, -4};
    MPI_Count counts[] = {2, 0, 1}, large[] = {4, 9, -1}, far[] = {16, 36, -4};
    MPI_Type_contiguous(3, MPI_INT, &type);
    bounds_are(type, 12, 0, 12, 0, 12);
    HOLDS(type, 0, 1, 2);
    MPI_Type_contiguous_c(3, MPI_INT, &type);
    HOLDS(type, 0, 1, 2);
    MPI_Type_vector(3, 2, 4, MPI_INT, &type);
    bounds_are(type, 24, 0, 40, 0, 40);
    HOLDS(type, 0, 1, 4, 5, 8, 9);
    MPI_Type_vector_c(2, 1, -3, MPI_INT, &type);
    bounds_are(type, 8, -12, 16, -12, 16);
    HOLDS(type, 0, -3);
    MPI_Type_create_hvector(2, 2, 20, MPI_INT, &type);
    HOLDS(type, 0, 1, 5, 6);
    MPI_Type_create_hvector_c(2, 2, 20, MPI_INT, &type);
    HOLDS(type, 0, 1, 5, 6);
    MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
    bounds_are(type, 12, -4, 28, -4, 28);
    HOLDS(type, 4, 5, -1);
    MPI_Type_indexed_c(3, counts, large, MPI_INT, &type);
    HOLDS(type, 4, 5, -1);
    MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &type);
    HOLDS(type, 4, 5, -1);
    MPI_Type_create_hindexed_c(3, counts, far, MPI_INT, &type);
    HOLDS(type, 4, 5, -1);
    MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &type);
    HOLDS(type, 4, 5, 9, 10, -1, 0);
    MPI_Type_create_indexed_block_c(3, 2, large, MPI_INT, &type);
    HOLDS(type, 4, 5, 9, 10, -1, 0);
    MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &type);
    HOLDS(type, 4, 5, 9, 10, -1, 0);
    MPI_Type_create_hindexed_block_c(3, 2, far, MPI_INT, &type);
    HOLDS(type, 4, 5, 9, 10, -1, 0);
    MPI_Datatype olds[] = {MPI_INT, MPI_DOUBLE, MPI_FLOAT};
    MPI_Type_create_struct(3, lengths, bytes, olds, &type);
    HOLDS(type, 4, 5, -1);
    MPI_Type_create_struct_c(3, counts, far, olds, &type);
    HOLDS(type, 4, 5, -1);
    MPI_Type_contiguous(2, MPI_INT, &part);
    MPI_Type_create_resized(part, -4, 12, &type);
    bounds_are(type, 8, -4, 12, 0, 8);
    MPI_Type_free(&part);
    MPI_Type_dup(type, &part);
    MPI_Type_free(&type);
    MPI_Type_vector(2, 2, 3, part, &type);
    bounds_are(type, 32, -4, 60, 0, 56);
    MPI_Type_free(&part);
    HOLDS(type, 0, 1, 3, 4, 9, 10, 12, 13);
    MPI_Type_create_resized_c(MPI_INT, 0, 8, &part);
    MPI_Type_contiguous(3, part, &type);
    bounds_are(type, 12, 0, 24, 0, 20);
    MPI_Type_free(&part);
    HOLDS(type, 0, 2, 4);
    MPI_Type_contiguous(0, MPI_INT, &type);
    bounds_are(type, 0, 0, 0, 0, 0);
    MPI_Type_free(&type);
}

static void arrays(void) {
    MPI_Datatype type;
    int sizes[] = {4, 5}, parts[] = {2, 3}, starts[] = {1, 2};
    MPI_Count large[] = {4, 5}, some[] = {2, 3}, from[] = {1, 2};
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
    bounds_are(type, 24, 0, 80, 28, 32);
    HOLDS(type, 7, 8, 9, 12, 13, 14);
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &type);
    HOLDS(type, 9, 10, 13, 14, 17, 18);
    MPI_Type_create_subarray_c(2, large, some, from, MPI_ORDER_C, MPI_INT, &type);
    HOLDS(type, 7, 8, 9, 12, 13, 14);
    int whole[] = {5, 4}, grid[] = {2, 2}, ways[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
    int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Type_create_darray(4, 1, 2, whole, ways, arguments, grid, MPI_ORDER_C, MPI_INT, &type);
    bounds_are(type, 24, 0, 80, 8, 72);
    HOLDS(type, 2, 3, 10, 11, 18, 19);
    int blocks[] = {2, 3};
    MPI_Count wide[] = {5, 4};
    MPI_Type_create_darray_c(4, 2, 2, wide, ways, blocks, grid, MPI_ORDER_FORTRAN, MPI_INT, &type);
    HOLDS(type, 2, 3, 7, 8, 12, 13);
    int ends[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE}, line[] = {3, 1};
    MPI_Type_create_darray(3, 2, 2, whole, ends, arguments, line, MPI_ORDER_C, MPI_INT, &type);
    HOLDS(type, 16, 17, 18, 19);
    /* Together, the shares of all members are the array. */
    int seen[20] = {0}, all[20], packed[20];
    for (int i = 0; i < 20; i++)
        all[i] = i;
    for (int member = 0; member < 6; member++) {
        int deal[] = {2, 1}, three[] = {3, 2}, both[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC}, size, at = 0;
        MPI_Type_create_darray(6, member, 2, whole, both, deal, three, MPI_ORDER_C, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_size(type, &size);
        MPI_Pack(all, 1, type, packed, sizeof packed, &at, MPI_COMM_WORLD);
        for (int i = 0; i < size / 4; i++)
            seen[packed[i]]++;
        MPI_Type_free(&type);
    }
    for (int i = 0; i < 20; i++)
        CHECK(seen[i] == 1);
}

static void contents(void) {
    MPI_Datatype type, part, got[2];
    int integers, addresses, types, how, numbers[16];
    MPI_Aint places[4], bytes[] = {8, 0};
    int lengths[] = {1, 3};
    MPI_Type_get_envelope(MPI_DOUBLE, &integers, &addresses, &types, &how);
    CHECK(integers == 0 && addresses == 0 && types == 0 && how == MPI_COMBINER_NAMED);
    MPI_Type_vector(3, 2, 4, MPI_INT, &part);
    MPI_Datatype olds[] = {part, MPI_CHAR};
    MPI_Type_create_struct(2, lengths, bytes, olds, &type);
    MPI_Type_free(&part);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &how);
    CHECK(integers == 3 && addresses == 2 && types == 2 && how == MPI_COMBINER_STRUCT);
    MPI_Type_get_contents(type, 3, 2, 2, numbers, places, got);
    CHECK(numbers[0] == 2 && numbers[1] == 1 && numbers[2] == 3 && places[0] == 8 && places[1] == 0);
    CHECK(got[1] == MPI_CHAR);
    MPI_Type_free(&type);
    /* What it was made of is still there. */
    MPI_Type_get_envelope(got[0], &integers, &addresses, &types, &how);
    CHECK(integers == 3 && addresses == 0 && types == 1 && how == MPI_COMBINER_VECTOR);
    part = got[0];
    MPI_Type_get_contents(part, 3, 0, 1, numbers, places, got);
    CHECK(numbers[0] == 3 && numbers[1] == 2 && numbers[2] == 4 && got[0] == MPI_INT);
    MPI_Type_create_resized(part, -8, 100, &type);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &how);
    CHECK(integers == 0 && addresses == 2 && types == 1 && how == MPI_COMBINER_RESIZED);
    MPI_Type_get_contents(type, 0, 2, 1, numbers, places, got);
    CHECK(places[0] == -8 && places[1] == 100);
    MPI_Type_free(&got[0]);
    MPI_Type_free(&part);
    MPI_Type_free(&type);
    int sizes[] = {4, 5}, parts[] = {2, 3}, starts[] = {1, 2};
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &type);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &how);
    CHECK(integers == 8 && addresses == 0 && types == 1 && how == MPI_COMBINER_SUBARRAY);
    MPI_Type_get_contents(type, 8, 0, 1, numbers, places, got);
    CHECK(numbers[0] == 2 && numbers[2] == 5 && numbers[3] == 2 && numbers[6] == 2 && numbers[7] == MPI_ORDER_FORTRAN);
    MPI_Type_free(&type);
    MPI_Count count_of[4], many[3];
    MPI_Type_vector_c(3, 2, 4, MPI_INT, &type);
    MPI_Type_get_envelope_c(type, &count_of[0], &count_of[1], &count_of[2], &count_of[3], &how);
    CHECK(count_of[0] == 0 && count_of[1] == 0 && count_of[2] == 3 && count_of[3] == 1 && how == MPI_COMBINER_VECTOR);
    MPI_Type_get_contents_c(type, 0, 0, 3, 1, numbers, places, many, got);
    CHECK(many[0] == 3 && many[1] == 2 && many[2] == 4 && got[0] == MPI_INT);
    MPI_Type_free(&type);
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Type_get_name(MPI_DOUBLE, name, &length);
    CHECK(!strcmp(name, "MPI_DOUBLE") && length == 10);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_get_name(type, name, &length);
    CHECK(length == 0 && !name[0]);
    MPI_Type_set_name(type, "two of them");
    MPI_Type_get_name(type, name, &length);
    CHECK(!strcmp(name, "two of them") && length == 11);
    MPI_Type_free(&type);
}

struct mixed {
    double value;
    int place;
};

static void elements(void) {
    MPI_Status status;
    MPI_Datatype type, pair;
    MPI_Count count;
    int number, ints[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got[8];
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Sendrecv(ints, 5, MPI_INT, rank, 1, got, 2, type, rank, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, type, &number);
    CHECK(number == MPI_UNDEFINED);
    MPI_Get_elements(&status, type, &number);
    CHECK(number == 5);
    MPI_Get_elements_x(&status, type, &count);
    CHECK(count == 5 && got[4] == 5);
    MPI_Get_elements_c(&status, type, &count);
    CHECK(count == 5);
    MPI_Status_set_elements(&status, MPI_INT, 6);
    MPI_Get_count(&status, type, &number);
    CHECK(number == 2);
    MPI_Status_set_elements_x(&status, MPI_BYTE, 5000000000);
    MPI_Get_elements_x(&status, MPI_BYTE, &count);
    CHECK(count == 5000000000);
    MPI_Get_count(&status, MPI_BYTE, &number);
    CHECK(number == MPI_UNDEFINED);
    MPI_Type_free(&type);
    struct mixed some[2] = {{1.5, 3}, {2.5, 4}}, back[2] = {{0, 0}, {0, 0}};
    int lengths[] = {1, 1};
    MPI_Aint places[] = {offsetof(struct mixed, value), offsetof(struct mixed, place)};
    MPI_Datatype olds[] = {MPI_DOUBLE, MPI_INT};
    MPI_Type_create_struct(2, lengths, places, olds, &pair);
    MPI_Type_commit(&pair);
    MPI_Sendrecv(some, 2, MPI_DOUBLE_INT, rank, 2, back, 2, pair, rank, 2, MPI_COMM_WORLD, &status);
    CHECK(back[0].value == 1.5 && back[1].place == 4);
    MPI_Get_elements(&status, pair, &number);
    CHECK(number == 4);
    MPI_Get_count(&status, MPI_DOUBLE_INT, &number);
    CHECK(number == 2);
    MPI_Type_free(&pair);
    /* A type that is freed goes on in what has begun with it. */
    MPI_Request request;
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    memset(got, 0, sizeof got);
    MPI_Irecv(got, 2, type, (rank + 1) % size, 3, MPI_COMM_WORLD, &request);
    MPI_Type_free(&type);
    MPI_Send(ints, 4, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    CHECK(got[0] == 1 && got[1] == 0 && got[2] == 2 && got[3] == 3 && got[4] == 0 && got[5] == 4);
    /* Packed data is sent as MPI_PACKED, and received so or as what it is. */
    char packed[64];
    int position = 0, one = 7;
    double real = 2.5;
    MPI_Pack(&one, 1, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD);
    MPI_Pack(&real, 1, MPI_DOUBLE, packed, sizeof packed, &position, MPI_COMM_WORLD);
    MPI_Sendrecv_replace(packed, position, MPI_PACKED, (rank + 1) % size, 4, (rank + size - 1) % size, 4,
                         MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_PACKED, &number);
    CHECK(number == position);
    position = 0;
    one = 0, real = 0;
    MPI_Unpack(packed, number, &position, &one, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Unpack(packed, number, &position, &real, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    CHECK(one == 7 && real == 2.5 && position == number);
}

static void external(void) {
    unsigned char packed[64], expected[] = {0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xfe, 1, 2};
    double real = 1.5;
    int number = -2;
    int16_t small = 0x0102;
    MPI_Aint position = 0, size;
    MPI_Count large, at = 0;
    MPI_Pack_external_size("external32", 3, MPI_DOUBLE, &size);
    CHECK(size == 24);
    MPI_Pack_external_size_c("external32", 3, MPI_SHORT, &large);
    CHECK(large == 6);
    MPI_Pack_external("external32", &real, 1, MPI_DOUBLE, packed, sizeof packed, &position);
    MPI_Pack_external("external32", &number, 1, MPI_INT, packed, sizeof packed, &position);
    MPI_Pack_external("external32", &small, 1, MPI_SHORT, packed, sizeof packed, &position);
    CHECK(position == 14 && !memcmp(packed, expected, 14));
    real = number = small = 0;
    MPI_Unpack_external_c("external32", packed, 14, &at, &real, 1, MPI_DOUBLE);
    MPI_Unpack_external_c("external32", packed, 14, &at, &number, 1, MPI_INT);
    position = at;
    MPI_Unpack_external("external32", packed, 14, &position, &small, 1, MPI_SHORT);
    CHECK(position == 14 && real == 1.5 && number == -2 && small == 0x0102);
    MPI_Datatype column;
    int matrix[6] = {1, 2, 3, 4, 5, 6}, back[6] = {0};
    MPI_Type_vector(3, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    at = 0;
    MPI_Pack_external_c("external32", matrix, 1, column, packed, sizeof packed, &at);
    CHECK(at == 12 && packed[3] == 1 && packed[7] == 3 && packed[11] == 5);
    position = 0;
    MPI_Unpack_external("external32", packed, 12, &position, back, 1, column);
    CHECK(back[0] == 1 && back[1] == 0 && back[2] == 3 && back[4] == 5);
    MPI_Type_free(&column);
}

static void predefined(void) {
    struct {
        MPI_Datatype type;
        int size, extent;
    } known[] = {
        {MPI_CHAR, 1, 1}, {MPI_WCHAR, 4, 4}, {MPI_LONG, 8, 8}, {MPI_LONG_DOUBLE, 16, 16}, {MPI_C_BOOL, 1, 1},
        {MPI_C_LONG_DOUBLE_COMPLEX, 32, 32}, {MPI_AINT, 8, 8}, {MPI_COUNT, 8, 8}, {MPI_OFFSET, 8, 8},
        {MPI_INT16_T, 2, 2}, {MPI_UINT64_T, 8, 8}, {MPI_C_FLOAT_COMPLEX, 8, 8}, {MPI_C_DOUBLE_COMPLEX, 16, 16},
        {MPI_SHORT_INT, 6, 8}, {MPI_FLOAT_INT, 8, 8}, {MPI_2INT, 8, 8}, {MPI_DOUBLE_INT, 12, 16},
        {MPI_LONG_INT, 12, 16}, {MPI_LONG_DOUBLE_INT, 20, 32}, {MPI_PACKED, 1, 1}, {MPI_BYTE, 1, 1},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        MPI_Aint lower, extent;
        int bytes;
        MPI_Type_size(known[i].type, &bytes);
        MPI_Type_get_extent(known[i].type, &lower, &extent);
        CHECK(bytes == known[i].size && lower == 0 && extent == known[i].extent);
        MPI_Datatype same = known[i].type;
        MPI_Type_commit(&same);
        CHECK(same == known[i].type);
    }
    MPI_Datatype type, again;
    int bytes;
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
    MPI_Type_size(type, &bytes);
    CHECK(bytes == 8);
    MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &type);
    MPI_Type_size(type, &bytes);
    CHECK(bytes == 2);
    MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type);
    MPI_Type_size(type, &bytes);
    CHECK(bytes == 16);
#if MPI_VERSION >= 5
    int integers, addresses, types, how, numbers[2];
    MPI_Type_create_f90_real(15, MPI_UNDEFINED, &type);
    MPI_Type_create_f90_real(15, MPI_UNDEFINED, &again);
    CHECK(type == again);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &how);
    CHECK(integers == 2 && addresses == 0 && types == 0 && how == MPI_COMBINER_F90_REAL);
    MPI_Type_get_contents(type, 2, 0, 0, numbers, NULL, NULL);
    CHECK(numbers[0] == 15 && numbers[1] == MPI_UNDEFINED);
    double one = 1 + rank, sum;
    MPI_Allreduce(&one, &sum, 1, type, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size + 1) / 2.0);
    MPI_Type_create_f90_complex(6, 30, &type);
    MPI_Type_size(type, &bytes);
    CHECK(bytes == 8);
    MPI_Type_create_f90_integer(9, &type);
    MPI_Type_size(type, &bytes);
    CHECK(bytes == 4);
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &type);
    MPI_Type_get_value_index(MPI_CHAR, MPI_INT, &again);
    CHECK(type == MPI_DOUBLE_INT && again == MPI_DATATYPE_NULL);
#else
    (void)again;
#endif
}

static void refusals(void) {
    MPI_Datatype type, null = MPI_DATATYPE_NULL, basic = MPI_INT;
    int class, data[4] = {0};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
#define REFUSES(call, wanted)           \
    do {                                \
        MPI_Error_class(call, &class);  \
        CHECK(class == wanted);         \
    } while (0)
    REFUSES(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
    REFUSES(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
    REFUSES(MPI_Type_vector(1, -1, 1, MPI_INT, &type), MPI_ERR_COUNT);
    REFUSES(MPI_Type_free(&basic), MPI_ERR_TYPE);
    REFUSES(MPI_Type_free(&null), MPI_ERR_TYPE);
    MPI_Type_contiguous(2, MPI_INT, &type);
    REFUSES(MPI_Send(data, 1, type, rank, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    REFUSES(MPI_Type_get_contents(MPI_INT, 0, 0, 0, data, NULL, NULL), MPI_ERR_TYPE);
    MPI_Type_free(&type);
#if MPI_VERSION >= 5
    int packed[2], position = 0;
    CHECK(MPI_Pack(data, 4, MPI_INT, packed, 8, &position, MPI_COMM_WORLD) != MPI_SUCCESS);
#endif
    CHECK(MPI_Allreduce(MPI_IN_PLACE, data, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD) != MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/* Functions of MPI-1 which MPI-3 has removed. */
static void of_mpi_1(void) {
    struct mixed one;
    MPI_Aint places[2], start, extent, lower, upper;
    MPI_Datatype olds[] = {MPI_DOUBLE, MPI_INT}, pair, list, rows;
    int lengths[] = {1, 1};
    MPI_Address(&one, &start);
    MPI_Address(&one.value, &places[0]);
    MPI_Address(&one.place, &places[1]);
    CHECK(places[1] - start == (MPI_Aint)offsetof(struct mixed, place));
    places[0] -= start - 8;
    places[1] -= start - 8;
    MPI_Type_struct(2, lengths, places, olds, &pair);
    MPI_Type_lb(pair, &lower);
    MPI_Type_ub(pair, &upper);
    MPI_Type_extent(pair, &extent);
    CHECK(lower == 8 && upper == 24 && extent == 16);
    MPI_Type_hindexed(2, lengths, places, MPI_INT, &list);
    MPI_Type_extent(list, &extent);
    CHECK(extent == 12);
    MPI_Type_hvector(3, 1, 100, MPI_INT, &rows);
    MPI_Type_extent(rows, &extent);
    CHECK(extent == 204);
    MPI_Type_free(&pair);
    MPI_Type_free(&list);
    MPI_Type_free(&rows);
    MPI_Errhandler handler;
    MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Errhandler_get(MPI_COMM_SELF, &handler);
    CHECK(handler == MPI_ERRORS_RETURN);
    MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    constructors();
    of_mpi_1();
    arrays();
    contents();
    elements();
    external();
    predefined();
    refusals();
    printf("rank %d: all types are right\n", rank);
    MPI_Finalize();
    return 0;
}
