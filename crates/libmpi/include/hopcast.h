/* What a program may tell hopcast beside MPI. Programs that are compiled with 'hopcast cc' see HOPCAST defined:
 *
 *   #ifdef HOPCAST
 *   #include <hopcast.h>
 *   #endif
 */
#ifndef HOPCAST_H
#define HOPCAST_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that is folded with --fold-memory but for `count` ranges, bytes from ranges[2 i] to ranges[2 i + 1], which
 * each rank has for itself; the other bytes of their pages are its own, too, but no message carries them. Freed with
 * free. */
void *hopcast_malloc_partial(size_t bytes, const size_t *ranges, int count);

int hopcast_sample(const char *file, int line, int of_all_ranks, int most, double error);
int hopcast_sampled(void);

/* In front of a block, within a loop: it runs until its mean time is known, from at least two of its runs and at most
 * `most`, with a relative standard error of `error` (0.05) or less; then it is skipped, and takes that mean. Of each
 * rank by itself, or of all ranks together. The block is left at its end only. */
#define HOPCAST_SAMPLE_LOCAL(most, error) HOPCAST_SAMPLE_(0, most, error)
#define HOPCAST_SAMPLE_GLOBAL(most, error) HOPCAST_SAMPLE_(1, most, error)
#define HOPCAST_SAMPLE_(all, most, error)                                                         \
    for (int hopcast_runs_ = hopcast_sample(__FILE__, __LINE__, all, most, error); hopcast_runs_; \
         hopcast_runs_ = hopcast_sampled())

#ifdef __cplusplus
}
#endif

#endif
