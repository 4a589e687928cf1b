/* What is known of handles while a program is recorded: communicators and requests have numbers here, and what a call
 * did is told to the recorder in those. The wrappers of the functions themselves are generated (wrappers.py) and come
 * after this text, in the same file: each calls the PMPI_ function, and then one of the `seen_` functions below.
 *
 * A number is the lowest that is free, so that iterations of a loop look alike. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#include "record.h"

#ifndef MPI_COUNT
#define MPI_COUNT MPI_LONG_LONG
#endif

static pthread_mutex_t recording = PTHREAD_MUTEX_INITIALIZER;
static int live;                /* from MPI_Init to MPI_Finalize */
static __thread int inside;     /* calls that the library makes of itself are its own affair */
static uint64_t origin_ns;
static pid_t owner; /* a child that a program forks does not record */

static uint64_t clock_ns(clockid_t which) {
    struct timespec now;
    clock_gettime(which, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* When the clock of calls stands at 0 [ns since 1970]: the best of some readings, as a process may be stopped between two. */
static uint64_t origin_unix_ns(void) {
    uint64_t shortest = UINT64_MAX, found = 0;
    for (int reading = 0; reading < 5; reading++) {
        uint64_t before = clock_ns(CLOCK_MONOTONIC), unix_ns = clock_ns(CLOCK_REALTIME);
        uint64_t took = clock_ns(CLOCK_MONOTONIC) - before;
        if (took < shortest) {
            shortest = took;
            found = unix_ns - took / 2 - (before - origin_ns);
        }
    }
    return found;
}

static uint64_t now_ns(void) { return clock_ns(CLOCK_MONOTONIC) - origin_ns; }

static void *memory(void *old, size_t bytes) {
    void *new = realloc(old, bytes ? bytes : 1);
    if (!new) {
        fprintf(stderr, "hopcast trace: out of memory\n");
        abort();
    }
    return new;
}

/* Handles are integers or pointers. */
#define KEY(handle) ((uintptr_t)(handle))

/* -- communicators ------------------------------------------------------------------------------------------- */

struct comm { uintptr_t key; uint32_t number; const MPI_Comm *pending; };
static struct comm *comms;
static uint32_t comms_held, comms_room, comms_made;

static uint32_t comm_add(uintptr_t key, const MPI_Comm *pending) {
    if (comms_held == comms_room) {
        comms_room = comms_room ? 2 * comms_room : 16;
        comms = memory(comms, comms_room * sizeof *comms);
    }
    comms[comms_held++] = (struct comm){key, comms_made, pending};
    return comms_made++;
}

static uint32_t comm_number(MPI_Comm comm) {
    for (uint32_t at = comms_held; at-- > 0;) {
        if (comms[at].key == KEY(comm)) return comms[at].number;
    }
    /* One of MPI_Comm_idup, whose handle was not there when it was called. */
    for (uint32_t at = comms_held; at-- > 0;) {
        if (comms[at].pending && KEY(*comms[at].pending) == KEY(comm)) {
            comms[at].key = KEY(comm);
            comms[at].pending = NULL;
            return comms[at].number;
        }
    }
    return 0;
}

static void comm_remove(uint32_t number) {
    for (uint32_t at = comms_held; at-- > 0;) {
        if (comms[at].number == number) {
            memmove(comms + at, comms + at + 1, (comms_held - at - 1) * sizeof *comms);
            comms_held--;
            return;
        }
    }
}

/* The members of a group as ranks of `in`; -1 for those outside. */
static int *ranks_in(MPI_Group group, MPI_Group in, int *count) {
    PMPI_Group_size(group, count);
    int *own = memory(NULL, (size_t)*count * sizeof *own), *there = memory(NULL, (size_t)*count * sizeof *there);
    for (int rank = 0; rank < *count; rank++) own[rank] = rank;
    PMPI_Group_translate_ranks(group, *count, own, in, there);
    free(own);
    return there;
}

static int *members_of(MPI_Comm comm, int remote, MPI_Comm in, int *count) {
    MPI_Group group, in_group;
    if (remote) PMPI_Comm_remote_group(comm, &group);
    else PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(in, &in_group);
    int *members = ranks_in(group, in_group, count);
    PMPI_Group_free(&group);
    PMPI_Group_free(&in_group);
    return members;
}

static int is_inter(MPI_Comm comm) {
    int inter = 0;
    if (comm != MPI_COMM_NULL) PMPI_Comm_test_inter(comm, &inter);
    return inter;
}

/* Whether all members of `comm`, who all call this, agree. */
static int all_agree(MPI_Comm comm, int yes) {
    int all = 0;
    PMPI_Allreduce(&yes, &all, 1, MPI_INT, MPI_MIN, comm);
    return all;
}

/* Whether the members of `made` are the first of `parent`, in the same order. */
static int in_order(MPI_Comm parent, MPI_Comm made) {
    if (made == MPI_COMM_NULL) return 1;
    int count, yes = 1, *members = members_of(made, 0, parent, &count);
    for (int rank = 0; rank < count; rank++) yes &= members[rank] == rank;
    free(members);
    return yes;
}

enum how { COPY, PART, GRID, PART_OF_GRID, GRAPH, TWO_GROUPS, ALONE, ONE_OF_TWO };

/* A communicator was made; `first` and `second` as hct_new has them. */
static void seen_new_comm(struct hct_call call, MPI_Comm parent, MPI_Comm made, enum how how, int64_t key, int count,
                          const int *first, int count_second, const int *second) {
    struct hct_new new = {.parent = comm_number(parent), .comm = -1, .how = how, .colour = -1, .key = key,
                          .count = (uint32_t)count, .first = first, .count_second = (uint32_t)count_second,
                          .second = second};
    int *members = NULL, *others = NULL, size = 0, other_size = 0, own = 0;
    if (made != MPI_COMM_NULL) {
        members = members_of(made, 0, MPI_COMM_WORLD, &size);
        PMPI_Comm_rank(made, &own);
        new.members = members;
        new.count_members = (uint32_t)size;
        if (how == PART) {
            new.colour = members[0];
            new.key = own;
        }
        if (is_inter(made)) {
            others = members_of(made, 1, MPI_COMM_WORLD, &other_size);
            new.parent = 0;
            new.how = TWO_GROUPS;
            new.count = (uint32_t)other_size;
            new.first = others;
        }
        new.comm = (int32_t)comm_add(KEY(made), NULL);
    }
    hct_new_comm(call, &new);
    free(members);
    free(others);
}

/* MPI_Comm_idup: a copy whose handle is not there yet. */
static void seen_idup(struct hct_call call, MPI_Comm parent, const MPI_Comm *made) {
    struct hct_new new = {.parent = comm_number(parent), .how = COPY};
    int size, *members = members_of(parent, 0, MPI_COMM_WORLD, &size);
    new.members = members;
    new.count_members = (uint32_t)size;
    new.comm = (int32_t)comm_add(KEY(MPI_COMM_NULL), made);
    hct_new_comm(call, &new);
    free(members);
}

static void seen_grid(struct hct_call call, MPI_Comm parent, int count, const int *sizes, const int *periodic,
                      int ordered, MPI_Comm made) {
    seen_new_comm(call, parent, made, ordered ? GRID : PART, 0, ordered ? count : 0, sizes, ordered ? count : 0,
                  periodic);
}

static void seen_graph(struct hct_call call, MPI_Comm parent, int ordered, MPI_Comm made) {
    int kind = MPI_UNDEFINED, from = 0, to = 0, weighted, *sources = NULL, *destinations = NULL;
    if (made != MPI_COMM_NULL) PMPI_Topo_test(made, &kind);
    if (kind == MPI_GRAPH) {
        int own;
        PMPI_Comm_rank(made, &own);
        PMPI_Graph_neighbors_count(made, own, &from);
        sources = memory(NULL, (size_t)from * sizeof *sources);
        PMPI_Graph_neighbors(made, own, from, sources);
        destinations = sources;
        to = from;
    } else if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(made, &from, &to, &weighted);
        sources = memory(NULL, (size_t)(from + to) * sizeof *sources);
        destinations = sources + from;
        PMPI_Dist_graph_neighbors(made, from, sources, MPI_UNWEIGHTED, to, destinations, MPI_UNWEIGHTED);
    } else {
        ordered = 0;
    }
    seen_new_comm(call, parent, made, ordered ? GRAPH : PART, 0, from, sources, to, destinations);
    free(sources);
}

/* -- requests ------------------------------------------------------------------------------------------------ */

/* Libraries give several requests that are complete at once the same handle, so a handle may have several numbers: the
 * oldest first. */
struct request { uintptr_t key; int32_t next; unsigned used : 1, persistent : 1, open : 1; };
static struct request *requests;
static int32_t *buckets;
static uint32_t requests_room, lowest_free;
#define BUCKETS 4096u
static uint32_t bucket_of(uintptr_t key) { return (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 40) % BUCKETS; }

static struct hct_left request_add(MPI_Request handle, int persistent, int open) {
    if (handle == MPI_REQUEST_NULL) return (struct hct_left){-1, 0};
    if (!buckets) {
        buckets = memory(NULL, BUCKETS * sizeof *buckets);
        for (uint32_t at = 0; at < BUCKETS; at++) buckets[at] = -1;
    }
    while (lowest_free < requests_room && requests[lowest_free].used) lowest_free++;
    if (lowest_free == requests_room) {
        uint32_t room = requests_room ? 2 * requests_room : 64;
        requests = memory(requests, room * sizeof *requests);
        memset(requests + requests_room, 0, (room - requests_room) * sizeof *requests);
        requests_room = room;
    }
    int32_t number = (int32_t)lowest_free, *last = &buckets[bucket_of(KEY(handle))];
    while (*last >= 0) last = &requests[*last].next;
    *last = number;
    requests[number] = (struct request){KEY(handle), -1, 1, persistent != 0, open != 0};
    return (struct hct_left){number, persistent};
}

static int32_t request_find(uintptr_t key) {
    if (key == KEY(MPI_REQUEST_NULL) || !buckets) return -1;
    int32_t at = buckets[bucket_of(key)];
    while (at >= 0 && requests[at].key != key) at = requests[at].next;
    return at;
}

static void request_remove(int32_t number) {
    int32_t *at = &buckets[bucket_of(requests[number].key)];
    while (*at != number) at = &requests[*at].next;
    *at = requests[number].next;
    requests[number].used = 0;
    if ((uint32_t)number < lowest_free) lowest_free = (uint32_t)number;
}

/* -- messages ------------------------------------------------------------------------------------------------ */

static uint64_t bytes_of(MPI_Count count, MPI_Datatype type) {
    MPI_Count size = 0;
    if (count > 0) PMPI_Type_size_x(type, &size);
    return count > 0 && size > 0 ? (uint64_t)count * (uint64_t)size : 0;
}

static int32_t peer_of(int peer) { return peer == MPI_ANY_SOURCE ? -1 : peer == MPI_PROC_NULL ? -2 : peer; }
static const struct hct_left nothing_left = {-1, 0};
static const struct hct_came nothing_came = {0, -1, -1};

static struct hct_message message(MPI_Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
    return (struct hct_message){peer_of(peer), tag == MPI_ANY_TAG ? -1 : tag, comm_number(comm), 0,
                                bytes_of(count, type), nothing_left, nothing_came};
}

static struct hct_came came(uint32_t request, const MPI_Status *status) {
    if (!status || status->MPI_SOURCE < 0) return nothing_came;
    return (struct hct_came){request, status->MPI_SOURCE, status->MPI_TAG};
}

static int is_open(int source, int tag) {
    return source == MPI_ANY_SOURCE || (tag == MPI_ANY_TAG && source != MPI_PROC_NULL);
}

enum left { NONE, ACTIVE, PERSISTENT };

static void seen_send(struct hct_call call, MPI_Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                      unsigned mode, enum left left, const MPI_Request *request) {
    struct hct_message send = message(count, type, to, tag, comm);
    send.mode = mode;
    if (left != NONE) send.request = request_add(*request, left == PERSISTENT, 0);
    hct_send(call, send);
}

static void seen_receive(struct hct_call call, MPI_Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                         enum left left, const MPI_Request *request, const MPI_Status *status) {
    struct hct_message receive = message(count, type, from, tag, comm);
    if (left != NONE) receive.request = request_add(*request, left == PERSISTENT, is_open(from, tag));
    else if (is_open(from, tag)) receive.came = came(0, status);
    hct_receive(call, receive);
}

static void seen_send_receive(struct hct_call call, struct hct_message send, struct hct_message receive,
                              const MPI_Status *status) {
    if (receive.peer == -1 || (receive.tag == -1 && receive.peer >= 0)) receive.came = came(0, status);
    hct_send_receive(call, send, receive);
}

static void seen_probe(struct hct_call call, int from, int tag, MPI_Comm comm, int found, const MPI_Status *status) {
    if (!found) {
        hct_overhead(call);
        return;
    }
    struct hct_message receive = {peer_of(from), tag == MPI_ANY_TAG ? -1 : tag, comm_number(comm), 0,
                                  UINT64_MAX, nothing_left, nothing_came};
    if (is_open(from, tag)) receive.came = came(0, status);
    hct_probe(call, receive);
}

/* Messages that a matched probe found, until they are received. */
struct found { uintptr_t key; struct hct_came came; uint32_t comm; };
static struct found *found;
static uint32_t found_held, found_room;

static void seen_mprobe(struct hct_call call, int from, int tag, MPI_Comm comm, int any, MPI_Message handle,
                        const MPI_Status *status) {
    if (any && handle != MPI_MESSAGE_NO_PROC && handle != MPI_MESSAGE_NULL) {
        if (found_held == found_room) {
            found_room = found_room ? 2 * found_room : 16;
            found = memory(found, found_room * sizeof *found);
        }
        found[found_held++] = (struct found){KEY(handle), came(0, status), comm_number(comm)};
    }
    seen_probe(call, from, tag, comm, any, status);
}

static void seen_mrecv(struct hct_call call, MPI_Count count, MPI_Datatype type, uintptr_t key, enum left left,
                       const MPI_Request *request) {
    struct hct_message receive = {-2, 0, 0, 0, bytes_of(count, type), nothing_left, nothing_came};
    for (uint32_t at = 0; at < found_held; at++) {
        if (found[at].key == key) {
            receive.peer = found[at].came.source;
            receive.tag = found[at].came.tag;
            receive.comm = found[at].comm;
            memmove(found + at, found + at + 1, (found_held - at - 1) * sizeof *found);
            found_held--;
            break;
        }
    }
    if (left != NONE) receive.request = request_add(*request, 0, 0);
    hct_receive(call, receive);
}

/* Numbers of the requests `indices` (all if NULL), which are complete; statuses in the same order. */
static void seen_complete(struct hct_call call, const uintptr_t *before, int count, const int *indices,
                          const MPI_Status *statuses) {
    uint32_t *numbers = memory(NULL, (size_t)(count > 0 ? count : 1) * sizeof *numbers), done = 0, open = 0;
    struct hct_came *all = memory(NULL, (size_t)(count > 0 ? count : 1) * sizeof *all);
    for (int at = 0; at < count; at++) {
        int32_t number = request_find(before[indices ? indices[at] : at]);
        if (number < 0) continue;
        numbers[done++] = (uint32_t)number;
        if (requests[number].open && statuses) {
            struct hct_came one = came((uint32_t)number, &statuses[at]);
            if (one.source >= 0) all[open++] = one;
        }
        if (!requests[number].persistent) request_remove(number);
    }
    if (done || count == 0) hct_complete(call, done, numbers, open, all);
    else hct_overhead(call);
    free(numbers);
    free(all);
}

static uintptr_t *keys_of(int count, const MPI_Request *handles) {
    uintptr_t *keys = memory(NULL, (size_t)(count > 0 ? count : 1) * sizeof *keys);
    for (int at = 0; at < count; at++) keys[at] = KEY(handles[at]);
    return keys;
}

static void seen_requests(struct hct_call call, unsigned what, int count, const uintptr_t *keys) {
    uint32_t *numbers = memory(NULL, (size_t)(count > 0 ? count : 1) * sizeof *numbers), known = 0;
    for (int at = 0; at < count; at++) {
        int32_t number = request_find(keys[at]);
        if (number < 0) continue;
        numbers[known++] = (uint32_t)number;
        if (what == 2) request_remove(number);
    }
    if (known) hct_requests(call, what, known, numbers);
    else hct_overhead(call);
    free(numbers);
}

/* -- one-sided operations ------------------------------------------------------------------------------------ */

static void seen_access(struct hct_call call, int to, uint64_t bytes, uint64_t answer) {
    hct_access(call, to == MPI_PROC_NULL ? -1 : to, bytes, answer);
}

/* -- collectives --------------------------------------------------------------------------------------------- */

/* Counts are of int, or of MPI_Count in the functions for large counts. */
struct counts { const void *first; int wide; };

static MPI_Count count_at(struct counts counts, int at) {
    return counts.wide ? ((const MPI_Count *)counts.first)[at] : ((const int *)counts.first)[at];
}

static void seen_together(struct hct_call call, const char *kind, MPI_Comm comm, int root, uint64_t element, MPI_Op op,
                          unsigned amount, int count, const uint64_t *sizes, int count_received,
                          const uint64_t *received, enum left left, const MPI_Request *request) {
    struct hct_left behind = left != NONE ? request_add(*request, left == PERSISTENT, 0) : nothing_left;
    if (is_inter(comm)) {
        hct_overhead(call);
        return;
    }
    int commutative = 1;
    if (op != MPI_OP_NULL) PMPI_Op_commutative(op, &commutative);
    struct hct_together together = {kind, comm_number(comm), (uint32_t)root,
                                    element < 1 ? 1 : element > UINT32_MAX ? UINT32_MAX : (uint32_t)element,
                                    commutative, amount, (uint32_t)count, sizes, (uint32_t)count_received, received,
                                    behind};
    hct_collective(call, &together);
}

/* All blocks alike. */
static void seen_equal(struct hct_call call, const char *kind, MPI_Comm comm, int root, MPI_Count count,
                       MPI_Datatype type, MPI_Op op, enum left left, const MPI_Request *request) {
    uint64_t bytes = bytes_of(count, type), element = bytes_of(1, type);
    seen_together(call, kind, comm, root, element, op, 0, 1, &bytes, 0, NULL, left, request);
}

/* A block for each rank; `counts` is NULL where only the root knows them, and this rank has `own` of `own_type`. */
static void seen_by_rank(struct hct_call call, const char *kind, MPI_Comm comm, int root, struct counts counts,
                         MPI_Datatype type, MPI_Count own, MPI_Datatype own_type, MPI_Op op, enum left left,
                         const MPI_Request *request) {
    int size, rank;
    PMPI_Comm_size(comm, &size);
    if (is_inter(comm)) size = 0; /* the lists are of the other group, and are not recorded */
    PMPI_Comm_rank(comm, &rank);
    uint64_t *bytes = memory(NULL, (size_t)size * sizeof *bytes);
    for (int at = 0; at < size; at++) {
        bytes[at] = counts.first ? bytes_of(count_at(counts, at), type) : at == rank ? bytes_of(own, own_type) : 0;
    }
    uint64_t element = bytes_of(1, counts.first ? type : own_type);
    seen_together(call, kind, comm, root, element, op, 1, size, bytes, 0, NULL, left, request);
    free(bytes);
}

/* A block to and from each rank or neighbour; types are lists where `each`. */
static void seen_own(struct hct_call call, const char *kind, MPI_Comm comm, struct counts send,
                     const MPI_Datatype *send_types, int to, struct counts receive,
                     const MPI_Datatype *receive_types, int from, int each, enum left left,
                     const MPI_Request *request) {
    uint64_t *bytes = memory(NULL, (size_t)(to + from + 1) * sizeof *bytes);
    for (int at = 0; at < to; at++) bytes[at] = bytes_of(count_at(send, at), send_types[each ? at : 0]);
    for (int at = 0; at < from; at++) {
        bytes[to + at] = bytes_of(count_at(receive, at), receive_types[each ? at : 0]);
    }
    uint64_t element = from ? bytes_of(1, receive_types[0]) : 1;
    seen_together(call, kind, comm, 0, element, MPI_OP_NULL, 2, to, bytes, from, bytes + to, left, request);
    free(bytes);
}

static void seen_to_each(struct hct_call call, const char *kind, MPI_Comm comm, int in_place, struct counts send,
                         const MPI_Datatype *send_types, struct counts receive, const MPI_Datatype *receive_types,
                         int each, enum left left, const MPI_Request *request) {
    int size;
    PMPI_Comm_size(comm, &size);
    if (is_inter(comm)) size = 0; /* the lists are of the other group, and are not recorded */
    if (in_place) {
        send = receive;
        send_types = receive_types;
    }
    seen_own(call, kind, comm, send, send_types, size, receive, receive_types, size, each, left, request);
}

/* How many neighbours this rank has. */
static void neighbours(MPI_Comm comm, int *from, int *to) {
    int kind = MPI_UNDEFINED, own, weighted;
    *from = *to = 0;
    PMPI_Topo_test(comm, &kind);
    PMPI_Comm_rank(comm, &own);
    if (kind == MPI_CART) {
        PMPI_Cartdim_get(comm, from);
        *to = *from *= 2;
    } else if (kind == MPI_GRAPH) {
        PMPI_Graph_neighbors_count(comm, own, from);
        *to = *from;
    } else if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, from, to, &weighted);
    }
}

