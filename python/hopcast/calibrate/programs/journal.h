/* Results in several files that grow together: a line of the journal says up to where all of them are complete.
 *
 * A line of DIR/journal.csv is `measurements,seconds,bytes of file 1,bytes of file 2,…`. Who goes on with a run that
 * was cut truncates the files to the last complete line, and starts with the next measurement. */
#ifndef HOPCAST_CALIBRATE_JOURNAL_H
#define HOPCAST_CALIBRATE_JOURNAL_H

#include "common.h"
#include <unistd.h>

#define JOURNAL_FILES_MOST 16
#define JOURNAL_SECONDS 0.2

struct journal {
    FILE *lines;
    FILE *files[JOURNAL_FILES_MOST];
    int count;
    double begun;
    double written;
};

/* Opens DIR/journal.csv; times count from the one that a run has reached before it was cut. */
static inline void journal_open(struct journal *journal, const char *folder, double seconds_before) {
    char name[4096];
    snprintf(name, sizeof name, "%s/journal.csv", folder);
    journal->lines = opened(name, "a");
    journal->count = 0;
    journal->begun = MPI_Wtime() - seconds_before;
    journal->written = MPI_Wtime();
}

static inline FILE *journal_file(struct journal *journal, const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return journal->files[journal->count++] = opened(path, "a");
}

/* Writes what there is, so that a run that is cut now has `done` measurements. */
static inline void journal_write(struct journal *journal, long done) {
    for (int i = 0; i < journal->count; i++)
        if (fflush(journal->files[i]))
            fail("results cannot be written: %s", strerror(errno));
    fprintf(journal->lines, "%ld,%.6f", done, MPI_Wtime() - journal->begun);
    for (int i = 0; i < journal->count; i++)
        fprintf(journal->lines, ",%ld", (fseek(journal->files[i], 0, SEEK_END), ftell(journal->files[i])));
    fputs("\n", journal->lines);
    if (fflush(journal->lines))
        fail("results cannot be written: %s", strerror(errno));
    journal->written = MPI_Wtime();
}

/* The same where the last time is a while ago. */
static inline void journal_tick(struct journal *journal, long done) {
    if (MPI_Wtime() - journal->written > JOURNAL_SECONDS)
        journal_write(journal, done);
}

static inline void journal_close(struct journal *journal) {
    for (int i = 0; i < journal->count; i++)
        closed(journal->files[i]);
    closed(journal->lines);
}

#endif
