/* Pairs of processes that exchange long messages at once, one pair more at a time: does the network between carry them all?
 *
 *   saturation --out DIR [--bytes N] [--repetitions R]
 *
 * Ranks 0 to P/2 - 1 are one side, the others the other: start one process on each host. With 1 to P/2 pairs at once
 * (load_sendrecv_diff: 2, 4, …):
 *
 *   load_send           MPI_Send to the partner of the other side
 *   load_sendrecv_same  MPI_Sendrecv with that partner: are links full duplex?
 *   load_sendrecv_diff  MPI_Sendrecv to that partner, from the neighbour's partner, in groups of two pairs
 *   load_alltoall       MPI_Alltoall of 2, 4, … ranks, a tenth of the repetitions
 *
 * Rank 0 writes DIR/load_*.csv, lines `rank,function,bytes,start,duration` in milliseconds, rank by rank, as SimGrid's
 * calibration does; a rank has rows of all steps in which it takes part. */
#include "common.h"

#define TAG 1

struct rows {
    long count;
    double *values; /* start and duration */
};

struct run {
    int rank, ranks, half, bytes, repetitions;
    double begun;
    char *out, *in;
    struct rows rows;
};

static void note(struct run *run, double start) {
    run->rows.values[2 * run->rows.count] = start - run->begun;
    run->rows.values[2 * run->rows.count + 1] = MPI_Wtime() - start;
    run->rows.count++;
}

static int partner_of(const struct run *run, int rank) {
    return rank < run->half ? rank + run->half : rank - run->half;
}

static void send(struct run *run, int active) {
    int place = run->rank % run->half, peer = partner_of(run, run->rank);
    for (int i = 0; place < active && run->rank < 2 * run->half && i < run->repetitions; i++) {
        double start = MPI_Wtime();
        if (run->rank < run->half)
            MPI_Send(run->out, run->bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
        else
            MPI_Recv(run->in, run->bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        note(run, start);
    }
}

/* With one partner, or to one and from another: those of the first side send straight across, the others aside. */
static void exchange(struct run *run, int active, int different) {
    int place = run->rank % run->half, across = partner_of(run, run->rank), aside = place % 2 ? across - 1 : across + 1;
    int to = different && run->rank >= run->half ? aside : across;
    int from = different && run->rank < run->half ? aside : across;
    for (int i = 0; place < active && run->rank < 2 * run->half && i < run->repetitions; i++) {
        double start = MPI_Wtime();
        MPI_Sendrecv(run->out, run->bytes, MPI_BYTE, to, TAG, run->in, run->bytes, MPI_BYTE, from, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        note(run, start);
    }
}

static void all_to_all(struct run *run, int active) {
    MPI_Comm some;
    MPI_Comm_split(MPI_COMM_WORLD, run->rank < active ? 0 : MPI_UNDEFINED, run->rank, &some);
    if (some == MPI_COMM_NULL)
        return;
    for (int i = 0; i < (run->repetitions + 9) / 10; i++) {
        double start = MPI_Wtime();
        MPI_Alltoall(run->out, run->bytes / active, MPI_BYTE, run->in, run->bytes / active, MPI_BYTE, some);
        note(run, start);
    }
    MPI_Comm_free(&some);
}

/* Rows of all ranks, rank by rank. */
static void write_rows(struct run *run, const char *folder, const char *name, const char *function) {
    char path[4096];
    FILE *file = NULL;
    if (run->rank) {
        MPI_Send(run->rows.values, (int)(2 * run->rows.count), MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD);
        return;
    }
    snprintf(path, sizeof path, "%s/%s.csv", folder, name);
    file = opened(path, "w");
    for (int rank = 0; rank < run->ranks; rank++) {
        MPI_Status status;
        int count = (int)(2 * run->rows.count);
        double *values = run->rows.values;
        if (rank) {
            MPI_Probe(rank, TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_DOUBLE, &count);
            values = allocated((size_t)count * sizeof *values);
            MPI_Recv(values, count, MPI_DOUBLE, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < count; i += 2)
            fprintf(file, "%d,%s,%d,%.6f,%.6e\n", rank, function, run->bytes, values[i] * 1e3, values[i + 1] * 1e3);
        if (rank)
            free(values);
    }
    closed(file);
}

static void run_test(struct run *run, const char *folder, const char *name) {
    int diff = !strcmp(name, "load_sendrecv_diff"), all = !strcmp(name, "load_alltoall"), step = diff || all ? 2 : 1;
    run->rows.count = 0;
    for (int active = step; active <= (all ? run->ranks : run->half); active += step) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (all)
            all_to_all(run, active);
        else if (!strcmp(name, "load_send"))
            send(run, active);
        else
            exchange(run, active, diff);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    write_rows(run, folder, name, all ? "MPI_Alltoall" : !strcmp(name, "load_send") ? "MPI_Send" : "MPI_Sendrecv");
}

int main(int count, char **words) {
    struct run run;
    static const char *const names[] = {"load_send", "load_sendrecv_same", "load_sendrecv_diff", "load_alltoall"};
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    check_flags(count, words, " --out --bytes --repetitions ");
    const char *folder = value_of(count, words, "--out", ".");
    run.bytes = atoi(value_of(count, words, "--bytes", "4000000"));
    run.repetitions = atoi(value_of(count, words, "--repetitions", "50"));
    run.half = run.ranks / 2;
    if (run.half < 1 || run.bytes < run.ranks || run.repetitions < 1)
        fail("usage: saturation --out DIR [--bytes N] [--repetitions R]: on 2 ranks at least, with a byte for each of them");
    run.out = allocated((size_t)run.bytes);
    run.in = allocated((size_t)run.bytes);
    memset(run.out, 1, (size_t)run.bytes);
    memset(run.in, 0, (size_t)run.bytes);
    run.rows.values = allocated((size_t)run.half * (size_t)run.repetitions * 2 * sizeof(double));
    MPI_Barrier(MPI_COMM_WORLD);
    run.begun = MPI_Wtime();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        run_test(&run, folder, names[i]);
    free(run.rows.values);
    free(run.out);
    free(run.in);
    MPI_Finalize();
    return 0;
}
