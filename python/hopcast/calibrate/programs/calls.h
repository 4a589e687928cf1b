/* Lines of traced calls: `calls.c` is written for the traced functions, and includes this file.
 *
 * It defines _GNU_SOURCE and FOLDER, the directory of the results, before.
 */
#ifndef HOPCAST_CALIBRATE_CALLS_H
#define HOPCAST_CALIBRATE_CALLS_H

#include "entry.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FLUSH_S 0.5

static _Thread_local int hopcast_depth;
static pthread_mutex_t hopcast_opening = PTHREAD_MUTEX_INITIALIZER;

static double hopcast_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static const char *hopcast_node(void) {
    static char name[256];
    if (!name[0])
        gethostname(name, sizeof name - 1);
    return name;
}

static void *hopcast_real_function(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "error: no shared library has the function %s\n", name);
        abort();
    }
    return found;
}

static FILE *hopcast_opened(FILE **file, const char *name) {
    pthread_mutex_lock(&hopcast_opening);
    if (!*file) {
        char place[4096];
        snprintf(place, sizeof place, "%s/%s-%s-%d.csv", FOLDER, name, hopcast_node(), (int)getpid());
        *file = fopen(place, "w");
        if (!*file) {
            perror(place);
            abort();
        }
    }
    pthread_mutex_unlock(&hopcast_opening);
    return *file;
}

/* A line of a call; what is written stays, whatever ends the process later. */
#define hopcast_note(file, name, begun, ended, ...) \
    do { \
        static double flushed; \
        fprintf(hopcast_opened(file, name), __VA_ARGS__); \
        if (ended - flushed > FLUSH_S) { \
            fflush(*(file)); \
            flushed = ended; \
        } \
    } while (0)

/* Redirects the executable's function; FOLDER/NAME.state says what became of it, once for each process. */
static void *hopcast_redirected(const char *name, const void *replacement) {
    char why[512], place[4096];
    void *found = hopcast_redirect(name, replacement, why, sizeof why);
    if (!found && !why[0])
        return NULL;
    snprintf(place, sizeof place, "%s/%s.state", FOLDER, name);
    FILE *file = fopen(place, "a");
    if (file) {
        fprintf(file, "%s\n", why);
        fclose(file);
    }
    return found;
}

#endif
