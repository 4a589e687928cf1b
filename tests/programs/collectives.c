/* Collectives: what every member gets, blocking and not, in place, on split communicators. */
#include "check.h"

enum { MOST = 64 };

static void rooted(MPI_Comm comm, int me, int n) {
    for (int root = 0; root < n; root++) {
        double value[3] = {me == root ? 1.5 : 0, me == root ? root : -1, 3};
        MPI_Bcast(value, 2, MPI_DOUBLE, root, comm);
        CHECK(value[0] == 1.5 && value[1] == root && value[2] == 3);
        int sum = -1, out = me + 1;
        MPI_Reduce(&out, &sum, 1, MPI_INT, MPI_SUM, root, comm);
        CHECK(sum == (me == root ? n * (n + 1) / 2 : -1));
        int all[MOST] = {0}, pair = -1;
        MPI_Gather(&out, 1, MPI_INT, all, 1, MPI_INT, root, comm);
        for (int i = 0; i < n; i++)
            CHECK(all[i] == (me == root ? i + 1 : 0));
        for (int i = 0; i < n; i++)
            all[i] = i * i;
        MPI_Scatter(all, 1, MPI_INT, &pair, 1, MPI_INT, root, comm);
        CHECK(pair == me * me);
        int counts[MOST], distances[MOST], triangle[MOST * MOST] = {0}, mine[MOST];
        for (int i = 0, at = 0; i < n; at += i++)
            counts[i] = i, distances[i] = at;
        for (int i = 0; i < me; i++)
            mine[i] = me * 100 + i;
        MPI_Gatherv(mine, me, MPI_INT, triangle, counts, distances, MPI_INT, root, comm);
        for (int i = 0; me == root && i < n; i++)
            for (int j = 0; j < i; j++)
                CHECK(triangle[distances[i] + j] == i * 100 + j);
        memset(mine, 0, sizeof mine);
        MPI_Scatterv(triangle, counts, distances, MPI_INT, mine, me, MPI_INT, root, comm);
        for (int i = 0; i < me; i++)
            CHECK(mine[i] == me * 100 + i);
    }
}

static void everyone(MPI_Comm comm, int me, int n) {
    struct { double value; int place; } mine = {(me * 7) % 5, me}, best;
    MPI_Allreduce(&mine, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
    for (int i = 0; i < n; i++)
        CHECK((i * 7) % 5 < best.value || ((i * 7) % 5 == best.value && best.place <= i));
    unsigned long product = me + 1, factorial = 1; /* modulo 2^64 beyond 20 */
    MPI_Allreduce(MPI_IN_PLACE, &product, 1, MPI_UNSIGNED_LONG, MPI_PROD, comm);
    for (int i = 1; i <= n; i++)
        factorial *= i;
    CHECK(product == factorial);
    unsigned bits = 1u << me, any = 0;
    MPI_Allreduce(&bits, &any, 1, MPI_UNSIGNED, MPI_BOR, comm);
    CHECK(any == (1u << n) - 1);
    int all[MOST] = {0}, out[MOST], in[MOST] = {0};
    MPI_Allgather(&me, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (int i = 0; i < n; i++)
        CHECK(all[i] == i);
    for (int i = 0; i < n; i++)
        out[i] = me * 100 + i;
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
    for (int i = 0; i < n; i++)
        CHECK(in[i] == i * 100 + me);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 1, MPI_INT, comm);
    for (int i = 0; i < n; i++)
        CHECK(out[i] == i * 100 + me);
    int sum = -1, before = -1, block = -1;
    MPI_Scan(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Exscan(&me, &before, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == me * (me + 1) / 2 && (me == 0 || before == sum - me));
    for (int i = 0; i < n; i++)
        out[i] = i;
    MPI_Reduce_scatter_block(out, &block, 1, MPI_INT, MPI_SUM, comm);
    CHECK(block == me * n);
}

/* Rank r sends (r + i) % 3 values to rank i. */
static void uneven(MPI_Comm comm, int me, int n) {
    int out[MOST * 3], in[MOST * 3], give[MOST], take[MOST], from[MOST], to[MOST];
    for (int i = 0, at = 0, into = 0; i < n; i++) {
        give[i] = take[i] = (me + i) % 3;
        from[i] = at, to[i] = into;
        for (int j = 0; j < give[i]; j++)
            out[at++] = me * 1000 + i * 10 + j;
        into += take[i];
    }
    MPI_Alltoallv(out, give, from, MPI_INT, in, take, to, MPI_INT, comm);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < take[i]; j++)
            CHECK(in[to[i] + j] == i * 1000 + me * 10 + j);
    int counts[MOST], all[MOST * 3], distances[MOST];
    for (int i = 0, at = 0; i < n; at += counts[i++])
        counts[i] = i % 3, distances[i] = at;
    int mine[3] = {me, me + 1, me + 2};
    MPI_Allgatherv(mine, me % 3, MPI_INT, all, counts, distances, MPI_INT, comm);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < counts[i]; j++)
            CHECK(all[distances[i] + j] == i + j);
}

