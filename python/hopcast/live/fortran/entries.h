/* What the procedures for Fortran share. A program has its own copy of all this, so each rank has. */
#ifndef HOPCAST_FORTRAN_ENTRIES_H
#define HOPCAST_FORTRAN_ENTRIES_H

#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Common blocks, known by their addresses. */
extern MPI_Fint hopcast_bottom_[], hopcast_in_place_[], hopcast_automatic_[], hopcast_status_ignore_[],
    hopcast_statuses_ignore_[], hopcast_errcodes_ignore_[], hopcast_unweighted_[], hopcast_weights_empty_[],
    hopcast_argv_null_[], hopcast_argvs_null_[];

#define BUFFER(place)                                          \
    ((void *)(place) == hopcast_bottom_      ? MPI_BOTTOM      \
     : (void *)(place) == hopcast_in_place_  ? MPI_IN_PLACE    \
     : (void *)(place) == hopcast_automatic_ ? MPI_BUFFER_AUTOMATIC \
                                             : (void *)(place))
#define STATUS(place) ((void *)(place) == hopcast_status_ignore_ ? MPI_STATUS_IGNORE : (place))
#define STATUSES(place)                                                                                \
    ((void *)(place) == hopcast_statuses_ignore_ || (void *)(place) == hopcast_status_ignore_ ? MPI_STATUSES_IGNORE \
                                                                                              : (place))
#define WEIGHTS(place)                                        \
    ((place) == hopcast_unweighted_      ? MPI_UNWEIGHTED     \
     : (place) == hopcast_weights_empty_ ? MPI_WEIGHTS_EMPTY  \
                                         : (place))

/* The names of a procedure: a tool may have its own for those that are weak. */
#define NAMES(name)                                                                                       \
    extern __typeof(pmpi_##name##_) mpi_##name##_ __attribute__((weak, alias("pmpi_" #name "_")));           \
    extern __typeof(pmpi_##name##_) mpi_##name##_f08_ __attribute__((weak, alias("pmpi_" #name "_")));       \
    extern __typeof(pmpi_##name##_) pmpi_##name##_f08_ __attribute__((weak, alias("pmpi_" #name "_")));

/* A text of Fortran, which ends with blanks, as one of C, which is to be freed. */
char *hopcast_text(const char *fortran, size_t length);
#define text hopcast_text

/* A text of C as one of Fortran, if the call was successful. */
void hopcast_pad(int code, const char *c, char *fortran, size_t length);
#define pad hopcast_pad

/* Handles of Fortran as handles of C, which are to be given back or freed; read: whether they have values. */
void **hopcast_taken(const MPI_Fint *handles, size_t number, int read);
void hopcast_given(void **taken, MPI_Fint *handles, size_t number);
#define taken hopcast_taken
#define given(taken, handles, number) hopcast_given((void **)(taken), handles, number)

/* How many members a communicator's other side has; how many neighbours to send to, or to receive from. */
size_t hopcast_peers(MPI_Fint comm);
size_t hopcast_neighbours(MPI_Fint comm, int outwards);
#define peers hopcast_peers
#define neighbours hopcast_neighbours

#endif
