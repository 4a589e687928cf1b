/* What needs a process for each rank: threads, and addresses that are fixed. With an argument, rank 1 ends badly. */
#define _GNU_SOURCE
#include "../check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 4, NUMBERS = 100000 };

static long sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local long own = 7;

static void *work(void *argument) {
    CHECK(own == 7);
    own += (long)argument;
    pthread_mutex_lock(&lock);
    sum += own;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void end_badly(const char *how) {
    if (strcmp(how, "crash") == 0)
        *(volatile int *)NULL = 1;
    if (strcmp(how, "kill") == 0)
        syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
}

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(level >= MPI_THREAD_FUNNELED);
    pthread_t threads[THREADS];
    for (long thread = 0; thread < THREADS; thread++)
        CHECK(pthread_create(&threads[thread], NULL, work, (void *)(thread + rank)) == 0);
    for (int thread = 0; thread < THREADS; thread++)
        pthread_join(threads[thread], NULL);
    CHECK(own == 7 && sum == THREADS * (7 + rank) + 6);
    long all;
    MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == (long)THREADS * (7 * size + size * (size - 1) / 2) + 6 * size);

    static int numbers[NUMBERS], heard[NUMBERS];
    for (int index = 0; index < NUMBERS; index++)
        numbers[index] = index * (rank + 1);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Request requests[2];
    MPI_Irecv(heard, NUMBERS, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(numbers, NUMBERS, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int index = 0; index < NUMBERS; index++)
        CHECK(heard[index] == index * (left + 1));
    /* Nobody waits for this one, which arrives by the time of the second message. */
    int late = -1, word = rank;
    MPI_Irecv(&late, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Request_free(&requests[0]);
    MPI_Send(&word, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
    MPI_Sendrecv(&word, 1, MPI_INT, right, 2, heard, 1, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(late == left && heard[0] == left);
    if (argc > 1 && rank == 1)
        end_badly(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d of %d: %ld\n", rank, size, all);
    MPI_Finalize();
    return 0;
}
