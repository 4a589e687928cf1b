/* Times of MPI calls between two processes, measurement by measurement in the order of a design.
 *
 *   network --design FILE --out DIR [--name NAME] [--partner RANK] [--from N] [--seconds-before S] [--background none]
 *
 * A line of the design is `KIND,BYTES`:
 *
 *   Recv      MPI_Recv of a message that has come: the receiver sleeps one round trip first
 *   Isend     the call MPI_Isend alone, to a receive that is posted
 *   PingPong  MPI_Send, and MPI_Recv of the answer; their durations add up to the round trip
 *   Wtime     10,000,000 calls of MPI_Wtime together
 *   Iprobe    every poll for a message, until it is there
 *   Test      every poll of a receive, until it is done
 *   Memory    memcpy and memset
 *
 * Rank 0 measures with its own clock and writes DIR/NAME_KIND.csv, lines `function,bytes,start,duration` in seconds
 * without a header, as SimGrid's calibration does. All other ranks but the partner make the background's load, and
 * DIR/load.csv has what they did.
 *
 * Source of the procedure: Cornebize et al., github.com/Ezibenroc/platform-calibration. */
#include "common.h"
#include "journal.h"
#include "load.h"

#define WTIME_CALLS 10000000
#define WTIME_BLOCK 500
#define POLLS_WRITTEN_MOST 1000 /* of one measurement: the rest of a long wait says nothing more */

enum { READY = 1, DATA = 2, ANSWER = 3 };
enum kind { RECV, ISEND, PINGPONG, WTIME, IPROBE, TEST, MEMORY, KINDS };
static const char *const NAMES[KINDS] = {"Recv", "Isend", "PingPong", "Wtime", "Iprobe", "Test", "Memory"};

struct design {
    long count;
    int *kinds;
    int *sizes;
};

struct run {
    struct design design;
    struct journal journal;
    FILE *files[KINDS];
    char *buffer, *second;
    int partner;
};

static int kind_named(const char *name) {
    int kind = 0;
    while (kind < KINDS && strcmp(name, NAMES[kind]))
        kind++;
    return kind;
}

static struct design read_design(const char *name) {
    FILE *file = opened(name, "r");
    char kind[32];
    long size, room = 1024;
    struct design design = {0, allocated(1024 * sizeof(int)), allocated(1024 * sizeof(int))};
    int fields;
    while ((fields = fscanf(file, " %31[^,],%ld", kind, &size)) == 2) {
        if (kind_named(kind) == KINDS || size < 0 || size > 2147483647)
            fail("%s:%ld: '%s,%ld' is no measurement", name, design.count + 1, kind, size);
        if (design.count == room) {
            room *= 2;
            design.kinds = realloc(design.kinds, (size_t)room * sizeof(int));
            design.sizes = realloc(design.sizes, (size_t)room * sizeof(int));
            if (!design.kinds || !design.sizes)
                fail("%s: too long for the memory there is", name);
        }
        design.kinds[design.count] = kind_named(kind);
        design.sizes[design.count++] = (int)size;
    }
    if (fields != EOF || !design.count)
        fail("%s:%ld: no measurement 'KIND,BYTES'", name, design.count + 1);
    fclose(file);
    return design;
}