static void immediate(MPI_Comm comm, int me, int n) {
    MPI_Request requests[3];
    int one = 1, count = 0, value = me == n - 1 ? 42 : 0, all[MOST];
    MPI_Iallreduce(&one, &count, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Ibcast(&value, 1, MPI_INT, n - 1, comm, &requests[1]);
    MPI_Iallgather(&me, 1, MPI_INT, all, 1, MPI_INT, comm, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    CHECK(count == n && value == 42 && all[n - 1] == n - 1);
    MPI_Ibarrier(comm, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

/* What is sent must not be where it is wanted: each rank is told, before anything moves. */
static void aliased(MPI_Comm comm, int me, int n) {
    int *all = calloc(2 * n, sizeof *all), class, root = n / 2;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
#define REFUSES(call)                        \
    do {                                     \
        MPI_Error_class(call, &class);       \
        CHECK(class == MPI_ERR_BUFFER);      \
    } while (0)
    REFUSES(MPI_Allgather(all + me, 1, MPI_INT, all, 1, MPI_INT, comm));
    REFUSES(MPI_Alltoall(all, 1, MPI_INT, all, 1, MPI_INT, comm));
    REFUSES(MPI_Allreduce(all, all, 1, MPI_INT, MPI_SUM, comm));
    if (me == root) {
        REFUSES(MPI_Gather(all + me, 1, MPI_INT, all, 1, MPI_INT, root, comm));
        REFUSES(MPI_Scatter(all, 1, MPI_INT, all + me, 1, MPI_INT, root, comm));
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    free(all);
}

/* Members that disagree on a length hear of it, if they want to, and all go on. */
static void unlike(MPI_Comm comm, int me, int n) {
    int values[10] = {0}, root = n / 2;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int count = 1; count <= 10; count += 9) {
        int code = MPI_Bcast(values, me == root ? count : 11 - count, MPI_INT, root, comm);
        CHECK(me == root || code != MPI_SUCCESS);
    }
#if MPI_VERSION >= 5
    int class, sums[10];
    MPI_Request request;
    MPI_Ibcast(values, me == root ? 1 : 10, MPI_INT, root, comm, &request);
    MPI_Error_class(MPI_Wait(&request, MPI_STATUS_IGNORE), &class);
    CHECK(me == root || class == MPI_ERR_TRUNCATE);
    MPI_Error_class(MPI_Allreduce(values, sums, 1 + me % 2, MPI_INT, MPI_SUM, comm), &class);
    CHECK(class == (n > 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    MPI_Allreduce_init(values, sums, 1 + me % 2, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        MPI_Error_class(MPI_Wait(&request, MPI_STATUS_IGNORE), &class);
        CHECK(class == (n > 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    }
    MPI_Request_free(&request);
#endif
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
}

static void all(MPI_Comm comm) {
    int me, n;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    rooted(comm, me, n);
    everyone(comm, me, n);
    uneven(comm, me, n);
    immediate(comm, me, n);
    aliased(comm, me, n);
    unlike(comm, me, n);
    MPI_Barrier(comm);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    all(MPI_COMM_WORLD);
    all(MPI_COMM_SELF);
    MPI_Comm half, twin, none;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    all(half);
    int place, members;
    MPI_Comm_rank(half, &place);
    MPI_Comm_size(half, &members);
    MPI_Comm_dup(half, &twin);
    all(twin);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&half);
    CHECK(half == MPI_COMM_NULL);
    MPI_Comm_split(MPI_COMM_WORLD, rank ? MPI_UNDEFINED : 1, 0, &none);
    CHECK((none == MPI_COMM_NULL) == (rank != 0));
    printf("rank %d: %d of %d\n", rank, place, members);
    MPI_Finalize();
    return 0;
}
