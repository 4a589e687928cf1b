/* One-sided communication: windows of all kinds, all synchronisations, all operations, with checks of the data. */
#include "check.h"

static int left, right;

static void fences(void) {
    enum { N = 1000 };
    int *memory, *out = malloc(N * sizeof *out), *in = malloc(N * sizeof *in), *of, flag;
    MPI_Win win;
    memory = malloc(2 * N * sizeof *memory);
    MPI_Win_create(memory, 2 * N * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int i = 0; i < N; i++)
        out[i] = rank * N + i, memory[i] = -1, memory[N + i] = rank + i;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(out, N, MPI_INT, right, 0, N, MPI_INT, win);
    MPI_Get(in, N, MPI_INT, left, N, N, MPI_INT, win);
    MPI_Put(out, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < N; i++)
        CHECK(memory[i] == left * N + i && in[i] == left + i);
    /* Every rank adds to the same places of rank 0. */
    MPI_Win_fence(0, win);
    if (rank == 0)
        memset(memory, 0, N * sizeof *memory);
    MPI_Win_fence(0, win);
    MPI_Accumulate(out, N, MPI_INT, 0, 0, N, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    if (rank == 0)
        for (int i = 0; i < N; i++)
            CHECK(memory[i] == size * (size - 1) / 2 * N + size * i);
    /* A column of a matrix of 10 by 10 into a row. */
    MPI_Datatype column;
    MPI_Type_vector(10, 1, 10, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Win_fence(0, win);
    MPI_Put(out + 3, 1, column, right, 20, 10, MPI_INT, win);
    MPI_Put(out, 10, MPI_INT, right, 105, 1, column, win);
    MPI_Type_free(&column);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int i = 0; i < 10; i++)
        CHECK(memory[20 + i] == left * N + 3 + 10 * i && memory[105 + 10 * i] == left * N + i);
    MPI_Win_get_attr(win, MPI_WIN_BASE, &of, &flag);
    CHECK(flag && of == memory);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &of, &flag);
    CHECK(flag && *of == sizeof(int));
    MPI_Aint *length;
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &length, &flag);
    CHECK(flag && *length == 2 * N * (MPI_Aint)sizeof(int));
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &of, &flag);
    CHECK(flag && *of == MPI_WIN_FLAVOR_CREATE);
    char name[MPI_MAX_OBJECT_NAME];
    int characters;
    MPI_Win_set_name(win, "a window");
    MPI_Win_get_name(win, name, &characters);
    CHECK(characters == 8 && !strcmp(name, "a window"));
    MPI_Group group;
    MPI_Win_get_group(win, &group);
    MPI_Group_size(group, &characters);
    CHECK(characters == size);
    MPI_Group_free(&group);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL);
    free(memory), free(out), free(in);
}

