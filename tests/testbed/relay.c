/* Delay of links where the kernel has no netem: TAP devices whose frames a process hands on after a time.
 *
 *     relay DELAY_US FABRIC HOST…    names of network namespaces; runs until it is killed
 *
 * Each HOST gets a device eth0, whose other end is hN in FABRIC. Prints a line when all devices are there. Rate and queue are
 * those of the devices' own queues; a frame waits here for its delay alone. */
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
#define WAITING_MOST 4096
#define ENDS_MOST 64

struct frame {
    int64_t due_ns;
    int length, target;
    char bytes[FRAME_MOST];
};

static struct frame waiting[WAITING_MOST]; /* A ring: the delay is the same for all, so that they leave as they came. */
static unsigned first, count;

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
static void take(const struct pollfd *ends, int end, int64_t delay_ns) {
    char spare[FRAME_MOST];
    for (;;) {
        struct frame *frame = &waiting[(first + count) % WAITING_MOST];
        ssize_t length = read(ends[end].fd, count < WAITING_MOST ? frame->bytes : spare, FRAME_MOST);
        if (length <= 0)
            return;
        if (count == WAITING_MOST)
            continue;
        frame->due_ns = now_ns() + delay_ns;
        frame->length = (int)length;
        frame->target = ends[end ^ 1].fd;
        ++count;
    }
}

/* Hands on what is due; gives the time until the next, or -1. */
static int64_t hand_on(void) {
    while (count) {
        struct frame *frame = &waiting[first];
        int64_t rest = frame->due_ns - now_ns();
        if (rest > 0)
            return rest;
        if (write(frame->target, frame->bytes, frame->length) < 0 && errno != EAGAIN && errno != EIO)
            fail("a frame");
        first = (first + 1) % WAITING_MOST;
        --count;
    }
    return -1;
}

int main(int words, char **word) {
    struct pollfd ends[ENDS_MOST];
    int used = 0;
    if (words < 4 || 2 * (words - 3) > ENDS_MOST)
        return fprintf(stderr, "usage: relay DELAY_US FABRIC HOST…\n"), 2;
    for (int host = 0; host < words - 3; ++host) {
        char name[16];
        snprintf(name, sizeof name, "h%d", host);
        ends[used++] = (struct pollfd){.fd = device(word[3 + host], "eth0"), .events = POLLIN};
        ends[used++] = (struct pollfd){.fd = device(word[2], name), .events = POLLIN};
    }
    /* Else a sleep lasts 50 us longer. */
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    puts("ready");
    fflush(stdout);
    for (;;) {
        int64_t rest = hand_on();
        struct timespec limit = {rest / 1000000000, rest % 1000000000};
        if (ppoll(ends, used, rest < 0 ? NULL : &limit, NULL) < 0 && errno != EINTR)
            fail("poll");
        for (int end = 0; end < used; ++end)
            if (ends[end].revents & POLLIN)
                take(ends, end, (int64_t)(1000 * atof(word[1])));
    }
}
