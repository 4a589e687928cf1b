/* Delay of links where the kernel has no netem: TAP devices whose frames a process hands on after a time.
 *
 *     relay DELAY_US BITS_PER_S FABRIC HOST…    names of network namespaces; runs until it is killed
 *
 * Each HOST gets a device eth0, whose other end is hN in FABRIC. Prints a line when all devices are there. Rate and queue are
 * those of the devices' own queues, which let a frame go when its time on the wire begins. Here it waits for the delay, and
 * on its way from a host for that time, too: once, as through switches that cut through. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define FRAME_MOST 2048
#define WAITING_MOST 1024 /* of one end */
#define ENDS_MOST 64

struct frame {
    int64_t due_ns;
    int length;
    char bytes[FRAME_MOST];
};

/* Frames from one end, a ring: they leave as they came. */
struct ring {
    struct frame waiting[WAITING_MOST];
    unsigned first, count;
    int target;
};

static struct ring rings[ENDS_MOST];

static void fail(const char *what) {
    fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Device in a namespace; the process stays there. */
static int device(const char *space, const char *name) {
    char place[256];
    snprintf(place, sizeof place, "/run/netns/%s", space);
    int file = open(place, O_RDONLY | O_CLOEXEC);
    if (file < 0 || setns(file, CLONE_NEWNET))
        fail(place);
    close(file);
    int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct ifreq wanted = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    strncpy(wanted.ifr_name, name, sizeof wanted.ifr_name - 1);
    if (tap < 0 || ioctl(tap, TUNSETIFF, &wanted))
        fail("/dev/net/tun");
    return tap;
}

/* Takes what has come to an end. A full ring drops it, as a full queue would. */
static void take(int file, struct ring *ring, int64_t delay_ns, double ns_per_byte) {
    char spare[FRAME_MOST];
    for (;;) {
        struct frame *frame = &ring->waiting[(ring->first + ring->count) % WAITING_MOST];
        ssize_t length = read(file, ring->count < WAITING_MOST ? frame->bytes : spare, FRAME_MOST);
        if (length <= 0)
            return;
        if (ring->count == WAITING_MOST)
            continue;
        frame->due_ns = now_ns() + delay_ns + (int64_t)(ns_per_byte * (double)length);
        frame->length = (int)length;
        ++ring->count;
    }
}

/* Hands on what is due of a ring; gives the time until the next, or `least` if that is sooner. */
static int64_t hand_on(struct ring *ring, int64_t least) {
    while (ring->count) {
        struct frame *frame = &ring->waiting[ring->first];
        int64_t rest = frame->due_ns - now_ns();
        if (rest > 0)
            return rest < least ? rest : least;
        if (write(ring->target, frame->bytes, frame->length) < 0 && errno != EAGAIN && errno != EIO)
            fail("a frame");
        ring->first = (ring->first + 1) % WAITING_MOST;
        --ring->count;
    }
    return least;
}

int main(int words, char **word) {
    struct pollfd ends[ENDS_MOST];
    int used = 0;
    if (words < 5 || 2 * (words - 4) > ENDS_MOST)
        return fprintf(stderr, "usage: relay DELAY_US BITS_PER_S FABRIC HOST…\n"), 2;
    int64_t delay_ns = (int64_t)(1000 * atof(word[1]));
    double ns_per_byte = 8e9 / atof(word[2]);
    for (int host = 0; host < words - 4; ++host) {
        char name[16];
        snprintf(name, sizeof name, "h%d", host);
        ends[used++] = (struct pollfd){.fd = device(word[4 + host], "eth0"), .events = POLLIN};
        ends[used++] = (struct pollfd){.fd = device(word[3], name), .events = POLLIN};
    }
    for (int end = 0; end < used; ++end)
        rings[end].target = ends[end ^ 1].fd;
    /* Else a sleep lasts 50 us longer. */
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    puts("ready");
    fflush(stdout);
    for (;;) {
        int64_t rest = INT64_MAX;
        for (int end = 0; end < used; ++end)
            rest = hand_on(&rings[end], rest);
        struct timespec limit = {rest / 1000000000, rest % 1000000000};
        if (ppoll(ends, used, rest == INT64_MAX ? NULL : &limit, NULL) < 0 && errno != EINTR)
            fail("poll");
        for (int end = 0; end < used; ++end)
            if (ends[end].revents & POLLIN)
                take(ends[end].fd, &rings[end], delay_ns, end % 2 == 0 ? ns_per_byte : 0);
    }
}
