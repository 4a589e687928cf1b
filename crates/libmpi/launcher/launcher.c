/* The main program of a run of MPI programs: it loads the library with the simulator, and nothing else.
 *
 * A position-independent executable finds its thread-local variables at a fixed distance below the thread
 * pointer, where those of the main program are. So this program has exactly one, the pad, and the library
 * lays the variables of the simulated ranks into it (crates/libmpi/src/loader/tls.rs). It names no variable of
 * the C library (stderr), of which it would have a copy that hides the C library's own.
 *
 * usage: hopcast-launcher LIBRARY JOB RESULT
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

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

/* Hidden: to a debugger, `main` is the program's. */
__attribute__((visibility("hidden"))) int main(int argc, char **argv) {
    if (argc != 4) {
        dprintf(2, "usage: hopcast-launcher LIBRARY JOB RESULT\n");
        return 2;
    }
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
