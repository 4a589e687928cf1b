/* Polls of MPI libraries that wait: preloaded, so that processes that have nothing to do leave the processor to others.
 *
 * MPI libraries ask for events with no time limit of their own, again and again. After some answers of "none" in a row a
 * question here lasts until there is an event, a millisecond at most. An event ends it at once, so that messages are not
 * later than before. For one process of a host: messages through shared memory are no events. */
#include <dlfcn.h>
#include <poll.h>
#include <sys/epoll.h>

#define NONE_IN_A_ROW 20
#define WAIT_MS 1

static _Thread_local int none;

/* Time limit of a question: the caller's, or one of ours after a while. */
static int limit_ms(int timeout) {
    return timeout == 0 && none >= NONE_IN_A_ROW ? WAIT_MS : timeout;
}

static int counted(int timeout, int found) {
    if (timeout == 0)
        none = found == 0 ? none + (none < NONE_IN_A_ROW) : 0;
    return found;
}

int epoll_wait(int set, struct epoll_event *events, int most, int timeout) {
    static int (*real)(int, struct epoll_event *, int, int);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "epoll_wait");
    return counted(timeout, real(set, events, most, limit_ms(timeout)));
}

int poll(struct pollfd *files, nfds_t count, int timeout) {
    static int (*real)(struct pollfd *, nfds_t, int);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "poll");
    return counted(timeout, real(files, count, limit_ms(timeout)));
}
