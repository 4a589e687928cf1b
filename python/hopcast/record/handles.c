/* What is known of handles while a program is recorded: communicators and requests have numbers here, and what a call
 * did is told to the recorder in those. A number is the lowest that is free, so that iterations of a loop look alike.
 *
 * The first part of one file: handles.c, library.c, calls.c, watch.c, polls.c, run.c, and the wrappers of the functions themselves, which are
 * generated (wrappers.py): each calls the library's function, and then one of the `seen_` functions. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#include "record.h"

static pthread_mutex_t recording = PTHREAD_MUTEX_INITIALIZER;
static volatile int live;       /* from MPI_Init to MPI_Finalize */
static int several;             /* threads of the program may call MPI at once */
static __thread int inside;     /* calls that the library makes of itself are its own affair */
static clockid_t ticking = CLOCK_MONOTONIC; /* or that of the thread that called MPI_Init */
static uint64_t origin_ns;
static pid_t owner; /* a child that a program forks does not record */

static uint64_t clock_ns(clockid_t which) {
    struct timespec now;
    clock_gettime(which, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t now_ns(void) { return clock_ns(ticking) - origin_ns; }

/* When the clock of calls stands at 0 [ns since 1970]: the best of some readings, as a process may be stopped between two. */
static uint64_t origin_unix_ns(void) {
    uint64_t shortest = UINT64_MAX, found = 0;
    for (int reading = 0; reading < 5; reading++) {
        uint64_t before = now_ns(), unix_ns = clock_ns(CLOCK_REALTIME), took = now_ns() - before;
        if (took < shortest) {
            shortest = took;
            found = unix_ns - took / 2 - before;
        }
    }
    return found;
}

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

/* What the recorder has not seen being made has no number: communicators of sessions, of spawned and of joined processes,
 * and what is made of those. Calls on them take time, and no more. */
#define UNKNOWN UINT32_MAX
/* The handle of one that is not there yet: no library has such a handle. */
#define NOT_YET UINTPTR_MAX

struct comm { uintptr_t key; uint32_t number; };
static struct comm *comms;
static uint32_t comms_held, comms_room, comms_made;

static uint32_t comm_add(uintptr_t key) {
    if (comms_held == comms_room) {
        comms_room = comms_room ? 2 * comms_room : 16;
        comms = memory(comms, comms_room * sizeof *comms);
    }
    comms[comms_held++] = (struct comm){key, comms_made};
    return comms_made++;
}

static uint32_t comm_number(MPI_Comm comm) {
    for (uint32_t at = comms_held; at-- > 0;) {
        if (comms[at].key == KEY(comm)) return comms[at].number;
    }
    return UNKNOWN;
}

/* One of MPI_Comm_idup is there. */
static void comm_is(uint32_t number, MPI_Comm comm) {
    for (uint32_t at = comms_held; at-- > 0;) {
        if (comms[at].number == number) comms[at].key = KEY(comm);
    }
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

/* Whether all are ranks of the world. */
static int all_known(const int *members, int count) {
    for (int at = 0; at < count; at++) if (members[at] < 0) return 0;
    return 1;
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
            if (all_known(members, size) && all_known(others, other_size)) new.parent = 0;
            else new.parent = UNKNOWN;
            if (how != TWO_GROUPS) new.key = 0; /* there the key is a tag */
            new.how = TWO_GROUPS;
            new.count = (uint32_t)other_size;
            new.first = others;
        }
        if (new.parent != UNKNOWN) new.comm = (int32_t)comm_add(KEY(made));
    }
    if (new.parent != UNKNOWN) hct_new_comm(call, &new);
    else hct_overhead(call);
    free(members);
    free(others);
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
struct request {
    uintptr_t key;
    int32_t next;
    unsigned used : 1, persistent : 1, open : 1;
    /* Of MPI_Comm_idup: the variable that has the handle when it is complete, and the number. */
    const MPI_Comm *made;
    uint32_t comm;
};
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
    requests[number] = (struct request){KEY(handle), -1, 1, persistent != 0, open != 0, NULL, 0};
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

/* MPI_Comm_idup: a copy whose handle is there when its request is complete. */
static void seen_idup(struct hct_call call, MPI_Comm parent, const MPI_Comm *made, const MPI_Request *request) {
    struct hct_new new = {.parent = comm_number(parent), .how = COPY};
    if (new.parent == UNKNOWN) {
        hct_overhead(call);
        return;
    }
    int size, *members = members_of(parent, 0, MPI_COMM_WORLD, &size);
    new.members = members;
    new.count_members = (uint32_t)size;
    uint32_t number = comm_add(NOT_YET);
    new.comm = (int32_t)number;
    hct_new_comm(call, &new);
    free(members);
    struct hct_left left = request_add(*request, 0, 0);
    if (left.number < 0) comm_is(number, *made);
    else requests[left.number].made = made, requests[left.number].comm = number;
}
