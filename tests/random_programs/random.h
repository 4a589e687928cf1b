/* Functions of all random programs: buffers with known contents, notes of received data, and nine ways of completion.

   A program writes its notes into the file rank-N of the folder that is its first argument. A note holds nothing that the
   standard leaves open: data that wildcard receives took is added up, independent of its order. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COMMS = 24, MOST_REQUESTS = 128 };

static int rank, size;
static const char *folder;
static FILE *notes;
static MPI_Comm comms[MOST_COMMS];

static void begin(int *argc, char ***argv) {
    char name[4096];
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    folder = (*argv)[1];
    snprintf(name, sizeof name, "%s/rank-%d", folder, rank);
    notes = fopen(name, "w");
    setvbuf(notes, NULL, _IOLBF, 0);
}

static void start_program(int number) {
    for (int at = 0; at < MOST_COMMS; at++) comms[at] = MPI_COMM_NULL;
    comms[0] = MPI_COMM_WORLD;
    fprintf(notes, "program %d\n", number);
}

static void end_program(void) {
    for (int at = 1; at < MOST_COMMS; at++)
        if (comms[at] != MPI_COMM_NULL) MPI_Comm_free(&comms[at]);
}

/* The rank in a communicator, or -1 outside of it. */
static int place(int comm) {
    int at = -1;
    if (comms[comm] != MPI_COMM_NULL) MPI_Comm_rank(comms[comm], &at);
    return at;
}

static void note(const char *what, uint64_t value) {
    fprintf(notes, "%s %016llx\n", what, (unsigned long long)value);
}

/* FNV-1a. */
static uint64_t digest(const void *data, size_t bytes) {
    uint64_t hash = 0xcbf29ce484222325u;
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t mixed(uint64_t hash, int64_t value) {
    return (hash ^ (uint64_t)value) * 0x9e3779b97f4a7c15u + 0x7f4a7c15u;
}

/* A buffer whose contents follow from the key; it is never freed. */
static void *buffer(size_t bytes, uint32_t key) {
    unsigned char *data = malloc(bytes + 16);
    uint32_t state = key * 2654435761u + 12345u;
    for (size_t i = 0; i < bytes; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = (unsigned char)(state >> 24);
    }
    return data;
}

/* A buffer of small whole numbers, on which sums are exact in every type. */
static int *numbers(int count, uint32_t key) {
    int *data = malloc(sizeof(int) * (size_t)(count + 4));
    for (int i = 0; i < count; i++) data[i] = (int)((key * 31u + (uint32_t)i * 7u) % 97u) + 1;
    return data;
}


/* The count alone: the standard defines no more for files, and MPICH 4.0 does not always set more in a probe. */
static uint64_t count_of(const MPI_Status *status, MPI_Datatype type) {
    int count;
    MPI_Get_count(status, type, &count);
    return count == MPI_UNDEFINED ? UINT64_MAX : (uint64_t)count;
}

static uint64_t of_status(const MPI_Status *status, MPI_Datatype type) {
    int count, cancelled;
    MPI_Count elements;
    MPI_Get_count(status, type, &count);
    MPI_Get_elements_x(status, type, &elements);
    MPI_Test_cancelled(status, &cancelled);
    int source = status->MPI_SOURCE == MPI_PROC_NULL ? -100 : status->MPI_SOURCE;
    int tag = status->MPI_TAG == MPI_ANY_TAG ? -200 : status->MPI_TAG;
    uint64_t hash = mixed(mixed(7, source), tag);
    return mixed(mixed(mixed(hash, count == MPI_UNDEFINED ? -1 : count), (int64_t)elements), cancelled);
}

enum { WAIT, WAITALL, WAITANY, WAITSOME, TEST, TESTALL, TESTANY, TESTSOME, GET_STATUS };

static void complete_some(int how, int count, MPI_Request *requests, MPI_Status *statuses) {
    int left = count, done, indices[MOST_REQUESTS];
    MPI_Status some[MOST_REQUESTS];
    for (int at = 0; at < count; at++) left -= requests[at] == MPI_REQUEST_NULL;
    while (left > 0) {
        if (how == WAITANY || how == TESTANY) {
            int flag = 1;
            if (how == WAITANY) MPI_Waitany(count, requests, indices, some);
            else MPI_Testany(count, requests, indices, &flag, some);
            done = flag && indices[0] != MPI_UNDEFINED;
        } else if (how == WAITSOME) {
            MPI_Waitsome(count, requests, &done, indices, some);
        } else {
            MPI_Testsome(count, requests, &done, indices, some);
        }
        if (done == MPI_UNDEFINED) break;
        for (int at = 0; at < done; at++) statuses[indices[at]] = some[at];
        left -= done;
    }
}

/* Completes all requests in one of nine ways; statuses stand at the places of their requests. */
static void complete(int how, int count, MPI_Request *requests, MPI_Status *statuses) {
    int flag = 0;
    switch (how) {
    case WAIT:
        for (int at = 0; at < count; at++) MPI_Wait(&requests[at], &statuses[at]);
        break;
    case WAITALL:
        MPI_Waitall(count, requests, statuses);
        break;
    case TEST:
        for (int at = 0; at < count; at++)
            for (flag = 0; !flag;) MPI_Test(&requests[at], &flag, &statuses[at]);
        break;
    case TESTALL:
        while (!flag) MPI_Testall(count, requests, &flag, statuses);
        break;
    case GET_STATUS:
        for (int at = count - 1; at >= 0; at--) {
            for (flag = 0; !flag;) MPI_Request_get_status(requests[at], &flag, &statuses[at]);
            MPI_Wait(&requests[at], &statuses[at]);
        }
        break;
    default:
        complete_some(how, count, requests, statuses);
    }
}

/* A product of 2 x 2 matrices of numbers below 9973: associative, not commutative. */
static void product(void *in, void *inout, int *length, MPI_Datatype *type) {
    int *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *length; i++, a += 4, b += 4) {
        int c[4] = {(a[0] * b[0] + a[1] * b[2]) % 9973, (a[0] * b[1] + a[1] * b[3]) % 9973,
                    (a[2] * b[0] + a[3] * b[2]) % 9973, (a[2] * b[1] + a[3] * b[3]) % 9973};
        memcpy(b, c, sizeof c);
    }
}

/* The class of an error code, by its place in this list: libraries number classes differently. */
static uint64_t class_of(int code) {
    static const int classes[] = {MPI_SUCCESS,      MPI_ERR_BUFFER, MPI_ERR_COUNT,   MPI_ERR_TYPE,    MPI_ERR_TAG,
                                  MPI_ERR_COMM,     MPI_ERR_RANK,   MPI_ERR_REQUEST, MPI_ERR_ROOT,    MPI_ERR_GROUP,
                                  MPI_ERR_OP,       MPI_ERR_DIMS,   MPI_ERR_ARG,     MPI_ERR_TRUNCATE, MPI_ERR_TOPOLOGY,
                                  MPI_ERR_KEYVAL,   MPI_ERR_WIN,    MPI_ERR_DISP,    MPI_ERR_NO_SUCH_FILE,
                                  MPI_ERR_AMODE,    MPI_ERR_FILE,   MPI_ERR_PENDING};
    int class;
    MPI_Error_class(code, &class);
    for (uint64_t at = 0; at < sizeof classes / sizeof *classes; at++)
        if (classes[at] == class) return at;
    return 1000;
}
