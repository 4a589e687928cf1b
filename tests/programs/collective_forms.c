/* Every collective in its blocking, immediate and persistent form, with large counts, in place, and with
 * datatypes that differ between sender and receiver. */
#include "check.h"

enum { MOST = 32, EACH = 3, ROOM = MOST * EACH * 2 };

/* MPICH 4.0 copies what a rank gives to itself when a persistent request is made, not when it is started. */
#ifdef MPICH_VERSION
enum { STARTS = 1 };
#else
enum { STARTS = 3 };
#endif

static MPI_Datatype sparse, three; /* three ints with gaps between; three ints */
static MPI_Comm comm;
static int n, me, root;
static int out[ROOM], in[ROOM], counts[MOST], starts[MOST], places[MOST];
static MPI_Count large_counts[MOST];
static MPI_Aint large_starts[MOST], large_places[MOST];
static MPI_Datatype ints[MOST];

static int value(int from, int to, int index) { return from * 10000 + to * 100 + index; }

/* One block for each member, of so many ints each. */
static void prepare(int each) {
    for (int i = 0; i < ROOM; i++)
        out[i] = in[i] = -1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < each; j++)
            out[i * each + j] = value(me, i, j);
}

/* Blocks of i % EACH ints, at their places among blocks of EACH. */
static void prepare_uneven(void) {
    prepare(EACH);
    for (int i = 0; i < n; i++) {
        large_counts[i] = counts[i] = i % EACH;
        large_starts[i] = starts[i] = i * EACH;
        large_places[i] = places[i] = i * EACH * (int)sizeof(int);
        ints[i] = MPI_INT;
    }
}

/* Block `block` of what `from` has is at `at`. */
static void check(const int *at, int from, int block, int each) {
    for (int j = 0; j < each; j++)
        CHECK(at[j] == value(from, block, j));
}

static void check_all(int block, int each) {
    for (int i = 0; i < n; i++)
        check(in + i * each, i, block, each);
}

/* A call in each of its forms. */
#define ONCE(READY, CALL, CHECKS) \
    do {                          \
        READY;                    \
        CALL;                     \
        CHECKS;                   \
    } while (0)

