/* A message that passes round a ring of all ranks while those that wait make a load: each rank sends to the next one and
 * gets the message back, then it is the next one's turn.
 *
 *   ring --design FILE --out DIR [--background none|kernel|probe|both]
 *
 * Lines of the design are `Ring,BYTES`: one round of the ring each. Ranks that wait poll MPI_Iprobe (probe), multiply
 * matrices between polls (both, kernel: ten for a poll), or sleep between polls (none).
 * Rank 0 writes DIR/ring.csv: `function,rank,size,op_id,timestamp,duration`, MPI_Send and MPI_Recv of each pair; and
 * DIR/load.csv, what ranks did as they waited. */
#include "common.h"
#include "load.h"

#define TAG 1
#define SIZES_MOST 1000000

struct row {
    double start, duration;
};

struct run {
    int rank, ranks, count;
    int *sizes;
    char *buffer;
    double begun;
    enum load load;
    struct load_done done;
    struct row *rows; /* four for each round: send and receive to the right, receive and send to the left */
};

static int read_design(const char *name, int *sizes) {
    FILE *file = opened(name, "r");
    int count = 0, fields;
    char kind[32];
    while ((fields = fscanf(file, " %31[^,],%d", kind, &sizes[count])) == 2) {
        if (strcmp(kind, "Ring") || sizes[count] < 0)
            fail("%s:%d: '%s,%d' is no measurement of a ring: lines 'Ring,BYTES'", name, count + 1, kind, sizes[count]);
        if (++count == SIZES_MOST)
            fail("%s: more than %d lines", name, SIZES_MOST);
    }
    if (fields != EOF || !count)
        fail("%s:%d: no line 'Ring,BYTES'", name, count + 1);
    fclose(file);
    return count;
}

static void wait_for(struct run *run, int left) {
    double begun = MPI_Wtime();
    int there = 0;
    while (!there) {
        int kernels = run->load == LOAD_BOTH ? 1 : run->load == LOAD_KERNEL ? 10 : 0;
        for (int i = 0; i < kernels; i++)
            load_kernel(&run->done);
        if (run->load == LOAD_NONE)
            pause_for(1e-4);
        MPI_Iprobe(left, TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        run->done.polls++;
    }
    run->done.seconds += MPI_Wtime() - begun;
}

static void timed(const struct run *run, struct row *row, int sends, int peer, int size) {
    double start = MPI_Wtime();
    if (sends)
        MPI_Send(run->buffer, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(run->buffer, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    row->start = start - run->begun;
    row->duration = MPI_Wtime() - start;
}

static void go_round(struct run *run, int round) {
    int size = run->sizes[round], right = (run->rank + 1) % run->ranks, left = (run->rank + run->ranks - 1) % run->ranks;
    struct row *rows = run->rows + 4 * (size_t)round;
    for (int side = 0; side < 2; side++) {
        int to_the_right = (run->rank == 0) == (side == 0);
        if (to_the_right) {
            timed(run, &rows[0], 1, right, size);
            timed(run, &rows[1], 0, right, size);
        } else {
            wait_for(run, left);
            timed(run, &rows[2], 0, left, size);
            timed(run, &rows[3], 1, left, size);
        }
    }
}

static void write_rows(const struct run *run, const char *folder) {
    char path[4096];
    size_t bytes = 4 * (size_t)run->count * sizeof(struct row);
    struct row *rows = allocated(bytes);
    snprintf(path, sizeof path, "%s/ring.csv", folder);
    FILE *file = opened(path, "w");
    fputs("function,rank,size,op_id,timestamp,duration\n", file);
    for (int rank = 0; rank < run->ranks; rank++) {
        if (rank)
            MPI_Recv(rows, (int)bytes, MPI_BYTE, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            memcpy(rows, run->rows, bytes);
        for (int i = 0; i < 4 * run->count; i++)
            fprintf(file, "%s,%d,%d,%d,%.9f,%.9e\n", i % 4 == 0 || i % 4 == 3 ? "MPI_Send" : "MPI_Recv", rank,
                    run->sizes[i / 4], i / 4, rows[i].start, rows[i].duration);
    }
    closed(file);
    free(rows);
}

int main(int count, char **words) {
    struct run run = {.done = {0, 0, 0}};
    int longest = 1;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    check_flags(count, words, " --design --out --background ");
    const char *design = value_of(count, words, "--design", NULL), *folder = value_of(count, words, "--out", NULL);
    run.load = load_named(value_of(count, words, "--background", "probe"));
    if (!design || !folder || run.load == LOAD_UNKNOWN || run.ranks < 2)
        fail("usage: ring --design FILE --out DIR [--background none|kernel|probe|both], on 2 ranks at least");
    run.sizes = allocated(SIZES_MOST * sizeof(int));
    if (run.rank == 0)
        run.count = read_design(design, run.sizes);
    MPI_Bcast(&run.count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(run.sizes, run.count, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < run.count; i++)
        longest = run.sizes[i] > longest ? run.sizes[i] : longest;
    run.buffer = allocated((size_t)longest);
    memset(run.buffer, 1, (size_t)longest);
    run.rows = allocated(4 * (size_t)run.count * sizeof *run.rows);
    MPI_Barrier(MPI_COMM_WORLD);
    run.begun = MPI_Wtime();
    for (int round = 0; round < run.count; round++)
        go_round(&run, round);
    if (run.rank == 0)
        write_rows(&run, folder);
    else
        MPI_Send(run.rows, (int)(4 * (size_t)run.count * sizeof *run.rows), MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    write_load(folder, run.done);
    free(run.rows);
    free(run.buffer);
    free(run.sizes);
    MPI_Finalize();
    return 0;
}
