/* The main program of a run of MPI programs: it loads the library with the simulator, and nothing else. It ends with
 * its parent, however that ends. With --bound it becomes another program, which gets a signal of choice when its parent
 * ends.
 *
 * A position-independent executable finds its thread-local variables at a fixed distance below the thread
 * pointer, where those of the main program are. So this program has exactly one, the pad, and the library
 * lays the variables of the simulated ranks into it (crates/libmpi/src/loader/tls.rs). It names no variable of
 * the C library (stderr), of which it would have a copy that hides the C library's own.
 *
 * usage: hopcast-launcher LIBRARY JOB RESULT
 *        hopcast-launcher --bound SIGNAL PARENT COMMAND...
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { PAD_BYTES = 65536 };

static _Thread_local char pad[PAD_BYTES] __attribute__((aligned(64)));

typedef int live_function(const char *job, const char *result, char *pad, size_t pad_bytes);
typedef int find_function(void *instruction, void *found);

static find_function *find_in_copies;

/* The unwinder of C++ finds this before the C library's: the copies of the program are known to the library
 * alone (crates/libmpi/src/loader/unwind.rs). */
int _dl_find_object(void *instruction, struct dl_find_object *found) {
    static find_function *find_in_libraries;
    if (find_in_copies && find_in_copies(instruction, found) == 0)
        return 0;
    if (!find_in_libraries)
        find_in_libraries = (find_function *)dlsym(RTLD_NEXT, "_dl_find_object");
    return find_in_libraries ? find_in_libraries(instruction, found) : -1;
}

/* A debugger stops here before the rank runs that it is for (crates/libmpi/src/live/debugger.rs). */
void hopcast_debugger_stops(void);
__attribute__((noinline)) void hopcast_debugger_stops(void) { __asm__ volatile(""); }

/* Becomes a command to which the kernel sends a signal when its parent ends. Fails if the parent has ended already: then
 * this process has another one. */
static int become(const char *signal_number, const char *parent, char **command) {
    prctl(PR_SET_PDEATHSIG, atoi(signal_number));
    if (getppid() != atoi(parent))
        return 70;
    execvp(command[0], command);
    int refused = errno;
    dprintf(2, "%s: %s\n", command[0], strerror(refused));
    return refused == ENOENT ? 127 : 126;
}

/* Hidden: to a debugger, `main` is the program's. */
__attribute__((visibility("hidden"))) int main(int argc, char **argv) {
    if (argc > 4 && strcmp(argv[1], "--bound") == 0)
        return become(argv[2], argv[3], argv + 4);
    if (argc != 4) {
        dprintf(2, "usage: hopcast-launcher LIBRARY JOB RESULT\n");
        return 2;
    }
    /* Ends with a tool (valgrind, gdb) that was put between, too. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Not global yet: whose MPI functions are found depends on what the program was compiled against. */
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    live_function *live = library ? (live_function *)dlsym(library, "hopcast_live") : NULL;
    if (!live) {
        dprintf(2, "hopcast-launcher: %s\n", dlerror());
        return 70;
    }
    find_in_copies = (find_function *)dlsym(library, "hopcast_find_object");
    return live(argv[2], argv[3], pad, PAD_BYTES);
}