static void locks(void) {
    long *memory, old, mine = rank + 1, zero = 0, none = -1, big[3] = {rank, rank, rank};
    MPI_Win win;
    MPI_Win_allocate(16 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    for (int i = 0; i < 16; i++)
        memory[i] = i == 3 ? 1 : 0;
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Reading, adding one and writing back, under a lock of one rank at a time. */
    for (int round = 0; round < 5; round++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&old, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        old++;
        MPI_Put(&old, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Win_lock_all(0, win);
    MPI_Fetch_and_op(&mine, &old, MPI_LONG, 0, 1, MPI_SUM, win);
    MPI_Win_flush_local(0, win);
    CHECK(old >= 0 && old <= (long)size * (size + 1) / 2 - mine);
    MPI_Accumulate(&mine, 1, MPI_LONG, 0, 2, 1, MPI_LONG, MPI_MAX, win);
    MPI_Accumulate(&mine, 1, MPI_LONG, 0, 3, 1, MPI_LONG, MPI_PROD, win);
    do {
        MPI_Compare_and_swap(&mine, &zero, &old, MPI_LONG, 0, 4, win);
        MPI_Win_flush(0, win);
    } while (old != 0 && old != mine && size == 1);
    MPI_Get_accumulate(big, 3, MPI_LONG, big, 3, MPI_LONG, right, 8, 3, MPI_LONG, MPI_NO_OP, win);
    MPI_Win_flush_all(win);
    CHECK(big[0] == 0 && big[2] == 0);
    MPI_Win_sync(win);
    MPI_Accumulate(&mine, 1, MPI_LONG, right, 9, 1, MPI_LONG, MPI_REPLACE, win);
    MPI_Win_flush_local_all(win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    long seen[5];
    MPI_Request requests[2];
    MPI_Rget(seen, 5, MPI_LONG, 0, 0, 5, MPI_LONG, win, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Win_unlock(0, win);
    long product = 1;
    for (int i = 1; i <= size; i++)
        product *= i;
    CHECK(seen[0] == 5L * size && seen[1] == (long)size * (size + 1) / 2 && seen[2] == size);
    CHECK(seen[3] == product && seen[4] >= 1 && seen[4] <= size);
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    MPI_Rput(&mine, 1, MPI_LONG, right, 12, 1, MPI_LONG, win, &requests[0]);
    MPI_Raccumulate(&mine, 1, MPI_LONG, right, 13, 1, MPI_LONG, MPI_SUM, win, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Rget_accumulate(&mine, 1, MPI_LONG, &none, 1, MPI_LONG, right, 14, 1, MPI_LONG, MPI_SUM, win, &requests[0]);
    MPI_Win_unlock(right, win);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK(none == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK(memory[9] == left + 1 && memory[12] == left + 1 && memory[13] == left + 1 && memory[14] == left + 1);
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
}

static void posts(void) {
    double memory[4] = {-1, -1, -1, -1}, out[2] = {rank + 0.5, rank + 0.25};
    int neighbours[2] = {left, right}, count = left == right ? 1 : 2, flag;
    MPI_Win win;
    MPI_Group all, others;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, count, neighbours, &others);
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int round = 0; round < 3; round++) {
        MPI_Win_post(others, 0, win);
        MPI_Win_start(others, 0, win);
        MPI_Put(&out[0], 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, win);
        MPI_Put(&out[1], 1, MPI_DOUBLE, left, 8, 1, MPI_DOUBLE, win);
        MPI_Win_complete(win);
        if (round == 1)
            for (flag = 0; !flag;)
                MPI_Win_test(win, &flag);
        else
            MPI_Win_wait(win);
        CHECK(memory[0] == left + 0.5 + round && memory[1] == right + 0.25 + round);
        out[0] += 1, out[1] += 1;
    }
    MPI_Win_free(&win);
    MPI_Group_free(&all), MPI_Group_free(&others);
}

static void dynamic(void) {
    int memory[8] = {0}, values[2] = {rank + 10, rank + 20};
    MPI_Aint here, there;
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    /* In two pieces, which one access may reach both of. */
    MPI_Win_attach(win, memory, 3 * sizeof *memory);
    MPI_Win_attach(win, memory + 3, 5 * sizeof *memory);
    MPI_Get_address(&memory[2], &here);
    MPI_Sendrecv(&here, 1, MPI_AINT, left, 0, &there, 1, MPI_AINT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    MPI_Put(values, 2, MPI_INT, right, there, 2, MPI_INT, win);
    MPI_Win_unlock(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(memory[2] == left + 10 && memory[3] == left + 20 && memory[1] == 0 && memory[4] == 0);
    MPI_Win_detach(win, memory);
    MPI_Win_detach(win, memory + 3);
    MPI_Win_free(&win);
}

static void shared(void) {
    MPI_Comm host;
    int place, count, unit, *mine, *theirs;
    MPI_Aint bytes;
    MPI_Win win;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &place);
    MPI_Comm_size(host, &count);
    MPI_Win_allocate_shared(4 * sizeof *mine, sizeof *mine, MPI_INFO_NULL, host, &mine, &win);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int i = 0; i < 4; i++)
        mine[i] = 100 * place + i;
    MPI_Win_sync(win);
    MPI_Barrier(host);
    MPI_Win_sync(win);
    for (int other = 0; other < count; other++) {
        MPI_Win_shared_query(win, other, &bytes, &unit, &theirs);
        CHECK(bytes == 16 && unit == 4 && theirs[3] == 100 * other + 3);
    }
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &theirs);
    CHECK(theirs[0] == 0 && theirs[4 * place] == mine[0]);
    MPI_Barrier(host);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Comm_free(&host);
}

#if MPI_VERSION >= 5
static void expect(int code, int wanted) {
    int class;
    MPI_Error_class(code, &class);
    CHECK(class == wanted);
}

static void mistakes(void) {
    int memory[4] = {0}, value = 1;
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    expect(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    expect(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
    expect(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    expect(MPI_Win_lock(12345, 0, 0, win), MPI_ERR_LOCKTYPE);
    MPI_Win_fence(0, win);
    expect(MPI_Put(&value, 1, MPI_INT, size, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    expect(MPI_Put(&value, -1, MPI_INT, right, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
    expect(MPI_Accumulate(&value, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_OP_NULL, win), MPI_ERR_OP);
    expect(MPI_Put(&value, 1, MPI_INT, right, 4, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    expect(MPI_Put(&value, 1, MPI_INT, right, -1, 1, MPI_INT, win), MPI_ERR_DISP);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}
#else
static void mistakes(void) {}
#endif

int main(int argc, char **argv) {
    begin(&argc, &argv);
    right = (rank + 1) % size, left = (rank + size - 1) % size;
    void (*all[])(void) = {fences, locks, posts, dynamic, shared, mistakes};
    const char *names[] = {"fences", "locks", "posts", "dynamic", "shared", "mistakes"};
    for (int i = 0; i < (int)(sizeof all / sizeof *all); i++) {
        all[i]();
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            printf("%s\n", names[i]);
    }
    MPI_Finalize();
    return 0;
}
