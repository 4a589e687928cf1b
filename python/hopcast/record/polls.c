/* Tests and probes that find nothing. A program may make millions of them, so they are counted, and told with the next
 * call that is recorded, with how much of their time the rank waited: had nothing else to do.
 *
 * Now and then some in a row, a burst, are timed. A rank waits if it spends next to no time between them, less than
 * IDLE_NS; else it works, and its polls are a part of that work. The time from one burst to the
 * next is waiting if both say so, and half of it if one does; but what the rank had of the processor meanwhile, beyond
 * what so many polls can have taken, was work between bursts. A run of polls begins and ends with a burst. */

#define BURST 8u
/* A loop that only polls takes 5 ns besides, as the clock has it, and one that makes a random number and keeps it, as
 * HPCC's RandomAccess does, 35 ns and more. */
#define IDLE_NS 25u
/* About so long no poll is timed after a burst [ns]: then timing costs less than a hundredth. */
#define UNTIMED_NS 200000u

static struct {
    uint64_t count, counted;    /* since the last call that was recorded; those of them up to until_ns */
    uint64_t since_ns;          /* when the first of them began */
    uint64_t until_ns, idle_ns; /* up to when it is known how much of the time was waiting, and how much was */
    uint64_t pace_ns;           /* time for each poll of the last burst, and whether the rank waited; -1 none */
    int was_idle;
    uint64_t processor_ns;      /* what the rank has had of the processor, if it waited */
    uint32_t skip;              /* not timed before the next burst */
    uint32_t timed, gaps;       /* of this burst so far: polls, and times between them that are known */
    uint64_t begin_ns, end_ns;  /* of its first and its last poll */
    uint64_t between_ns;        /* between its polls */
    uint64_t reading_ns;        /* what reading the clock takes: that is in each of the times between them, too */
} polls = {.was_idle = -1};

static uint64_t less(uint64_t from_ns, uint64_t by_ns) { return from_ns > by_ns ? from_ns - by_ns : 0; }

/* Says how much of the time up to `until_ns` was waiting, after this burst. */
static void polls_account(uint64_t until_ns) {
    int idle = polls.was_idle == 1;
    if (polls.gaps) {
        idle = less(polls.between_ns / polls.gaps, polls.reading_ns) < IDLE_NS;
    }
    uint64_t pace_ns = polls.timed ? (polls.end_ns - polls.begin_ns) / polls.timed : polls.pace_ns;
    int first = polls.was_idle < 0;
    if (first) polls.was_idle = idle;
    if (first || !polls.was_idle || (idle && pace_ns > polls.pace_ns)) polls.pace_ns = pace_ns;
    uint64_t stretch_ns = until_ns - polls.until_ns, share_ns = stretch_ns * (uint64_t)(idle + polls.was_idle) / 2;
    uint64_t most_ns = 2 * polls.pace_ns * (polls.count - polls.counted + 1);
    if (idle) {
        uint64_t before_ns = polls.processor_ns;
        polls.processor_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        /* Others may have had the processor; what this rank had of it beyond its polls was work. */
        if (polls.was_idle && !first) {
            uint64_t used_ns = polls.processor_ns - before_ns;
            uint64_t worked_ns = less(used_ns, most_ns);
            if (most_ns + worked_ns < stretch_ns) most_ns = stretch_ns - worked_ns;
        }
    }
    polls.idle_ns += share_ns < most_ns ? share_ns : most_ns;
    polls.until_ns = until_ns;
    polls.counted = polls.count;
    polls.was_idle = idle;
    polls.pace_ns = pace_ns;
    polls.timed = polls.gaps = 0;
}

/* A test or probe that is going on: how it is looked at, and its begin if it is timed. */
struct poll { enum { UNTIMED, TIMED, UNSEEN } how; uint64_t begin_ns; };

/* Before a test or probe. */
static struct poll poll_begins(void) {
    if (!polls.skip) return (struct poll){TIMED, now_ns()};
    polls.skip--;
    return (struct poll){UNTIMED, 0};
}

/* After one that found nothing. */
static void poll_in_vain(struct poll poll, const char *name, uint64_t name_length) {
    polls.count++;
    if (poll.how == UNTIMED) return;
    uint64_t end_ns = now_ns();
    if (polls.count == 1) {
        polls.since_ns = polls.until_ns = poll.begin_ns;
        stands(&(struct hct_call){name, poll.begin_ns, 0, name_length});
        place.peer = POLLS;
    }
    if (polls.timed) {
        polls.between_ns += less(poll.begin_ns, polls.end_ns);
        polls.gaps++;
    } else {
        polls.begin_ns = poll.begin_ns;
        polls.between_ns = 0;
        uint64_t again_ns = now_ns();
        polls.reading_ns = again_ns - end_ns;
        end_ns = again_ns;
    }
    polls.end_ns = end_ns;
    if (++polls.timed == BURST) {
        polls_account(end_ns);
        polls.skip = (uint32_t)(UNTIMED_NS / (polls.pace_ns + 1));
    }
}

/* Before the next call is recorded, which began at a known time if `timed`. */
static void polls_end(struct hct_call *call, int timed) {
    if (!timed) {
        uint64_t longest_ns = call->end_ns - polls.until_ns;
        call->begin_ns = call->end_ns - (polls.pace_ns < longest_ns ? polls.pace_ns : longest_ns);
    } else if (polls.timed) {
        polls.between_ns += less(call->begin_ns, polls.end_ns);
        polls.gaps++;
    }
    polls_account(call->begin_ns);
    hct_polled(polls.count, polls.idle_ns, less(call->begin_ns, polls.since_ns));
    polls.count = polls.counted = polls.idle_ns = 0;
    polls.skip = 0;
    polls.was_idle = -1;
}
