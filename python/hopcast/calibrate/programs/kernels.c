/* Calls of BLAS by all processes at once, so that all cores are busy: how long each takes.
 *
 *   kernels --design FILE --out DIR
 *
 * Lines of the design are `FUNCTION,M,N,K`, calls in the order of the file, on matrices of random numbers. Routines of
 * two dimensions take M and N (dtrsm: a triangle of order M to the left), of one N; in the table the others are 1, and K
 * of dtrsm is M. Link with a BLAS.
 * Rank 0 writes DIR/kernels.csv: `function,m,n,k,start,duration,processor_s,node,cpu,rank`: processor_s is the time of the
 * processor that the call had, less than its duration where other programs had the core meanwhile; cpu is the chip of the
 * process. */
#include "common.h"
#include "places.h"
#include <stdint.h>

#define TAG 1
#define CALLS_MOST 1000000
#define GATHERED_AT_ONCE 100000
#define TOGETHER 100 /* calls between two barriers */

extern void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
                   const int *, const double *, const int *, const double *, double *, const int *);
extern void dtrsm_(const char *, const char *, const char *, const char *, const int *, const int *, const double *,
                   const double *, const int *, double *, const int *);
extern void dgemv_(const char *, const int *, const int *, const double *, const double *, const int *, const double *,
                   const int *, const double *, double *, const int *);
extern void dger_(const int *, const int *, const double *, const double *, const int *, const double *, const int *,
                  double *, const int *);
extern void dtrsv_(const char *, const char *, const char *, const int *, const double *, const int *, double *,
                   const int *);
extern void dswap_(const int *, double *, const int *, double *, const int *);
extern void daxpy_(const int *, const double *, const double *, const int *, double *, const int *);
extern void dscal_(const int *, const double *, double *, const int *);
extern int idamax_(const int *, const double *, const int *);

static const char *FUNCTIONS[] = {"dgemm", "dtrsm", "dgemv", "dger", "dtrsv", "dswap", "daxpy", "dscal", "idamax"};
enum function { DGEMM, DTRSM, DGEMV, DGER, DTRSV, DSWAP, DAXPY, DSCAL, IDAMAX, UNKNOWN };

struct call {
    int function, m, n, k;
};

struct row {
    double start, duration, processor;
};

/* Time of the processors that this process has had: a BLAS may have threads, of which the calling one may sleep. */
static double processor_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int read_design(const char *name, struct call *calls) {
    FILE *file = opened(name, "r");
    int count = 0, fields;
    char function[32];
    struct call call;
    while ((fields = fscanf(file, " %31[^,],%d,%d,%d", function, &call.m, &call.n, &call.k)) == 4) {
        for (call.function = 0; call.function < UNKNOWN && strcmp(function, FUNCTIONS[call.function]);)
            call.function++;
        if (call.function == UNKNOWN || call.m < 1 || call.n < 1 || call.k < 1)
            fail("%s:%d: '%s,%d,%d,%d' is no call: lines 'FUNCTION,M,N,K'", name, count + 1, function, call.m, call.n,
                 call.k);
        if (count == CALLS_MOST)
            fail("%s: more than %d lines", name, CALLS_MOST);
        calls[count++] = call;
    }
    if (fields != EOF || !count)
        fail("%s:%d: no line 'FUNCTION,M,N,K'", name, count + 1);
    fclose(file);
    return count;
}

/* The dimensions that a function has. */
static struct call used(struct call call) {
    if (call.function >= DTRSV)
        call.m = 1;
    if (call.function != DGEMM)
        call.k = call.function == DTRSM ? call.m : 1;
    return call;
}

/* Doubles of the largest of the three matrices of a call. */
static size_t largest(struct call call) {
    size_t m = (size_t)call.m, n = (size_t)call.n, k = (size_t)call.k, order = call.function == DTRSV ? n : m;
    size_t most = m * n > m * k ? m * n : m * k;
    most = n * k > most ? n * k : most;
    return call.function == DTRSM || call.function == DTRSV ? (order * order > most ? order * order : most) : most;
}

/* Numbers from 0 to `most`, the same in every run. */
static double *random_numbers(size_t count, double most, uint64_t state) {
    double *numbers = allocated(count * sizeof *numbers);
    for (size_t i = 0; i < count; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        numbers[i] = most * (double)(state >> 11) / 9007199254740992.0;
    }
    return numbers;
}

static volatile int kept; /* Else idamax, whose result nobody needs, might not be called. */

