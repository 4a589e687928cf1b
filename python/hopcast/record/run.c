/* The beginning and the end of a recording, and what each wrapper is made of. */

/* -- the run ------------------------------------------------------------------------------------------------- */

static const char *setting(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

static void path_of_first(const char *folder, char *path, size_t room) {
    snprintf(path, room, "%s/rank-000000.hct", folder);
}

/* Whether the folder is this program's. A command may start several, one after the other or at once, or a program others:
 * the first that comes has it. */
static int is_ours(const char *folder, int rank) {
    int ours = 1;
    if (rank == 0) {
        char first[4096];
        path_of_first(folder, first, sizeof first);
        int file = open(first, O_CREAT | O_EXCL | O_WRONLY, 0666);
        ours = file >= 0 || errno != EEXIST;
        if (file >= 0) close(file);
        if (!ours) {
            fprintf(stderr, "hopcast trace: a program is not recorded: %s has a recording of another one that the "
                            "command has started; record one at a time\n", folder);
        }
    }
    PMPI_Bcast(&ours, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return ours;
}

/* Of rank 0: what is_ours has left goes, as nothing is recorded. */
static void is_not_ours(const char *folder) {
    char first[4096];
    path_of_first(folder, first, sizeof first);
    unlink(first);
}

/* Something of this thread is counted while it is not in MPI: crates/recorder/src/counts. */
static __thread int counted;
/* No poll goes unseen: several threads may make them, or what lies between them is counted. */
static int watched;

/* Whether all ranks can count what they are to; the first of those that cannot says why. */
static int can_count(const char *host, int rank, int ranks) {
    const char *names = setting("HOPCAST_TRACE_COUNT", "");
    if (!*names) return 1;
    char why[1024] = "";
    int cannot = hct_count(names, why, sizeof why) ? rank : ranks, first = ranks;
    PMPI_Allreduce(&cannot, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    counted = first == ranks;
    if (counted) return 1;
    hct_count("", why, 0);
    if (rank == first) fprintf(stderr, "hopcast trace: nothing is recorded: on %s, %s\n", host, why);
    return 0;
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
    if (!is_ours(folder, world_rank)) return;
    PMPI_Get_processor_name(host, &length);
    if (!can_count(host, world_rank, world_size)) {
        if (world_rank == 0) is_not_ours(folder);
        return;
    }
    PMPI_Get_library_version(library, &length);
    FILE *line = fopen("/proc/self/cmdline", "r");
    if (line) {
        size_t got = fread(program, 1, sizeof program - 1, line);
        for (size_t at = 0; at + 1 < got; at++) if (!program[at]) program[at] = ' ';
        fclose(line);
    }
    comm_add(KEY(MPI_COMM_WORLD));
    comm_add(KEY(MPI_COMM_SELF));
    const char *texts[] = {host, program, library};
    PMPI_Barrier(MPI_COMM_WORLD);
    int cpu = !strcmp(setting("HOPCAST_TRACE_CLOCK", "wall"), "cpu");
    if (cpu) cpu = !pthread_getcpuclockid(pthread_self(), &ticking);
    origin_ns = clock_ns(ticking);
    uint64_t block_ns = strtoull(setting("HOPCAST_TRACE_BLOCK_NS", "5000000000"), NULL, 10);
    hct_open(folder, (uint32_t)world_rank, (uint32_t)world_size, texts, origin_unix_ns(),
             atoi(setting("HOPCAST_TRACE_TALLIED", "0")), cpu, block_ns);
    int level = MPI_THREAD_MULTIPLE;
    PMPI_Query_thread(&level);
    several = level == MPI_THREAD_MULTIPLE;
    watched = several || counted;
    owner = getpid();
    live = 1;
    watch_begin(block_ns);
    hct_overhead((struct hct_call){name, 0, 0, strlen(name)});
    if (counted) hct_count_go_on();
}

/* A program that ends without MPI_Finalize. */
__attribute__((destructor)) static void ended(void) {
    if (live && getpid() == owner) hct_close(1);
    live = 0;
}

/* The library's own function. Wrappers have both of its names, MPI_ and PMPI_: what Open MPI has for Fortran calls the
 * latter, and so does a profiler that the program brings. */
#define REAL(NAME) \
    static __typeof__(&PMPI_##NAME) real; \
    if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, "PMPI_" #NAME);
#define ALSO(NAME) extern __typeof__(MPI_##NAME) PMPI_##NAME __attribute__((alias("MPI_" #NAME)));

static inline void lock(void) {
    if (several) pthread_mutex_lock(&recording);
}
static inline void unlock(void) {
    if (several) pthread_mutex_unlock(&recording);
}

static struct poll poll_enters(void) {
    if (!live || inside) return (struct poll){UNSEEN, 0};
    lock();
    struct poll poll = poll_begins();
    if (counted) hct_count_pause(polls.count > 0);
    unlock();
    return poll;
}
static void poll_leaves(struct poll poll, const char *name, uint64_t name_length) {
    if (poll.how == UNSEEN) return;
    lock();
    /* Before the time is taken: what counting costs is not the program's between two polls. */
    if (counted) hct_count_go_on();
    poll_in_vain(poll, name, name_length);
    unlock();
}

/* Each wrapper is between two of these: the time of a call that is the program's own, and not made while another is. */
#define SEEN(NAME) \
    struct hct_call call = {NAME, 0, 0, sizeof NAME - 1}; \
    int seen = live && !inside; \
    inside++;
/* What the program does is counted up to here, and then from GO_ON on. */
#define PAUSE \
    if (counted) { \
        lock(); \
        hct_count_pause(polls.count > 0); \
        unlock(); \
    }
#define GO_ON \
    if (counted) hct_count_go_on();
#define ENTER(NAME) \
    SEEN(NAME) \
    if (seen) { \
        call.begin_ns = now_ns(); \
        stands(&call); \
        PAUSE \
    }
/* The same of a test or probe. */
#define IS_UNTIMED __builtin_expect(real && polls.skip && !watched && !inside, 1)
#define ENTER_UNTIMED \
    const int seen = 1; \
    const struct poll poll = {UNTIMED, 0}; \
    polls.skip--; \
    inside++;
#define ENTER_POLL \
    struct poll poll = poll_enters(); \
    int seen = poll.how != UNSEEN; \
    inside++;
#define APART __attribute__((noinline))
#define FOUND(NAME) \
    struct hct_call call = {NAME, poll.begin_ns, now_ns(), sizeof NAME - 1}; \
    stands_in_none(); \
    lock(); \
    if (polls.count) polls_end(&call, poll.how == TIMED);
#define LOCK \
    if (seen) { \
        stands_in_none(); \
        lock(); \
        if (polls.count) polls_end(&call, 1); \
    }
#define DONE \
    if (seen) { \
        GO_ON \
        unlock(); \
    } \
    inside--; \
    return result;

int MPI_Init(int *count, char ***arguments) {
    check_library();
    REAL(Init)
    inside++;
    int result = real(count, arguments);
    if (result == MPI_SUCCESS) seen_init("MPI_Init");
    inside--;
    return result;
}

ALSO(Init)

int MPI_Init_thread(int *count, char ***arguments, int required, int *provided) {
    check_library();
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
        if (polls.count) polls_end(&call, 1);
        hct_finalize(call);
        hct_close(0);
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
        if (polls.count) polls_end(&call, 1);
        hct_abort(call, code);
        hct_close(0);
        live = 0;
    }
    inside--;
    return real(comm, code);
}
ALSO(Abort)
