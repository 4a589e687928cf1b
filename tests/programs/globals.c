/* Every rank has its own variables: initialised, zero, pointers into them, thread-local, static, and its own
 * constructors and tables of functions. */
#include "check.h"

static int zero[1000], initialised[4] = {1, 2, 3, 4};
static int *inside = &initialised[2];
static _Thread_local int local = 7, local_zero;
static const char *const names[] = {"first", "second"};
const char *name = "first";
static int constructed;

__attribute__((constructor)) static void construct(void) { constructed += 1; }

static int plus(int a) { return a + 1; }
static int minus(int a) { return a - 1; }
static int (*table[2])(int) = {plus, minus};

static int calls(void) {
    static int count;
    return ++count;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(constructed == 1);
    CHECK(local == 7 && local_zero == 0 && zero[999] == 0);
    name = names[rank % 2];
    zero[999] = rank;
    *inside += rank;
    local += rank;
    local_zero = -rank;
    table[0] = rank % 2 ? minus : plus;
    for (int i = 0; i < rank; i++)
        calls();
    for (int round = 0; round < 3; round++)
        MPI_Barrier(MPI_COMM_WORLD);
    CHECK(zero[999] == rank && initialised[2] == 3 + rank && inside == &initialised[2]);
    CHECK(local == 7 + rank && local_zero == -rank);
    CHECK(name == names[rank % 2] && table[0](5) == (rank % 2 ? 4 : 6) && table[1](5) == 4);
    CHECK(calls() == rank + 1);
    printf("rank %d: %d %d %d %s\n", rank, zero[999], initialised[2], local, name);
    MPI_Finalize();
    return 0;
}
