/* Operations: predefined ones on every kind of number, and functions of the program in every reduction. */
#include "check.h"
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

/* Affine maps x -> a x + b under composition, which is associative and not commutative. */
struct affine {
    int64_t a, b;
};

static int calls, offset; /* Of this rank alone. */

static void compose(void *in, void *inout, int *count, MPI_Datatype *type) {
    struct affine *first = in, *second = inout;
    int bytes;
    MPI_Type_size(*type, &bytes);
    CHECK(bytes == sizeof(struct affine));
    CHECK(offset == rank + 1);
    for (int i = 0; i < *count; i++) {
        second[i].b += second[i].a * first[i].b;
        second[i].a *= first[i].a;
    }
    calls++;
}

static struct affine of(int member, int i) { return (struct affine){member % 3 + 1, member + i}; }

/* Of members `from` to `to` - 1, element `i`. */
static struct affine product(int from, int to, int i) {
    struct affine all = {1, 0};
    for (int member = from; member < to; member++) {
        struct affine next = of(member, i);
        all.b = next.a * all.b + next.b;
        all.a *= next.a;
    }
    return all;
}

static int same(struct affine x, struct affine y) { return x.a == y.a && x.b == y.b; }

static void functions(void) {
    enum { N = 3 };
    MPI_Op op;
    MPI_Datatype type;
    MPI_Request request;
    int commutes;
    offset = rank + 1;
    MPI_Type_contiguous(2, MPI_INT64_T, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(compose, 0, &op);
    MPI_Op_commutative(op, &commutes);
    CHECK(!commutes);
    struct affine mine[N * 64], got[N * 64];
    for (int i = 0; i < N * size; i++)
        mine[i] = of(rank, i);
    calls = 0;
    MPI_Allreduce(mine, got, N, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        CHECK(same(got[i], product(0, size, i)));
#if MPI_VERSION >= 5
    /* Each rank has combined with its own function and variables: 24 are 5 levels of halves. */
    int most, all;
    MPI_Reduce(&calls, &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&calls, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    CHECK(calls > 0 || size == 1);
    CHECK(rank > 0 || (most < size && all <= 6 * size));
#endif
    MPI_Reduce(mine, got, N, type, op, size - 1, MPI_COMM_WORLD);
    for (int i = 0; rank == size - 1 && i < N; i++)
        CHECK(same(got[i], product(0, size, i)));
    MPI_Scan(mine, got, N, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        CHECK(same(got[i], product(0, rank + 1, i)));
    MPI_Exscan(mine, got, N, type, op, MPI_COMM_WORLD);
    for (int i = 0; rank > 0 && i < N; i++)
        CHECK(same(got[i], product(0, rank, i)));
    MPI_Reduce_scatter_block(mine, got, N, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        CHECK(same(got[i], product(0, size, rank * N + i)));
    int counts[64];
    for (int i = 0; i < size; i++)
        counts[i] = i % 2 + 1;
    MPI_Reduce_scatter(mine, got, counts, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < counts[rank]; i++)
        CHECK(same(got[i], product(0, size, rank + rank / 2 + i)));
    MPI_Iallreduce(mine, got, N, type, op, MPI_COMM_WORLD, &request);
    /* What is freed goes on in what has begun. */
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    CHECK(op == MPI_OP_NULL && type == MPI_DATATYPE_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++)
        CHECK(same(got[i], product(0, size, i)));
}

static void spread(void *in, void *inout, int *count, MPI_Datatype *type) {
    MPI_Aint lower, extent;
    MPI_Type_get_extent(*type, &lower, &extent);
    CHECK(extent == 16);
    for (int i = 0; i < *count; i++)
        for (int j = 0; j < 2; j++)
            ((int *)inout)[4 * i + 2 * j] += ((int *)in)[4 * i + 2 * j];
}

static void many(void *in, void *inout, MPI_Count *count, MPI_Datatype *type) {
    CHECK(*type == MPI_INT);
    for (MPI_Count i = 0; i < *count; i++)
        ((int *)inout)[i] = ((int *)in)[i] > ((int *)inout)[i] ? ((int *)in)[i] : ((int *)inout)[i];
}

/* A function gets values that lie as their type says: the first and the third of four ints. */
static void layouts(void) {
    MPI_Datatype pairs, type;
    MPI_Op op;
    int data[8], sum[8];
    MPI_Type_vector(2, 1, 2, MPI_INT, &pairs);
    MPI_Type_create_resized(pairs, 0, 16, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(spread, 1, &op);
    for (int i = 0; i < 8; i++)
        data[i] = rank + i, sum[i] = -1;
    MPI_Allreduce(data, sum, 2, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < 8; i++)
        CHECK(sum[i] == (i % 2 ? -1 : size * (size - 1) / 2 + size * i));
    MPI_Reduce_local(data, sum, 1, type, op);
    CHECK(sum[0] == size * (size - 1) / 2 + rank && sum[1] == -1);
    MPI_Op_free(&op);
    MPI_Type_free(&pairs);
    MPI_Type_free(&type);
    MPI_Op_create_c(many, 1, &op);
    MPI_Allreduce_c(&rank, data, 1, MPI_INT, op, MPI_COMM_WORLD);
    CHECK(data[0] == size - 1);
    MPI_Op_free(&op);
}

#define REDUCES(C, type, op, mine, expected)                      \
    do {                                                          \
        C value = mine, result = 0, wanted = expected;            \
        MPI_Allreduce(&value, &result, 1, type, op, MPI_COMM_WORLD); \
        CHECK(result == wanted);                                  \
    } while (0)

#define ARITHMETIC(C, type)                                       \
    do {                                                          \
        REDUCES(C, type, MPI_SUM, rank % 4, total);         \
        REDUCES(C, type, MPI_PROD, rank < 3 ? 2 : 1, power); \
        REDUCES(C, type, MPI_MAX, rank, size - 1);                \
        REDUCES(C, type, MPI_MIN, rank + 3, 3);                   \
    } while (0)

#define BITS(C, type)                                             \
    do {                                                          \
        REDUCES(C, type, MPI_BAND, rank == 0 ? 6 : 3, size > 1 ? 2 : 6); \
        REDUCES(C, type, MPI_BOR, rank == 0 ? 6 : 3, size > 1 ? 7 : 6);  \
        REDUCES(C, type, MPI_BXOR, 5, size % 2 ? 5 : 0);          \
    } while (0)

#define LOGIC(C, type)                                            \
    do {                                                          \
        REDUCES(C, type, MPI_LAND, 1, 1);                         \
        REDUCES(C, type, MPI_LAND, rank > 0, 0);                  \
        REDUCES(C, type, MPI_LOR, rank == size - 1, 1);           \
        REDUCES(C, type, MPI_LXOR, 1, size % 2);                  \
    } while (0)

#define INTEGER(C, type) \
    ARITHMETIC(C, type); \
    BITS(C, type);       \
    LOGIC(C, type)

#define PLACES(C, type)                                           \
    do {                                                          \
        struct { C value; int place; } mine = {-(rank % 3), rank + 5}, best; \
        MPI_Allreduce(&mine, &best, 1, type, MPI_MINLOC, MPI_COMM_WORLD);    \
        int low = size > 2 ? 2 : size - 1;                        \
        CHECK(best.value == -low && best.place == low + 5);       \
        MPI_Allreduce(&mine, &best, 1, type, MPI_MAXLOC, MPI_COMM_WORLD);    \
        CHECK(best.value == 0 && best.place == 5);                \
    } while (0)

static void numbers(void) {
    int64_t total = 0, power = 1;
    for (int i = 0; i < size; i++)
        total += i % 4, power *= i < 3 ? 2 : 1;
    INTEGER(signed char, MPI_SIGNED_CHAR);
    INTEGER(unsigned char, MPI_UNSIGNED_CHAR);
    INTEGER(short, MPI_SHORT);
    INTEGER(unsigned short, MPI_UNSIGNED_SHORT);
    INTEGER(int, MPI_INT);
    INTEGER(unsigned, MPI_UNSIGNED);
    INTEGER(long, MPI_LONG);
    INTEGER(unsigned long, MPI_UNSIGNED_LONG);
    INTEGER(long long, MPI_LONG_LONG);
    INTEGER(int8_t, MPI_INT8_T);
    INTEGER(uint16_t, MPI_UINT16_T);
    INTEGER(uint32_t, MPI_UINT32_T);
    INTEGER(int64_t, MPI_INT64_T);
    ARITHMETIC(MPI_Aint, MPI_AINT);
    ARITHMETIC(MPI_Offset, MPI_OFFSET);
    ARITHMETIC(MPI_Count, MPI_COUNT);
    ARITHMETIC(float, MPI_FLOAT);
    ARITHMETIC(double, MPI_DOUBLE);
    ARITHMETIC(long double, MPI_LONG_DOUBLE);
    LOGIC(bool, MPI_C_BOOL);
    BITS(unsigned char, MPI_BYTE);
    REDUCES(float complex, MPI_C_FLOAT_COMPLEX, MPI_SUM, 1 + 2 * I, size + 2 * size * I);
    double complex turned = 1;
    for (int i = 0; i < size; i++)
        turned *= I;
    REDUCES(double complex, MPI_C_DOUBLE_COMPLEX, MPI_PROD, I, turned);
    REDUCES(long double complex, MPI_C_LONG_DOUBLE_COMPLEX, MPI_PROD, I, turned);
    REDUCES(long double complex, MPI_C_LONG_DOUBLE_COMPLEX, MPI_SUM, 1 - I, size - size * I);
    /* 2^63 - 1 needs every bit of a long double. */
    long double exact = rank == 0 ? 9223372036854775807.0L : 0, all;
    MPI_Allreduce(&exact, &all, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == 9223372036854775807.0L);
    PLACES(float, MPI_FLOAT_INT);
    PLACES(double, MPI_DOUBLE_INT);
    PLACES(long, MPI_LONG_INT);
    PLACES(int, MPI_2INT);
    PLACES(short, MPI_SHORT_INT);
    PLACES(long double, MPI_LONG_DOUBLE_INT);
    int here[3] = {1, 2, 3}, there[3] = {10, 20, 30};
    MPI_Reduce_local(here, there, 3, MPI_INT, MPI_SUM);
    CHECK(there[0] == 11 && there[2] == 33 && here[0] == 1);
    MPI_Reduce_local_c(here, there, 2, MPI_INT, MPI_MIN);
    CHECK(there[0] == 1 && there[1] == 2 && there[2] == 33);
}

static void refusals(void) {
    double real[2] = {0};
    int class, commutes;
    MPI_Op op = MPI_SUM;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
#define REFUSES(call)                   \
    do {                                \
        MPI_Error_class(call, &class);  \
        CHECK(class == MPI_ERR_OP);     \
    } while (0)
    REFUSES(MPI_Reduce_local(real, real + 1, 1, MPI_DOUBLE, MPI_BAND));
    REFUSES(MPI_Reduce_local(real, real + 1, 1, MPI_DOUBLE, MPI_MINLOC));
    REFUSES(MPI_Reduce_local(real, real + 1, 1, MPI_C_FLOAT_COMPLEX, MPI_MAX));
    REFUSES(MPI_Reduce_local(real, real + 1, 1, MPI_BYTE, MPI_SUM));
    REFUSES(MPI_Allreduce(real, real + 1, 1, MPI_DOUBLE, MPI_OP_NULL, MPI_COMM_WORLD));
    REFUSES(MPI_Op_free(&op));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Op_commutative(MPI_MAX, &commutes);
    CHECK(commutes);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    functions();
    layouts();
    numbers();
    refusals();
    printf("rank %d: all operations are right\n", rank);
    MPI_Finalize();
    return 0;
}
