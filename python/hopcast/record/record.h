/* What the wrappers of MPI's functions call: crates/recorder. Times are nanoseconds on the rank's clock. */
#ifndef HOPCAST_RECORD_H
#define HOPCAST_RECORD_H

#include <stdint.h>

struct hct_call { const char *name; uint64_t begin_ns, end_ns, name_length; };
/* Where a rank stands; begin_ns 0: in no call; peer -3: its call has no message of its own;
 * -4: it is one of the tests and probes that find nothing, the first of which began then. */
struct hct_place { const char *name; uint64_t name_length, begin_ns; int32_t peer, tag; uint32_t comm; };
struct hct_left { int32_t number, persistent; };
struct hct_came { uint32_t request; int32_t source, tag; };
struct hct_message {
    int32_t peer, tag;
    uint32_t comm, mode;
    uint64_t bytes;
    struct hct_left request;
    struct hct_came came;
};
struct hct_together {
    const char *kind;
    uint32_t comm, root, element;
    int32_t commutative;
    uint32_t amount, count;
    const uint64_t *sizes;
    uint32_t count_received;
    const uint64_t *received;
    struct hct_left request;
};
struct hct_new {
    uint32_t parent;
    int32_t comm;
    uint32_t how;
    int64_t colour, key;
    uint32_t count;
    const int32_t *first;
    uint32_t count_second;
    const int32_t *second;
    uint32_t count_members;
    const int32_t *members;
};

void hct_open(const char *folder, uint32_t rank, uint32_t ranks, const char *const *texts, uint64_t start_unix_ns,
              int tallied, int cpu, uint64_t block_ns);
void hct_close(int early);
void hct_watch(struct hct_place place);
int hct_count(const char *names, char *why, uint64_t room);
void hct_count_pause(int polling);
void hct_count_go_on(void);
void hct_polled(uint64_t polls, uint64_t idle_ns, uint64_t polled_ns);
void hct_overhead(struct hct_call call);
void hct_access(struct hct_call call, int32_t to, uint64_t bytes, uint64_t answer);
void hct_finalize(struct hct_call call);
void hct_abort(struct hct_call call, int32_t code);
void hct_send(struct hct_call call, struct hct_message send);
void hct_receive(struct hct_call call, struct hct_message receive);
void hct_send_receive(struct hct_call call, struct hct_message send, struct hct_message receive);
void hct_probe(struct hct_call call, struct hct_message receive);
void hct_complete(struct hct_call call, uint32_t count, const uint32_t *requests, uint32_t count_came,
                  const struct hct_came *came);
void hct_requests(struct hct_call call, uint32_t what, uint32_t count, const uint32_t *requests);
void hct_collective(struct hct_call call, const struct hct_together *together);
void hct_new_comm(struct hct_call call, const struct hct_new *made);
void hct_free_comm(struct hct_call call, uint32_t comm);

#endif
