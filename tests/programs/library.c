/* What the C library keeps between calls is each rank's own, whatever other ranks call in between. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <xmmintrin.h>

static void others(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void options(int argc, char **argv) {
    int letter, seen = 0;
    static const struct option names[] = {{"long", required_argument, 0, 'l'}, {0, 0, 0, 0}};
    while ((letter = getopt_long(argc, argv, "ab:", names, NULL)) != -1) {
        seen += letter == 'a' ? 1 : letter == 'b' ? 10 : 100;
        if (letter == 'b') CHECK(!strcmp(optarg, "value"));
        if (letter == 'l') CHECK(!strcmp(optarg, "more"));
        others();
    }
    others();
    CHECK(seen == 111 && optind == 5 && argc == 6 && !strcmp(argv[optind], "rest"));
    argv[5][0] = (char)('0' + rank % 10);
    others();
    CHECK(argv[5][0] == '0' + rank % 10);
}

static void random_numbers(void) {
    int first[4];
    double second[4];
    srand(rank + 1);
    srand48(rank + 1);
    for (int i = 0; i < 4; i++) first[i] = rand(), second[i] = drand48();
    srand(rank + 1);
    srand48(rank + 1);
    for (int i = 0; i < 4; i++) {
        others();
        CHECK(rand() == first[i]);
        others();
        CHECK(drand48() == second[i]);
    }
    printf("rank %d: %d %.6f %ld\n", rank, first[0], second[3], lrand48());
}

static void texts_and_dates(void) {
    char words[] = "one two three", other[] = "four;five";
    char *text = rank % 2 ? words : other;
    const char *separators = rank % 2 ? " " : ";";
    char *found = strtok(text, separators);
    others();
    found = strtok(NULL, separators);
    CHECK(!strcmp(found, rank % 2 ? "two" : "five"));
    time_t when = 86400L * (365 + rank);
    struct tm *date = gmtime(&when);
    others();
    CHECK(date->tm_yday == rank && date->tm_year == 71);
    errno = 1000 + rank;
    others();
    CHECK(errno == 1000 + rank);
}

static void variables(void) {
    char value[32];
    static char entry[32];
    extern char **environ;
    snprintf(value, sizeof value, "value %d", rank);
    CHECK(setenv("HOPCAST_TEST_OWN", value, 1) == 0);
    snprintf(entry, sizeof entry, "HOPCAST_TEST_PUT=%d", rank);
    CHECK(putenv(entry) == 0);
    CHECK(setenv("HOPCAST_TEST_OWN", "other", 0) == 0);
    others();
    CHECK(!strcmp(getenv("HOPCAST_TEST_OWN"), value));
    CHECK(atoi(getenv("HOPCAST_TEST_PUT")) == rank);
    int found = 0;
    for (char **place = environ; *place; place++) found += *place == entry;
    CHECK(found == 1);
    if (rank == 0) CHECK(unsetenv("HOPCAST_TEST_VALUE") == 0);
    others();
    CHECK((getenv("HOPCAST_TEST_VALUE") == NULL) == (rank == 0));
    CHECK(setenv("WITH=SIGN", "", 1) == -1 && errno == EINVAL);
}

static void folders(void) {
    char name[] = "/tmp/hopcast-test-XXXXXX", here[256], text[16] = "";
    CHECK(mkdtemp(name) && chdir(name) == 0);
    others();
    CHECK(getcwd(here, sizeof here) && !strcmp(here, name));
    FILE *file = fopen("file", "w");
    fprintf(file, "of %d", rank);
    others();
    fclose(file);
    others();
    int descriptor = open("file", O_RDONLY);
    CHECK(descriptor >= 0 && read(descriptor, text, sizeof text) > 0 && atoi(text + 3) == rank);
    close(descriptor);
    CHECK(mkdir("deeper", 0700) == 0 && chdir("deeper") == 0 && access("../file", R_OK) == 0);
    others();
    CHECK(chdir("..") == 0 && rmdir("deeper") == 0 && unlink("file") == 0);
    CHECK(chdir("/") == 0 && rmdir(name) == 0 && chdir("/nowhere") == -1);
    others();
    CHECK(getcwd(here, sizeof here) && !strcmp(here, "/"));
}

static volatile int came, from;
static sigjmp_buf back;
static void note(int signal) { came += signal * (rank + 1); }
static void note_more(int signal, siginfo_t *information, void *context) {
    (void)context;
    from = information->si_signo;
    note(signal);
}
static void leave(int signal) { siglongjmp(back, signal); }

static void signals(void) {
    struct sigaction action = {.sa_sigaction = note_more, .sa_flags = SA_SIGINFO}, before;
    signal(SIGUSR1, rank % 2 ? note : SIG_IGN);
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
    others();
    raise(SIGUSR1);
    CHECK(came == (rank % 2 ? SIGUSR1 * (rank + 1) : 0));
    came = 0;
    kill(getpid(), SIGUSR2);
    CHECK(came == SIGUSR2 * (rank + 1) && from == SIGUSR2);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    came = 0;
    raise(SIGUSR2);
    others();
    CHECK(came == 0);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    CHECK(came == SIGUSR2 * (rank + 1));
    CHECK(sigaction(SIGUSR2, NULL, &before) == 0 && before.sa_sigaction == note_more);
    signal(SIGSEGV, leave);
    int *volatile nowhere = (int *)16L;
    others();
    int caught = sigsetjmp(back, 1);
    if (caught == 0) *nowhere = 1;
    CHECK(caught == SIGSEGV);
    signal(SIGSEGV, SIG_DFL);
}

static void numbers_and_time(void) {
    volatile double three = 3;
    double nearest = 1 / three;
    if (rank % 2) _MM_SET_ROUNDING_MODE(_MM_ROUND_UP);
    others();
    CHECK(_MM_GET_ROUNDING_MODE() == (rank % 2 ? _MM_ROUND_UP : _MM_ROUND_NEAREST));
    CHECK((1 / three > nearest) == rank % 2);
    _MM_SET_ROUNDING_MODE(_MM_ROUND_NEAREST);
    struct timeval begin, end;
    struct timespec one, two;
    gettimeofday(&begin, NULL);
    clock_gettime(CLOCK_MONOTONIC, &one);
    double start = MPI_Wtime();
    usleep(20000);
    gettimeofday(&end, NULL);
    clock_gettime(CLOCK_MONOTONIC, &two);
    double took = (double)(end.tv_sec - begin.tv_sec) + 1e-6 * (double)(end.tv_usec - begin.tv_usec);
    CHECK(took >= 0.0199 && took < 10 && MPI_Wtime() - start >= 0.0199);
    took = (double)(two.tv_sec - one.tv_sec) + 1e-9 * (double)(two.tv_nsec - one.tv_nsec);
    CHECK(took >= 0.0199 && took < 10);
    /* A loop that waits by the clock alone ends. */
    start = MPI_Wtime();
    while (MPI_Wtime() - start < 0.01) continue;
    int mine = getpid(), *all = malloc(sizeof(int) * size);
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) CHECK((all[i] == mine) == (i == rank));
    free(all);
}

static void last(int code, void *text) { printf("rank %d ends with %d, %s\n", rank, code, (char *)text); }

int main(int argc, char **argv) {
    begin(&argc, &argv);
    options(argc, argv);
    random_numbers();
    texts_and_dates();
    variables();
    folders();
    signals();
    numbers_and_time();
    MPI_Finalize();
    on_exit(last, "as said");
    exit(0);
}
