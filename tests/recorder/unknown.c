/* A communicator that the recorder does not know, of a session (from MPI 4 on); and one that is copied in the background,
 * whose variable is gone afterwards. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static MPI_Comm copied(void) {
    MPI_Comm copy;
    MPI_Request request;
    MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return copy;
}

static int overwritten(int with) {
    volatile char stack[1 << 16];
    memset((void *)stack, with, sizeof stack);
    return stack[with];
}

static void together(MPI_Comm all) {
    int rank, size, sum, from_before = 0;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    MPI_Request requests[2];
    MPI_Irecv(&from_before, 1, MPI_INT, (rank + size - 1) % size, 3, all, &requests[0]);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 3, all, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Comm copy;
    MPI_Comm_dup(all, &copy);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    MPI_Comm copy = copied();
    overwritten(85);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
#if MPI_VERSION >= 4
    MPI_Session session;
    MPI_Group group;
    MPI_Comm all;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "together", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all);
    MPI_Group_free(&group);
    together(all);
    MPI_Comm_free(&all);
    MPI_Session_finalize(&session);
#endif
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
