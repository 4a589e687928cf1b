/* Ping-pongs of 1 to all processes of a node at once with a neighbour: along each dimension of the interconnect,
 * and between the chips of a node. Where all processes are on one chip, its first half with the second.
 *
 *   nodecomm [-v] [-d] [-pm] [-pname FILE] [-map FILE] [-o | -o2] [-sizes N,…] [-ntest N] [-ntestlong N]
 *            [-pairs K,…] [-masters R,… -partners R,…] [-limit S] [-csv FILE] [-together] [-stream]
 *
 * A message has a length in C ints; a time is one full round trip: the mean over the repetitions, and the maximum over
 * all processes. There is no warm-up, and pairs are not synchronised between repetitions.
 *
 *   -sizes      lengths in ints (1, 2, 4, … 65,536)       -v       says what is measured
 *   -ntest      repetitions (10,000)                      -d       says how partners were found
 *   -ntestlong  those above 10,000 ints (100)             -pm      prints host, chip and coordinates of each process
 *   -pairs      numbers of pairs at once (1 to all)       -pname   the same into FILE
 *   -limit      begins no length after this time [s]      -map     reads coordinates: lines `RANK X Y …`
 *   -masters    ranks of the pairs, which are found else; -partners has as many
 *   -csv        a table beside the text; the clock is then read after each repetition, too
 *   -together   pairs begin at one time of the clock instead of behind a barrier, which lets some go sooner, and the
 *               other processes send nothing meanwhile, not even what the reduction behind it needs
 *   -stream     masters send, one message behind the other, and partners answer the last one: pairs whose ping-pongs drift
 *               apart share a NIC that carries both ways at once less than they would; times are of two messages
 *   -o, -o2     communication that overlaps work on 10 n, or n², doubles: three times for each number of pairs
 *
 * After William Gropp's nodecomm (baseenv/haloperf): "Modeling MPI communication performance on SMP nodes", EuroMPI 2016;
 * written anew from its description. */
#include "common.h"
#include "places.h"

#define TABLE_MOST 64
#define LONG_INTS 10000
#define WORK_MOST 10000000
#define TOGETHER_SECONDS 1e-3
#define QUIET_TAG 32767

enum overlap { ALONE, WORK_LINEAR, WORK_SQUARE };

struct options {
    int sizes[TABLE_MOST], size_count;
    int pairs[TABLE_MOST], pair_count;
    int masters[TABLE_MOST], master_count;
    int partners[TABLE_MOST], partner_count;
    int repetitions, repetitions_long;
    enum overlap overlap;
    int verbose, debug, print_map, together, stream;
    const char *map_in, *map_out, *csv;
    double limit;
};

struct block {
    int number;
    int *masters, *partners, pairs;
    const char *dimension;
};

/* Times of one process: of the whole loop, and of each repetition where a table is wanted. */
struct times {
    double mean;
    double *each;
};

struct overlapped {
    double communication, work, both;
};

static int numbers(const char *text, int least, int *values, const char *flag) {
    int count = 0;
    for (char *end; *text; text = *end == ',' ? end + 1 : end) {
        long value = strtol(text, &end, 10);
        if (end == text || (*end && *end != ',') || value < least || value > 100000000)
            fail("%s %s: whole numbers from %d to 100000000, with commas", flag, text, least);
        if (count == TABLE_MOST)
            fail("%s: more than %d numbers", flag, TABLE_MOST);
        values[count++] = (int)value;
    }
    return count;
}

static int whole(const char *text, const char *flag) {
    int values[TABLE_MOST];
    if (numbers(text, 1, values, flag) != 1)
        fail("%s %s: one whole number", flag, text);
    return values[0];
}