static void seen_to_neighbours(struct hct_call call, const char *kind, MPI_Comm comm, struct counts send,
                               const MPI_Datatype *send_types, struct counts receive,
                               const MPI_Datatype *receive_types, int each, enum left left,
                               const MPI_Request *request) {
    int from, to;
    neighbours(comm, &from, &to);
    seen_own(call, kind, comm, send, send_types, to, receive, receive_types, from, each, left, request);
}

/* The same count to each neighbour, and others from each. */
static void seen_gather_neighbours(struct hct_call call, const char *kind, MPI_Comm comm, MPI_Count count,
                                   MPI_Datatype type, struct counts receive, MPI_Datatype receive_type,
                                   enum left left, const MPI_Request *request) {
    int from, to;
    neighbours(comm, &from, &to);
    MPI_Count *counts = memory(NULL, (size_t)(to + 1) * sizeof *counts);
    for (int at = 0; at < to; at++) counts[at] = count;
    seen_own(call, kind, comm, (struct counts){counts, 1}, &type, to, receive, &receive_type, from, 0, left, request);
    free(counts);
}

/* -- the run ------------------------------------------------------------------------------------------------- */

static const char *setting(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

/* All ranks' clocks start at the return of MPI_Init, where they have met. */
static void seen_init(const char *name) {
    const char *folder = getenv("HOPCAST_TRACE");
    if (live || !folder) return;
    char host[MPI_MAX_PROCESSOR_NAME + 1] = "", library[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "", program[4096] = "";
    int length;
    int world_rank, world_size;
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    PMPI_Get_processor_name(host, &length);
    PMPI_Get_library_version(library, &length);
    FILE *line = fopen("/proc/self/cmdline", "r");
    if (line) {
        size_t got = fread(program, 1, sizeof program - 1, line);
        for (size_t at = 0; at + 1 < got; at++) if (!program[at]) program[at] = ' ';
        fclose(line);
    }
    comm_add(KEY(MPI_COMM_WORLD), NULL);
    comm_add(KEY(MPI_COMM_SELF), NULL);
    const char *texts[] = {host, program, library};
    PMPI_Barrier(MPI_COMM_WORLD);
    origin_ns = clock_ns(CLOCK_MONOTONIC);
    hct_open(folder, (uint32_t)world_rank, (uint32_t)world_size, texts, origin_unix_ns(),
             atoi(setting("HOPCAST_TRACE_TALLIED", "0")), strtoull(setting("HOPCAST_TRACE_BLOCK_NS", "5000000000"), NULL, 10));
    owner = getpid();
    live = 1;
    hct_overhead((struct hct_call){name, 0, 0});
}

/* A program that ends without MPI_Finalize. */
__attribute__((destructor)) static void ended(void) {
    if (live && getpid() == owner) hct_close();
    live = 0;
}

/* The library's own function. Wrappers have both of its names, MPI_ and PMPI_: what Open MPI has for Fortran calls the
 * latter, and so does a profiler that the program brings. */
#define REAL(NAME) \
    static __typeof__(&PMPI_##NAME) real; \
    if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, "PMPI_" #NAME);
#define ALSO(NAME) extern __typeof__(MPI_##NAME) PMPI_##NAME __attribute__((alias("MPI_" #NAME)));

/* Each wrapper is between these two: the time of a call that is the program's own, and not made while another is. */
#define ENTER(NAME) \
    struct hct_call call = {NAME, 0, 0}; \
    int seen = live && !inside; \
    inside++; \
    if (seen) call.begin_ns = now_ns();
#define LOCK if (seen) pthread_mutex_lock(&recording);
#define DONE \
    if (seen) pthread_mutex_unlock(&recording); \
    inside--; \
    return result;

int MPI_Init(int *count, char ***arguments) {
    REAL(Init)
    inside++;
    int result = real(count, arguments);
    if (result == MPI_SUCCESS) seen_init("MPI_Init");
    inside--;
    return result;
}

ALSO(Init)

int MPI_Init_thread(int *count, char ***arguments, int required, int *provided) {
    REAL(Init_thread)
    inside++;
    int result = real(count, arguments, required, provided);
    if (result == MPI_SUCCESS) seen_init("MPI_Init_thread");
    inside--;
    return result;
}

ALSO(Init_thread)

int MPI_Finalize(void) {
    REAL(Finalize)
    ENTER("MPI_Finalize")
    int result = real();
    if (seen) {
        call.end_ns = now_ns();
        hct_finalize(call);
        hct_close();
        live = 0;
    }
    inside--;
    return result;
}

ALSO(Finalize)

int MPI_Abort(MPI_Comm comm, int code) {
    REAL(Abort)
    ENTER("MPI_Abort")
    if (seen) {
        call.end_ns = call.begin_ns;
        hct_abort(call, code);
        hct_close();
        live = 0;
    }
    inside--;
    return real(comm, code);
}
ALSO(Abort)
