/* Libraries that the program brings: each rank has its own of what they keep. */
#include "../check.h"

extern int count, *where;
extern __thread int of_thread;
int next(int by), twice(int by), thread_values(void), was_begun(void), call_back(int value);
const char *name(int i);

static int own;
int callback(int value) { return own += value; }

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(was_begun() == 1 && count == 5 && where == &count && of_thread == 7);
    for (int i = 1; i <= 3; i++) {
        CHECK(next(rank + 1) == (3 * i - 2) * (rank + 1));
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(twice(rank + 1) == 3 * i * (rank + 1));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(count == 5 + 9 * (rank + 1));
    CHECK(of_thread == 7 + 9 * (rank + 1) && thread_values() == of_thread * 100 + of_thread + 2);
    CHECK(call_back(rank) == rank + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(call_back(rank) == 2 * rank + 1);
    printf("rank %d %s\n", rank, name(rank));
    MPI_Finalize();
    return 0;
}