static struct options read_options(int count, char **words) {
    struct options options = {.repetitions = 10000, .repetitions_long = 100, .limit = 1e300};
    static const char *valued[] = {"-pname", "-map",     "-sizes",    "-ntest", "-ntestlong",
                                   "-pairs", "-masters", "-partners", "-limit", "-csv"};
    for (int i = 1; i < count; i++) {
        const char *flag = words[i], *value = i + 1 < count ? words[i + 1] : NULL;
        for (size_t k = 0; k < sizeof valued / sizeof *valued; k++)
            if (!strcmp(flag, valued[k]) && !value)
                fail("%s: its value is missing", flag);
        if (!strcmp(flag, "-v")) options.verbose = 1;
        else if (!strcmp(flag, "-d")) options.debug = 1;
        else if (!strcmp(flag, "-pm")) options.print_map = 1;
        else if (!strcmp(flag, "-together")) options.together = 1;
        else if (!strcmp(flag, "-stream")) options.stream = 1;
        else if (!strcmp(flag, "-o")) options.overlap = WORK_LINEAR;
        else if (!strcmp(flag, "-o2")) options.overlap = WORK_SQUARE;
        else if (!strcmp(flag, "-pname")) options.map_out = words[++i];
        else if (!strcmp(flag, "-map")) options.map_in = words[++i];
        else if (!strcmp(flag, "-csv")) options.csv = words[++i];
        else if (!strcmp(flag, "-sizes")) options.size_count = numbers(words[++i], 1, options.sizes, flag);
        else if (!strcmp(flag, "-pairs")) options.pair_count = numbers(words[++i], 1, options.pairs, flag);
        else if (!strcmp(flag, "-masters")) options.master_count = numbers(words[++i], 0, options.masters, flag);
        else if (!strcmp(flag, "-partners")) options.partner_count = numbers(words[++i], 0, options.partners, flag);
        else if (!strcmp(flag, "-ntest")) options.repetitions = whole(words[++i], flag);
        else if (!strcmp(flag, "-ntestlong")) options.repetitions_long = whole(words[++i], flag);
        else if (!strcmp(flag, "-limit")) options.limit = atof(words[++i]);
        else fail("nodecomm: unknown option '%s'; known: -v -d -pm -pname -map -o -o2 -sizes -ntest -ntestlong -pairs "
                  "-masters -partners -limit -csv -together -stream", flag);
    }
    if (!options.size_count)
        for (int size = 1; size <= 65536; size *= 2)
            options.sizes[options.size_count++] = size;
    return options;
}

/* Place of a rank in a list, or -1. */
static int place_in(const int *list, int count, int rank) {
    for (int i = 0; i < count; i++)
        if (list[i] == rank)
            return i;
    return -1;
}

/* Peer of this rank among the first `active` pairs, or -1; `*first` tells the side that sends first. */
static int peer_of(const struct block *block, int active, int rank, int *first) {
    int place = place_in(block->masters, active, rank);
    *first = place >= 0;
    if (*first)
        return block->partners[place];
    place = place_in(block->partners, active, rank);
    return place >= 0 ? block->masters[place] : -1;
}

static void ping_pongs(int peer, int first, int ints, int repetitions, int *buffer, struct times *times) {
    double begun = MPI_Wtime(), last = begun;
    for (int repetition = 0; repetition < repetitions; repetition++) {
        int tag = repetition % 32767;
        if (first) {
            MPI_Send(buffer, ints, MPI_INT, peer, tag, MPI_COMM_WORLD);
            MPI_Recv(buffer, ints, MPI_INT, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer, ints, MPI_INT, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, ints, MPI_INT, peer, tag, MPI_COMM_WORLD);
        }
        if (times->each) {
            double now = MPI_Wtime();
            times->each[repetition] = now - last;
            last = now;
        }
    }
    times->mean = (MPI_Wtime() - begun) / repetitions;
}

