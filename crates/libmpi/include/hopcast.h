/* What a program may tell hopcast beside MPI. Programs that are compiled with 'hopcast cc' see HOPCAST defined.
 *
 * The header may also lie beside a program that is compiled for another MPI: messages go as that sends them there, no
 * time passes for work that is only stated, and every block runs.
 */
#ifndef HOPCAST_H
#define HOPCAST_H

#include <stddef.h>
#include <mpi.h>

/* NIC of a message that the platform chooses. */
#define HOPCAST_ANY_NIC (-1)

/* Copies of a message between hosts: as the platform says; none, so that NICs read and write the program's memory, and
 * the sender waits for the receive; or one at each end. */
#define HOPCAST_PLATFORM_COPIES 0
#define HOPCAST_ZERO_COPY 1
#define HOPCAST_TWO_COPY 2

#ifdef HOPCAST

#ifdef __cplusplus
extern "C" {
#endif

/* MPI_Send and MPI_Isend of a message that leaves its host by one NIC and reaches the other's by one, both numbered
 * from 0 on, or both HOPCAST_ANY_NIC; and with these copies. Messages within a host have neither. A NIC that hosts do
 * not have ends the run. */
int hopcast_send(const void *buffer, int count, MPI_Datatype datatype, int to, int tag, MPI_Comm comm,
                 int source_nic, int destination_nic, int copies);
int hopcast_isend(const void *buffer, int count, MPI_Datatype datatype, int to, int tag, MPI_Comm comm,
                  MPI_Request *request, int source_nic, int destination_nic, int copies);

/* Computes for that time, or that many operations, with bytes through the node's memory, at the platform's rates. */
int hopcast_compute(double seconds);
int hopcast_compute_flops(double flops, double bytes);

/* Memory that is folded with --fold-memory but for `count` ranges, bytes from ranges[2 i] to ranges[2 i + 1], which
 * each rank has for itself; the other bytes of their pages are its own, too, but no message carries them. Freed with
 * free. */
void *hopcast_malloc_partial(size_t bytes, const size_t *ranges, int count);

int hopcast_sample(const char *file, int line, int of_all_ranks, int most, double error);
int hopcast_sampled(void);

#ifdef __cplusplus
}
#endif

#else

#include <stdlib.h>

static inline int hopcast_send(const void *buffer, int count, MPI_Datatype datatype, int to, int tag, MPI_Comm comm,
                               int source_nic, int destination_nic, int copies) {
    (void)source_nic, (void)destination_nic, (void)copies;
    return MPI_Send((void *)buffer, count, datatype, to, tag, comm);
}

static inline int hopcast_isend(const void *buffer, int count, MPI_Datatype datatype, int to, int tag, MPI_Comm comm,
                                MPI_Request *request, int source_nic, int destination_nic, int copies) {
    (void)source_nic, (void)destination_nic, (void)copies;
    return MPI_Isend((void *)buffer, count, datatype, to, tag, comm, request);
}

static inline int hopcast_compute(double seconds) {
    (void)seconds;
    return MPI_SUCCESS;
}

static inline int hopcast_compute_flops(double flops, double bytes) {
    (void)flops, (void)bytes;
    return MPI_SUCCESS;
}

static inline void *hopcast_malloc_partial(size_t bytes, const size_t *ranges, int count) {
    (void)ranges, (void)count;
    return malloc(bytes);
}

static inline int hopcast_sample(const char *file, int line, int of_all_ranks, int most, double error) {
    (void)file, (void)line, (void)of_all_ranks, (void)most, (void)error;
    return 1;
}

static inline int hopcast_sampled(void) {
    return 0;
}

#endif

/* In front of a block, within a loop: it runs until its mean time is known, from at least two of its runs and at most
 * `most`, with a relative standard error of `error` (0.05) or less; then it is skipped, and takes that mean. Of each
 * rank by itself, or of all ranks together. The block is left at its end only. */
#define HOPCAST_SAMPLE_LOCAL(most, error) HOPCAST_SAMPLE_(0, most, error)
#define HOPCAST_SAMPLE_GLOBAL(most, error) HOPCAST_SAMPLE_(1, most, error)
#define HOPCAST_SAMPLE_(all, most, error)                                                         \
    for (int hopcast_runs_ = hopcast_sample(__FILE__, __LINE__, all, most, error); hopcast_runs_; \
         hopcast_runs_ = hopcast_sampled())

#endif
