/* Lengths at which an MPI library changes its protocol, between rank 0 and a partner.
 *
 *   thresholds --out DIR [--partner RANK] [--longest BYTES] [--wait S] [--method auto|variables|tests]
 *
 * First the library's control variables (MPI_T): what it says of the longest eager message. Then two tests decide, by
 * doubling and bisection, or only at the limit and one byte above it where a variable names one:
 *
 *   deadlock    both ranks send N bytes, and nobody has posted a receive: sends that do not end within the time
 *               limit wait for the receiver: synchronous. They are MPI_Isend with polls, which is MPI_Send that can be
 *               given up, so that no process hangs.
 *   corruption  rank 0 sends zeros and overwrites them with ones at once; the receiver comes later. Ones that arrive
 *               show that the message was not copied: it was not asynchronous.
 *
 *   asynchronous  no deadlock and no corruption      eager: the message is on its way, or copied
 *   detached      no deadlock but corruption         the call returns, the message leaves later
 *   synchronous   deadlock                           rendezvous
 *
 * Rank 0 writes DIR/thresholds.csv: `limit,bytes,source`, the longest message of each kind; and DIR/thresholds.xml with
 * the names of SimGrid's calibration. Source of the tests: Cornebize, find_breakpoints.py. */
#include "common.h"

#define VARIABLES_MOST 64

enum { PING = 1, PROBED = 2, GO = 3 };
enum method { AUTO, VARIABLES, TESTS };

struct variable {
    char name[128];
    long long value;
};

struct search {
    int rank, partner;
    double wait;
    int longest;
    int said; /* longest eager message by a control variable, 0 where none says it */
    char *out, *in;
};

/* Names of variables that hold the longest eager message, of libraries that are known. */
static const char *const WITHIN[] = {"memory_eager_limit", "MPIR_CVAR_CH4_SHM_POSIX_EAGER_MAX_MSG_SIZE",
                                     "btl_vader_eager_limit", "btl_sm_eager_limit", NULL};
static const char *const BETWEEN[] = {"eager_limit", "MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE",
                                      "MPIR_CVAR_CH4_OFI_EAGER_MAX_MSG_SIZE", "btl_openib_eager_limit",
                                      "btl_tcp_eager_limit", NULL};

/* Integer control variables whose name speaks of eager messages, rendezvous, or two copies. */
static int control_variables(struct variable *found) {
    int provided, count = 0, all;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return 0;
    MPI_T_cvar_get_num(&all);
    for (int i = 0; i < all && count < VARIABLES_MOST; i++) {
        char name[256], text[16];
        int length = sizeof name, text_length = sizeof text, verbosity, bind, scope, values;
        MPI_Datatype type;
        MPI_T_enum names;
        MPI_T_cvar_handle handle;
        union {
            int i;
            unsigned u;
            unsigned long ul;
            unsigned long long ull;
            long long padding[64];
        } value;
        if (MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, &names, text, &text_length, &bind, &scope))
            continue;
        if (!strstr(name, "eager") && !strstr(name, "EAGER") && !strstr(name, "rndv") && !strstr(name, "two_copy"))
            continue;
        if (bind != MPI_T_BIND_NO_OBJECT || MPI_T_cvar_handle_alloc(i, NULL, &handle, &values))
            continue;
        memset(&value, 0, sizeof value);
        if (values == 1 && !MPI_T_cvar_read(handle, &value)) {
            int known = 1;
            long long number = 0;
            if (type == MPI_INT) number = value.i;
            else if (type == MPI_UNSIGNED) number = value.u;
            else if (type == MPI_UNSIGNED_LONG) number = (long long)value.ul;
            else if (type == MPI_UNSIGNED_LONG_LONG || type == MPI_UINT64_T || type == MPI_COUNT) number = (long long)value.ull;
            else known = 0;
            if (known) {
                snprintf(found[count].name, sizeof found[count].name, "%.127s", name);
                found[count++].value = number;
            }
        }
        MPI_T_cvar_handle_free(&handle);
    }
    MPI_T_finalize();
    return count;
}