/* Messages one way; each counts twice, as in a round trip, and the last one's answer with it. */
static void streams(int peer, int first, int ints, int repetitions, int *buffer, struct times *times) {
    double begun = MPI_Wtime(), last = begun;
    for (int repetition = 0; repetition < repetitions; repetition++) {
        if (first)
            MPI_Send(buffer, ints, MPI_INT, peer, repetition % 32767, MPI_COMM_WORLD);
        else
            MPI_Recv(buffer, ints, MPI_INT, peer, repetition % 32767, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (repetition == repetitions - 1 && first)
            MPI_Recv(NULL, 0, MPI_INT, peer, QUIET_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else if (repetition == repetitions - 1)
            MPI_Send(NULL, 0, MPI_INT, peer, QUIET_TAG, MPI_COMM_WORLD);
        if (times->each) {
            double now = MPI_Wtime();
            times->each[repetition] = 2 * (now - last);
            last = now;
        }
    }
    times->mean = 2 * (MPI_Wtime() - begun) / repetitions;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Rows of the table for one length and number of pairs, from the repetitions of all processes that took part. */
static void write_rows(FILE *csv, const struct block *block, int ints, int active, double *all, int count, double slowest,
                       int repetitions) {
    double sum = 0;
    qsort(all, (size_t)count, sizeof *all, by_value);
    for (int i = 0; i < count; i++)
        sum += all[i];
    const struct {
        const char *name;
        double value;
    } rows[] = {{"min", all[0]},
                {"median", count % 2 ? all[count / 2] : (all[count / 2 - 1] + all[count / 2]) / 2},
                {"mean", sum / count},
                {"max", all[count - 1]},
                {"slowest-process", slowest}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        fprintf(csv, "%d,%s,%zu,%d,%s,%.9e,%.9e,%d\n", block->number, block->dimension, (size_t)ints * sizeof(int), active,
                rows[i].name, rows[i].value, rows[i].value / 2, repetitions);
}

/* Round trips of all processes that took part, `*total` of them, at rank 0. The first repetition of who receives first
 * is none: it begins when the process comes to it. */
static double *gathered(const struct times *times, int taking_part, int first, int repetitions, int active, int *total) {
    int rank, ranks, skipped = first ? 0 : 1, mine = taking_part ? repetitions - skipped : 0, at = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int *counts = allocated((size_t)ranks * sizeof *counts), *starts = allocated((size_t)ranks * sizeof *starts);
    double *all = rank ? NULL : allocated((size_t)repetitions * 2 * (size_t)active * sizeof *all);
    MPI_Gather(&mine, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; !rank && i < ranks; at += counts[i++])
        starts[i] = at;
    *total = at;
    MPI_Gatherv(times->each + skipped, mine, MPI_DOUBLE, all, counts, starts, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    free(counts);
    free(starts);
    return all;
}

/* Lets all processes begin: behind a barrier or, where their clocks are one, at one time. */
static void begin(const struct options *options) {
    double start = MPI_Wtime() + TOGETHER_SECONDS;
    MPI_Barrier(MPI_COMM_WORLD);
    if (options->together) {
        MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        pause_for(start - MPI_Wtime());
    }
}

/* Keeps processes without a pair quiet until rank 0, which has one, is done. */
static void stay_quiet(const struct options *options, const struct block *block, int active) {
    int rank, ranks, first;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!options->together)
        return;
    if (peer_of(block, active, rank, &first) < 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 0, QUIET_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int other = 1; rank == 0 && other < ranks; other++)
        if (peer_of(block, active, other, &first) < 0)
            MPI_Send(NULL, 0, MPI_BYTE, other, QUIET_TAG, MPI_COMM_WORLD);
}

/* One number of the text: `active` pairs at once. */
static void measure_pairs(const struct options *options, const struct block *block, int ints, int active, int *buffer,
                          FILE *csv) {
    int rank, first, repetitions = ints > LONG_INTS ? options->repetitions_long : options->repetitions;
    struct times times = {0, options->csv ? allocated((size_t)repetitions * sizeof(double)) : NULL};
    double slowest;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int peer = peer_of(block, active, rank, &first);
    begin(options);
    if (peer >= 0)
        (options->stream ? streams : ping_pongs)(peer, first, ints, repetitions, buffer, &times);
    stay_quiet(options, block, active);
    MPI_Allreduce(&times.mean, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.2e\t", slowest);
    if (options->csv) {
        int total;
        double *all = gathered(&times, peer >= 0, first, repetitions, active, &total);
        if (rank == 0)
            write_rows(csv, block, ints, active, all, total, slowest, repetitions);
        free(all);
    }
    free(times.each);
}

static void work_on(double *array, size_t count) {
    for (size_t i = 0; i < count; i++)
        array[i] = array[i] * 0.5 + 1.0;
}

static void exchange(int peer, int ints, int tag, int *buffer, double *array, size_t work) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(buffer + ints, ints, MPI_INT, peer, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(buffer, ints, MPI_INT, peer, tag, MPI_COMM_WORLD, &requests[1]);
    work_on(array, work);
    MPI_Waitall(2, requests, statuses);
}

/* Three numbers of the text: communication, work, and both together, each the maximum over all processes. */
static void measure_overlap(const struct options *options, const struct block *block, int ints, int active, int *buffer,
                            double *array, size_t work) {
    int rank, first, repetitions = ints > LONG_INTS ? options->repetitions_long : options->repetitions;
    double mine[3] = {0, 0, 0}, slowest[3];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int peer = peer_of(block, active, rank, &first);
    for (int part = 0; part < 3; part++) {
        begin(options);
        if (peer < 0)
            continue;
        double begun = MPI_Wtime();
        for (int repetition = 0; repetition < repetitions; repetition++)
            if (part == 1)
                work_on(array, work);
            else
                exchange(peer, ints, repetition % 32767, buffer, array, part == 0 ? 0 : work);
        mine[part] = (MPI_Wtime() - begun) / repetitions;
    }
    MPI_Allreduce(mine, slowest, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.2e\t%.2e\t%.2e\t", slowest[0], slowest[1], slowest[2]);
}

static size_t work_of(const struct options *options, int ints) {
    double wanted = options->overlap == WORK_SQUARE ? (double)ints * ints : 10.0 * ints;
    return (size_t)(wanted < WORK_MOST ? wanted : WORK_MOST);
}

static void print_list(const char *name, const int *list, int count) {
    printf("%s", name);
    for (int i = 0; i < count; i++)
        printf("%s%d", i ? ", " : " ", list[i]);
    printf("\n");
}

/* True on all ranks where rank 0's time is up. */
static int time_is_up(double begun, double limit) {
    int over = MPI_Wtime() - begun > limit;
    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return over;
}

static void measure_block(const struct options *options, const struct block *block, double begun, FILE *csv) {
    int rank, longest = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < options->size_count; i++)
        longest = options->sizes[i] > longest ? options->sizes[i] : longest;
    int *buffer = allocated(2 * (size_t)longest * sizeof(int));
    size_t work = options->overlap ? work_of(options, longest) : 1;
    double *array = allocated(work * sizeof *array);
    memset(buffer, 0, 2 * (size_t)longest * sizeof(int));
    memset(array, 0, work * sizeof *array);
    if (rank == 0) {
        printf("Pingpong for\n");
        print_list("master: ", block->masters, block->pairs);
        print_list("partner:", block->partners, block->pairs);
        if (options->verbose)
            printf("# along %s; ints, then the round trip [s] of each number of pairs\n", block->dimension);
    }
    for (int i = 0; i < options->size_count; i++) {
        if (time_is_up(begun, options->limit)) {
            if (rank == 0)
                fprintf(stderr, "nodecomm: the limit of %g s is over before %d ints of block %d: the rest is missing\n",
                        options->limit, options->sizes[i], block->number);
            break;
        }
        if (rank == 0)
            printf("%d\t", options->sizes[i]);
        for (int k = 0; k < (options->pair_count ? options->pair_count : block->pairs); k++) {
            int active = options->pair_count ? options->pairs[k] : k + 1;
            if (active > block->pairs)
                continue;
            if (options->overlap)
                measure_overlap(options, block, options->sizes[i], active, buffer, array, work_of(options, options->sizes[i]));
            else
                measure_pairs(options, block, options->sizes[i], active, buffer, csv);
        }
        if (rank == 0) {
            printf("\n");
            fflush(stdout);
        }
    }
    free(buffer);
    free(array);
}

/* The block of the pairs that were named. */
static void take_pairs(const struct options *options, struct block *block, int ranks) {
    int *all = allocated((size_t)ranks * sizeof *all);
    memset(all, 0, (size_t)ranks * sizeof *all);
    if (options->master_count != options->partner_count || 2 * options->master_count > ranks)
        fail("nodecomm: -masters names %d ranks and -partners %d: as many, and of %d ranks each once", options->master_count,
             options->partner_count, ranks);
    for (int i = 0; i < 2 * options->master_count; i++) {
        int rank = i % 2 ? options->partners[i / 2] : options->masters[i / 2];
        if (rank >= ranks || all[rank]++)
            fail("nodecomm: -masters and -partners: rank %d is %s", rank, rank >= ranks ? "not there" : "named twice");
        (i % 2 ? block->partners : block->masters)[i / 2] = rank;
    }
    free(all);
    block->pairs = options->master_count;
    block->number = 1;
    block->dimension = "named";
}

int main(int count, char **words) {
    int rank;
    FILE *csv = NULL;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double begun = MPI_Wtime();
    struct options options = read_options(count, words);
    if (options.csv && options.overlap)
        fail("nodecomm: -csv holds round trips: not with -o or -o2");
    if (options.together) {
        int *global, set;
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &global, &set);
        if (!set || !*global)
            fail("nodecomm: -together: the clocks of the processes are not one (MPI_WTIME_IS_GLOBAL)");
    }
    struct places places = find_places(options.map_in);
    if (rank == 0 && options.print_map)
        print_places(stdout, &places);
    if (rank == 0 && options.map_out) {
        FILE *map = opened(options.map_out, "w");
        print_places(map, &places);
        closed(map);
    }
    if (rank == 0 && options.csv) {
        csv = opened(options.csv, "w");
        fputs("block,dimension,bytes,pairs,statistic,seconds,one_way_seconds,repetitions\n", csv);
    }
    struct block block = {.masters = allocated((size_t)places.ranks * sizeof(int)),
                          .partners = allocated((size_t)places.ranks * sizeof(int))};
    if (options.master_count || options.partner_count) {
        take_pairs(&options, &block, places.ranks);
        measure_block(&options, &block, begun, csv);
    }
    for (int level = block.number ? places.levels + 1 : 0; level <= places.levels; level++) {
        int within_a_chip = level == places.levels;
        if (within_a_chip && block.number)
            break;
        block.pairs = within_a_chip ? pair_cores(&places, block.masters, block.partners)
                                    : pair_up(&places, level, block.masters, block.partners);
        if (rank == 0 && options.debug)
            printf("# level %s: %d pairs\n", places.names[level], block.pairs);
        if (!block.pairs)
            continue;
        block.number++;
        block.dimension = places.names[level];
        measure_block(&options, &block, begun, csv);
    }
    if (!block.number)
        fail("nodecomm: a process alone has no partner: start more");
    if (csv)
        closed(csv);
    free(block.masters);
    free(block.partners);
    free_places(&places);
    MPI_Finalize();
    return 0;
}