/* Rank 0 reads the design and tells its partner, which may have no such file. */
static struct design share_design(const char *name, int rank, int partner) {
    struct design design;
    MPI_Status status;
    int count;
    if (rank == 0) {
        design = read_design(name);
        if (design.count > 2147483647)
            fail("%s: more measurements than MPI counts", name);
        MPI_Send(design.kinds, (int)design.count, MPI_INT, partner, READY, MPI_COMM_WORLD);
        MPI_Send(design.sizes, (int)design.count, MPI_INT, partner, READY, MPI_COMM_WORLD);
        return design;
    }
    MPI_Probe(0, READY, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    design.count = count;
    design.kinds = allocated((size_t)count * sizeof(int));
    design.sizes = allocated((size_t)count * sizeof(int));
    MPI_Recv(design.kinds, count, MPI_INT, 0, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(design.sizes, count, MPI_INT, 0, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return design;
}

static void note(struct run *run, enum kind kind, const char *function, int size, double start, double duration) {
    fprintf(run->files[kind], "%s,%d,%.9f,%.9e\n", function, size, start - run->journal.begun, duration);
}

static void send_to(int peer, void *buffer, int size, int tag) {
    MPI_Send(buffer, size, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
}

static void receive_from(int peer, void *buffer, int size, int tag) {
    MPI_Recv(buffer, size, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void measure_receive(struct run *run, int size) {
    double start = MPI_Wtime();
    send_to(run->partner, run->buffer, size, DATA);
    receive_from(run->partner, run->buffer, size, ANSWER);
    pause_for(MPI_Wtime() - start);
    start = MPI_Wtime();
    receive_from(run->partner, run->buffer, size, DATA);
    note(run, RECV, "MPI_Recv", size, start, MPI_Wtime() - start);
}

static void measure_isend(struct run *run, int size) {
    MPI_Request request;
    receive_from(run->partner, NULL, 0, READY);
    double start = MPI_Wtime();
    MPI_Isend(run->buffer, size, MPI_BYTE, run->partner, DATA, MPI_COMM_WORLD, &request);
    double end = MPI_Wtime();
    receive_from(run->partner, NULL, 0, ANSWER);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    note(run, ISEND, "MPI_Isend", size, start, end - start);
}

static void measure_ping_pong(struct run *run, int size) {
    receive_from(run->partner, NULL, 0, READY);
    double start = MPI_Wtime();
    send_to(run->partner, run->buffer, size, DATA);
    double sent = MPI_Wtime();
    receive_from(run->partner, run->buffer, size, ANSWER);
    double end = MPI_Wtime();
    note(run, PINGPONG, "MPI_Send", size, start, sent - start);
    note(run, PINGPONG, "MPI_Recv", size, start, end - sent);
}

/* In blocks with another call between them, since a simulator takes a long loop of looks for one that waits. */
static void measure_wtime(struct run *run) {
    double first = MPI_Wtime(), total = 0;
    for (int block = 0; block < WTIME_CALLS / WTIME_BLOCK; block++) {
        int found;
        MPI_Iprobe(run->partner, DATA, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        double start = MPI_Wtime();
        for (int call = 1; call < WTIME_BLOCK; call++)
            MPI_Wtime();
        total += MPI_Wtime() - start;
    }
    note(run, WTIME, "MPI_Wtime", 0, first, total);
}

static void measure_polls(struct run *run, enum kind kind, int size) {
    MPI_Request request = MPI_REQUEST_NULL;
    int done = 0;
    if (kind == TEST)
        MPI_Irecv(run->buffer, size, MPI_BYTE, run->partner, DATA, MPI_COMM_WORLD, &request);
    send_to(run->partner, NULL, 0, READY);
    for (long poll = 0; !done; poll++) {
        double start = MPI_Wtime();
        if (kind == TEST)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        else
            MPI_Iprobe(run->partner, DATA, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
        double end = MPI_Wtime();
        if (poll < POLLS_WRITTEN_MOST || done)
            note(run, kind, kind == TEST ? "MPI_Test" : "MPI_Iprobe", size, start, end - start);
    }
    if (kind == IPROBE)
        receive_from(run->partner, run->buffer, size, DATA);
}

static void measure_memory(struct run *run, int size) {
    double start = MPI_Wtime();
    memcpy(run->second, run->buffer, (size_t)size);
    double copied = MPI_Wtime();
    memset(run->second, 1, (size_t)size);
    double set = MPI_Wtime();
    note(run, MEMORY, "memcpy", size, start, copied - start);
    note(run, MEMORY, "memset", size, copied, set - copied);
    /* So that no compiler leaves them out. */
    if (size && *(volatile char *)&run->second[size - 1] != 1)
        fail("memory does not hold what was written");
}

static void measure(struct run *run, int kind, int size) {
    switch (kind) {
    case RECV: measure_receive(run, size); break;
    case ISEND: measure_isend(run, size); break;
    case PINGPONG: measure_ping_pong(run, size); break;
    case WTIME: measure_wtime(run); break;
    case MEMORY: measure_memory(run, size); break;
    default: measure_polls(run, (enum kind)kind, size);
    }
}

/* The partner's side of a measurement. */
static void answer(struct run *run, int kind, int size) {
    switch (kind) {
    case RECV:
        receive_from(0, run->buffer, size, DATA);
        send_to(0, run->buffer, size, ANSWER);
        send_to(0, run->buffer, size, DATA);
        break;
    case ISEND:
    case PINGPONG:
        send_to(0, NULL, 0, READY);
        receive_from(0, run->buffer, size, DATA);
        send_to(0, run->buffer, kind == ISEND ? 0 : size, ANSWER);
        break;
    case IPROBE:
    case TEST:
        receive_from(0, NULL, 0, READY);
        send_to(0, run->buffer, size, DATA);
        break;
    default:; /* rank 0's alone */
    }
}

/* Buffers of random contents, touched, so that no measurement meets new pages. */
static void make_buffers(struct run *run, int rank) {
    size_t longest = 1;
    for (long i = 0; i < run->design.count; i++)
        if ((size_t)run->design.sizes[i] > longest)
            longest = (size_t)run->design.sizes[i];
    run->buffer = allocated(longest);
    run->second = allocated(rank == 0 ? longest : 1);
    for (size_t i = 0; i < longest; i += sizeof(int)) {
        int word = rand();
        memcpy(run->buffer + i, &word, longest - i < sizeof word ? longest - i : sizeof word);
    }
    if (rank == 0)
        memset(run->second, 0, longest);
}

/* Calls of each kind before the first measurement: connections are made, and code is loaded. */
static void warm_up(struct run *run, int rank) {
    for (int i = 0; i < 10; i++)
        if (rank == 0) {
            send_to(run->partner, run->buffer, 1, DATA);
            receive_from(run->partner, run->buffer, 1, DATA);
        } else {
            receive_from(0, run->buffer, 1, DATA);
            send_to(0, run->buffer, 1, DATA);
        }
}

static void measure_all(struct run *run, const char *folder, const char *name, long from, double seconds_before) {
    char file[1024];
    journal_open(&run->journal, folder, seconds_before);
    for (int kind = 0; kind < KINDS; kind++) {
        snprintf(file, sizeof file, "%s_%s.csv", name, NAMES[kind]);
        run->files[kind] = journal_file(&run->journal, folder, file);
    }
    for (long i = from; i < run->design.count; i++) {
        measure(run, run->design.kinds[i], run->design.sizes[i]);
        journal_tick(&run->journal, i + 1);
    }
    journal_write(&run->journal, run->design.count);
    journal_close(&run->journal);
}

int main(int count, char **words) {
    int rank, ranks;
    struct run run;
    struct load_done done = {0, 0, 0};
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *design = value_of(count, words, "--design", NULL), *folder = value_of(count, words, "--out", NULL);
    enum load load = load_named(value_of(count, words, "--background", "none"));
    long from = atol(value_of(count, words, "--from", "0"));
    run.partner = atoi(value_of(count, words, "--partner", "1"));
    if (!design || !folder || load == LOAD_UNKNOWN)
        fail("usage: network --design FILE --out DIR [--partner RANK] [--background none|kernel|probe|both]");
    if (run.partner < 1 || run.partner >= ranks)
        fail("rank %d as partner: there are %d ranks, and rank 0 measures", run.partner, ranks);
    if (rank == 0 || rank == run.partner) {
        run.design = share_design(design, rank, run.partner);
        make_buffers(&run, rank);
        warm_up(&run, rank);
        if (rank == 0) {
            measure_all(&run, folder, value_of(count, words, "--name", "network"), from,
                        atof(value_of(count, words, "--seconds-before", "0")));
            stop_load(run.partner);
        } else {
            for (long i = from; i < run.design.count; i++)
                answer(&run, run.design.kinds[i], run.design.sizes[i]);
        }
        free(run.buffer);
        free(run.second);
        free(run.design.kinds);
        free(run.design.sizes);
    } else {
        done = make_load(load);
    }
    write_load(folder, done);
    MPI_Finalize();
    return 0;
}
