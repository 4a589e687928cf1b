/* Times of messages that name NICs and copies, and of stated work. */
#include <hopcast.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char buffer[1000000];

/* Lets all ranks wait for each other, and rank 0 for 100 us more, so that receives are posted; gives the time. */
static double begin_together(int rank) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        hopcast_compute(1e-4);
    return MPI_Wtime();
}

/* Time from the begin of rank 0 to the end of the last rank: all have one clock. */
static double time_since(double begin, int rank) {
    double own[2] = {rank == 0 ? begin : 0, MPI_Wtime()}, all[2];
    MPI_Allreduce(own, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all[1] - all[0];
}

/* Sends `bytes` to ranks 1 and 2 at once, by these NICs; gives the time until both are there. */
static double two_messages(int rank, int bytes, MPI_Comm comm, const int nics[4], int copies) {
    double begin = begin_together(rank);
    MPI_Request requests[2];
    if (rank == 0) {
        for (int i = 0; i < 2; i++)
            if (nics)
                hopcast_isend(buffer, bytes, MPI_CHAR, 1 + i, 0, comm, &requests[i], nics[2 * i], nics[2 * i + 1],
                              copies);
            else
                MPI_Isend(buffer, bytes, MPI_CHAR, 1 + i, 0, comm, &requests[i]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, comm, MPI_STATUS_IGNORE);
    }
    return time_since(begin, rank);
}

/* Sends `bytes` to rank 1 with these copies; gives the receiver's time. */
static double one_message(int rank, int bytes, int copies) {
    double begin = begin_together(rank);
    if (rank == 0)
        hopcast_send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, HOPCAST_ANY_NIC, HOPCAST_ANY_NIC, copies);
    if (rank == 1)
        MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return time_since(begin, rank);
}

static void show(int rank, const char *name, double seconds) {
    if (rank == 0)
        printf("%s %.1f ns\n", name, seconds * 1e9);
}

static MPI_Comm with_hints(const char *from, const char *to, const char *copies) {
    MPI_Info info;
    MPI_Comm comm;
    MPI_Info_create(&info);
    if (from)
        MPI_Info_set(info, "hopcast_source_nic", from);
    if (to)
        MPI_Info_set(info, "hopcast_destination_nic", to);
    if (copies)
        MPI_Info_set(info, "hopcast_copies", copies);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    return comm;
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *what = argc > 1 ? argv[1] : "times";
    const int missing[] = {2, 0, 0, 0}, half[] = {0, HOPCAST_ANY_NIC, 0, 0};
    if (!strcmp(what, "missing"))
        two_messages(rank, 8, MPI_COMM_WORLD, missing, HOPCAST_PLATFORM_COPIES);
    if (!strcmp(what, "half"))
        two_messages(rank, 8, MPI_COMM_WORLD, half, HOPCAST_PLATFORM_COPIES);
    if (!strcmp(what, "copies"))
        one_message(rank, 8, 3);
    if (!strcmp(what, "negative"))
        hopcast_compute(-1);
    if (!strcmp(what, "hint"))
        with_hints("0", "first", NULL);
    if (!strcmp(what, "hinted")) {
        MPI_Comm comm = with_hints("0", "5", NULL);
        two_messages(rank, 8, comm, NULL, 0);
    }
    const int same[] = {1, 0, 1, 0}, both[] = {0, 0, 1, 0};
    show(rank, "same", two_messages(rank, 1000000, MPI_COMM_WORLD, same, HOPCAST_PLATFORM_COPIES));
    show(rank, "both", two_messages(rank, 1000000, MPI_COMM_WORLD, both, HOPCAST_PLATFORM_COPIES));
    MPI_Comm first = with_hints("1", "1", "zero-copy");
    show(rank, "hinted", two_messages(rank, 1000000, first, NULL, 0));
    MPI_Comm_free(&first);
    show(rank, "two-copy", one_message(rank, 4000, HOPCAST_TWO_COPY));
    show(rank, "zero-copy", one_message(rank, 4000, HOPCAST_ZERO_COPY));
    double begin = MPI_Wtime();
    hopcast_compute(5e-6);
    show(rank, "seconds", MPI_Wtime() - begin);
    begin = MPI_Wtime();
    hopcast_compute(1e-6);
    hopcast_compute_flops(3000, 0);
    show(rank, "flops", MPI_Wtime() - begin);
    MPI_Finalize();
    return 0;
}