static void perform(const struct call *call, const double *a, double *b, double *c) {
    const int m = call->m, n = call->n, k = call->k, one = 1;
    const double scale = 1.0, small = 1e-9;
    switch (call->function) {
    case DGEMM: dgemm_("N", "N", &m, &n, &k, &scale, a, &m, b, &k, &scale, c, &m); break;
    case DTRSM: dtrsm_("L", "L", "N", "U", &m, &n, &scale, a, &m, c, &m); break;
    case DGEMV: dgemv_("N", &m, &n, &scale, a, &m, b, &one, &small, c, &one); break;
    case DGER: dger_(&m, &n, &small, a, &one, b, &one, c, &m); break;
    case DTRSV: dtrsv_("L", "N", "U", &n, a, &n, c, &one); break;
    case DSWAP: dswap_(&n, b, &one, c, &one); break;
    case DAXPY: daxpy_(&n, &small, b, &one, c, &one); break;
    case DSCAL: dscal_(&n, &scale, c, &one); break;
    default: kept = idamax_(&n, a, &one);
    }
}

static void write_rows(const struct call *calls, const struct row *rows, int count, FILE *file, int rank,
                       const struct places *places) {
    for (int i = 0; i < count; i++)
        fprintf(file, "%s,%d,%d,%d,%.9f,%.9e,%.9e,%d,%d,%d\n", FUNCTIONS[calls[i].function], calls[i].m, calls[i].n, calls[i].k,
                rows[i].start, rows[i].duration, rows[i].processor, places->node[rank], places->chip[rank], rank);
}

/* Rows of all ranks, a part at a time: a message has 2 GiB at most, and rank 0 little memory to spare. */
static void gather(const struct call *calls, struct row *rows, int count, const char *folder) {
    int rank, ranks;
    FILE *file = NULL;
    char path[4096];
    struct places places = find_places(NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) {
        snprintf(path, sizeof path, "%s/kernels.csv", folder);
        file = opened(path, "w");
        fputs("function,m,n,k,start,duration,processor_s,node,cpu,rank\n", file);
    }
    for (int other = 0; other < ranks; other++)
        for (int first = 0; first < count; first += GATHERED_AT_ONCE) {
            int part = count - first < GATHERED_AT_ONCE ? count - first : GATHERED_AT_ONCE;
            int bytes = (int)((size_t)part * sizeof *rows);
            if (rank == other && rank)
                MPI_Send(rows + first, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
            /* Rank 0's own rows are written first, and their place is free then. */
            if (rank == 0 && other)
                MPI_Recv(rows + first, bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 0)
                write_rows(calls + first, rows + first, part, file, other, &places);
        }
    if (file)
        closed(file);
    free_places(&places);
}

int main(int words, char **word) {
    int rank, count = 0;
    size_t most = 1;
    MPI_Init(&words, &word);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check_flags(words, word, " --design --out ");
    const char *design = value_of(words, word, "--design", NULL), *folder = value_of(words, word, "--out", NULL);
    if (!design || !folder)
        fail("usage: kernels --design FILE --out DIR");
    struct call *calls = allocated(CALLS_MOST * sizeof *calls);
    if (rank == 0)
        count = read_design(design, calls);
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(calls, count * (int)sizeof *calls, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        calls[i] = used(calls[i]);
        most = largest(calls[i]) > most ? largest(calls[i]) : most;
    }
    struct row *rows = allocated((size_t)count * sizeof *rows);
    /* Numbers so small that the solution of a triangle does not grow. */
    double *a = random_numbers(most, 1e-4, 88172645463325252u + (uint64_t)rank);
    double *b = random_numbers(most, 1, 362436069u + (uint64_t)rank), *c = random_numbers(most, 1, 521288629u + (uint64_t)rank);
    double begun = MPI_Wtime();
    for (int i = 0; i < count; i++) {
        /* Else fast processes would be done long before the others, which then had a machine that is half idle. */
        if (i % TOGETHER == 0)
            MPI_Barrier(MPI_COMM_WORLD);
        double had = processor_time(), start = MPI_Wtime();
        perform(&calls[i], a, b, c);
        double duration = MPI_Wtime() - start, processor = processor_time() - had;
#ifdef HOPCAST
        processor = duration; /* What the simulating machine's processor does is not the simulated one's time. */
#endif
        rows[i] = (struct row){start - begun, duration, processor};
    }
    gather(calls, rows, count, folder);
    free(rows), free(a), free(b), free(c), free(calls);
    MPI_Finalize();
    return 0;
}
