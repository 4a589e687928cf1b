/* Collectives of an inter-communicator: what comes is what the other group gives. */
#include "check.h"

/* MPICH 4.0 copies what a rank gives to itself when a persistent request is made, not when it is started. */
#ifdef MPICH_VERSION
enum { STARTS = 1 };
#else
enum { STARTS = 3 };
#endif

enum { MOST = 32, EACH = 2, ROOM = MOST * MOST * EACH };

static MPI_Comm comm;
static int side, me, here, there; /* which group; rank; sizes of this group and of the other */
static int out[ROOM], in[ROOM], counts_in[MOST], counts_out[MOST], starts[MOST], places[MOST];
static MPI_Datatype ints[MOST];

static int value(int group, int from, int block, int index) {
    return group * 100000 + from * 1000 + block * 10 + index;
}

/* Blocks of EACH for every rank of the other group; in the v forms, between two ranks are (one + other) % 3 ints. */
static void prepare(void) {
    for (int i = 0; i < ROOM; i++)
        out[i] = in[i] = -1;
    for (int block = 0; block < MOST; block++) {
        for (int j = 0; j < EACH; j++)
            out[block * EACH + j] = value(side, me, block, j);
        starts[block] = block * EACH;
        places[block] = block * EACH * (int)sizeof(int);
        counts_in[block] = counts_out[block] = (me + block) % (EACH + 1);
        ints[block] = MPI_INT;
    }
}

static void prepare_by_sender(void) {
    prepare();
    for (int i = 0; i < there; i++)
        counts_in[i] = i % (EACH + 1);
}

static void check(int from, int block, int at, int count) {
    for (int j = 0; j < count; j++)
        CHECK(in[at + j] == value(1 - side, from, block, j));
    for (int j = count; j < EACH; j++)
        CHECK(in[at + j] == -1);
}

static void check_all(int block, const int *counts) {
    for (int i = 0; i < there; i++)
        check(i, block, i * EACH, counts ? counts[i] : EACH);
    CHECK(in[there * EACH] == -1);
}

/* The sums over the other group of what it has for `first` and those after it. */
static void check_sums(int first, int count) {
    for (int k = 0; k < count; k++) {
        int sum = 0;
        for (int i = 0; i < there; i++)
            sum += value(1 - side, i, (first + k) / EACH, (first + k) % EACH);
        CHECK(in[k] == sum);
    }
    CHECK(in[count] == -1);
}

#define FORMS(Name, Iname, READY, CHECKS, ...)                        \
    do {                                                              \
        MPI_Request request;                                          \
        READY;                                                        \
        MPI_##Name(__VA_ARGS__);                                      \
        CHECKS;                                                       \
        READY;                                                        \
        MPI_##Iname(__VA_ARGS__, &request);                           \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                        \
        CHECKS;                                                       \
        READY;                                                        \
        MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request);      \
        for (int again = 0; again < STARTS; again++) {                \
            if (again)                                                \
                READY;                                                \
            MPI_Start(&request);                                      \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                    \
            CHECKS;                                                   \
        }                                                             \
        MPI_Request_free(&request);                                   \
    } while (0)

static void rooted(int root_side, int root_rank) {
    int root = side != root_side ? root_rank : me == root_rank ? MPI_ROOT : MPI_PROC_NULL;
    int is_root = root == MPI_ROOT, other = root >= 0, mine = me % (EACH + 1);
    FORMS(Bcast, Ibcast, prepare(), if (other) check(root, 0, 0, EACH), other ? in : out, EACH, MPI_INT, root, comm);
    FORMS(Gather, Igather, prepare(), if (is_root) check_all(0, NULL), out, EACH, MPI_INT, in, EACH, MPI_INT, root,
          comm);
    FORMS(Gatherv, Igatherv, prepare_by_sender(), if (is_root) check_all(0, counts_in), out, mine, MPI_INT, in,
          counts_in, starts, MPI_INT, root, comm);
    FORMS(Scatter, Iscatter, prepare(), if (other) check(root, me, 0, EACH), out, EACH, MPI_INT, in, EACH, MPI_INT,
          root, comm);
    FORMS(Scatterv, Iscatterv, prepare_by_sender(), if (other) check(root, me, 0, mine), out, counts_in, starts,
          MPI_INT, in, mine, MPI_INT, root, comm);
    FORMS(Reduce, Ireduce, prepare(), if (is_root) check_sums(0, EACH), out, in, EACH, MPI_INT, MPI_SUM, root, comm);
}

static void everyone(void) {
    int mine = me % (EACH + 1), block = EACH * there, lengths[MOST], first = 0;
    FORMS(Barrier, Ibarrier, (void)0, (void)0, comm);
    FORMS(Allreduce, Iallreduce, prepare(), check_sums(0, EACH), out, in, EACH, MPI_INT, MPI_SUM, comm);
    FORMS(Allgather, Iallgather, prepare(), check_all(0, NULL), out, EACH, MPI_INT, in, EACH, MPI_INT, comm);
    FORMS(Allgatherv, Iallgatherv, prepare_by_sender(), check_all(0, counts_in), out, mine, MPI_INT, in, counts_in,
          starts, MPI_INT, comm);
    FORMS(Alltoall, Ialltoall, prepare(), check_all(me, NULL), out, EACH, MPI_INT, in, EACH, MPI_INT, comm);
    FORMS(Alltoallv, Ialltoallv, prepare(), check_all(me, counts_in), out, counts_out, starts, MPI_INT, in, counts_in,
          starts, MPI_INT, comm);
    prepare();
    FORMS(Alltoallw, Ialltoallw, prepare(), check_all(me, counts_in), out, counts_out, places, ints, in, counts_in,
          places, ints, comm);
    /* The groups share out as many values, EACH for each pair of ranks. */
    for (int i = 0; i < ROOM; i++)
        out[i] = -1;
#define PREPARE_PAIRS                                                                        \
    do {                                                                                     \
        prepare();                                                                           \
        for (int k = 0; k < EACH * here * there; k++)                                        \
            out[k] = value(side, me, k / EACH, k % EACH);                                    \
    } while (0)
    FORMS(Reduce_scatter_block, Ireduce_scatter_block, PREPARE_PAIRS, check_sums(me * block, block), out, in, block,
          MPI_INT, MPI_SUM, comm);
    /* The first of the group gets one value more than the last. */
    for (int i = 0; i < here; i++)
        lengths[i] = block + (here > 1) * ((i == 0) - (i == here - 1));
    for (int i = 0; i < me; i++)
        first += lengths[i];
    FORMS(Reduce_scatter, Ireduce_scatter, PREPARE_PAIRS, check_sums(first, lengths[me]), out, in, lengths, MPI_INT,
          MPI_SUM, comm);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (size > 1) {
        /* One in three is in the second group, where the last is rank 0. */
        side = rank % 3 == 1;
        MPI_Comm group;
        MPI_Comm_split(MPI_COMM_WORLD, side, side ? -rank : rank, &group);
        int last = (size - 2) / 3 * 3 + 1;
        MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, side ? 0 : last, 5, &comm);
        MPI_Comm_rank(comm, &me);
        MPI_Comm_size(comm, &here);
        MPI_Comm_remote_size(comm, &there);
        for (int root_side = 0; root_side < 2; root_side++) {
            rooted(root_side, 0);
            rooted(root_side, (side == root_side ? here : there) - 1);
        }
        everyone();
        MPI_Comm_free(&comm);
        MPI_Comm_free(&group);
    }
    printf("rank %d: %d here, %d there\n", rank, here, there);
    MPI_Finalize();
    return 0;
}