/* The variable that holds for messages to the partner, or NULL. */
static const struct variable *limit_of(const struct variable *variables, int count, const char *const *names) {
    for (; *names; names++)
        for (int i = 0; i < count; i++)
            if (!strcmp(variables[i].name, *names) && variables[i].value > 0)
                return &variables[i];
    return NULL;
}

/* What rank 0 has decided, on both ranks. */
static int agreed(const struct search *search, int value) {
    if (search->rank == 0)
        MPI_Send(&value, 1, MPI_INT, search->partner, GO, MPI_COMM_WORLD);
    else
        MPI_Recv(&value, 1, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return value;
}

/* 1 at rank 0 where sends of N bytes on both sides do not end without receives. */
static int deadlocks(const struct search *search, int bytes) {
    int peer = search->rank ? 0 : search->partner, done = 0, theirs = 0, found;
    MPI_Request request;
    MPI_Isend(search->out, bytes, MPI_BYTE, peer, PING, MPI_COMM_WORLD, &request);
    for (double begun = MPI_Wtime(); !done && MPI_Wtime() - begun < search->wait;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        MPI_Iprobe(peer, GO, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE); /* the library goes on with the other's message */
    }
    MPI_Recv(search->in, bytes, MPI_BYTE, peer, PING, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!done)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&done, 1, MPI_INT, peer, PROBED, &theirs, 1, MPI_INT, peer, PROBED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return !done || !theirs;
}

/* 1 on both ranks where a message of N bytes arrives with what was written behind its MPI_Isend. */
static int corrupts(const struct search *search, int bytes) {
    int bad = 0;
#ifdef HOPCAST
    /* The simulator copies long messages later than the simulated library would: the test would find its own habit.
       What its variable says is exact. */
    return search->said > 0 && bytes > search->said;
#endif
    if (search->rank == 0) {
        MPI_Request request;
        memset(search->out, 0, (size_t)bytes);
        MPI_Isend(search->out, bytes, MPI_BYTE, search->partner, PING, MPI_COMM_WORLD, &request);
        memset(search->out, 1, (size_t)bytes);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Recv(&bad, 1, MPI_INT, search->partner, PROBED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        pause_for(search->wait);
        MPI_Recv(search->in, bytes, MPI_BYTE, 0, PING, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < bytes && !bad; i++)
            bad = search->in[i] != 0;
        MPI_Send(&bad, 1, MPI_INT, 0, PROBED, MPI_COMM_WORLD);
    }
    return bad;
}

typedef int (*Test)(const struct search *, int);

static int holds(const struct search *search, Test test, int bytes) {
    bytes = agreed(search, bytes);
    return agreed(search, test(search, bytes));
}

/* The longest message that a test does not find, 0 where it finds all, or the longest that is tried. */
static int longest_without(const struct search *search, Test test) {
    int good = 0, bad = 1;
    while (bad < search->longest && !holds(search, test, bad)) {
        good = bad;
        bad = bad > search->longest / 2 ? search->longest : bad * 2;
    }
    if (bad == search->longest && !holds(search, test, bad))
        return bad;
    while (bad - good > 1) {
        int middle = good + (bad - good) / 2;
        if (holds(search, test, middle))
            bad = middle;
        else
            good = middle;
    }
    return good;
}

static void write_limit(FILE *csv, const char *limit, long long bytes, const char *source) {
    fprintf(csv, "%s,%lld,%s\n", limit, bytes, source);
    printf("%-14s %12lld B  %s\n", limit, bytes, source);
}

/* Both ranks search; rank 0 writes. */
static void find_limits(struct search *search, FILE *csv, const char *folder, enum method method,
                        const struct variable *variable) {
    char source[192] = "deadlock and corruption tests", name[4096];
    long long asynchronous = 0, synchronous = 0;
    int confirmed = 0, said = variable && variable->value < search->longest ? (int)variable->value : 0;
    said = agreed(search, method == TESTS ? 0 : said);
    search->said = said;
    if (method == VARIABLES) {
        if (search->rank == 0 && !said)
            fail("no control variable of this library is known to hold the eager limit; --method tests measures it");
        asynchronous = synchronous = said;
        confirmed = 1;
    } else if (said && !holds(search, deadlocks, said) && holds(search, deadlocks, said + 1) && !holds(search, corrupts, said)) {
        asynchronous = synchronous = said;
        confirmed = 2;
    } else {
        synchronous = longest_without(search, deadlocks);
        asynchronous = longest_without(search, corrupts);
        asynchronous = asynchronous < synchronous ? asynchronous : synchronous;
    }
    if (search->rank)
        return;
    if (!confirmed && said && asynchronous == said)
        snprintf(source, sizeof source, "control variable %.100s, deadlock and corruption tests", variable->name);
    if (confirmed)
        snprintf(source, sizeof source, "control variable %.100s%s", variable->name, confirmed == 2 ? " and tests" : "");
    write_limit(csv, "asynchronous", asynchronous, source);
    write_limit(csv, "detached", synchronous, source);
    if (synchronous == search->longest)
        printf("no synchronous message up to %d B: --longest tries longer ones\n", search->longest);
    snprintf(name, sizeof name, "%s/thresholds.xml", folder);
    FILE *xml = opened(name, "w");
    fprintf(xml,
            "<?xml version=\"1.0\"?>\n<!-- longest messages of each kind, from %s -->\n<config id=\"Config\">\n"
            " <eager_threshold value=\"%lld\"/>\n <detached_threshold value=\"%lld\"/>\n</config>\n",
            source, asynchronous, synchronous);
    closed(xml);
}

static enum method method_named(const char *name) {
    static const char *const names[] = {"auto", "variables", "tests"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(name, names[i]))
            return (enum method)i;
    fail("--method %s: known: auto, variables, tests", name);
    return AUTO;
}

int main(int count, char **words) {
    int ranks;
    struct search search;
    FILE *csv = NULL;
    const struct variable *variable = NULL;
    struct variable variables[VARIABLES_MOST];
    char name[4096];
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &search.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check_flags(count, words, " --out --partner --method --wait --longest ");
    const char *folder = value_of(count, words, "--out", ".");
    enum method method = method_named(value_of(count, words, "--method", "auto"));
    search.partner = atoi(value_of(count, words, "--partner", "1"));
    search.wait = atof(value_of(count, words, "--wait", "0.2"));
    search.longest = atoi(value_of(count, words, "--longest", "1000000"));
    if (search.partner < 1 || search.partner >= ranks || search.wait <= 0 || search.longest < 2)
        fail("usage: thresholds --out DIR [--partner RANK] [--longest BYTES] [--wait S]: rank %d of %d", search.partner, ranks);
    int *host_of = allocated((size_t)ranks * sizeof *host_of);
    hosts_of_ranks(host_of);
    int within = host_of[0] == host_of[search.partner];
    free(host_of);
    if (search.rank == 0) {
        int found = control_variables(variables);
        variable = limit_of(variables, found, within ? WITHIN : BETWEEN);
        snprintf(name, sizeof name, "%s/thresholds.csv", folder);
        csv = opened(name, "w");
        fputs("limit,bytes,source\n", csv);
        for (int i = 0; i < found; i++)
            fprintf(csv, "variable,%lld,%s\n", variables[i].value, variables[i].name);
    }
    if (search.rank == 0 || search.rank == search.partner) {
        search.out = allocated((size_t)search.longest + 1);
        search.in = allocated((size_t)search.longest + 1);
        memset(search.out, 0, (size_t)search.longest + 1);
        find_limits(&search, csv, folder, method, variable);
        free(search.out);
        free(search.in);
    }
    if (csv)
        closed(csv);
    MPI_Finalize();
    return 0;
}
