/* What calls of every sort have done, told to the recorder in its numbers. */

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
    if (send.comm == UNKNOWN) {
        hct_overhead(call);
        return;
    }
    send.mode = mode;
    if (left != NONE) send.request = request_add(*request, left == PERSISTENT, 0);
    hct_send(call, send);
}

static void seen_receive(struct hct_call call, MPI_Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                         enum left left, const MPI_Request *request, const MPI_Status *status) {
    struct hct_message receive = message(count, type, from, tag, comm);
    if (receive.comm == UNKNOWN) {
        hct_overhead(call);
        return;
    }
    if (left != NONE) receive.request = request_add(*request, left == PERSISTENT, is_open(from, tag));
    else if (is_open(from, tag)) receive.came = came(0, status);
    hct_receive(call, receive);
}

static void seen_send_receive(struct hct_call call, struct hct_message send, struct hct_message receive,
                              const MPI_Status *status) {
    if (receive.comm == UNKNOWN) {
        hct_overhead(call);
        return;
    }
    if (receive.peer == -1 || (receive.tag == -1 && receive.peer >= 0)) receive.came = came(0, status);
    hct_send_receive(call, send, receive);
}

static void seen_probe(struct hct_call call, int from, int tag, MPI_Comm comm, const MPI_Status *status) {
    if (comm_number(comm) == UNKNOWN) {
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

static void seen_mprobe(struct hct_call call, int from, int tag, MPI_Comm comm, MPI_Message handle,
                        const MPI_Status *status) {
    if (handle != MPI_MESSAGE_NO_PROC && handle != MPI_MESSAGE_NULL) {
        if (found_held == found_room) {
            found_room = found_room ? 2 * found_room : 16;
            found = memory(found, found_room * sizeof *found);
        }
        found[found_held++] = (struct found){KEY(handle), came(0, status), comm_number(comm)};
    }
    seen_probe(call, from, tag, comm, status);
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
    if (receive.comm == UNKNOWN) {
        hct_overhead(call);
        return;
    }
    if (left != NONE) receive.request = request_add(*request, 0, 0);
    hct_receive(call, receive);
}

/* So many requests of one call are looked at without asking for memory. */
#define FEW 16

/* Numbers of the requests `indices` (all if NULL), which are complete; statuses in the same order. */
static void seen_complete(struct hct_call call, const uintptr_t *before, int count, const int *indices,
                          const MPI_Status *statuses) {
    uint32_t few[FEW], *numbers = count > FEW ? memory(NULL, (size_t)count * sizeof *numbers) : few, done = 0, open = 0;
    struct hct_came few_came[FEW], *all = count > FEW ? memory(NULL, (size_t)count * sizeof *all) : few_came;
    for (int at = 0; at < count; at++) {
        int32_t number = request_find(before[indices ? indices[at] : at]);
        if (number < 0) continue;
        if (requests[number].made) { /* in the recording the communicator is there already */
            comm_is(requests[number].comm, *requests[number].made);
            request_remove(number);
            continue;
        }
        numbers[done++] = (uint32_t)number;
        if (requests[number].open && statuses) {
            struct hct_came one = came((uint32_t)number, &statuses[at]);
            if (one.source >= 0) all[open++] = one;
        }
        if (!requests[number].persistent) request_remove(number);
    }
    if (done || count == 0) hct_complete(call, done, numbers, open, all);
    else hct_overhead(call);
    if (numbers != few) free(numbers);
    if (all != few_came) free(all);
}

/* The keys of handles, in `few` if there is room. */
static uintptr_t *keys_of(int count, const MPI_Request *handles, uintptr_t *few) {
    uintptr_t *keys = count > FEW ? memory(NULL, (size_t)count * sizeof *keys) : few;
    for (int at = 0; at < count; at++) keys[at] = KEY(handles[at]);
    return keys;
}

static void seen_requests(struct hct_call call, unsigned what, int count, const uintptr_t *keys) {
    uint32_t few[FEW], *numbers = count > FEW ? memory(NULL, (size_t)count * sizeof *numbers) : few, known = 0;
    for (int at = 0; at < count; at++) {
        int32_t number = request_find(keys[at]);
        if (number < 0) continue;
        numbers[known++] = (uint32_t)number;
        if (what == 2) request_remove(number);
    }
    if (known) hct_requests(call, what, known, numbers);
    else hct_overhead(call);
    if (numbers != few) free(numbers);
}

static void seen_free_comm(struct hct_call call, uint32_t number) {
    if (number == UNKNOWN) {
        hct_overhead(call);
        return;
    }
    comm_remove(number);
    hct_free_comm(call, number);
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
    if (is_inter(comm) || comm_number(comm) == UNKNOWN) { /* its request is not known either: waiting for it takes time, and no more */
        hct_overhead(call);
        return;
    }
    struct hct_left behind = left != NONE ? request_add(*request, left == PERSISTENT, 0) : nothing_left;
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