#define FORMS(Name, Iname, SUFFIX, READY, CHECKS, ...)                                                    \
    do {                                                                                                  \
        MPI_Request request;                                                                              \
        ONCE(READY, MPI_##Name##SUFFIX(__VA_ARGS__), CHECKS);                                             \
        ONCE(READY, MPI_##Iname##SUFFIX(__VA_ARGS__, &request); MPI_Wait(&request, MPI_STATUS_IGNORE),    \
             CHECK(request == MPI_REQUEST_NULL); CHECKS);                                                 \
        READY;                                                                                            \
        MPI_##Name##_init##SUFFIX(__VA_ARGS__, MPI_INFO_NULL, &request);                                  \
        for (int again = 0; again < STARTS; again++)                                                      \
            ONCE(if (again) { READY; }, MPI_Start(&request); MPI_Wait(&request, MPI_STATUS_IGNORE),                       \
                 CHECK(request != MPI_REQUEST_NULL); CHECKS);                                             \
        MPI_Request_free(&request);                                                                       \
    } while (0)

#define BOTH(Name, Iname, READY, CHECKS, ...)               \
    do {                                                    \
        FORMS(Name, Iname, , READY, CHECKS, __VA_ARGS__);   \
        FORMS(Name, Iname, _c, READY, CHECKS, __VA_ARGS__); \
    } while (0)

static void rooted(void) {
    int here = me == root;
    BOTH(Bcast, Ibcast, prepare(EACH), check(out, root, 0, EACH), out, here ? 1 : EACH, here ? three : MPI_INT,
         root, comm);
    BOTH(Gather, Igather, prepare(EACH), if (here) check_all(0, EACH), out, 1, three, in, EACH, MPI_INT, root,
         comm);
    BOTH(Scatter, Iscatter, prepare(EACH), check(in, root, me, EACH), out, EACH, MPI_INT, in, 1, three, root,
         comm);
    BOTH(Gather, Igather, prepare(EACH); if (here) memmove(in + me * EACH, out, sizeof(int[EACH])),
         if (here) check_all(0, EACH), here ? MPI_IN_PLACE : out, EACH, MPI_INT, in, EACH, MPI_INT, root, comm);
    BOTH(Scatter, Iscatter, prepare(EACH), if (!here) check(in, root, me, EACH), out, EACH, MPI_INT,
         here ? MPI_IN_PLACE : in, EACH, MPI_INT, root, comm);
    FORMS(Gatherv, Igatherv, , prepare_uneven(),
          for (int i = 0; here && i < n; i++) check(in + i * EACH, i, 0, i % EACH), out, me % EACH, MPI_INT, in,
          counts, starts, MPI_INT, root, comm);
    FORMS(Gatherv, Igatherv, _c, prepare_uneven(),
          for (int i = 0; here && i < n; i++) check(in + i * EACH, i, 0, i % EACH), out, me % EACH, MPI_INT, in,
          large_counts, large_starts, MPI_INT, root, comm);
    FORMS(Scatterv, Iscatterv, , prepare_uneven(), check(in, root, me, me % EACH), out, counts, starts, MPI_INT,
          in, me % EACH, MPI_INT, root, comm);
    FORMS(Scatterv, Iscatterv, _c, prepare_uneven(), check(in, root, me, me % EACH), out, large_counts,
          large_starts, MPI_INT, in, me % EACH, MPI_INT, root, comm);
}

static void exchanging(void) {
    BOTH(Allgather, Iallgather, prepare(EACH), check_all(0, EACH), out, 1, three, in, EACH, MPI_INT, comm);
    BOTH(Allgather, Iallgather, prepare(EACH); memcpy(in + me * EACH, out, sizeof(int[EACH])), check_all(0, EACH),
         MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, EACH, MPI_INT, comm);
    BOTH(Alltoall, Ialltoall, prepare(EACH), check_all(me, EACH), out, EACH, MPI_INT, in, 1, three, comm);
    BOTH(Alltoall, Ialltoall, prepare(EACH); memcpy(in, out, sizeof in), check_all(me, EACH), MPI_IN_PLACE, 0,
         MPI_DATATYPE_NULL, in, EACH, MPI_INT, comm);
    FORMS(Allgatherv, Iallgatherv, , prepare_uneven(),
          for (int i = 0; i < n; i++) check(in + i * EACH, i, 0, i % EACH), out, me % EACH, MPI_INT, in, counts,
          starts, MPI_INT, comm);
    FORMS(Allgatherv, Iallgatherv, _c, prepare_uneven(),
          for (int i = 0; i < n; i++) check(in + i * EACH, i, 0, i % EACH), out, me % EACH, MPI_INT, in,
          large_counts, large_starts, MPI_INT, comm);
}

/* Between two ranks there are (one + other) % EACH ints. */
static void prepare_pairs(void) {
    prepare_uneven();
    for (int i = 0; i < n; i++)
        large_counts[i] = counts[i] = (me + i) % EACH;
}

static void check_pairs(void) {
    for (int i = 0; i < n; i++) {
        check(in + i * EACH, i, me, (me + i) % EACH);
        CHECK(in[i * EACH + (me + i) % EACH] == -1);
    }
}

static void pairs(void) {
    FORMS(Alltoallv, Ialltoallv, , prepare_pairs(), check_pairs(), out, counts, starts, MPI_INT, in, counts,
          starts, MPI_INT, comm);
    FORMS(Alltoallv, Ialltoallv, _c, prepare_pairs(), check_pairs(), out, large_counts, large_starts, MPI_INT, in,
          large_counts, large_starts, MPI_INT, comm);
    prepare_pairs();
    FORMS(Alltoallw, Ialltoallw, , prepare_pairs(), check_pairs(), out, counts, places, ints, in, counts, places,
          ints, comm);
    FORMS(Alltoallw, Ialltoallw, _c, prepare_pairs(), check_pairs(), out, large_counts, large_places, ints, in,
          large_counts, large_places, ints, comm);
    /* Of another layout where it arrives: three ints with gaps. */
    MPI_Datatype gaps[MOST];
    int ones[MOST], threes[MOST], far[MOST];
    prepare_uneven();
    for (int i = 0; i < n; i++)
        ones[i] = 1, threes[i] = EACH, gaps[i] = sparse, far[i] = i * 2 * EACH * (int)sizeof(int);
    MPI_Alltoallw(out, threes, places, ints, in, ones, far, gaps, comm);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < EACH; j++)
            CHECK(in[(i * EACH + j) * 2] == value(i, me, j) && in[(i * EACH + j) * 2 + 1] == -1);
}

static int sum_of(int block, int index, int ranks) {
    int sum = 0;
    for (int i = 0; i < ranks; i++)
        sum += value(i, block, index);
    return sum;
}

static void check_sum(const int *at, int block, int ranks, int each) {
    for (int j = 0; j < each; j++)
        CHECK(at[j] == sum_of(block, j, ranks));
}

