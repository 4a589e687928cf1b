/* Where the rank stands, so that a program which is killed as it hangs has recorded what it hung in. Calls are recorded when
 * they return, and written in blocks; a thread looks now and then whether any came, and if none did has all of them
 * written, and in which call the rank is. It makes no call of MPI, takes no signal, and sleeps otherwise: an eye a second
 * on a rank that goes on. Each call says where it is without asking anybody, which is a few stores. */

/* So often it looks, unless less may be lost [ns]. */
#define LOOK_NS 1000000000u
/* In place of a peer. */
#define NO_MESSAGE (-3)
#define POLLS (-4)

static struct hct_place place;

/* Begins to stand in a call: after this store it is whole. */
static inline void stands(const struct hct_call *call) {
    place.name = call->name;
    place.name_length = call->name_length;
    place.peer = NO_MESSAGE;
    __atomic_store_n(&place.begin_ns, call->begin_ns, __ATOMIC_RELEASE);
}

/* The message of that call. */
static inline void stands_with(int peer, int tag, MPI_Comm comm) {
    place.tag = tag == MPI_ANY_TAG ? -1 : tag;
    place.comm = several ? UNKNOWN : comm_number(comm); /* other threads may be changing what is known */
    __atomic_store_n(&place.peer, peer_of(peer), __ATOMIC_RELEASE);
}

static inline void stands_in_none(void) { __atomic_store_n(&place.begin_ns, 0, __ATOMIC_RELEASE); }

static void *watch(void *period_ns) {
    uint64_t ns = (uint64_t)(uintptr_t)period_ns, before_ns = 0;
    struct timespec period = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (live) {
        nanosleep(&period, NULL);
        uint64_t begin_ns = __atomic_load_n(&place.begin_ns, __ATOMIC_ACQUIRE);
        struct hct_place now = place;
        /* A call that was there the last time already has been whole for long. */
        now.begin_ns = begin_ns == before_ns && __atomic_load_n(&place.begin_ns, __ATOMIC_ACQUIRE) == begin_ns ? begin_ns : 0;
        before_ns = begin_ns;
        if (live) hct_watch(now);
    }
    return NULL;
}

/* A rank that may have no more threads is not watched. */
static void watch_begin(uint64_t block_ns) {
    uint64_t period_ns = block_ns < LOOK_NS ? block_ns : LOOK_NS;
    sigset_t all, own;
    pthread_attr_t small;
    pthread_t thread;
    sigfillset(&all);
    pthread_attr_init(&small);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&small, 1 << 20);
    pthread_sigmask(SIG_SETMASK, &all, &own);
    pthread_create(&thread, &small, watch, (void *)(uintptr_t)period_ns);
    pthread_sigmask(SIG_SETMASK, &own, NULL);
    pthread_attr_destroy(&small);
}
