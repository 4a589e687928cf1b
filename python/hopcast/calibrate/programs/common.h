/* Parts that the measuring programs share: failure, the clock, waiting, and a host for each rank. */
#ifndef HOPCAST_CALIBRATE_COMMON_H
#define HOPCAST_CALIBRATE_COMMON_H

#include <errno.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Waits without occupying the processor, which another process may need for what is waited for. */
static inline void pause_for(double seconds) {
    struct timespec rest;
    if (seconds <= 0)
        return;
    rest.tv_sec = (time_t)seconds;
    rest.tv_nsec = (long)((seconds - (double)rest.tv_sec) * 1e9);
    while (nanosleep(&rest, &rest) && errno == EINTR)
        ;
}

/* Seconds from a last word to the end: a launcher that is told to abort drops what it has not yet read. */
#define LAST_WORD_S 1.0

/* Says in one line why the program ends, and ends all ranks. */
static inline void fail(const char *format, ...) {
    char text[1024];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    fprintf(stderr, "error: %s\n", text);
    fflush(stderr);
    pause_for(LAST_WORD_S);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

static inline void *allocated(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        fail("%zu bytes of memory are not there", bytes);
    return memory;
}

static inline FILE *opened(const char *name, const char *mode) {
    FILE *file = fopen(name, mode);
    if (!file)
        fail("%s: %s (the directory of results must be one that rank 0's host sees, too)", name, strerror(errno));
    return file;
}

/* Closes a file that was written: what a full disk has not taken is a failure. */
static inline void closed(FILE *file) {
    int failed = ferror(file);
    if (fclose(file) || failed)
        fail("results cannot be written: %s", strerror(errno));
}

/* Least difference of the clock that shows in some looks at it; in simulated time, which stands meanwhile, its tick. */
static inline double clock_step(void) {
    double least = 0, last = MPI_Wtime();
    for (int look = 0; look < 500; look++) {
        double now = MPI_Wtime();
        if (now > last && (least == 0 || now - last < least))
            least = now - last;
        last = now;
    }
    return least > 0 ? least : MPI_Wtick();
}

/* Ends the program for words that are not pairs of a flag of `known` (flags between spaces), each once, and its value. */
static inline void check_flags(int count, char **words, const char *known) {
    for (int i = 1; i < count; i += 2) {
        char flag[64];
        snprintf(flag, sizeof flag, " %.60s ", words[i]);
        if (!strstr(known, flag) || strchr(words[i], ' '))
            fail("unknown word %s; known:%s", words[i], known);
        if (i + 1 == count)
            fail("%s: its value is missing", words[i]);
        for (int before = 1; before < i; before += 2)
            if (!strcmp(words[before], words[i]))
                fail("%s: set already, to %s", words[i], words[before + 1]);
    }
}

/* The value behind a flag, or what it is without. */
static inline const char *value_of(int count, char **words, const char *flag, const char *without) {
    for (int i = 1; i + 1 < count; i++)
        if (!strcmp(words[i], flag))
            return words[i + 1];
    return without;
}

/* Number of the host of each rank, hosts being numbered in the order of their first ranks. Gives how many there are. */
static inline int hosts_of_ranks(int *host_of) {
    int rank, ranks, leader, hosts = 0;
    MPI_Comm host;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
    leader = rank;
    MPI_Bcast(&leader, 1, MPI_INT, 0, host);
    MPI_Comm_free(&host);
    MPI_Allgather(&leader, 1, MPI_INT, host_of, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++) {
        int first = host_of[i];
        host_of[i] = first == i ? hosts++ : host_of[first];
    }
    return hosts;
}

#endif