static void reducing(void) {
    BOTH(Reduce, Ireduce, prepare(EACH), if (me == root) check_sum(in, 0, n, EACH), out, in, EACH, MPI_INT,
         MPI_SUM, root, comm);
    BOTH(Reduce, Ireduce, prepare(EACH), if (me == root) check_sum(out, 0, n, EACH),
         me == root ? MPI_IN_PLACE : out, out, EACH, MPI_INT, MPI_SUM, root, comm);
    BOTH(Allreduce, Iallreduce, prepare(EACH), check_sum(in, 0, n, EACH), out, in, EACH, MPI_INT, MPI_SUM, comm);
    BOTH(Allreduce, Iallreduce, prepare(EACH), check_sum(out, 0, n, EACH), MPI_IN_PLACE, out, EACH, MPI_INT,
         MPI_SUM, comm);
    BOTH(Scan, Iscan, prepare(EACH), check_sum(in, 0, me + 1, EACH), out, in, EACH, MPI_INT, MPI_SUM, comm);
    BOTH(Scan, Iscan, prepare(EACH), check_sum(out, 0, me + 1, EACH), MPI_IN_PLACE, out, EACH, MPI_INT, MPI_SUM,
         comm);
    BOTH(Exscan, Iexscan, prepare(EACH), if (me) check_sum(in, 0, me, EACH); else CHECK(in[0] == -1), out, in,
         EACH, MPI_INT, MPI_SUM, comm);
    BOTH(Exscan, Iexscan, prepare(EACH), if (me) check_sum(out, 0, me, EACH), MPI_IN_PLACE, out, EACH, MPI_INT,
         MPI_SUM, comm);
    BOTH(Reduce_scatter_block, Ireduce_scatter_block, prepare(EACH), check_sum(in, me, n, EACH), out, in, EACH,
         MPI_INT, MPI_SUM, comm);
    BOTH(Reduce_scatter_block, Ireduce_scatter_block, prepare(EACH), check_sum(out, me, n, EACH), MPI_IN_PLACE,
         out, EACH, MPI_INT, MPI_SUM, comm);
    /* Blocks of 0, 1 or 2 ints: block i begins where those before it end. */
    int lengths[MOST];
    MPI_Count large_lengths[MOST];
    for (int i = 0; i < n; i++)
        large_lengths[i] = lengths[i] = i % EACH;
    int first = me / EACH * EACH + (me % EACH == 2);
#define CHECK_PART(at)                                                          \
    for (int j = 0; j < lengths[me]; j++)                                       \
        CHECK((at)[j] == sum_of((first + j) / EACH, (first + j) % EACH, n))
    FORMS(Reduce_scatter, Ireduce_scatter, , prepare(EACH), CHECK_PART(in), out, in, lengths, MPI_INT, MPI_SUM,
          comm);
    FORMS(Reduce_scatter, Ireduce_scatter, _c, prepare(EACH), CHECK_PART(in), out, in, large_lengths, MPI_INT,
          MPI_SUM, comm);
    FORMS(Reduce_scatter, Ireduce_scatter, , prepare(EACH), CHECK_PART(out), MPI_IN_PLACE, out, lengths, MPI_INT,
          MPI_SUM, comm);
}

/* Several are under way at once, and persistent ones start in another order on every rank. */
static void many(void) {
    enum { MANY = 8 };
    MPI_Request requests[MANY];
    int values[MANY];
    for (int i = 0; i < MANY; i++) {
        values[i] = me == i % n ? i + 1 : 0;
        MPI_Ibcast(&values[i], 1, MPI_INT, i % n, comm, &requests[i]);
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++)
        CHECK(values[i] == i + 1);
    int sums[MANY];
    for (int i = 0; i < MANY; i++)
        values[i] = me * i;
    for (int i = 0; i < MANY; i++)
        MPI_Allreduce_init(&values[i], &sums[i], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[i]);
    for (int again = 0; again < STARTS; again++) {
        for (int i = 0; i < MANY; i++)
            values[i] = me * i + again;
        MPI_Barrier(comm);
        for (int i = 0; i < MANY / 2; i++)
            MPI_Start(&requests[(i + me) % (MANY / 2)]);
        MPI_Startall(MANY / 2, requests + MANY / 2);
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < MANY; i++)
            CHECK(sums[i] == n * (n - 1) / 2 * i + again * n);
    }
    for (int i = 0; i < MANY; i++)
        MPI_Request_free(&requests[i]);
    FORMS(Barrier, Ibarrier, , (void)0, (void)0, comm);
}

/* Nothing is as good as something. */
static void empty(void) {
    prepare(EACH);
    for (int i = 0; i < n; i++)
        counts[i] = starts[i] = 0;
    MPI_Bcast(NULL, 0, MPI_INT, root, comm);
    MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, root, comm);
    MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, comm);
    MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, comm);
    MPI_Alltoallv(out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, comm);
    MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, comm);
    MPI_Scan(NULL, NULL, 0, MPI_INT, MPI_SUM, comm);
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm);
    counts[0] = 2;
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm);
    if (me == 0)
        check_sum(in, 0, n, 2);
    else
        CHECK(in[0] == -1);
}

static void everything(MPI_Comm on) {
    comm = on;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    for (root = 0; root < n; root += 1 + n / 2)
        rooted();
    root = n - 1;
    exchanging();
    pairs();
    reducing();
    many();
    empty();
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Datatype one;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &one);
    MPI_Type_contiguous(EACH, one, &sparse);
    MPI_Type_contiguous(EACH, MPI_INT, &three);
    MPI_Type_commit(&sparse);
    MPI_Type_commit(&three);
    everything(MPI_COMM_WORLD);
    everything(MPI_COMM_SELF);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    everything(half);
    MPI_Comm_free(&half);
    MPI_Type_free(&one);
    MPI_Type_free(&sparse);
    MPI_Type_free(&three);
    printf("rank %d: all collectives in all forms\n", rank);
    MPI_Finalize();
    return 0;
}
