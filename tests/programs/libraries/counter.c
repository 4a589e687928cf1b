/* A library that keeps something, of every kind. */
#include <stdio.h>

int count = 5;       /* copied into the program */
int *where = &count; /* points to the program's copy */
const char *names[3] = {"none", "one", "two"};
__thread int of_thread = 7;

static int hidden, begun;
static __thread int of_thread_hidden = 9;

__attribute__((constructor)) static void begin(void) { begun += 1; }
__attribute__((destructor)) static void end(void) { printf("counter ends after %d\n", hidden); }

int next(int by) {
    hidden += by;
    *where += by;
    of_thread += by;
    of_thread_hidden += by;
    return hidden;
}
int thread_values(void) { return of_thread * 100 + of_thread_hidden; }
int was_begun(void) { return begun; }
const char *name(int i) { return names[i % 3]; }
